//! The hosts of a result of several: a table, and the I/Os of each over time.

use super::axis::Axis;
use super::block::{Block, Section, charts};
use super::chart::{Cell, Chart, Marks, Points, Series};
use super::charts::OF_ONE_MACHINE;
use super::foreign_text::text;
use super::quantity::{Quantity, significant};
use super::role::Role;
use crate::chart::ChartResult;
use crate::words::hosts::{notes, table};
use model::fleet::{FleetTimeSpan, HostTimeSpan};
use model::result::RunResult;

/// Lines of a chart; more could not be distinguished.
const LINES_MAX: usize = 8;

/// The hosts of a timespan, by its index; nothing for one machine.
pub fn sections(result: &RunResult, index: usize) -> Vec<Section> {
    let Some((fleet, time_span)) = result.fleet.as_ref().and_then(|fleet| Some((fleet, fleet.time_spans.get(index)?)))
    else {
        return Vec::new();
    };
    let table = table(fleet, time_span);
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(charts(shown(time_span)));
    let mut sections = vec![Section::new("Hosts", blocks)];
    let sentences: Vec<String> = notes(time_span).iter().map(|note| text(note)).collect();
    if !sentences.is_empty() {
        sections.push(Section::new("Notes of the hosts", vec![Block::notes(sentences)]));
    }
    sections
}

/// The charts of the hosts of a timespan.
pub(crate) fn shown(time_span: &FleetTimeSpan) -> Vec<ChartResult> {
    [over_time(time_span), cpus(time_span)].into_iter().flatten().map(Ok).collect()
}

/// Removes the missing CPU charts of one machine: each host has CPUs of its own.
pub(crate) fn without_cpus_of_one_machine(section: &mut Section) {
    for block in &mut section.blocks {
        if let Block::Absent { charts } = block {
            charts.retain(|missing| !OF_ONE_MACHINE.contains(&missing.title));
        }
    }
    section.blocks.retain(|block| !matches!(block, Block::Absent { charts } if charts.is_empty()));
}

/// CPU usage of each host.
fn cpus(time_span: &FleetTimeSpan) -> Option<Chart> {
    let known = |host: &HostTimeSpan| Some((text(&host.host), host.headline.as_ref()?.cpu_percent));
    let hosts: Vec<(String, f64)> = time_span.hosts.iter().filter_map(known).collect();
    let cell = |(index, (name, percent)): (usize, &(String, f64))| {
        let middle = index as f64 + 1.0;
        Cell {
            x: (middle - 0.38, middle + 0.38),
            y: (0.0, *percent),
            value: *percent,
            strength: 1.0,
            label: String::new(),
            text: format!("{name}: {} %", significant(*percent)),
        }
    };
    let names = hosts.iter().enumerate().map(|(index, (name, _))| (index as f64 + 1.0, name.clone()));
    (!hosts.is_empty()).then(|| Chart {
        name: "hosts-cpu",
        title: "CPU usage of each host".to_owned(),
        caption: "What all programs together used, mean of the CPUs of the host.".to_owned(),
        x: Axis::named("", Quantity::Count, (0.4, hosts.len() as f64 + 0.6), names.collect()),
        y: Axis::linear("of the measured time", Quantity::Percent, 0.0, 100.0),
        right: None,
        series: vec![Series {
            name: String::new(),
            role: Role::User,
            marks: Marks::Cells(hosts.iter().enumerate().map(cell).collect()),
        }],
        markers: Vec::new(),
    })
}

/// I/Os per second of each host; for many hosts the lowest, the median and the highest at each time.
fn over_time(time_span: &FleetTimeSpan) -> Option<Chart> {
    let hosts: Vec<(&HostTimeSpan, Points)> =
        time_span.hosts.iter().map(|host| (host, points(host))).filter(|(_, points)| !points.is_empty()).collect();
    let line = |index: usize, name: &str, points: Points| Series {
        name: name.to_owned(),
        role: Role::of_line(index),
        marks: Marks::Line(points),
    };
    let is_few = hosts.len() <= LINES_MAX;
    let series: Vec<Series> = if is_few {
        hosts.iter().enumerate().map(|(index, (host, points))| line(index, &text(&host.host), points.clone())).collect()
    } else {
        let of_hosts: Vec<&Points> = hosts.iter().map(|(_, points)| points).collect();
        band(&of_hosts)
            .into_iter()
            .zip(["lowest", "median", "highest"])
            .enumerate()
            .map(|(index, (points, name))| line(index, name, points))
            .collect()
    };
    let values = || {
        series.iter().flat_map(|series| match &series.marks {
            Marks::Line(points) => points.as_slice(),
            _ => &[],
        })
    };
    let (start_s, end_s) = values().fold((0.0f64, 0.0f64), |(start, end), (x, _)| (start.min(*x), end.max(*x)));
    let caption = if is_few {
        "Time counts from the start of the measurement that all hosts have in common.".to_owned()
    } else {
        format!("The lowest, the median and the highest of {} hosts at each time.", hosts.len())
    };
    (end_s > start_s).then(|| Chart {
        name: "hosts",
        title: "I/Os per second of each host".to_owned(),
        caption,
        x: Axis::linear("", Quantity::TimeS, start_s, end_s),
        y: Axis::from_zero("IOPS", Quantity::Iops, values().map(|(_, y)| *y)),
        right: None,
        series: series.clone(),
        markers: Vec::new(),
    })
}

/// The middle of each part on the common axis in seconds, and the I/Os per second in it.
fn points(host: &HostTimeSpan) -> Points {
    let width_s = host.series.width_ns as f64 / 1e9;
    let begins_s = host.begins_ns.unwrap_or(0) as f64 / 1e9;
    let point = |(index, ios): (usize, &u64)| (begins_s + (index as f64 + 0.5) * width_s, *ios as f64 / width_s);
    host.series.ios.iter().enumerate().map(point).collect()
}

/// The lowest, the median and the highest of all hosts in each part, as far as all of them reach. They start within a
/// small fraction of a part of one another.
fn band(hosts: &[&Points]) -> [Points; 3] {
    let mut band: [Points; 3] = Default::default();
    let count = hosts.iter().map(|points| points.len()).min().unwrap_or(0);
    for index in 0..count {
        let mut values: Vec<f64> = hosts.iter().map(|points| points[index].1).collect();
        values.sort_by(f64::total_cmp);
        let (Some(lowest), Some(highest)) = (values.first(), values.last()) else { break };
        let at_s = hosts[0][index].0;
        for (points, value) in band.iter_mut().zip([*lowest, values[values.len() / 2], *highest]) {
            points.push((at_s, value));
        }
    }
    band
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subject;
    use model::fleet::{Fleet, HostSeries};
    use model::headline::Headline;
    use model::result::{Measured, TimeSpanResult};

    fn host(name: &str, begins_ns: i64, ios: &[u64]) -> HostTimeSpan {
        HostTimeSpan {
            host: name.to_owned(),
            begins_ns: Some(begins_ns),
            series: HostSeries { width_ns: 100_000_000, ios: ios.to_vec() },
            ..HostTimeSpan::default()
        }
    }

    fn lines(hosts: Vec<HostTimeSpan>) -> Vec<(String, Points)> {
        let chart = over_time(&FleetTimeSpan { hosts, ..FleetTimeSpan::default() }).expect("a chart");
        let line = |series: &Series| match &series.marks {
            Marks::Line(points) => (series.name.clone(), points.clone()),
            _ => panic!("another form"),
        };
        chart.series.iter().map(line).collect()
    }

    #[test]
    fn few_hosts_have_a_line_each() {
        let found = lines(vec![host("h1", -50_000_000, &[10, 20]), host("h2", 0, &[5]), host("h3", 0, &[])]);
        let rounded = |points: &Points| {
            points.iter().map(|(x, y)| ((x * 1e3).round() as i64, y.round() as i64)).collect::<Vec<_>>()
        };
        let found: Vec<_> = found.iter().map(|(name, points)| (name.as_str(), rounded(points))).collect();
        assert_eq!(found, [("h1", vec![(0, 100), (100, 200)]), ("h2", vec![(50, 50)])]);
    }

    #[test]
    fn each_host_has_a_bar_of_its_cpus() {
        let used = |name: &str, cpu_percent| HostTimeSpan {
            headline: Some(Headline { cpu_percent, ..Headline::default() }),
            ..host(name, 0, &[])
        };
        let hosts = vec![used("h1", 25.0), host("h2", 0, &[]), used("h3", 75.0)];
        let chart = cpus(&FleetTimeSpan { hosts, ..FleetTimeSpan::default() }).expect("a chart");
        let Marks::Cells(cells) = &chart.series[0].marks else { panic!("another form") };
        let texts: Vec<&str> = cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(texts, ["h1: 25 %", "h3: 75 %"]);
        assert!(cpus(&FleetTimeSpan::default()).is_none());
    }

    #[test]
    fn the_charts_of_hosts_can_be_asked_for() {
        let hosts = vec![host("h1", 0, &[10, 20]), host("h2", 0, &[5, 5])];
        let fleet = Fleet { time_spans: vec![FleetTimeSpan { hosts, ..FleetTimeSpan::default() }], ..Fleet::default() };
        let measured = TimeSpanResult { measured: Some(Measured::default()), ..TimeSpanResult::default() };
        let result = RunResult { fleet: Some(fleet), time_spans: vec![measured], ..RunResult::default() };
        let hosts_chart = |result: &RunResult| {
            let charts = Subject::Run { name: "r.json", result, devices: None }.charts();
            charts.into_iter().flatten().find(|chart| chart.name == "hosts")
        };
        assert_eq!(hosts_chart(&result).expect("a chart").title, "I/Os per second of each host");
        assert!(hosts_chart(&RunResult { fleet: None, ..result }).is_none(), "of one machine there is none");
    }

    #[test]
    fn many_hosts_have_a_band() {
        let hosts = (1..=9u64).map(|number| host(&format!("h{number}"), 0, &[number, 10 * number])).collect();
        let found: Vec<_> = lines(hosts).into_iter().map(|(name, points)| (name, points[0].1.round() as i64)).collect();
        assert_eq!(found, [("lowest".to_owned(), 10), ("median".to_owned(), 50), ("highest".to_owned(), 90)]);
    }
}
