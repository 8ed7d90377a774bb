//! How results of many drives scale from one drive.

use crate::report_text::sentence;
use model::result::RunResult;
use report::words::figure_words::shown_figure;
use std::io::{self, Write};

/// How well several drives do beside one.
pub fn scaling(one: &RunResult, many: &RunResult, drives: u32, out: &mut dyn Write) -> io::Result<()> {
    for found in stats::compare::compare(std::slice::from_ref(one), std::slice::from_ref(many)) {
        if !found.figure.is_more_better() {
            continue;
        }
        let (one, many) = (shown_figure(found.figure, found.first, 3), shown_figure(found.figure, found.second, 3));
        let percent = stats::compare::scaling_percent(&found, drives);
        let heading = found.figure.heading();
        let words =
            format!("{heading}: {many} on {drives} drives, {one} on one drive: {percent:.1} % of linear scaling");
        sentence(out, &format!("{words} to {drives} drives"))?;
    }
    Ok(())
}
