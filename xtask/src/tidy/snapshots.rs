//! Snapshot files that no test compares with.

use super::Finding;
use super::tree::{Tree, folder_of};

/// Snapshots whose test no longer exists.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let orphans = tree.ending(".snap").filter(|(path, _)| !has_test(tree, path));
    orphans.map(|(path, _)| Finding::of_file(path, "no test compares anything with it")).collect()
}

/// True if a source beside the directory of snapshots has the test that one is named after, or names it.
fn has_test(tree: &Tree, path: &str) -> bool {
    let folder = folder_of(path);
    let sources = folder_of(folder);
    let name = path.trim_start_matches(folder).trim_end_matches(".snap");
    let name = name.rsplit("__").next().unwrap_or(name);
    // Additional ones of the same test are numbered: name-2.
    let test = name.rsplit_once('-').filter(|(_, number)| number.parse::<u32>().is_ok()).map_or(name, |(test, _)| test);
    let (function, string) = (format!("fn {test}("), format!("\"{name}\""));
    let mut sources = tree.ending(".rs").filter(|(path, _)| path.starts_with(sources));
    sources.any(|(_, text)| text.contains(&function) || text.contains(&string))
}
