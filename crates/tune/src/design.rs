//! Design of a sweep: points, order, number of runs and their length.

use model::limit::Limit;
use model::profile::{OfferedRate, Profile, TimeSpan};
use model::sweep::{Extent, Order, Point, Purpose};

/// A sweep to be run.
#[derive(Clone, Debug, Default)]
pub struct Design {
    /// All points in the order given.
    pub points: Vec<PlannedPoint>,
    /// How many of the points are run, and when to stop.
    pub extent: Extent,
    /// If not empty, the points are ascending rates; the sweep searches for the highest that meets these limits.
    pub limits: Vec<Limit>,
    /// Order in which points are run.
    pub order: Order,
    /// Runs of each point, at least 1.
    pub runs: u32,
    /// Measured time of a probe in seconds, if points are probed first.
    pub probe_s: Option<u32>,
    /// Measured time of the runs that follow a probe; `None` = that of the profile.
    pub confirm_s: Option<u32>,
    /// Preconditioning load, run before all others.
    pub precondition: Option<Profile>,
    /// Conditions of SNIA's steady state that the sweep does not meet.
    pub not_as_snia: Vec<String>,
    /// Seed of the random order.
    pub seed: u64,
}

/// A point and its profile.
#[derive(Clone, Debug, Default)]
pub struct PlannedPoint {
    /// Values of the swept options.
    pub point: Point,
    /// The load.
    pub profile: Profile,
}

impl Design {
    /// Purpose of the first runs of every point.
    pub(crate) fn first_purpose(&self) -> Purpose {
        if self.probe_s.is_some() { Purpose::Probe } else { Purpose::Measure }
    }

    /// Profile of a point for a purpose.
    pub(crate) fn profile(&self, point: usize, purpose: Purpose) -> Profile {
        if let (Purpose::Precondition, Some(precondition)) = (purpose, &self.precondition) {
            return precondition.clone();
        }
        let mut profile = self.points[point].profile.clone();
        for span in &mut profile.time_spans {
            let duration_s = match purpose {
                Purpose::Measure | Purpose::Precondition => None,
                Purpose::Probe if !self.limits.is_empty() => Some(self.probe_of_rate_s(span)),
                Purpose::Probe | Purpose::Again => self.probe_s,
                Purpose::Confirm if !self.limits.is_empty() => Some(self.longest_s(span)),
                Purpose::Confirm => self.confirm_s,
                Purpose::Capacity => Some(self.longest_s(span)),
            };
            span.duration_s = duration_s.unwrap_or(span.duration_s);
            if purpose == Purpose::Capacity {
                (span.rate_iops, span.rate_process) = (None, None);
            }
        }
        profile
    }

    /// Length in seconds of the longest run of a search: a rate at which it has too few completions is not tried.
    fn longest_s(&self, span: &TimeSpan) -> u32 {
        self.confirm_s.unwrap_or(span.duration_s).max(self.probe_s.unwrap_or(1))
    }

    /// A probe is long enough for its rate.
    fn probe_of_rate_s(&self, span: &TimeSpan) -> u32 {
        let rate = span.rate_iops.map_or(1.0, OfferedRate::mean_iops);
        let needed_s = stats::limit::seconds_min(&self.limits, rate).ceil() as u32;
        self.probe_s.unwrap_or(span.duration_s).max(needed_s).min(self.longest_s(span))
    }

    /// The longest run of a search in seconds.
    pub(crate) fn longest_of_search_s(&self) -> u32 {
        let span = self.points.first().and_then(|planned| planned.profile.time_spans.first());
        span.map_or(1, |span| self.longest_s(span))
    }

    /// The minimum number of runs, whatever the results; more may follow.
    pub fn runs_at_least(&self) -> usize {
        match self.extent {
            Extent::Whole | Extent::Streams | Extent::Pairs { is_fixed: true, .. } => {
                self.points.len() * self.runs as usize
            }
            Extent::Pairs { is_fixed: false, .. } => self.points.len() * stats::ab::LOOKS[0] as usize,
            Extent::UntilFlat => self.runs as usize,
            Extent::UntilSteady => (self.runs as usize).min(stats::steady_state::WINDOW),
            Extent::UntilSure { .. } => self.runs.min(stats::repeats::FIRST_CHECKPOINT) as usize,
        }
    }

    /// The maximum number of runs of a search for a rate.
    pub const fn runs_of_search() -> usize {
        1 + stats::limit::RUNS_MAX as usize
    }

    /// Time in seconds that the load of these runs takes; for a search, the maximum.
    pub fn load_s(&self) -> u64 {
        if !self.limits.is_empty() {
            let spans = self.points.first().map_or(&[][..], |planned| &planned.profile.time_spans[..]);
            let around: u64 = spans.iter().map(|span| u64::from(span.warm_up_s) + u64::from(span.cool_down_s)).sum();
            return Self::runs_of_search() as u64 * (around + u64::from(self.longest_of_search_s()));
        }
        let purpose = self.first_purpose();
        let load_s = |point: usize| -> u64 {
            let profile = self.profile(point, purpose);
            let spans = profile.time_spans.iter();
            spans.map(|span| u64::from(span.warm_up_s) + u64::from(span.duration_s) + u64::from(span.cool_down_s)).sum()
        };
        let is_whole = matches!(self.extent, Extent::Whole | Extent::Streams | Extent::Pairs { .. });
        let points = if is_whole { self.points.len() } else { self.points.len().min(1) };
        let once = (0..points).map(load_s).fold(0, u64::saturating_add);
        once.saturating_mul(self.runs_at_least() as u64 / points.max(1) as u64)
    }
}
