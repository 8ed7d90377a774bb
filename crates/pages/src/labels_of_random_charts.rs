//! For any values of a chart, no text overlaps another or leaves the chart, and the essential texts exist. Charts are
//! random, in every room and format; for more of them: `LABELS_CASES=100000 cargo test -p pages --lib random`.

use super::image::{Room, svg_alone, svg_for_page};
use super::labels::width_px;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use report::axis::Axis;
use report::chart::{Cell, Chart, Event, Interval, Marker, Marks, RightAxis, Series};
use report::quantity::Quantity;
use report::role::Role;

/// Cases of the suite.
const CASES: u32 = 200;

/// A written text: its box in pixels.
#[derive(Debug)]
struct Written {
    text: String,
    layer: String,
    across: (f64, f64),
    up: (f64, f64),
}

/// The texts of a drawing, from its markup alone.
fn texts(svg: &str) -> Vec<Written> {
    let mut layer = String::new();
    let mut found = Vec::new();
    for part in svg.split('<').skip(1) {
        if let Some(rest) = part.strip_prefix("g class=\"") {
            rest.split('"').next().unwrap_or_default().clone_into(&mut layer);
        }
        let Some((attributes, text)) = part.strip_prefix("text").and_then(|text| text.split_once('>')) else {
            continue;
        };
        let attribute = |name: &str| {
            let rest = attributes.split(&format!("{name}=\"")).nth(1).expect("it has the attribute");
            rest.split('"').next().expect("it ends").to_owned()
        };
        let number = |name: &str| attribute(name).parse::<f64>().expect("a number") / 10.0;
        let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
        let text = text.strip_prefix('\n').unwrap_or(text).to_owned();
        let text = escapes.into_iter().fold(text, |text, (escape, character)| text.replace(escape, character));
        let (x, y, width) = (number(" x"), number(" y"), width_px(&text) / 1.02);
        assert_eq!(attribute("dy"), "0.5ex");
        let left = match attribute("text-anchor").as_str() {
            "start" => x,
            "middle" => x - width / 2.0,
            _ => x - width,
        };
        // For DejaVu Sans: the middle is half an x-height above the base line, with 0.928 em above and 0.236 em below
        // the base line.
        let base = y + 0.5 * 0.547 * 12.0;
        let layer = layer.clone();
        found.push(Written {
            text,
            layer,
            across: (left, left + width),
            up: (base - 0.928 * 12.0, base + 0.236 * 12.0),
        });
    }
    found
}

/// Pairs of overlapping texts, and texts that are cut off.
fn faults(texts: &[Written], (width, height): (f64, f64)) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, one) in texts.iter().enumerate() {
        let is_inside =
            one.across.0 >= -0.1 && one.across.1 <= width + 0.1 && one.up.0 >= -0.6 && one.up.1 <= height + 0.6;
        if !is_inside {
            faults.push(format!("cut off: {} {one:?}", one.text));
        }
        for other in &texts[..index] {
            let common = |a: (f64, f64), b: (f64, f64)| a.1.min(b.1) - a.0.max(b.0);
            // The lines of the font are 13.97 pixels apart; places are rounded to tenths.
            if common(one.across, other.across) > 0.0 && common(one.up, other.up) > 0.2 {
                faults.push(format!("{one:?} over {other:?}"));
            }
        }
    }
    faults
}

fn quantity() -> impl Strategy<Value = Quantity> {
    use Quantity::{Change, Count, Iops, LatencyNs, MibPerS, Nines, Percent, TimeS};
    prop::sample::select(vec![Iops, MibPerS, LatencyNs, TimeS, Count, Percent, Change, Nines])
}

/// Magnitudes from almost zero to beyond any device.
fn magnitude() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3.0..11.0f64).prop_map(|power| 10f64.powf(power)),
        prop::sample::select(vec![0.001, 0.1, 1.0, 9.99, 100.0, 999.5, 999.6, 1e6, 1e9, 1e12]),
    ]
}

/// Two ends of an axis, near each other or far apart.
fn ends() -> impl Strategy<Value = (f64, f64)> {
    (magnitude(), prop_oneof![Just(1.0), 1.0..1.001f64, 1.0..3.0f64, 3.0..12.0f64, 12.0..1e7f64])
        .prop_map(|(low, factor)| (low, low * factor))
}

/// Names from short to longer than the width of a chart.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["total", "reads", "writes", "99.9th", "plateau", "diskspd", "kernel"]).prop_map(str::to_owned),
        1 => "[ -~]{1,120}",
        1 => "-b[0-9]{1,3}K -o[0-9]{1,4} -t[0-9]{1,3} --rate=[0-9]{1,9}",
        1 => "nas.example.com:/[a-zM]{1,60} (execute|RTT)",
        1 => "[\u{4e00}-\u{4eff}]{1,40}",
        1 => Just("\u{1f4be}\u{1f4be} disk".to_owned()),
    ]
}

fn axis() -> impl Strategy<Value = Axis> {
    let label = prop_oneof![Just(String::new()), name()];
    (label, quantity(), ends(), 0..5u8, prop::collection::vec(name(), 1..40)).prop_map(
        |(label, quantity, (from, to), kind, names)| match kind {
            0 => Axis::linear(&label, quantity, from, to),
            1 => Axis::from_zero(&label, quantity, [to].into_iter()),
            2 => Axis::log(&label, quantity, [from, to].into_iter()),
            3 => Axis::powers(&label, quantity, [from.max(1.0), to.max(1.0)].into_iter()),
            _ => {
                let last = names.len() as f64 + 0.5;
                let marks = (1..).zip(names).map(|(place, name)| (f64::from(place), name)).collect();
                Axis::named(&label, quantity, (0.5, last), marks)
            }
        },
    )
}

/// Values of an axis, by their share of it.
fn value(axis: &Axis, share: f64) -> f64 {
    let (from, to) = axis.ends();
    let place = from + (to - from) * share;
    if matches!(axis.scale_name(), "log" | "powers") { 10f64.powf(place) } else { place }
}

/// A series: its name, its kind, and the shares of both axes of its points; half of them end or peak where others do.
type RandomSeries = (String, u8, Vec<(f64, f64)>);

fn drawn() -> impl Strategy<Value = RandomSeries> {
    let share = || prop_oneof![Just(0.0), Just(1.0), 0.49..0.51f64, 0.0..1.0f64];
    (prop_oneof![9 => name(), 1 => Just(String::new())], 0..7u8, prop::collection::vec((share(), share()), 1..6))
}

fn series((x, y): (&Axis, &Axis), (name, kind, shares): RandomSeries) -> Series {
    let points: Vec<(f64, f64)> = shares.iter().map(|(a, b)| (value(x, *a), value(y, *b))).collect();
    let cells = |step: f64| {
        let cell = |(a, b): &(f64, f64)| Cell {
            x: (value(x, *a), value(x, (a + step).min(1.0))),
            y: (value(y, *b), value(y, (b + step).min(1.0))),
            value: 1.0,
            strength: 0.5,
            label: format!("{:.4}", a * 1e3),
            text: String::new(),
        };
        shares.iter().map(cell).collect()
    };
    let event = |(a, b): &(f64, f64)| Event {
        began: value(x, a / 2.0),
        ended: value(x, *a),
        y: value(y, *b),
        text: String::new(),
    };
    let interval =
        |(at, at_y): &(f64, f64)| Interval { at: *at, bounds: None, y: *at_y, role: Role::Bad, text: String::new() };
    let marks = match kind {
        0 | 1 => Marks::Line(points),
        2 => Marks::DottedLine(points),
        3 => Marks::Area(points),
        4 => Marks::Dots(points),
        5 => Marks::Events(shares.iter().map(event).collect()),
        _ if shares.len() % 2 == 0 => Marks::Cells(cells(0.2)),
        _ => Marks::Intervals(points.iter().map(interval).collect()),
    };
    Series { name, role: Role::Read, marks }
}

fn chart() -> impl Strategy<Value = Chart> {
    let markers = prop::collection::vec((0.0..1.0f64, name()), 0..4);
    // The right axis is one of latencies.
    let latencies = magnitude().prop_map(|most| Axis::from_zero("latency", Quantity::LatencyNs, [most].into_iter()));
    let right = prop::option::weighted(0.3, latencies);
    ((axis(), axis(), right, name()), prop::collection::vec(drawn(), 0..10), markers).prop_map(
        |((x, y, right, title), all, markers)| {
            let marker = |(share, label): (f64, String)| {
                let at = value(&x, share);
                Marker { x: at, bounds: (at, at), role: Role::Good, label }
            };
            let markers = markers.into_iter().map(marker).collect();
            let series = all.into_iter().map(|drawn| series((&x, &y), drawn)).collect();
            let right = right.map(|axis| RightAxis { axis, first_series: usize::MAX });
            Chart { name: "random", title, caption: String::new(), x, y, right, series, markers }
        },
    )
}

/// Missing essential texts: two marks of each axis of numbers, and a name for every series as far as there are lines
/// for them.
fn missing(chart: &Chart, svg: &str, texts: &[Written]) -> Vec<String> {
    let plane = svg.split("data-plane=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a plane");
    let plane: Vec<f64> = plane.split(' ').map(|side| side.parse::<f64>().expect("a number") / 10.0).collect();
    let plane_px = plane[2] - plane[0];
    let mut missing = Vec::new();
    let count = |layer: &str| texts.iter().filter(|text| text.layer == layer).count();
    for (layer, axis) in [("across", &chart.x), ("up", &chart.y)] {
        // Two long ones may not fit side by side.
        let ticks = axis.ticks(4);
        let is_short = ticks.iter().all(|tick| width_px(&tick.text) < 40.0);
        let least = if is_short && plane_px > 140.0 { 2 } else { 1 };
        if count(layer) < ticks.len().min(least) {
            missing.push(format!("{} marks on {axis:?}", count(layer)));
        }
    }
    let named = |series: &&Series| {
        let has_name =
            matches!(series.marks, Marks::Line(_) | Marks::DottedLine(_) | Marks::Dots(_) | Marks::Events(_));
        has_name && !series.name.is_empty()
    };
    let expected = chart.series.iter().filter(named).count() + chart.markers.len();
    if count("names") < expected {
        missing.push(format!("{} names of {expected}", count("names")));
    }
    missing
}

#[test]
fn texts_of_random_charts_stand_apart() {
    let cases = std::env::var("LABELS_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
    let seed = std::env::var("LABELS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0u8);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]));
    let outcome = runner.run(&chart(), |chart| {
        let about =
            vec![chart.title.clone(), "8 KiB random 70/30 read/write, QD 16 (2 threads x 8), O_DIRECT".to_owned()];
        let alone = String::from_utf8(svg_alone(&chart, &about).expect("a chart")).expect("text");
        let wide = svg_for_page(&chart, Room::Wide).expect("a chart");
        let narrow = svg_for_page(&chart, Room::Narrow).expect("a chart");
        for (svg, size) in [(&wide, (620.0, 290.0)), (&narrow, (360.0, 260.0)), (&alone, (900.0, 420.0))] {
            let texts = texts(svg);
            let faults = faults(&texts, size);
            prop_assert!(faults.is_empty(), "{size:?}: {faults:#?}");
            if size.0 < 900.0 {
                let missing = missing(&chart, svg, &texts);
                prop_assert!(missing.is_empty(), "{size:?}: {missing:#?} {texts:#?}");
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
