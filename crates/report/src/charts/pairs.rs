//! Both sides of pairs of runs.

use super::values;
use crate::axis::Axis;
use crate::chart::{Chart, Marks, Series};
use crate::quantity::Quantity;
use crate::role::Role;
use model::headline::Headline;

/// I/Os per second of both sides over the number of the pair.
pub(crate) fn pairs(found: &[(&Headline, &Headline)], [a, b]: &[String; 2]) -> Chart {
    let numbered = |of: fn(&(&Headline, &Headline)) -> f64| {
        Marks::DottedLine((1u32..).zip(found).map(|(number, pair)| (f64::from(number), of(pair))).collect())
    };
    let series = vec![
        Series { name: a.clone(), role: Role::Read, marks: numbered(|(a, _)| a.iops) },
        Series { name: b.clone(), role: Role::Write, marks: numbered(|(_, b)| b.iops) },
    ];
    let marks = (1..=found.len()).map(|number| (number as f64, number.to_string()));
    Chart {
        name: "pairs",
        title: "I/Os per second of each pair".to_owned(),
        caption: "The two runs of a pair were made one after the other.".to_owned(),
        x: Axis::named("pair", Quantity::Count, (0.5, found.len() as f64 + 0.5), marks.collect()),
        y: Axis::from_zero("IOPS", Quantity::Iops, values(&series).map(|(_, y)| y)),
        series,
        right: None,
        markers: Vec::new(),
    }
}
