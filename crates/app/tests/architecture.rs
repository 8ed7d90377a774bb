//! Who may import whom. The list is the one in ARCHITECTURE.md; nothing else may be imported.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// `crate -> crates of ours that it may import`. `app` may import everything.
const MAY_IMPORT: [(&str, &[&str]); 14] = [
    ("model", &[]),
    ("hot", &[]),
    ("sys", &[]),
    ("spec", &["model"]),
    ("plan", &["hot", "model"]),
    ("host", &["sys", "model"]),
    ("engine", &["hot", "sys", "model"]),
    ("run", &["engine", "hot", "sys", "model"]),
    ("stats", &["hot", "model"]),
    ("report", &["stats", "model"]),
    ("tune", &["hot", "model", "stats"]),
    ("live", &["host", "stats", "sys", "model"]),
    ("testkit", &[]),
    ("xtask", &["report"]),
];

/// `crate -> crates of ours that it imports`, from the workspace's own metadata. Dependencies
/// that only tests use are not counted.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs: it runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(|package| text(&package["name"])).collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
            let imported = dependencies
                .iter()
                .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
                .map(|dependency| text(&dependency["name"]))
                .filter(|name| ours.contains(name))
                .collect();
            (text(&package["name"]), imported)
        })
        .collect()
}

#[test]
fn crates_import_only_what_the_architecture_allows() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_IMPORT.into_iter().collect();
    for (name, imported) in imports() {
        if name == "app" {
            continue;
        }
        let allowed = allowed.get(name.as_str()).unwrap_or_else(|| {
            panic!("crate {name} is not in the list: add it here and to ARCHITECTURE.md");
        });
        for other in imported {
            assert!(allowed.contains(&other.as_str()), "{name} imports {other}, which ARCHITECTURE.md does not allow");
        }
    }
}

#[test]
fn the_list_in_the_architecture_is_the_one_tested() {
    let page = include_str!("../../../ARCHITECTURE.md");
    for (name, imported) in MAY_IMPORT {
        let list = if imported.is_empty() { "nothing of ours".to_owned() } else { imported.join(", ") };
        let line = format!("{name} -> {list}");
        assert!(page.lines().any(|l| l.trim() == line), "ARCHITECTURE.md lacks the line: {line}");
    }
}

#[test]
fn unsafe_is_forbidden_outside_the_edge() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for name in imports().into_keys().filter(|name| name != "sys" && name != "engine") {
        let folder = match name.as_str() {
            "testkit" | "xtask" => format!("{root}/{name}"),
            _ => format!("{root}/crates/{name}"),
        };
        let manifest = std::fs::read_to_string(format!("{folder}/Cargo.toml")).expect("each crate has a manifest");
        assert!(manifest.contains("[lints]\nworkspace = true"), "{name} does not take the workspace's lints");
    }
}
