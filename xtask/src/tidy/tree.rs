//! The project's files, read once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Directories without files of the project: build output, version control.
const FOREIGN: [&str; 2] = ["target", ".git"];

/// All files of the project.
pub(crate) struct Tree {
    /// Its root directory.
    pub(crate) root: PathBuf,
    /// Path below the root, with slashes, and the text; `None` if it is not UTF-8.
    pub(crate) files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads the files below a root.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self { root: root.to_owned(), files: BTreeMap::new() };
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    fn read_folder(&mut self, folder: &Path, below: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = format!("{below}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !FOREIGN.contains(&name.as_str()) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && !is_left_over(&name) {
                self.files.insert(path, String::from_utf8(std::fs::read(entry.path())?).ok());
            }
        }
        Ok(())
    }

    /// Paths and texts of the files with this suffix.
    pub(crate) fn ending<'a>(&'a self, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let files = self.files.iter().filter(move |(path, _)| path.ends_with(end));
        files.filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// The text of a file; `None` if there is none of this name.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }
}

/// True for files that the program and its tests leave in a work tree, as in .gitignore.
fn is_left_over(name: &str) -> bool {
    name == ".git" || [".dat", ".pending-snap", ".snap.new"].iter().any(|end| name.ends_with(end))
}

/// `a/b/../c` as `a/c`; `None` if it is outside of the project.
pub(crate) fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The directory of a file; empty for the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_do_not_leave_the_project() {
        assert_eq!(joined("docs/formats", "../sweeps.md").as_deref(), Some("docs/sweeps.md"));
        assert_eq!(joined("", "docs/").as_deref(), Some("docs"));
        assert_eq!(joined("docs", "./a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(joined("docs", "../../a.md"), None);
    }
}
