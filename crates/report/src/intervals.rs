//! Figures with their 95 % intervals.

use crate::block::{Column, Table, dash};
use crate::numbers::{grouped, ms};
use crate::words::confidence::{WithoutInterval, of_bytes, of_iops, of_mean_latency, without_interval};
use model::confidence::{HalfWidths, Interval};
use model::figures::{Figures, LatencyDistribution};
use model::result::{LoadLoop, Measured};
use model::units::mib;
use stats::NAMED_PERCENTILES;
use stats::ranks::P99_PPB;

/// The I/Os that figures describe.
struct Ios<'a> {
    name: &'static str,
    /// None of response times.
    figures: Option<&'a Figures>,
    latencies: Option<&'a LatencyDistribution>,
    intervals: Option<&'a HalfWidths>,
}

#[derive(Clone, Copy)]
enum Figure {
    Iops,
    MibPerS,
    Mean,
    /// Its name and its rank in parts per billion.
    Percentile(&'static str, u64),
}

impl Figure {
    fn heading(self) -> String {
        match self {
            Self::Iops => "I/O per s".to_owned(),
            Self::MibPerS => "MiB/s".to_owned(),
            Self::Mean => "mean (ms)".to_owned(),
            Self::Percentile(name, _) => format!("{name} (ms)"),
        }
    }

    fn value(self, ios: &Ios<'_>) -> Option<(f64, Option<Interval>)> {
        let Ios { figures, latencies, intervals, .. } = *ios;
        let find_interval = |find: fn(&Figures, &HalfWidths) -> Option<Interval>| find(figures?, intervals?);
        Some(match self {
            Self::Iops => (figures?.iops, find_interval(of_iops)),
            Self::MibPerS => (mib(figures?.bytes_per_s), find_interval(of_bytes).map(|bytes| bytes.scaled(mib(1.0)))),
            Self::Mean => {
                let (mean_ns, interval) = match figures {
                    Some(figures) => (figures.latency?.mean_ns, find_interval(of_mean_latency)),
                    None => (latencies?.figures.mean_ns, intervals.and_then(|of| of.latency_mean_interval_ns)),
                };
                (ms(mean_ns), interval.map(|ns| ns.scaled(ms(1.0))))
            }
            Self::Percentile(_, rank_ppb) => {
                let value_ns = latencies?.at(rank_ppb)? as f64;
                let found = intervals.and_then(|of| of.percentiles.iter().find(|found| found.rank_ppb == rank_ppb));
                let around = |half_width_ns| Interval::around(value_ns, half_width_ns);
                let interval = found.map(|found| found.interval_ns.unwrap_or_else(|| around(found.half_width_ns)));
                (ms(value_ns), interval.map(|ns| ns.scaled(ms(1.0))))
            }
        })
    }
}

/// All I/Os, reads and writes if there were both, and response times of an open loop.
fn all(measured: &Measured) -> Vec<Ios<'_>> {
    let totals = &measured.total;
    let latencies = measured.total_latency.as_ref();
    let confidence = measured.confidence.as_ref();
    let of_all = Ios {
        name: "all",
        figures: Some(&totals.total),
        latencies: latencies.and_then(|of| of.total.as_ref()),
        intervals: confidence.and_then(|of| of.total.as_ref()),
    };
    let reads = Ios {
        name: "read",
        figures: Some(&totals.read),
        latencies: latencies.and_then(|of| of.read.as_ref()),
        intervals: confidence.and_then(|of| of.read.as_ref()),
    };
    let writes = Ios {
        name: "write",
        figures: Some(&totals.write),
        latencies: latencies.and_then(|of| of.write.as_ref()),
        intervals: confidence.and_then(|of| of.write.as_ref()),
    };
    let has_both = totals.read.ios > 0 && totals.write.ios > 0;
    let response = match &measured.load_loop {
        Some(LoadLoop::Open(open)) => open.response_time.total.as_ref().map(|found| Ios {
            name: "response",
            figures: None,
            latencies: Some(found),
            intervals: open.response_time_confidence.as_ref(),
        }),
        _ => None,
    };
    [of_all].into_iter().chain([reads, writes].into_iter().filter(|_| has_both)).chain(response).collect()
}

fn has_interval(ios: &Ios<'_>, figure: Figure) -> bool {
    figure.value(ios).is_some_and(|(_, interval)| interval.is_some())
}

/// Rates, mean and 99th percentile of each direction; `None` if none has an interval and other tables show all of them
/// (`is_alone`: there are no other tables).
pub fn in_short(measured: &Measured, is_alone: bool) -> Option<Table> {
    let figures = [Figure::Iops, Figure::Mean, Figure::Percentile("p99", P99_PPB)];
    let all = all(measured);
    let is_news = |ios: &Ios<'_>| ios.figures.is_none() || figures.iter().any(|figure| has_interval(ios, *figure));
    (is_alone || all.iter().any(is_news)).then(|| table_of(&all, &figures))
}

/// A row for each direction.
fn table_of(all: &[Ios<'_>], figures: &[Figure]) -> Table {
    let cells = |ios: &Ios<'_>| figures.iter().map(|figure| cell(figure.value(ios))).collect::<Vec<_>>();
    let names = figures.iter().map(|figure| Column::number(&figure.heading()));
    Table {
        columns: std::iter::once(Column::text("95 %")).chain(names).collect(),
        rows: all.iter().map(|ios| [vec![ios.name.to_owned()], cells(ios)].concat()).collect(),
        ..Table::default()
    }
}

/// A row for each figure that has an interval; `None` if none has.
pub(crate) fn table(measured: &Measured) -> Option<Table> {
    let all = all(measured);
    let percentiles = NAMED_PERCENTILES.into_iter().map(|(name, rank_ppb)| Figure::Percentile(name, rank_ppb));
    let figures = [Figure::Iops, Figure::MibPerS, Figure::Mean].into_iter().chain(percentiles);
    let figures: Vec<Figure> = figures.filter(|figure| all.iter().any(|ios| has_interval(ios, *figure))).collect();
    let Table { columns, rows, .. } = table_of(&all, &figures);
    let row = |index: usize| {
        let cells = rows.iter().map(move |row| row[index].clone());
        std::iter::once(columns[index].name.clone()).chain(cells).collect()
    };
    (!figures.is_empty()).then(|| Table {
        heading: "Figures and their 95 % intervals".to_owned(),
        columns: std::iter::once(Column::text("")).chain(all.iter().map(|ios| Column::number(ios.name))).collect(),
        rows: (1..columns.len()).map(row).collect(),
        note: note(measured),
        ..Table::default()
    })
}

/// The coverage of the intervals, and the reason why some figures have none.
fn note(measured: &Measured) -> String {
    let missing = match without_interval(measured, None, measured.total.total.ios) {
        Some(WithoutInterval::Withheld { why, remedy }) => {
            format!(" Some figures have none: {why}{}.", remedy.map(|words| format!(": {words}")).unwrap_or_default())
        }
        Some(WithoutInterval::Reason(_)) | None => String::new(),
    };
    format!(
        "95 % intervals cover the variation within this run, not that from run to run. Percentiles have none if too few I/Os \
         lie beyond them.{missing}"
    )
}

/// `43,253 [42,118-44,388]`
fn cell(value: Option<(f64, Option<Interval>)>) -> String {
    match value {
        None => dash(),
        Some((value, None)) => digits(value),
        Some((value, Some(Interval { low, high }))) => {
            format!("{} [{}-{}]", digits(value), digits(low), digits(high))
        }
    }
}

/// Four digits or more, as many as matter.
pub fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 999.95 => grouped(value),
        size if size >= 99.995 => format!("{value:.1}"),
        size if size >= 9.9995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
