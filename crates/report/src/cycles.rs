//! The results of crash cycles of a load: `diskspd verify --cycles`.

use crate::block::{Block, Report};
use crate::foreign_text::text_of_path;
use model::units::counted;
use model::verification::{Cycle, CycleSeries, Outcome};
use std::path::Path;

/// The report of a cycle, as soon as it is over.
pub fn cycle(cycle: &Cycle) -> Report {
    let outcome = match cycle.outcome {
        Outcome::Good => "good",
        Outcome::Corrupt => "CORRUPT",
        Outcome::Failed | Outcome::CannotTell => "nothing could be checked",
    };
    let cut = format!("cycle {}: cut after {:.1} s", cycle.number, cycle.cut_after_ns as f64 / 1e9);
    let line = if cycle.was_cut_off {
        format!(
            "{cut}, {}, {}{}; units: {} durable, {} not flushed and gone, {} torn, {} corrupt: {outcome}",
            counted(cycle.logged_changes, "change"),
            counted(cycle.logged_flushes, "flush"),
            if cycle.journal_ends_early { ", journal ends early" } else { "" },
            cycle.durable_units,
            cycle.unflushed_units,
            cycle.torn_units,
            cycle.corrupt_units
        )
    } else {
        format!("{cut}, but the load ended well: {}: {outcome}", counted(cycle.corrupt_units, "corrupt unit"))
    };
    Report { lead: vec![Block::notes([line])], ..Report::default() }
}

/// The end of a series in this directory.
pub fn cycles(series: &CycleSeries, folder: &Path) -> Report {
    let cut_off = series.cycles.iter().filter(|cycle| cycle.was_cut_off).count();
    let words = match series.outcome {
        Outcome::Corrupt => {
            let folder = text_of_path(folder);
            format!("CORRUPT: rule out other writers, then keep '{folder}' and the data for the vendor")
        }
        Outcome::Good => "all that was acknowledged and flushed was there".to_owned(),
        Outcome::Failed | Outcome::CannotTell => "incomplete".to_owned(),
    };
    let counts = format!(
        "{} of {}, {cut_off} of them cut off: {} good, {} corrupt",
        series.cycles.len(),
        counted(series.planned_cycles, "cycle"),
        series.count(Outcome::Good),
        series.count(Outcome::Corrupt)
    );
    let conclusion = format!("Verification after cuts (experimental): {words}");
    Report { lead: vec![Block::notes([counts, conclusion])], ..Report::default() }
}
