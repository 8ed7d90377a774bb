//! `cargo xtask TASK`: the project's own scripts.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let done = match std::env::args().nth(1).as_deref() {
        Some("docs") => xtask::docs::write(root),
        _ => {
            eprintln!("Usage: cargo xtask docs\n\n  docs   write the documents that are made from the program");
            return ExitCode::from(3);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ERROR: {error}");
            ExitCode::FAILURE
        }
    }
}
