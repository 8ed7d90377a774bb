//! Results as XML: `DiskSpd` 2.3's document.
//!
//! The elements, their order, their conditions and their decimals are `DiskSpd`'s: readers in the field address
//! elements by path and compare percentiles as text. Our data is in `Tool/Implementation` and in the element `Linux`,
//! the last of a timespan.

mod events;
mod linux;
mod number;
mod statistics;
mod system;
mod thread;
mod time_span;
mod writer;

pub(crate) use writer::in_attribute;

use model::facts::SystemFacts;
use model::result::{RunResult, Tool};
use model::units::UnixTime;
use std::io::{self, Write};
use writer::Writer;

/// Writes the result document (`-Rxml`). `profile_xml` is the profile as an element, as it would be shown. The last
/// line has no line feed, as in `DiskSpd`.
pub fn xml(result: &RunResult, profile_xml: &str, out: &mut dyn Write) -> io::Result<()> {
    Writer::new(out).inside("Results", &[], |xml| {
        system::element(xml, &result.system, &result.tool, result.started_at)?;
        xml.elements(profile_xml)?;
        let last = result.time_spans.len().saturating_sub(1);
        for (index, span_result) in result.time_spans.iter().enumerate() {
            let Some(span) = result.profile.time_spans.get(index) else { break };
            let about_run =
                linux::AboutRun { before: (index == 0).then_some(result), after: (index == last).then_some(result) };
            time_span::element(
                xml,
                &time_span::ShownTimeSpan { span, span_result, about_run, topology: &result.system.topology },
            )?;
        }
        Ok(())
    })
}

/// Writes the system element alone (`-Rsxml`).
pub fn system_xml(system: &SystemFacts, started_at: UnixTime, out: &mut dyn Write) -> io::Result<()> {
    system::element(&mut Writer::new(out), system, &Tool::default(), started_at)?;
    writeln!(out)
}
