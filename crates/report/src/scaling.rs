//! Scaling of results of many drives from those of one drive.

use crate::block::{Block, Report};
use crate::words::figure_words::shown_figure;
use model::result::RunResult;
use stats::compare::{compare, scaling_percent};
use std::slice::from_ref;

/// A sentence for each rate.
pub fn scaling(one: &RunResult, many: &RunResult, drives: u32) -> Report {
    let found = compare(from_ref(one), from_ref(many));
    let rates = found.iter().filter(|found| found.figure.is_more_better());
    let sentences = rates.map(|found| {
        let [one, many] = [found.first, found.second].map(|value| shown_figure(found.figure, value, 3));
        let (heading, percent) = (found.figure.heading(), scaling_percent(found, drives));
        format!(
            "{heading}: {many} on {drives} drives, {one} on one drive: {percent:.1} % of linear scaling to {drives} drives"
        )
    });
    let block = Block::notes(sentences);
    Report { lead: vec![block], ..Report::default() }
}
