//! A record becomes figures: the only place where a rate, a percentile or a deviation is computed.
//!
//! Pure mathematics over plain data: no file, clock or environment is read here, and no text is
//! made.

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
mod flushes;
mod headline;
mod intervals;
mod kernel_events;
mod kernel_messages;
mod knee;
mod latency;
pub mod latency_band;
pub mod limit;
pub mod live;
mod load_loop;
pub mod overview;
mod part;
mod rate;
pub mod repeats;
mod sample;
#[cfg(test)]
mod simulation;
mod steadiness;
pub mod steady_state;
pub mod sweep;
mod time_span;

pub use affinity::mixed_cores;
pub use combine::{directions, figures, pooled, pooled_latency};
pub use cpu::usages;
pub use durability::durability_notes;
pub use headline::{headline, summary};
pub use kernel_events::{EventSources, kernel_events, level_figures};
pub use kernel_messages::beside;
pub use knee::{DEPTHS_MIN, DepthSample, knee};
pub use latency::{NAMED_PERCENTILES, PERCENTILE_RANKS_PPB, is_weak};
pub use part::{NoPart, Part, part};
pub use rate::{amount, per_second};

use model::facts::SystemFacts;
use model::plan::{Plan, TimeSpanPlan};
use model::profile::Profile;
use model::record::{Record, TimeSpanRecord};
use model::result::{Directions, Figures, RunResult, TimeSpanResult, Tool, Totals};

/// Everything that the figures of a run are made of.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The command line, arguments joined by single blanks, program name first.
    pub command_line: String,
    /// What was asked for.
    pub profile: &'a Profile,
    /// The machine.
    pub system: &'a SystemFacts,
    /// What was decided.
    pub plan: &'a Plan,
    /// What happened.
    pub record: &'a Record,
}

/// Computes every figure that a report may show.
///
/// A timespan that the record lacks counts as not run.
pub fn summarise(input: &Input<'_>) -> RunResult {
    let no_plan = TimeSpanPlan::default();
    let no_record = TimeSpanRecord::default();
    let summarise_one = |(index, span)| {
        time_span::summarise(&time_span::Sources {
            span,
            verbose_stats: input.profile.verbose_stats,
            topology: &input.system.topology,
            plan: input.plan.time_spans.get(index).unwrap_or(&no_plan),
            record: input.record.time_spans.get(index).unwrap_or(&no_record),
        })
    };
    let time_spans: Vec<TimeSpanResult> = input.profile.time_spans.iter().enumerate().map(summarise_one).collect();
    RunResult {
        tool: Tool::default(),
        command_line: input.command_line.clone(),
        plan: Some(input.plan.clone()),
        profile: input.profile.clone(),
        system: input.system.clone(),
        started_at: input.record.started_at,
        totals: totals(&time_spans),
        time_spans,
        notes: input.plan.notes.clone(),
        ..RunResult::default()
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
        all().for_each(|measured| volume.add(rate::Volume::of(&of(&measured.total))));
        let latency = pooled_latency(all().map(|measured| of(&measured.total)));
        Figures { latency, ..volume.figures(elapsed_ns) }
    };
    let figures = Directions { read: sum(|of| of.read), write: sum(|of| of.write), total: sum(|of| of.total) };
    Some(Totals { elapsed_ns, figures })
}
