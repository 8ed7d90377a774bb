//! In a build without sheets there are no workbooks.

use crate::feature::Feature;
use report::runs_table::RunsTable;

/// Refuses to make a workbook.
pub(crate) fn bytes(_: &RunsTable) -> Result<Vec<u8>, String> {
    Err(Feature::Sheets.refusal())
}
