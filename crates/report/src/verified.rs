//! The report of targets that were read back: `diskspd verify` with a map, without one, and after a cut.

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
    /// What its units were compared with.
    pub compared_with: &'static str,
    /// What else is to be known of the reading.
    pub notes: Vec<String>,
    /// How many units were checked, and how many were not.
    pub counts: Vec<(&'static str, String)>,
    pub corrupt_units: u64,
    pub by_class: &'a BTreeMap<&'static str, u64>,
    pub class_words: fn(CorruptionClass) -> &'static str,
    /// What the order of what is there and of what is not says.
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
        let facts = facts.map(|(name, value)| Fact { name, value: text(value.as_bytes()) }).collect();
        let left = self.first.len().saturating_sub(SHOWN_MAX);
        let left = (left > 0).then(|| format!("{left} more corrupt units are in the JSON report (--json)"));
        let units = self.first.into_iter().take(SHOWN_MAX).flat_map(CorruptUnitText::blocks);
        let left = left.map(|words| Block::Notes { heading: String::new(), sentences: vec![words] });
        let blocks = std::iter::once(Block::Facts { facts }).chain(units).chain(left).collect();
        Section::new(&format!("'{}', {}", text_of_path(self.path), size(self.size_bytes)), blocks)
    }
}

/// Of all targets: first what is told of all of them, and at the end what came out.
pub fn verification(lead: Vec<String>, targets: Vec<VerifiedTarget<'_>>, conclusion: String) -> Report {
    let notes = |sentences: Vec<String>| Block::Notes { heading: String::new(), sentences };
    Report {
        lead: vec![notes(lead)],
        before_use: vec![notes(vec![conclusion])],
        sections: targets.into_iter().map(VerifiedTarget::section).collect(),
        ..Report::default()
    }
}
