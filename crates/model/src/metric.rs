//! The metrics of a run: their names, units and meanings, and which loads have them.
//!
//! A [`MetricName`] is a [`Metric`] of a [`Scope`]: `commit.p99` is the 99th percentile of commits. Options, results, tables and
//! the documentation take both from the tables here.

use crate::limits::COMMIT_WRITES_MAX;
use crate::operation::Operation;
use crate::plan::OpenPlan;
use crate::profile::{FlushMode, StreamName, Target, TimeSpan};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A statistic of the I/Os of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// I/Os per second.
    Iops,
    /// MiB per second.
    MibPerS,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 90th percentile of the latency.
    P90,
    /// 95th percentile of the latency.
    P95,
    /// 99th percentile of the latency.
    P99,
    /// 99.9th percentile of the latency.
    P999,
    /// 99.99th percentile of the latency.
    P9999,
    /// 99.999th percentile of the latency.
    P99999,
    /// Highest latency.
    Max,
    /// Mean usage of all CPUs.
    Cpu,
    /// The same without other programs.
    IoCpu,
}

/// Unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricUnit {
    /// I/Os per second.
    IosPerSecond,
    /// MiB per second.
    MibPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Percent.
    Percent,
}

impl MetricUnit {
    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IosPerSecond => "1/s",
            Self::MibPerSecond => "MiB/s",
            Self::Nanoseconds => "ns",
            Self::Percent => "%",
        }
    }

    /// A value with its unit, exact to six decimals: `12.5 ms`, `5234.1 I/O per s`.
    pub fn shown(self, value: f64) -> String {
        let (scale, unit) = match self {
            Self::IosPerSecond => (1.0, "I/O per s"),
            Self::MibPerSecond => (1.0, "MiB/s"),
            Self::Percent => (1.0, "%"),
            Self::Nanoseconds if value < 1e6 => (1e3, "µs"),
            Self::Nanoseconds if value < 1e9 => (1e6, "ms"),
            Self::Nanoseconds => (1e9, "s"),
        };
        let decimals = if self == Self::Nanoseconds { 6 } else { 3 };
        let number = format!("{:.decimals$}", value / scale);
        format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// A row of the table of statistics.
struct Row {
    name: &'static str,
    /// In tables, with the unit.
    heading: &'static str,
    unit: MetricUnit,
    /// Of a percentile, in parts per billion.
    rank_ppb: Option<u64>,
    meaning: &'static str,
}

impl Metric {
    /// All, in the order of tables.
    pub const ALL: [Self; 13] = [
        Self::Iops,
        Self::MibPerS,
        Self::Mean,
        Self::P50,
        Self::P90,
        Self::P95,
        Self::P99,
        Self::P999,
        Self::P9999,
        Self::P99999,
        Self::Max,
        Self::Cpu,
        Self::IoCpu,
    ];

    const fn row(self) -> Row {
        type Text = &'static str;
        const fn row(name: Text, heading: Text, unit: MetricUnit, meaning: Text) -> Row {
            Row { name, heading, unit, rank_ppb: None, meaning }
        }
        const fn latency(name: Text, heading: Text, meaning: Text) -> Row {
            row(name, heading, MetricUnit::Nanoseconds, meaning)
        }
        const fn percentile(rank_ppb: u64, name: Text, heading: Text, meaning: Text) -> Row {
            Row { rank_ppb: Some(rank_ppb), ..latency(name, heading, meaning) }
        }
        match self {
            Self::Iops => row("iops", "IOPS", MetricUnit::IosPerSecond, "I/Os per second"),
            Self::MibPerS => row("bandwidth", "MiB/s", MetricUnit::MibPerSecond, "throughput (also: mib)"),
            Self::Mean => latency("mean", "mean ms", "mean latency"),
            Self::P50 => percentile(500_000_000, "p50", "p50 ms", "median latency"),
            Self::P90 => percentile(900_000_000, "p90", "p90 ms", "90th percentile of the latency"),
            Self::P95 => percentile(950_000_000, "p95", "p95 ms", "95th percentile of the latency"),
            Self::P99 => percentile(990_000_000, "p99", "p99 ms", "99th percentile of the latency"),
            Self::P999 => percentile(999_000_000, "p99.9", "p99.9 ms", "99.9th percentile of the latency"),
            Self::P9999 => percentile(999_900_000, "p99.99", "p99.99 ms", "99.99th percentile of the latency"),
            Self::P99999 => percentile(999_990_000, "p99.999", "p99.999 ms", "99.999th percentile of the latency"),
            Self::Max => latency("max", "max ms", "highest latency"),
            Self::Cpu => row("cpu", "CPU %", MetricUnit::Percent, "mean usage of all CPUs"),
            Self::IoCpu => row(
                "io-cpu",
                "I/O CPU %",
                MetricUnit::Percent,
                "the part of cpu that is not other programs': diskspd, kernel threads, interrupts",
            ),
        }
    }

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Its name in tables, with its unit.
    pub const fn heading(self) -> &'static str {
        self.row().heading
    }

    /// The unit of its values.
    pub const fn unit(self) -> MetricUnit {
        self.row().unit
    }

    /// The rank of a percentile in parts per billion.
    pub const fn rank_ppb(self) -> Option<u64> {
        self.row().rank_ppb
    }

    /// Its definition, for the documentation.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// The metric with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = if name == "mib" { Self::MibPerS.name() } else { name };
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// True if it is known only where latencies are measured (`-L`).
    pub fn needs_latency(self) -> bool {
        self.unit() == MetricUnit::Nanoseconds
    }

    /// True if it is of the machine, not of some of the I/Os.
    pub const fn is_of_machine(self) -> bool {
        matches!(self, Self::Cpu | Self::IoCpu)
    }

    /// True if more of it is better.
    pub const fn is_more_better(self) -> bool {
        matches!(self, Self::Iops | Self::MibPerS)
    }
}

/// A statistic of the I/Os of a scope, all streams together.
pub type ScopedMetric = (Scope, Metric);

/// These metrics: latencies of each of the scopes, everything else of all reads and writes.
pub fn scoped(metrics: &[Metric], scopes: &[Scope]) -> Vec<ScopedMetric> {
    let of_metric = |metric: &Metric| {
        let scopes = if metric.needs_latency() { scopes } else { &[Scope::All] };
        let metric = *metric;
        scopes.iter().map(move |scope| (*scope, metric))
    };
    metrics.iter().flat_map(of_metric).collect()
}

/// Which I/Os a metric is about, and from when to when they are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Reads and writes.
    #[default]
    All,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Discards.
    Discard,
    /// Write-zeroes.
    WriteZeroes,
    /// Calls of `fdatasync` or `fsync`, alone.
    Flush,
    /// Writes until they are durable.
    Commit,
    /// Reads and writes from their intended start.
    Response,
    /// Reads from their intended start.
    #[serde(rename = "response.read")]
    ReadResponse,
    /// Writes from their intended start.
    #[serde(rename = "response.write")]
    WriteResponse,
}

/// Requirement of a metric with the name of a stream.
const STREAM_NEEDS: &str = "a stream of this name (--stream)";

/// A row of the table of scopes.
struct ScopeRow {
    prefix: &'static str,
    /// In brackets behind a statistic.
    words: &'static str,
    meaning: &'static str,
    /// The loads that have it, for the documentation and for errors.
    needs: &'static str,
    /// The statistics that it has, beside latencies.
    rates: &'static [Metric],
}

impl Scope {
    /// All, in the order of documents.
    pub const ALL: [Self; 10] = [
        Self::All,
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::WriteZeroes,
        Self::Flush,
        Self::Commit,
        Self::Response,
        Self::ReadResponse,
        Self::WriteResponse,
    ];

    const fn row(self) -> ScopeRow {
        const RATES: &[Metric] = &[Metric::Iops, Metric::MibPerS];
        const fn scope(prefix: &'static str, words: &'static str, meaning: &'static str) -> ScopeRow {
            ScopeRow { prefix, words, meaning, needs: "", rates: RATES }
        }
        match self {
            Self::All => ScopeRow {
                needs: "-",
                rates: &[Metric::Iops, Metric::MibPerS, Metric::Cpu, Metric::IoCpu],
                ..scope("", "", "all reads and writes")
            },
            Self::Read => ScopeRow { needs: "reads (-w below 100)", ..scope("read.", "read", "reads") },
            Self::Write => {
                ScopeRow { needs: "writes (-w)", ..scope("write.", "write", "writes, without the flush after them") }
            }
            Self::Discard => ScopeRow { needs: "discards (--discard)", ..scope("discard.", "discard", "discards") },
            Self::WriteZeroes => ScopeRow {
                needs: "write-zeroes (--write-zeroes)",
                ..scope("write-zeroes.", "write-zeroes", "write-zeroes")
            },
            Self::Flush => ScopeRow {
                needs: "flushes (--fdatasync-every, --fsync-every)",
                rates: &[Metric::Iops],
                ..scope("flush.", "flush", "calls of fdatasync or fsync, alone; iops is flushes per second")
            },
            Self::Commit => ScopeRow {
                needs: "durable writes (--fdatasync-every or --fsync-every up to 65536, -Sw or -Sh)",
                rates: &[],
                ..scope(
                    "commit.",
                    "commit",
                    "writes, discards and write-zeroes, each from its start to the end of the first flush that began \
                     after its completion; without flushes (-Sw, -Sh) the write itself",
                )
            },
            Self::Response => ScopeRow {
                needs: "intended starts (--rate)",
                rates: &[],
                ..scope(
                    "response.",
                    "response",
                    "all reads and writes, each from its intended start; where flushes make writes durable, to the end \
                     of the commit",
                )
            },
            Self::ReadResponse => ScopeRow {
                needs: "intended starts (--rate) and reads",
                rates: &[],
                ..scope("response.read.", "response, read", "the reads of these")
            },
            Self::WriteResponse => ScopeRow {
                needs: "intended starts (--rate) and writes",
                rates: &[],
                ..scope("response.write.", "response, write", "the writes of these")
            },
        }
    }

    /// The text before the statistic: `commit.`; nothing for all reads and writes.
    pub const fn prefix(self) -> &'static str {
        self.row().prefix
    }

    /// The I/Os that it covers, for the documentation.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// The loads that have it.
    pub const fn needs(self) -> &'static str {
        self.row().needs
    }

    /// A statistic with the scope in brackets: `p99 ms (commit)`; as it is for all reads and writes.
    pub fn label(self, statistic: &str) -> String {
        match self {
            Self::All => statistic.to_owned(),
            scope => format!("{statistic} ({})", scope.row().words),
        }
    }

    /// True if there is such a metric in some load.
    pub fn has(self, metric: Metric) -> bool {
        metric.needs_latency() || self.row().rates.contains(&metric)
    }

    /// True if the load has such I/Os.
    pub fn is_in(self, span: &TimeSpan) -> bool {
        let any = |is_so: fn(&Target) -> bool| span.targets.iter().any(is_so);
        match self {
            Self::All => true,
            Self::Read => any(Target::reads),
            Self::Write => any(|target| target.shares().does(Operation::Write)),
            Self::Discard => any(|target| target.shares().does(Operation::Discard)),
            Self::WriteZeroes => any(|target| target.shares().does(Operation::WriteZeroes)),
            Self::Flush => span.flushes().is_some(),
            Self::Commit => match span.flushes() {
                Some((writes, _)) => writes <= COMMIT_WRITES_MAX,
                None => any(Target::writes) && span.targets.iter().all(|target| is_durable(span, target)),
            },
            Self::Response => span.rate_iops.is_some(),
            Self::ReadResponse => span.rate_iops.is_some() && Self::Read.is_in(span),
            Self::WriteResponse => span.rate_iops.is_some() && Self::Write.is_in(span),
        }
    }

    /// The I/Os that an application with this load waits for: the meaning of a latency without a scope. Several if it
    /// waits for different things.
    pub fn waited_for(span: &TimeSpan) -> Vec<Self> {
        let (is_mixed, has_commits) = (is_mixed(span), Self::Commit.is_in(span));
        let scopes: &[Self] = match (span.rate_iops, span.flushes()) {
            (Some(_), _) if is_mixed && has_commits => &[Self::ReadResponse, Self::WriteResponse],
            (Some(_), _) => &[Self::Response],
            (None, Some(_)) if !has_commits => &[Self::Read, Self::Write, Self::Flush],
            (None, Some((1, _))) => &[Self::Read, Self::Commit],
            // Some applications wait for the write alone, others until it is durable.
            (None, Some(_)) => &[Self::Read, Self::Write, Self::Commit],
            (None, None) => &[Self::All],
        };
        scopes.iter().copied().filter(|scope| scope.is_in(span)).collect()
    }

    /// The scopes in which a bound on a latency without a scope must hold: a fast part must not hide a slow one.
    pub fn bounded(span: &TimeSpan) -> Vec<Self> {
        let waited_for = Self::waited_for(span);
        if waited_for == [Self::All] && is_mixed(span) && Self::Commit.is_in(span) {
            return vec![Self::Read, Self::Commit];
        }
        waited_for
    }
}

fn is_mixed(span: &TimeSpan) -> bool {
    span.targets.iter().any(Target::reads) && span.targets.iter().any(Target::writes)
}

/// True if writes to the target are durable once they have ended.
fn is_durable(span: &TimeSpan, target: &Target) -> bool {
    let is_synced = target.memory_mapped && target.flush == Some(FlushMode::ViewOfFile) && !target.write_through;
    !target.writes() || OpenPlan::new(span, target).write_through || is_synced
}

/// A statistic of a scope: what an option, a result or a table names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricName {
    /// The stream; `None` = all.
    pub stream: Option<StreamName>,
    /// The I/Os that it is computed from.
    pub scope: Scope,
    /// The statistic.
    pub metric: Metric,
}

impl MetricName {
    /// A statistic of all reads and writes; of a latency, what the load resolves it to.
    pub const fn bare(metric: Metric) -> Self {
        Self { stream: None, scope: Scope::All, metric }
    }

    /// Reads a name.
    ///
    /// # Errors
    ///
    /// A sentence with the name and what would be right.
    pub fn parse(name: &str) -> Result<Self, String> {
        let (stream, scope, statistic) = if let Some((stream, statistic)) = name.split_once(':') {
            (Some(StreamName::parse(stream)?), Scope::All, statistic)
        } else {
            // `response.read.` begins with `response.`.
            let mut scopes = Scope::ALL.into_iter().rev();
            let found = scopes.find_map(|scope| Some((scope, name.strip_prefix(scope.prefix())?)));
            let (scope, statistic) = found.unwrap_or((Scope::All, name));
            (None, scope, statistic)
        };
        let has = |metric: &Metric| scope.has(*metric) && (stream.is_none() || !metric.is_of_machine());
        if let Some(metric) = Metric::from_name(statistic).filter(has) {
            return Ok(Self { stream, scope, metric });
        }
        let expected = Metric::ALL.into_iter().filter(has);
        let expected = expected.map(|metric| Self { stream: stream.clone(), scope, metric }.to_string());
        let mut expected = expected.collect::<Vec<_>>().join(", ");
        if stream.is_none() && scope == Scope::All {
            let prefixes: Vec<&str> = Scope::ALL[1..].iter().map(|scope| scope.prefix()).collect();
            let prefixes = prefixes.join(", ");
            expected += "; before one of them ";
            expected += &prefixes;
            expected += " or the name of a stream and a colon";
        }
        Err(format!("unknown metric '{name}' (expected: {expected})"))
    }

    /// Its meaning in a load: a latency without a scope is that of each part that the application waits for.
    ///
    /// # Errors
    ///
    /// A sentence with the requirement of the metric that the load does not meet.
    pub fn resolve(&self, span: &TimeSpan) -> Result<Vec<Self>, String> {
        let lacks = |needs: &str| Err(format!("the load has no {self}: it needs {needs}"));
        if self.stream.is_some() {
            let mut targets = span.targets.iter().filter(|target| target.stream == self.stream).peekable();
            if targets.peek().is_none() {
                return lacks(STREAM_NEEDS);
            }
            // Else a part of what is waited for would pass.
            let left_out = match self.metric.needs_latency() {
                true if span.rate_iops.is_some() => Some((Scope::Response, "the wait for a free request")),
                true if span.flushes().is_some() && targets.any(Target::writes) => Some((Scope::Commit, "the flush")),
                _ => None,
            };
            return match left_out {
                Some((scope, part)) => Err(format!(
                    "{self} leaves out {part}: use {}{}, which covers all streams together",
                    scope.prefix(),
                    self.metric.name()
                )),
                None => Ok(vec![self.clone()]),
            };
        }
        let scopes = match self.scope {
            Scope::All if self.metric.needs_latency() => Scope::bounded(span),
            scope if scope.is_in(span) => vec![scope],
            scope => return lacks(scope.needs()),
        };
        Ok(scopes.into_iter().map(|scope| Self { scope, ..self.clone() }).collect())
    }

    /// `p99 (commit)`, `p99 (log)`, `p99`, `iops`
    pub fn shown(&self) -> String {
        match &self.stream {
            Some(stream) => format!("{} ({stream})", self.metric.name()),
            None => self.scope.label(self.metric.name()),
        }
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stream {
            Some(stream) => write!(f, "{stream}:{}", self.metric.name()),
            None => write!(f, "{}{}", self.scope.prefix(), self.metric.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CacheMode, OfferedRate};

    #[test]
    fn names_lead_back_to_metrics() {
        for scope in Scope::ALL {
            for metric in Metric::ALL.into_iter().filter(|metric| scope.has(*metric)) {
                let name = MetricName { stream: None, scope, metric };
                assert_eq!(MetricName::parse(&name.to_string()), Ok(name));
            }
        }
        assert_eq!(MetricName::parse("log.1:p99").map(|name| name.to_string()), Ok("log.1:p99".to_owned()));
        assert_eq!(MetricName::parse("read.mib"), MetricName::parse("read.bandwidth"));
        for (text, expected) in [
            ("p98", "unknown metric 'p98' (expected: iops, bandwidth, mean, p50, "),
            ("p98", "; before one of them read., write., discard., "),
            ("commit.iops", "unknown metric 'commit.iops' (expected: commit.mean, commit.p50, "),
            ("flush.bandwidth", "(expected: flush.iops, flush.mean, "),
            ("read.cpu", "unknown metric 'read.cpu'"),
            ("log:cpu", "unknown metric 'log:cpu' (expected: log:iops, "),
            ("a b:p99", "'a b' is not a name of a stream"),
        ] {
            let reason = MetricName::parse(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }

    fn load(write_percent: u32, change: fn(&mut TimeSpan)) -> TimeSpan {
        let mut span = TimeSpan { targets: vec![Target::new("a")], ..TimeSpan::default() };
        span.targets[0].write_percent = write_percent;
        change(&mut span);
        span
    }

    #[test]
    fn a_bare_latency_is_what_the_application_waits_for() {
        let each = |span: &mut TimeSpan| span.flush_after_writes = Some(1);
        let rated = |span: &mut TimeSpan| span.rate_iops = Some(OfferedRate::Steady(100));
        let synced = |span: &mut TimeSpan| {
            span.targets[0].cache_mode = CacheMode::Unbuffered;
            span.targets[0].write_through = true;
        };
        for (span, expected) in [
            (load(30, |_| ()), "p99"),
            (load(100, each), "commit.p99"),
            (load(30, each), "read.p99 commit.p99"),
            (load(100, |span| span.fsync_after_writes = Some(100)), "write.p99 commit.p99"),
            (load(100, |span| span.flush_after_writes = Some(100_000)), "write.p99 flush.p99"),
            (load(0, rated), "response.p99"),
            (load(30, rated), "response.p99"),
            (
                load(30, |span| {
                    span.rate_iops = Some(OfferedRate::Steady(100));
                    span.flush_after_writes = Some(1);
                }),
                "response.read.p99 response.write.p99",
            ),
            (load(100, synced), "p99"),
            (load(30, synced), "read.p99 commit.p99"),
        ] {
            let names = MetricName::bare(Metric::P99).resolve(&span).expect("each load has latencies");
            assert_eq!(names.iter().map(MetricName::to_string).collect::<Vec<_>>().join(" "), expected);
            assert_eq!(MetricName::bare(Metric::Iops).resolve(&span), Ok(vec![MetricName::bare(Metric::Iops)]));
        }
    }

    #[test]
    fn a_metric_that_a_load_cannot_have_says_what_it_needs() {
        let refused = |name: &str, span: &TimeSpan| {
            MetricName::parse(name).expect("a name").resolve(span).expect_err("the load has none")
        };
        let reads = load(0, |_| ());
        assert_eq!(
            refused("commit.p99", &reads),
            "the load has no commit.p99: it needs durable writes (--fdatasync-every or --fsync-every up to 65536, -Sw or \
             -Sh)"
        );
        assert_eq!(refused("write.p99", &reads), "the load has no write.p99: it needs writes (-w)");
        assert!(refused("response.mean", &reads).ends_with("intended starts (--rate)"));
        assert!(refused("flush.iops", &load(100, |_| ())).contains("--fdatasync-every"));
        assert!(refused("log:iops", &reads).ends_with("a stream of this name (--stream)"));
        let log = |change: fn(&mut TimeSpan)| {
            let mut span = load(100, change);
            span.targets[0].stream = Some(StreamName::parse("log").expect("a name"));
            span
        };
        let each = log(|span| span.flush_after_writes = Some(1));
        assert_eq!(
            refused("log:p99", &each),
            "log:p99 leaves out the flush: use commit.p99, which covers all streams together"
        );
        let rated = log(|span| span.rate_iops = Some(OfferedRate::Steady(100)));
        assert!(refused("log:mean", &rated).contains("response.mean"));
        for (name, span) in [("log:iops", &each), ("log:p99", &log(|_| ()))] {
            let name = MetricName::parse(name).expect("a name");
            assert_eq!(name.resolve(span), Ok(vec![name]));
        }
    }

    #[test]
    fn values_are_shown_in_a_unit_that_fits_them() {
        let shown = |ns: f64| MetricUnit::Nanoseconds.shown(ns);
        assert_eq!(
            [shown(87_432.0), shown(10_000_400.0), shown(2_500_000_000.0)],
            ["87.432 µs", "10.0004 ms", "2.5 s"]
        );
        assert_eq!(shown(0.0), "0 µs");
        assert_eq!(MetricUnit::IosPerSecond.shown(5234.1166), "5234.117 I/O per s");
        assert_eq!(MetricUnit::IosPerSecond.shown(5000.0), "5000 I/O per s");
        assert_eq!(MetricUnit::MibPerSecond.shown(100.0), "100 MiB/s");
        assert_eq!(MetricUnit::Percent.shown(12.5), "12.5 %");
    }
}
