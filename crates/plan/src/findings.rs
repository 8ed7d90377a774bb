//! Results of planning: all refusals, and notes.

use model::note::Note;
use model::plan::Plan;
use std::fmt;

/// A reason why a profile cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Cause, which determines the exit status.
    pub kind: RefusalKind,
    /// The error, its place, and the correct value; no full stop.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The two kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request is wrong or unsafe here (exit status 3).
    Invalid,
    /// The request is valid, but this machine cannot execute it (exit status 1).
    Impossible,
}

/// Collects refusals and notes; each is kept once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    refusals: Vec<Refusal>,
    notes: Vec<Note>,
    /// Current timespan, numbered from 1; 0 before the first one; `None` if there is only one.
    time_span: Option<usize>,
}

impl Findings {
    /// Messages of [`Self::refuse`] name this timespan from now on.
    pub(crate) fn enter(&mut self, time_span: Option<usize>) {
        self.time_span = time_span;
    }

    /// Refuses a request of a timespan.
    pub(crate) fn refuse(&mut self, kind: RefusalKind, message: impl Into<String>) {
        let message = message.into();
        let message = match self.time_span {
            Some(number) => format!("timespan {number}: {message}"),
            None => message,
        };
        self.keep(Refusal { kind, message });
    }

    /// Refuses a request for a file, regardless of the timespans that use it.
    pub(crate) fn refuse_file(&mut self, kind: RefusalKind, message: impl Into<String>) {
        self.keep(Refusal { kind, message: message.into() });
    }

    fn keep(&mut self, refusal: Refusal) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    /// Keeps a note.
    pub(crate) fn note(&mut self, note: Note) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The plan, if nothing was refused.
    pub(crate) fn into_result(self, plan: impl FnOnce(Vec<Note>) -> Plan) -> Result<Plan, Vec<Refusal>> {
        if self.refusals.is_empty() { Ok(plan(self.notes)) } else { Err(self.refusals) }
    }

    /// All refusals.
    pub(crate) fn into_refusals(self) -> Vec<Refusal> {
        self.refusals
    }

    /// The messages of one kind.
    pub(crate) fn into_messages(self, kind: RefusalKind) -> Vec<String> {
        self.refusals.into_iter().filter(|refusal| refusal.kind == kind).map(|refusal| refusal.message).collect()
    }

    #[cfg(test)]
    pub(crate) fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    #[cfg(test)]
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }
}
