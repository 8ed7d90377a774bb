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
pub mod expect;
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
pub mod verdict;

pub use affinity::mixed_cores;
pub use combine::{directions, figures, pooled};
pub use cpu::usages;
pub use durability::durability_notes;
pub use headline::headline;
pub use kernel_events::{EventSources, kernel_events, level_figures};
pub use kernel_messages::beside;
pub use knee::{DEPTHS_MIN, DepthSample, knee};
pub use latency::{NAMED_PERCENTILES, PERCENTILE_RANKS_PPB, is_weak};
pub use part::{NoPart, Part, part};
pub use rate::{amount, megabytes_per_s, per_second};

use model::facts::SystemFacts;
use model::plan::{Plan, TimeSpanPlan};
use model::profile::Profile;
use model::record::{Record, TimeSpanRecord};
use model::result::{Directions, RunResult, TimeSpanResult, Tool, Totals};

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
        totals: (time_spans.len() > 1).then(|| totals(&time_spans)),
        time_spans,
        notes: input.plan.notes.clone(),
        ..RunResult::default()
    }
}

/// Sums over the timespans that were measured.
pub fn totals(time_spans: &[TimeSpanResult]) -> Totals {
    let mut elapsed_ns = 0u64;
    let mut volumes = Directions::<rate::Volume>::default();
    for measured in time_spans.iter().filter_map(|span| span.measured.as_ref()) {
        elapsed_ns = elapsed_ns.saturating_add(measured.elapsed_ns);
        volumes.read.add(rate::Volume::of(&measured.total.read));
        volumes.write.add(rate::Volume::of(&measured.total.write));
    }
    volumes.total.add(volumes.read);
    volumes.total.add(volumes.write);
    let figures = |volume: rate::Volume| volume.figures(elapsed_ns);
    Totals {
        elapsed_ns,
        figures: Directions {
            read: figures(volumes.read),
            write: figures(volumes.write),
            total: figures(volumes.total),
        },
    }
}
