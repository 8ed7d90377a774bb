//! The report of targets that were read back: `diskspd verify` with a map, without one, and after a crash.

use crate::block::{Block, Fact, Report, Section};
use crate::corrupt_unit::CorruptUnitText;
use crate::foreign_text::{text, text_of_path};
use crate::quantity::size;
use model::corruption::CorruptionClass;
use model::units::counted;
use std::collections::BTreeMap;
use std::path::Path;

/// Corrupt units that are shown of each target.
const SHOWN_MAX: usize = 10;

/// The findings on a target.
#[derive(Debug)]
pub struct VerifiedTarget<'a> {
    pub path: &'a Path,
    pub size_bytes: u64,
    /// The reference that its units were compared with.
    pub compared_with: &'static str,
    /// Notes on the reading.
    pub notes: Vec<String>,
    /// Numbers of checked and unchecked units.
    pub counts: Vec<(&'static str, String)>,
    pub corrupt_units: u64,
    pub by_class: &'a BTreeMap<&'static str, u64>,
    pub class_words: fn(CorruptionClass) -> &'static str,
    /// The conclusion from the order of present and missing units.
    pub order: Option<String>,
    /// The first of the corrupt units.
    pub first: Vec<CorruptUnitText<'a>>,
}

impl VerifiedTarget<'_> {
    fn section(self) -> Section {
        let classes = CorruptionClass::ALL.into_iter().filter_map(|class| {
            let units = self.by_class.get(class.name())?;
            Some((class.name(), format!("{}: {}", counted(*units, "unit"), (self.class_words)(class))))
        });
        let facts = std::iter::once(("compared with", self.compared_with.to_owned()))
            .chain(self.notes.into_iter().map(|note| ("NOTE", note)))
            .chain(self.counts)
            .chain([("corrupt", counted(self.corrupt_units, "unit"))])
            .chain(classes)
            .chain(self.order.map(|order| ("order", order)));
        let facts = facts.map(|(name, value)| Fact { name, value: text(&value) }).collect();
        let left = self.first.len().saturating_sub(SHOWN_MAX);
        let left = (left > 0).then(|| format!("{left} more corrupt units are in the JSON report (--json)"));
        let units = self.first.into_iter().take(SHOWN_MAX).flat_map(CorruptUnitText::blocks);
        let left = left.map(|words| Block::notes([words]));
        let blocks = std::iter::once(Block::Facts { facts }).chain(units).chain(left).collect();
        Section::new(&format!("'{}', {}", text_of_path(self.path), size(self.size_bytes)), blocks)
    }
}

/// The report of all targets: `lead` applies to all of them, `conclusion` is the outcome.
pub fn verification(lead: Vec<String>, targets: Vec<VerifiedTarget<'_>>, conclusion: String) -> Report {
    Report {
        lead: vec![Block::notes(lead)],
        before_use: vec![Block::notes([conclusion])],
        sections: targets.into_iter().map(VerifiedTarget::section).collect(),
        ..Report::default()
    }
}
