//! Switches of `-e` without a meaning on Linux.

use crate::findings::Findings;
use model::note::Note;
use model::profile::Tracing;

/// Notes every switch without counters here.
pub(crate) fn note(tracing: Tracing, findings: &mut Findings) {
    let no_images = "Linux has no such event: programs and libraries are mapped like any file";
    let counters = "no events are collected or buffered: kernel counters are read instead";
    for (is_on, option, reason) in [
        (tracing.image_load, "-eIMAGE_LOAD", no_images),
        (tracing.registry, "-eREGISTRY", "Linux has no registry"),
        (tracing.use_paged_memory, "-ep", counters),
        (tracing.use_perf_timer, "-eq", counters),
        (tracing.use_system_timer, "-es", counters),
        (tracing.use_cycles_counter, "-ec", counters),
    ] {
        if is_on {
            let (option, reason) = (option.to_owned(), reason.to_owned());
            findings.note(Note::OptionWithoutEffect { option, reason });
        }
    }
}
