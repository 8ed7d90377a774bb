//! `cargo xtask TASK`: the project's own scripts.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    if std::env::args().nth(1).as_deref() != Some("docs") {
        eprintln!("Usage: cargo xtask docs\n\n  docs   write the documents that are made from the program");
        return ExitCode::from(3);
    }
    match xtask::docs::write(root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}
