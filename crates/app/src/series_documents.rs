//! The page and the table of all runs that a preset of series writes in its directory.

use crate::feature::Feature;
use crate::meaning::meaning;
use crate::outputs::{OutputFile, Protected, Replace, written};
use crate::subject::name_of;
use crate::{picture, runs_table, sweep, workbook};
use cli::planned_series::PlannedSeries;
use render::document::DocumentKind;
use report::Report;
use report::runs_table::RunsTable;
use std::path::{Path, PathBuf};
use sys::folder::Folder;

/// Advice for files with other contents, which are never replaced.
const INSTEAD: &str = "move it away";

/// A document of all series.
#[derive(Clone, Copy)]
enum Document {
    Page,
    Workbook,
    /// Used by builds without workbooks.
    Csv,
}

impl Document {
    /// Those that this build supports.
    fn all() -> impl Iterator<Item = Self> {
        let page = Feature::Pages.missing().is_none().then_some(Self::Page);
        let table = if Feature::Sheets.missing().is_none() { Self::Workbook } else { Self::Csv };
        page.into_iter().chain([table])
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Page => "baseline.html",
            Self::Workbook => "runs.xlsx",
            Self::Csv => "runs.csv",
        }
    }

    const fn kind(self) -> DocumentKind {
        match self {
            Self::Page => DocumentKind::Page,
            Self::Workbook => DocumentKind::Workbook,
            Self::Csv => DocumentKind::RunsTable,
        }
    }

    /// Its file, unless something else is there.
    fn place(self, folder: &Path) -> Result<OutputFile, String> {
        let replace = Replace { kind: self.kind(), any: false };
        let held = Folder::open(folder).map_err(|error| error.to_string());
        held.and_then(|held| OutputFile::check_within(&held, folder, self.name(), replace, INSTEAD))
            .map_err(|reason| format!("'{}': {reason}", folder.join(self.name()).display()))
    }
}

/// Checks the files of all documents, before anything is run.
///
/// # Errors
///
/// A sentence.
pub(crate) fn check(planned: &[PlannedSeries], folder: &Path) -> Result<(), String> {
    let protected = targets(planned);
    for document in Document::all() {
        let path = folder.join(document.name());
        if let Some(Protected { role, .. }) = protected.iter().find(|protected| protected.path == path) {
            return Err(format!("'{}': the file is {role}; choose another --dir", path.display()));
        }
        if folder.is_dir() {
            document.place(folder)?;
        }
    }
    Ok(())
}

/// Targets of the series, which no document replaces.
fn targets(planned: &[PlannedSeries]) -> Vec<Protected> {
    let points = planned.iter().filter_map(PlannedSeries::request).flat_map(|request| &request.points);
    let targets = points.flat_map(|point| &point.request.profile.time_spans).flat_map(|span| &span.targets);
    targets.map(|target| Protected { path: target.path.clone(), role: "a target of this run" }).collect()
}

/// Writes all documents: returns their names and descriptions.
///
/// # Errors
///
/// A sentence.
pub(crate) fn write(
    planned: &[PlannedSeries],
    reports: &[(String, Report)],
    folder: &Path,
) -> Result<Vec<String>, String> {
    let sources: Vec<PathBuf> = planned.iter().map(|series| folder.join(&series.name)).collect();
    let sources: Vec<PathBuf> = sources.into_iter().filter(|source| source.is_dir()).collect();
    let devices =
        planned.iter().filter_map(PlannedSeries::request).find_map(|request| sweep::devices(&request.options));
    let (table, reasons) = runs_table::gather(&sources, devices);
    if let Some(reason) = reasons.into_iter().next() {
        return Err(reason);
    }
    if table.rows().is_empty() {
        return Ok(Vec::new());
    }
    let written = Document::all().map(|document| {
        let what = write_document(document, &table, reports, folder)?;
        Ok(format!("{} ({what})", folder.join(document.name()).display()))
    });
    written.collect()
}

fn write_document(
    document: Document,
    table: &RunsTable,
    reports: &[(String, Report)],
    folder: &Path,
) -> Result<&'static str, String> {
    let place = document.place(folder)?;
    let bytes = match document {
        Document::Page => {
            picture::page(report::procedure(&name_of(folder), reports, table, meaning), &place)?;
            return Ok("page");
        }
        Document::Workbook => workbook::bytes(table)?,
        Document::Csv => written(|out| render::runs_csv(table, out)).map_err(|error| error.to_string())?,
    };
    place.save(|out| out.write_all(&bytes))?;
    Ok(if matches!(document, Document::Csv) { "table" } else { "spreadsheet" })
}
