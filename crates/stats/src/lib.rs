//! A record becomes figures: the only place where a rate, a percentile or a deviation is computed.
//!
//! Pure mathematics over plain data: no file, clock or environment is read here, and no text is
//! made.

pub mod ab;
mod accuracy;
mod affinity;
mod combine;
pub mod compare;
mod confidence;
mod course;
mod cpu;
pub mod device_course;
pub mod device_rates;
mod distribution;
mod durability;
pub mod fio_form;
pub mod fleet;
mod flushes;
pub mod gate;
mod headline;
pub mod interference;
mod intervals;
mod kernel_events;
mod kernel_messages;
mod knee;
mod latency;
pub mod latency_band;
pub mod ledger;
pub mod limit;
pub mod live;
mod load_loop;
pub mod metric_buckets;
pub mod metrics;
mod operations;
pub mod overview;
pub mod own_limits;
mod part;
pub mod preset_rows;
mod ramp;
pub mod ranks;
mod rate;
mod reduction;
pub mod repeats;
mod replay;
mod rotations;
mod sample;
#[cfg(test)]
mod simulation;
mod sizes;
mod skew;
mod steadiness;
pub mod steady_state;
mod storage_course;
pub mod sweep;
pub mod system_rates;
mod time_span;
pub mod verification;

pub use accuracy::{advised_s, missing_intervals_s};
pub use affinity::mixed_cores;
pub use combine::{directions, figures, pooled, pooled_latency};
pub use cpu::{cpu_shares, usages};
pub use headline::{headline, run_headline, summarise as summarise_metrics, summary, time_span_headline};
pub use kernel_events::level_figures;
pub use knee::{DEPTHS_MIN, DepthSample, knee};
pub use latency::{NAMED_PERCENTILES, PERCENTILE_RANKS_PPB, is_weak, ordinal};
pub use part::{NoPart, Part, part};
pub use preset_rows::median;
pub use rate::{amount, per_second};

use model::environment::Environment;
use model::facts::SystemFacts;
use model::figures::{Directions, Figures};
use model::plan::{Plan, TimeSpanPlan};
use model::preset::PresetRun;
use model::profile::Profile;
use model::record::{Record, TimeSpanRecord};
use model::result::{RunResult, TimeSpanResult, Tool, Totals};
use model::targets_found::TargetsFound;

/// All data that a result is computed from.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Facts about the run beside the measurement.
    pub context: RunContext,
    /// The request.
    pub profile: &'a Profile,
    /// The machine.
    pub system: &'a SystemFacts,
    /// The plan; `None` if the run was refused.
    pub plan: Option<&'a Plan>,
    /// The raw data of the run.
    pub record: &'a Record,
}

/// Contents of a result beside its figures.
#[derive(Clone, Debug, Default)]
pub struct RunContext {
    /// The command line, arguments joined by single blanks, program name first.
    pub command_line: String,
    /// `--label`: name and value, in the order given.
    pub labels: Vec<(String, String)>,
    /// The preset that the profile was made from.
    pub preset: Option<PresetRun>,
    /// The system around the run.
    pub environment: Option<Environment>,
    /// State of each distinct target path before the run.
    pub targets: TargetsFound,
    /// Warnings before the run.
    pub warnings: Vec<String>,
    /// Why nothing was run.
    pub errors: Vec<String>,
}

/// The whole result, which `rules` judges.
///
/// A timespan that the record lacks counts as not run.
pub fn summarise(input: Input<'_>) -> RunResult {
    let Input { context, profile, system, plan, record } = input;
    let no_plan = TimeSpanPlan::default();
    let no_record = TimeSpanRecord::default();
    let uncompressed = ledger::uncompressed(profile, &context.targets);
    let summarise_one = |(index, span)| {
        time_span::summarise(&time_span::Sources {
            span,
            verbose_stats: profile.verbose_stats,
            topology: &system.topology,
            plan: plan.and_then(|plan| plan.time_spans.get(index)).unwrap_or(&no_plan),
            record: record.time_spans.get(index).unwrap_or(&no_record),
            tracing: profile.tracing,
            environments: &context.targets.environments,
            uncompressed: &uncompressed,
            kernel_release: &system.kernel_release,
            kernel_messages: &record.kernel_messages,
        })
    };
    let time_spans: Vec<TimeSpanResult> = profile.time_spans.iter().enumerate().map(summarise_one).collect();
    let planned = plan.iter().flat_map(|plan| &plan.notes);
    RunResult {
        tool: Tool::default(),
        command_line: context.command_line,
        labels: context.labels,
        preset: context.preset,
        profile: profile.clone(),
        system: system.clone(),
        environment: context.environment,
        targets: context.targets,
        plan: plan.cloned(),
        started_at: record.started_at,
        totals: totals(&time_spans),
        time_spans,
        fleet: None,
        notes: planned.chain(&record.notes).cloned().collect(),
        warnings: context.warnings,
        errors: context.errors,
    }
}

/// Sums over the timespans that were measured; `None` if there is but one, and it was not.
pub fn totals(time_spans: &[TimeSpanResult]) -> Option<Totals> {
    let all = || time_spans.iter().filter_map(|span| span.measured.as_ref());
    if time_spans.len() < 2 && all().next().is_none() {
        return None;
    }
    let elapsed_ns = all().fold(0u64, |sum, measured| sum.saturating_add(measured.elapsed_ns));
    let sum = |of: fn(&Directions<Figures>) -> Figures| {
        let mut volume = rate::Volume::default();
        all().for_each(|measured| volume.add(rate::Volume::from_figures(&of(&measured.total))));
        let latency = pooled_latency(all().map(|measured| of(&measured.total)));
        Figures { latency, ..volume.figures(elapsed_ns) }
    };
    let figures = Directions { read: sum(|of| of.read), write: sum(|of| of.write), total: sum(|of| of.total) };
    Some(Totals { elapsed_ns, figures })
}
