//! The project's own rules: permitted imports, no dead code, valid links. The rules are those of `cargo xtask tidy`.

use std::path::Path;

#[test]
fn the_project_is_tidy() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let findings = xtask::tidy::findings(root).expect("the project can be read");
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}
