//! Tables of runs as workbooks.

use report::runs_table::RunsTable;

/// The bytes of a workbook; the error is a sentence.
pub(crate) fn bytes(table: &RunsTable) -> Result<Vec<u8>, String> {
    sheets::workbook(table).map_err(|error| error.to_string())
}
