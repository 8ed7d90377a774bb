//! Error of the knee of a sweep: k servers with exponential service times in a closed loop are saturated from depth k
//! on. Virtual time, fixed seeds.

use super::tests::{Notebook, design, empty};
use super::*;
use hot::rng::Rng;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures};
use model::result::{LoadLoop, Measured, TimeSpanResult};
use model::sweep::Saturation;

const SWEEPS: u64 = 50;
const SERVICE_NS: f64 = 1e6;
const MEASURED_NS: f64 = 1e9;
/// Relative standard deviation of runs of the same load.
const NOISE: f64 = 0.02;

struct Servers {
    count: usize,
    rng: Rng,
}

impl Servers {
    fn exponential(&mut self) -> f64 {
        -((self.rng.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64).ln()
    }

    /// The sum of twelve uniform numbers is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.below(1 << 32) as f64 / (1_u64 << 32) as f64).sum::<f64>() - 6.0
    }

    /// I/Os that complete in the measured time. In a closed loop a server that has an I/O always has one: the next to serve
    /// is there when the one before completes.
    fn completed(&mut self, depth: usize) -> u64 {
        let mut completed = 0;
        for _ in 0..self.count.min(depth) {
            let mut now_ns = SERVICE_NS * self.exponential();
            while now_ns <= MEASURED_NS {
                completed += 1;
                now_ns += SERVICE_NS * self.exponential();
            }
        }
        completed
    }
}

impl Runner for Servers {
    fn prepare(&mut self, _: usize, _: &Profile) -> Result<(), RunFailure> {
        Ok(())
    }

    fn run(&mut self, _: usize, profile: &Profile) -> Result<RunResult, RunFailure> {
        let depth = profile.time_spans[0].targets[0].outstanding;
        let iops = self.completed(depth as usize) as f64 * (NOISE * self.normal()).exp();
        let mean_ns = f64::from(depth) / iops * 1e9;
        let latency = LatencyFigures { mean_ns, ..LatencyFigures::default() };
        let total = Figures { iops, latency: Some(latency), ..Figures::default() };
        let measured = Measured {
            total: Directions { total, ..Directions::default() },
            total_latency: Some(Directions::<Option<LatencyDistribution>>::default()),
            load_loop: Some(LoadLoop::Closed { depth }),
            ..Measured::default()
        };
        let span_result = TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() };
        Ok(RunResult { time_spans: vec![span_result], ..RunResult::default() })
    }
}

#[test]
fn the_knee_is_within_one_of_the_servers() {
    for servers in [2_usize, 4, 8] {
        let design = design(3 * servers as u32 + 6);
        let is_near = |depth: u32| depth.abs_diff(servers as u32) <= 1;
        let near = (0..SWEEPS).filter(|seed| {
            let mut found = empty(&design);
            let mut runner = Servers { count: servers, rng: Rng::new(*seed) };
            assert_eq!(sweep(&design, &mut found, &mut runner, &mut Notebook::default()), Ending::Complete);
            let series = &found.depths[0];
            let knee = series.knee.as_ref().expect("enough depths");
            let used = series.recommended.and_then(|point| stats::sweep::figures(&found, point)?.depth);
            let saturation = match knee.saturation {
                Saturation::At { depth, .. } => depth.depth,
                Saturation::StillRising { .. } => 0,
            };
            is_near(knee.efficient.depth) && is_near(saturation) && used.is_some_and(is_near)
        });
        let near = near.count();
        assert!(near >= 45, "{servers} servers: {near} of {SWEEPS}");
    }
}
