//! Figures of loads that a preset runs several times.

use crate::headline;
use model::headline::Headline;
use model::preset::PresetRun;
use model::result::RunResult;

/// The runs of one load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunsOfLoad {
    /// How many were measured.
    pub runs: usize,
    /// Median throughput in bytes per second.
    pub median_bytes_per_s: f64,
    /// The highest throughput in bytes per second.
    pub best_bytes_per_s: f64,
    /// The lowest throughput in bytes per second.
    pub lowest_bytes_per_s: f64,
    /// Median of the I/Os per second.
    pub median_iops: f64,
    /// Median of the mean latencies in nanoseconds; `None` if they were not measured.
    pub median_latency_ns: Option<f64>,
}

/// Loads of one name in the order of the preset, each with its runs that read and its runs that write.
pub fn reads_and_writes<'a>(preset: &'a PresetRun, result: &RunResult) -> Vec<(&'a str, [Option<RunsOfLoad>; 2])> {
    let mut rows: Vec<(&str, [Vec<Headline>; 2])> = Vec::new();
    for (name, span_result) in preset.loads.iter().zip(&result.time_spans) {
        let Some(headline) = headline(span_result) else { continue };
        let at = rows.iter().position(|(row, _)| row == name).unwrap_or_else(|| {
            rows.push((name, [Vec::new(), Vec::new()]));
            rows.len() - 1
        });
        rows[at].1[usize::from(headline.write_share > 0.5)].push(headline);
    }
    rows.into_iter().map(|(name, runs)| (name, runs.map(|runs| of_runs(&runs)))).collect()
}

/// True of the run with the median throughput among those of its load that read, or write, like it; true of a load's only run.
pub fn is_typical(preset: &PresetRun, result: &RunResult, index: usize) -> bool {
    let load_and_rate = |index: usize| {
        let headline = headline(result.time_spans.get(index)?)?;
        Some(((preset.loads.get(index)?, headline.write_share > 0.5), headline.bytes_per_s))
    };
    let Some((load, _)) = load_and_rate(index) else { return true };
    let alike = (0..result.time_spans.len()).filter_map(|other| Some((load_and_rate(other)?, other)));
    let mut alike: Vec<(f64, usize)> =
        alike.filter(|((other, _), _)| *other == load).map(|((_, rate), other)| (rate, other)).collect();
    alike.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    alike.get(alike.len() / 2).is_none_or(|(_, middle)| *middle == index)
}

fn of_runs(runs: &[Headline]) -> Option<RunsOfLoad> {
    let values = |of: fn(&Headline) -> Option<f64>| runs.iter().filter_map(of).collect::<Vec<f64>>();
    let rates = values(|run| Some(run.bytes_per_s));
    Some(RunsOfLoad {
        runs: runs.len(),
        best_bytes_per_s: rates.iter().copied().fold(0.0, f64::max),
        lowest_bytes_per_s: rates.iter().copied().fold(f64::INFINITY, f64::min),
        median_bytes_per_s: median(rates)?,
        median_iops: median(values(|run| Some(run.iops)))?,
        median_latency_ns: median(values(|run| run.mean_ns)),
    })
}

/// The middle value; of an even number between the two in the middle.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    // Of an even number it is between the two in the middle.
    let lower = if values.len().is_multiple_of(2) { values[middle - 1] } else { upper };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures};
    use model::result::{Measured, TimeSpanResult};

    #[test]
    fn the_typical_run_of_a_load_is_one_of_its_kind() {
        let span = |write_ios: u64, bytes_per_s: f64| {
            let figures_of_ios = |ios| Figures { ios, bytes_per_s, ..Figures::default() };
            let total = Directions {
                read: figures_of_ios(100 - write_ios),
                write: figures_of_ios(write_ios),
                total: figures_of_ios(100),
            };
            let measured = Measured { total, ..Measured::default() };
            TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }
        };
        let loads = ["a", "a", "a", "a", "b"].map(str::to_owned).to_vec();
        let preset = PresetRun { loads, ..PresetRun::default() };
        let time_spans = vec![span(0, 9.0), span(0, 1.0), span(0, 5.0), span(100, 2.0), span(0, 7.0)];
        let result = RunResult { time_spans, ..RunResult::default() };
        let typical: Vec<bool> = (0..5).map(|index| is_typical(&preset, &result, index)).collect();
        assert_eq!(typical, [false, false, true, true, true]);
        assert!(is_typical(&preset, &result, 9));
    }

    #[test]
    fn median_and_best_of_the_runs_of_a_load() {
        let run = |bytes_per_s, iops, mean_ns| Headline { bytes_per_s, iops, mean_ns, ..Headline::default() };
        let runs = [run(5e6, 50.0, Some(3e6)), run(9e6, 90.0, None), run(1e6, 10.0, Some(1e6))];
        let expected = RunsOfLoad {
            runs: 3,
            median_bytes_per_s: 5e6,
            best_bytes_per_s: 9e6,
            lowest_bytes_per_s: 1e6,
            median_iops: 50.0,
            median_latency_ns: Some(2e6),
        };
        assert_eq!(of_runs(&runs), Some(expected));
        assert_eq!(of_runs(&[]), None);
    }
}
