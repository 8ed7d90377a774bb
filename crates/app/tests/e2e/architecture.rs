//! The project's own rules hold: who imports whom, that nothing is dead, that links lead somewhere. The rules are
//! those of `cargo xtask tidy`.

use std::path::Path;

#[test]
fn the_project_is_tidy() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let findings = xtask::tidy::findings(root).expect("the project can be read");
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
