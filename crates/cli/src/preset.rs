//! Presets: loads with a name, in TOML files that a user can copy and edit.

mod builtin;
mod command;
mod file;
mod request;

pub use builtin::{BUILTIN, Builtin};
pub use command::{HELP, PresetCommand, PresetRequest, Shown, parse};
pub use file::Preset;
pub use request::{CommandLine, command_lines, profile, run_request};
