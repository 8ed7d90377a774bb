//! The project's own scripts.

pub mod cost;
pub mod docs;
mod schema_page;
pub mod stop;
mod surroundings;
pub mod vm;
