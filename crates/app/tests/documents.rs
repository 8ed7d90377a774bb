//! Documents that are made from the program are those that are committed.

use std::path::Path;

#[test]
fn documents_are_current() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    for document in xtask::docs::all(root).expect("documents can be made") {
        assert!(document.made == document.committed, "{} is out of date: run cargo xtask docs", document.path);
    }
}
