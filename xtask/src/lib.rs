//! The project's own scripts.

pub mod book;
pub mod cost;
pub mod docs;
pub mod fuzz;
mod metadata;
mod reference_page;
pub mod release;
mod rule_tables;
mod schema_page;
mod sentences;
pub mod stop;
mod surroundings;
pub mod tidy;
pub mod torment;
pub mod vm;
