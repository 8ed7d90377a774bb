//! Kinds of documents that this program writes, and their recognition by their beginning.
//!
//! An existing document is replaced only by one of its kind, so a beginning that differs from this program's output
//! belongs to another program.

use crate::fio::VERSION_PREFIX;
use crate::open_metrics::PREFIX;
use crate::{csv, runs_csv, sweep_csv};
use model::check::CHECK_SCHEMA;
use model::device_interval::WATCH_SCHEMA;
use model::gate::GATE_SCHEMA;
use model::live::{LIVE_FORM_1, LIVE_SCHEMA};
use model::performance_counter::TYPEPERF_TITLE;
use model::result::RESULT_SCHEMA;
use model::sweep::{SWEEP_FORM_1, SWEEP_SCHEMA};
use model::trace::{TRACE_MAGIC, TRACE_SCHEMA};
use model::version::IMPLEMENTATION;

/// The schema of the output of `verify --json`.
pub const VERIFY_SCHEMA: &str = "diskspd-verify";

/// The beginning of the Markdown of `gate --summary`.
pub const GATE_SUMMARY_TITLE: &str = "## diskspd gate: ";

/// The beginning of the XML of `gate --junit`.
pub const JUNIT_BEGINNING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"diskspd gate\"";

/// The line that `load.txt` of a cycle begins with, around the number of the cycle.
const CYCLE_LOAD_TITLE: [&str; 2] = ["Output of the load of cycle ", " (diskspd for Linux)"];

/// The first line of `load.txt` of a cycle.
pub fn cycle_load_title(cycle: u32) -> String {
    let [before, behind] = CYCLE_LOAD_TITLE;
    format!("{before}{cycle}{behind}")
}

/// Bytes needed to detect a document's kind, unless [`is_text_report`] says that all are needed.
pub const HEAD_BYTES: usize = 64 << 10;

/// Largest text report that is searched.
pub const TEXT_BYTES_MAX: usize = 64 << 20;

/// A kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// `--json`
    ResultJson,
    /// `--xml`
    ResultXml,
    /// `--text`
    ResultText,
    /// `--csv`
    ResultCsv,
    /// `--fio-json`
    FioJson,
    /// `--live-json`
    LiveStream,
    /// `monitor --record`
    MonitorRecording,
    /// `monitor --jsonl`
    MonitorJsonLines,
    /// `monitor --csv`
    MonitorCsv,
    /// `--trace` and `trace record`
    Trace,
    /// `trace show --json`
    TraceFigures,
    /// `check --json`
    Check,
    /// `sweep.json` and `repeat.json`
    Sweep,
    /// `table.csv` of a sweep.
    SweepTable,
    /// `report --output` of many runs as CSV.
    RunsTable,
    /// The same as a workbook.
    Workbook,
    /// `verify --json` and `verify.json` of a cycle.
    Verification,
    /// `load.txt` of a cycle.
    CycleLoad,
    /// `import --output`
    Job,
    /// `index.jsonl` of a gate.
    GateIndex,
    /// `gate --summary`
    GateSummary,
    /// `gate --junit`
    JUnit,
    /// `report --output` for Prometheus.
    Metrics,
    /// `report --output` as HTML.
    Page,
    /// `report --output` as SVG.
    Svg,
    /// `report --output` as PNG.
    Png,
}

/// The name of a kind, with its article, and the test of a document's beginning.
struct Row {
    kind: DocumentKind,
    name: &'static str,
    begins: fn(&[u8]) -> bool,
}

const fn row(kind: DocumentKind, name: &'static str, begins: fn(&[u8]) -> bool) -> Row {
    Row { kind, name, begins }
}

/// Every kind, once.
const TABLE: [Row; 26] = [
    row(DocumentKind::ResultJson, "a JSON result", |head| begins_with_member(head, &["schema"], RESULT_SCHEMA)),
    row(DocumentKind::ResultXml, "an XML result", begins_as_xml),
    row(DocumentKind::ResultText, "a text report", begins_as_text),
    row(DocumentKind::ResultCsv, "a CSV result", |head| {
        first_line(head).is_some_and(|line| line == csv::header().as_bytes())
    }),
    row(DocumentKind::FioJson, "a result in the form of fio's JSON", |head| {
        let version = take(head, "{").and_then(|rest| take(rest, "\"fio version\"")).and_then(|rest| take(rest, ":"));
        version.is_some_and(|rest| take(rest, &format!("\"{VERSION_PREFIX}")).is_some())
    }),
    row(DocumentKind::LiveStream, "a live stream", |head| {
        begins_with_member(head, &["kind", "begin", "schema"], LIVE_SCHEMA)
            || begins_with_member(head, &["kind", "begin", "form"], LIVE_FORM_1)
    }),
    row(DocumentKind::MonitorRecording, "a monitor recording", |head| {
        begins_with_member(head, &["kind", "begin", "schema"], WATCH_SCHEMA)
    }),
    row(DocumentKind::MonitorJsonLines, "a monitor stream", begins_as_interval),
    row(DocumentKind::MonitorCsv, "a monitor CSV", begins_as_counters),
    row(DocumentKind::Trace, "a trace", |head| head.starts_with(&TRACE_MAGIC)),
    row(DocumentKind::TraceFigures, "the figures of a trace", |head| {
        begins_with_member(head, &["schema"], TRACE_SCHEMA)
    }),
    row(DocumentKind::Check, "a check report", |head| {
        begins_with_member(head, &["schema"], CHECK_SCHEMA) || begins_with_member(head, &["form"], "diskspd-check/1")
    }),
    row(DocumentKind::Sweep, "a sweep record", |head| {
        begins_with_member(head, &["schema"], SWEEP_SCHEMA) || begins_with_member(head, &["form"], SWEEP_FORM_1)
    }),
    row(DocumentKind::SweepTable, "a sweep table", |head| {
        let line = first_line(head).and_then(|line| std::str::from_utf8(line).ok());
        line.is_some_and(sweep_csv::is_heading)
    }),
    row(DocumentKind::RunsTable, "a table of runs", |head| {
        first_line(head).is_some_and(|line| line == runs_csv::runs_header().as_bytes())
    }),
    // Its beginning does not name the program; a mark beside the file does.
    row(DocumentKind::Workbook, "a workbook", |_| false),
    row(DocumentKind::Verification, "a verification report", |head| {
        begins_with_member(head, &["schema"], VERIFY_SCHEMA)
    }),
    row(DocumentKind::CycleLoad, "the output of the load of a cycle", |head| {
        let [before, behind] = CYCLE_LOAD_TITLE.map(str::as_bytes);
        first_line(head).is_some_and(|line| line.starts_with(before) && line.ends_with(behind))
    }),
    // Users write and edit them: none is known to be of this program.
    row(DocumentKind::Job, "a job file", |_| false),
    row(DocumentKind::GateIndex, "a gate index", |head| begins_with_member(head, &["schema"], GATE_SCHEMA)),
    row(DocumentKind::GateSummary, "a gate summary", |head| head.starts_with(GATE_SUMMARY_TITLE.as_bytes())),
    row(DocumentKind::JUnit, "a JUnit file", |head| head.starts_with(JUNIT_BEGINNING.as_bytes())),
    row(DocumentKind::Metrics, "a metrics file", begins_as_metrics),
    row(DocumentKind::Page, "a report page", begins_as_page),
    row(DocumentKind::Svg, "an SVG chart", begins_as_svg),
    row(DocumentKind::Png, "a PNG chart", begins_as_png),
];

impl DocumentKind {
    /// Its name, with its article.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.kind == self).map_or("", |row| row.name)
    }

    /// The kind of a document with this beginning; `None` = not written by this program.
    pub fn detect(head: &[u8]) -> Option<Self> {
        TABLE.iter().find(|row| (row.begins)(head)).map(|row| row.kind)
    }
}

/// True if a document may be a text report, which names its program only further down.
pub fn is_text_report(head: &[u8]) -> bool {
    head.starts_with(b"\nCommand Line: ")
}

/// The first line without its line feed; `None` if there is none.
fn first_line(head: &[u8]) -> Option<&[u8]> {
    head.iter().position(|byte| *byte == b'\n').map(|end| &head[..end])
}

/// Strips `part`, and white space before it, from the beginning of `rest`.
fn take<'a>(rest: &'a [u8], part: &str) -> Option<&'a [u8]> {
    rest.trim_ascii_start().strip_prefix(part.as_bytes())
}

/// True for a JSON object whose first member has this value. `path` is the name of the member, preceded by the names
/// and values of the members before it.
fn begins_with_member(head: &[u8], path: &[&str], value: &str) -> bool {
    let mut rest = take(head, "{");
    for (index, word) in path.iter().chain(std::iter::once(&value)).enumerate() {
        let quoted = format!("\"{word}\"");
        rest = rest.and_then(|rest| take(rest, &quoted));
        let is_last = index == path.len();
        if !is_last {
            rest = rest.and_then(|rest| take(rest, if index % 2 == 0 { ":" } else { "," }));
        }
    }
    rest.is_some()
}

/// In a result, `Tool` contains the implementation; `DiskSpd` itself names none.
fn begins_as_xml(head: &[u8]) -> bool {
    let Some(rest) = take(head, "<Results>").and_then(|rest| take(rest, "<System>")) else { return false };
    let text = String::from_utf8_lossy(rest);
    let tool = text.split_once("<Tool>").and_then(|(_, rest)| rest.split_once("</Tool>"));
    tool.is_some_and(|(tool, _)| tool.contains(&format!("<Implementation Name=\"{IMPLEMENTATION}\"")))
}

/// A text report equals `DiskSpd`'s up to the figures: only ours has the kind of loop, the verdict and errors among the
/// results.
fn begins_as_text(text: &[u8]) -> bool {
    const OURS: [&[u8]; 4] = [b"closed loop, depth ", b"open loop, ", b"Verdict: ", b"ERROR: "];
    let mut lines = text.split(|byte| *byte == b'\n');
    is_text_report(text)
        && lines.any(|line| line.starts_with(b"Results for timespan "))
        && lines.any(|line| OURS.iter().any(|beginning| line.starts_with(beginning)))
}

fn begins_as_interval(head: &[u8]) -> bool {
    let digits = |rest: &'static str| {
        move |text: &'_ [u8]| -> bool {
            let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            count > 0 && text[count..].starts_with(rest.as_bytes())
        }
    };
    let begins = head.strip_prefix(b"{\"kind\":\"interval\",\"number\":");
    begins.is_some_and(digits(",\"ended_at_unix_ns\":"))
}

/// As in typeperf, but with the line ends of this system, which typeperf never writes.
fn begins_as_counters(head: &[u8]) -> bool {
    let titled = head.strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(TYPEPERF_TITLE.as_bytes()));
    // With very many columns, the line may be longer than the part that was read.
    let line = first_line(head).unwrap_or(head);
    titled.is_some_and(|rest| rest.starts_with(b" (")) && !line.ends_with(b"\r")
}

fn begins_as_metrics(head: &[u8]) -> bool {
    head.strip_prefix(b"# HELP ").is_some_and(|rest| rest.starts_with(PREFIX.as_bytes()))
}

fn begins_as_page(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let head = text.starts_with("<!doctype html>\n").then(|| text.split_once("<style>")).flatten();
    head.is_some_and(|(head, _)| head.contains(&format!("<meta name=\"generator\" content=\"{IMPLEMENTATION} ")))
}

/// The comment after the first tag of a chart.
pub const SVG_MARK: &str = "<!-- Made by diskspd report -->";

fn begins_as_svg(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let rest = text.strip_prefix("<svg ").and_then(|rest| rest.split_once(">\n"));
    rest.is_some_and(|(tag, rest)| !tag.contains('>') && rest.starts_with(SVG_MARK))
}

/// The name of the text in a bitmap that names the program.
pub const PNG_KEYWORD: &str = "Software";

fn begins_as_png(head: &[u8]) -> bool {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    let Some(mut rest) = head.strip_prefix(SIGNATURE) else { return false };
    let mark = format!("{PNG_KEYWORD}\0{IMPLEMENTATION}");
    // A chunk: its length, its kind, its data, its checksum.
    while let Some((length, chunk)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        if chunk.strip_prefix(b"tEXt").is_some_and(|data| length >= mark.len() && data.starts_with(mark.as_bytes())) {
            return true;
        }
        match chunk.get(length.saturating_add(8)..) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_in_the_table_once() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(!row.kind.name().is_empty());
            assert!(TABLE[..index].iter().all(|other| other.kind != row.kind && other.name != row.name));
        }
    }

    #[test]
    fn each_kind_is_recognised_by_its_beginning_alone() {
        for (head, kind) in [
            ("{\n  \"schema\": \"diskspd-result\",\n", DocumentKind::ResultJson),
            ("{\"schema\":\"diskspd-result\"", DocumentKind::ResultJson),
            (
                "<Results>\n  <System>\n    <ComputerName>a</ComputerName>\n    <Tool>\n      <Version>2.3</Version>\n      \
                 <Implementation Name=\"diskspd for Linux\" Version=\"1\"/>\n    </Tool>",
                DocumentKind::ResultXml,
            ),
            ("\nCommand Line: x\n\nResults for timespan 1:\n***\n\nclosed loop, depth 1\n", DocumentKind::ResultText),
            ("\nCommand Line: x\n\nResults for timespan 1:\n***\n\nERROR: gone\n", DocumentKind::ResultText),
            ("{\n  \"fio version\": \"fio-3.36-diskspd-0.2.0\",", DocumentKind::FioJson),
            ("{\"kind\":\"begin\",\"form\":\"diskspd-live/1\",", DocumentKind::LiveStream),
            ("{\"kind\":\"begin\",\"schema\":\"diskspd-monitor\",", DocumentKind::MonitorRecording),
            ("{\"kind\":\"interval\",\"number\":12,\"ended_at_unix_ns\":1", DocumentKind::MonitorJsonLines),
            ("\"(PDH-CSV 4.0) (CET)(-60)\",\"\\\\H\\PhysicalDisk(sda)\\Avg\"\n", DocumentKind::MonitorCsv),
            ("{\n  \"form\": \"diskspd-check/1\",", DocumentKind::Check),
            ("{\n  \"form\": \"diskspd-sweep/1\",", DocumentKind::Sweep),
            ("{\n  \"schema\": \"diskspd-verify\",", DocumentKind::Verification),
            ("Output of the load of cycle 3 (diskspd for Linux)\n", DocumentKind::CycleLoad),
            ("{\"schema\":\"diskspd-gate/1\",", DocumentKind::GateIndex),
            ("## diskspd gate: PASS\n", DocumentKind::GateSummary),
            (
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"diskspd gate\" tests=\"3\">",
                DocumentKind::JUnit,
            ),
            ("# HELP diskspd_result_build_info Always 1\n", DocumentKind::Metrics),
            ("<svg xmlns=\"x\">\n<!-- Made by diskspd report -->\n", DocumentKind::Svg),
        ] {
            assert_eq!(DocumentKind::detect(head.as_bytes()), Some(kind), "{head}");
        }
        assert_eq!(DocumentKind::detect(format!("{}\n", csv::header()).as_bytes()), Some(DocumentKind::ResultCsv));
        let runs = format!("{}\n", runs_csv::runs_header());
        assert_eq!(DocumentKind::detect(runs.as_bytes()), Some(DocumentKind::RunsTable));
        let table = format!("-o,{}\n", sweep_csv::COLUMNS.join(","));
        assert_eq!(DocumentKind::detect(table.as_bytes()), Some(DocumentKind::SweepTable));
        let of_earlier = table.replace("commit_mean_ns,commit_p50_ns,commit_p99_ns,commit_p99_9_ns,", "");
        assert!(of_earlier.len() < table.len());
        assert_eq!(DocumentKind::detect(of_earlier.as_bytes()), Some(DocumentKind::SweepTable));
    }

    #[test]
    fn what_others_write_is_no_document_of_ours() {
        for head in [
            "",
            "{}",
            "{\"schema\":\"other\"}",
            "{\"a\":1,\"schema\":\"diskspd-result\"}",
            "[{\"schema\":\"diskspd-result\"}]",
            "{\n  \"fio version\" : \"fio-3.36\",",
            "<Results>\n  <System>\n    <Tool>\n      <Version>2.2.0</Version>\n    </Tool>",
            "<Results>\n<System><ComputerName><Implementation Name=\"diskspd for Linux\"</ComputerName><Tool></Tool>",
            "\nCommand Line: diskspd.exe x\n\nResults for timespan 1:\n***\nactual test time:\t1.00s\n",
            "\nERROR: x\nCommand Line: diskspd.exe x\n\nResults for timespan 1:\n",
            "closed loop, depth 1\n",
            "{\n  \"experimental\": true,\n  \"outcome\": \"good\"",
            "Output of the load of cycle 3\n",
            "scope,timespan,thread\n",
            "\"(PDH-CSV 4.0)\",\"\\\\H\\PhysicalDisk(0 C:)\\Avg\"\r\n",
            "\"(PDH-CSV 4.0) (CET)(-60)\",\"\\\\H\\PhysicalDisk(0 C:)\\Avg\"\r\n",
            "<!doctype html>\n<style></style><meta name=\"generator\" content=\"diskspd 1\">",
            "# HELP diskspd_ios Counter\n",
            "<svg>\n<title>x</title>",
            "\u{89}PNG\r\n",
        ] {
            assert_eq!(DocumentKind::detect(head.as_bytes()), None, "{head}");
        }
        assert_eq!(DocumentKind::detect(b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXtSoftware"), None);
    }
}
