//! Rows of the whole profile.

use crate::element::reader::Reader;
use crate::element::tree::{Element, Place};
use crate::setting::{CustomElement, EmitCondition, Setting, U32, flag, number, words, write_all};
use crate::time_span::TIME_SPAN;
use model::profile::{PrecreateFiles, Profile, ResultFormat, TimeSpan, Tracing};
use model::units::counted;

type Row = Setting<Profile>;

/// `Profile`.
pub static PROFILE: &[Row] = &[
    Row::new("Progress", "progress_ios", number!(progress_ios, U32))
        .option("-P")
        .doc("Prints a dot each time a thread has completed this many I/Os; 0: no dots (-P)."),
    Row::new("ExperimentFlags", "experiment_flags", number!(experiment_flags, U32))
        .option("-:")
        .doc("-:")
        .emit(EmitCondition::When(|profile| profile.experiment_flags != 0)),
    Row::new(
        "ResultFormat",
        "result_format",
        words!(result_format; "text" / "text" => ResultFormat::Text, "xml" / "xml" => ResultFormat::Xml),
    )
    .option("-R")
    .doc("-R")
    .no_load(),
    Row::new("Verbose", "verbose", flag!(verbose)).option("-v").doc("-v").no_load(),
    Row::new("VerboseStats", "verbose_stats", flag!(verbose_stats))
        .option("-vs")
        .doc("-vs")
        .emit(EmitCondition::IfSet)
        .no_load(),
    Row::new(
        "PrecreateFiles",
        "precreate_files",
        words!(precreate_files;
            "UseMaxSize" / "UseMaxSize" => Some(PrecreateFiles::UseMaxSize),
            "CreateOnlyFilesWithConstantSizes" / "CreateOnlyFilesWithConstantSizes"
                => Some(PrecreateFiles::OnlyConstantSizes),
            "CreateOnlyFilesWithConstantOrZeroSizes" / "CreateOnlyFilesWithConstantOrZeroSizes"
                => Some(PrecreateFiles::OnlyConstantOrZeroSizes),
        ),
    )
    .doc(
        "Which files to create before the first timespan. UseMaxSize: all, each at its largest FileSize. \
         CreateOnlyFilesWithConstantSizes: only files that have the same nonzero FileSize in every timespan. \
         CreateOnlyFilesWithConstantOrZeroSizes: also files whose FileSize is 0 in some timespans and the same in all \
         others.",
    )
    .emit(EmitCondition::IfSet),
    Row::new("ETW", "tracing", crate::setting::Codec::Own(&ETW))
        .option("-e")
        .emit(EmitCondition::When(|profile| profile.tracing.is_some()))
        .examples(&[
            "<Process>true</Process>",
            "<DiskIO>false</DiskIO>",
            "<Thread>true</Thread><UsePerfTimer>true</UsePerfTimer>",
        ]),
    Row::new("TimeSpans", "time_spans", crate::setting::Codec::Own(&TIME_SPANS)).required(),
];

static ETW: CustomElement<Profile> = CustomElement {
    schema: "ETW",
    attributes: &[],
    read: |reader, node, profile| {
        let mut tracing = Tracing::default();
        reader.children(node, TRACING, &mut tracing);
        // Any child, whatever its content, enables tracing.
        profile.tracing = (!node.children.is_empty()).then_some(tracing);
    },
    write: |xml, name, profile| {
        if let Some(tracing) = &profile.tracing {
            xml.inside(name, |xml| write_all(xml, TRACING, tracing));
        }
    },
    shown: |profile| {
        let on =
            |tracing: &Tracing| TRACING.iter().filter_map(|class| class.shown(tracing)).collect::<Vec<_>>().join(" ");
        profile.tracing.as_ref().map(on).unwrap_or_default()
    },
};

type Class = Setting<Tracing>;

/// `ETW`.
pub(crate) static TRACING: &[Class] = &[
    Class::new("Process", "process", flag!(process)).option("-ePROCESS"),
    Class::new("Thread", "thread", flag!(thread)).option("-eTHREAD"),
    Class::new("ImageLoad", "image_load", flag!(image_load)).option("-eIMAGE_LOAD"),
    Class::new("DiskIO", "disk_io", flag!(disk_io)).option("-eDISK_IO"),
    Class::new("MemoryPageFaults", "memory_page_faults", flag!(memory_page_faults)).option("-eMEMORY_PAGE_FAULTS"),
    Class::new("MemoryHardFaults", "memory_hard_faults", flag!(memory_hard_faults)).option("-eMEMORY_HARD_FAULTS"),
    Class::new("Network", "network", flag!(network)).option("-eNETWORK"),
    Class::new("Registry", "registry", flag!(registry)).option("-eREGISTRY"),
    Class::new("UsePagedMemory", "use_paged_memory", flag!(use_paged_memory)).option("-ep"),
    Class::new("UsePerfTimer", "use_perf_timer", flag!(use_perf_timer)).option("-eq"),
    Class::new("UseSystemTimer", "use_system_timer", flag!(use_system_timer)).option("-es"),
    Class::new("UseCyclesCounter", "use_cycles_counter", flag!(use_cycles_counter)).option("-ec"),
];

static TIME_SPANS: CustomElement<Profile> = CustomElement {
    schema: "TimeSpans",
    attributes: &[],
    read: time_spans,
    write: |xml, name, profile| {
        xml.inside(name, |xml| {
            for span in &profile.time_spans {
                xml.inside("TimeSpan", |xml| write_all(xml, TIME_SPAN, span));
            }
        });
    },
    shown: |profile| counted(profile.time_spans.len(), "timespan"),
};

fn time_spans<'n>(reader: &mut Reader<'n>, node: &'n Element, profile: &mut Profile) {
    for item in reader.items(node, &[("TimeSpan", &[])]) {
        let mut span = if reader.is_strict() { TimeSpan::default() } else { TimeSpan::of_results() };
        reader.children(item, TIME_SPAN, &mut span);
        profile.time_spans.push(span);
    }
}

/// The profile as a document; `format` becomes its `ResultFormat`.
pub(crate) fn document(profile: &Profile, format: ResultFormat) -> Element {
    let profile = Profile { result_format: format, ..profile.clone() };
    let mut document = Element::new("Profile", Place::default());
    write_all(&mut document, PROFILE, &profile);
    document
}
