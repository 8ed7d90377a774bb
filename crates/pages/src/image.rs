//! A chart as SVG, for a page or on its own, and as PNG.

use super::draw::{Drawing, Plane, Size};
use super::labels::register;
use super::layer::Layer;
use super::palette::{light, variable};
use model::version::{IMPLEMENTATION, IMPLEMENTATION_VERSION};
use plotters::prelude::*;
use render::document::{PNG_KEYWORD, SVG_MARK};
use report::chart::{Chart, Marks};
use report::role::Role;
use std::fmt::{Debug, Write as _};
use std::io;

/// Units per pixel of SVG, whose back end only has whole units.
const SVG_UNITS_PER_PX: f64 = 10.0;
/// Units per pixel of PNG, for sharp text on high-resolution screens and on paper.
const PNG_UNITS_PER_PX: f64 = 2.0;

/// The room for which a chart of a page is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// A window.
    Full,
    /// Half a window, or a page of paper.
    Wide,
    /// A phone.
    Narrow,
}

impl Room {
    const fn size(self) -> Size {
        let (width_px, height_px) = match self {
            Self::Full => (1240, 330),
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

/// Size of a chart on its own, in pixels.
const ALONE: (u32, u32) = (900, 420);

/// The chart as an element of a page: only with colours that the page's rules swap, and with its values as attributes.
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
        let marks = drawn(&drawing, &[layer], None)?;
        // Axes are redrawn, mark by mark, when a page is zoomed: their marks are in no group.
        if let Layer::Series(index) = layer {
            attributes(&mut svg, chart, &drawing, index, room);
            push(&mut svg, format_args!(">\n{}", grouped(&marks)));
        } else {
            let (style, marks) = of_texts(marks);
            push(&mut svg, format_args!("{style}>\n{marks}"));
        }
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
            let (red, green, blue) = light(role);
            area.fill(&RGBColor(red, green, blue)).map_err(failed)?;
        }
        layers.iter().try_for_each(|layer| drawing.draw(&area, *layer)).map_err(failed)?;
        area.present().map_err(failed)?;
    }
    // The back end writes a document; only its content is needed.
    let inside = svg.find('>').map_or(0, |end| end + 1)..svg.rfind("</svg>").unwrap_or(svg.len());
    // The back end also writes defaults: an opacity of 1 and no outline.
    let slim = svg[inside].replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    let slim = slim.replace(" font-family=\"sans-serif\"", "").replace("\n</text>", "</text>");
    // The divisor of font sizes leaves a remainder.
    Ok(slim.replace("font-size=\"119.99999999999999\"", "font-size=\"120\""))
}

/// Attributes that all texts of a layer share, for the layer, and its marks without these.
fn of_texts(mut marks: String) -> (String, String) {
    let mut style = String::new();
    for key in [" font-size=\"", " fill=\""] {
        let value = |text: &str| {
            let value = text.split_once('>')?.0.split_once(key)?.1.split_once('"')?.0;
            Some(format!("{key}{value}\""))
        };
        let mut values = marks.split("<text").skip(1).map(value);
        let Some(Some(first)) = values.next() else { continue };
        if values.all(|value| value.as_ref() == Some(&first)) {
            marks = marks.replace(&first, "");
            style += &first;
        }
    }
    (style, marks)
}

/// Attributes that the marks in a group inherit.
const HANDED_DOWN: [&str; 5] = ["fill", "stroke", "stroke-width", "fill-opacity", "stroke-opacity"];

/// Marks of a series, in groups that have the common attributes once: a page has tens of thousands of marks.
fn grouped(marks: &str) -> String {
    let mut svg = String::with_capacity(marks.len());
    let mut open: Option<String> = None;
    for line in marks.lines().filter(|line| !line.is_empty()) {
        let shared = split(line);
        let style = shared.as_ref().map(|(style, _)| style.clone());
        if open != style {
            svg.push_str(if open.is_some() { "</g>\n" } else { "" });
            if let Some(style) = &style {
                push(&mut svg, format_args!("<g{style}>\n"));
            }
            open = style;
        }
        svg.push_str(shared.as_ref().map_or(line, |(_, own)| own));
        svg.push('\n');
    }
    svg.push_str(if open.is_some() { "</g>\n" } else { "" });
    svg
}

/// Attributes that a mark can share with others, and the rest of it; `None` if it shares nothing.
fn split(line: &str) -> Option<(String, String)> {
    let (name, attributes) = line.strip_prefix('<')?.strip_suffix("/>")?.split_once(' ')?;
    let is_line = name == "polyline" && attributes.starts_with("fill=\"none\"");
    let is_dot = name == "circle" && !attributes.contains(" stroke=");
    if !is_line && !is_dot {
        return None;
    }
    let (mut style, mut own) = (String::new(), format!("<{name}"));
    for attribute in attributes.split_inclusive('"').collect::<Vec<_>>().chunks(2) {
        let [key, value] = attribute else { continue };
        let key = key.trim_start().trim_end_matches("=\"");
        // A semi-transparent group differs from semi-transparent marks where they overlap.
        let key = match key {
            "opacity" if is_line => "stroke-opacity",
            "opacity" => "fill-opacity",
            "stroke-width" if is_dot => continue,
            key => key,
        };
        let part = if HANDED_DOWN.contains(&key) { &mut style } else { &mut own };
        push(
            part,
            format_args!(" {key}=\"{}", if key == "points" { value.replace(" \"", "\"") } else { (*value).to_owned() }),
        );
    }
    own.push_str("/>");
    Some((style, own))
}

fn failed(error: impl Debug) -> io::Error {
    io::Error::other(format!("a chart cannot be drawn: {error:?}"))
}

/// The values of a series for the tooltips and for tests: the position and text of each.
///
/// A chart is drawn twice; data that does not depend on the room is only in the wide drawing.
fn attributes(svg: &mut String, chart: &Chart, drawing: &Drawing<'_>, index: usize, room: Room) {
    let series = &chart.series[index];
    let quantity = chart.axis_of(index).quantity;
    svg.push_str(" data-series=\"");
    escape(svg, &series.name);
    let (role, marks) = (variable(series.role), series.marks.name());
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
    push(svg, format_args!(" data-places=\"{places}\""));
    if room == Room::Narrow {
        return;
    }
    if let Marks::Events(events) = &series.marks {
        let began: Vec<String> = events.iter().map(|event| rounded(event.began).to_string()).collect();
        push(svg, format_args!(" data-began=\"{}\"", began.join(" ")));
    }
    push(svg, format_args!(" data-x=\"{xs}\" data-y=\"{ys}\" data-texts=\""));
    escape(svg, &texts);
    svg.push('"');
}

/// Six significant digits: more than a picture shows.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Appends to the text; writing to a string cannot fail.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_layer_say_once_how_they_are_written() {
        let text = |x: u32, fill: &str| format!("<text x=\"{x}\" font-size=\"120\" fill=\"{fill}\">\nreads</text>\n");
        let line = "<polyline fill=\"none\" stroke=\"#DDE2E8\" points=\"1,2 3,4\"/>\n";
        let (style, marks) = of_texts(format!("{line}{}{}", text(1, "#5B6673"), text(2, "#5B6673")));
        assert_eq!(style, " font-size=\"120\" fill=\"#5B6673\"");
        assert_eq!(marks, format!("{line}<text x=\"1\">\nreads</text>\n<text x=\"2\">\nreads</text>\n"));
        let (style, marks) = of_texts(format!("{}{}", text(1, "#5B6673"), text(2, "#0072B2")));
        assert_eq!(style, " font-size=\"120\"", "they differ in colour");
        assert!(marks.contains("<text x=\"2\" fill=\"#0072B2\">"), "{marks}");
        assert_eq!(of_texts(line.to_owned()), (String::new(), line.to_owned()));
    }

    #[test]
    fn marks_that_look_alike_say_so_once() {
        let marks = "\n<polyline fill=\"none\" opacity=\"0.5\" stroke=\"#0072B2\" stroke-width=\"12\" points=\"1,2 3,4 \"/>\n\
                     <polyline fill=\"none\" opacity=\"0.5\" stroke=\"#0072B2\" stroke-width=\"12\" points=\"5,6 7,8 \"/>\n\
                     <circle cx=\"9\" cy=\"8\" r=\"32\" opacity=\"0.5\" fill=\"#0072B2\" stroke-width=\"1\"/>\n\
                     <circle cx=\"9\" cy=\"8\" r=\"32\" fill=\"none\" stroke=\"#0072B2\" stroke-width=\"1\"/>\n\
                     <polygon opacity=\"0.2\" fill=\"#0072B2\" points=\"1,2 3,4 5,6 \"/>\n";
        let expected = "<g fill=\"none\" stroke-opacity=\"0.5\" stroke=\"#0072B2\" stroke-width=\"12\">\n\
                        <polyline points=\"1,2 3,4\"/>\n\
                        <polyline points=\"5,6 7,8\"/>\n\
                        </g>\n\
                        <g fill-opacity=\"0.5\" fill=\"#0072B2\">\n\
                        <circle cx=\"9\" cy=\"8\" r=\"32\"/>\n\
                        </g>\n\
                        <circle cx=\"9\" cy=\"8\" r=\"32\" fill=\"none\" stroke=\"#0072B2\" stroke-width=\"1\"/>\n\
                        <polygon opacity=\"0.2\" fill=\"#0072B2\" points=\"1,2 3,4 5,6 \"/>\n";
        assert_eq!(grouped(marks), expected);
    }
}
