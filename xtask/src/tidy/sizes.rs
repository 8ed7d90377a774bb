//! Usual maximum length of a file: a longer one gives a hint to check whether it has one subject. Functions are checked
//! by clippy: `too-many-lines-threshold`.

use super::Finding;
use super::tree::Tree;

/// Lines of a Rust file, including blank ones and comments.
const LINES_MAX: usize = 500;

/// Lines of a file of tests.
const TEST_LINES_MAX: usize = 600;

/// Files that exceed the limit.
pub(super) fn hints(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs").filter_map(|(path, text)| judge(path, text.lines().count())).collect()
}

fn judge(path: &str, lines: usize) -> Option<Finding> {
    let usual = if is_of_tests(path) { TEST_LINES_MAX } else { LINES_MAX };
    let what = || format!("{lines} lines, more than {usual}: split it if it is of more than one subject");
    (lines > usual).then(|| Finding::of_file(path, what()))
}

fn is_of_tests(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_longer_than_usual_are_hinted_at() {
        for (path, lines, is_found) in [
            ("crates/a/src/lib.rs", 500, false),
            ("crates/a/src/lib.rs", 501, true),
            ("crates/a/tests/b.rs", 501, false),
            ("crates/a/src/b/tests.rs", 601, true),
        ] {
            assert_eq!(judge(path, lines).is_some(), is_found, "{path} {lines}");
        }
    }
}
