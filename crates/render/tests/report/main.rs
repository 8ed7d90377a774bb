//! Fixed results, and their expected text. The texts are those of the specification of `DiskSpd`'s report, in the
//! layout of version 2.3.

mod caches;
mod confidence;
mod cpus;
mod echo;
mod endings;
mod events;
mod hosts;
mod metrics;
mod parsing;
mod short;
mod statistics;
mod support;
mod verdicts;
mod whole;
