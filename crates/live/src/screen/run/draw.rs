//! The frame: phase and time, charts, latencies, the lower part, messages, and the keys.

use super::{LowerPane, RunScreen};
use crate::device_column::Column;
use crate::screen::look::{Styles, charts_height, draw_bars, draw_chart, draw_help, equal_parts};
use crate::words;
use model::live::{LiveLatency, LiveLoad, LiveSide, LiveTimes};
use model::units::mib;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// The minimum height of the charts, and of a screen with charts.
const CHARTS_HEIGHT: u16 = 4;
const HEIGHT_WITH_CHARTS: u16 = 18;

/// Minimum height of a screen with the load.
const HEIGHT_WITH_LOAD: u16 = 16;

/// Minimum height of the table of latencies: its heading, and three lines for each period.
const LATENCIES_HEIGHT: u16 = 7;

const HELP: [&str; 12] = [
    "q, Ctrl+C  end the run; the report follows",
    "m          CPUs, and the devices below the targets",
    "t          results per target",
    "h          results per thread",
    "Tab        next view",
    "↑ ↓        scroll them",
    "",
    "last       the last interval",
    "so far     the warm-up, or the measurement, so far",
    "p50 ...    percentiles, from buckets 0.8 % wide",
    "busy%      share of the time with a request in flight",
    "           (100 % does not mean that it is saturated)",
];

/// Draws the screen into a frame of any size.
pub fn draw(frame: &mut Frame<'_>, screen: &RunScreen, has_colours: bool) {
    let look = Styles::new(has_colours);
    let height = frame.area().height;
    let load = u16::from(height >= HEIGHT_WITH_LOAD && !screen.load.is_empty());
    let messages = screen.messages.len().min(2) as u16;
    let below_wanted = u16::try_from(below_height(screen)).unwrap_or(u16::MAX);
    let table = latency_lines(screen, &look);
    let table_height = LATENCIES_HEIGHT.max(table.len() as u16);
    let others = [1, load, table_height, below_wanted, messages, 1].into_iter().fold(0, u16::saturating_add);
    let charts = if height >= HEIGHT_WITH_CHARTS { charts_height(height.saturating_sub(others)) } else { 0 };
    let [first, second, third, fourth] = [1, load, charts, table_height].map(Constraint::Length);
    let parts = [first, second, third, fourth, Constraint::Min(0), Constraint::Length(messages), Constraint::Length(1)];
    let [top, load, charts, latencies, below, messages, bottom] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(Line::styled(screen.load.as_str(), look.heading)), load);
    frame.render_widget(Paragraph::new(title(screen, &look)), top);
    draw_charts(frame, screen, charts, &look);
    frame.render_widget(Paragraph::new(table), latencies);
    draw_below(frame, screen, below, &look);
    let shown = usize::from(messages.height);
    let last: Vec<Line<'_>> =
        screen.messages.iter().rev().take(shown).rev().map(|text| Line::raw(text.as_str())).collect();
    frame.render_widget(Paragraph::new(last).style(look.busy), messages);
    frame.render_widget(Paragraph::new(keys(screen, &look)), bottom);
    if screen.shows_help {
        draw_help(frame, " Keys and terms: press any key to close ", &HELP, 60, &look);
    }
}

fn title<'a>(screen: &'a RunScreen, look: &Styles) -> Line<'a> {
    let mut parts = vec![Span::styled(format!("{}  ", screen.status), look.busy)];
    if let Some(last) = &screen.last {
        let (elapsed, left) = (seconds(last.elapsed_ns), seconds(last.left_ns));
        parts.push(Span::styled(format!("{elapsed} s, {left} s left  "), look.heading));
    }
    if let (number @ 1.., count @ 2..) = screen.time_span {
        parts.push(Span::raw(format!("timespan {number} of {count}  ")));
    }
    parts.push(Span::styled(screen.command_line.as_str(), look.quiet));
    Line::from(parts)
}

/// Whole seconds, to the nearest.
fn seconds(ns: u64) -> u64 {
    ns.saturating_add(500_000_000) / 1_000_000_000
}

fn keys(screen: &RunScreen, look: &Styles) -> Line<'static> {
    if screen.is_ending {
        return Line::styled("the run is ending ...", look.busy);
    }
    Line::styled("q end the run  m machine  t targets  h threads  ↑↓ scroll  ? help", look.quiet)
}

/// A chart's name, the index of its values in the history, and how they are formatted.
type Chart = (&'static str, usize, fn(f64) -> String);

/// The latency is that of the part that the application waits for.
fn charts(screen: &RunScreen) -> [Chart; CHARTS_HEIGHT as usize] {
    let load = screen.last.as_ref().map(|last| &last.interval.total);
    let [mean, p99] = match load {
        Some(LiveLoad { response: Some(_), .. }) => ["response", "p99 resp."],
        Some(LiveLoad { commit: Some(_), .. }) => ["commit ms", "p99 commit"],
        _ => ["mean ms", "p99 ms"],
    };
    [
        ("I/Os per s", 0, words::amount),
        ("MiB/s", 1, |bytes| words::amount(mib(bytes))),
        (mean, 2, |ns| words::milliseconds(ns / 1e6)),
        (p99, 3, |ns| words::milliseconds(ns / 1e6)),
    ]
}

/// Lines of the lower part, if all of it is shown.
fn below_height(screen: &RunScreen) -> usize {
    let figures = screen.last.as_ref().map(|last| &last.interval);
    match screen.below {
        LowerPane::Machine => 2 + screen.machine.devices.len(),
        LowerPane::Targets => 1 + screen.targets.len(),
        LowerPane::Threads => 1 + figures.map_or(0, |figures| figures.threads.len()),
    }
}

fn draw_charts(frame: &mut Frame<'_>, screen: &RunScreen, area: Rect, look: &Styles) {
    let charts = charts(screen);
    for ((name, at, in_words), line) in charts.into_iter().zip(equal_parts(area, charts.len())) {
        let values = screen.history.iter().map(|values| values[at]);
        draw_chart(frame, (name, in_words), values.clone().next_back(), values, line, look);
    }
}

const FIGURES: [&str; 7] = ["I/Os per s", "MiB/s", "mean ms", "p50 ms", "p99 ms", "p99.9 ms", "max ms"];

fn figures_heading(first: &str, width: usize, look: &Styles) -> Line<'static> {
    Line::styled(format!("{first:<width$}{}", in_columns(&FIGURES)), look.heading)
}

/// I/O in a period, in the columns of [`FIGURES`].
fn figures(side: &LiveSide) -> String {
    columns(side.iops, Some(side.bytes_per_s), side.latency_mean_ns, side.latency)
}

/// The same of commits or responses.
fn waited_for(times: &LiveTimes) -> String {
    columns(times.per_s, None, Some(times.mean_ns), times.latency)
}

fn columns(per_s: f64, bytes_per_s: Option<f64>, mean_ns: Option<f64>, latency: Option<LiveLatency>) -> String {
    let ms = |ns: f64| words::milliseconds(ns / 1e6);
    let unknown = || "-".to_owned();
    let at = |value: Option<u64>| value.map_or_else(unknown, |ns| ms(ns as f64));
    let cells = [
        words::amount(per_s),
        bytes_per_s.map_or_else(unknown, |bytes| words::amount(mib(bytes))),
        mean_ns.map_or_else(unknown, ms),
        at(latency.map(|latency| latency.p50_ns)),
        at(latency.map(|latency| latency.p99_ns)),
        at(latency.map(|latency| latency.p999_ns)),
        at(latency.map(|latency| latency.max_ns)),
    ];
    in_columns(&cells)
}

fn in_columns(cells: &[impl AsRef<str>]) -> String {
    cells.iter().fold(String::new(), |line, cell| line + &format!("{:>10}", cell.as_ref()))
}

fn latency_lines(screen: &RunScreen, look: &Styles) -> Vec<Line<'static>> {
    let mut lines = vec![figures_heading("", 10, look)];
    let Some(last) = &screen.last else { return lines };
    for (stretch, load) in [("last", &last.interval.total), ("so far", &last.so_far.total)] {
        let LiveLoad { read, write, total, commit, response } = load;
        for (index, (name, side)) in [("R", read), ("W", write), ("all", total)].into_iter().enumerate() {
            let stretch = if index == 0 { stretch } else { "" };
            lines.push(Line::raw(format!("{stretch:<7}{name:<3}{}", figures(side))));
        }
        for (name, times) in [("commit", commit), ("response", response)] {
            lines.extend(times.iter().map(|times| Line::raw(format!("{name:>9} {}", waited_for(times)))));
        }
    }
    lines
}

fn draw_below(frame: &mut Frame<'_>, screen: &RunScreen, area: Rect, look: &Styles) {
    let lines = match screen.below {
        LowerPane::Machine => return draw_machine(frame, screen, area, look),
        LowerPane::Targets => target_lines(screen, look),
        LowerPane::Threads => thread_lines(screen, look),
    };
    let Some((heading, rest)) = lines.split_first() else { return };
    let room = usize::from(area.height).saturating_sub(1);
    // The last one stays at the bottom, however far the user scrolls.
    let offset = screen.offset.min(rest.len().saturating_sub(room));
    let shown: Vec<Line<'_>> = [heading].into_iter().chain(rest.iter().skip(offset).take(room)).cloned().collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn target_lines(screen: &RunScreen, look: &Styles) -> Vec<Line<'static>> {
    let last = screen.last.as_ref().map(|last| &last.interval);
    let are_hosts = last.is_some_and(|last| !last.hosts.is_empty());
    let mut lines = vec![figures_heading(if are_hosts { "Host" } else { "Target" }, 10, look)];
    let loads = last.iter().flat_map(|last| last.targets.iter().chain(&last.hosts));
    for (path, load) in screen.targets.iter().zip(loads) {
        lines.push(Line::raw(format!("{:<10}{}", ending(path, 9), figures(&load.total))));
    }
    lines
}

/// The end of a path, which distinguishes more than its beginning.
fn ending(path: &str, width: usize) -> String {
    let count = path.chars().count();
    if count <= width {
        path.to_owned()
    } else {
        ['…'].into_iter().chain(path.chars().skip(count - width + 1)).collect()
    }
}

fn thread_lines(screen: &RunScreen, look: &Styles) -> Vec<Line<'static>> {
    let mut lines = vec![figures_heading("Thread", 10, look)];
    let loads = screen.last.iter().flat_map(|last| &last.interval.threads);
    lines.extend(loads.enumerate().map(|(thread, load)| Line::raw(format!("{thread:<10}{}", figures(&load.total)))));
    lines
}

fn draw_machine(frame: &mut Frame<'_>, screen: &RunScreen, area: Rect, look: &Styles) {
    let [cpus, devices] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let busy = &screen.machine.cpus_busy_percent;
    if !busy.is_empty() {
        let mean = busy.iter().sum::<f64>() / busy.len() as f64;
        let max = busy.iter().copied().fold(0.0, f64::max);
        let [left, right] = Layout::horizontal([Constraint::Length(34), Constraint::Min(0)]).areas(cpus);
        let text = format!("CPU busy   {mean:>3.0} % mean, {max:>3.0} % max");
        frame.render_widget(Paragraph::new(text), left);
        let width = u16::try_from(busy.len()).unwrap_or(u16::MAX).min(right.width);
        draw_bars(frame, busy, 100.0, Rect { width, ..right }, look);
    }
    let columns = Column::fitting(devices.width);
    let in_line = |cell: &dyn Fn(Column) -> String| -> String {
        let padded = columns.iter().map(|&column| {
            let width = usize::from(column.width());
            if column == Column::Device {
                format!("{:<width$} ", cell(column))
            } else {
                format!("{:>width$} ", cell(column))
            }
        });
        padded.collect()
    };
    let mut lines = vec![Line::styled(in_line(&|column| column.heading().to_owned()), look.heading)];
    for (name, rates) in
        screen.machine.devices.iter().skip(screen.offset.min(screen.machine.devices.len().saturating_sub(1)))
    {
        let cell = |column: Column| if column == Column::Device { name.clone() } else { column.cell(Some(rates)) };
        lines.push(Line::raw(in_line(&cell)));
    }
    frame.render_widget(Paragraph::new(lines), devices);
}

#[cfg(test)]
mod tests {
    use super::super::MachineActivity;
    use super::*;
    use crate::screen::terminal::Key;
    use crate::testing;
    use model::live::{LiveFigures, LiveInterval, LiveLatency, LivePhase};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn picture(screen: &RunScreen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is in memory");
        terminal.draw(|frame| draw(frame, screen, false)).expect("it is in memory");
        terminal.backend().to_string()
    }

    fn load(iops: f64) -> LiveLoad {
        let side = |iops: f64, scale: u64| LiveSide {
            ios: iops as u64,
            bytes: iops as u64 * 4096,
            iops,
            bytes_per_s: iops * 4096.0,
            latency_mean_ns: Some(123_456.0 * scale as f64),
            latency: Some(LiveLatency {
                p50_ns: 111_000 * scale,
                p99_ns: 456_000 * scale,
                p999_ns: 2_345_000 * scale,
                max_ns: 98_765_000 * scale,
            }),
        };
        LiveLoad { read: side(iops * 0.7, 1), write: side(iops * 0.3, 2), total: side(iops, 1), ..LiveLoad::default() }
    }

    fn filled() -> RunScreen {
        let mut screen = RunScreen::new("diskspd -b4K -o32 -t2 -w30 -r -Sh /data/one.dat /data/two.dat".to_owned(), 2);
        let line = "4 KiB random 70/30 read/write, QD 128 (2 targets x 2 threads x 32), O_DIRECT + O_DSYNC, 2 files of 1 GiB \
                    each on ext4 on sda (sata, 1 TiB)";
        let targets = vec!["/data/one.dat".to_owned(), "/data/two.dat".to_owned()];
        screen.begin(1, targets, line.to_owned());
        for second in 1..=7 {
            let iops = 10_000.0 + 1_000.0 * second as f64;
            let figures = LiveFigures {
                total: load(iops),
                targets: vec![load(iops / 2.0); 2],
                threads: vec![load(iops / 2.0); 2],
                hosts: Vec::new(),
            };
            let interval = LiveInterval {
                phase: LivePhase::Measurement,
                elapsed_ns: second * 1_000_000_000,
                left_ns: (10 - second) * 1_000_000_000,
                interval_ns: 1_000_000_000,
                interval: figures.clone(),
                so_far: figures,
            };
            let rates = testing::interval(1, &[("sda", 5_000.0)]).devices.remove("sda").expect("it is there");
            let devices = vec![("dm-0".to_owned(), rates), ("sda".to_owned(), rates)];
            screen.take(interval, MachineActivity { devices, cpus_busy_percent: vec![12.0, 100.0, 0.0, 50.0] });
        }
        screen
    }

    #[test]
    fn at_80_by_24() {
        insta::assert_snapshot!(picture(&filled(), 80, 24));
    }

    #[test]
    fn targets_and_threads_at_80_by_24() {
        let mut screen = filled();
        screen.message("WARNING: thread 1: 3 transfers fell short of the block size".to_owned());
        screen.press(Key::Character('t'));
        insta::assert_snapshot!("targets", picture(&screen, 80, 24));
        screen.press(Key::Character('h'));
        screen.press(Key::PageDown);
        insta::assert_snapshot!("threads", picture(&screen, 80, 24));
    }

    #[test]
    fn all_of_a_high_screen_is_used() {
        let lines = |height: u16| {
            let mut screen = filled();
            screen.press(Key::Character('t'));
            picture(&screen, 100, height).lines().filter(|line| line.contains('█')).count()
        };
        assert!(lines(24) < lines(40) && lines(40) < lines(60), "{} {} {}", lines(24), lines(40), lines(60));
    }

    #[test]
    fn what_is_not_known_in_the_warm_up_is_not_told() {
        let mut screen = filled();
        let mut interval = screen.last.clone().expect("it has seen some");
        interval.phase = LivePhase::WarmUp;
        interval.interval.total.total.latency = None;
        screen.history.clear();
        screen.take(interval, MachineActivity::default());
        let picture = picture(&screen, 100, 30);
        let line = |name: &str| picture.lines().find(|line| line.contains(name)).expect(name).to_owned();
        assert_eq!(line("p99 ms ").matches(" -").count(), 2, "neither now nor at most: {picture}");
    }

    #[test]
    fn busy_devices_come_first() {
        let mut screen = filled();
        let devices = testing::interval(1, &[("sda", 5.0), ("sdb", 500.0), ("sdc", 5.0)]).devices;
        let machine = MachineActivity { devices: devices.into_iter().collect(), cpus_busy_percent: Vec::new() };
        screen.take(screen.last.clone().expect("an interval"), machine);
        let names: Vec<&str> = screen.machine.devices.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["sdb", "sda", "sdc"]);
    }

    #[test]
    fn at_140_columns() {
        insta::assert_snapshot!(picture(&filled(), 140, 26));
    }

    #[test]
    fn in_little_room_and_with_nothing_to_tell() {
        insta::assert_snapshot!("little", picture(&filled(), 40, 12));
        let mut screen = RunScreen::default();
        screen.press(Key::Character('?'));
        for (width, height) in [(1, 1), (20, 5), (80, 24), (300, 100)] {
            picture(&screen, width, height);
            picture(&filled(), width, height);
        }
        insta::assert_snapshot!("help", picture(&screen, 80, 24));
    }
}
