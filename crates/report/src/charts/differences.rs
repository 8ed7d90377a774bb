//! Differences between two sides, with intervals.

use crate::axis::Axis;
use crate::chart::{Chart, Interval, Marker, Marks, Series};
use crate::quantity::{Quantity, change, interval_of_change};
use crate::role::Role;
use crate::words::compare::word;
use crate::words::figure_words::name_of;
use stats::compare::{ComparisonVerdict, Difference};

/// Percent of the first side; `None` without common figures.
pub(crate) fn differences(found: &[Difference]) -> Option<Chart> {
    let rows = found.len() as f64;
    let row = |(index, difference): (usize, &Difference)| {
        let Difference { percent, interval, verdict, .. } = *difference;
        let bounds = interval.map_or_else(String::new, |ends| format!(" ({})", interval_of_change(ends)));
        Interval {
            at: percent,
            bounds: interval,
            y: rows - index as f64,
            role: role(verdict),
            text: format!(
                "{}: {}{bounds}: {}",
                name_of((difference.scope, difference.figure)),
                change(percent),
                word(verdict)
            ),
        }
    };
    let intervals: Vec<Interval> = found.iter().enumerate().map(row).collect();
    // A wider interval is no more informative than one that leaves the chart.
    let farthest = intervals.iter().map(|row| row.at.abs()).fold(25.0, f64::max) * 2.0;
    let ends = intervals.iter().flat_map(|row| {
        let (low, high) = row.bounds.unwrap_or((row.at, row.at));
        [row.at, low.clamp(-farthest, farthest), high.clamp(-farthest, farthest)]
    });
    let names = found
        .iter()
        .enumerate()
        .map(|(index, difference)| (rows - index as f64, name_of((difference.scope, difference.figure))));
    let is_cut = intervals.iter().filter_map(|row| row.bounds).any(|(low, high)| low < -farthest || high > farthest);
    let cut = if is_cut { " An arrow: the interval goes on beyond the chart." } else { "" };
    let is_bare = intervals.iter().any(|row| row.bounds.is_none());
    let bare = if is_bare { " A dot without a line has no interval: how far it may be off is not known." } else { "" };
    let across = Axis::from_zero("change", Quantity::Change, ends.chain([-1.0, 1.0]));
    (!found.is_empty()).then(|| Chart {
        name: "differences",
        title: "Differences".to_owned(),
        caption: format!(
            "Change of the second side, all its runs, relative to the first, with confidence intervals of 95 % or more: the tests of all figures share an error of 5 %. Green: better; \
             red: worse; grey: equivalent, or unknown.{bare}{cut}"
        ),
        x: across,
        y: Axis::named("", Quantity::Count, (0.4, rows + 0.6), names.collect()),
        series: vec![Series { name: String::new(), role: Role::Total, marks: Marks::Intervals(intervals) }],
        right: None,
        markers: vec![Marker { x: 0.0, bounds: (0.0, 0.0), role: Role::Muted, label: "no change".to_owned() }],
    })
}

fn role(verdict: ComparisonVerdict) -> Role {
    match verdict {
        ComparisonVerdict::Better => Role::Good,
        ComparisonVerdict::Worse => Role::Bad,
        ComparisonVerdict::NoDifference | ComparisonVerdict::LimitedByRate | ComparisonVerdict::CannotTell => {
            Role::Total
        }
    }
}
