//! Confidence intervals of the figures of a timespan.

pub(crate) mod batch_means;
pub(crate) mod interval;
pub(crate) mod percentiles;
mod spectrum;
#[cfg(test)]
mod study;
