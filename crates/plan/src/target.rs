//! One target of a timespan: its preparation, its open flags, the positions of I/Os.

use crate::alignment;
use crate::content;
use crate::files::{Files, RequestedFile, TargetState};
use crate::findings::{Findings, RefusalKind};
use crate::layout::{self, Layout};
use crate::mechanism;
use crate::pace;
use model::facts::TargetKind;
use model::note::Note;
use model::plan::{Expected, OpenPlan, Preparation, TargetPlan};
use model::profile::{Target, TimeSpan};
use model::rw_flags::RwFlags;

/// A target and its layout.
#[derive(Debug)]
pub(crate) struct PlannedTarget {
    pub(crate) plan: TargetPlan,
    pub(crate) layout: Layout,
}

impl PlannedTarget {
    /// Marks the target as one that other hosts write to, too, if this one writes to it.
    fn shared_run(mut self, run: Option<String>) -> Self {
        self.plan.shared_run = run.filter(|_| self.plan.open.write);
        self
    }
}

/// Plans all targets of a timespan; `threads_of` gives the relative numbers of a target's threads.
/// `None` = at least one was refused.
pub(crate) fn plan_all(
    time_span: &TimeSpan,
    threads_of: &[Vec<u32>],
    files: &mut Files,
    findings: &mut Findings,
) -> Option<(Vec<PlannedTarget>, usize)> {
    // All creations come first, as in the run: a target may use a file that a later one creates.
    let created: Vec<CreationDecision> =
        time_span.targets.iter().map(|t| create(time_span, t, files, findings)).collect();
    let mut counters = 0;
    let mut planned = Vec::with_capacity(time_span.targets.len());
    for ((target, creating), threads) in time_span.targets.iter().zip(created).zip(threads_of) {
        note_ignored(target, findings);
        let preparation = match creating {
            CreationDecision::Refused => continue,
            CreationDecision::NotAsked => None,
            CreationDecision::Decided(preparation) => Some(preparation),
        };
        let Some(standing) = files.standing(&target.path, target.change(), target.max_offset.get(), findings) else {
            continue;
        };
        let facts = files.facts();
        let found = files.target_facts(&target.path);
        let kind = found.map(|found| &found.kind);
        let refused_flags = found.map_or(RwFlags::NONE, |found| found.refused_flags);
        let can_set = mechanism::may_set_flags(target, &standing, refused_flags, &facts.system, findings)
            && alignment::check_atomic(target, found.and_then(|found| found.atomic_writes), findings);
        let polling = kind.and_then(TargetKind::completion_polling);
        let can_poll = !time_span.completion_polling || mechanism::may_poll(&target.path, polling, findings);
        let can_change = mechanism::may_change_without_data(target, &standing, kind, findings);
        if mechanism::check(target, &standing, &facts.system, findings) && can_poll && can_change && can_set {
            let shared_run = files.shared_run(&target.path);
            let more = plan(time_span, target, standing, preparation, threads, &mut counters, findings);
            planned.extend(more.map(|planned| planned.shared_run(shared_run)));
        }
    }
    for target in time_span.targets.iter().filter(|target| target.writes()) {
        files.mark_written(&target.path, content::left(time_span, target));
    }
    (planned.len() == time_span.targets.len()).then_some((planned, counters))
}

enum CreationDecision {
    NotAsked,
    Refused,
    Decided(Preparation),
}

fn create(time_span: &TimeSpan, target: &Target, files: &mut Files, findings: &mut Findings) -> CreationDecision {
    // Streams share a file: it is created once, with the content of the first of them.
    let is_first = |other: &&Target| other.path == target.path && other.create_size == target.create_size;
    let first = target.stream.as_ref().and_then(|_| time_span.targets.iter().find(is_first)).unwrap_or(target);
    let fill = content::fill(time_span, first);
    let of_option = || target.size_to_create().map(|size| RequestedFile::whole(size.get(), fill));
    let Some(wanted) = target.append.map(|append| RequestedFile::log(append, fill)).or_else(of_option) else {
        return CreationDecision::NotAsked;
    };
    if target.append.is_some() && !is_alone(time_span, target, findings) {
        return CreationDecision::Refused;
    }
    files.create(&target.path, wanted, findings).map_or(CreationDecision::Refused, CreationDecision::Decided)
}

/// Refuses a log that other targets use too: its length would differ from their plans.
fn is_alone(time_span: &TimeSpan, target: &Target, findings: &mut Findings) -> bool {
    let users = time_span.targets.iter().filter(|other| other.path == target.path).count();
    if users > 1 {
        let path = target.path.display();
        let message = format!("'{path}' is used by {users} targets; a thread appends to a file of its own (--append)");
        findings.refuse(RefusalKind::Invalid, message);
    }
    users == 1
}

fn plan(
    time_span: &TimeSpan,
    target: &Target,
    standing: TargetState,
    preparation: Option<Preparation>,
    threads: &[u32],
    counters: &mut usize,
    findings: &mut Findings,
) -> Option<PlannedTarget> {
    let size_bytes = standing.size_bytes;
    let max_offset_bytes = target.max_offset.get();
    if size_bytes < max_offset_bytes {
        findings.note(Note::TargetBelowMaximum { path: target.path.clone(), size_bytes, max_offset_bytes });
    }
    let open = OpenPlan::new(time_span, target);
    let aligned = open.direct.then(|| alignment::check(target, standing.direct_io, &standing.place, findings));
    let is_device = matches!(standing.expect, Expected::Block { .. });
    let is_in_blocks = open.direct
        || !is_device
        || target.shares().transfer_percent() == 100
        || alignment::check_without_data(target, standing.direct_io, findings);
    let layout = layout::layout(target, size_bytes, threads, counters)
        .map_err(|message| findings.refuse(RefusalKind::Impossible, message))
        .ok()?;
    let recorded_alignment = time_span.replay.as_ref().map(|_| match aligned.flatten() {
        Some(alignment) => alignment.block_bytes(),
        None if is_device => alignment::logical_block_bytes(standing.direct_io),
        None => 1,
    });
    let layout = match recorded_alignment {
        Some(alignment_bytes) => layout.recorded(alignment_bytes),
        None => layout,
    };
    let bytes = layout.end_not_reached(target);
    if bytes > 0 && layout.area.base_bytes + layout.area.size_bytes == size_bytes {
        findings.note(Note::EndNotReached { path: target.path.clone(), bytes });
    }
    // A refused alignment returns only here, so that both errors are reported.
    let direct = match aligned {
        Some(refused_or_not) => Some(refused_or_not?),
        None => None,
    };
    if !is_in_blocks {
        return None;
    }
    let preparation = preparation.unwrap_or(standing.preparation);
    let expect = match &preparation {
        Preparation::Create(_) => Expected::Prepared,
        _ => standing.expect,
    };
    let write_source = content::write_source(target, direct);
    let (path, stream) = (target.path.clone(), target.stream.clone());
    let plan = TargetPlan { path, stream, size_bytes, preparation, expect, open, write_source, shared_run: None };
    Some(PlannedTarget { plan, layout })
}

/// Notes options without effect here.
fn note_ignored(target: &Target, findings: &mut Findings) {
    if target.temporary_hint {
        let reason = "Linux has no attribute for temporary files".to_owned();
        findings.note(Note::OptionWithoutEffect { option: "-ft".to_owned(), reason });
    }
    if pace::ignores_bursts(target) {
        let reason = "-g limits the rate instead".to_owned();
        findings.note(Note::OptionWithoutEffect { option: "-i, -j".to_owned(), reason });
    }
}
