//! `diskspd trace show`: the figures of a trace, and the closest load.

use crate::feature::Feature;
use crate::output::{print, say, write_json};
use crate::outputs::{OutputFile, Protected, Replace, written};
use crate::picture;
use crate::status::{Status, fail, printed, refuse_each, refuse_with};
use crate::subject::name_of;
use cli::subcommand::trace::ShowTraceRequest;
use model::validate::{Purpose, validate};
use render::Detail;
use render::document::DocumentKind;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use trace::account::Loss;
use trace::figures::{Closest, Document, Figures};
use trace::fit::Load;
use trace::format::FormatError;
use trace::readers::{OpenError, TraceReader};
use trace::summary::Summary;

/// Files to be written, checked.
struct Outputs {
    page: Option<OutputFile>,
    job: Option<OutputFile>,
    json: Option<OutputFile>,
}

/// Runs `diskspd trace show`.
pub(crate) fn run(request: &ShowTraceRequest) -> Status {
    let outputs = match Outputs::check(request) {
        Ok(outputs) => outputs,
        Err(reasons) => return refuse_each(&reasons),
    };
    let figures = match reader(&request.traces) {
        Ok(reader) => Figures::read(reader),
        Err(status) => return status,
    };
    let closest = request.job.as_ref().and_then(|_| Closest::new(&figures.summary));
    let text = match show(request, &outputs, &figures, closest.as_ref()) {
        Ok(text) => text,
        Err(reason) => return fail(&reason),
    };
    let status = printed(print(&text), damage(&request.traces, &figures));
    match (&outputs.job, &closest) {
        (Some(_), None) => fail("--job: the trace has no request that a load could imitate"),
        (Some(file), Some(closest)) => {
            write_job(file, &closest.fit.load, &figures.summary).map_or_else(|status| status, |()| status)
        }
        (None, _) => status,
    }
}

impl Outputs {
    fn check(request: &ShowTraceRequest) -> Result<Self, Vec<String>> {
        let protected: Vec<Protected> =
            request.traces.iter().map(|path| Protected { path: path.clone(), role: "the trace to be read" }).collect();
        let mut errors = Vec::new();
        let mut check = |option: &str, path: Option<&PathBuf>, kind| {
            let path = path?;
            let checked = OutputFile::check(path, Replace { kind, any: request.replace_output }, &protected);
            checked.map_err(|reason| errors.push(format!("{option} '{}': {reason}", path.display()))).ok()
        };
        let page = check("--output", request.page.as_ref(), DocumentKind::Page);
        let job = check("--job", request.job.as_ref(), DocumentKind::Job);
        let json = check("--json", request.json.as_ref().filter(|path| !is_stdio(path)), DocumentKind::TraceFigures);
        if let Some(reason) = page.as_ref().and_then(|_| Feature::Pages.missing()) {
            errors.push(format!("--output: {reason}"));
        }
        if errors.is_empty() { Ok(Self { page, job, json }) } else { Err(errors) }
    }
}

fn is_stdio(path: &Path) -> bool {
    path == Path::new("-")
}

/// A trace, or the files of one.
///
/// # Errors
///
/// The status, after its reason was printed: a file cannot be read, or is no trace.
pub(crate) fn reader(paths: &[PathBuf]) -> Result<TraceReader<'static>, Status> {
    let open = |path: &PathBuf| -> io::Result<Box<dyn Read>> {
        Ok(if is_stdio(path) { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
    };
    let mut inputs = Vec::new();
    for path in paths {
        match open(path) {
            Ok(input) => inputs.push(input),
            Err(error) => return Err(fail(&format!("cannot read '{}': {error}", path.display()))),
        }
    }
    TraceReader::new(inputs).map_err(|error| {
        let file = paths.get(error.input()).map(|path| path.display().to_string()).unwrap_or_default();
        let reason = format!("'{file}': {error}");
        if matches!(error, OpenError::Io { .. } | OpenError::Format(FormatError::Io(_))) {
            fail(&reason)
        } else {
            refuse_with(&reason)
        }
    })
}

/// Prints each part of a trace that was not used. Bytes that are lost are a failure; a trace whose end was never written
/// is not.
pub(crate) fn damage(paths: &[PathBuf], figures: &Figures) -> Status {
    let account = &figures.account;
    for Loss { input, place, bytes, reason } in &account.losses {
        let file = paths.get(*input).map(|path| path.display().to_string()).unwrap_or_default();
        let lost = if *bytes > 0 { format!(" ({bytes} bytes not used)") } else { String::new() };
        say(&format!("{}: '{file}', {place}: {reason}{lost}", if *bytes > 0 { "ERROR" } else { "WARNING" }));
    }
    let more = account.loss_count - account.losses.len() as u64;
    if more > 0 {
        say(&format!("ERROR: {more} more parts of the trace cannot be read; {} bytes in all", account.lost_bytes));
    }
    if account.lost_bytes > 0 { Status::Failed } else { Status::Done }
}

/// Writes page and JSON; gives the text for stdout.
fn show(
    request: &ShowTraceRequest,
    outputs: &Outputs,
    figures: &Figures,
    closest: Option<&Closest>,
) -> Result<Vec<u8>, String> {
    let files: Vec<String> = request.traces.iter().map(|path| path.display().to_string()).collect();
    let name = match &request.traces[..] {
        [only] => name_of(only),
        several => several.iter().map(|path| name_of(path)).collect::<Vec<_>>().join(" "),
    };
    let job = request.job.as_ref().map(|path| path.display().to_string());
    let report = || report::trace(&name, figures, closest, job.as_deref());
    let document = Document::new(&files, figures, closest);
    if let Some(file) = &outputs.page {
        picture::page(report(), file)?;
    }
    if let Some(file) = &outputs.json {
        file.save(|out| write_json(&document, out))?;
    }
    let text = if request.json.as_deref().is_some_and(is_stdio) {
        written(|out| write_json(&document, out))
    } else {
        written(|out| render::report_text(&report(), Detail::Full, out))
    };
    text.map_err(|error| format!("cannot show the trace: {error}"))
}

/// Writes the closest load as a job file.
fn write_job(file: &OutputFile, load: &Load, summary: &Summary) -> Result<(), Status> {
    let seconds = (summary.arrivals.duration_ns as f64 / 1e9).round().clamp(10.0, 3600.0);
    let profile = load.profile(seconds as u32);
    let findings = validate(&profile, Purpose::Show);
    if !findings.errors.is_empty() {
        return Err(refuse_each(&findings.errors));
    }
    let text = cli::write_job(&profile, &[]);
    file.save(|out| out.write_all(text.as_bytes())).map_err(|reason| fail(&reason))
}
