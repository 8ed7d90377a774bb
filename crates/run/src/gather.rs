//! The course of a measurement, from all workers.

use crate::interval_layout::IntervalLayout;
use crate::recorder::Recorder;
use crate::section_sums::SectionSums;
use model::record::TimeSpanRecord;
use std::sync::Arc;

/// Puts it into the record: what the workers have closed, and what they were in when they ended. `sections`
/// holds what was taken from them before; `None` if latencies are not measured.
pub(crate) fn series(
    layout: &IntervalLayout,
    recorders: &[Arc<Recorder>],
    sections: Option<SectionSums>,
    record: &mut TimeSpanRecord,
) {
    if record.elapsed_ns == 0 {
        return;
    }
    for (cell, counts) in recorders.iter().filter_map(|recorder| recorder.unclosed_cell()) {
        layout.add(cell, counts);
    }
    record.series = layout.series(record.elapsed_ns);
    if let Some(mut sections) = sections {
        for recorder in recorders {
            sections.take_from(recorder);
            if let Some(part) = recorder.unclosed_section() {
                sections.add(&part);
            }
        }
        record.sections = sections.records(record.elapsed_ns);
    }
    record.notes.extend(layout.notes());
}
