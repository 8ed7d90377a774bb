//! `Profile` and `ETW`.

use super::element::Element;
use super::reader::Reader;
use super::time_span;
use model::profile::{PrecreateFiles, Profile, ResultFormat, Tracing};
use roxmltree::Node;

pub(super) const PROFILE: &[Element<Profile>] = &[
    Element::required(Element::own("TimeSpans", time_spans)),
    Element::flag("Verbose", |profile, on| profile.verbose = on),
    Element::flag("VerboseStats", |profile, on| profile.verbose_stats = on),
    Element::u32("Progress", |profile, ios| profile.progress_ios = ios),
    Element::u32("ExperimentFlags", |profile, flags| profile.experiment_flags = flags),
    Element::word(
        "ResultFormat",
        &[
            ("text", |profile| profile.result_format = ResultFormat::Text),
            ("xml", |profile| profile.result_format = ResultFormat::Xml),
        ],
    ),
    Element::word(
        "PrecreateFiles",
        &[
            ("UseMaxSize", |profile| profile.precreate_files = Some(PrecreateFiles::UseMaxSize)),
            ("CreateOnlyFilesWithConstantSizes", |profile| {
                profile.precreate_files = Some(PrecreateFiles::OnlyConstantSizes);
            }),
            ("CreateOnlyFilesWithConstantOrZeroSizes", |profile| {
                profile.precreate_files = Some(PrecreateFiles::OnlyConstantOrZeroSizes);
            }),
        ],
    ),
    Element::own("ETW", tracing),
];

pub(super) const TRACING: &[Element<Tracing>] = &[
    Element::flag("Process", |tracing, on| tracing.process = on),
    Element::flag("Thread", |tracing, on| tracing.thread = on),
    Element::flag("ImageLoad", |tracing, on| tracing.image_load = on),
    Element::flag("DiskIO", |tracing, on| tracing.disk_io = on),
    Element::flag("MemoryPageFaults", |tracing, on| tracing.memory_page_faults = on),
    Element::flag("MemoryHardFaults", |tracing, on| tracing.memory_hard_faults = on),
    Element::flag("Network", |tracing, on| tracing.network = on),
    Element::flag("Registry", |tracing, on| tracing.registry = on),
    Element::flag("UsePagedMemory", |tracing, on| tracing.use_paged_memory = on),
    Element::flag("UsePerfTimer", |tracing, on| tracing.use_perf_timer = on),
    Element::flag("UseSystemTimer", |tracing, on| tracing.use_system_timer = on),
    Element::flag("UseCyclesCounter", |tracing, on| tracing.use_cycles_counter = on),
];

fn time_spans(reader: &mut Reader<'_>, node: Node<'_, '_>, profile: &mut Profile) {
    for item in reader.items(node, &[("TimeSpan", &[])]) {
        profile.time_spans.push(time_span::read(reader, item));
    }
}

/// Any child, whatever it says, switches tracing on.
fn tracing(reader: &mut Reader<'_>, node: Node<'_, '_>, profile: &mut Profile) {
    let mut tracing = Tracing::default();
    reader.children(node, TRACING, &mut tracing);
    profile.tracing = node.children().any(|child| child.is_element()).then_some(tracing);
}
