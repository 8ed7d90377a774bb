//! A chart is drawn, on any back end.

use super::axis::{Axis, Tick};
use super::chart::{Cell, Chart, Interval, Marker, Marks, Series};
use super::palette::{Rgb, Role};
use super::ruler::Ruler;
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// What is drawn at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The horizontal axis.
    AcrossAxis,
    /// The vertical axis, and names of what is on them.
    UpAxis,
    /// One series.
    Series(usize),
    /// Places that matter, and names of series.
    Names,
    /// The chart's title.
    Title,
}

/// How large, and in how many units of the back end for each pixel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) width_px: u32,
    pub(super) height_px: u32,
    pub(super) units_per_px: f64,
    /// What the back end divides the size of a font by.
    pub(super) font_divisor: f64,
    /// True if the chart's title is above it.
    pub(super) is_titled: bool,
}

/// Where the marks of a chart are, in units of the back end.
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

/// Height of text.
const TEXT_PX: f64 = 12.0;
/// Width of a character, more or less.
const CHARACTER_PX: f64 = 6.6;
/// Distance of lines of text.
const LINE_PX: f64 = 14.0;

/// A chart at one size.
pub(super) struct Drawing<'a> {
    chart: &'a Chart,
    /// Lines below the title.
    about: Vec<String>,
    size: Size,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Of the right axis.
    right_ticks: Vec<Tick>,
    pub(super) plane: Plane,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(chart: &'a Chart, size: Size) -> Self {
        Self::titled(chart, size, &[])
    }

    /// With lines below its title, broken where they are longer than the chart is wide.
    pub(super) fn titled(chart: &'a Chart, size: Size, about: &[String]) -> Self {
        let Size { width_px, height_px, units_per_px, .. } = size;
        let (width_px, height_px) = (f64::from(width_px), f64::from(height_px));
        let line_px = if chart.y.is_named() { 18.0 } else { 45.0 };
        let y_ticks = chart.y.ticks((height_px / line_px) as usize);
        let left_px = 16.0 + longest(y_ticks.iter().map(|tick| tick.text.as_str()));
        let has_name = |series: &&Series| is_named_at_end(series) || is_named_on_top(series);
        let names = chart.series.iter().filter(has_name).map(|series| series.name.as_str());
        let right = chart.right.as_ref();
        let right_ticks = right.map(|right| right.axis.ticks((height_px / line_px) as usize)).unwrap_or_default();
        let right_px = (longest(names) + 16.0).max(24.0) + right_ticks_px(&right_ticks);
        let characters = ((width_px - 16.0) / CHARACTER_PX) as usize;
        let about: Vec<String> = about.iter().flat_map(|line| broken(line, characters)).collect();
        let top_px = title_px(size, about.len()) + 28.0 + LINE_PX * chart.markers.len() as f64;
        let bottom_px = if chart.x.label.is_empty() { 24.0 } else { 40.0 };
        let x_ticks = chart.x.ticks(((width_px - left_px - right_px) / 62.0) as usize);
        let units = |px: f64| (px * units_per_px).round() as i32;
        let plane = Plane {
            left: units(left_px),
            right: units(width_px - right_px),
            top: units(top_px),
            bottom: units(height_px - bottom_px),
        };
        Self { chart, about, size, x_ticks, y_ticks, right_ticks, plane }
    }

    /// All of it, from the back to the front.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let series = (0..self.chart.series.len()).map(Layer::Series);
        let title = self.size.is_titled.then_some(Layer::Title);
        [Layer::UpAxis, Layer::AcrossAxis].into_iter().chain(series).chain([Layer::Names]).chain(title).collect()
    }

    /// In units of the back end.
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
        let (across, up) = (Ruler::of(&self.chart.x, &self.x_ticks), Ruler::of(&self.chart.y, &self.y_ticks));
        let mut context = builder.build_cartesian_2d(across, up)?;
        match layer {
            Layer::AcrossAxis => self.across_axis(&mut context),
            Layer::UpAxis => self.up_axis(&mut context, area),
            Layer::Series(index) => {
                self.chart.series.get(index).map_or(Ok(()), |series| self.series(&mut context, index, series))
            }
            Layer::Names => self.names(&context, area),
            Layer::Title => {
                let style = self.text(Role::Ink).pos(Pos::new(HPos::Left, VPos::Top));
                area.draw(&Text::new(self.chart.title.clone(), (self.units(8.0), self.units(8.0)), style))?;
                self.about.iter().enumerate().try_for_each(|(index, line)| {
                    let style = self.text(Role::Muted).pos(Pos::new(HPos::Left, VPos::Top));
                    let y_px = 8.0 + LINE_PX * (index + 1) as f64;
                    area.draw(&Text::new(line.clone(), (self.units(8.0), self.units(y_px)), style))
                })
            }
        }
    }

    fn across_axis<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>) -> Outcome<DB> {
        context
            .configure_mesh()
            .disable_mesh()
            .disable_y_axis()
            .axis_style(ink(Role::Grid).stroke_width(self.line_width(1.0)))
            .set_all_tick_mark_size(self.units(4.0))
            .x_label_style(self.text(Role::Muted))
            .x_labels(self.x_ticks.len())
            .x_desc(self.chart.x.label.clone())
            .axis_desc_style(self.text(Role::Muted))
            .draw()
    }

    fn up_axis<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>, area: &Area<DB>) -> Outcome<DB> {
        // Lines across would run through what is written in cells.
        let is_written = |series: &Series| matches!(&series.marks, Marks::Cells(cells) if cells.iter().any(|cell| !cell.label.is_empty()));
        let lines = if self.chart.series.iter().any(is_written) {
            TRANSPARENT.into()
        } else {
            ink(Role::Grid).stroke_width(self.line_width(1.0))
        };
        context
            .configure_mesh()
            .disable_x_mesh()
            .disable_x_axis()
            .bold_line_style(lines)
            .light_line_style(TRANSPARENT)
            .axis_style(TRANSPARENT)
            .set_all_tick_mark_size(self.units(4.0))
            .y_label_style(self.text(Role::Muted))
            .y_labels(self.y_ticks.len())
            .draw()?;
        // Lying words are read with less effort than standing ones.
        let style = self.text(Role::Muted).pos(Pos::new(HPos::Left, VPos::Top));
        area.draw(&Text::new(
            self.chart.y.label.clone(),
            (self.units(8.0), self.units(title_px(self.size, self.about.len()) + 4.0)),
            style,
        ))?;
        self.right_axis(area)
    }

    /// Marks beside the plane: the lines across it are those of the left axis.
    fn right_axis<DB: DrawingBackend>(&self, area: &Area<DB>) -> Outcome<DB> {
        let Some(right) = &self.chart.right else { return Ok(()) };
        let Plane { right: edge, top, bottom, .. } = self.plane;
        let (from, to) = right.axis.ends();
        for tick in &self.right_ticks {
            let y = bottom + (f64::from(top - bottom) * (tick.place - from) / (to - from)).round() as i32;
            let style = self.text(Role::Muted).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(tick.text.clone(), (edge + self.units(6.0), y), style))?;
        }
        let style = self.text(Role::Muted).pos(Pos::new(HPos::Right, VPos::Top));
        let at =
            (self.units(f64::from(self.size.width_px) - 8.0), self.units(title_px(self.size, self.about.len()) + 4.0));
        area.draw(&Text::new(right.axis.label.clone(), at, style))
    }

    fn series<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>, index: usize, series: &Series) -> Outcome<DB> {
        let colour = ink(series.role);
        let line = colour.stroke_width(self.line_width(1.8));
        let dot = |radius_px: f64| move |at| Circle::new(at, self.units(radius_px), colour.filled());
        match &series.marks {
            Marks::Line(values) => {
                self.lines(context, index, values, line)?;
                // A line of one point is not seen.
                let alone = self.placed(index, values).into_iter().filter(|run| run.len() == 1).flatten();
                context.draw_series(alone.map(dot(2.4))).map(drop)
            }
            Marks::DottedLine(values) => {
                self.lines(context, index, values, line)?;
                context.draw_series(self.placed(index, values).into_iter().flatten().map(dot(3.2))).map(drop)
            }
            Marks::Dots(values) => {
                context.draw_series(self.placed(index, values).into_iter().flatten().map(dot(2.4))).map(drop)
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
            Marks::Cells(cells) => {
                context.draw_series(cells.iter().map(|cell| self.cell(cell, colour)))?;
                self.cell_labels(context, cells)
            }
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

    /// The place of a value of a series on the left axis, which all are drawn on.
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

    /// Where cells are too narrow for their labels there are none.
    fn cell_labels<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>, cells: &[Cell]) -> Outcome<DB> {
        let style = self.text(Role::Ink).pos(Pos::new(HPos::Center, VPos::Center));
        let Chart { x, y, .. } = self.chart;
        let place =
            |(low, high): (f64, f64), axis: &Axis| f64::midpoint(axis.place_inside(low), axis.place_inside(high));
        let width = |cell: &Cell| {
            let (from, to) = x.ends();
            (cell.x.1 - cell.x.0) / (to - from) * f64::from(self.plane.right - self.plane.left)
        };
        let fits = |cell: &&Cell| f64::from(self.units(longest([cell.label.as_str()].into_iter()))) <= width(cell);
        let labelled = || cells.iter().filter(|cell| !cell.label.is_empty());
        if !labelled().all(|cell| fits(&cell)) {
            return Ok(());
        }
        let text = |cell: &Cell| Text::new(cell.label.clone(), (place(cell.x, x), place(cell.y, y)), style.clone());
        context.draw_series(labelled().map(text)).map(drop)
    }

    fn interval<DB: DrawingBackend>(&self, context: &mut Context<'_, DB>, interval: &Interval) -> Outcome<DB> {
        let Interval { at, bounds, y, role, .. } = interval;
        let place = |value: f64| (self.chart.x.place_inside(value), self.chart.y.place_inside(*y));
        if let Some((low, high)) = bounds {
            let line = ink(*role).stroke_width(self.line_width(3.0));
            context.draw_series([PathElement::new(vec![place(*low), place(*high)], line)])?;
        }
        context.draw_series([Circle::new(place(*at), self.units(5.0), ink(*role).filled())]).map(drop)
    }

    fn names<DB: DrawingBackend>(&self, context: &Context<'_, DB>, area: &Area<DB>) -> Outcome<DB> {
        for (index, marker) in self.chart.markers.iter().enumerate() {
            self.marker(context, area, index, marker)?;
        }
        let mut names: Vec<(i32, &Series)> = Vec::new();
        let mut peaks: Vec<(i32, (i32, &Series))> = Vec::new();
        for (index, series) in self.chart.series.iter().enumerate() {
            match &series.marks {
                Marks::Line(values) | Marks::DottedLine(values) if is_named_at_end(series) => {
                    let runs = self.placed(index, values);
                    let Some(end) = runs.last().and_then(|run| run.last()) else { continue };
                    names.push((context.backend_coord(end).1, series));
                }
                Marks::Area(values) => {
                    let runs = self.placed(index, values);
                    let peak = runs.iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
                    let Some((x, y)) = peak.map(|peak| context.backend_coord(peak)) else { continue };
                    peaks.push((y, (x, series)));
                }
                _ => {}
            }
        }
        // Names of peaks stand above each other where they would overlap.
        let width = |series: &Series| self.units(longest([series.name.as_str()].into_iter()));
        let ends = |(x, series): (i32, &Series)| x + width(series);
        peaks.sort_by_key(|(_, (x, _))| *x);
        if peaks.windows(2).any(|pair| ends(pair[0].1) > pair[1].1.0) {
            peaks.sort_by_key(|(y, _)| *y);
            peaks = self.apart(peaks);
        }
        for (y, (x, series)) in peaks {
            let style = self.text(series.role).pos(Pos::new(HPos::Left, VPos::Bottom));
            area.draw(&Text::new(series.name.clone(), (x + self.units(4.0), y - self.units(2.0)), style))?;
        }
        // What has no end has its name at the top.
        let others = self.chart.series.iter().filter(|series| is_named_on_top(series));
        names.extend(others.map(|series| (self.plane.top, series)));
        names.sort_by_key(|(y, _)| *y);
        for (y, series) in self.apart(names) {
            let style = self.text(series.role).pos(Pos::new(HPos::Left, VPos::Center));
            let x = self.plane.right + self.units(6.0 + right_ticks_px(&self.right_ticks));
            area.draw(&Text::new(series.name.clone(), (x, y), style))?;
        }
        Ok(())
    }

    /// Moves names, from top to bottom, so far that none overlaps another or lies below the plane.
    fn apart<T>(&self, mut names: Vec<(i32, T)>) -> Vec<(i32, T)> {
        let line = self.units(LINE_PX);
        let mut floor = i32::MIN;
        for (y, _) in &mut names {
            *y = (*y).max(floor);
            floor = *y + line;
        }
        let mut ceiling = self.plane.bottom;
        for (y, _) in names.iter_mut().rev() {
            *y = (*y).min(ceiling);
            ceiling = *y - line;
        }
        names
    }

    /// A line up from the place, a band over its range, and the name above the plane.
    fn marker<DB: DrawingBackend>(
        &self,
        context: &Context<'_, DB>,
        area: &Area<DB>,
        index: usize,
        marker: &Marker,
    ) -> Outcome<DB> {
        let Plane { left, right, top, bottom } = self.plane;
        let floor = self.chart.y.ends().0;
        let across = |value: f64| context.backend_coord(&(self.chart.x.place_inside(value), floor)).0;
        let (low, at, high) = (across(marker.bounds.0), across(marker.x), across(marker.bounds.1));
        let colour = ink(marker.role);
        if high > low {
            area.draw(&Rectangle::new([(low, top), (high, bottom)], colour.mix(0.1).filled()))?;
        }
        let name_y = self.units(title_px(self.size, self.about.len()) + 20.0 + LINE_PX * index as f64 + LINE_PX / 2.0);
        let line = colour.stroke_width(self.line_width(1.5));
        area.draw(&PathElement::new(vec![(at, name_y), (at, bottom)], line))?;
        let width = self.units(longest([marker.label.as_str()].into_iter()));
        let (anchor, x) = if at + width + self.units(6.0) < right.max(left) {
            (HPos::Left, at + self.units(5.0))
        } else {
            (HPos::Right, at - self.units(5.0))
        };
        let style = self.text(marker.role).pos(Pos::new(anchor, VPos::Center));
        area.draw(&Text::new(marker.label.clone(), (x, name_y), style))
    }

    fn text(&self, role: Role) -> TextStyle<'static> {
        let height = TEXT_PX * self.size.font_divisor * self.size.units_per_px;
        TextStyle { color: ink(role).to_backend_color(), ..TextStyle::from(("sans-serif", height).into_font()) }
    }

    /// Where a value of the chart is, in units of the back end.
    pub(super) fn position(&self, series: usize, (x, y): (f64, f64)) -> Option<(i32, i32)> {
        let share = |axis: &Axis, value: f64| {
            let (from, to) = axis.ends();
            (!axis.place(value).is_nan()).then(|| (axis.place_inside(value) - from) / (to - from))
        };
        let (across, up) = (share(&self.chart.x, x)?, share(self.chart.axis_of(series), y)?);
        let Plane { left, right, top, bottom } = self.plane;
        let between = |from: i32, to: i32, share: f64| from + (f64::from(to - from) * share).round() as i32;
        Some((between(left, right, across), between(bottom, top, up)))
    }
}

/// Room for a title and so many lines below it.
fn title_px(size: Size, lines: usize) -> f64 {
    if size.is_titled { 26.0 + LINE_PX * lines as f64 } else { 0.0 }
}

/// A line broken at blanks into lines of so many characters at most, if its words are not longer.
fn broken(line: &str, characters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.chars().count() + 1 + word.chars().count() <= characters => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Room for the marks of the right axis.
fn right_ticks_px(ticks: &[Tick]) -> f64 {
    if ticks.is_empty() { 0.0 } else { longest(ticks.iter().map(|tick| tick.text.as_str())) + 14.0 }
}

fn is_named_at_end(series: &Series) -> bool {
    !series.name.is_empty() && matches!(series.marks, Marks::Line(_) | Marks::DottedLine(_))
}

fn is_named_on_top(series: &Series) -> bool {
    !series.name.is_empty() && matches!(series.marks, Marks::Cells(_) | Marks::Dots(_) | Marks::Events(_))
}

fn longest<'t>(texts: impl Iterator<Item = &'t str>) -> f64 {
    texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64 * CHARACTER_PX
}

fn ink(role: Role) -> RGBColor {
    let (red, green, blue): Rgb = role.light();
    RGBColor(red, green, blue)
}

#[cfg(test)]
mod tests {
    use crate::axis::Axis;
    use crate::chart::{Chart, Marks, Series};
    use crate::image::{Room, svg_for_page};
    use crate::palette::Role;
    use crate::quantity::Quantity;

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
        let y = |name: &str| -> f64 {
            let (before, _) = svg.split_once(&format!("\n{name}</text>")).expect("the name");
            let from = before.rfind(" y=\"").expect("a place") + 4;
            before[from..].split('"').next().expect("a number").parse().expect("a number")
        };
        assert!(y("writes") - y("reads") > 100.0, "{} {}", y("reads"), y("writes"));
    }
}
