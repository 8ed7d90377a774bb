//! Studies of speeds: they need a machine that does nothing else, or much time, and run only when they are asked for.

mod beside_fio;
mod clean_runs;
