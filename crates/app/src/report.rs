//! `diskspd report`: saved results in any form.

use crate::kept_results;
use crate::meaning::meaning;
use crate::output::print;
use crate::outputs::{Protected, has_figures, kind_of, write_document, written};
use crate::report_picture;
use crate::runs_table;
use crate::saved_results::{contents, output_file, read, result_in, sweep_in};
use crate::status::{Status, done, fail, printed, refuse_with};
use crate::subject::{name_of, recording_in};
use crate::sweep;
use cli::Form;
use cli::subcommand::report::{OutputAsked, PartAsked, ReportCommand, TableForm};
use model::result::{Measured, RunResult};
use render::Detail;
use render::document::DocumentKind;
use report::Subject;
use stats::{NAMED_PERCENTILES, NoPart, Part};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs `diskspd report`.
pub(crate) fn run(mut command: ReportCommand) -> Status {
    if let Err(reason) = command.paths_mut().into_iter().try_for_each(kept_results::resolve) {
        return refuse_with(&reason);
    }
    match &command {
        ReportCommand::Print { files, has_details: false } if is_plain_directory(files) => {
            runs_table::make(files, None, None)
        }
        ReportCommand::Print { files, has_details } => each(files, |file| {
            let asked = has_details.then_some(Detail::Full);
            if let Some(series) = sweep::report(file, asked.unwrap_or(Detail::Short)) {
                return series;
            }
            let bytes = contents(file)?;
            let text = if import::recording::is_recording(&bytes) {
                let (name, recording) = (name_of(file), recording_in(file, &bytes)?);
                let report = Subject::Recording { name: &name, recording: &recording }.report(meaning);
                written(|out| render::report_text(&report, asked.unwrap_or(Detail::Short), out))
            } else {
                let result = result_in(file, &bytes)?;
                let detail = asked.unwrap_or_else(|| Detail::from_profile(&result.profile));
                written(|out| render::text(&result, detail, out))
            };
            text.map_err(|error| of_file(file, &unwritten(&error)))
        }),
        ReportCommand::Look { files, part, slowest } => each(files, |file| {
            render_views(&read(file)?, part.as_ref(), *slowest).map_err(|reason| of_file(file, &reason))
        }),
        ReportCommand::Table { sources, devices, output } => runs_table::make(sources, *devices, output.as_ref()),
        ReportCommand::Convert { file, output, form: Form::Csv } if file.is_dir() => {
            let output = (output.clone(), TableForm::Csv { append: false });
            runs_table::make(std::slice::from_ref(file), None, Some(&output))
        }
        ReportCommand::Convert { file, output, form } => {
            convert(file, output, kind_of(*form), |result, out| write_document(*form, result, out))
        }
        ReportCommand::Metrics { file, output } => convert(file, output, DocumentKind::Metrics, render::open_metrics),
        ReportCommand::Picture { sources, output, form, monitor } => {
            report_picture::make(sources, output, form, monitor.as_deref())
        }
    }
}

/// True if the argument is a single directory that no series wrote.
fn is_plain_directory(files: &[PathBuf]) -> bool {
    matches!(files, [only] if only.is_dir() && sweep_in(only).is_none())
}

fn of_file(file: &Path, reason: &str) -> String {
    format!("'{}': {reason}", file.display())
}

/// Prints a part of every readable file or directory; unreadable ones do not prevent the others from being printed.
fn each(files: &[PathBuf], of: impl Fn(&Path) -> Result<Vec<u8>, String>) -> Status {
    let mut status = Status::Done;
    for (index, file) in files.iter().enumerate() {
        let text = match of(file) {
            Ok(text) => text,
            Err(reason) => {
                status = fail(&reason);
                continue;
            }
        };
        let heading = match (files.len(), index) {
            (1, _) => String::new(),
            (_, 0) => format!("==> {} <==\n", file.display()),
            _ => format!("\n==> {} <==\n", file.display()),
        };
        if let Err(error) = print(&[heading.as_bytes(), &text].concat()) {
            return printed(Err(error), status);
        }
    }
    status
}

/// The requested views of every measured timespan.
fn render_views(result: &RunResult, part: Option<&PartAsked>, slowest: bool) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let several = result.time_spans.len() > 1;
    for (index, span_result) in result.time_spans.iter().enumerate() {
        let Some(measured) = &span_result.measured else { continue };
        let number = several.then_some(index + 1);
        if !text.is_empty() {
            text.push(b'\n');
        }
        if let Some(asked) = part {
            let part = part_of(measured, asked).map_err(|reason| reason.to_string())?;
            render::part(number, &part, &mut text).map_err(|error| unwritten(&error))?;
        }
        if slowest {
            if measured.slowest.is_empty() {
                return Err("the result has no list of slowest I/Os; only JSON results of runs with -D or -L have one"
                    .to_owned());
            }
            if part.is_some() {
                text.push(b'\n');
            }
            render::slowest(number, measured, &mut text).map_err(|error| unwritten(&error))?;
        }
    }
    if text.is_empty() { Err("nothing was measured".to_owned()) } else { Ok(text) }
}

fn part_of(measured: &Measured, asked: &PartAsked) -> Result<Part, NoPart> {
    let PartAsked { from_ns, to_ns, percentiles_ppb } = asked;
    let usual = NAMED_PERCENTILES.map(|(_, rank_ppb)| rank_ppb);
    let ranks_ppb = if percentiles_ppb.is_empty() { &usual[..] } else { percentiles_ppb };
    stats::part(measured, *from_ns, *to_ns, ranks_ppb)
}

fn unwritten(error: &io::Error) -> String {
    format!("the report cannot be created: {error}")
}

fn convert(
    file: &Path,
    output: &OutputAsked,
    kind: DocumentKind,
    write: impl FnOnce(&RunResult, &mut dyn Write) -> io::Result<()>,
) -> Status {
    let source = [Protected { path: file.to_owned(), role: "the result being read" }];
    let place = match output_file(output, kind, &source) {
        Ok(place) => place,
        Err(status) => return status,
    };
    let result = match read(file) {
        Ok(result) => result,
        Err(reason) => return fail(&reason),
    };
    if place.is_there() && !has_figures(&result) {
        return fail(&format!(
            "--output '{}': '{}' has no results; the existing file is unchanged",
            output.path.display(),
            file.display()
        ));
    }
    done(place.save(|out| write(&result, out)))
}
