//! A profile as XML: what `-Rpxml` prints and `-X` reads.
//!
//! Which elements appear, in which order and when, is `DiskSpd`'s.

mod target;

use model::profile::{
    Affinity, BufferSeparation, EfficiencyOrder, GroupSpan, IoRing, IoRingBatch, PrecreateFiles, Profile, ResultFormat,
    Target, TimeSpan, Tracing, Traversal,
};
use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::path::PathBuf;

/// The profile as a document; `format` is what its `ResultFormat` says.
pub fn write_profile(profile: &Profile, format: ResultFormat) -> String {
    let mut xml = Xml::default();
    xml.inside("Profile", |xml| {
        xml.element("Progress", profile.progress_ios);
        if profile.experiment_flags != 0 {
            xml.element("ExperimentFlags", profile.experiment_flags);
        }
        xml.element("ResultFormat", if format == ResultFormat::Xml { "xml" } else { "text" });
        xml.element("Verbose", profile.verbose);
        if profile.verbose_stats {
            xml.element("VerboseStats", true);
        }
        if let Some(precreate) = profile.precreate_files {
            xml.element("PrecreateFiles", precreate_name(precreate));
        }
        if let Some(tracing) = &profile.tracing {
            write_tracing(xml, tracing);
        }
        xml.inside("TimeSpans", |xml| {
            for span in &profile.time_spans {
                xml.inside("TimeSpan", |xml| write_time_span(xml, span));
            }
        });
    });
    xml.text
}

fn precreate_name(precreate: PrecreateFiles) -> &'static str {
    match precreate {
        PrecreateFiles::UseMaxSize => "UseMaxSize",
        PrecreateFiles::OnlyConstantSizes => "CreateOnlyFilesWithConstantSizes",
        PrecreateFiles::OnlyConstantOrZeroSizes => "CreateOnlyFilesWithConstantOrZeroSizes",
    }
}

fn write_tracing(xml: &mut Xml, tracing: &Tracing) {
    xml.inside("ETW", |xml| {
        for (name, value) in [
            ("Process", tracing.process),
            ("Thread", tracing.thread),
            ("ImageLoad", tracing.image_load),
            ("DiskIO", tracing.disk_io),
            ("MemoryPageFaults", tracing.memory_page_faults),
            ("MemoryHardFaults", tracing.memory_hard_faults),
            ("Network", tracing.network),
            ("Registry", tracing.registry),
            ("UsePagedMemory", tracing.use_paged_memory),
            ("UsePerfTimer", tracing.use_perf_timer),
            ("UseSystemTimer", tracing.use_system_timer),
            ("UseCyclesCounter", tracing.use_cycles_counter),
        ] {
            xml.element(name, value);
        }
    });
}

fn write_time_span(xml: &mut Xml, span: &TimeSpan) {
    xml.element("CompletionRoutines", span.completion_routines);
    xml.element("MeasureLatency", span.measure_latency);
    xml.element("CalculateIopsStdDev", span.calculate_iops_std_dev);
    xml.element("Duration", span.duration_s);
    xml.element("Warmup", span.warm_up_s);
    xml.element("Cooldown", span.cool_down_s);
    xml.element("ThreadCount", span.thread_count);
    xml.element("RequestCount", span.request_count);
    xml.element("IoBucketDuration", span.interval_ms);
    xml.element("RandSeed", span.random_seed);
    if span.random_write_data {
        xml.element("RandomWriteData", true);
    }
    if let Some(ring) = &span.io_ring {
        write_io_ring(xml, ring);
    }
    write_affinity(xml, &span.affinity);
    let separation = match span.buffer_separation {
        BufferSeparation::SystemDefault => "SystemDefault",
        BufferSeparation::ThreadOptimized => "PDECacheLine",
    };
    xml.element("BufferSeparation", separation);
    if let Some(depth) = span.completion_depth {
        xml.element("CompletionDepth", depth);
    }
    xml.inside("Targets", |xml| {
        for target in &span.targets {
            target::write_target(xml, target);
        }
    });
    write_linux(xml, span);
}

/// What `DiskSpd` does not have, only where something was said.
fn write_linux(xml: &mut Xml, span: &TimeSpan) {
    let switches = [
        ("SubmissionPolling", span.submission_polling),
        ("CompletionPolling", span.completion_polling),
        ("Cold", span.cold),
        ("NearDevice", span.near_device),
    ];
    let numbers = [
        ("MaxIos", span.end_after.ios),
        ("MaxBytes", span.end_after.bytes),
        ("MaxWriteBytes", span.end_after.written_bytes),
        ("Rate", span.rate_iops.map(u64::from)),
        ("FlushAfterWrites", span.flush_after_writes.map(u64::from)),
    ];
    let nothing_on = switches.iter().all(|&(_, on)| !on) && numbers.iter().all(|(_, number)| number.is_none());
    if span.engine.is_none() && span.rate_process.is_none() && nothing_on {
        return;
    }
    xml.inside("Linux", |xml| {
        if let Some(engine) = span.engine {
            xml.element("Engine", engine.option());
        }
        for (name, _) in switches.iter().filter(|&&(_, on)| on) {
            xml.element(name, true);
        }
        for (name, number) in numbers {
            if let Some(number) = number {
                xml.element(name, number);
            }
        }
        if let Some(process) = span.rate_process {
            xml.element("RateProcess", process.option());
        }
    });
}

fn write_io_ring(xml: &mut Xml, ring: &IoRing) {
    xml.inside("IoRing", |xml| {
        let (percent, batch) = match ring.batch {
            IoRingBatch::Percent(percent) => ("true", percent),
            IoRingBatch::Count(count) => ("false", count),
        };
        xml.element_with("IoRingBatchSize", &[("Percent", &percent)], batch);
        xml.element("UseRegBuffer", ring.registered_buffers);
    });
}

/// With affinity disabled nothing else is said, so that what is written can be read.
fn write_affinity(xml: &mut Xml, affinity: &Affinity) {
    xml.element("DisableAffinity", affinity.disabled);
    if affinity.disabled {
        return;
    }
    let group = match affinity.group_span.unwrap_or_default() {
        GroupSpan::Fill => "Fill",
        GroupSpan::Span => "Span",
    };
    let efficiency = match affinity.efficiency.unwrap_or_default() {
        EfficiencyOrder::Unordered => "Unordered",
        EfficiencyOrder::PerformanceFirst => "PFirst",
        EfficiencyOrder::EfficiencyFirst => "EFirst",
        EfficiencyOrder::FillPerformanceFirst => "FillPFirst",
        EfficiencyOrder::FillEfficiencyFirst => "FillEFirst",
    };
    let traversal = match affinity.traversal.unwrap_or_default() {
        Traversal::Cpu => "Cpu",
        Traversal::CoreAware => "CoreAware",
    };
    xml.element_with("AffinityTraversal", &[("Group", &group), ("Efficiency", &efficiency)], traversal);
    if affinity.listed.is_empty() {
        return;
    }
    xml.inside("Affinity", |xml| {
        for entry in &affinity.listed {
            xml.empty_with("Group", &[("Group", &entry.group), ("Mask", &format!("{:#x}", entry.mask))]);
        }
    });
}

/// A document being written: two blanks per level, one element per line.
#[derive(Default)]
struct Xml {
    text: String,
    depth: usize,
}

type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

impl Xml {
    fn indent(&mut self) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
    }

    fn inside(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.indent();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(self.text, "<{name}>");
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.indent();
        let _ = writeln!(self.text, "</{name}>");
    }

    fn element(&mut self, name: &str, content: impl Display) {
        self.element_with(name, &[], content);
    }

    fn element_with(&mut self, name: &str, attributes: Attributes<'_>, content: impl Display) {
        self.open(name, attributes);
        let content = escaped(&content.to_string());
        let _ = writeln!(self.text, ">{content}</{name}>");
    }

    fn empty_with(&mut self, name: &str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.text.push_str("/>\n");
    }

    fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.indent();
        let _ = write!(self.text, "<{name}");
        for (attribute, value) in attributes {
            let _ = write!(self.text, " {attribute}=\"{value}\"");
        }
    }
}

/// True for characters that XML 1.0 has no way to write.
fn is_unsayable(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// A warning for each path that the document cannot name: it would be another file's.
pub(crate) fn unsayable_paths(profile: &Profile) -> Vec<String> {
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let sources = |target: &Target| target.write_source.as_ref().and_then(|source| source.file.clone());
    let paths: BTreeSet<PathBuf> =
        targets.flat_map(|target| std::iter::once(target.path.clone()).chain(sources(target))).collect();
    let is_sayable = |path: &&PathBuf| path.to_str().is_some_and(|text| !text.contains(is_unsayable));
    paths
        .iter()
        .filter(|path| !is_sayable(path))
        .map(|path| {
            let path = path.as_os_str().as_encoded_bytes().escape_ascii();
            format!("XML cannot hold the path '{path}'; the profile names another file")
        })
        .collect()
}

/// Text content; characters that XML 1.0 cannot hold become the replacement character.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A parser would make a line feed of it.
            '\r' => escaped.push_str("&#13;"),
            c if is_unsayable(c) => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
