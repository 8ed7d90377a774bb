//! Results for the tests of rules: a sound one, to which each test does one wrong.

use super::{Case, Look};
use model::profile::{Profile, Target, TimeSpan};
use model::result::{Directions, Ending, Figures, Measured, Row, RunResult, TimeSpanResult};

/// The one target.
pub(crate) const PATH: &str = "a.dat";
/// Reads of it.
pub(crate) const IOS: u64 = 100_000;
/// Bytes of each.
const BLOCK_BYTES: u64 = 8192;
const SECONDS: u32 = 100;

/// A result of one timespan.
pub(crate) struct Built {
    pub(crate) result: RunResult,
}

impl Built {
    /// 100 s of reading, of which no rule has anything to say.
    pub(crate) fn sound() -> Self {
        let ios_per_s = IOS as f64 / f64::from(SECONDS);
        let bytes = IOS * BLOCK_BYTES;
        let mib_per_s = bytes as f64 / f64::from(1 << 20) / f64::from(SECONDS);
        let figures = Figures { ios: IOS, bytes, iops: ios_per_s, mib_per_s, ..Figures::default() };
        let directions = Directions { read: figures, write: Figures::default(), total: figures };
        let row = Row { path: PATH.into(), target_size_bytes: 1 << 30, figures: directions, ..Row::default() };
        let measured = Measured {
            elapsed_ns: u64::from(SECONDS) * 1_000_000_000,
            thread_count: 1,
            rows: vec![row],
            total: directions,
            ..Measured::default()
        };
        let span = TimeSpan { duration_s: SECONDS, targets: vec![Target::new(PATH)], ..TimeSpan::default() };
        let happened =
            TimeSpanResult { outcome: Ending::Completed, measured: Some(measured), ..TimeSpanResult::default() };
        let profile = Profile { time_spans: vec![span], ..Profile::default() };
        Self { result: RunResult { profile, time_spans: vec![happened], ..RunResult::default() } }
    }

    pub(crate) fn happened(&mut self) -> &mut TimeSpanResult {
        &mut self.result.time_spans[0]
    }

    pub(crate) fn measured(&mut self) -> &mut Measured {
        self.happened().measured.as_mut().expect("it was measured")
    }

    /// What one subject's rules find, a line each.
    pub(crate) fn found(&self, look: Look) -> Vec<String> {
        let happened = &self.result.time_spans[0];
        let case = Case {
            result: &self.result,
            span: &self.result.profile.time_spans[0],
            happened,
            measured: happened.measured.as_ref().expect("it was measured"),
        };
        let line = |finding: model::verdict::Finding| {
            assert!(super::RULES.iter().any(|rule| rule.name == finding.name), "{} is on no list", finding.name);
            format!("{} {}: {}", finding.severity, finding.name, finding.figure)
        };
        look(&case).into_iter().map(line).collect()
    }
}
