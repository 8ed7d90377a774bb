//! Marks of percentiles of too few samples.

use super::quantity::latency;
use crate::block::dash;
use model::headline::Headline;
use model::metric::ScopedMetric;

/// The mark after such a percentile in a table.
pub(crate) const MARK: &str = " *";

/// A percentile as a cell of a table.
pub(crate) struct Marked {
    pub(crate) text: String,
    pub(crate) is_weak: bool,
}

/// True if fewer than ten I/Os lie beyond the rank; older documents lack their number.
pub(crate) fn is_weak(ios: u64, rank_ppb: u64) -> bool {
    ios > 0 && stats::is_weak(ios, rank_ppb)
}

/// A latency of a run as a cell; a scope has fewer I/Os than the run.
pub(crate) fn marked(figures: &Headline, metric: ScopedMetric) -> Marked {
    let Some(ns) = figures.scoped_value(metric) else { return Marked { text: dash(), is_weak: false } };
    let is_weak = metric.1.rank_ppb().is_some_and(|rank_ppb| is_weak(figures.ios, rank_ppb));
    Marked { text: format!("{}{}", latency(ns), if is_weak { MARK } else { "" }), is_weak }
}

/// The note below a table with such percentiles.
pub(crate) fn note(is_any_weak: bool) -> String {
    if is_any_weak { "* few samples: fewer than ten I/Os lie beyond this percentile." } else { "" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::{Metric, Scope};

    #[test]
    fn a_percentile_of_few_samples_has_a_mark() {
        let marked = |ios| {
            let run = Headline { ios, p99_ns: Some(1_500_000), ..Headline::default() };
            let found = super::marked(&run, (Scope::All, Metric::P99));
            (found.text, found.is_weak)
        };
        assert_eq!(marked(999), ("1.5 ms *".to_owned(), true));
        assert_eq!(marked(1000), ("1.5 ms".to_owned(), false));
        assert_eq!(marked(0), ("1.5 ms".to_owned(), false), "older documents do not tell");
        let unknown = super::marked(&Headline { ios: 5, ..Headline::default() }, (Scope::All, Metric::P99));
        assert_eq!(unknown.text, "-");
        assert!(note(true).starts_with("* few samples") && note(false).is_empty());
    }
}
