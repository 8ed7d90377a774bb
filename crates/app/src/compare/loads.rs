//! A trace beside another one, or beside the result of a run.

use super::show_report;
use crate::outputs::OutputFile;
use crate::saved_results::read;
use crate::status::{Status, fail, refuse_with};
use crate::subject::name_of;
use crate::trace::show::{damage, reader};
use cli::subcommand::compare::ChangeLimit;
use model::result::RunResult;
use report::ComparedLoad;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use trace::figures::Figures;
use trace::readers::{DETECTED_BYTES, is_trace};

/// True of a file with a trace of block I/O.
pub(super) fn has_trace(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = |file: File| file.take(DETECTED_BYTES).read_to_end(&mut begin);
    path.is_file() && File::open(path).and_then(read).is_ok() && is_trace(&begin)
}

/// A trace, and the status of reading it, or the result of a run.
enum Load {
    Trace(Box<Figures>, Status),
    Run(Box<RunResult>),
}

impl Load {
    fn read(paths: &[PathBuf]) -> Result<Self, Status> {
        if paths.iter().any(|path| has_trace(path)) {
            let figures = Figures::read(reader(paths)?);
            let status = damage(paths, &figures);
            return Ok(Self::Trace(Box::new(figures), status));
        }
        match paths {
            [only] => read(only).map(|result| Self::Run(Box::new(result))).map_err(|reason| fail(&reason)),
            _ => Err(refuse_with("a trace can be compared with one result only")),
        }
    }

    fn compared(&self) -> ComparedLoad<'_> {
        match self {
            Self::Trace(figures, _) => ComparedLoad::Trace(figures),
            Self::Run(result) => ComparedLoad::Run(result),
        }
    }

    fn status(&self) -> Status {
        if let Self::Trace(_, status) = self { *status } else { Status::Done }
    }
}

/// Prints the loads of both sides, one of which is a trace, and makes their page.
pub(super) fn compare(sides: [&[PathBuf]; 2], limits: &[ChangeLimit], page: Option<&OutputFile>) -> Status {
    if let Some(limit) = limits.first() {
        return refuse_with(&format!(
            "--fail-if '{}': traces have no metrics (expected: results of runs)",
            limit.typed
        ));
    }
    let (first, second) = match (Load::read(sides[0]), Load::read(sides[1])) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(status), _) | (_, Err(status)) => return status,
    };
    let names = sides.map(|paths| paths.iter().map(|path| name_of(path)).collect::<Vec<_>>().join(" "));
    let Some(report) = report::load_comparison([&names[0], &names[1]], [first.compared(), second.compared()]) else {
        return fail("the run has no measurement to compare with the trace");
    };
    Status::worst([show_report(report, page), first.status(), second.status()])
}
