//! Arguments of `diskspd trace`.

use super::{Arguments, TypedArguments, with_load_last};
use crate::request::Environment;
use crate::{decimal, file_name, number};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// Record the I/O of an application, show it, replay it
///
/// record: writes each request to a block device, its time, size, place, kind and process, to a file. show: prints the
/// figures of a trace of diskspd, blktrace, fio or MSR Cambridge, and with --job writes the closest load. replay: issues
/// the requests of a trace again, at their times. With --trace FILE, any load records its own I/Os.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd trace record DEVICE|FILE|--pid PID [-d60] --output t.iotrace
       diskspd trace show TRACE... [--job job.toml] [--json FILE] [--output page.html]
       diskspd trace replay TRACE [--closed] [--threads N] [options of a load] <target>",
    after_help = "Exit status of show: 0 if the whole trace was read; 1 if part of it is damaged (the figures are those of the \
                  rest); 3 if it is no trace."
)]
pub(super) struct TraceArguments {
    /// record: record requests until Ctrl+C or for the time of -d. show: print the figures of a trace. replay: issue its
    /// requests again, on another target or the same
    #[arg(value_name = "ACTION", required = true, value_parser = action())]
    action: Action,
    /// with record: the device, or a file on it. With show and replay: an .iotrace, the files of a blktrace (one per CPU),
    /// text of blkparse, a log of fio (--write_iolog, version 2 or 3), or CSV of MSR Cambridge; - is stdin
    #[arg(value_name = "TRACE", num_args = 0..)]
    names: Vec<PathBuf>,
    /// with replay: options and the target, as for a run
    #[arg(value_name = "LOAD", last = true)]
    load: Vec<String>,
    /// record the requests of this process and its threads, on all devices
    #[arg(long, value_name = "PID", help_heading = RECORD, value_parser = number::count::<{ u32::MAX }>)]
    pid: Option<u32>,
    /// stop after this time: 60, 90s, 10m (default: at Ctrl+C)
    #[arg(short = 'd', long, value_name = "TIME", help_heading = RECORD, value_parser = decimal::whole_seconds)]
    duration: Option<u32>,
    /// with record: the trace (.iotrace). With show: a page with all figures and charts (.html). An existing file is
    /// replaced only if it is empty or of the same kind
    #[arg(short, long, value_name = "FILE", value_parser = file_name::path_alone())]
    output: Option<PathBuf>,
    /// let --output, --json and --job replace any regular file
    #[arg(long)]
    replace_output: bool,
    /// write the closest load as a job file, which diskspd run runs, and show what it keeps of the trace and what it loses
    #[arg(long, value_name = "FILE", help_heading = SHOW, value_parser = file_name::path_alone())]
    job: Option<PathBuf>,
    /// write all figures as JSON; - is stdout
    #[arg(long, value_name = "FILE", help_heading = SHOW, value_parser = file_name::path())]
    json: Option<PathBuf>,
    /// issue each request as soon as the depth (-o) allows, in the order of the trace, without its times
    #[arg(long, help_heading = REPLAY)]
    closed: bool,
    /// number of threads (default 1)
    #[arg(long, value_name = "N", help_heading = REPLAY, value_parser = number::count::<1024>)]
    threads: Option<u32>,
    /// move offsets to the size of the target in proportion (default: offsets beyond its end begin at 0 again)
    #[arg(long, help_heading = REPLAY)]
    scale_offsets: bool,
    /// issue discards, too; they delete data of the target
    #[arg(long, help_heading = REPLAY)]
    discards: bool,
}

const RECORD: &str = "Recording";
const SHOW: &str = "Showing";
const REPLAY: &str = "Replaying";

/// Options of this subcommand that precede the load of a replay.
const REPLAY_OPTIONS: [&str; 5] = ["closed", "threads", "scale-offsets", "discards", "help"];

/// The action on a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Record,
    Show,
    Replay,
}

fn action() -> impl TypedValueParser<Value = Action> {
    PossibleValuesParser::new(["record", "show", "replay"]).map(|name| match name.as_str() {
        "record" => Action::Record,
        "show" => Action::Show,
        _ => Action::Replay,
    })
}

/// Arguments of `diskspd trace`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceCommand {
    /// Record requests.
    Record(RecordRequest),
    /// Show a trace.
    Show(ShowTraceRequest),
    /// Issue the requests of a trace.
    Replay(ReplayRequest),
}

/// Requests to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRequest {
    /// Their origin.
    pub source: RecordSource,
    /// `-d`, in seconds; `None` = until interrupted.
    pub duration_s: Option<NonZeroU32>,
    /// `--output`: the trace.
    pub output: PathBuf,
    /// `--replace-output`
    pub replace_output: bool,
}

/// Origin of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordSource {
    /// A device, by its name or a path, or a file.
    Place(PathBuf),
    /// A process and its threads.
    Process(u32),
}

/// A trace to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowTraceRequest {
    /// One trace, or the files of one blktrace; `-` = stdin.
    pub traces: Vec<PathBuf>,
    /// `--job`: the closest load.
    pub job: Option<PathBuf>,
    /// `--json`; `-` = stdout.
    pub json: Option<PathBuf>,
    /// `--output`: the page.
    pub page: Option<PathBuf>,
    /// `--replace-output`
    pub replace_output: bool,
}

/// A trace to be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayRequest {
    /// The trace.
    pub trace: PathBuf,
    /// `--closed`: without the times of the trace.
    pub closed: bool,
    /// `--threads`
    pub threads: Option<NonZeroU32>,
    /// `--scale-offsets`
    pub scale_offsets: bool,
    /// `--discards`
    pub discards: bool,
    /// Options of the load and the target; at least one word.
    pub words: Vec<String>,
}

impl Arguments for TraceArguments {
    type Request = TraceCommand;

    fn in_usual_form(command: &clap::Command, args: &[OsString]) -> Result<Vec<OsString>, String> {
        match args.first() {
            // A load also has -d, --json and others.
            Some(action) if action == "replay" => {
                Ok(with_load_last(command, args, 2, |option| REPLAY_OPTIONS.contains(&option)))
            }
            _ => Ok(args.to_vec()),
        }
    }

    fn request(self, typed: &TypedArguments<'_>, _: &dyn Environment) -> Result<TraceCommand, String> {
        let action = self.action;
        let headings: &[&str] = match action {
            Action::Record => &[SHOW, REPLAY],
            Action::Show => &[RECORD, REPLAY],
            Action::Replay => &[RECORD, SHOW],
        };
        if let Some(option) = typed.first_under(headings) {
            let name = match action {
                Action::Record => "record",
                Action::Show => "show",
                Action::Replay => "replay",
            };
            return Err(format!("{option} cannot be used with trace {name}"));
        }
        if action != Action::Replay && !self.load.is_empty() {
            return Err(format!("unexpected '{}': only replay takes options of a load", self.load[0]));
        }
        match action {
            Action::Record => self.record().map(TraceCommand::Record),
            Action::Show => self.show().map(TraceCommand::Show),
            Action::Replay => self.replay().map(TraceCommand::Replay),
        }
    }
}

impl TraceArguments {
    fn record(self) -> Result<RecordRequest, String> {
        let mut places = self.names.into_iter();
        let source = match (places.next(), self.pid, places.next()) {
            (Some(place), None, None) => RecordSource::Place(place),
            (None, Some(pid), _) => RecordSource::Process(pid),
            (None, None, _) => return Err("nothing to record: give a device, a file or --pid PID".to_owned()),
            (_, Some(_), _) => return Err("give either a device or --pid, not both".to_owned()),
            (_, None, Some(second)) => {
                return Err(format!("unexpected '{}': one device or file is recorded at a time", second.display()));
            }
        };
        let output = self.output.ok_or("--output is missing: the file for the trace, as in --output t.iotrace")?;
        if suffix(&output) != Some("iotrace") {
            return Err(format!("--output '{}': the name of a trace must end in .iotrace", output.display()));
        }
        let duration_s = self.duration.and_then(NonZeroU32::new);
        Ok(RecordRequest { source, duration_s, output, replace_output: self.replace_output })
    }

    fn show(self) -> Result<ShowTraceRequest, String> {
        if self.names.is_empty() {
            return Err("TRACE is missing: an .iotrace, or a trace of blktrace, blkparse or fio, or CSV".to_owned());
        }
        if let Some(job) = self.job.as_ref().filter(|job| suffix(job) != Some("toml")) {
            return Err(format!("--job '{}': the name of a job file must end in .toml", job.display()));
        }
        if let Some(page) = self.output.as_ref().filter(|page| !matches!(suffix(page), Some("html" | "htm"))) {
            return Err(format!("--output '{}': the name of a page must end in .html", page.display()));
        }
        let Self { names: traces, job, json, output: page, replace_output, .. } = self;
        Ok(ShowTraceRequest { traces, job, json, page, replace_output })
    }

    fn replay(self) -> Result<ReplayRequest, String> {
        let [trace] = <[PathBuf; 1]>::try_from(self.names).map_err(|_| match self.load.first() {
            Some(word) => format!("found '{word}' instead of a trace"),
            None => "TRACE is missing".to_owned(),
        })?;
        if self.load.is_empty() {
            return Err(format!("replay of '{}': no target given", trace.display()));
        }
        Ok(ReplayRequest {
            trace,
            closed: self.closed,
            threads: self.threads.and_then(NonZeroU32::new),
            scale_offsets: self.scale_offsets,
            discards: self.discards,
            words: self.load,
        })
    }
}

fn suffix(path: &std::path::Path) -> Option<&str> {
    path.extension().and_then(|suffix| suffix.to_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    fn parsed(line: &str) -> Result<TraceCommand, String> {
        match typed("trace", line)? {
            Subcommand::Trace(command) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_action_has_its_arguments() {
        let record = |source, seconds| {
            Ok(TraceCommand::Record(RecordRequest {
                source,
                duration_s: NonZeroU32::new(seconds),
                output: "t.iotrace".into(),
                replace_output: false,
            }))
        };
        assert_eq!(parsed("record sda -d60 --output t.iotrace"), record(RecordSource::Place("sda".into()), 60));
        assert_eq!(parsed("record --pid 7 -d 1m -o t.iotrace"), record(RecordSource::Process(7), 60));
        assert_eq!(parsed("record --pid=7 -o t.iotrace"), record(RecordSource::Process(7), 0));
        let show = ShowTraceRequest {
            traces: vec!["a.0".into(), "a.1".into()],
            job: Some("j.toml".into()),
            json: Some("-".into()),
            page: Some("p.html".into()),
            replace_output: true,
        };
        let line = "show a.0 --job j.toml a.1 --json - --output p.html --replace-output";
        assert_eq!(parsed(line), Ok(TraceCommand::Show(show)));
        let replay = |words: &[&str]| ReplayRequest {
            trace: "t".into(),
            closed: false,
            threads: None,
            scale_offsets: false,
            discards: false,
            words: words.iter().map(|&word| word.to_owned()).collect(),
        };
        assert_eq!(
            parsed("replay t -Su --json r.json -d5 a.dat"),
            Ok(TraceCommand::Replay(replay(&["-Su", "--json", "r.json", "-d5", "a.dat"])))
        );
        let all = ReplayRequest {
            closed: true,
            threads: NonZeroU32::new(3),
            scale_offsets: true,
            discards: true,
            ..replay(&["a.dat", "-o8"])
        };
        let line = "replay t --closed a.dat --threads 3 -o8 --scale-offsets --discards";
        assert_eq!(parsed(line), Ok(TraceCommand::Replay(all)));
        assert_eq!(parsed("replay t --help"), Err("help".to_owned()));
        assert_eq!(parsed("show -h"), Err("help".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "ACTION is missing (expected: record, show, replay)"),
            ("play t", "ACTION 'play': unknown value (expected: record, show, replay)"),
            ("record", "nothing to record: give a device, a file or --pid PID"),
            ("record sda", "--output is missing"),
            ("record sda --output t.txt", "--output 't.txt': the name of a trace must end in .iotrace"),
            ("record sda sdb -o t.iotrace", "unexpected 'sdb': one device or file is recorded at a time"),
            ("record sda --pid 3 -o t.iotrace", "give either a device or --pid"),
            ("record sda -d0 -o t.iotrace", "'0' is not a whole number of seconds"),
            ("record sda -o t.iotrace --job j.toml", "--job cannot be used with trace record"),
            ("show", "TRACE is missing"),
            ("show t --job j.xml", "--job 'j.xml': the name of a job file must end in .toml"),
            ("show t --output p.txt", "--output 'p.txt': the name of a page must end in .html"),
            ("show t --closed", "--closed cannot be used with trace show"),
            ("show t -- -d5", "unexpected '-d5': only replay takes options of a load"),
            ("replay", "TRACE is missing"),
            ("replay t", "replay of 't': no target given"),
            ("replay -d5 t", "found '-d5' instead of a trace"),
            ("replay t --threads 0 a", "--threads '0' is not a number from 1 to 1024"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
