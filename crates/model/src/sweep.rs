//! A sweep: many runs of one profile that differ in a few options, and their combined results.
//!
//! This is also the form of `sweep.json`; additions do not change the meaning of what is there.

use crate::ab::AbAnswer;
use crate::finding::Finding;
use crate::headline::Headline;
use crate::interference::{Interference, StreamInRun};
use crate::limit::{LimitFound, LimitSample};
use crate::metric::{Metric, Scope};
use serde::{Deserialize, Serialize};

/// Value of `schema` in every file of a sweep or repeat.
pub const SWEEP_SCHEMA: &str = "diskspd-sweep";

/// Version of the files that are written.
pub const SWEEP_SCHEMA_VERSION: u32 = 2;

/// Marker of files of version 1, in the field `form` instead.
pub const SWEEP_FORM_1: &str = "diskspd-sweep/1";

/// One option with one value: `o`, `8`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The option without its dashes.
    pub name: String,
    /// Its value, as it is typed.
    pub value: String,
}

impl Setting {
    /// Name of the setting that stands for a side of `ab`, whose options may be any.
    pub const SIDE: &str = "side";
    /// Name of the setting that stands for the streams of a run of `interference`.
    pub const STREAM: &str = "stream";
    /// Where I/Os fall: `seq`, `random` or `interlocked`.
    pub const PATTERN: &str = "pattern";
    /// The target; the value is its path.
    pub const TARGET: &str = "target";
    /// The number of targets of the load that are used.
    pub const TARGETS: &str = "targets";
    /// Options of several letters with one dash. A test of `cli` compares them with its table.
    pub const SHORT: [&str; 15] =
        ["rs", "rd", "si", "au", "oc", "bs", "Zr", "Rp", "Rs", "vs", "ys", "yf", "yr", "yp", "ye"];
    /// The value of an option without values that is not given.
    pub const OFF: &str = "off";
    /// The value of an option without values that is given.
    pub const ON: &str = "on";

    /// The option without a value, as it is typed: `-o`, `-rs`, `--rate`; the name alone if it is not an option.
    pub fn dashed(name: &str) -> String {
        if [Self::SIDE, Self::STREAM, Self::PATTERN, Self::TARGET, Self::TARGETS].contains(&name) {
            name.to_owned()
        } else if name.chars().count() == 1 || Self::SHORT.contains(&name) {
            format!("-{name}")
        } else {
            format!("--{name}")
        }
    }

    /// The difference of a side of `ab`, as it is typed: hosts, options and target, as far as they were given.
    pub fn typed_side(hosts: Option<&str>, options: Option<&str>, target: Option<&str>) -> String {
        let named = |name: &str, value: &str| Self { name: name.to_owned(), value: value.to_owned() }.typed();
        let hosts = hosts.map(|hosts| named("on", hosts));
        let target = target.map(|target| named(Self::TARGET, target));
        let options = options.filter(|options| !options.is_empty()).map(str::to_owned);
        [hosts, options, target].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// As it is typed: `-o8`, `-rs50`, `--rate=8`; `target=a.dat` if it is not an option.
    pub fn typed(&self) -> String {
        let Self { name, value } = self;
        let dashed = Self::dashed(name);
        match (name.as_str(), value.as_str()) {
            (Self::PATTERN, "random") => "-r".to_owned(),
            (Self::PATTERN, "interlocked") => "-si".to_owned(),
            // No I/O is random.
            (Self::PATTERN, _) | ("rs", "0") => "-s".to_owned(),
            (_, Self::ON) => dashed,
            (_, Self::OFF) => format!("no {dashed}"),
            _ if dashed.starts_with("--") || !dashed.starts_with('-') => format!("{dashed}={value}"),
            _ => format!("{dashed}{value}"),
        }
    }

    /// Settings as they are typed, with blanks between them.
    pub fn typed_all(settings: &[Self]) -> String {
        settings.iter().map(Self::typed).collect::<Vec<_>>().join(" ")
    }

    /// True if the option sets the queue depth or the number of threads.
    pub fn is_depth(&self) -> bool {
        ["o", "O", "t", "F"].contains(&self.name.as_str())
    }
}

/// One combination of values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// In the order of the axes.
    pub settings: Vec<Setting>,
}

/// Order in which points are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were given.
    #[default]
    Given,
    /// Shuffled again for each round.
    Random,
    /// Forth and back in turn.
    Abba,
}

/// When a sweep ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Extent {
    /// All points.
    #[default]
    Whole,
    /// Points, in the order given, until throughput no longer grows.
    UntilFlat,
    /// Runs of one point until the mean of a figure is known to within this share of it.
    UntilSure {
        /// The I/Os of a latency; all = each part that the application waits for.
        scope: Scope,
        /// The figure.
        figure: Metric,
        /// From 0 to 1.
        share: f64,
    },
    /// Rounds of one point until it is in a steady state.
    UntilSteady,
    /// Rounds over points: each is a stream alone, but the last all together.
    Streams,
    /// Pairs of runs of two points, in random order, until their difference is decided, at most as many as there
    /// are runs of a point.
    Pairs {
        /// True: all pairs, whatever their results.
        is_fixed: bool,
        /// Relative difference within which the two count as equivalent.
        margin: f64,
    },
}

/// Why a run was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A run of the full length.
    Measure,
    /// A short look (`--probe`).
    Probe,
    /// A repeat, because the run of the point was disturbed or lay off the curve.
    Again,
    /// A probed point that matters, at the length of `--confirm`.
    Confirm,
    /// The targets were written before the first run (`--precondition`).
    Precondition,
    /// The load without a rate: what the target can do (`--limit`).
    Capacity,
}

/// One run of one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Visit {
    /// Index of the point.
    pub point: usize,
    /// Which run of it with this purpose, from 0.
    pub run: u32,
    /// Why it was made.
    pub purpose: Purpose,
    /// How it went.
    pub outcome: VisitOutcome,
    /// Its result against the limits of a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitSample>,
    /// I/Os per second of the last third of a run without a rate (purpose `capacity`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sustained_iops: Option<f64>,
    /// Figures of each stream, if the load has streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamInRun>,
}

/// How the run of a point went.
#[expect(clippy::large_enum_variant, reason = "nearly all of them are measured")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum VisitOutcome {
    /// It has figures.
    Measured {
        /// The file with the whole result, in the sweep's directory.
        file: String,
        /// The figures.
        headline: Headline,
    },
    /// It failed.
    Failed {
        /// Sentences.
        reasons: Vec<String>,
    },
}

impl Visit {
    /// False for runs that prepared the targets or found their capacity, which belong to no point.
    pub fn is_of_point(&self) -> bool {
        !matches!(self.purpose, Purpose::Precondition | Purpose::Capacity)
    }

    /// Its figures, if it has any.
    pub fn headline(&self) -> Option<&Headline> {
        match &self.outcome {
            VisitOutcome::Measured { headline, .. } => Some(headline),
            VisitOutcome::Failed { .. } => None,
        }
    }
}

/// The request of a sweep, and its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Always `diskspd-sweep`.
    #[serde(default)]
    pub schema: String,
    /// Version of this format. Fields may be added to a version.
    #[serde(default)]
    pub schema_version: u32,
    /// The program: its version and a checksum of its file.
    pub program: String,
    /// The arguments after `diskspd sweep`, without those for output files.
    pub words: Vec<String>,
    /// Where a random order of runs begins: drawn anew for each series; null in files of older versions.
    #[serde(default)]
    pub order_seed: Option<u32>,
    /// The load of the first point on a line; empty in files of older versions.
    #[serde(default)]
    pub load: String,
    /// All points.
    pub points: Vec<Point>,
    /// All runs, in the order in which they were made.
    pub visits: Vec<Visit>,
    /// Physical devices below the targets and copies of each written block (`--ssds`, `--copies`).
    pub devices: Option<DeviceCount>,
    /// The best depth for each series of depths; empty until the sweep is complete.
    pub depths: Vec<DepthSeries>,
    /// The highest rate that meets the limits, if it was searched for and the search has ended.
    #[serde(default)]
    pub limit: Option<LimitFound>,
    /// Steady state of the rounds, reached or not; null unless requested and ended.
    #[serde(default)]
    pub steady_state: Option<SteadyState>,
    /// Result of the pairs of two sides, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ab: Option<AbAnswer>,
    /// Result of running streams alone and together, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interference: Option<Interference>,
    /// Points that no other point of the same load (-w, patterns) beats in IOPS (MiB/s for blocks of 128 KiB and more, or of
    /// several sizes), mean latency and CPU usage together; empty until the sweep is complete.
    #[serde(default)]
    pub front: Vec<usize>,
    /// Where throughput stops growing, for each series of block sizes; empty until the sweep is complete, and where
    /// depth varies.
    #[serde(default)]
    pub block_sizes: Vec<BlockSeries>,
    /// Findings about the runs as a whole, such as differences between them and noise.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl Sweep {
    /// The arguments of the method itself, without those of its load.
    pub fn own_words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str).take_while(|word| *word != "--")
    }

    /// The figures of all runs of points, in the order in which they were made.
    pub fn measured(&self) -> impl Iterator<Item = &Headline> {
        let visits = self.visits.iter().filter(|visit| visit.is_of_point());
        visits.filter_map(Visit::headline)
    }

    /// Indices of points, from every place that has one.
    pub fn named_points(&self) -> impl Iterator<Item = usize> {
        let depths = self.depths.iter().flat_map(|series| series.points.iter().copied().chain(series.recommended));
        let blocks = self.block_sizes.iter().flat_map(|series| {
            let knee = series.knee.iter().filter_map(|knee| match knee {
                BlockKnee::At { point, .. } => Some(*point),
                BlockKnee::StillRising { .. } => None,
            });
            series.points.iter().copied().chain(knee)
        });
        let limit = self.limit.iter().flat_map(|found| {
            let noise = found.noise.into_iter().flat_map(|noise| [noise.first, noise.last]);
            found.holds.into_iter().chain(found.fails).chain(noise)
        });
        let visits = self.visits.iter().map(|visit| visit.point);
        visits.chain(self.front.iter().copied()).chain(depths).chain(blocks).chain(limit)
    }
}

impl Sweep {
    /// Complete pairs of the first two points, in the order of their numbers.
    pub fn pairs(&self) -> Vec<(&Headline, &Headline)> {
        let headline_of_run = |point: usize, run: u32| {
            let is_it = |visit: &&Visit| visit.is_of_point() && (visit.point, visit.run) == (point, run);
            self.visits.iter().find(is_it).and_then(Visit::headline)
        };
        let mut runs: Vec<u32> = self.visits.iter().map(|visit| visit.run).collect();
        runs.sort_unstable();
        runs.dedup();
        runs.into_iter().filter_map(|run| headline_of_run(0, run).zip(headline_of_run(1, run))).collect()
    }
}

/// The devices below the targets, for figures per device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceCount {
    /// Devices.
    pub ssds: u32,
    /// Copies of each written block.
    pub copies: u32,
}

/// Points that differ in depth only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DepthSeries {
    /// The settings that they share.
    pub settings: Vec<Setting>,
    /// The points, by rising depth.
    pub points: Vec<usize>,
    /// The two depths; `None` where there are too few points to tell.
    pub knee: Option<Knee>,
    /// The point to use: the best of the efficient depth, or one of this series that beats it in all figures.
    #[serde(default)]
    pub recommended: Option<usize>,
}

/// Points that differ in block size only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockSeries {
    /// The settings that they share.
    pub settings: Vec<Setting>,
    /// The points, by rising block size.
    pub points: Vec<usize>,
    /// Where throughput stops growing; `None` with too few block sizes to tell.
    pub knee: Option<BlockKnee>,
}

/// Where throughput stops to grow with the block size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BlockKnee {
    /// At the smallest block within 5 % (and noise) of a plateau.
    At {
        /// The point to use: that block size, or one of this series that beats it in all figures.
        point: usize,
        /// The height of the plateau in bytes per second.
        plateau_bytes_per_s: f64,
    },
    /// There is no plateau among the block sizes that were tried.
    StillRising {
        /// Gain from doubling the largest block, as a percentage of its throughput.
        doubling_percent: f64,
    },
}

/// The two depths that matter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// The most throughput per latency: the largest power in Kleinrock's sense.
    pub efficient: DepthEstimate,
    /// The depth at which throughput stops growing.
    pub saturation: Saturation,
}

/// A depth, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DepthEstimate {
    /// The depth, all threads and targets together.
    pub depth: u32,
    /// Lower end of its 95 % confidence interval.
    pub low: u32,
    /// Upper end.
    pub high: u32,
    /// True if it is the smallest or the largest depth tried, so that the best depth may lie outside the range.
    pub is_at_edge: bool,
}

/// Where throughput stops to grow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Saturation {
    /// At the smallest depth within 5 % (and noise) of a plateau, not below the efficient depth.
    At {
        /// That depth.
        depth: DepthEstimate,
        /// The height of the plateau in I/Os per second.
        plateau_iops: f64,
    },
    /// The depths tried show no plateau.
    StillRising {
        /// Gain from doubling the largest depth, as a percentage of its throughput.
        doubling_percent: f64,
    },
}

/// The last rounds of a load that was run until it was steady, and what they say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyState {
    /// False if the rounds ended before that.
    pub is_reached: bool,
    /// The first and the last of the rounds that were evaluated, numbered from 1.
    pub rounds: (u32, u32),
    /// Mean of their I/Os per second.
    pub mean_iops: f64,
    /// Largest minus smallest, as a percentage of the mean.
    pub range_percent: f64,
    /// Rise or fall of a line fitted through them, from the first to the last, as a percentage of the mean.
    pub rise_percent: f64,
    /// Other requirements of SNIA's performance test specification, as sentences.
    pub missing: Vec<String>,
}

/// The kind of a series of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// Points of a sweep.
    Sweep,
    /// Runs of the same load.
    Repeat,
    /// Pairs of runs of two sides.
    Ab,
    /// Streams alone and together.
    Interference,
}

impl SeriesKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sweep, Self::Repeat, Self::Ab, Self::Interference];

    /// The subcommand.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Repeat => "repeat",
            Self::Ab => "ab",
            Self::Interference => "interference",
        }
    }

    /// The file with the progress of the series.
    pub fn file(self) -> String {
        format!("{}.json", self.name())
    }
}
