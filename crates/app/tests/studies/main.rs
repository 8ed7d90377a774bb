//! Studies of speeds: they need an otherwise idle machine, or much time, and run only on request.

mod beside_fio;
mod clean_runs;
