//! `THIRD-PARTY.md`: the crates linked into the binary, and their licences.

use super::failed;
use crate::metadata::{self, Package};
use crate::stop::Stop;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Beginnings of the names of licence files.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// The page, for a binary of this target.
pub(super) fn page(root: &Path, target: &str) -> Result<String, Stop> {
    let packages = metadata::linked(root, "app", target)?;
    let mut page =
        "# Third-party software\n\nThe program contains these crates, and the standard library of Rust (MIT OR \
                    Apache-2.0, The Rust Project).\n\n| crate | version | licence | from |\n|---|---|---|---|\n"
            .to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &packages {
        let Package { name, version, licence, repository, .. } = package;
        let _ = writeln!(page, "| {name} | {version} | {licence} | {repository} |");
        for text in texts_of(package)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    for (text, names) in texts {
        let _ = write!(page, "\n## {}\n\n```\n{text}\n```\n", names.join(", "));
    }
    Ok(page)
}

/// Maximum depth below a crate's directory at which licences are searched: that of a font is beside the font.
const DEPTH: usize = 3;

/// The licences distributed with a crate.
fn texts_of(package: &Package) -> Result<Vec<String>, Stop> {
    let mut paths = Vec::new();
    find(&package.folder, DEPTH, &mut paths)?;
    paths.sort();
    let texts = paths.iter().map(|path| std::fs::read(path).map_err(failed("read", path)));
    texts.map(|bytes| bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().replace("\r\n", "\n"))).collect()
}

fn find(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> Result<(), Stop> {
    for entry in std::fs::read_dir(folder).map_err(failed("read", folder))? {
        let path = entry.map_err(failed("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_dir() && depth > 1 {
            find(&path, depth - 1, paths)?;
        } else if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            paths.push(path);
        }
    }
    Ok(())
}
