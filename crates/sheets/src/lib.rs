//! Tables of runs as workbooks (.xlsx).
//!
//! Numbers are numbers, text is text: a text that looks like a formula is none. The same table gives the same bytes.

use report::runs_table::{Cell, CellKind, Curve, CurveFigure, Dimension, RunsTable};
use rust_xlsxwriter::{
    Chart, ChartRange, ChartType, DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError,
};
use thiserror::Error;

/// The sheet with a row for each run.
pub const RUNS_SHEET: &str = "runs";

/// The sheet of runs that differ in one setting.
pub const CURVE_SHEET: &str = "curve";

/// The sheet of runs that differ in two settings.
pub const PIVOT_SHEET: &str = "pivot";

/// Rows of a sheet below its header.
const ROWS_MAX: usize = 1_048_575;

/// Columns of a sheet.
const COLUMNS_MAX: usize = 16_384;

/// Lines of a chart; more could not be distinguished.
const LINES_MAX: usize = 8;

/// Rows that a chart covers, plus one below it.
const CHART_ROWS: u32 = 20;

/// The reason why there is no workbook.
#[derive(Debug, Error)]
pub enum WorkbookError {
    /// There are more runs than rows.
    #[error("{rows} runs are more than a sheet has rows ({ROWS_MAX}): write .csv instead")]
    TooManyRows {
        /// Number of runs.
        rows: usize,
    },
    /// The library failed.
    #[error("the workbook cannot be made: {0}")]
    Library(#[from] XlsxError),
}

/// A workbook with the table and, if its runs differ in one or two settings, a curve or grid with a chart.
pub fn workbook(table: &RunsTable) -> Result<Vec<u8>, WorkbookError> {
    let rows = table.rows().len();
    if rows > ROWS_MAX {
        return Err(WorkbookError::TooManyRows { rows });
    }
    let mut book = Workbook::new();
    book.set_properties(&properties(table)?);
    write_runs(book.add_worksheet().set_name(RUNS_SHEET)?, table)?;
    if let Some(curve) = table.curve().filter(fits) {
        let name = if curve.beside.is_some() { PIVOT_SHEET } else { CURVE_SHEET };
        write_curve(book.add_worksheet().set_name(name)?, name, table, &curve)?;
    }
    Ok(book.save_to_buffer()?)
}

fn fits(curve: &Curve) -> bool {
    let lines = curve.figures.first().map_or(0, |figure| figure.lines.len());
    let rows = (curve.across.values.len() + 3) * curve.figures.len();
    rows < ROWS_MAX && lines + 1 < COLUMNS_MAX
}

/// The time of the last run as that of the document: with the clock, each copy would be a different file.
fn properties(table: &RunsTable) -> Result<DocProperties, XlsxError> {
    let last_s = table.last_started_at_unix_ns().map_or(0, |ns| ns / 1_000_000_000);
    // Workbooks have no dates outside the years 1900 to 9999.
    let last_s = i64::try_from(last_s).unwrap_or_default().clamp(0, 253_402_300_799);
    let created = ExcelDateTime::from_timestamp(last_s)?;
    Ok(DocProperties::new().set_title("diskspd runs").set_creation_datetime(&created))
}

/// One header row, then a row for each run: the input of a pivot table.
fn write_runs(sheet: &mut Worksheet, table: &RunsTable) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    let mut at = 0;
    for column in table.columns() {
        sheet.write_string_with_format(0, at, &column.name, &bold)?;
        let width = if column.kind == CellKind::Number { column.name.len().max(8) } else { 18 };
        sheet.set_column_width(at, width as f64 + 1.0)?;
        at += 1;
    }
    for (row, line) in (1..).zip(table.rows()) {
        for (column, cell) in (0..).zip(&line.cells) {
            write_cell(sheet, (row, column), cell)?;
        }
    }
    let last = u32::try_from(table.rows().len()).unwrap_or(u32::MAX);
    sheet.autofilter(0, 0, last, at.saturating_sub(1))?;
    sheet.set_freeze_panes(1, 1)?;
    Ok(())
}

fn write_cell(sheet: &mut Worksheet, (row, column): (u32, u16), cell: &Cell) -> Result<(), XlsxError> {
    match cell {
        Cell::Empty => {}
        // Never converted: a label `=cmd()` stays a label.
        Cell::Text(text) => drop(sheet.write_string(row, column, text)?),
        Cell::Number(number) => drop(sheet.write_number(row, column, *number)?),
    }
    Ok(())
}

/// A block for each metric: for two settings a grid with a column for each value of the second; for one, all metrics
/// side by side. A chart of the throughput is on the right.
fn write_curve(sheet: &mut Worksheet, name: &str, table: &RunsTable, curve: &Curve) -> Result<(), XlsxError> {
    let note = format!(
        "Median of the runs with the same settings, by {}{}",
        table.name_of_dimension(&curve.across),
        curve.beside.as_ref().map(|beside| format!(" and {}", table.name_of_dimension(beside))).unwrap_or_default()
    );
    sheet.write_string(0, 0, note)?;
    let Some(beside) = &curve.beside else {
        let columns = curve.figures.iter().map(|figure| (figure.column.clone(), figure.lines.first())).collect();
        return write_block(sheet, name, table, curve, Block { top: 2, columns, title: None });
    };
    let mut top = 2;
    for figure in &curve.figures {
        let columns = heads(table, beside).into_iter().zip(figure.lines.iter().map(Some)).collect();
        write_block(sheet, name, table, curve, Block { top, columns, title: Some(figure) })?;
        let rows = u32::try_from(curve.across.values.len()).unwrap_or(u32::MAX);
        top += (rows + 3).max(CHART_ROWS);
    }
    Ok(())
}

fn heads(table: &RunsTable, dimension: &Dimension) -> Vec<String> {
    let column = &table.columns()[dimension.column];
    dimension.values.iter().map(|value| column.typed(value)).collect()
}

/// A head row and a row for each value of the setting across.
struct Block<'a> {
    top: u32,
    columns: Vec<(String, Option<&'a Vec<Option<f64>>>)>,
    /// The metric, if all columns have the same.
    title: Option<&'a CurveFigure>,
}

fn write_block(
    sheet: &mut Worksheet,
    name: &str,
    table: &RunsTable,
    curve: &Curve,
    block: Block<'_>,
) -> Result<(), XlsxError> {
    let bold = Format::new().set_bold();
    let Block { mut top, columns, title } = block;
    if let Some(figure) = title {
        sheet.write_string_with_format(top, 0, &figure.column, &bold)?;
        top += 1;
    }
    let across = &table.columns()[curve.across.column];
    sheet.write_string_with_format(top, 0, &across.name, &bold)?;
    sheet.set_column_width(0, across.name.len().max(12) as f64 + 2.0)?;
    for (row, value) in (top + 1..).zip(&curve.across.values) {
        write_cell(sheet, (row, 0), value)?;
    }
    for (column, (head, medians)) in (1..).zip(&columns) {
        sheet.write_string_with_format(top, column, head, &bold)?;
        sheet.set_column_width(column, head.len().max(8) as f64 + 2.0)?;
        for (row, median) in (top + 1..).zip(medians.iter().flat_map(|medians| medians.iter())) {
            if let Some(median) = median {
                sheet.write_number(row, column, *median)?;
            }
        }
    }
    // Metrics side by side have different units: only the first, the throughput, is drawn.
    let drawn = if title.is_some() { columns.len().min(LINES_MAX) } else { 1 };
    let last = top + u32::try_from(curve.across.values.len()).unwrap_or(u32::MAX);
    let mut chart = Chart::new(ChartType::Line);
    for (column, _) in (1u16..).zip(columns.iter().take(drawn)) {
        let range = |column| ChartRange::new_from_range(name, top + 1, column, last, column);
        chart
            .add_series()
            .set_categories(&range(0))
            .set_values(&range(column))
            .set_name(&ChartRange::new_from_range(name, top, column, top, column));
    }
    let metric = title.map_or_else(|| columns.first().map(|(head, _)| head.as_str()), |figure| Some(&figure.column));
    chart.title().set_name(format!("{} by {}", metric.unwrap_or_default(), across.name).as_str());
    chart.x_axis().set_name(&across.name);
    chart.y_axis().set_name(metric.unwrap_or_default());
    let beside = u16::try_from(columns.len() + 2).unwrap_or(u16::MAX);
    sheet.insert_chart(top.saturating_sub(u32::from(title.is_some())), beside, &chart)?;
    Ok(())
}
