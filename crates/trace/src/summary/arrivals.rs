//! Times of issue: rate, regularity and bursts.

use serde::Serialize;

/// Windows in which requests are counted, in nanoseconds.
const WINDOWS_NS: [u64; 4] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// Index of dispersion of the requests in windows of a length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispersion {
    /// Length of a window.
    pub window_ns: u64,
    /// Variance of the number of requests in a window, divided by its mean: 0 = regular, 1 = Poisson. `None` if there are
    /// fewer than 2 windows.
    pub index: Option<f64>,
}

/// Bursts: times of frequent requests by turns with times of rare ones or none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bursts {
    /// Bursts that began and ended within the trace.
    pub count: u64,
    /// Mean number of requests of a burst.
    pub requests: f64,
    /// Mean length of a burst: its requests divided by the rate in bursts.
    pub on_ns: f64,
    /// Mean time from the last request of a burst to the first of the next.
    pub pause_ns: f64,
    /// Mean time from the beginning of a burst to that of the next.
    pub cycle_ns: f64,
    /// Standard deviation of that time, divided by its mean.
    pub cycle_variation: f64,
    /// Rate in bursts, per second; `None` if all requests of a burst are issued at once.
    pub on_iops: Option<f64>,
    /// Share of the requests that are in bursts, from 0 to 1, without a burst that the trace ends in.
    pub share: f64,
}

/// Times of issue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arrivals {
    /// From the first to the last issue.
    pub duration_ns: u64,
    /// Requests.
    pub requests: u64,
    /// Mean rate per second; 0 if all were issued at once.
    pub mean_iops: f64,
    /// Standard deviation of the times between issues, divided by their mean: 0 = regular, 1 = Poisson.
    pub variation: f64,
    /// By length of the window, ascending.
    pub dispersions: [Dispersion; WINDOWS_NS.len()],
    /// `None` if there are none that differ clearly from the rest.
    pub bursts: Option<Bursts>,
}

/// Count, mean and squared deviations (Welford).
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let deviation = value - self.mean;
        self.mean += deviation / self.count;
        self.squares += deviation * (value - self.mean);
    }

    /// Adds `count` zeros.
    fn add_zeros(&mut self, count: f64) {
        if count > 0.0 {
            let all = self.count + count;
            self.squares += self.mean * self.mean * self.count * count / all;
            self.mean *= self.count / all;
            self.count = all;
        }
    }

    fn variance(&self) -> f64 {
        self.squares / (self.count - 1.0).max(1.0)
    }

    fn variation(&self) -> f64 {
        if self.mean > 0.0 { self.variance().sqrt() / self.mean } else { 0.0 }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    number: u64,
    requests: u64,
    moments: Moments,
}

/// Limits between gaps inside and outside bursts that are tried: 1 µs and multiples of it by powers of the root of 2.
const LIMITS: usize = 64;

/// The first limit that is not below a gap; [`LIMITS`] if there is none.
fn limit_index(gap_ns: f64) -> usize {
    if gap_ns <= 1000.0 { 0 } else { ((gap_ns / 1000.0).log2() * 2.0).ceil().min(LIMITS as f64) as usize }
}

/// Bursts, if gaps up to a limit are inside.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Number and time of its first request, if in a burst.
    begin: Option<(u64, u64)>,
    /// Beginning of the burst before.
    last_begin_ns: Option<u64>,
    /// End of the burst before.
    last_end_ns: Option<u64>,
    bursts: u64,
    requests: u64,
    /// From the first to the last request, of all bursts.
    length_ns: u64,
    pauses: Moments,
    cycles: Moments,
}

/// Adds up times of issue, which ascend.
#[derive(Debug)]
pub(super) struct ArrivalCounter {
    requests: u64,
    first_ns: u64,
    last_ns: u64,
    gaps: Moments,
    windows: [Window; WINDOWS_NS.len()],
    levels: [Level; LIMITS],
    /// Levels from here on are in a burst.
    first_inside: usize,
}

impl Default for ArrivalCounter {
    fn default() -> Self {
        let (windows, levels) = ([Window::default(); WINDOWS_NS.len()], [Level::default(); LIMITS]);
        Self { requests: 0, first_ns: 0, last_ns: 0, gaps: Moments::default(), windows, levels, first_inside: LIMITS }
    }
}

impl ArrivalCounter {
    pub(super) fn add(&mut self, issue_ns: u64) {
        let issue_ns = issue_ns.max(self.last_ns);
        if self.requests == 0 {
            (self.first_ns, self.last_ns) = (issue_ns, issue_ns);
        } else {
            let gap_ns = (issue_ns - self.last_ns) as f64;
            self.gaps.add(gap_ns);
            // The other levels are in a burst, or not, as after the gap before.
            let first_inside = limit_index(gap_ns);
            let (low, high) = (first_inside.min(self.first_inside), first_inside.max(self.first_inside));
            for level in &mut self.levels[low..high] {
                level.change(self.requests, self.last_ns);
            }
            self.first_inside = first_inside;
        }
        for (window, length_ns) in self.windows.iter_mut().zip(WINDOWS_NS) {
            let number = (issue_ns - self.first_ns) / length_ns;
            if number > window.number {
                window.moments.add(window.requests as f64);
                window.moments.add_zeros((number - window.number - 1) as f64);
                (window.number, window.requests) = (number, 0);
            }
            window.requests += 1;
        }
        self.requests += 1;
        self.last_ns = issue_ns;
    }

    pub(super) fn finish(self) -> Arrivals {
        let duration_ns = self.last_ns - self.first_ns;
        // The last window is not over.
        let dispersions = std::array::from_fn(|at| {
            let moments = self.windows[at].moments;
            let is_known = moments.count >= 2.0 && moments.mean > 0.0;
            Dispersion { window_ns: WINDOWS_NS[at], index: is_known.then(|| moments.variance() / moments.mean) }
        });
        Arrivals {
            duration_ns,
            requests: self.requests,
            mean_iops: if self.gaps.mean > 0.0 { 1e9 / self.gaps.mean } else { 0.0 },
            variation: self.gaps.variation(),
            dispersions,
            bursts: self.bursts(),
        }
    }

    /// Bursts by the limit in the middle of the widest range of limits that make no difference.
    fn bursts(&self) -> Option<Bursts> {
        let mut widest = 0..0;
        for first in 0..LIMITS {
            let bursts = self.levels[first].bursts as f64;
            let is_same = |level: &&Level| (level.bursts as f64 - bursts).abs() <= SAME_SHARE * bursts;
            let end = first + self.levels[first..].iter().take_while(is_same).count();
            if self.levels[first].bursts >= BURSTS_MIN && end - first > widest.len() {
                widest = first..end;
            }
        }
        if widest.len() < LIMITS_MIN {
            return None;
        }
        let level = &self.levels[usize::midpoint(widest.start, widest.end - 1)];
        let requests = level.requests as f64 / level.bursts as f64;
        let inside = (level.requests - level.bursts) as f64;
        let unfinished = level.begin.map_or(0, |(first, _)| self.requests - first);
        let gap_ns = level.length_ns as f64 / inside;
        Some(Bursts {
            count: level.bursts,
            requests,
            on_ns: requests * gap_ns,
            pause_ns: level.pauses.mean,
            cycle_ns: level.cycles.mean,
            cycle_variation: level.cycles.variation(),
            on_iops: (gap_ns > 0.0).then(|| 1e9 / gap_ns),
            share: level.requests as f64 / (self.requests - unfinished) as f64,
        })
    }
}

/// Numbers of bursts are the same within this share.
const SAME_SHARE: f64 = 0.03;
/// Bursts at least.
const BURSTS_MIN: u64 = 3;
/// Limits at least that make no difference: gaps outside are more than twice those inside.
const LIMITS_MIN: usize = 3;

impl Level {
    /// Request `number - 1` (from 0), which was issued at `before_ns`, is the first or the last of a burst.
    fn change(&mut self, number: u64, before_ns: u64) {
        match self.begin {
            None => {
                self.begin = Some((number - 1, before_ns));
                if let Some(last_ns) = self.last_begin_ns.replace(before_ns) {
                    self.cycles.add((before_ns - last_ns) as f64);
                }
                if let Some(end_ns) = self.last_end_ns {
                    self.pauses.add((before_ns - end_ns) as f64);
                }
            }
            Some((first, begin_ns)) => {
                self.bursts += 1;
                self.requests += number - first;
                self.length_ns += before_ns - begin_ns;
                self.last_end_ns = Some(before_ns);
                self.begin = None;
            }
        }
    }
}
