//! `diskspd report`: results that were saved, in any form.

use crate::output::{print, say};
use crate::outputs::{OutputFile, Protected, document};
use crate::status::{Status, fail, printed, refuse};
use model::result::RunResult;
use spec::Form;
use spec::report_command::{self, ReportCommand};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Does what the words behind `diskspd report` ask for.
pub(crate) fn report(words: &[OsString]) -> Status {
    match report_command::parse(words) {
        Err(failure) => refuse(&failure),
        Ok(ReportCommand::Help) => printed(print(report_command::HELP.as_bytes()), Status::Success),
        Ok(ReportCommand::Print { files }) => show(&files),
        Ok(ReportCommand::Convert { file, output, form }) => convert(&file, &output, form),
    }
}

/// Prints every result that can be read; one that cannot does not keep the others from it.
fn show(files: &[PathBuf]) -> Status {
    let mut status = Status::Success;
    for (index, file) in files.iter().enumerate() {
        let result = match read(file) {
            Ok(result) => result,
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
        let written = document(Form::Text, &result).and_then(|text| print(&[heading.as_bytes(), &text].concat()));
        if let Err(error) = written {
            return printed(Err(error), status);
        }
    }
    status
}

fn convert(file: &Path, output: &Path, form: Form) -> Status {
    let source = [Protected { path: file.to_owned(), role: "the result that is read" }];
    let place = match OutputFile::check(output, &source) {
        Ok(place) => place,
        Err(reason) => {
            say(&format!("ERROR: --output '{}': {reason}", output.display()));
            return Status::Invalid;
        }
    };
    let result = match read(file) {
        Ok(result) => result,
        Err(reason) => return fail(&reason),
    };
    match document(form, &result).and_then(|bytes| place.write(&bytes)) {
        Ok(()) => Status::Success,
        Err(error) => fail(&format!("cannot write '{}': {error}", output.display())),
    }
}

/// A result of this program or of DiskSpd; why it cannot be had, as a sentence.
fn read(file: &Path) -> Result<RunResult, String> {
    let bytes = contents(file).map_err(|error| format!("cannot read '{}': {error}", file.display()))?;
    let is_json = bytes.trim_ascii_start().starts_with(b"{");
    let result = if is_json {
        report::json::read(&bytes).map_err(|error| error.to_string())
    } else {
        report::read(&bytes).map_err(|error| error.to_string())
    };
    result.map_err(|reason| format!("'{}': {reason}", file.display()))
}

/// Not more than shows that it is too much.
fn contents(file: &Path) -> io::Result<Vec<u8>> {
    let limit = report::json::BYTES_MAX as u64 + 1;
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)?;
    } else {
        File::open(file)?.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
