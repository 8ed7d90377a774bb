//! Sentences, lines and tables that reports have in common.

pub mod ab;
pub mod acceptance;
pub mod closing_line;
pub mod compare;
pub mod confidence;
pub mod figure_words;
pub mod foreign;
pub mod gate;
pub mod host_table;
pub mod interference;
pub mod limit;
pub mod load_line;
pub mod numbers;
pub mod plain_table;
pub mod preset;
pub mod prose;
pub mod repeat;
pub mod storage_table;
pub mod sweep;
pub mod time;
pub mod verdict_block;
pub mod waits;
