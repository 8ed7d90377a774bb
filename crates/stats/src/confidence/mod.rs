//! How far the figures of a timespan may be off.

pub(crate) mod batch_means;
pub(crate) mod interval;
pub(crate) mod percentiles;
mod spectrum;
#[cfg(test)]
mod study;
