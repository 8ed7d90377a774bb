//! `--skew`: tables that threads share, and what one thread counts of its draws on one target.

use hot::counters::Counter;
use hot::scatter::Scatter;
use hot::skew::{Skewed, Strata};
use model::plan::{TimeSpanPlan, WorkerTarget};
use model::profile::Skew;
use std::sync::Arc;

/// The tables of a timespan, each made once.
#[derive(Debug, Default)]
pub struct SkewTables(Vec<(Skew, u64, Arc<Strata>)>);

impl SkewTables {
    /// Those of all threads.
    pub fn new(plan: &TimeSpanPlan) -> Self {
        let mut tables = Self::default();
        for target in plan.workers.iter().flat_map(|worker| &worker.targets) {
            let positions = target.pattern.area().positions;
            let Some(skew) = target.pattern.skew().filter(|skew| tables.find(*skew, positions).is_none()) else {
                continue;
            };
            // Validation refused what no law may be.
            let strata = Strata::new(skew.into(), positions);
            tables.0.extend(strata.map(|strata| (skew, positions, Arc::new(strata))));
        }
        tables
    }

    fn find(&self, skew: Skew, positions: u64) -> Option<&Arc<Strata>> {
        self.0.iter().find(|(known, of, _)| (*known, *of) == (skew, positions)).map(|(_, _, strata)| strata)
    }
}

/// Draws of one thread on one target.
#[derive(Debug)]
pub(crate) struct SkewCells {
    strata: Arc<Strata>,
    skew: Skew,
    positions: u64,
    /// By stratum, since the measurement began.
    drawn: Arc<[Counter]>,
    /// The same when it ended.
    at_end: Box<[Counter]>,
    is_over: Counter,
}

impl SkewCells {
    /// `None` = the target has no skew.
    pub(crate) fn new(target: &WorkerTarget, tables: &SkewTables) -> Option<Self> {
        let skew = target.pattern.skew()?;
        let positions = target.pattern.area().positions;
        let strata = Arc::clone(tables.find(skew, positions)?);
        let drawn = strata.sizes().map(|_| Counter::default()).collect();
        let at_end = strata.sizes().map(|_| Counter::default()).collect();
        Some(Self { strata, skew, positions, drawn, at_end, is_over: Counter::default() })
    }

    /// The source of positions whose draws are counted here; its hot positions are those of the seed.
    pub(crate) fn source(&self, seed: u64) -> Skewed {
        let scatter = (!self.skew.is_contiguous).then(|| Scatter::new(self.positions, seed));
        Skewed::new(Arc::clone(&self.strata), scatter, Arc::clone(&self.drawn))
    }

    /// Forgets the draws of the warm-up. Only the worker may, here and below.
    pub(crate) fn forget(&self) {
        self.drawn.iter().for_each(|counter| counter.set(0));
    }

    /// Draws of the cool-down do not count.
    pub(crate) fn end(&self) {
        for (end, drawn) in self.at_end.iter().zip(&*self.drawn) {
            end.set(drawn.get());
        }
        self.is_over.set(1);
    }

    /// Draws while measuring, by stratum.
    pub(crate) fn draws(&self) -> Vec<u64> {
        let counters = if self.is_over.get() == 1 { &self.at_end } else { &*self.drawn };
        counters.iter().map(Counter::get).collect()
    }
}
