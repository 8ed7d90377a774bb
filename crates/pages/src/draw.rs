//! Drawing of a chart, on any back end.

use super::labels::{
    Anchor, LINE_PX, Label, Labels, Spot, TEXT_PX, broken, extent_across, extent_up, shortened, spread, ticks_apart,
    width_px as width_px_of,
};
use super::layer::Layer;
use super::palette::{Rgb, light};
use super::ruler::Ruler;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use report::axis::{Axis, Tick};
use report::chart::{Cell, Chart, Interval, Marker, Marks, Series};
use report::quantity::Quantity;
use report::role::Role;

/// The size, and the units of the back end per pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) width_px: u32,
    pub(super) height_px: u32,
    pub(super) units_per_px: f64,
    /// The divisor of font sizes in the back end.
    pub(super) font_divisor: f64,
    /// True if the chart's title is above it.
    pub(super) is_titled: bool,
}

/// The area of the marks of a chart, in units of the back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plane {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

type Area<DB> = DrawingArea<DB, Shift>;
type Context<'a, DB> = ChartContext<'a, DB, Cartesian2d<Ruler, Ruler>>;
type Outcome<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

/// Distance between a text and the edge of the chart, or its axis.
const MARGIN_PX: f64 = 8.0;
/// Maximum share of the width for the tick labels of a vertical axis.
const TICKS_MAX: f64 = 0.32;
/// The same for names of series.
const NAMES_MAX: f64 = 0.34;

/// Marks of the axes.
#[derive(Debug, Default)]
struct Ticks {
    x: Vec<Tick>,
    y: Vec<Tick>,
    /// Those of the right axis.
    right: Vec<Tick>,
}

/// The sides of the plane, in pixels.
#[derive(Clone, Copy, Debug, Default)]
struct Sides {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// A chart at one size.
pub(super) struct Drawing<'a> {
    chart: &'a Chart,
    size: Size,
    /// Height of the title and the lines below it, in pixels.
    head_px: f64,
    ticks: Ticks,
    sides: Sides,
    /// All placed texts.
    labels: Labels,
    /// The index of the name of each series among the labels.
    names: Vec<Option<usize>>,
    pub(super) plane: Plane,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(chart: &'a Chart, size: Size) -> Self {
        Self::titled(chart, size, &[])
    }

    /// With lines below its title, wrapped to the width of the chart.
    pub(super) fn titled(chart: &'a Chart, size: Size, about: &[String]) -> Self {
        let (width_px, height_px) = (f64::from(size.width_px), f64::from(size.height_px));
        let about: Vec<String> = about.iter().flat_map(|line| broken(line, width_px - 2.0 * MARGIN_PX)).collect();
        let head_px = if size.is_titled { 26.0 + LINE_PX * about.len() as f64 } else { 0.0 };
        let mut sides = Sides {
            top: head_px + 28.0 + LINE_PX * chart.markers.len() as f64,
            bottom: height_px - if chart.x.label.is_empty() { 24.0 } else { 40.0 },
            ..Sides::default()
        };
        // Heights are known before widths: the width of the tick labels of the vertical axes decides where the plane
        // begins.
        let line_px = if chart.y.is_named() { 18.0 } else { 45.0 };
        let wanted = (height_px / line_px) as usize;
        let up = |axis: &Axis| {
            let extent = |tick: &Tick| extent_up(between(sides.bottom, sides.top, share(axis, tick.place)));
            ticks_apart(axis, wanted, width_px * TICKS_MAX, extent)
        };
        let mut ticks = Ticks { y: up(&chart.y), ..Ticks::default() };
        ticks.right = chart.right.as_ref().map(|right| up(&right.axis)).unwrap_or_default();
        let names = chart.series.iter().filter(|series| is_named_at_end(series) || is_named_on_top(series));
        let names_px = longest(names.map(|series| series.name.as_str())).min(width_px * NAMES_MAX);
        // Room for the tick labels of a zoomed part, which may have more digits.
        let zoomed_px = width_px_of(if chart.y.quantity == Quantity::LatencyNs { "99.5 ms" } else { "0.25" });
        let zoomed_px = if chart.y.is_named() { 0.0 } else { zoomed_px };
        sides.left = 2.0 * MARGIN_PX + longest(texts(&ticks.y)).max(zoomed_px);
        sides.right = width_px - (names_px + 2.0 * MARGIN_PX).max(24.0) - right_ticks_px(&ticks.right);
        let labels = Labels::new(width_px, height_px);
        let across = |tick: &Tick| {
            extent_across(&labels, between(sides.left, sides.right, share(&chart.x, tick.place)), &tick.text)
        };
        let plane_px = sides.right - sides.left;
        ticks.x = ticks_apart(&chart.x, (plane_px / 62.0) as usize, plane_px / 2.0 - MARGIN_PX, across);
        let units = |px: f64| (px * size.units_per_px).round() as i32;
        let plane = Plane {
            left: units(sides.left),
            right: units(sides.right),
            top: units(sides.top),
            bottom: units(sides.bottom),
        };
        let names = vec![None; chart.series.len()];
        let mut drawing = Self { chart, size, head_px, ticks, sides, labels, names, plane };
        drawing.place_texts(&about);
        drawing
    }

    /// Places all texts, the essential ones first.
    fn place_texts(&mut self, about: &[String]) {
        let chart = self.chart;
        let width_px = f64::from(self.size.width_px);
        let spot = |x: f64, y: f64, anchor: Anchor| Spot { x, y, anchor };
        if self.size.is_titled {
            let y = MARGIN_PX + LINE_PX / 2.0;
            self.labels.place(Layer::Title, Role::Ink, &chart.title, [spot(MARGIN_PX, y, Anchor::Start)]);
            for (line, number) in about.iter().zip(1..) {
                let y = y + LINE_PX * f64::from(number);
                self.labels.place(Layer::Title, Role::Muted, line, [spot(MARGIN_PX, y, Anchor::Start)]);
            }
        }
        // Horizontal text is easier to read than vertical text.
        let y = self.head_px + 11.0;
        let half_px = width_px / 2.0 - 2.0 * MARGIN_PX;
        let label = |axis: &Axis| shortened(&axis.label, half_px);
        self.labels.place(Layer::Units, Role::Muted, &label(&chart.y), [spot(MARGIN_PX, y, Anchor::Start)]);
        if let Some(right) = &chart.right {
            let end = spot(width_px - MARGIN_PX, y, Anchor::End);
            self.labels.place(Layer::Units, Role::Muted, &label(&right.axis), [end]);
        }
        let middle = f64::midpoint(self.sides.left, self.sides.right);
        let below = self.labels.inside(middle, f64::from(self.size.height_px) - 9.0, &chart.x.label);
        self.labels.place(Layer::Units, Role::Muted, &chart.x.label, [below]);
        self.place_markers();
        self.place_names();
        self.place_ticks();
        for (index, series) in chart.series.iter().enumerate() {
            if let Marks::Cells(cells) = &series.marks {
                self.place_cells(index, cells);
            }
        }
        self.place_peaks();
    }

    /// Each on a line of its own above the plane, beside its place and away from the others.
    fn place_markers(&mut self) {
        let width_px = f64::from(self.size.width_px);
        let places: Vec<f64> = self.chart.markers.iter().map(|marker| self.across_px(marker.x)).collect();
        for (index, marker) in self.chart.markers.iter().enumerate() {
            let (x, y) = (places[index], self.marker_px(index));
            let text = shortened(&marker.label, width_px - 2.0 * MARGIN_PX);
            let width = width_px_of(&text);
            let mut starts = vec![x + 5.0, x - 5.0 - width, (x + 5.0).min(width_px - MARGIN_PX - width), MARGIN_PX];
            // Lines of the markers above cross this line of text.
            let crossed = |start: &f64| {
                let is_over = |at: &&f64| **at > *start - 2.0 && **at < *start + width + 2.0;
                places[..index].iter().filter(is_over).count()
            };
            starts.sort_by_key(crossed);
            let spots = starts.into_iter().map(|x| Spot { x, y, anchor: Anchor::Start });
            self.labels.place(Layer::Names, marker.role, &text, spots);
        }
    }

    /// Names of lines are at their ends, those of other series at the top.
    fn place_names(&mut self) {
        let mut names: Vec<(f64, usize)> = Vec::new();
        for (index, series) in self.chart.series.iter().enumerate() {
            match &series.marks {
                Marks::Line(values) | Marks::DottedLine(values) if is_named_at_end(series) => {
                    let runs = self.placed(index, values);
                    let Some((_, end)) = runs.last().and_then(|run| run.last()) else { continue };
                    names.push((self.up_px(*end), index));
                }
                _ if is_named_on_top(series) => names.push((self.sides.top, index)),
                _ => {}
            }
        }
        let x = self.sides.right + 6.0 + right_ticks_px(&self.ticks.right);
        let max_px = f64::from(self.size.width_px) - x - 2.0;
        for (y, index) in spread(names, self.sides.top, self.sides.bottom) {
            let Series { name, role, .. } = &self.chart.series[index];
            let spot = Spot { x, y, anchor: Anchor::Start };
            self.names[index] = self.labels.place(Layer::Names, *role, &shortened(name, max_px), [spot]);
        }
    }

    /// Tick marks whose text has no room are left out.
    fn place_ticks(&mut self) {
        let Ticks { x: across, y: up, right } = std::mem::take(&mut self.ticks);
        let Sides { left, right: edge, top, bottom } = self.sides;
        let height = |axis: &Axis, tick: &Tick| between(bottom, top, share(axis, tick.place));
        let chart = self.chart;
        let labels = &mut self.labels;
        let mut placed = |layer: Layer, ticks: Vec<Tick>, spot: &dyn Fn(&Labels, &Tick) -> Spot| {
            let is_placed = |tick: &Tick| {
                let spot = spot(labels, tick);
                labels.place(layer, Role::Muted, &tick.text, [spot]).is_some()
            };
            ticks.into_iter().filter(is_placed).collect::<Vec<_>>()
        };
        self.ticks.y = placed(Layer::UpAxis, up, &|_, tick| Spot {
            x: left - MARGIN_PX,
            y: height(&chart.y, tick),
            anchor: Anchor::End,
        });
        if let Some(axis) = &chart.right {
            self.ticks.right = placed(Layer::Units, right, &|_, tick| Spot {
                x: edge + 6.0,
                y: height(&axis.axis, tick),
                anchor: Anchor::Start,
            });
        }
        self.ticks.x = placed(Layer::AcrossAxis, across, &|labels, tick| {
            labels.inside(between(left, edge, share(&chart.x, tick.place)), bottom + 14.0, &tick.text)
        });
    }

    /// Labels all cells or none.
    fn place_cells(&mut self, series: usize, cells: &[Cell]) {
        let Chart { x, y, .. } = self.chart;
        let sides = self.sides;
        let ends = |axis: &Axis, (low, high): (f64, f64)| {
            (share(axis, axis.place_inside(low)), share(axis, axis.place_inside(high)))
        };
        let labelled = || cells.iter().filter(|cell| !cell.label.is_empty());
        let fits = |cell: &Cell| {
            let ((left, right), (low, high)) = (ends(x, cell.x), ends(y, cell.y));
            (right - left) * (sides.right - sides.left) >= width_px_of(&cell.label)
                && (high - low) * (sides.bottom - sides.top) >= LINE_PX
        };
        if !labelled().all(fits) {
            return;
        }
        let spot = |cell: &Cell| {
            let ((left, right), (low, high)) = (ends(x, cell.x), ends(y, cell.y));
            Spot {
                x: between(sides.left, sides.right, f64::midpoint(left, right)),
                y: between(sides.bottom, sides.top, f64::midpoint(low, high)),
                anchor: Anchor::Middle,
            }
        };
        let texts: Vec<(&str, Spot)> = labelled().map(|cell| (cell.label.as_str(), spot(cell))).collect();
        self.labels.place_all(Layer::Series(series), Role::Ink, &texts);
    }

    /// Names of peaks are above them, or at another height if others are in the way.
    fn place_peaks(&mut self) {
        let mut peaks: Vec<(f64, f64, usize)> = Vec::new();
        for (index, series) in self.chart.series.iter().enumerate() {
            let Marks::Area(values) = &series.marks else { continue };
            let runs = self.placed(index, values);
            let Some((x, y)) = runs.iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            peaks.push((self.up_px(*y), self.across_place_px(*x), index));
        }
        peaks.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let Sides { top, bottom, .. } = self.sides;
        for (y, x, index) in peaks {
            let Series { name, role, .. } = &self.chart.series[index];
            let lines = (0..).map(|line| LINE_PX * f64::from(line)).take_while(|distance| *distance < bottom - top);
            let heights = lines.flat_map(|distance| [y - 10.0 + distance, y - 10.0 - distance]);
            let heights = heights.filter(|y| *y >= top - LINE_PX && *y <= bottom - LINE_PX);
            let spots = heights.flat_map(|y| {
                [Spot { x: x + 4.0, y, anchor: Anchor::Start }, Spot { x: x - 4.0, y, anchor: Anchor::End }]
            });
            self.names[index] = self.labels.place(Layer::Names, *role, name, spots);
        }
    }

    /// The vertical middle of the text of a marker.
    fn marker_px(&self, index: usize) -> f64 {
        self.head_px + 20.0 + LINE_PX * index as f64 + LINE_PX / 2.0
    }

    /// The index of the name of a series among the texts of its layer.
    pub(super) fn name_of(&self, series: usize) -> Option<usize> {
        let name = self.names.get(series).copied().flatten()?;
        self.labels.in_layer(Layer::Names).position(|(index, _)| index == name)
    }

    /// The position of a value of the horizontal axis, in pixels.
    fn across_px(&self, x: f64) -> f64 {
        self.across_place_px(self.chart.x.place_inside(x))
    }

    fn across_place_px(&self, place: f64) -> f64 {
        between(self.sides.left, self.sides.right, share(&self.chart.x, place))
    }

    /// The position of a place of the left axis, in pixels.
    fn up_px(&self, place: f64) -> f64 {
        between(self.sides.bottom, self.sides.top, share(&self.chart.y, place))
    }

    /// All layers, from back to front.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let series = (0..self.chart.series.len()).map(Layer::Series);
        let title = self.size.is_titled.then_some(Layer::Title);
        [Layer::UpAxis, Layer::AcrossAxis, Layer::Units]
            .into_iter()
            .chain(series)
            .chain([Layer::Names])
            .chain(title)
            .collect()
    }

    /// The size in units of the back end.
    pub(super) fn extent(&self) -> (u32, u32) {
        let units = |px: u32| self.units(px.into()) as u32;
        (units(self.size.width_px), units(self.size.height_px))
    }

    fn units(&self, px: f64) -> i32 {
        (px * self.size.units_per_px).round() as i32
    }

    fn line_width(&self, px: f64) -> u32 {
        self.units(px).max(1) as u32
    }

    pub(super) fn draw<DB: DrawingBackend>(&self, area: &Area<DB>, layer: Layer) -> Outcome<DB> {
        let (width, height) = self.extent();
        let mut builder = ChartBuilder::on(area);
        builder
            .set_label_area_size(LabelAreaPosition::Left, self.plane.left)
            .set_label_area_size(LabelAreaPosition::Bottom, height.cast_signed() - self.plane.bottom)
            .margin_top(self.plane.top)
            .margin_right(width.cast_signed() - self.plane.right);
        let mut context = builder.build_cartesian_2d(Ruler::new(&self.chart.x), Ruler::new(&self.chart.y))?;
        match layer {
            Layer::AcrossAxis => self.across_axis(area)?,
            Layer::UpAxis => self.up_axis(area)?,
            Layer::Series(index) => {
                if let Some(series) = self.chart.series.get(index) {
                    self.series(&mut context, index, series)?;
                }
            }
            Layer::Names => {
                for (index, marker) in self.chart.markers.iter().enumerate() {
                    self.marker(area, marker, self.marker_px(index))?;
                }
            }
            Layer::Units | Layer::Title => {}
        }
        self.labels.in_layer(layer).try_for_each(|(_, label)| self.label(area, label))
    }

    /// The only function that writes a text.
    fn label<DB: DrawingBackend>(&self, area: &Area<DB>, label: &Label) -> Outcome<DB> {
        let anchor = match label.spot.anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let height = TEXT_PX * self.size.font_divisor * self.size.units_per_px;
        let font = TextStyle::from(("sans-serif", height).into_font());
        let style = TextStyle { color: ink(label.role).to_backend_color(), ..font };
        let at = (self.units(label.spot.x), self.units(label.spot.y));
        area.draw(&Text::new(label.text.clone(), at, style.pos(Pos::new(anchor, VPos::Center))))
    }

    /// The axis first, then its marks.
    fn across_axis<DB: DrawingBackend>(&self, area: &Area<DB>) -> Outcome<DB> {
        let Plane { left, right, bottom, .. } = self.plane;
        let style = ink(Role::Grid).stroke_width(self.line_width(1.0));
        area.draw(&PathElement::new(vec![(left, bottom), (right, bottom)], style))?;
        self.ticks.x.iter().try_for_each(|tick| {
            let x = self.units(self.across_place_px(tick.place));
            area.draw(&PathElement::new(vec![(x, bottom), (x, bottom + self.units(4.0))], style))
        })
    }

    fn up_axis<DB: DrawingBackend>(&self, area: &Area<DB>) -> Outcome<DB> {
        // Horizontal lines would cross the text in cells.
        let is_written = |series: &Series| matches!(&series.marks, Marks::Cells(cells) if cells.iter().any(|cell| !cell.label.is_empty()));
        if self.chart.series.iter().any(is_written) {
            return Ok(());
        }
        let Plane { left, right, .. } = self.plane;
        let style = ink(Role::Grid).stroke_width(self.line_width(1.0));
        self.ticks.y.iter().try_for_each(|tick| {
            let y = self.units(self.up_px(tick.place));
            area.draw(&PathElement::new(vec![(left, y), (right, y)], style))
        })
    }

    fn series<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>, index: usize, series: &Series) -> Outcome<DB> {
        let colour = ink(series.role);
        let line = colour.stroke_width(self.line_width(1.8));
        let dot = |radius_px: f64| move |at| Circle::new(at, self.units(radius_px), colour.filled());
        match &series.marks {
            Marks::Line(values) => {
                self.lines(context, index, values, line)?;
                // A line of one point is invisible.
                let alone = self.placed(index, values).into_iter().filter(|run| run.len() == 1).flatten();
                context.draw_series(alone.map(dot(2.4))).map(drop)
            }
            Marks::DottedLine(values) => {
                self.lines(context, index, values, line)?;
                context.draw_series(self.placed(index, values).into_iter().flatten().map(dot(3.2))).map(drop)
            }
            Marks::Dots(values) => {
                context.draw_series(self.placed(index, values).into_iter().flatten().map(dot(3.2))).map(drop)
            }
            Marks::Events(events) => {
                let place = |x: f64, y: f64| (self.chart.x.place_inside(x), self.up(index, y));
                let tail = colour.mix(0.5).stroke_width(self.line_width(1.2));
                let tails = events.iter().map(|event| vec![place(event.began, event.y), place(event.ended, event.y)]);
                context.draw_series(tails.map(|ends| PathElement::new(ends, tail)))?;
                let radius = self.units(3.2);
                let dots = events.iter().map(|event| place(event.ended, event.y));
                context.draw_series(dots.map(|at| Circle::new(at, radius, colour.mix(0.5).filled()))).map(drop)
            }
            Marks::Area(values) => {
                for run in self.placed(index, values) {
                    let floor = self.chart.y.ends().0;
                    let outline = run.iter().copied().chain(run.iter().rev().map(|(x, _)| (*x, floor)));
                    context.draw_series([Polygon::new(outline.collect::<Vec<_>>(), colour.mix(0.22).filled())])?;
                }
                self.lines(context, index, values, line)
            }
            Marks::Cells(cells) => context.draw_series(cells.iter().map(|cell| self.cell(cell, colour))).map(drop),
            Marks::Intervals(intervals) => intervals.iter().try_for_each(|interval| self.interval(context, interval)),
        }
    }

    /// Runs of values that have a place; those beyond the axis at its ends.
    fn placed(&self, series: usize, values: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let axis = self.chart.axis_of(series);
        let known = |(x, y): &(f64, f64)| !self.chart.x.place(*x).is_nan() && !axis.place(*y).is_nan();
        let place = |(x, y): &(f64, f64)| (self.chart.x.place_inside(*x), self.up(series, *y));
        let runs = values.chunk_by(|a, b| known(a) && known(b));
        runs.map(|run| run.iter().filter(|at| known(at)).map(place).collect::<Vec<_>>())
            .filter(|run| !run.is_empty())
            .collect()
    }

    /// The place of a value of a series on the left axis, on which all are drawn.
    fn up(&self, series: usize, y: f64) -> f64 {
        let (from, to) = self.chart.y.ends();
        let axis = self.chart.axis_of(series);
        let (axis_from, axis_to) = axis.ends();
        from + (to - from) * (axis.place_inside(y) - axis_from) / (axis_to - axis_from)
    }

    fn lines<DB: DrawingBackend>(
        &self,
        context: &mut Context<'_, DB>,
        series: usize,
        values: &[(f64, f64)],
        style: ShapeStyle,
    ) -> Outcome<DB> {
        context.draw_series(self.placed(series, values).into_iter().map(|run| PathElement::new(run, style))).map(drop)
    }

    fn cell(&self, cell: &Cell, colour: RGBColor) -> Rectangle<(f64, f64)> {
        let Chart { x, y, .. } = self.chart;
        let from = (x.place_inside(cell.x.0), y.place_inside(cell.y.0));
        let to = (x.place_inside(cell.x.1), y.place_inside(cell.y.1));
        Rectangle::new([from, to], colour.mix(cell.strength.clamp(0.0, 1.0)).filled())
    }

    fn interval<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>, interval: &Interval) -> Outcome<DB> {
        let Interval { at, bounds, y, role, .. } = interval;
        let place = |value: f64| (self.chart.x.place_inside(value), self.chart.y.place_inside(*y));
        if let Some((low, high)) = bounds {
            let line = ink(*role).stroke_width(self.line_width(3.0));
            context.draw_series([PathElement::new(vec![place(*low), place(*high)], line)])?;
            // It extends beyond the axis.
            let half = self.units(6.0);
            let arrow = |end: f64, tip: i32| {
                let shape = vec![(0, -half), (tip, 0), (0, half)];
                EmptyElement::at(place(end)) + Polygon::new(shape, ink(*role).filled())
            };
            let ends = [(*low, -2 * half), (*high, 2 * half)];
            let (from, to) = self.chart.x.ends();
            let cut = ends.into_iter().filter(|(end, _)| !(from..=to).contains(&self.chart.x.place(*end)));
            context.draw_series(cut.map(|(end, tip)| arrow(end, tip)))?;
        }
        context.draw_series([Circle::new(place(*at), self.units(5.0), ink(*role).filled())]).map(drop)
    }

    /// A line up from the place to its name, and a band over its range.
    fn marker<DB: DrawingBackend>(&self, area: &Area<DB>, marker: &Marker, name_px: f64) -> Outcome<DB> {
        let Plane { top, bottom, .. } = self.plane;
        let across = |value: f64| self.units(self.across_px(value));
        let (low, at, high) = (across(marker.bounds.0), across(marker.x), across(marker.bounds.1));
        let colour = ink(marker.role);
        if high > low {
            area.draw(&Rectangle::new([(low, top), (high, bottom)], colour.mix(0.1).filled()))?;
        }
        let line = colour.stroke_width(self.line_width(1.5));
        area.draw(&PathElement::new(vec![(at, self.units(name_px)), (at, bottom)], line))
    }

    /// The position of a value of the chart, in units of the back end.
    pub(super) fn position(&self, series: usize, (x, y): (f64, f64)) -> Option<(i32, i32)> {
        let known =
            |axis: &Axis, value: f64| (!axis.place(value).is_nan()).then(|| share(axis, axis.place_inside(value)));
        let (across, up) = (known(&self.chart.x, x)?, known(self.chart.axis_of(series), y)?);
        let Plane { left, right, top, bottom } = self.plane;
        let between = |from: i32, to: i32, share: f64| from + (f64::from(to - from) * share).round() as i32;
        Some((between(left, right, across), between(bottom, top, up)))
    }
}

/// The share of an axis up to a place.
fn share(axis: &Axis, place: f64) -> f64 {
    let (from, to) = axis.ends();
    (place - from) / (to - from)
}

fn between(from: f64, to: f64, share: f64) -> f64 {
    from + (to - from) * share
}

/// Room for the marks of the right axis.
fn right_ticks_px(ticks: &[Tick]) -> f64 {
    if ticks.is_empty() { 0.0 } else { longest(texts(ticks)) + 14.0 }
}

fn texts(ticks: &[Tick]) -> impl Iterator<Item = &str> {
    ticks.iter().map(|tick| tick.text.as_str())
}

fn is_named_at_end(series: &Series) -> bool {
    !series.name.is_empty() && matches!(series.marks, Marks::Line(_) | Marks::DottedLine(_))
}

fn is_named_on_top(series: &Series) -> bool {
    !series.name.is_empty() && matches!(series.marks, Marks::Cells(_) | Marks::Dots(_) | Marks::Events(_))
}

fn longest<'t>(texts: impl Iterator<Item = &'t str>) -> f64 {
    texts.map(width_px_of).fold(0.0, f64::max)
}

fn ink(role: Role) -> RGBColor {
    let (red, green, blue): Rgb = light(role);
    RGBColor(red, green, blue)
}

#[cfg(test)]
mod tests {
    use crate::image::{Room, svg_for_page};
    use report::axis::Axis;
    use report::chart::{Chart, Marks, Series};
    use report::quantity::Quantity;
    use report::role::Role;

    #[test]
    fn a_point_between_gaps_is_a_dot() {
        let circles = |values: Vec<(f64, f64)>| {
            let series = vec![Series { name: "p99".to_owned(), role: Role::Read, marks: Marks::Line(values) }];
            let chart = Chart {
                name: "latency",
                title: String::new(),
                caption: String::new(),
                x: Axis::linear("", Quantity::TimeS, 0.0, 5.0),
                y: Axis::from_zero("", Quantity::Count, [9.0].into_iter()),
                series,
                right: None,
                markers: Vec::new(),
            };
            svg_for_page(&chart, Room::Wide).expect("a chart").matches("<circle").count()
        };
        let gap = f64::NAN;
        assert_eq!(circles(vec![(1.0, 5.0), (2.0, gap), (3.0, 7.0), (4.0, gap), (5.0, 2.0)]), 3);
        assert_eq!(circles(vec![(1.0, 5.0), (2.0, 6.0), (3.0, 7.0), (4.0, gap), (5.0, 2.0)]), 1);
        assert_eq!(circles(vec![(1.0, 5.0), (2.0, 6.0), (3.0, 7.0)]), 0);
    }

    #[test]
    fn names_of_peaks_at_one_place_do_not_overlap() {
        let area = |name: &str, role, peak| Series {
            name: name.to_owned(),
            role,
            marks: Marks::Area(vec![(1e5, 0.0), (1.2e5, peak), (1e6, 0.0)]),
        };
        let series = vec![area("reads", Role::Read, 50.0), area("writes", Role::Write, 49.0)];
        let chart = Chart {
            name: "distribution",
            title: "Latency distribution".to_owned(),
            caption: String::new(),
            x: Axis::log("", Quantity::LatencyNs, [1e5, 1e6].into_iter()),
            y: Axis::from_zero("share", Quantity::Percent, [50.0].into_iter()),
            series,
            right: None,
            markers: Vec::new(),
        };
        let svg = svg_for_page(&chart, Room::Narrow).expect("a chart");
        let attribute = |name: &str, attribute: &str| {
            let (before, _) = svg.split_once(&format!("\n{name}</text>")).expect("the name");
            let from = before.rfind(&format!(" {attribute}=\"")).expect("the attribute") + attribute.len() + 3;
            before[from..].split('"').next().expect("it ends").to_owned()
        };
        // The higher peak has its name on the right, the other on the left.
        let anchors = ["reads", "writes"].map(|name| attribute(name, "text-anchor"));
        assert_eq!(anchors, ["start", "end"]);
        assert!(
            attribute("reads", "x").parse::<f64>().expect("a number")
                > attribute("writes", "x").parse().expect("a number")
        );
    }
}
