//! Machines and results to print.

use model::ending::Ending;
use model::facts::SystemFacts;
use model::figures::{Directions, Figures, LatencyDistribution, LatencyFigures, Percentile};
use model::profile::{CacheMode, Profile, Target, TimeSpan};
use model::result::{CpuUsage, Measured, Row, RunResult, TimeSpanResult};
use model::topology::{Cache, CacheKind, Cpu, Topology};
use model::units::{Bytes, UnixTime};
use std::path::PathBuf;

/// 2025/03/14 09:26:53 UTC
pub(crate) const STARTED_AT: UnixTime = UnixTime(1_741_944_413_000_000_000);

/// The report as text, lossily.
pub(crate) fn report(result: &RunResult) -> String {
    let mut out = Vec::new();
    render::text(result, render::Detail::Full, &mut out).expect("a vector takes everything");
    String::from_utf8_lossy(&out).into_owned()
}

/// The echo of a profile on a machine.
pub(crate) fn echo(profile: &Profile, system: &SystemFacts) -> String {
    let mut out = Vec::new();
    render::profile_text("diskspd x.dat", profile, system, &mut out).expect("a vector takes everything");
    String::from_utf8_lossy(&out).into_owned()
}

/// The system block.
pub(crate) fn system(system: &SystemFacts) -> String {
    let mut out = Vec::new();
    render::system_text(system, STARTED_AT, &mut out).expect("a vector takes everything");
    String::from_utf8_lossy(&out).into_owned()
}

/// The part of `text` from the line `from` to just before the line `to`, or to the end.
pub(crate) fn part<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(&format!("\n{from}")).unwrap_or_else(|| panic!("no line {from:?} in:\n{text}")) + 1;
    let end = text[start..].find(&format!("\n{to}")).filter(|_| !to.is_empty());
    &text[start..end.map_or(text.len(), |end| start + end)]
}

pub(crate) fn cpu(id: u32, core: u32) -> Cpu {
    Cpu { id, core, socket: 0, node: 0, class: 0, allowed: true }
}

pub(crate) fn cache(level: u32, kind: CacheKind, size_bytes: u64, associativity: u32, cpus: &[u32]) -> Cache {
    Cache { level, kind, size_bytes, line_bytes: 64, associativity, cpus: cpus.to_vec() }
}

pub(crate) fn machine(cpus: Vec<Cpu>) -> SystemFacts {
    let possible_cpus = cpus.last().map_or(0, |cpu| cpu.id + 1);
    SystemFacts {
        computer_name: "bench01".to_owned(),
        page_size_bytes: 4096,
        topology: Topology { cpus, possible_cpus, caches: Vec::new() },
        ..SystemFacts::default()
    }
}

/// Four CPUs of one socket, no SMT, one class, no known caches.
pub(crate) fn plain_machine() -> SystemFacts {
    machine((0..4).map(|id| cpu(id, id)).collect())
}

/// The hybrid machine of the specification: a P-core with CPUs 0 and 1, two E-cores that share
/// their second-level cache.
pub(crate) fn hybrid_machine() -> SystemFacts {
    use CacheKind::{Data, Instruction, Unified};
    let cpus = [(0, 0, 1), (1, 0, 1), (2, 1, 0), (3, 2, 0)];
    let mut system = machine(cpus.map(|(id, core, class)| Cpu { class, ..cpu(id, core) }).to_vec());
    system.topology.caches = vec![
        cache(1, Data, 48 << 10, 12, &[0, 1]),
        cache(1, Instruction, 32 << 10, 8, &[0, 1]),
        cache(2, Unified, 1_310_720, 10, &[0, 1]),
        cache(1, Data, 32 << 10, 8, &[2]),
        cache(1, Instruction, 64 << 10, 8, &[2]),
        cache(2, Unified, 2 << 20, 16, &[2, 3]),
        cache(1, Data, 32 << 10, 8, &[3]),
        cache(1, Instruction, 64 << 10, 8, &[3]),
        cache(3, Unified, 12 << 20, 12, &[0, 1, 2, 3]),
    ];
    SystemFacts {
        computer_name: "lab-7".to_owned(),
        processor_name: Some("Example Hybrid 4".to_owned()),
        power_scheme: Some("performance".to_owned()),
        ..system
    }
}

pub(crate) fn usage(
    cpu: u32,
    usage_percent: f64,
    user_percent: f64,
    kernel_percent: f64,
    idle_percent: f64,
) -> CpuUsage {
    CpuUsage { cpu, usage_percent, user_percent, kernel_percent, idle_percent }
}

/// Cells of a table row; latencies in milliseconds.
pub(crate) fn cells(bytes: u64, ios: u64, mib_per_s: f64, ios_per_s: f64) -> Figures {
    Figures { bytes, ios, bytes_per_s: mib_per_s * 1_048_576.0, iops: ios_per_s, ..Figures::default() }
}

pub(crate) fn with_latency(figures: Figures, mean_ms: f64, std_dev_ms: f64) -> Figures {
    let latency = LatencyFigures { mean_ns: mean_ms * 1e6, std_dev_ns: std_dev_ms * 1e6, min_ns: None, max_ns: None };
    Figures { latency: Some(latency), ..figures }
}

pub(crate) fn with_deviation(figures: Figures, iops_std_dev: f64) -> Figures {
    Figures { iops_std_dev: Some(iops_std_dev), ..figures }
}

pub(crate) fn row(thread: u32, path: &str, target_size_bytes: u64, figures: &Directions<Figures>) -> Row {
    Row { thread, target: 0, path: PathBuf::from(path), target_size_bytes, figures: *figures, ..Row::default() }
}

/// Microseconds at min, the 13 rows of the table, and max.
pub(crate) fn latencies(values_us: [u64; 15]) -> LatencyDistribution {
    let ranks = [250, 500, 750, 900, 950, 990].map(|per_mille| per_mille * 1_000_000).into_iter();
    let nines = (3..=9).map(|nines| 1_000_000_000 - 1_000_000_000 / 10u64.pow(nines));
    let percentile = |(rank_ppb, value_us): (u64, &u64)| Percentile { rank_ppb, value_ns: value_us * 1000 };
    let (min_ns, max_ns) = (values_us[0] * 1000, values_us[14] * 1000);
    LatencyDistribution {
        count: 1,
        figures: LatencyFigures { mean_ns: 0.0, std_dev_ns: 0.0, min_ns: Some(min_ns), max_ns: Some(max_ns) },
        percentiles: ranks.chain(nines).zip(&values_us[1..14]).map(percentile).collect(),
        distinct_values: 0,
        buckets: Vec::new(),
    }
}

/// `-c1G -b8K -r -w30 -t2 -o4 -d10 -W2 -L -D -Sh data.bin`, the specification's complete example.
pub(crate) fn mix_run() -> RunResult {
    let target = Target {
        create_size: Some(Bytes::from_gib(1)),
        block_size: Bytes::from_kib(8),
        random_percent: 100,
        write_percent: 30,
        threads: 2,
        outstanding: 4,
        cache_mode: CacheMode::Unbuffered,
        write_through: true,
        ..Target::new("data.bin")
    };
    let span = TimeSpan {
        warm_up_s: 2,
        measure_latency: true,
        calculate_iops_std_dev: true,
        targets: vec![target],
        ..TimeSpan::default()
    };
    let span_result = TimeSpanResult {
        outcome: Ending::Completed,
        engines: vec![model::engine_kind::EngineKind::IoUring],
        buffer_separation_bytes: 16 << 20,
        measured: Some(mix_figures()),
        ..TimeSpanResult::default()
    };
    RunResult {
        command_line: "diskspd -c1G -b8K -r -w30 -t2 -o4 -d10 -W2 -L -D -Sh data.bin".to_owned(),
        profile: Profile { time_spans: vec![span], ..Profile::default() },
        system: plain_machine(),
        started_at: STARTED_AT,
        time_spans: vec![span_result],
        ..RunResult::default()
    }
}

fn mix_figures() -> Measured {
    let full =
        |figures, mean_ms, deviation, std_dev_ms| with_deviation(with_latency(figures, mean_ms, std_dev_ms), deviation);
    let first = Directions {
        total: full(cells(365_789_184, 44_652, 34.84, 4459.40), 0.884, 251.10, 0.399),
        read: full(cells(256_000_000, 31_250, 24.38, 3120.94), 0.862, 211.37, 0.401),
        write: full(cells(109_789_184, 13_402, 10.46, 1338.46), 0.934, 96.41, 0.388),
    };
    let second = Directions {
        total: full(cells(362_946_560, 44_305, 34.57, 4424.75), 0.892, 243.66, 0.412),
        read: full(cells(253_845_504, 30_987, 24.18, 3094.68), 0.871, 198.02, 0.417),
        write: full(cells(109_101_056, 13_318, 10.39, 1330.07), 0.941, 101.73, 0.395),
    };
    let read = [214, 611, 802, 1020, 1301, 1544, 2250, 4118, 7904, 9731, 9731, 9731, 9731, 9731, 9731];
    let write = [301, 683, 874, 1097, 1377, 1602, 2291, 3977, 7215, 8846, 8846, 8846, 8846, 8846, 8846];
    let total = [214, 630, 822, 1043, 1325, 1561, 2262, 4087, 7655, 9731, 9731, 9731, 9731, 9731, 9731];
    Measured {
        elapsed_ns: 10_013_000_000,
        thread_count: 2,
        effective_affinity: Some(model::affinity::compact([(0, 0), (0, 1)])),
        cpus: vec![
            usage(0, 28.75, 6.25, 22.50, 71.25),
            usage(1, 27.75, 6.00, 21.75, 72.25),
            usage(2, 1.25, 0.50, 0.75, 98.75),
            usage(3, 0.86, 0.25, 0.61, 99.14),
        ],
        cpu_average: usage(0, 14.65, 3.25, 11.40, 85.35),
        rows: vec![row(0, "data.bin", 1 << 30, &first), row(1, "data.bin", 1 << 30, &second)],
        total: Directions {
            total: full(cells(728_735_744, 88_957, 69.41, 8884.15), 0.888, 402.88, 0.405),
            read: full(cells(509_845_504, 62_237, 48.56, 6215.62), 0.866, 312.45, 0.409),
            write: full(cells(218_890_240, 26_720, 20.85, 2668.53), 0.937, 150.09, 0.392),
        },
        total_latency: Some(Directions {
            read: Some(latencies(read)),
            write: Some(latencies(write)),
            total: Some(latencies(total)),
        }),
        is_latency_run: true,
        ..Measured::default()
    }
}

/// The one timespan of a result, to be changed.
pub(crate) fn measured(result: &mut RunResult) -> &mut Measured {
    result.time_spans[0].measured.as_mut().expect("the example was measured")
}
