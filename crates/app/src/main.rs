//! The command `diskspd`.
fn main() {}
