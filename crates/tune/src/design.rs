//! What a sweep shall do.

use model::limit::Limit;
use model::profile::Profile;
use model::sweep::{Extent, Order, Point, Purpose};

/// Number of runs that a search for a rate takes if each is conclusive, approximately.
const LIMIT_RUNS_MIN: usize = 10;

/// A sweep to be run.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// All points in the order given.
    pub points: Vec<PlannedPoint>,
    /// How far it goes.
    pub extent: Extent,
    /// If not empty, the points are rising rates, and the highest that keeps these is looked for.
    pub limits: Vec<Limit>,
    /// In which order points are run.
    pub order: Order,
    /// Runs of each point, at least 1.
    pub runs: u32,
    /// Measured time of a first look in seconds, if there is one.
    pub probe_s: Option<u32>,
    /// Measured time of the runs that follow a first look; `None` = that of the profile.
    pub confirm_s: Option<u32>,
    /// Written before the first run.
    pub precondition: Option<Profile>,
    /// What a steady state lacks to be SNIA's.
    pub not_as_snia: Vec<String>,
    /// Where the random order begins.
    pub seed: u64,
}

/// A point and its profile.
#[derive(Clone, Debug, Default)]
pub struct PlannedPoint {
    /// What varies.
    pub point: Point,
    /// What is run.
    pub profile: Profile,
}

impl Design {
    /// Why every point is run at first.
    pub(crate) fn first_purpose(&self) -> Purpose {
        if self.probe_s.is_some() { Purpose::Probe } else { Purpose::Measure }
    }

    /// What is run at a point for a reason.
    pub(crate) fn profile(&self, point: usize, purpose: Purpose) -> Profile {
        if let (Purpose::Precondition, Some(precondition)) = (purpose, &self.precondition) {
            return precondition.clone();
        }
        let mut profile = self.points[point].profile.clone();
        let duration_s = match purpose {
            Purpose::Measure | Purpose::Precondition => None,
            Purpose::Probe | Purpose::Again => self.probe_s,
            Purpose::Confirm => self.confirm_s,
        };
        for span in &mut profile.time_spans {
            span.duration_s = duration_s.unwrap_or(span.duration_s);
        }
        profile
    }

    /// Runs that are made whatever is measured; more may follow.
    pub fn runs_at_least(&self) -> usize {
        if !self.limits.is_empty() {
            return LIMIT_RUNS_MIN;
        }
        match self.extent {
            Extent::Whole => self.points.len() * self.runs as usize,
            Extent::UntilFlat => self.runs as usize,
            Extent::UntilSteady => (self.runs as usize).min(stats::steady_state::WINDOW),
            Extent::UntilSure { .. } => self.runs.min(stats::repeats::FIRST_CHECKPOINT) as usize,
        }
    }

    /// Time that the load of these runs takes, in seconds.
    pub fn load_s(&self) -> u64 {
        let purpose = self.first_purpose();
        let load_s = |point: usize| -> u64 {
            let profile = self.profile(point, purpose);
            let spans = profile.time_spans.iter();
            spans.map(|span| u64::from(span.warm_up_s) + u64::from(span.duration_s) + u64::from(span.cool_down_s)).sum()
        };
        let is_whole = self.extent == Extent::Whole && self.limits.is_empty();
        let points = if is_whole { self.points.len() } else { self.points.len().min(1) };
        let once = (0..points).map(load_s).fold(0, u64::saturating_add);
        once.saturating_mul(self.runs_at_least() as u64 / points.max(1) as u64)
    }
}
