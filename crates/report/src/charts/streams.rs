//! Streams alone and together.

use super::values;
use crate::axis::Axis;
use crate::chart::{Cell, Chart, Marks, Series};
use crate::foreign_text::text;
use crate::quantity::Quantity;
use crate::role::Role;
use model::interference::{Interference, StreamHeadline, StreamInterference};

/// Ratio of the highest to the lowest value above which bars are unreadable; dots on a logarithmic axis replace them.
const BARS_RANGE_MAX: f64 = 30.0;

/// A bar's width; two bars of a stream are within 1.
const BAR_WIDTH: f64 = 0.36;

/// Distance between the two dots of a stream.
const DOTS_APART: f64 = 0.1;

type Figures = fn(&StreamInterference) -> &StreamHeadline;

/// I/Os per second of each stream, alone and together; `None` without streams.
pub(crate) fn streams(found: &Interference) -> Option<Chart> {
    let kinds: [(&str, Role, f64, Figures); 2] = [
        ("alone", Role::Total, -BAR_WIDTH, |stream| &stream.alone),
        ("together", Role::Read, 0.0, |stream| &stream.together),
    ];
    let placed = || (1u32..).map(f64::from).zip(&found.streams);
    let rates = || kinds.iter().flat_map(|(.., of)| found.streams.iter().map(|stream| of(stream).iops));
    let most = rates().fold(0.0, f64::max);
    let least = rates().filter(|iops| *iops > 0.0).fold(f64::INFINITY, f64::min);
    let are_bars = least * BARS_RANGE_MAX >= most;
    let bars = |(kind, role, left, of): (&str, Role, f64, Figures)| {
        let bar = |(place, stream): (f64, &StreamInterference)| {
            let iops = of(stream).iops;
            Cell {
                x: (place + left, place + left + BAR_WIDTH),
                y: (0.0, iops),
                value: iops,
                strength: 1.0,
                label: String::new(),
                text: format!("{} {kind}: {}", text(stream.name.as_str()), Quantity::Iops.value(iops)),
            }
        };
        Series { name: kind.to_owned(), role, marks: Marks::Cells(placed().map(bar).collect()) }
    };
    let dots = |(kind, role, left, of): (&str, Role, f64, Figures)| {
        let dot =
            |(place, stream)| (place + if left < 0.0 { -DOTS_APART / 2.0 } else { DOTS_APART / 2.0 }, of(stream).iops);
        Series { name: kind.to_owned(), role, marks: Marks::Dots(placed().map(dot).collect()) }
    };
    let series: Vec<Series> = kinds.into_iter().map(|kind| if are_bars { bars(kind) } else { dots(kind) }).collect();
    let y = if are_bars {
        Axis::from_zero("IOPS", Quantity::Iops, rates())
    } else {
        Axis::log("IOPS", Quantity::Iops, values(&series).map(|(_, y)| y))
    };
    let names = placed().map(|(place, stream)| (place, text(stream.name.as_str())));
    let medians = match found.rounds {
        1 => "One round.".to_owned(),
        rounds => format!("Medians of {rounds} rounds."),
    };
    (!found.streams.is_empty()).then(|| Chart {
        name: "interference",
        title: "I/Os per second of each stream, alone and together".to_owned(),
        caption: medians,
        x: Axis::named("", Quantity::Count, (0.5, found.streams.len() as f64 + 0.5), names.collect()),
        y,
        series,
        right: None,
        markers: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::StreamName;

    fn found(rates: &[(&str, f64, f64)]) -> Interference {
        let stream = |(name, alone, together): &(&str, f64, f64)| {
            let figures = |iops| StreamHeadline { iops, ..StreamHeadline::default() };
            let name = StreamName::parse(name).expect("a name");
            let (alone, together) = (figures(*alone), figures(*together));
            StreamInterference { name, alone, together, iops_share_percent: None, p99_factor: None }
        };
        Interference { rounds: 3, streams: rates.iter().map(stream).collect() }
    }

    #[test]
    fn each_stream_has_a_bar_alone_and_one_together() {
        let chart = streams(&found(&[("oltp", 900.0, 300.0), ("scan", 500.0, 450.0)])).expect("a chart");
        let [alone, together] = &chart.series[..] else { panic!("{chart:?}") };
        let bars = |series: &Series| match &series.marks {
            Marks::Cells(cells) => cells.iter().map(|cell| cell.y).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!((bars(alone), bars(together)), (vec![(0.0, 900.0), (0.0, 500.0)], vec![(0.0, 300.0), (0.0, 450.0)]));
        let Marks::Cells(cells) = &together.marks else { panic!("bars") };
        assert_eq!(cells[0].text, "oltp together: 300 IOPS");
        assert!(cells[0].x.0 >= 1.0 && cells[0].x.1 < 1.5, "it is right of the other and beside its name");
        assert_eq!(chart.caption, "Medians of 3 rounds.");
        assert!(streams(&found(&[])).is_none());
    }

    #[test]
    fn rates_far_apart_are_dots_on_a_logarithmic_axis() {
        let chart = streams(&found(&[("oltp", 90.0, 40.0), ("scan", 50_000.0, 0.0)])).expect("a chart");
        assert_eq!(chart.y.scale_name(), "log");
        assert!(chart.series.iter().all(|series| matches!(series.marks, Marks::Dots(_))));
        let chart = streams(&found(&[("idle", 0.0, 0.0)])).expect("a chart");
        assert_eq!(chart.y.scale_name(), "linear", "nothing is no range");
    }
}
