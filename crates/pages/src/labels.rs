//! Placement of the texts of a chart. Every text is placed here, so that none overlaps another or leaves the chart, for
//! any values: text that does not fit is moved, shortened or left out.
//!
//! The texts, in the order of placement: the title and the lines below it; labels of the axes; names of markers; names
//! of lines at their ends and of other series at the top; tick labels of the left, the right and the horizontal axis;
//! numbers in cells; names of peaks. `draw` writes no other text. Where a page redraws axes and names, for a part of
//! the time or without some series, `report.js` follows the same rules (`ticksApart`, `spread`).

use super::layer::Layer;
use plotters::style::{FontStyle, IntoFont, register_font};
use report::axis::{Axis, Tick};
use report::role::Role;
use std::sync::Once;

/// Size of the font.
pub(super) const TEXT_PX: f64 = 12.0;
/// Distance of lines of text.
pub(super) const LINE_PX: f64 = 14.0;
/// Distance between texts of a line.
const GAP_PX: f64 = 6.0;
/// Height above the middle of a text.
const ASCENT_PX: f64 = 7.5;
/// Height below the middle of a text.
const DESCENT_PX: f64 = 6.5;
/// Least length of a shortened text; a shorter one is useless.
const CHARACTERS_MIN: usize = 3;

/// The part of a text that is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A place for a text: its anchor across, and its middle up and down, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) anchor: Anchor,
}

impl Spot {
    /// The extent from left to right.
    fn extent(self, width_px: f64) -> (f64, f64) {
        let from = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - width_px / 2.0,
            Anchor::End => self.x - width_px,
        };
        (from, from + width_px)
    }
}

/// A text at its place.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) layer: Layer,
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) spot: Spot,
    /// The extent from left to right.
    across: (f64, f64),
}

/// The texts of a chart.
#[derive(Clone, Debug)]
pub(super) struct Labels {
    width_px: f64,
    height_px: f64,
    placed: Vec<Label>,
}

impl Labels {
    /// The labels of a chart of this size.
    pub(super) fn new(width_px: f64, height_px: f64) -> Self {
        Self { width_px, height_px, placed: Vec::new() }
    }

    /// Places a text at the first spot where it fits, and returns its index. Without such a spot it is left out.
    pub(super) fn place(
        &mut self,
        layer: Layer,
        role: Role,
        text: &str,
        spots: impl IntoIterator<Item = Spot>,
    ) -> Option<usize> {
        if text.is_empty() {
            return None;
        }
        let text = shortened(text, self.width_px - 2.0 * GAP_PX);
        let width_px = width_px(&text);
        let spot = spots.into_iter().find(|spot| self.is_free(spot.extent(width_px), spot.y))?;
        self.placed.push(Label { layer, role, text, spot, across: spot.extent(width_px) });
        Some(self.placed.len() - 1)
    }

    /// Places all of some texts or none.
    pub(super) fn place_all(&mut self, layer: Layer, role: Role, texts: &[(&str, Spot)]) {
        let count = self.placed.len();
        let is_placed = texts.iter().all(|(text, spot)| self.place(layer, role, text, [*spot]).is_some());
        if !is_placed {
            self.placed.truncate(count);
        }
    }

    fn is_free(&self, (from, to): (f64, f64), y: f64) -> bool {
        let is_inside = from >= 0.0 && to <= self.width_px && y >= ASCENT_PX && y <= self.height_px - DESCENT_PX;
        // Places are rounded sums.
        let is_apart = |other: &Label| {
            (y - other.spot.y).abs() >= LINE_PX - 0.01
                || to + GAP_PX <= other.across.0
                || from >= other.across.1 + GAP_PX
        };
        is_inside && self.placed.iter().all(is_apart)
    }

    /// The spot of a text centred at a place, moved into the chart.
    pub(super) fn inside(&self, x: f64, y: f64, text: &str) -> Spot {
        let half = width_px(text) / 2.0;
        Spot { x: x.min(self.width_px - half - 1.0).max(half + 1.0), y, anchor: Anchor::Middle }
    }

    /// The labels of a layer, in the order of drawing.
    pub(super) fn in_layer(&self, layer: Layer) -> impl Iterator<Item = (usize, &Label)> {
        self.placed.iter().enumerate().filter(move |(_, label)| label.layer == layer)
    }
}

/// The tick marks of an axis without overlaps: as many equidistant ones as fit, and if that is only one, the finest
/// that fit. `extent` is the room of a mark along the axis; names are no wider than `max_px`.
pub(super) fn ticks_apart(axis: &Axis, wanted: usize, max_px: f64, extent: impl Fn(&Tick) -> (f64, f64)) -> Vec<Tick> {
    let short = |count: usize| {
        let ticks = axis.ticks(count).into_iter();
        // A truncated number would be another number.
        let cut =
            |tick: Tick| if axis.is_named() { Tick { text: shortened(&tick.text, max_px), ..tick } } else { tick };
        ticks.map(cut).collect::<Vec<_>>()
    };
    let apart = |ticks: Vec<Tick>| {
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let is_kept = |tick: &Tick| {
            let (from, to) = extent(tick);
            let is_free = taken.iter().all(|(start, end)| to <= *start || from >= *end);
            if is_free {
                taken.push((from, to));
            }
            is_free
        };
        ticks.into_iter().filter(is_kept).collect::<Vec<_>>()
    };
    // Round values may be so far apart that only finer steps give two.
    for count in (2..=wanted).rev().chain(wanted + 1..=wanted + 6) {
        let found = short(count);
        let all = found.len();
        let kept = apart(found);
        if all >= 2 && kept.len() == all {
            return kept;
        }
    }
    apart(short(wanted.max(4)))
}

/// The room of a mark on a horizontal axis.
pub(super) fn extent_across(labels: &Labels, x: f64, text: &str) -> (f64, f64) {
    let (from, to) = labels.inside(x, 0.0, text).extent(width_px(text));
    (from - GAP_PX / 2.0, to + GAP_PX / 2.0)
}

/// The room of a mark on a vertical axis.
pub(super) fn extent_up(y: f64) -> (f64, f64) {
    (y - LINE_PX / 2.0 - 1.0, y + LINE_PX / 2.0 + 1.0)
}

/// Moves places up and down until texts at them do not overlap. If there is too little room, the last ones are left
/// out.
pub(super) fn spread<T>(mut places: Vec<(f64, T)>, top: f64, bottom: f64) -> Vec<(f64, T)> {
    places.truncate(((bottom - top) / LINE_PX).max(0.0) as usize + 1);
    places.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut floor = top;
    for (y, _) in &mut places {
        *y = y.max(floor);
        floor = *y + LINE_PX;
    }
    let mut ceiling = bottom;
    for (y, _) in places.iter_mut().rev() {
        *y = y.min(ceiling);
        ceiling = *y - LINE_PX;
    }
    places
}

/// Width of a text in the widest of the fonts of pages, `DejaVu Sans`; other fonts have the characters that it lacks.
pub(super) fn width_px(text: &str) -> f64 {
    // The library takes the line distance for the size.
    const EM: f64 = 1000.0;
    const LINE: f64 = 1.164;
    register();
    let font = ("sans-serif", EM * LINE).into_font();
    let known: String = text.chars().filter(|character| !is_wide(*character)).collect();
    let ems = font.layout_box(&known).map_or(known.len() as f64, |(_, (width, _))| f64::from(width) / EM);
    let others = text.chars().filter(|character| is_wide(*character)).count() as f64 * 1.4;
    (ems + others) * TEXT_PX * 1.02
}

/// True for characters as wide as a line is high: ideographs, pictures.
fn is_wide(character: char) -> bool {
    matches!(character as u32, 0x1100..=0x1dff | 0x2c00..)
}

/// A text that fits: if it is longer, only its beginning and its end.
pub(super) fn shortened(text: &str, max_px: f64) -> String {
    if width_px(text) <= max_px {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let cut = |kept: usize| {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let start = characters[..head].iter().collect::<String>();
        let end = characters[characters.len() - tail..].iter().collect::<String>();
        format!("{}\u{2026}{}", start.trim_end(), end.trim_start())
    };
    let fitting = (CHARACTERS_MIN..characters.len()).rev().map(cut).find(|text| width_px(text) <= max_px);
    fitting.unwrap_or_else(|| cut(CHARACTERS_MIN.min(characters.len())))
}

/// A line wrapped at blanks to this width, unless a word is wider.
pub(super) fn broken(line: &str, max_px: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if width_px(&format!("{last} {word}")) <= max_px => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Registers the font of charts: text is measured with it in every format, and drawn with it in bitmaps.
pub(super) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The font is embedded: if it were invalid, every test of charts would fail.
        let _ = register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular());
    });
}
