//! Invisible white space.

use super::Finding;
use super::tree::Tree;
use std::path::Path;

/// Files with third-party contents, kept byte for byte.
const AS_WRITTEN: [&str; 1] = ["/tests/data/"];

/// Suffixes of the files that are written by hand.
const BY_HAND: [&str; 6] = [".md", ".rs", ".toml", ".html", ".css", ".js"];

/// Lines that end with white space, and files that do not end with one line feed. In Rust, rustfmt removes it outside
/// of literals, where it has a purpose.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let by_hand = |path: &str| {
        BY_HAND.iter().any(|end| path.ends_with(end)) && !AS_WRITTEN.iter().any(|folder| path.contains(folder))
    };
    let mut findings = Vec::new();
    for (path, text) in &tree.files {
        if let Some(text) = text.as_deref().filter(|_| by_hand(path)) {
            findings.extend(judge(path, text));
        }
    }
    findings
}

fn judge(path: &str, text: &str) -> Vec<Finding> {
    let at = |line: usize, what: &str| Finding { path: path.to_owned(), line, what: what.to_owned() };
    let is_rust = Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let mut findings = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.ends_with('\r') {
            findings.push(at(index + 1, "ends with a carriage return"));
        } else if line.trim_end() != line && !is_rust {
            findings.push(at(index + 1, "ends with white space"));
        }
    }
    if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        findings.push(at(0, "does not end with one line feed"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_at_the_end_is_found() {
        assert_eq!(judge("a.md", "a\n\nb\n"), []);
        let lines =
            |path: &str, text: &str| judge(path, text).into_iter().map(|finding| finding.line).collect::<Vec<_>>();
        assert_eq!(lines("a.md", "a \nb\t\n"), [1, 2]);
        assert_eq!(lines("a.rs", "a \n"), Vec::<usize>::new());
        assert_eq!(lines("a.rs", "a\r\n"), [1]);
        assert_eq!(lines("a.md", "a"), [0]);
        assert_eq!(lines("a.md", "a\n\n"), [0]);
    }
}
