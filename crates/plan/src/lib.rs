//! From profile and facts to a plan, or to every reason against it.
//!
//! All decisions are made here, as data: files that may be overwritten ([`plan()`] asks `guard`), the CPU of each
//! thread, its offsets, pace, engine and memory. This crate makes no system call, reads no clock, and draws no random
//! number.

mod alignment;
mod content;
mod delete_after;
mod device_guard;
mod distribution;
mod engine_choice;
mod explain;
mod files;
mod findings;
mod guard;
mod interrupts;
mod layout;
mod limits;
mod mechanism;
mod memory;
mod near_device;
mod pace;
mod placement;
mod precondition;
mod precreate;
mod questions;
mod seeds;
mod space;
mod target;
mod time_span;
mod tracing;
mod verification;
mod words;
mod workers;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

pub use device_guard::scratch_name;
pub use explain::explain;
pub use files::{Choices, Reuse, SharedFiles, SharedStage};
pub use findings::{Refusal, RefusalKind};
pub use limits::check_size;
pub use placement::check_affinity;
pub use precondition::precondition;
pub use questions::questions;
pub use space::{NewFile, shortages};
pub use words::path as quoted_path;

use files::Files;
use findings::Findings;
use model::facts::Facts;
use model::plan::Plan;
use model::profile::Profile;

/// Decides everything about a run, or lists every reason against it.
///
/// `facts` must answer all of [`questions()`]. Nothing is assumed about a target without facts: it
/// is refused.
pub fn plan(profile: &Profile, facts: &Facts, choices: &Choices) -> Result<Plan, Vec<Refusal>> {
    let mut findings = Findings::default();
    let mut files = Files::new(facts, choices);
    let precreate = precreate::plan(profile, &mut files, &mut findings);
    if let Some(tracing) = profile.tracing {
        tracing::note(tracing, &mut findings);
    }
    let several = profile.time_spans.len() > 1;
    let mut time_spans = Vec::with_capacity(profile.time_spans.len());
    for (index, time_span) in profile.time_spans.iter().enumerate() {
        findings.enter(several.then_some(index + 1));
        time_spans.extend(time_span::plan(profile, time_span, &mut files, &mut findings));
    }
    findings.enter(None);
    files.check_space(&mut findings);
    let delete_after =
        if choices.delete_after { delete_after::plan(profile, &files, &mut findings) } else { Vec::new() };
    findings.into_result(|notes| Plan { precreate, time_spans, delete_after, notes })
}
