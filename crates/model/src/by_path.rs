//! Values by path, for a lookup per target and rule.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A map for frequent lookups: a path is looked up by its bytes first, as comparing paths takes hundreds of
/// instructions for each step down the tree.
#[derive(Clone, Debug)]
pub struct ByPath<'a, T> {
    by_bytes: HashMap<&'a OsStr, &'a T>,
    all: &'a BTreeMap<PathBuf, T>,
}

impl<'a, T> ByPath<'a, T> {
    /// A view of a map.
    pub fn new(all: &'a BTreeMap<PathBuf, T>) -> Self {
        Self { by_bytes: all.iter().map(|(path, value)| (path.as_os_str(), value)).collect(), all }
    }

    /// As [`BTreeMap::get`]: `a//b` is `a/b`.
    pub fn get(&self, path: &Path) -> Option<&'a T> {
        self.by_bytes.get(path.as_os_str()).copied().or_else(|| self.all.get(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_found_as_in_the_map() {
        let all = BTreeMap::from([(PathBuf::from("a/b"), 1), (PathBuf::from("c"), 2)]);
        let by_path = ByPath::new(&all);
        for path in ["a/b", "a//b", "a/b/", "./c", "c", "a", ""] {
            assert_eq!(by_path.get(Path::new(path)), all.get(Path::new(path)), "{path}");
        }
    }
}
