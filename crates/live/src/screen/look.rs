//! Common parts of the screens: styles, and bar charts.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline};

/// Styles. Without colours bold and reverse replace them.
pub(crate) struct Styles {
    pub(crate) heading: Style,
    pub(crate) sorted: Style,
    pub(crate) chart: Style,
    pub(crate) busy: Style,
    pub(crate) quiet: Style,
}

impl Styles {
    pub(crate) fn new(has_colours: bool) -> Self {
        let (bold, plain) = (Style::new().add_modifier(Modifier::BOLD), Style::new());
        let coloured = |style: Style, colour| if has_colours { style.fg(colour) } else { style };
        Self {
            heading: bold,
            sorted: coloured(bold.add_modifier(Modifier::UNDERLINED), Color::Cyan),
            chart: coloured(plain, Color::Cyan),
            busy: coloured(bold, Color::Yellow),
            quiet: if has_colours { plain.fg(Color::DarkGray) } else { plain },
        }
    }
}

/// The maximum height of a chart in lines: more would show nothing more.
const CHART_LINES_MAX: u16 = 8;

/// The height of four charts in this number of lines: at least one for each, and the same for all.
pub(crate) fn charts_height(lines: u16) -> u16 {
    4 * (lines / 4).clamp(1, CHART_LINES_MAX)
}

/// An area divided into as many parts below each other.
pub(crate) fn equal_parts(area: Rect, count: usize) -> impl Iterator<Item = Rect> {
    let height = area.height / u16::try_from(count).unwrap_or(u16::MAX).max(1);
    (0..).take(count).map(move |index: u16| Rect { y: area.y + index * height, height, ..area })
}

/// A line with a name, the current value, its history, and the maximum of the visible part.
pub(crate) fn draw_chart(
    frame: &mut Frame<'_>,
    (name, in_words): (&str, fn(f64) -> String),
    now: Option<f64>,
    values: impl DoubleEndedIterator<Item = f64> + Clone,
    line: Rect,
    look: &Styles,
) {
    let parts = [Constraint::Length(20), Constraint::Min(0), Constraint::Length(13)];
    let [left, middle, right] = Layout::horizontal(parts).areas(line);
    let known = |value: Option<f64>| value.filter(|value| !value.is_nan()).map_or_else(|| "-".to_owned(), in_words);
    let now = known(now);
    frame.render_widget(Paragraph::new(format!("{name:<10} {now:>8}")), left);
    draw_trend(frame, values.clone(), middle, look);
    let max = known(values.rev().take(usize::from(middle.width)).reduce(f64::max));
    frame.render_widget(Paragraph::new(Span::styled(format!(" max {max:>8}"), look.quiet)), right);
}

/// A box with a title on top of everything, `width` wide if there is room.
pub(crate) fn draw_help(frame: &mut Frame<'_>, title: &'static str, text: &[&'static str], width: u16, look: &Styles) {
    let screen = frame.area();
    let (width, height) = (screen.width.min(width), screen.height.min(text.len() as u16 + 2));
    let area = Rect { x: (screen.width - width) / 2, y: (screen.height - height) / 2, width, height };
    let lines: Vec<Line<'_>> = text.iter().copied().map(Line::from).collect();
    let block = Block::bordered().title(Span::styled(title, look.heading));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// The last values that fit, the newest at the right edge; the highest bar is the largest of them.
pub(crate) fn draw_trend(
    frame: &mut Frame<'_>,
    values: impl DoubleEndedIterator<Item = f64>,
    area: Rect,
    look: &Styles,
) {
    let mut values: Vec<f64> = values.rev().take(usize::from(area.width)).collect();
    values.reverse();
    let max = values.iter().copied().fold(0.0, f64::max);
    if max > 0.0 {
        draw_bars(frame, &values, max, area, look);
    }
}

/// One bar for each value, at the right edge; one of `max` has the whole height.
pub(crate) fn draw_bars(frame: &mut Frame<'_>, values: &[f64], max: f64, area: Rect, look: &Styles) {
    // A bar is resolved to eighths of a line; more digits keep small values from becoming nothing.
    let bars: Vec<u64> = values.iter().map(|value| (value / max * 1000.0) as u64).collect();
    let left = area.width - u16::try_from(bars.len()).unwrap_or(area.width).min(area.width);
    let area = Rect { x: area.x + left, width: area.width - left, ..area };
    frame.render_widget(Sparkline::default().data(bars).max(1000).style(look.chart), area);
}
