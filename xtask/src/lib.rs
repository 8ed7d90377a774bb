//! The project's own scripts.

pub mod docs;
mod schema_page;
pub mod vm;
