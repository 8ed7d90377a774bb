//! Documents generated from the program. Tests compare the committed documents with the generated ones.

use crate::{reference_page, rule_tables, schema_page, sentences};
use serde_json::Value;
use std::io;
use std::path::Path;

/// Above this line a page is written by hand, below it by [`write()`].
const MARKER: &str = "<!-- From here on made by: cargo xtask docs -->\n";

/// Parts of a result that its page lists, as jq writes them, and their types.
const RESULT_PARTS: &[(&str, &str)] =
    &[(".time_spans[]", "TimeSpanResult"), (".time_spans[].summary.total", "Summary")];

/// The same of a series.
const SERIES_PARTS: &[(&str, &str)] = &[(".visits[]", "Visit")];

/// The same of the lines of the monitor.
const RECORDING_PARTS: &[(&str, &str)] = &[
    ("select(.kind == \"begin\")", "WatchBegin"),
    ("select(.kind == \"interval\")", "DeviceInterval"),
    (".devices[]", "DeviceRates"),
    (".devices[].read", "RequestRates"),
    ("select(.kind == \"end\")", "WatchEnd"),
];

/// The same of an interval of a live stream.
const LIVE_PARTS: &[(&str, &str)] =
    &[(".interval", "LiveFigures"), (".interval.total", "LiveLoad"), (".interval.total.total", "LiveSide")];

/// The same of the figures of a trace.
const TRACE_PARTS: &[(&str, &str)] =
    &[(".account", "Account"), (".arrivals", "Arrivals"), (".depth", "Depth"), (".skew", "ZipfFit")];

/// A document, its committed and its generated content.
#[derive(Debug)]
pub struct Document {
    /// Path below the root of the project.
    pub path: &'static str,
    /// Its committed content.
    pub committed: String,
    /// Its generated content.
    pub made: String,
}

/// Every document that is generated from the program.
///
/// # Errors
///
/// If one cannot be read, or a page lacks the line from which on it is generated.
pub fn all(root: &Path) -> io::Result<Vec<Document>> {
    let committed = |path: &str| std::fs::read_to_string(root.join(path));
    let page = |path: &'static str, made: String| {
        let page = committed(path)?;
        let by_hand = page
            .split_once(MARKER)
            .map(|(by_hand, _)| by_hand)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{path} lacks the line {MARKER}")))?;
        Ok::<_, io::Error>(Document { path, made: format!("{by_hand}{MARKER}{made}"), committed: page })
    };
    let schema = |path: &'static str, read: &Value| {
        let made = serde_json::to_string_pretty(read)? + "\n";
        // It does not exist before it is generated for the first time.
        Ok::<_, io::Error>(Document { path, committed: committed(path).unwrap_or_default(), made })
    };
    // Like a schema, it does not exist before it is generated for the first time.
    let whole = |path: &'static str, made| Document { path, committed: committed(path).unwrap_or_default(), made };
    Ok(vec![
        whole("docs/reference/options.md", reference_page::options_page()),
        whole("docs/reference/subcommands.md", reference_page::subcommands_page()),
        page("docs/jobs.md", reference_page::job_tables())?,
        page("docs/metrics.md", reference_page::metrics_tables())?,
        page("docs/monitor.md", reference_page::counters_tables())?,
        page("docs/formats/runs.md", reference_page::runs_columns())?,
        page("docs/verdict.md", rule_tables::verdict_table())?,
        page("docs/sweeps.md", rule_tables::runs_table())?,
        page("docs/check.md", rule_tables::check_table())?,
        page("docs/expect.md", rule_tables::expectation_table())?,
        page("docs/guide/clouds.md", reference_page::volumes_table())?,
        whole("crates/app/tests/data/sentences.txt", sentences::list(root)?),
        whole("docs/formats/diskspd-profile.xsd", settings::xml::schema::schema()),
        page("docs/formats/json.md", schema_page::page(&render::json::schema_of_written(), RESULT_PARTS))?,
        schema("docs/formats/diskspd-result.schema.json", &render::json::schema())?,
        page("docs/formats/sweep.md", schema_page::page(&render::json::schema_of_written_sweep(), SERIES_PARTS))?,
        schema("docs/formats/diskspd-sweep.schema.json", &render::json::schema_of_sweep())?,
        page(
            "docs/formats/monitor.md",
            schema_page::page(&render::json::schema_of_written_monitor(), RECORDING_PARTS),
        )?,
        schema("docs/formats/diskspd-monitor.schema.json", &render::json::schema_of_monitor())?,
        page("docs/formats/live.md", schema_page::page(&render::json::schema_of_live_interval(), LIVE_PARTS))?,
        page("docs/formats/trace.md", schema_page::page(&render::json::schema_of_trace(), TRACE_PARTS))?,
        schema("docs/formats/diskspd-trace.schema.json", &render::json::schema_of_trace())?,
        schema("docs/formats/diskspd-live.schema.json", &render::json::schema_of_live())?,
    ])
}

/// Writes every document that is out of date.
///
/// # Errors
///
/// Those of [`all`], and if a document cannot be written.
pub fn write(root: &Path) -> io::Result<()> {
    for document in all(root)? {
        if document.made != document.committed {
            let path = root.join(document.path);
            std::fs::create_dir_all(path.parent().unwrap_or(root))?;
            std::fs::write(path, document.made)?;
        }
    }
    Ok(())
}
