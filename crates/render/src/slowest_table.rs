//! The slowest I/Os of a measurement, and the kernel messages of that time.

use crate::report_text::table;
use model::result::Measured;
use report::Table;
use std::io::{self, Write};

/// The slowest I/Os of a timespan, which is numbered if there are several.
pub fn slowest(time_span: Option<usize>, measured: &Measured, out: &mut dyn Write) -> io::Result<()> {
    let of = time_span.map(|number| format!(" of timespan {number}")).unwrap_or_default();
    let slowest = report::slowest(measured, usize::MAX);
    let slowest = slowest.map(|of_all| Table { heading: format!("{}{of}", of_all.heading), ..of_all });
    slowest.iter().chain(&report::kernel_messages(measured)).try_for_each(|of_all| table(out, of_all))
}
