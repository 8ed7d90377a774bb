//! The project's own scripts.

pub mod cost;
pub mod docs;
mod metadata;
mod reference_page;
mod schema_page;
pub mod stop;
mod surroundings;
pub mod tidy;
pub mod vm;
