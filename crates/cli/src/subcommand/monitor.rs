//! Arguments of `diskspd monitor`.

use super::{Arguments, TypedArguments};
use crate::performance_counter::{self, CounterList};
use crate::request::Environment;
use crate::{decimal, file_name};
use model::performance_counter::CounterPattern;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// The shortest interval: the kernel counts times in milliseconds, too coarse for shorter ones.
pub const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// The longest interval: a day.
pub const INTERVAL_MAX: Duration = Duration::from_hours(24);

/// Show block device activity: a live table, CSV, JSON lines
///
/// Shows block device activity per interval, from the kernel's counters: reads and writes per second, MiB/s, mean
/// latencies, queue length, merges, discards, flushes and percent busy. In a terminal it is a live table, otherwise a
/// table per interval; --csv, --output and counters give comma-separated values in typeperf format.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd monitor [DEVICE... | all] [--interval TIME] [--samples N]
       diskspd monitor [DEVICE...] --csv | --jsonl [--output FILE] [--counters LIST]...
       diskspd monitor [DEVICE...] --record FILE
       diskspd monitor [DEVICE...] --histogram [--interval TIME] [--samples N]",
    after_help = "Also accepted, as in typeperf: -si [[HH:]MM:]SS for --interval, -sc N for --samples, -o FILE, -f CSV, -y \
                  for --replace-output, and counters as arguments that begin with \\.\n\nKeys in the table: q quits, p or \
                  space pauses, arrows or s choose the sort column, r reverses the order, / filters by name, ? shows help."
)]
pub(super) struct MonitorArguments {
    /// the kernel's name of a device, or a path that leads to it: sda, /dev/nvme0n1p2, /dev/disk/by-id/...,
    /// /dev/mapper/..., a file or a mount point on it; all = every device, including partitions. Default: whole disks,
    /// RAIDs and volumes, and loop devices and RAM disks with any I/O so far
    #[arg(value_name = "DEVICE")]
    devices: Vec<OsString>,
    /// length of an interval, 100ms or more (default 1s)
    #[arg(short, long, value_name = "TIME", value_parser = interval)]
    interval: Option<Duration>,
    /// stop after N intervals (default: at Ctrl+C)
    #[arg(short = 'n', long, value_name = "N", value_parser = samples)]
    samples: Option<u64>,
    /// print comma-separated values in typeperf format
    #[arg(long)]
    csv: bool,
    /// print JSON lines: one object per interval with all devices (docs/formats/monitor.md)
    #[arg(long, conflicts_with = "csv")]
    jsonl: bool,
    /// write to this file instead of stdout; the suffix .jsonl or .json implies --jsonl. An existing file is replaced only
    /// if it is empty or has the same format
    #[arg(short, long, value_name = "FILE", value_parser = file_name::path())]
    output: Option<PathBuf>,
    /// counters by their Windows names, with * for any characters, separated by commas or given again:
    /// "\LogicalDisk(*)\Avg. Disk sec/Read". PhysicalDisk covers disks; LogicalDisk covers partitions, volumes, RAIDs,
    /// loop devices, and disks with a mounted file system, also by mount point: "\LogicalDisk(/var/lib)\*". More
    /// objects: Processor, Memory, Network Interface, SMB Client Shares, NFS Client Shares, Storage Cache
    /// (docs/monitor.md). The _Total instance covers all of its object. Printed as with --csv
    #[arg(short, long, value_name = "COUNTERS", value_parser = performance_counter::parse_list)]
    counters: Vec<CounterList>,
    /// record the intervals in a file, from which diskspd report FILE --output x.html draws charts; the live table or text
    /// output continues. An existing file is replaced only if it is empty or a recording
    #[arg(long, value_name = "FILE", value_parser = file_name::path_alone())]
    record: Option<PathBuf>,
    /// let --output and --record replace any regular file
    #[arg(long)]
    replace_output: bool,
    /// print latency distributions of reads and writes, per disk, from issue to completion in the block layer: one table
    /// at the end or, with --interval, one per interval. Needs eBPF (root, or CAP_BPF and CAP_PERFMON) and tracefs
    #[arg(long)]
    histogram: bool,
}

/// Devices to watch and the form of the output.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchRequest {
    /// The devices to watch.
    pub devices: DevicesAsked,
    /// Length of an interval.
    pub interval: Duration,
    /// Number of intervals; `None` = until interrupted.
    pub sample_count: Option<u64>,
    /// `--csv` or `--jsonl`; `None` = depends on stdout.
    pub lines: Option<LineForm>,
    /// `--output`
    pub output: Option<PathBuf>,
    /// `--counters`; none = the usual ones.
    pub counters: Vec<CounterPattern>,
    /// `--record`
    pub record: Option<PathBuf>,
    /// `--replace-output`
    pub replace_output: bool,
    /// `--histogram`
    pub histogram: Option<Histograms>,
}

/// The time at which latency distributions are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Histograms {
    /// After each interval, for that interval.
    EachInterval,
    /// Once, for the whole time.
    AtTheEnd,
}

/// The devices to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DevicesAsked {
    /// The default devices.
    Usual,
    /// Every one.
    All,
    /// These: names and paths, at least one.
    These(Vec<PathBuf>),
}

/// An output format for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineForm {
    /// Comma-separated values in the form of typeperf.
    Csv,
    /// JSON lines.
    Json,
}

impl Arguments for MonitorArguments {
    type Request = WatchRequest;

    /// Options of typeperf have several letters after one dash.
    fn in_usual_form(_: &clap::Command, args: &[OsString]) -> Result<Vec<OsString>, String> {
        let mut usual = Vec::new();
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let Some(option @ ("-si" | "-sc" | "-f" | "-y" | "-cf" | "-q" | "-qx" | "-s" | "-config" | "--")) =
                arg.to_str()
            else {
                usual.push(arg.clone());
                continue;
            };
            let mut value = || {
                let value = rest.next().ok_or_else(|| format!("option '{option}': the value is missing"))?;
                value.to_str().ok_or_else(|| format!("{option} '{}' is not valid UTF-8", value.display()))
            };
            match option {
                "-si" => usual.push(format!("--interval={}s", clock_time(value()?)?).into()),
                "-sc" => usual.push(format!("--samples={}", value()?).into()),
                "-f" => match value()? {
                    form if form.eq_ignore_ascii_case("csv") => usual.push("--csv".into()),
                    form => return Err(format!("-f {form} is not supported; use -f CSV, or --jsonl for programs")),
                },
                "-y" => usual.push("--replace-output".into()),
                "--" => {
                    usual.push(arg.clone());
                    usual.extend(rest.by_ref().cloned());
                }
                _ => return Err(format!("{option} of typeperf is not supported; name counters with --counters")),
            }
        }
        Ok(usual)
    }

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<WatchRequest, String> {
        let Self { mut output, counters, record, replace_output, .. } = self;
        let mut counters: Vec<CounterPattern> = counters.into_iter().flat_map(|list| list.0).collect();
        let mut devices = Vec::new();
        for word in self.devices {
            match word.to_str().filter(|word| word.starts_with('\\')) {
                Some(counter) => counters.push(performance_counter::parse(counter)?),
                None => devices.push(PathBuf::from(word)),
            }
        }
        // Lines go to stdout anyway, in the format of a file.
        let is_stdout = output.take_if(|path| path.as_os_str() == "-").is_some();
        let suffix = output.as_deref().and_then(|path| path.extension()).and_then(OsStr::to_str);
        let is_json = suffix.is_some_and(|suffix| ["jsonl", "json", "ndjson"].contains(&suffix));
        let lines = if self.csv {
            Some(LineForm::Csv)
        } else if self.jsonl || is_json {
            Some(LineForm::Json)
        } else {
            (is_stdout || output.is_some() || !counters.is_empty()).then_some(LineForm::Csv)
        };
        if lines == Some(LineForm::Json) && !counters.is_empty() {
            return Err("--counters selects --csv columns; --jsonl always has all counters".to_owned());
        }
        if record.is_some() && record == output {
            return Err("--record and --output cannot be the same file".to_owned());
        }
        if self.histogram && (lines.is_some() || record.is_some()) {
            return Err(
                "--histogram cannot be combined with --csv, --jsonl, --output, --counters or --record".to_owned()
            );
        }
        let when = if self.interval.is_some() { Histograms::EachInterval } else { Histograms::AtTheEnd };
        Ok(WatchRequest {
            devices: devices_asked(devices)?,
            interval: self.interval.unwrap_or(Duration::from_secs(1)),
            sample_count: self.samples,
            lines,
            output,
            counters,
            record,
            replace_output,
            histogram: self.histogram.then_some(when),
        })
    }
}

fn devices_asked(devices: Vec<PathBuf>) -> Result<DevicesAsked, String> {
    let is_all = devices.iter().any(|device| device.as_os_str() == "all");
    match devices {
        devices if devices.is_empty() => Ok(DevicesAsked::Usual),
        devices if is_all && devices.len() > 1 => {
            Err(format!("'all' already includes every device; remove the others ({} given)", devices.len() - 1))
        }
        _ if is_all => Ok(DevicesAsked::All),
        devices => Ok(DevicesAsked::These(devices)),
    }
}

/// `[[HH:]MM:]SS`
fn clock_time(text: &str) -> Result<u64, String> {
    let wrong = || format!("-si '{text}' is not a time (expected: seconds, minutes:seconds or hours:minutes:seconds)");
    let mut seconds = 0u64;
    if text.split(':').count() > 3 {
        return Err(wrong());
    }
    for part in text.split(':') {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = part.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
        seconds = seconds.checked_mul(60).and_then(|seconds| seconds.checked_add(number)).ok_or_else(wrong)?;
    }
    Ok(seconds)
}

fn interval(text: &str) -> Result<Duration, String> {
    match decimal::duration(text)? {
        short if short < INTERVAL_MIN => Err(format!("'{text}': the interval must be at least 100ms")),
        long if long > INTERVAL_MAX => Err(format!("'{text}': the interval must be at most 24h")),
        fitting => Ok(fitting),
    }
}

fn samples(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|count| *count > 0);
    number.ok_or_else(|| format!("'{text}' is not a number of samples (expected: 1 or more)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed_words;

    fn parsed(words: &[&str]) -> Result<WatchRequest, String> {
        match typed_words("monitor", words)? {
            Subcommand::Monitor(request) => Ok(request),
            other => panic!("{other:?}"),
        }
    }

    fn line(line: &str) -> Result<WatchRequest, String> {
        parsed(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn words_are_read() {
        let usual = line("").expect("nothing is needed");
        assert_eq!((usual.devices, usual.interval), (DevicesAsked::Usual, Duration::from_secs(1)));
        assert_eq!((usual.sample_count, usual.lines, usual.output), (None, None, None));
        assert_eq!(line("all").expect("all").devices, DevicesAsked::All);
        let several = line("sda /dev/sdb -n3 --interval=250ms --jsonl --record r").expect("several");
        assert_eq!(several.devices, DevicesAsked::These(vec!["sda".into(), "/dev/sdb".into()]));
        assert_eq!((several.interval, several.sample_count), (Duration::from_millis(250), Some(3)));
        assert_eq!((several.lines, several.record), (Some(LineForm::Json), Some("r".into())));
        assert_eq!(line("-o a.jsonl").expect("a file").lines, Some(LineForm::Json));
        assert_eq!(line("-o a.csv").expect("a file").lines, Some(LineForm::Csv));
        assert_eq!(line("--help --csv"), Err("help".to_owned()));
    }

    #[test]
    fn typeperfs_own_options_are_read() {
        let request =
            parsed(&[r"\PhysicalDisk(*)\% Idle Time", "-si", "1:02:03", "-sc", "7", "-o", "a.csv", "-y", "-f", "CSV"]);
        let request = request.expect("a line that works on Windows");
        assert_eq!((request.interval, request.sample_count), (Duration::from_secs(3723), Some(7)));
        assert_eq!((request.counters.len(), request.lines), (1, Some(LineForm::Csv)));
        let twice = parsed(&["-c", r"\PhysicalDisk(*)\*/Read,\LogicalDisk(*)\% Idle Time", r"\PhysicalDisk\%*"]);
        assert_eq!(twice.expect("three").counters.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (words, expected) in [
            ("--interval 99ms", "the interval must be at least 100ms"),
            ("--interval 25h", "the interval must be at most 24h"),
            ("--interval x", "--interval 'x' is not a time"),
            ("-i 1s -si 2", "--interval was already given"),
            ("-si 1:2:3:4", "-si '1:2:3:4' is not a time"),
            ("-si 1s", "-si '1s' is not a time"),
            ("-si", "option '-si': the value is missing"),
            ("-sc 0", "--samples '0' is not a number of samples"),
            ("-n -1", "'-1' is not a number of samples"),
            ("-f TSV", "-f TSV is not supported; use -f CSV"),
            ("--csv --jsonl", "--csv cannot be combined with --jsonl"),
            ("--jsonl -c \\PhysicalDisk\\*", "--counters selects --csv columns"),
            ("-o a --record a", "cannot be the same file"),
            ("all sda", "'all' already includes every device"),
            ("-c x", "'x' is not a counter"),
            ("-qx", "-qx of typeperf is not supported"),
            ("--jason", "invalid option '--jason'"),
            ("--intervall 1s", "invalid option '--intervall' (did you mean --interval?)"),
        ] {
            let failure = line(words).expect_err(words);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{words}: {failure}");
            assert!(failure.ends_with("see diskspd monitor --help"), "{words}: {failure}");
        }
    }
}
