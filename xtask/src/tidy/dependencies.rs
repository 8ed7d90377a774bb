//! Third-party crates: their reasons, licences, sources, and compilers.

use super::Finding;
use super::tree::Tree;
use crate::metadata::{self, text};
use crate::stop::Stop;
use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};

/// Page with the reason for each.
const PAGE: &str = "docs/decisions/0002-dependencies.md";

/// Licences permitted for parts of the program or of its tests; all permit distribution under the project's own.
const LICENCES: [&str; 9] =
    ["MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unlicense", "Unicode-3.0"];

/// Has a row, and is imported by a separate workspace.
const ELSEWHERE: &str = "libfuzzer-sys";

/// The only permitted source of crates.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates used in more than one version, with the dependencies that require it.
const SEVERAL_VERSIONS: [(&str, &str); 7] = [
    ("cpufeatures", "async-nats' rand has gone on, sha2 and ed25519-dalek, below nkeys, have not"),
    ("getrandom", "tempfile and rand have gone on, jsonschema's ahash, ring and nkeys have not"),
    ("miniz_oxide", "png has gone on, flate2 has not"),
    ("rand", "async-nats has gone on, nkeys has not"),
    ("rand_core", "async-nats' rand has gone on, that of nkeys has not"),
    ("signal-hook", "crossterm's, below ratatui"),
    ("syn", "when macros are made, not in the program"),
];

/// Violations of these rules.
pub(super) fn check(tree: &Tree) -> Result<Vec<Finding>, Stop> {
    let packages = metadata::all(&tree.root, "x86_64-unknown-linux-gnu")?;
    let (ours, others): (Vec<&Value>, Vec<&Value>) = packages.iter().partition(|package| package["source"].is_null());
    let mut findings = reasons(tree.text(PAGE).unwrap_or_default(), &ours);
    findings.extend(others.iter().filter_map(|package| licence(package)));
    findings.extend(others.iter().filter_map(|package| source(package)));
    findings.extend(versions(&others));
    findings.extend(compiler(&ours, &others));
    Ok(findings)
}

/// Checks that each imported crate has a row of the page's table, and that each row is of an imported one.
fn reasons(page: &str, ours: &[&Value]) -> Vec<Finding> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let cells = rows.flat_map(|cell| cell.split(", "));
    let named: BTreeSet<&str> = cells.filter(|name| !["crate", ELSEWHERE].contains(name)).collect();
    let own: BTreeSet<&str> = ours.iter().map(|package| text(package, "name")).collect();
    let dependencies = ours.iter().filter_map(|package| package["dependencies"].as_array()).flatten();
    let imported: BTreeSet<&str> =
        dependencies.map(|dependency| text(dependency, "name")).filter(|name| !own.contains(name)).collect();
    let missing = imported.difference(&named).map(|name| format!("does not say why {name} is here"));
    let needless = named.difference(&imported).map(|name| format!("names {name}, which nobody imports"));
    missing.chain(needless).map(|what| Finding::of_file(PAGE, what)).collect()
}

fn licence(package: &Value) -> Option<Finding> {
    let licence = text(package, "license");
    let is_allowed = Expression::parse_mode(licence, ParseMode::LAX).is_ok_and(|expression| {
        expression.evaluate(|needed| needed.license.id().is_some_and(|id| LICENCES.contains(&id.name)))
    });
    let what =
        || format!("{} is under '{licence}', which is not one of {}", text(package, "name"), LICENCES.join(", "));
    (!is_allowed).then(|| Finding::of_file("Cargo.lock", what()))
}

fn source(package: &Value) -> Option<Finding> {
    let from = text(package, "source");
    (from != SOURCE).then(|| Finding::of_file("Cargo.lock", format!("{} comes from {from}", text(package, "name"))))
}

/// Crates in several versions that are not in the list, and those of the list that are not.
fn versions(others: &[&Value]) -> Vec<Finding> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in others {
        versions.entry(text(package, "name")).or_default().insert(text(package, "version"));
    }
    let several: BTreeSet<&str> =
        versions.iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| *name).collect();
    let known: BTreeSet<&str> = SEVERAL_VERSIONS.iter().map(|(name, _)| *name).collect();
    let new = several.difference(&known).map(|name| {
        let versions = versions[name].iter().copied().collect::<Vec<_>>().join(" and ");
        format!("{name} is here as {versions}: use one, or say in dependencies.rs whose it is")
    });
    let gone = known.difference(&several).map(|name| format!("{name} is here once: take it out of dependencies.rs"));
    new.chain(gone).map(|what| Finding::of_file("Cargo.lock", what)).collect()
}

/// Checks that the compiler required by the workspace is sufficient for all.
fn compiler(ours: &[&Value], others: &[&Value]) -> Vec<Finding> {
    let Some(stated) = ours.iter().find_map(|package| version(text(package, "rust_version"))) else {
        return vec![Finding::of_file("Cargo.toml", "does not say which compiler it needs: rust-version")];
    };
    let needs_more = others.iter().filter(|package| version(text(package, "rust_version")) > Some(stated));
    let what = |package: &&&Value| format!("{} needs Rust {}", text(package, "name"), text(package, "rust_version"));
    needs_more.map(|package| Finding::of_file("Cargo.toml", what(&package))).collect()
}

/// `1.92` and `1.92.0` as numbers.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next().unwrap_or(Some(0))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn whats(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn every_dependency_has_a_reason_and_every_reason_a_dependency() {
        let page = "| crate | for |\n|---|---|\n| libc, csv | x |\n| gone | y |\n";
        let ours = [
            json!({ "name": "a", "dependencies": [{ "name": "libc" }, { "name": "csv" }, { "name": "toml" }] }),
            json!({ "name": "b", "dependencies": [{ "name": "a" }] }),
        ];
        assert_eq!(
            whats(reasons(page, &ours.iter().collect::<Vec<_>>())),
            ["does not say why toml is here", "names gone, which nobody imports"]
        );
    }

    #[test]
    fn licences_are_judged_as_expressions() {
        for (text, is_allowed) in [
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("(MIT OR GPL-3.0-only) AND Unicode-3.0", true),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("MPL-2.0", false),
            ("", false),
        ] {
            assert_eq!(licence(&json!({ "name": "x", "license": text })).is_none(), is_allowed, "{text}");
        }
    }

    #[test]
    fn compilers_are_compared_as_numbers() {
        let package = |version: &str| json!({ "name": "x", "rust_version": version });
        let (stated, older, newer) = (package("1.92"), package("1.9.0"), package("1.100"));
        assert_eq!(whats(compiler(&[&stated], &[&older, &newer])), ["x needs Rust 1.100"]);
        assert_eq!(version("1.92.1"), Some((1, 92)));
    }
}
