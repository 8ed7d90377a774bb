//! What cargo knows of the workspace.

use crate::stop::Stop;
use serde_json::Value;
use std::path::Path;
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
