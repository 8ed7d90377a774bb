//! Arguments of `diskspd report`.

use super::{Arguments, TypedArguments};
use crate::outputs::Form;
use crate::request::Environment;
use crate::{decimal, file_name, number};
use model::sweep::DeviceCount;
use std::path::{Path, PathBuf};

/// Print or convert a saved result, or put many runs into one table
///
/// Prints the report of a saved result. For a file written by --json, it is byte for byte the report that the run
/// printed; --details adds what that left out. Several results become one table with a row per run, with a curve or a pivot where
/// runs differ in one or two settings, also as CSV, as a spreadsheet for Excel (.xlsx) and as a page.
#[derive(clap::Args)]
#[command(override_usage = "diskspd report FILE|DIR [--details]
       diskspd report FILE|DIR... [--table] [--ssds N [--copies M]] [--output TABLE.csv|.xlsx|.html [--append]]
       diskspd report FILE --output OUT
       diskspd report FILE|DIR... --output PAGE.html
       diskspd report FILE|DIR... --output CHART.svg|CHART.png [--chart NAME]
       diskspd report RESULT.json --output PAGE.html --monitor RECORDING
       diskspd report FILE... [--from TIME] [--to TIME] [--percentile N]... [--slowest]")]
pub(super) struct ReportArguments {
    /// a result: JSON from --json, JSON of fio, or DiskSpd output from Windows (-Rxml or text, versions 2.0 to 2.3, also in
    /// UTF-16); - = stdin; last = the newest result in the directory of DISKSPD_RESULTS, last~1 = the one before. Several files, or
    /// directories with results, make a table with a row per run; with --details each report is printed whole, below a line with
    /// its file name. A directory of sweep, repeat, ab or interference prints what all its runs say together. Recordings of
    /// diskspd monitor --record are printed as well
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// write to this file instead. Its suffix sets the format: .txt, .xml, .csv, .json or .fio.json (the form of fio) for one FILE, or .prom for
    /// Prometheus' textfile collector; .xlsx (a spreadsheet) and, for several FILEs or a DIR, .csv are tables with a row per run;
    /// .html is a page with charts in a single self-contained file; .svg and .png are a
    /// single chart. A page or chart of several results of one load compares each with the first; of different loads it shows the table.
    /// An existing file is replaced only if it is empty or a document of the same kind
    #[arg(short, long, value_name = "OUT", value_parser = file_name::path_alone())]
    output: Option<PathBuf>,
    /// replace any regular file
    #[arg(long)]
    replace_output: bool,
    /// a row per run, for a pivot table or a spreadsheet: also of a single FILE, of a series, and as the page of several results of
    /// one load
    #[arg(long, conflicts_with_all = ["monitor", "slowest", "from", "to", "percentile", "details"])]
    table: bool,
    /// add the rows to the CSV table of --output, below the same columns; another file is refused
    #[arg(long, conflicts_with_all = ["replace_output", "slowest", "from", "to", "percentile", "details"])]
    append: bool,
    /// number of SSDs below the targets, as of Storage Spaces, a RAID or a cluster: adds the amplification of writes, and queue depth,
    /// IOPS and MiB/s per SSD, to the table
    #[arg(long, value_name = "N", value_parser = number::count::<1_000_000>)]
    #[arg(conflicts_with_all = ["monitor", "slowest", "from", "to", "percentile", "details"])]
    ssds: Option<u32>,
    /// number of copies that the storage keeps of each written block (3 in a three-way mirror); needs --ssds
    #[arg(long, value_name = "M", value_parser = number::count::<1_000>)]
    copies: Option<u32>,
    /// the chart to draw, such as iops, read-latency or heat of a result, depth of a sweep, differences of several results; a name
    /// that does not exist is refused with those that do. Default: the first one available
    #[arg(long, value_name = "NAME")]
    chart: Option<String>,
    /// a recording made by diskspd monitor --record during the run: its devices are shown under the run's charts, on the
    /// same time axis
    #[arg(long, value_name = "RECORDING", value_parser = file_name::path())]
    monitor: Option<PathBuf>,
    /// instead of the report, show results for part of the measurement (JSON of runs with -D or -L). TIME is the start of
    /// the part, such as 30s, 1.5m or 250ms. The part is widened to whole -D intervals or, without -D, to twentieths of
    /// the measurement
    #[arg(long, value_name = "TIME", value_parser = decimal::time_ns)]
    from: Option<u64>,
    /// end of the part (default: end of the measurement)
    #[arg(long, value_name = "TIME", value_parser = decimal::time_ns)]
    to: Option<u64>,
    /// latency percentile to show for the part, such as 99.9; may be given again (default: those of the report)
    #[arg(long, value_name = "N", value_parser = decimal::rank_ppb)]
    percentile: Vec<u64>,
    /// instead of the report, show the slowest I/Os (JSON of runs with -D or -L)
    #[arg(long)]
    slowest: bool,
    /// print the whole report, as of a run with -v: intervals of all percentiles, devices with their highest values, bytes at
    /// each level of storage, and findings with all that is known of them
    #[arg(long, conflicts_with_all = ["output", "slowest", "from", "to", "percentile"])]
    details: bool,
}

const MONITOR_NEEDS_A_PAGE: &str = "--monitor needs exactly one result and an --output that ends with .html";

/// Arguments of `diskspd report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportCommand {
    /// Print results to stdout, in this order.
    Print {
        /// `-` = stdin.
        files: Vec<PathBuf>,
        /// `--details`
        has_details: bool,
    },
    /// Print the requested parts of results, in this order.
    Look {
        /// `-` = stdin.
        files: Vec<PathBuf>,
        /// Results for a part of the measurement.
        part: Option<PartAsked>,
        /// The slowest I/Os.
        slowest: bool,
    },
    /// Convert one result to another form.
    Convert {
        /// `-` = stdin.
        file: PathBuf,
        /// Destination.
        output: OutputAsked,
        /// Its form.
        form: Form,
    },
    /// Write the metrics of one result for Prometheus.
    Metrics {
        /// `-` = stdin.
        file: PathBuf,
        /// Destination.
        output: OutputAsked,
    },
    /// Put runs into a table.
    Table {
        /// Files and directories; `-` = stdin.
        sources: Vec<PathBuf>,
        /// `--ssds`, `--copies`
        devices: Option<DeviceCount>,
        /// Destination; `None` = text to stdout.
        output: Option<(OutputAsked, TableForm)>,
    },
    /// Make a page or a chart.
    Picture {
        /// Files and directories; `-` = stdin.
        sources: Vec<PathBuf>,
        /// Destination.
        output: OutputAsked,
        /// Its form.
        form: PictureForm,
        /// `--monitor`: a recording of device activity during the run.
        monitor: Option<PathBuf>,
    },
}

impl ReportCommand {
    /// The paths of all results.
    pub fn paths_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Print { files, .. }
            | Self::Look { files, .. }
            | Self::Table { sources: files, .. }
            | Self::Picture { sources: files, .. } => files.iter_mut().collect(),
            Self::Convert { file, .. } | Self::Metrics { file, .. } => vec![file],
        }
    }
}

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputAsked {
    /// `--output`
    pub path: PathBuf,
    /// `--replace-output`
    pub replace: bool,
}

/// The form of a table of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableForm {
    /// Comma-separated values.
    Csv {
        /// `--append`: after the existing rows.
        append: bool,
    },
    /// A workbook (.xlsx).
    Workbook,
    /// A page or one of its charts.
    Picture(PictureForm),
}

/// The form of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureForm {
    /// A page of HTML.
    Page,
    /// A chart as SVG.
    Svg {
        /// `--chart`; `None` = the first available.
        chart: Option<String>,
    },
    /// A chart as PNG.
    Png {
        /// `--chart`; `None` = the first available.
        chart: Option<String>,
    },
}

/// A part of the measurement, and the percentiles to report for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartAsked {
    /// Its start, in nanoseconds since the start of the measurement.
    pub from_ns: u64,
    /// Its end; `None` = the end of the measurement.
    pub to_ns: Option<u64>,
    /// Percentiles by their rank in parts per billion; none = those of the report.
    pub percentiles_ppb: Vec<u64>,
}

impl Arguments for ReportArguments {
    type Request = ReportCommand;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<ReportCommand, String> {
        let Self {
            files, output, replace_output: replace, chart, monitor, from, to, percentile, slowest, details, ..
        } = self;
        if to.is_some_and(|to| to <= from.unwrap_or(0)) {
            return Err("--to must be later than --from".to_owned());
        }
        let is_part = from.is_some() || to.is_some() || !percentile.is_empty();
        let part = is_part.then(|| PartAsked { from_ns: from.unwrap_or(0), to_ns: to, percentiles_ppb: percentile });
        let wanted = TableWanted::new(self.table, self.append, self.ssds, self.copies)?;
        match output {
            None if chart.is_some() => Err("--chart needs an --output that ends with .svg or .png".to_owned()),
            None if monitor.is_some() => Err(MONITOR_NEEDS_A_PAGE.to_owned()),
            None if self.append => Err(APPEND_NEEDS_CSV.to_owned()),
            None if slowest || is_part => Ok(ReportCommand::Look { files, part, slowest }),
            None if wanted.is_asked || (files.len() > 1 && !details) => {
                Ok(ReportCommand::Table { sources: files, devices: wanted.devices, output: None })
            }
            None => Ok(ReportCommand::Print { files, has_details: details }),
            Some(_) if slowest || is_part => {
                Err("--output cannot be combined with --from, --to, --percentile or --slowest".to_owned())
            }
            Some(path) => written(files, OutputAsked { path, replace }, chart, monitor, &wanted),
        }
    }
}

const APPEND_NEEDS_CSV: &str = "--append needs an --output that ends with .csv";

/// The options of tables.
struct TableWanted {
    /// True with `--table` or an option that only tables have.
    is_asked: bool,
    append: bool,
    devices: Option<DeviceCount>,
}

impl TableWanted {
    fn new(table: bool, append: bool, ssds: Option<u32>, copies: Option<u32>) -> Result<Self, String> {
        if copies.is_some() && ssds.is_none() {
            return Err("--copies needs --ssds".to_owned());
        }
        let devices = ssds.map(|ssds| DeviceCount { ssds, copies: copies.unwrap_or(1) });
        Ok(Self { is_asked: table || append || ssds.is_some(), append, devices })
    }
}

/// The command that writes whole results.
fn written(
    files: Vec<PathBuf>,
    output: OutputAsked,
    chart: Option<String>,
    monitor: Option<PathBuf>,
    wanted: &TableWanted,
) -> Result<ReportCommand, String> {
    let form = form_of(&output.path)?;
    if wanted.append && !matches!(form, Output::Document(Form::Csv)) {
        return Err(APPEND_NEEDS_CSV.to_owned());
    }
    if monitor.is_some() && (!matches!(form, Output::Page) || files.len() > 1) {
        return Err(MONITOR_NEEDS_A_PAGE.to_owned());
    }
    let table = |sources, form| {
        Ok(ReportCommand::Table { sources, devices: wanted.devices, output: Some((output.clone(), form)) })
    };
    match form {
        Output::Workbook if chart.is_none() => return table(files, TableForm::Workbook),
        Output::Document(Form::Csv) if chart.is_none() && (wanted.is_asked || files.len() > 1) => {
            return table(files, TableForm::Csv { append: wanted.append });
        }
        Output::Page if chart.is_none() && wanted.is_asked => {
            return table(files, TableForm::Picture(PictureForm::Page));
        }
        Output::Svg if wanted.is_asked => return table(files, TableForm::Picture(PictureForm::Svg { chart })),
        Output::Png if wanted.is_asked => return table(files, TableForm::Picture(PictureForm::Png { chart })),
        Output::Document(_) | Output::Metrics if wanted.is_asked => {
            return Err("a table of runs needs an --output that ends with .csv, .xlsx, .html, .svg or .png".to_owned());
        }
        _ => {}
    }
    let picture = |files, output, form| ReportCommand::Picture { sources: files, output, form, monitor };
    let form = match form {
        Output::Document(form) if chart.is_none() => Some(form),
        Output::Metrics if chart.is_none() => None,
        Output::Svg => return Ok(picture(files, output, PictureForm::Svg { chart })),
        Output::Png => return Ok(picture(files, output, PictureForm::Png { chart })),
        Output::Page if chart.is_none() => return Ok(picture(files, output, PictureForm::Page)),
        Output::Document(_) | Output::Metrics | Output::Page | Output::Workbook => {
            return Err("--chart needs an --output that ends with .svg or .png".to_owned());
        }
    };
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(match form {
            Some(form) => ReportCommand::Convert { file, output, form },
            None => ReportCommand::Metrics { file, output },
        }),
        Err(files) => Err(format!(
            "--output '{}' takes one result, not {}: a table of them ends with .csv, .xlsx or .html",
            output.path.display(),
            files.len()
        )),
    }
}

/// The kind of output that a suffix selects.
enum Output {
    Document(Form),
    Metrics,
    Workbook,
    Page,
    Svg,
    Png,
}

fn form_of(output: &Path) -> Result<Output, String> {
    let suffix = output.extension().and_then(|suffix| suffix.to_str());
    let is = |name: &str| suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case(name));
    match Form::of_file(output) {
        Some(form) => Ok(Output::Document(form)),
        None if is("prom") => Ok(Output::Metrics),
        None if is("xlsx") => Ok(Output::Workbook),
        None if is("html") || is("htm") => Ok(Output::Page),
        None if is("svg") => Ok(Output::Svg),
        None if is("png") => Ok(Output::Png),
        None => {
            let suffixes = Form::ALL.map(|form| format!(".{}", form.suffix())).join(", ");
            let shown = output.display();
            Err(format!("unknown suffix of --output '{shown}' (expected: {suffixes}, .prom, .xlsx, .html, .svg, .png)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    fn asked(path: &str) -> OutputAsked {
        OutputAsked { path: path.into(), replace: false }
    }

    fn parsed(line: &str) -> Result<ReportCommand, String> {
        match typed("report", line)? {
            Subcommand::Report(command) => Ok(command),
            other => panic!("{other:?}"),
        }
    }

    fn files(names: &[&str]) -> ReportCommand {
        ReportCommand::Print { files: names.iter().map(PathBuf::from).collect(), has_details: false }
    }

    #[test]
    fn files_are_printed_and_one_is_converted() {
        let all =
            ReportCommand::Print { files: ["a.json", "b.xml", "-"].map(PathBuf::from).to_vec(), has_details: true };
        assert_eq!(parsed("a.json b.xml - --details"), Ok(all));
        assert_eq!(parsed("-- -a"), Ok(files(&["-a"])));
        let with_details = ReportCommand::Print { files: vec!["a.json".into()], has_details: true };
        assert_eq!(parsed("a.json --details"), Ok(with_details));
        assert_eq!(parsed("a --help"), Err("help".to_owned()));
        let convert =
            |output: &str, form| Ok(ReportCommand::Convert { file: "a.json".into(), output: asked(output), form });
        assert_eq!(parsed("a.json --output b.TXT"), convert("b.TXT", Form::Text));
        assert_eq!(parsed("--output=b.xml a.json"), convert("b.xml", Form::Xml));
        assert_eq!(parsed("-o c/d.csv a.json"), convert("c/d.csv", Form::Csv));
        assert_eq!(parsed("-ob.x.json a.json"), convert("b.x.json", Form::Json));
        assert_eq!(parsed("-oc/b.Fio.json a.json"), convert("c/b.Fio.json", Form::Fio));
        let metrics = ReportCommand::Metrics { file: "a.json".into(), output: asked("b.prom") };
        assert_eq!(parsed("a.json -o b.prom"), Ok(metrics));
    }

    #[test]
    fn several_files_are_a_table() {
        let table = |sources: &[&str], devices: Option<(u32, u32)>, output: Option<(&str, TableForm)>| {
            Ok(ReportCommand::Table {
                sources: sources.iter().map(PathBuf::from).collect(),
                devices: devices.map(|(ssds, copies)| DeviceCount { ssds, copies }),
                output: output.map(|(path, form)| (asked(path), form)),
            })
        };
        let csv = |append| TableForm::Csv { append };
        assert_eq!(parsed("a.json b.xml -"), table(&["a.json", "b.xml", "-"], None, None));
        assert_eq!(parsed("a.json --table"), table(&["a.json"], None, None));
        assert_eq!(parsed("a --ssds 8 --copies 2"), table(&["a"], Some((8, 2)), None));
        assert_eq!(parsed("a b -o t.csv"), table(&["a", "b"], None, Some(("t.csv", csv(false)))));
        assert_eq!(parsed("a -o t.CSV --append"), table(&["a"], None, Some(("t.CSV", csv(true)))));
        assert_eq!(parsed("a -o t.xlsx --ssds=4"), table(&["a"], Some((4, 1)), Some(("t.xlsx", TableForm::Workbook))));
        let page = TableForm::Picture(PictureForm::Page);
        assert_eq!(parsed("a b --table -o t.html"), table(&["a", "b"], None, Some(("t.html", page))));
    }

    #[test]
    fn pages_and_charts_are_made_of_any_number_of_results() {
        let picture = |sources: &[&str], output: &str, form| {
            let sources = sources.iter().map(PathBuf::from).collect();
            Ok(ReportCommand::Picture { sources, output: asked(output), form, monitor: None })
        };
        assert_eq!(parsed("a.json -o b.html"), picture(&["a.json"], "b.html", PictureForm::Page));
        assert_eq!(parsed("-o b.HTM a dir"), picture(&["a", "dir"], "b.HTM", PictureForm::Page));
        assert_eq!(parsed("a -o b.svg"), picture(&["a"], "b.svg", PictureForm::Svg { chart: None }));
        let with_devices = parsed("a.json -o b.html --monitor m.jsonl");
        let is_it = matches!(&with_devices, Ok(ReportCommand::Picture { monitor: Some(path), .. }) if path == Path::new("m.jsonl"));
        assert!(is_it, "{with_devices:?}");
        let chart = Some("heat".to_owned());
        assert_eq!(parsed("a -o b.png --chart heat"), picture(&["a"], "b.png", PictureForm::Png { chart }));
    }

    #[test]
    fn parts_and_the_slowest_are_asked_for() {
        let command = |part, slowest| Ok(ReportCommand::Look { files: vec!["a.json".into()], part, slowest });
        let s = 1_000_000_000;
        assert_eq!(
            parsed("a.json --from 30s --to 60s --percentile 99.9 --percentile=50"),
            command(
                Some(PartAsked {
                    from_ns: 30 * s,
                    to_ns: Some(60 * s),
                    percentiles_ppb: vec![999_000_000, 500_000_000]
                }),
                false
            )
        );
        assert_eq!(parsed("--from 0 a.json"), command(Some(PartAsked::default()), false));
        assert_eq!(parsed("a.json --slowest"), command(None, true));
        let to = Some(PartAsked { to_ns: Some(s / 4), ..PartAsked::default() });
        assert_eq!(parsed("a.json --slowest --to=250ms"), command(to, true));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "FILE is missing"),
            ("--output a.txt", "FILE is missing"),
            ("a --output", "option '--output': the value is missing"),
            ("a --output b", "'b' (expected: .txt, .xml, .json, .csv, .fio.json, .prom, .xlsx, .html, .svg, .png)"),
            ("a --chart heat", "--chart needs an --output that ends with .svg or .png"),
            ("a --chart heat -o b.html", "--chart needs an --output that ends with .svg or .png"),
            ("a --chart heat -o b.txt", "--chart needs an --output that ends with .svg or .png"),
            ("a --chart heat --chart cpu -o b.svg", "--chart was already given"),
            ("a --output json", "'json' (expected: .txt"),
            ("a b --output c.txt", "takes one result, not 2"),
            ("a b --output c.prom", "takes one result, not 2"),
            ("a --output c.txt -o d.txt", "--output was already given"),
            ("a --outptu c.txt", "invalid option '--outptu' (did you mean --output?)"),
            ("a --from", "option '--from': the value is missing"),
            ("a --from 1x", "--from '1x' is not a time"),
            ("a --from 1 --from 2", "--from was already given"),
            ("a --from 2 --to 2s", "--to must be later than --from"),
            ("a --percentile 100.1", "--percentile '100.1' is not a percentile"),
            ("a --slowest --output b.txt", "--output cannot be combined with --from"),
            ("a --from 1 --output b.txt", "--output cannot be combined with --from"),
            ("a --copies 2", "--copies needs --ssds"),
            ("a --append", "--append needs an --output that ends with .csv"),
            ("a --append -o t.xlsx", "--append needs an --output that ends with .csv"),
            (
                "a --table -o t.json",
                "a table of runs needs an --output that ends with .csv, .xlsx, .html, .svg or .png",
            ),
            ("a --table --details", "--details"),
            ("a --ssds 0", "--ssds"),
            ("a --append --replace-output -o t.csv", "--replace-output"),
            ("a --chart heat -o t.xlsx", "--chart needs an --output that ends with .svg or .png"),
            ("a --monitor m", "--monitor needs exactly one result and an --output that ends with .html"),
            ("a --monitor m -o b.svg", "--monitor needs exactly one result and an --output"),
            ("a b --monitor m -o b.html", "--monitor needs exactly one result and an --output"),
            ("a -x", "invalid option '-x'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
            assert!(failure.ends_with("; see diskspd report --help"), "{line}: {failure}");
        }
    }
}
