//! What cargo knows of the workspace.

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
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--offline"]).args(options).current_dir(root);
    let output = command.output().map_err(|error| Stop::Failed(format!("cannot run cargo metadata: {error}")))?;
    if !output.status.success() {
        return Err(Stop::Failed(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr))));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| Stop::Failed(format!("cargo metadata: {error}")))
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

/// The folder of a package below the root of the workspace.
pub(crate) fn folder(root: &Path, package: &Value) -> Option<String> {
    below(root, text(package, "manifest_path"))?.strip_suffix("/Cargo.toml").map(str::to_owned)
}

/// A path of cargo's below the root of the workspace.
pub(crate) fn below(root: &Path, path: &str) -> Option<String> {
    // Cargo tells paths as it found them, the root may be written with dots or links.
    let root = root.canonicalize().ok()?;
    let path = Path::new(path).canonicalize().ok()?;
    path.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

/// A crate that is not the project's own.
pub(crate) struct Package {
    /// As it is published.
    pub(crate) name: String,
    pub(crate) version: String,
    /// As an SPDX expression.
    pub(crate) licence: String,
    /// Where it comes from; may be empty.
    pub(crate) repository: String,
    /// Its unpacked source.
    pub(crate) folder: PathBuf,
}

/// The crates of others that a package of the workspace is linked with on a target, by name: not those
/// that only its tests or build scripts use.
pub(crate) fn linked(root: &Path, package: &str, target: &str) -> Result<Vec<Package>, Stop> {
    let mut metadata = read(root, &["--filter-platform", target])?;
    let packages = list(&mut metadata, "packages");
    let nodes = list(&mut metadata["resolve"], "nodes");
    let node = |id: &str| nodes.iter().find(|node| text(node, "id") == id);
    let described = |id: &str| packages.iter().find(|package| text(package, "id") == id);
    let start = packages.iter().find(|other| text(other, "name") == package);
    let mut open: Vec<&str> = start.map(|start| text(start, "id")).into_iter().collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !linked.insert(id) {
            continue;
        }
        let dependencies = node(id).and_then(|node| node["deps"].as_array());
        for dependency in dependencies.into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
            // null = neither "dev" nor "build".
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                open.push(text(dependency, "pkg"));
            }
        }
    }
    let others = linked.into_iter().filter_map(described).filter(|package| !package["source"].is_null());
    let mut others: Vec<Package> = others.map(package_of).collect();
    others.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(others)
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
