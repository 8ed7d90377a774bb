//! Job files: a profile and its requirements in TOML.
//!
//! A key is an element of a profile's XML under its name in JSON, so each row of a setting is a key too. A document is
//! read and written by way of the equivalent elements.

mod document;
mod keys;
mod reader;
mod writer;

pub use document::{Job, JobFault};
pub use keys::{FORM, KeyTable, TableKey, key_tables};
pub use reader::{is_job, read_job, read_toml};
pub use writer::{unsayable_paths, write_job};

#[cfg(test)]
mod tests;
