//! The project's own scripts.
fn main() {}
