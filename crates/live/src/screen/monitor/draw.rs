//! The frame: a line with the time, the table, charts of one device, and the keys.

use super::{MonitorScreen, Row};
use crate::device_column::Column;
use crate::screen::look::{Styles, charts_height, draw_chart, draw_help, draw_trend, equal_parts};
use crate::words;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::device_interval::DeviceRates;
use model::units::{Bytes, mib};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Table, TableState};

/// Minimum height of a screen with charts, in lines.
const HEIGHT_WITH_CHARTS: u16 = 14;

/// Minimum width of a chart beside each device, in characters.
const TREND_WIDTH: u16 = 16;

/// Above this a device is shown as saturated.
const BUSY_PERCENT: f64 = 90.0;

const HELP: [&str; 14] = [
    "q          end",
    "p, space   pause, resume",
    "s, ← →     change the sort column",
    "r          reverse the order",
    "↑ ↓        choose the device to chart",
    "/          filter by name; Esc clears it",
    "",
    "r, w ms    mean time of a read, a write",
    "queue      mean number of requests in flight",
    "busy%      share of the time with a request in flight",
    "           (100 % does not show that a device is saturated)",
    "merg/s     requests merged into others before issue",
    "disc, flsh discards and flushes",
    "-          no value",
];

/// Draws the screen into a frame of any size.
pub fn draw(frame: &mut Frame<'_>, screen: &MonitorScreen, has_colours: bool, zone: &TimeZone) {
    let look = Styles::new(has_colours);
    let rows = screen.rows();
    // Time and keys, the table with its header, and the title of the charts.
    let others = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(4);
    let height = frame.area().height;
    let charts_height = if height >= HEIGHT_WITH_CHARTS { 1 + charts_height(height.saturating_sub(others)) } else { 0 };
    let parts = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(charts_height), Constraint::Length(1)];
    let [top, table, charts, bottom] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(title(screen, zone, &look)), top);
    draw_table(frame, screen, &rows, table, &look);
    if let Some(row) = rows.get(screen.selected_row(&rows))
        && charts_height > 0
    {
        draw_charts(frame, row, charts, &look);
    }
    frame.render_widget(Paragraph::new(keys(screen, &look)), bottom);
    if screen.shows_help {
        draw_help(frame, " Keys and columns: press any key to close ", &HELP, 62, &look);
    }
}

fn title<'a>(screen: &'a MonitorScreen, zone: &TimeZone, look: &Styles) -> Line<'a> {
    let mut parts = vec![Span::styled("diskspd monitor  ", look.heading), Span::raw(screen.host.as_str())];
    if let Some(last) = &screen.seen().last {
        let time = Timestamp::from_nanosecond(last.ended_at_unix_ns.into()).unwrap_or(Timestamp::UNIX_EPOCH);
        let time = time.to_zoned(zone.clone()).strftime("%H:%M:%S");
        parts.push(Span::raw(format!("  {time}  {:.3} s", last.interval_ns as f64 / 1e9)));
    }
    if screen.frozen.is_some() {
        parts.push(Span::styled("  PAUSED", look.busy));
    }
    Line::from(parts)
}

fn keys<'a>(screen: &'a MonitorScreen, look: &Styles) -> Line<'a> {
    if screen.is_typing_filter {
        return Line::from(vec![
            Span::styled("filter: ", look.heading),
            Span::raw(screen.filter.as_str()),
            Span::styled("_", look.heading),
            Span::styled("   Enter keeps the filter, Esc clears it", look.quiet),
        ]);
    }
    let mut parts = Vec::new();
    if !screen.filter.is_empty() {
        parts.push(Span::styled(format!("filter: {}   ", screen.filter), look.heading));
    }
    parts.push(Span::styled("q end  p pause  s sort  r reverse  ↑↓ device  / filter  ? help", look.quiet));
    Line::from(parts)
}

fn draw_table(frame: &mut Frame<'_>, screen: &MonitorScreen, rows: &[Row<'_>], area: Rect, look: &Styles) {
    if rows.is_empty() {
        let text = if screen.filter.is_empty() { "no devices yet" } else { "no device name matches" };
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    let columns = Column::fitting(area.width);
    let taken: u16 = columns.iter().map(|column| column.width() + 1).sum();
    let spare = area.width.saturating_sub(taken);
    // Spare width goes to names that are longer than their column, then to a chart of each device.
    let longest = rows.iter().map(|row| label(row).chars().count()).max().unwrap_or(0);
    let wanted = u16::try_from(longest).unwrap_or(u16::MAX).saturating_sub(Column::Device.width());
    let name_width = Column::Device.width() + wanted.min(spare);
    let trend_width = Some(spare.saturating_sub(wanted.min(spare))).filter(|width| *width > TREND_WIDTH);
    let header = columns.iter().map(|column| heading(*column, screen, look));
    let lines = rows.iter().map(|row| {
        let cells = columns.iter().map(|column| cell(*column, row, usize::from(name_width), look));
        ratatui::widgets::Row::new(cells)
    });
    let widths = columns.iter().map(|column| match column {
        Column::Device => Constraint::Length(name_width),
        other => Constraint::Length(other.width()),
    });
    let [table, trends] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(trend_width.unwrap_or(0))]).areas(area);
    let widget = Table::new(lines, widths)
        .header(ratatui::widgets::Row::new(header))
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(Some(screen.selected_row(rows)));
    frame.render_stateful_widget(widget, table, &mut state);
    if trend_width.is_some() {
        draw_trends(frame, rows, state.offset(), trends, look);
    }
}

fn heading(column: Column, screen: &MonitorScreen, look: &Styles) -> Cell<'static> {
    let style = if column == screen.sort { look.sorted } else { look.heading };
    let width = usize::from(column.width());
    let text = match column {
        Column::Device => column.heading().to_owned(),
        _ => format!("{:>width$}", column.heading()),
    };
    Cell::new(text).style(style)
}

fn cell(column: Column, row: &Row<'_>, name_width: usize, look: &Styles) -> Cell<'static> {
    if column == Column::Device {
        return Cell::new(shortened(&label(row), name_width));
    }
    let is_busy = column == Column::Busy && row.rates.is_some_and(|rates| rates.busy_percent >= BUSY_PERCENT);
    let width = usize::from(column.width());
    let text = format!("{:>width$}", column.cell(row.rates));
    Cell::new(text).style(if is_busy { look.busy } else { Style::new() })
}

/// The name, with the mapped name if there is one.
fn label(row: &Row<'_>) -> String {
    match &row.facts.mapped_name {
        Some(mapped) => format!("{} {mapped}", row.name),
        None => row.name.to_owned(),
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// Reads and writes of each device over the last intervals, beside its row.
fn draw_trends(frame: &mut Frame<'_>, rows: &[Row<'_>], offset: usize, area: Rect, look: &Styles) {
    let lines = area.rows();
    for (index, line) in lines.enumerate() {
        let line = Rect { x: line.x + 1, width: line.width - 1, ..line };
        if index == 0 {
            frame.render_widget(Paragraph::new(Span::styled("I/Os per second", look.heading)), line);
        } else if let Some(row) = rows.get(offset + index - 1) {
            draw_line_chart(frame, row, line, look, |rates| rates.read.per_s + rates.write.per_s);
        }
    }
}

fn draw_line_chart(
    frame: &mut Frame<'_>,
    row: &Row<'_>,
    area: Rect,
    look: &Styles,
    value: impl Fn(&DeviceRates) -> f64,
) {
    let Some(history) = row.history else { return };
    draw_trend(frame, history.iter().map(value), area, look);
}

/// A chart's name, its value, and how it is formatted.
type Chart = (&'static str, fn(&DeviceRates) -> f64, fn(f64) -> String);

const CHARTS: [Chart; 4] = [
    ("I/Os per s", |rates| rates.read.per_s + rates.write.per_s, words::amount),
    ("MiB/s", |rates| mib(rates.read.bytes_per_s + rates.write.bytes_per_s), words::amount),
    ("latency ms", |rates| rates.latency_ns.unwrap_or(f64::NAN) / 1e6, words::milliseconds),
    ("queue", |rates| rates.queue_length, words::with_two_decimals),
];

fn draw_charts(frame: &mut Frame<'_>, row: &Row<'_>, area: Rect, look: &Styles) {
    let facts = row.facts;
    let mut title = format!(" {} ", label(row));
    let size = facts.size_bytes.map(|bytes| Bytes(bytes).to_string());
    for part in [Some(facts.kind.clone()), facts.model.clone(), size].into_iter().flatten() {
        title = format!("{title}{part} ");
    }
    let block = Block::new().borders(Borders::TOP).title(Span::styled(title, look.heading));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    for ((name, value, in_words), line) in CHARTS.into_iter().zip(equal_parts(inside, CHARTS.len())) {
        let history = row.history.into_iter().flatten().map(value);
        draw_chart(frame, (name, in_words), row.rates.map(value), history, line, look);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests_support::{filled, picture};
    use crate::screen::terminal::Key;

    #[test]
    fn at_80_by_24() {
        insta::assert_snapshot!(picture(&filled(), 80, 24));
    }

    #[test]
    fn at_120_columns_with_everything() {
        insta::assert_snapshot!(picture(&filled(), 120, 20));
    }

    #[test]
    fn at_160_columns_with_a_chart_of_each_device() {
        insta::assert_snapshot!(picture(&filled(), 160, 13));
    }

    #[test]
    fn at_20_by_5() {
        insta::assert_snapshot!(picture(&filled(), 20, 5));
    }

    #[test]
    fn help_lies_above() {
        let mut screen = filled();
        screen.press(Key::Character('?'));
        insta::assert_snapshot!(picture(&screen, 80, 24));
    }
}
