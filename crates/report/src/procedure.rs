//! The report of several series of one procedure: the answers of each, then all of their runs as a table.

use crate::Subject;
use crate::answer::capitalised;
use crate::block::{Block, Report, Section};
use crate::runs_table::RunsTable;
use crate::warnings::Explain;

/// The report; each series with its title.
pub fn procedure(name: &str, series: &[(String, Report)], table: &RunsTable, explain: Explain) -> Report {
    let mut report = Subject::Runs { name, table }.report(explain);
    let of_series = |(title, report): &(String, Report)| {
        let answers = Block::Answers { answers: report.answers().cloned().collect() };
        let trust = Block::notes([report.brief.trust.words.clone()]);
        Section::new(&capitalised(title), vec![answers, trust])
    };
    report.sections.splice(0..0, series.iter().map(of_series));
    report
}
