//! How near to the truth the knee of a sweep is: k servers with exponential service times in a closed loop are busy from
//! depth k on. Virtual time, fixed seeds.

use super::tests::{Notebook, design, empty};
use super::*;
use hot::rng::Rng;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures};
use model::result::{LoadLoop, Measured, TimeSpanResult};
use model::sweep::Saturation;

const SWEEPS: u64 = 50;
const SERVICE_NS: f64 = 1e6;
const MEASURED_NS: f64 = 1e9;
/// Runs of the same load differ by so much.
const NOISE: f64 = 0.02;

struct Servers {
    count: usize,
    rng: Rng,
}

impl Servers {
    fn exponential(&mut self) -> f64 {
        -((self.rng.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64).ln()
    }

    /// The sum of twelve is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.below(1 << 32) as f64 / (1_u64 << 32) as f64).sum::<f64>() - 6.0
    }

    /// Latencies of the I/Os that complete in the measured time.
    fn latencies_ns(&mut self, depth: usize) -> Vec<f64> {
        let mut latencies = Vec::new();
        // When each busy server is done, and when its I/O was sent; and I/Os that wait.
        let mut busy: Vec<(f64, f64)> = Vec::new();
        let mut waiting = std::collections::VecDeque::from(vec![0.0; depth]);
        loop {
            let now = busy.iter().map(|(end, _)| *end).fold(f64::INFINITY, f64::min);
            let now = if now.is_finite() && busy.len() == self.count.min(depth) {
                let done = busy.iter().position(|(end, _)| *end <= now).unwrap();
                let (_, sent) = busy.swap_remove(done);
                if now > MEASURED_NS {
                    return latencies;
                }
                latencies.push(now - sent);
                waiting.push_back(now);
                now
            } else {
                0.0
            };
            while busy.len() < self.count {
                let Some(sent) = waiting.pop_front() else { break };
                let end = now + SERVICE_NS * self.exponential();
                busy.push((end, sent));
            }
        }
    }
}

impl Runner for Servers {
    fn prepare(&mut self, _: &Profile) -> Result<(), RunFailure> {
        Ok(())
    }

    fn run(&mut self, profile: &Profile) -> Result<RunResult, RunFailure> {
        let depth = profile.time_spans[0].targets[0].outstanding;
        let mut latencies = self.latencies_ns(depth as usize);
        latencies.sort_by(f64::total_cmp);
        let iops = latencies.len() as f64 * (NOISE * self.normal()).exp();
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
