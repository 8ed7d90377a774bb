//! How long a file may be. Functions are clippy's business: `too-many-lines-threshold`.

use super::Finding;
use super::tree::Tree;

/// Lines of a Rust file, blank ones and comments counted.
const LINES_MAX: usize = 500;

/// Lines of a file of tests.
const TEST_LINES_MAX: usize = 600;

/// Files that may be longer, by how much, and why.
const LONGER: [(&str, usize, &str); 0] = [];

/// Files that are too long, and exceptions that are none any more.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let longer = LONGER.iter().find(|(longer, ..)| *longer == path);
        findings.extend(judge(path, text.lines().count(), longer.map(|(_, lines, _)| *lines)));
    }
    for (path, ..) in LONGER {
        if !tree.files.contains_key(path) {
            findings.push(Finding::of_file(path, "may be longer than others, and is not there"));
        }
    }
    findings
}

fn judge(path: &str, lines: usize, allowed: Option<usize>) -> Option<Finding> {
    let usual = if is_of_tests(path) { TEST_LINES_MAX } else { LINES_MAX };
    let limit = allowed.unwrap_or(usual);
    if lines > limit {
        let what = format!("{lines} lines, and {limit} are the limit: split it by subject, or say why not in sizes.rs");
        return Some(Finding::of_file(path, what));
    }
    let is_needless = allowed.is_some() && lines <= usual;
    is_needless.then(|| Finding::of_file(path, "is no longer than others: take it out of the list in sizes.rs"))
}

fn is_of_tests(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_their_limit_are_found_and_needless_exceptions_too() {
        for (path, lines, allowed, is_found) in [
            ("crates/a/src/lib.rs", 500, None, false),
            ("crates/a/src/lib.rs", 501, None, true),
            ("crates/a/tests/b.rs", 501, None, false),
            ("crates/a/src/b/tests.rs", 601, None, true),
            ("crates/a/src/lib.rs", 700, Some(700), false),
            ("crates/a/src/lib.rs", 701, Some(700), true),
            ("crates/a/src/lib.rs", 400, Some(700), true),
        ] {
            assert_eq!(judge(path, lines, allowed).is_some(), is_found, "{path} {lines}");
        }
    }
}
