//! Cargo's metadata of the workspace.

use crate::stop::Stop;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the workspace, as `cargo metadata` describes them.
pub(crate) fn packages(root: &Path) -> Result<Vec<Value>, Stop> {
    read(root, &["--no-deps"]).map(|mut metadata| list(&mut metadata, "packages"))
}

/// Runs `cargo metadata`.
fn read(root: &Path, options: &[&str]) -> Result<Value, Stop> {
    let text = cargo(root, &[&["metadata", "--format-version", "1", "--offline"], options].concat())?;
    serde_json::from_str(&text).map_err(|error| Stop::Failed(format!("cargo metadata: {error}")))
}

/// The output of cargo.
fn cargo(root: &Path, words: &[&str]) -> Result<String, Stop> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(words).current_dir(root).output();
    let output = output.map_err(|error| Stop::Failed(format!("cannot run cargo: {error}")))?;
    if !output.status.success() {
        return Err(Stop::Failed(format!("cargo {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr))));
    }
    String::from_utf8(output.stdout).map_err(|error| Stop::Failed(format!("cargo {}: {error}", words.join(" "))))
}

/// Takes a list out of a document; an empty one if there is none.
fn list(document: &mut Value, name: &str) -> Vec<Value> {
    match document[name].take() {
        Value::Array(list) => list,
        _ => Vec::new(),
    }
}

/// A text in a document; empty if there is none.
pub(crate) fn text<'a>(document: &'a Value, name: &str) -> &'a str {
    document[name].as_str().unwrap_or_default()
}

/// The directory of a package below the root of the workspace.
pub(crate) fn folder(root: &Path, package: &Value) -> Option<String> {
    below(root, text(package, "manifest_path"))?.strip_suffix("/Cargo.toml").map(str::to_owned)
}

/// A path of cargo's below the root of the workspace.
pub(crate) fn below(root: &Path, path: &str) -> Option<String> {
    // Cargo prints paths as it found them, the root may contain dots or links.
    let root = root.canonicalize().ok()?;
    let path = Path::new(path).canonicalize().ok()?;
    path.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

/// All packages used to build the workspace for a target, including its own.
pub(crate) fn all(root: &Path, target: &str) -> Result<Vec<Value>, Stop> {
    used(root, target, &["--workspace"])
}

/// A crate that is not the project's own.
pub(crate) struct Package {
    /// Its published name.
    pub(crate) name: String,
    pub(crate) version: String,
    /// SPDX expression.
    pub(crate) licence: String,
    /// Its repository; may be empty.
    pub(crate) repository: String,
    /// Its unpacked source.
    pub(crate) folder: PathBuf,
}

/// The third-party crates that a package of the workspace is linked with on a target, by name: not those used only by
/// its tests or build scripts.
pub(crate) fn linked(root: &Path, package: &str, target: &str) -> Result<Vec<Package>, Stop> {
    let packages = used(root, target, &["--package", package, "--edges", "normal"])?;
    let others = packages.iter().filter(|package| !package["source"].is_null());
    let mut others: Vec<Package> = others.map(package_of).collect();
    others.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(others)
}

/// The packages that `cargo tree` shows with these options. The metadata alone also include those required only by
/// disabled features.
fn used(root: &Path, target: &str, options: &[&str]) -> Result<Vec<Value>, Stop> {
    let tree = cargo(root, &[&["tree", "--offline", "--prefix", "none", "--target", target], options].concat())?;
    // A line begins with a name and a version: libc v0.2.180
    let shown: BTreeSet<(&str, &str)> = tree
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect();
    let mut metadata = read(root, &["--filter-platform", target])?;
    let packages = list(&mut metadata, "packages").into_iter();
    Ok(packages.filter(|package| shown.contains(&(text(package, "name"), text(package, "version")))).collect())
}

fn package_of(described: &Value) -> Package {
    let owned = |name| text(described, name).to_owned();
    Package {
        name: owned("name"),
        version: owned("version"),
        licence: owned("license"),
        repository: owned("repository"),
        folder: Path::new(text(described, "manifest_path")).parent().map(Path::to_owned).unwrap_or_default(),
    }
}
