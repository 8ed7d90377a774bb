//! `diskspd history`: the results of a gate, grouped by fingerprint, with their change points.

use super::folder::{GateFolder, own_files};
use crate::output::print;
use crate::outputs::{OutputFile, Replace};
use crate::picture;
use crate::status::{Status, fail, printed, refuse_with};
use cli::subcommand::history::HistoryRequest;
use model::gate::GateEntry;
use model::metric::{Metric, MetricName};
use model::printable::printable;
use render::document::DocumentKind;
use report::words::gate::History;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Runs `diskspd history`.
pub(crate) fn run(request: &HistoryRequest) -> Status {
    let replace = Replace { kind: DocumentKind::Page, any: request.replace_output };
    let output = request.output.as_ref().map(|path| {
        OutputFile::check(path, replace, &own_files(&request.folder))
            .map_err(|reason| format!("--output '{}': {reason}", path.display()))
    });
    let output = match output.transpose() {
        Ok(output) => output,
        Err(reason) => return refuse_with(&reason),
    };
    // Only a gate rebuilds the index; viewing it changes nothing.
    let entries = match GateFolder::open(&request.folder).and_then(|folder| folder.read()) {
        Ok((entries, _)) => entries,
        Err(reason) => return fail(&reason),
    };
    let histories = histories(&entries);
    if histories.is_empty() {
        return fail(&format!("no results in '{}'", request.folder.display()));
    }
    let mut text = String::new();
    for (fingerprint, history) in &histories {
        let parts = fingerprint.iter().filter(|(_, value)| !value.is_empty());
        for (name, value) in parts {
            // Writing to a string does not fail, here and below.
            let _ = writeln!(text, "{}: {}", printable(name), printable(value));
        }
        let table = report::words::gate::history(history);
        text.extend(render::table_lines(&table).into_iter().map(|line| line + "\n"));
        let accepted = entries.iter().filter(|of| of.fingerprint == **fingerprint && of.file.is_none());
        for (from, reason) in accepted.filter_map(|of| Some((of.at_unix_ns, of.accepted.as_ref()?))) {
            let _ = writeln!(text, "accepted from {}: {}", report::words::time::utc(from), printable(reason));
        }
        text.push('\n');
    }
    let shown = print(text.as_bytes());
    if let Some(output) = output {
        let histories: Vec<History<'_>> = histories.into_values().collect();
        let page = picture::history(&histories, &request.folder.display().to_string());
        let write =
            |page: String| output.write(|out| out.write_all(page.as_bytes())).map_err(|error| error.to_string());
        let written = page.and_then(write);
        if let Err(reason) = written {
            return fail(&format!("--output '{}': {reason}", output.name().display()));
        }
    }
    printed(shown, Status::Done)
}

/// The runs at which a new level of IOPS, or of the 99th percentile, begins.
fn levels(runs: &[&GateEntry]) -> Vec<usize> {
    let names = report::words::gate::shown_metrics(runs);
    let of_metric = |name: &MetricName| {
        let known = runs.iter().enumerate().filter(|(_, run)| !run.is_invalid());
        let (places, values): (Vec<usize>, Vec<f64>) =
            known.filter_map(|(place, run)| Some((place, run.value(name)?))).unzip();
        stats::gate::levels(&values).into_iter().map(|cut| places[cut]).collect::<Vec<_>>()
    };
    let judged = names.iter().filter(|name| name.metric != Metric::Mean);
    let mut found: Vec<usize> = judged.flat_map(of_metric).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The runs of each fingerprint.
fn histories(entries: &[GateEntry]) -> BTreeMap<&BTreeMap<String, String>, History<'_>> {
    let mut found: BTreeMap<_, Vec<&GateEntry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.file.is_some()) {
        found.entry(&entry.fingerprint).or_default().push(entry);
    }
    let history = |runs: Vec<_>| History { levels: levels(&runs), runs };
    found.into_iter().map(|(fingerprint, runs)| (fingerprint, history(runs))).collect()
}
