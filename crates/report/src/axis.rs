//! Axes: mapping of values to positions, and tick marks.

use super::quantity::Quantity;

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Label; may be empty where the tick marks are self-explanatory.
    pub label: String,
    pub quantity: Quantity,
    scale: Scale,
    /// Start of the axis, as a place.
    from: f64,
    /// End of the axis, as a place; beyond `from`.
    to: f64,
}

#[derive(Clone, Debug)]
enum Scale {
    Linear,
    /// Places are decimal logarithms.
    Log,
    /// Linear, with marks of its own.
    Named(Vec<(f64, String)>),
    /// Logarithmic, with marks at powers of two.
    Powers,
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub place: f64,
    pub text: String,
}

impl Axis {
    /// From 0, or below if there are values below, to the largest value or a little more.
    pub fn from_zero(label: &str, quantity: Quantity, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        let high = if high > low { high } else { low + 1.0 };
        let room = (high - low) * 0.06;
        Self::linear(label, quantity, if low < 0.0 { low - room } else { 0.0 }, high + room)
    }

    /// From one value to another.
    pub fn linear(label: &str, quantity: Quantity, from: f64, to: f64) -> Self {
        let to = if to > from { to } else { from + 1.0 };
        Self { label: label.to_owned(), quantity, scale: Scale::Linear, from, to }
    }

    /// Over all values above 0, on a logarithmic scale with a little room at both ends.
    pub fn log(label: &str, quantity: Quantity, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = logs(values);
        let room = ((high - low) * 0.06).max(0.05);
        Self { label: label.to_owned(), quantity, scale: Scale::Log, from: low - room, to: high + room }
    }

    /// The same for numbers that grow by doubling.
    pub fn powers(label: &str, quantity: Quantity, values: impl Iterator<Item = f64>) -> Self {
        Self { scale: Scale::Powers, ..Self::log(label, quantity, values) }
    }

    /// With marks of its own, from one value to another.
    pub fn named(label: &str, quantity: Quantity, (from, to): (f64, f64), marks: Vec<(f64, String)>) -> Self {
        Self { scale: Scale::Named(marks), ..Self::linear(label, quantity, from, to) }
    }

    /// The position of a value; NaN if it has none.
    pub fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear | Scale::Named(_) => value,
            Scale::Log | Scale::Powers if value > 0.0 => value.log10(),
            Scale::Log | Scale::Powers => f64::NAN,
        }
    }

    /// The place of a value, or the nearest end of the axis.
    pub fn place_inside(&self, value: f64) -> f64 {
        let place = self.place(value);
        if place.is_nan() { self.from } else { place.clamp(self.from, self.to) }
    }

    /// Both ends, as places.
    pub fn ends(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// The name of the scale in attributes of a page.
    pub const fn scale_name(&self) -> &'static str {
        match self.scale {
            Scale::Linear => "linear",
            Scale::Log => "log",
            Scale::Named(_) => "named",
            Scale::Powers => "powers",
        }
    }

    /// True if it has marks of its own.
    pub fn is_named(&self) -> bool {
        matches!(self.scale, Scale::Named(_))
    }

    /// About this number of marks.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match &self.scale {
            Scale::Linear => self.linear_ticks(wanted),
            Scale::Log => self.log_ticks(wanted),
            Scale::Powers => self.power_ticks(wanted),
            Scale::Named(marks) => {
                let every = marks.len().div_ceil(wanted.max(1)).max(1);
                let kept = marks.iter().step_by(every);
                kept.map(|(place, text)| Tick { place: *place, text: text.clone() }).collect()
            }
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let step = nice_step((self.to - self.from) / wanted.max(1) as f64, self.quantity);
        let first = (self.from / step - 1e-9).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        let tick = |index: i64| {
            let place = index as f64 * step;
            Tick { place, text: self.quantity.tick(place, step) }
        };
        (first..=last).map(tick).collect()
    }

    /// Powers of ten; if there are few, also twice and five times as much; within one, equal steps.
    fn log_ticks(&self, wanted: usize) -> Vec<Tick> {
        let decades = self.to - self.from;
        if decades < 1.0 {
            let (low, high) = (10f64.powf(self.from), 10f64.powf(self.to));
            let step = nice_step((high - low) / wanted.max(1) as f64, self.quantity);
            let steps = (low / step - 1e-9).ceil() as i64..=(high / step + 1e-9).floor() as i64;
            return self.inside(steps.map(|index| index as f64 * step));
        }
        let (steps, every): (&[f64], i32) = match decades {
            decades if decades * 3.0 <= wanted as f64 + 1.0 => (&[1.0, 2.0, 5.0], 1),
            decades => (&[1.0], (decades / wanted.max(1) as f64).ceil().max(1.0) as i32),
        };
        let powers = (self.from.floor() as i32..=self.to.ceil() as i32).filter(|power| power % every == 0);
        let values = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        self.inside(values)
    }

    fn power_ticks(&self, wanted: usize) -> Vec<Tick> {
        let octaves = (self.to - self.from) / 2f64.log10();
        let every = (octaves / wanted.max(1) as f64).ceil().max(1.0) as i32;
        let powers = (0..64).filter(|power| power % every == 0);
        self.inside(powers.map(|power| 2f64.powi(power)))
    }

    fn inside(&self, values: impl Iterator<Item = f64>) -> Vec<Tick> {
        let ticks = values.map(|value| Tick { place: value.log10(), text: self.quantity.tick(value, value) });
        ticks.filter(|tick| tick.place >= self.from - 1e-9 && tick.place <= self.to + 1e-9).collect()
    }
}

/// Smallest and largest logarithm of the values above 0; of none, those of 1 and 10.
fn logs(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let logs = values.filter(|value| *value > 0.0 && value.is_finite()).map(f64::log10);
    let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
    match (low, high) {
        (low, high) if low > high => (0.0, 1.0),
        // A quarter of a decade at least, so that marks find room.
        (low, high) if high - low < 0.25 => (f64::midpoint(low, high) - 0.125, f64::midpoint(low, high) + 0.125),
        ends => ends,
    }
}

/// The next larger round step.
fn nice_step(step: f64, quantity: Quantity) -> f64 {
    const OF_TIME_S: [f64; 11] = [10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0];
    if quantity == Quantity::TimeS
        && step > 5.0
        && let Some(found) = OF_TIME_S.into_iter().find(|nice| *nice >= step)
    {
        return found;
    }
    let power = 10f64.powf(step.max(f64::MIN_POSITIVE).log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().map(|digit| digit * power).find(|nice| *nice >= step * 0.999);
    let step = nice.unwrap_or(step);
    if quantity == Quantity::Count { step.max(1.0) } else { step }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis, wanted: usize) -> String {
        axis.ticks(wanted).into_iter().map(|tick| tick.text).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn marks_stand_at_round_values() {
        let iops = Axis::from_zero("", Quantity::Iops, [48_000.0, f64::NAN, 100.0].into_iter());
        assert_eq!(texts(&iops, 5), "0, 20k, 40k");
        let time = Axis::linear("", Quantity::TimeS, 0.0, 60.0);
        assert_eq!(texts(&time, 6), "0 s, 10 s, 20 s, 30 s, 40 s, 50 s, 60 s");
        let long = Axis::linear("", Quantity::TimeS, 0.0, 7.0 * 3600.0);
        assert_eq!(texts(&long, 4), "0 s, 2 h, 4 h, 6 h");
        let depth = Axis::linear("", Quantity::Count, 1.0, 3.0);
        assert_eq!(texts(&depth, 9), "1, 2, 3");
    }

    #[test]
    fn logarithmic_marks_are_decades_or_finer() {
        let wide = Axis::log("", Quantity::LatencyNs, [20e3, 90e6].into_iter());
        assert_eq!(texts(&wide, 6), "100 µs, 1 ms, 10 ms, 100 ms");
        let narrow = Axis::log("", Quantity::LatencyNs, [20e3, 90e3].into_iter());
        assert_eq!(texts(&narrow, 6), "20 µs, 40 µs, 60 µs, 80 µs, 100 µs");
        // A single mark, at 10 ms, did not show the height of the others.
        let narrower = Axis::log("", Quantity::LatencyNs, [5e6, 9e6].into_iter());
        assert_eq!(texts(&narrower, 3), "6 ms, 8 ms, 10 ms");
        let depths = Axis::powers("", Quantity::Count, [1.0, 32.0].into_iter());
        assert_eq!((texts(&depths, 9), texts(&depths, 3)), ("1, 2, 4, 8, 16, 32".to_owned(), "1, 4, 16".to_owned()));
    }

    #[test]
    fn axes_without_values_still_stand() {
        let nothing = Axis::from_zero("", Quantity::Iops, std::iter::empty());
        assert!(nothing.ends().1 > nothing.ends().0 && nothing.ticks(5).len() > 1);
        let nothing = Axis::log("", Quantity::LatencyNs, [0.0, -1.0].into_iter());
        assert!(nothing.ends().1 > nothing.ends().0);
        assert!(nothing.place(0.0).is_nan() && nothing.place_inside(0.0) <= nothing.ends().0);
        let one = Axis::log("", Quantity::LatencyNs, [5e6].into_iter());
        assert!(!one.ticks(5).is_empty(), "{one:?}");
    }
}
