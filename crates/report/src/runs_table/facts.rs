//! Settings and figures of a run, as cells.

use super::{Cell, RunSource};
use crate::words::compare::known_settings;
use crate::words::load_line::{self, IoParts, kinds_of_io};
use crate::words::sweep;
use crate::words::time::utc;
use model::headline::Headline;
use model::metric::{MetricName, ScopedMetric};
use model::profile::{OfferedRate, Profile, Target, TimeSpan};
use model::result::{Measured, RunResult, TimeSpanResult};
use model::sweep::{DeviceCount, Setting};
use model::units::UnixTime;
use stats::sweep::PerDevice;

/// Options of the load that have columns of their own.
const WITH_COLUMNS: [&str; 12] = ["-b", "-s", "-r", "-w", "-t", "-F", "-o", "-O", "-S", "-h", "--rate=", "--engine="];

/// Settings that decide which figures exist, and the default affinity in results of `DiskSpd`.
const IN_NO_COLUMN: [&str; 2] = ["-L", "-aup"];

/// All known facts of a row.
pub(crate) struct Facts<'a> {
    pub(super) source: &'a RunSource,
    result: &'a RunResult,
    /// Index of the timespan.
    index: usize,
    pub(super) headline: Option<Headline>,
    devices: Option<DeviceCount>,
    /// Kinds of I/O of its targets.
    kinds: Vec<IoParts>,
}

impl<'a> Facts<'a> {
    pub(super) fn of_result(
        source: &'a RunSource,
        result: &'a RunResult,
        index: usize,
        devices: Option<DeviceCount>,
    ) -> Self {
        let headline = stats::time_span_headline(result, index, &[]);
        let is_windows = result.tool.implementation.is_none();
        let kinds = result.profile.time_spans.get(index).map(|span| kinds_of_io(span, is_windows)).unwrap_or_default();
        Self { source, result, index, headline, devices, kinds }
    }

    fn span(&self) -> Option<&'a TimeSpan> {
        self.result.profile.time_spans.get(self.index)
    }

    fn span_result(&self) -> Option<&'a TimeSpanResult> {
        self.result.time_spans.get(self.index)
    }

    fn measured(&self) -> Option<&'a Measured> {
        self.span_result()?.measured.as_ref()
    }

    /// The timespan, unless the file lacks the value of this option.
    fn span_with(&self, option: &str) -> Option<&'a TimeSpan> {
        let is_known = known_settings(self.result).is_none_or(|known| known.iter().any(|known| known == option));
        self.span().filter(|_| is_known)
    }

    pub(super) fn started_at_unix_ns(&self) -> Option<i128> {
        let UnixTime(started_at) = self.result.started_at;
        (self.result.started_at != UnixTime::UNKNOWN && started_at > 0).then_some(started_at)
    }

    /// A number that all targets have in common; empty if they differ.
    fn of_targets(&self, option: &str, value: impl Fn(&Target) -> Option<u64>) -> Cell {
        let mut values = self.span_with(option).into_iter().flat_map(|span| &span.targets).map(value);
        let first = values.next().flatten();
        Cell::count(first.filter(|_| values.all(|value| value == first)))
    }

    /// Words for each kind of I/O, each once.
    fn of_kinds(&self, option: &str, words: impl Fn(&IoParts) -> &str) -> Cell {
        let mut found: Vec<&str> = Vec::new();
        for words in self.kinds.iter().map(words).filter(|_| self.span_with(option).is_some()) {
            if !found.contains(&words) {
                found.push(words);
            }
        }
        Cell::text(&found.join("; "))
    }

    /// As measured or, if the file lacks it, by the profile.
    fn outstanding(&self) -> Option<u64> {
        let measured = self.headline.as_ref().and_then(|headline| headline.depth).map(u64::from);
        measured.or_else(|| load_line::total_depth(self.result, self.index).filter(|_| self.span_with("-o").is_some()))
    }

    pub(super) fn metric(&self, (scope, metric): ScopedMetric) -> Cell {
        let name = MetricName { stream: None, scope, metric }.to_string();
        match self.span_result() {
            Some(span_result) => Cell::number(span_result.metrics.get(&name).copied()),
            None => Cell::number(self.headline.as_ref().and_then(|headline| headline.scoped_value((scope, metric)))),
        }
    }

    /// Figures of one SSD, if their number was given.
    fn per_device(&self) -> Option<PerDevice> {
        let headline = Headline {
            depth: self.outstanding().and_then(|depth| u32::try_from(depth).ok()),
            ..self.headline.clone()?
        };
        Some(stats::sweep::per_device(&headline, self.devices?))
    }
}

pub(super) fn file(facts: &Facts<'_>) -> Cell {
    Cell::text(&facts.source.name)
}

pub(super) fn series(facts: &Facts<'_>) -> Cell {
    facts.source.series.as_ref().map_or(Cell::Empty, |series| Cell::text(&series.name))
}

pub(super) fn purpose(facts: &Facts<'_>) -> Cell {
    facts.source.series.as_ref().map_or(Cell::Empty, |series| Cell::text(sweep::purpose(series.purpose)))
}

pub(super) fn point(facts: &Facts<'_>) -> Cell {
    facts.source.series.as_ref().map_or(Cell::Empty, |series| Cell::text(&Setting::typed_all(&series.settings)))
}

pub(super) fn timespan(facts: &Facts<'_>) -> Cell {
    let is_known = !facts.result.time_spans.is_empty();
    Cell::count(is_known.then_some(facts.index as u64 + 1))
}

pub(super) fn rounded(facts: &Facts<'_>) -> Cell {
    Cell::text(facts.source.rounding.words())
}

pub(super) fn tool(facts: &Facts<'_>) -> Cell {
    let tool = &facts.result.tool;
    let words = match &tool.implementation {
        Some(implementation) => format!("{} {}", implementation.name, implementation.version),
        None if tool.version.is_empty() && facts.result.time_spans.is_empty() => String::new(),
        None => format!("DiskSpd {}", tool.version),
    };
    Cell::text(words.trim_end())
}

pub(super) fn started_utc(facts: &Facts<'_>) -> Cell {
    let shown = facts.started_at_unix_ns().map(|_| utc(facts.result.started_at));
    shown.map_or(Cell::Empty, |shown| Cell::text(shown.trim_end_matches(" UTC")))
}

pub(super) fn label(facts: &Facts<'_>) -> Cell {
    let labels = facts.result.labels.iter().map(|(key, value)| match key.as_str() {
        "" => value.clone(),
        key => format!("{key}={value}"),
    });
    Cell::text(&labels.collect::<Vec<_>>().join("; "))
}

pub(super) fn host(facts: &Facts<'_>) -> Cell {
    match &facts.result.fleet {
        Some(fleet) => Cell::text(&fleet.names().collect::<Vec<_>>().join(", ")),
        None => Cell::text(&facts.result.system.computer_name),
    }
}

pub(super) fn hosts(facts: &Facts<'_>) -> Cell {
    let hosts = facts.result.fleet.as_ref().map_or(1, |fleet| fleet.names().count());
    Cell::count((!facts.result.time_spans.is_empty()).then_some(hosts as u64))
}

pub(super) fn targets(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.span().map(|span| span.targets.len() as u64))
}

pub(super) fn target_paths(facts: &Facts<'_>) -> Cell {
    let paths = facts.span().into_iter().flat_map(|span| &span.targets);
    Cell::text(&paths.map(|target| target.path.to_string_lossy().into_owned()).collect::<Vec<_>>().join("; "))
}

pub(super) fn block_bytes(facts: &Facts<'_>) -> Cell {
    facts.of_targets("-b", |target| target.sizes_option().is_none().then(|| target.block_size.get()))
}

pub(super) fn pattern(facts: &Facts<'_>) -> Cell {
    facts.of_kinds("-r", |kind| &kind.pattern)
}

pub(super) fn write_percent(facts: &Facts<'_>) -> Cell {
    facts.of_targets("-w", |target| Some(u64::from(target.write_percent)))
}

pub(super) fn mix(facts: &Facts<'_>) -> Cell {
    facts.of_kinds("-w", |kind| &kind.mix)
}

pub(super) fn threads(facts: &Facts<'_>) -> Cell {
    let measured = facts.measured().map(|measured| measured.thread_count).filter(|threads| *threads > 0);
    Cell::count(measured.or_else(|| Some(facts.headline.as_ref()?.threads)).map(u64::from))
}

pub(super) fn depth(facts: &Facts<'_>) -> Cell {
    match facts.measured().and_then(|measured| measured.request_count) {
        Some(requests) => Cell::count(Some(requests.into())),
        None => facts.of_targets("-o", |target| Some(u64::from(target.outstanding))),
    }
}

pub(super) fn total_depth(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.outstanding())
}

pub(super) fn caching(facts: &Facts<'_>) -> Cell {
    facts.of_kinds("-S", |kind| &kind.caches)
}

pub(super) fn engine(facts: &Facts<'_>) -> Cell {
    let engines = facts.headline.iter().flat_map(|headline| &headline.engines).map(|engine| engine.name());
    Cell::text(&engines.collect::<Vec<_>>().join("; "))
}

pub(super) fn rate_iops(facts: &Facts<'_>) -> Cell {
    Cell::count(match facts.span_with("--rate").and_then(|span| span.rate_iops) {
        // A text report does not state it.
        Some(OfferedRate::Steady(iops)) if iops > 0 => Some(iops.into()),
        _ => None,
    })
}

pub(super) fn other_options(facts: &Facts<'_>) -> Cell {
    let Some(span) = facts.span() else { return Cell::Empty };
    let of_span = |span: TimeSpan| {
        settings::difference::load_settings(&Profile { time_spans: vec![span], ..facts.result.profile.clone() })
    };
    let targets = span.targets.iter().map(|target| Target::new(&target.path)).collect();
    let usual = of_span(TimeSpan { targets, ..TimeSpan::default() });
    let is_other = |setting: &String| {
        !usual.contains(setting)
            && !IN_NO_COLUMN.contains(&setting.as_str())
            && !WITH_COLUMNS.iter().any(|option| setting.starts_with(option))
    };
    Cell::text(&of_span(span.clone()).into_iter().filter(is_other).collect::<Vec<_>>().join(" "))
}

pub(super) fn warm_up_s(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.span_with("-W").map(|span| span.warm_up_s.into()))
}

pub(super) fn duration_s(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.span_with("-d").map(|span| span.duration_s.into()))
}

pub(super) fn elapsed_s(facts: &Facts<'_>) -> Cell {
    Cell::number(facts.measured().map(|measured| measured.elapsed_ns as f64 / 1e9))
}

pub(super) fn bytes(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.measured().map(|measured| measured.total.total.bytes))
}

pub(super) fn ios(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.headline.as_ref().map(|headline| headline.ios))
}

pub(super) fn ssds(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.devices.map(|devices| devices.ssds.into()))
}

pub(super) fn copies(facts: &Facts<'_>) -> Cell {
    Cell::count(facts.devices.map(|devices| devices.copies.into()))
}

pub(super) fn amplification(facts: &Facts<'_>) -> Cell {
    Cell::number(facts.per_device().map(|each| each.amplification))
}

pub(super) fn depth_per_ssd(facts: &Facts<'_>) -> Cell {
    Cell::number(facts.per_device().and_then(|each| each.depth))
}

pub(super) fn iops_per_ssd(facts: &Facts<'_>) -> Cell {
    Cell::number(facts.per_device().map(|each| each.iops))
}

pub(super) fn mib_per_s_per_ssd(facts: &Facts<'_>) -> Cell {
    Cell::number(facts.per_device().map(|each| model::units::mib(each.bytes_per_s)))
}

pub(super) fn verdict(facts: &Facts<'_>) -> Cell {
    let Some(headline) = &facts.headline else { return Cell::Empty };
    let is_judged = facts.span_result().is_none_or(|span_result| span_result.verdict.is_some());
    match headline.severity {
        Some(severity) => Cell::text(severity.word()),
        None if is_judged => Cell::text("OK"),
        None => Cell::Empty,
    }
}

pub(super) fn findings(facts: &Facts<'_>) -> Cell {
    let names = facts.headline.iter().flat_map(Headline::finding_names);
    Cell::text(&names.collect::<Vec<_>>().join(", "))
}

pub(super) fn error(facts: &Facts<'_>) -> Cell {
    let of_span = facts.span_result().into_iter().flat_map(|span_result| &span_result.errors);
    let reasons: Vec<&str> = facts.result.errors.iter().chain(of_span).map(String::as_str).collect();
    if facts.headline.is_none() && reasons.is_empty() {
        Cell::text("nothing was measured")
    } else {
        Cell::text(&reasons.join("; "))
    }
}
