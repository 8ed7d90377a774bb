//! Permitted imports between crates, and the crates that may contain `unsafe`. The list is in ARCHITECTURE.md.

use super::Finding;
use super::tree::Tree;
use crate::metadata;
use crate::stop::Stop;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "ARCHITECTURE.md";

/// The section of the page, and its text for a crate that imports none of the project's.
const SECTION: &str = "\n## Who may import whom\n";
const NOTHING: &str = "nothing of ours";

/// It imports everything: it combines the parts.
const EVERYTHING: &str = "app";

/// The crates that call the system.
const MAY_BE_UNSAFE: [&str; 2] = ["sys", "engine"];

/// Imports that the page does not permit. Those of tests alone are not counted.
pub(super) fn imports(tree: &Tree) -> Result<Vec<Finding>, Stop> {
    let packages = metadata::packages(&tree.root)?;
    Ok(broken(&allowed(tree.text(PAGE).unwrap_or_default()), &imported(&packages)))
}

fn broken(allowed: &BTreeMap<&str, BTreeSet<&str>>, imported: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, others) in imported.iter().filter(|(name, _)| **name != EVERYTHING) {
        let Some(allowed) = allowed.get(name) else {
            findings.push(Finding::of_file(PAGE, format!("lacks the line: {name} -> ...")));
            continue;
        };
        for other in others.difference(allowed) {
            findings.push(Finding::of_file(PAGE, format!("does not allow that {name} imports {other}")));
        }
    }
    for name in allowed.keys().filter(|name| !imported.contains_key(*name)) {
        findings.push(Finding::of_file(PAGE, format!("names the crate {name}, which is not there")));
    }
    findings
}

/// `crate -> crates of ours that it may import`, from the page.
fn allowed(page: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let section = page.split_once(SECTION).map_or("", |(_, section)| section);
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.split_once(" -> "));
    lines.map(|(name, others)| (name, others.split(", ").filter(|other| *other != NOTHING).collect())).collect()
}

/// `crate -> crates of ours that it imports`.
fn imported(packages: &[Value]) -> BTreeMap<&str, BTreeSet<&str>> {
    let ours: BTreeSet<&str> = packages.iter().map(|package| metadata::text(package, "name")).collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
            let imported = dependencies.iter().filter(|dependency| metadata::text(dependency, "kind") != "dev");
            let names = imported.map(|dependency| metadata::text(dependency, "name"));
            (metadata::text(package, "name"), names.filter(|name| ours.contains(name)).collect())
        })
        .collect()
}

/// Crates that do not inherit the workspace's lints, which forbid `unsafe`.
pub(super) fn lints(tree: &Tree) -> Result<Vec<Finding>, Stop> {
    let mut findings = Vec::new();
    for package in metadata::packages(&tree.root)? {
        let name = metadata::text(&package, "name");
        let folder = metadata::folder(&tree.root, &package).unwrap_or_default();
        let manifest = format!("{folder}/Cargo.toml");
        let takes_them = tree.text(&manifest).is_some_and(|text| text.contains("[lints]\nworkspace = true"));
        if !takes_them && !MAY_BE_UNSAFE.contains(&name) {
            findings.push(Finding::of_file(&manifest, "does not take the workspace's lints, which forbid unsafe"));
        }
    }
    let workspace = tree.text("Cargo.toml").unwrap_or_default();
    if !workspace.contains("unsafe_code = \"forbid\"") {
        findings.push(Finding::of_file("Cargo.toml", "does not forbid unsafe"));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str =
        "# A\n\n## Who may import whom\n\n```\na -> nothing of ours\nb -> a, c\n```\n\n## Next\n\nx -> y\n";

    #[test]
    fn the_page_is_read_up_to_its_next_section() {
        let allowed = allowed(EXAMPLE);
        assert_eq!(allowed.keys().copied().collect::<Vec<_>>(), ["a", "b"]);
        assert!(allowed["a"].is_empty());
        assert_eq!(allowed["b"], BTreeSet::from(["a", "c"]));
    }

    #[test]
    fn what_the_page_does_not_allow_is_found() {
        let package = |name: &str, imports: &[(&str, Value)]| {
            let dependencies: Vec<Value> =
                imports.iter().map(|(name, kind)| serde_json::json!({ "name": name, "kind": kind })).collect();
            serde_json::json!({ "name": name, "dependencies": dependencies })
        };
        let packages = [
            package("a", &[("b", Value::Null), ("libc", Value::Null)]),
            package("b", &[("a", Value::Null), ("d", "dev".into())]),
            package("c", &[]),
            package("d", &[]),
            package("app", &[("a", Value::Null)]),
        ];
        let found: Vec<String> =
            broken(&allowed(EXAMPLE), &imported(&packages)).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found, ["does not allow that a imports b", "lacks the line: c -> ...", "lacks the line: d -> ..."]);
    }
}
