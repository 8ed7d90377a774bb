//! Sentences, lines and tables that reports have in common.

pub mod ab;
pub mod compare;
pub mod confidence;
pub mod figure_words;
pub mod gate;
pub mod hosts;
pub mod interference;
pub mod limit;
pub mod load_line;
pub mod sweep;
pub mod time;
pub mod verdict;
pub mod waits;
