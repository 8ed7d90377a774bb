//! A chart as SVG, for a page or on its own, and as PNG.

use super::chart::{Chart, Marks};
use super::draw::{Drawing, Layer, Plane, Size};
use super::labels::register;
use super::palette::Role;
use model::version::{IMPLEMENTATION, IMPLEMENTATION_VERSION};
use plotters::prelude::*;
use render::document::{PNG_KEYWORD, SVG_MARK};
use std::fmt::{Debug, Write as _};
use std::io;

/// Units for each pixel of SVG, whose back end knows whole units only.
const SVG_UNITS_PER_PX: f64 = 10.0;
/// So that text is sharp on screens with small pixels and on paper.
const PNG_UNITS_PER_PX: f64 = 2.0;

/// For which room a chart of a page is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Half a window, or a page of paper.
    Wide,
    /// A telephone.
    Narrow,
}

impl Room {
    const fn size(self) -> Size {
        let (width_px, height_px) = match self {
            Self::Wide => (620, 290),
            Self::Narrow => (360, 260),
        };
        vectors(width_px, height_px, false)
    }
}

const fn vectors(width_px: u32, height_px: u32, is_titled: bool) -> Size {
    // The back end writes the size of a font divided by its line's height.
    Size { width_px, height_px, units_per_px: SVG_UNITS_PER_PX, font_divisor: 1.24, is_titled }
}

/// On its own.
const ALONE: (u32, u32) = (900, 420);

/// The chart as an element of a page: without colours of its own but those that the page's rules swap, and with
/// its values as attributes.
pub(super) fn svg_for_page(chart: &Chart, room: Room) -> io::Result<String> {
    let drawing = Drawing::new(chart, room.size());
    let (width, height) = drawing.extent();
    let Plane { left, right, top, bottom } = drawing.plane;
    let mut svg = String::new();
    push(&mut svg, format_args!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\""));
    escape(&mut svg, &chart.title);
    push(&mut svg, format_args!("\" data-plane=\"{left} {top} {right} {bottom}\""));
    for (name, axis) in [("x", &chart.x), ("y", &chart.y)] {
        let ((from, to), scale, unit) = (axis.ends(), axis.scale_name(), axis.quantity.name());
        push(&mut svg, format_args!(" data-{name}=\"{from} {to}\" data-{name}-scale=\"{scale}\""));
        push(&mut svg, format_args!(" data-{name}-unit=\"{unit}\" data-{name}-label=\""));
        escape(&mut svg, &axis.label);
        svg.push('"');
    }
    svg.push_str(if chart.right.is_some() { " data-right>\n" } else { ">\n" });
    for layer in drawing.layers() {
        let class = match layer {
            Layer::AcrossAxis => "across",
            Layer::UpAxis => "up",
            Layer::Units => "units",
            Layer::Series(_) => "series",
            Layer::Names => "names",
            Layer::Title => "title",
        };
        push(&mut svg, format_args!("<g class=\"{class}\""));
        if let Layer::Series(index) = layer {
            attributes(&mut svg, chart, &drawing, index);
        }
        svg.push_str(">\n");
        svg.push_str(&drawn(&drawing, &[layer], None)?);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>");
    Ok(svg)
}

/// The chart as a file.
pub(super) fn svg_alone(chart: &Chart, about: &[String]) -> io::Result<Vec<u8>> {
    let (width_px, height_px) = ALONE;
    let drawing = Drawing::titled(chart, vectors(width_px, height_px, true), about);
    let (width, height) = drawing.extent();
    let mut svg = String::new();
    push(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_px}\" height=\"{height_px}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n{SVG_MARK}\n<title>"
        ),
    );
    escape(&mut svg, &chart.title);
    svg.push_str("</title>\n<desc>");
    escape(&mut svg, &about.join("; "));
    svg.push_str("</desc>\n");
    svg.push_str(&drawn(&drawing, &drawing.layers(), Some(Role::Paper))?);
    svg.push_str("</svg>\n");
    Ok(svg.into_bytes())
}

/// The chart as a bitmap.
pub(super) fn png(chart: &Chart, about: &[String]) -> io::Result<Vec<u8>> {
    let (width_px, height_px) = ALONE;
    let size = Size { width_px, height_px, units_per_px: PNG_UNITS_PER_PX, font_divisor: 1.0, is_titled: true };
    let drawing = Drawing::titled(chart, size, about);
    let (width, height) = drawing.extent();
    register();
    let mut pixels = vec![0; width as usize * height as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        drawing.layers().into_iter().try_for_each(|layer| drawing.draw(&area, layer)).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let program = format!("{IMPLEMENTATION} {IMPLEMENTATION_VERSION}");
    encoder.add_text_chunk(PNG_KEYWORD.to_owned(), program).map_err(io::Error::other)?;
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels)).map_err(io::Error::other)?;
    Ok(bytes)
}

/// Some layers as elements of SVG.
fn drawn(drawing: &Drawing<'_>, layers: &[Layer], ground: Option<Role>) -> io::Result<String> {
    register();
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, drawing.extent()).into_drawing_area();
        if let Some(role) = ground {
            let (red, green, blue) = role.light();
            area.fill(&RGBColor(red, green, blue)).map_err(failed)?;
        }
        layers.iter().try_for_each(|layer| drawing.draw(&area, *layer)).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    // The back end writes a document; what is inside of it is wanted.
    let inside = svg.find('>').map_or(0, |end| end + 1)..svg.rfind("</svg>").unwrap_or(svg.len());
    // It is thorough: an opacity of 1 and no outline are so anyway.
    let slim = svg[inside].replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    Ok(slim.replace(" font-family=\"sans-serif\"", "").replace("\n</text>", "</text>"))
}

fn failed(error: impl Debug) -> io::Error {
    io::Error::other(format!("a chart cannot be drawn: {error:?}"))
}

/// The values of a series for those who look closely, and for tests: where each is, and what it says.
fn attributes(svg: &mut String, chart: &Chart, drawing: &Drawing<'_>, index: usize) {
    let series = &chart.series[index];
    let quantity = chart.axis_of(index).quantity;
    svg.push_str(" data-series=\"");
    escape(svg, &series.name);
    let (role, marks) = (series.role.variable(), series.marks.name());
    push(svg, format_args!("\" data-role=\"{role}\" data-marks=\"{marks}\" data-unit=\"{}\"", quantity.name()));
    if let Some(label) = drawing.name_of(index) {
        push(svg, format_args!(" data-label=\"{label}\""));
    }
    let (mut xs, mut ys, mut places, mut texts) = (String::new(), String::new(), String::new(), String::new());
    let mut add = |at: (f64, f64), value: f64, text: &str| {
        let Some((x, y)) = drawing.position(index, at) else { return };
        let separator = if xs.is_empty() { "" } else { " " };
        push(&mut xs, format_args!("{separator}{}", rounded(at.0)));
        push(&mut ys, format_args!("{separator}{}", rounded(value)));
        push(&mut places, format_args!("{separator}{x},{y}"));
        push(&mut texts, format_args!("{}{}", if separator.is_empty() { "" } else { "|" }, text.replace('|', "/")));
    };
    match &series.marks {
        Marks::Line(values) | Marks::DottedLine(values) | Marks::Area(values) | Marks::Dots(values) => {
            for &(x, y) in values {
                add((x, y), y, &format!("{}: {}", chart.x.quantity.value(x), quantity.value(y)));
            }
        }
        Marks::Events(events) => {
            for event in events {
                let text = format!("{}: {}", chart.x.quantity.value(event.ended), event.text);
                add((event.ended, event.y), event.y, &text);
            }
        }
        Marks::Cells(cells) => {
            for cell in cells {
                let middle = (f64::midpoint(cell.x.0, cell.x.1), f64::midpoint(cell.y.0, cell.y.1));
                add(middle, cell.value, &cell.text);
            }
        }
        Marks::Intervals(intervals) => {
            for interval in intervals {
                add((interval.at, interval.y), interval.at, &interval.text);
            }
        }
    }
    if let Marks::Events(events) = &series.marks {
        let began: Vec<String> = events.iter().map(|event| rounded(event.began).to_string()).collect();
        push(svg, format_args!(" data-began=\"{}\"", began.join(" ")));
    }
    push(svg, format_args!(" data-x=\"{xs}\" data-y=\"{ys}\" data-places=\"{places}\" data-texts=\""));
    escape(svg, &texts);
    svg.push('"');
}

/// Six significant digits: what a picture shows, and more.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Writing to a string cannot fail.
fn push(svg: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = svg.write_fmt(text);
}

fn escape(svg: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '<' => svg.push_str("&lt;"),
            '>' => svg.push_str("&gt;"),
            '&' => svg.push_str("&amp;"),
            '"' => svg.push_str("&quot;"),
            other => svg.push(other),
        }
    }
}
