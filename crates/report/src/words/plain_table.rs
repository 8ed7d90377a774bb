//! Tables of blanks: columns without lines between them, as wide as a terminal has room for.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use model::printable::{printable, wrapped};
use std::io::{self, Write};

/// Columns of a line, if its words allow it.
pub const COLUMNS: usize = 80;

/// Most characters of a line of a heading, of a line of words, and of one of numbers, such as intervals, tried in this
/// order.
const LINES_OF_CELLS: [(usize, usize, usize); 7] =
    [(MAX, MAX, MAX), (12, MAX, MAX), (8, MAX, MAX), (8, 32, MAX), (8, 24, MAX), (8, 20, MAX), (8, 16, MAX)];

/// The same where numbers and intervals are broken, too: if even without spare columns there is no room.
const BROKEN_NUMBERS: (usize, usize, usize) = (8, 16, 13);

const MAX: usize = usize::MAX;

/// A table that grows row by row.
pub struct PlainTable {
    header: Vec<String>,
    right: Vec<usize>,
    rows: Vec<Vec<String>>,
    /// Columns that may be left out, the least important first; `None` if the table may be of any width.
    spare: Option<Vec<usize>>,
}

impl PlainTable {
    /// With these headings; the columns in `right` are flush right.
    pub fn new(header: impl IntoIterator<Item: Into<String>>, right: impl IntoIterator<Item = usize>) -> Self {
        let header = header.into_iter().map(Into::into).collect();
        Self { header, right: right.into_iter().collect(), rows: Vec::new(), spare: None }
    }

    /// Makes its text fit 80 columns: headings and words are wrapped, then these columns are left out one by one, the
    /// first of them first. Numbers and words are never cut.
    #[must_use]
    pub fn fitted(mut self, spare: impl IntoIterator<Item = usize>) -> Self {
        self.spare = Some(spare.into_iter().collect());
        self
    }

    /// One more row.
    pub fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    /// The headings of its columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Its cells, without the header.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// True if the column holds numbers.
    pub fn is_flush_right(&self, column: usize) -> bool {
        self.right.contains(&column)
    }

    /// Its lines, without blanks at their ends; then what was left out of a fitted one.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let Some(spare) = &self.spare else { return self.shown(&[], LINES_OF_CELLS[0]).into_iter() };
        let tried = (0..=spare.len()).flat_map(|count| LINES_OF_CELLS.map(|limits| (count, limits)));
        let mut lines = Vec::new();
        for (count, limits) in tried.chain([(spare.len(), BROKEN_NUMBERS)]) {
            let left_out = &spare[..count];
            lines = self.shown(left_out, limits);
            let has_room = lines.iter().all(|line| line.chars().count() <= COLUMNS);
            lines.extend(self.left_out_words(left_out));
            if has_room {
                break;
            }
        }
        lines.into_iter()
    }

    /// Writes its lines.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.lines().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// The lines without some of the columns; `limits` are of [`LINES_OF_CELLS`].
    fn shown(&self, left_out: &[usize], (heading_max, words_max, numbers_max): (usize, usize, usize)) -> Vec<String> {
        let columns: Vec<usize> = (0..self.header.len()).filter(|column| !left_out.contains(column)).collect();
        let mut table = Table::new();
        table.load_style(NOTHING);
        // Units, such as fdatasync/s, stay whole; names of files may be long.
        let heading = |column: &usize| {
            let lines = wrapped(&self.header[*column], heading_max);
            lines.iter().flat_map(|line| pieces(line, heading_max.max(NAME_MAX))).collect::<Vec<_>>().join("\n")
        };
        table.set_header(columns.iter().map(heading));
        let right = columns.iter().enumerate().filter(|(_, column)| self.right.contains(column));
        for (place, _) in right {
            if let Some(column) = table.column_mut(place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for row in &self.rows {
            // Rows without figures are shorter.
            let cells = columns.iter().filter_map(|column| Some((column, row.get(*column)?)));
            table.add_row(
                cells.map(|(column, cell)| {
                    broken(cell, if self.right.contains(column) { numbers_max } else { words_max })
                }),
            );
        }
        table.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Which columns are not shown, and what has them.
    fn left_out_words(&self, left_out: &[usize]) -> Vec<String> {
        // In the order of the table.
        let names = self.header.iter().enumerate().filter(|(column, _)| left_out.contains(column));
        let names: Vec<&str> = names.map(|(_, name)| name.as_str()).collect();
        match names.len() {
            0 => Vec::new(),
            _ => wrapped(&format!("{NOT_SHOWN}{} ({WHERE})", names.join(", ")), COLUMNS),
        }
    }
}

/// The beginning of the line on the columns that are left out.
const NOT_SHOWN: &str = "not shown for lack of room: ";

/// Where the columns that are left out are found.
const WHERE: &str = "the JSON result and pages of --output have all figures";

/// Most characters of a name on a line, where there is little room.
const NAME_MAX: usize = 24;

/// A word in pieces of at most so many characters.
fn pieces(word: &str, characters_max: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    characters.chunks(characters_max).map(|piece| piece.iter().collect()).collect()
}

/// A text with line feeds between its words, then behind `/`, `-`, `_` and `,`, so that few lines have more characters
/// than that.
fn broken(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    for line in wrapped(text, characters_max) {
        if line.chars().count() <= characters_max {
            lines.push(line);
            continue;
        }
        let mut rest = String::new();
        for part in line.split_inclusive(['/', '-', '_', ',']) {
            if !rest.is_empty() && rest.chars().count() + part.chars().count() > characters_max {
                lines.extend(pieces(&std::mem::take(&mut rest), characters_max.max(NAME_MAX)));
            }
            rest.push_str(part);
        }
        lines.extend(pieces(&rest, characters_max.max(NAME_MAX)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(table: &PlainTable) -> String {
        table.lines().map(|line| line + "\n").collect()
    }

    #[test]
    fn names_are_wrapped_at_separators() {
        assert_eq!(broken("8 KiB, 70/30", 20), "8 KiB, 70/30");
        assert_eq!(broken("random reads of 8 KiB", 12), "random reads\nof 8 KiB");
        assert_eq!(broken("/mnt/volume_a/data-1", 8), "/mnt/\nvolume_\na/data-1");
        assert_eq!(broken("abcdefghijkl", 8), "abcdefghijkl");
    }

    /// Results with a name of 180 characters made a comparison 239 columns wide.
    #[test]
    fn long_names_do_not_widen_a_table() {
        let name = "x".repeat(180);
        let mut table = PlainTable::new(["", "before.json", &name], 1..3).fitted([]);
        table.add(["IOPS", "1,000 IOPS", "2,000 IOPS"].map(str::to_owned));
        table.add([&name, "1", "2"].map(str::to_owned));
        let shown = lines(&table);
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert_eq!(shown.matches('x').count(), 360, "{shown}");
    }

    #[test]
    fn a_table_that_fits_is_shown_as_it_is() {
        let mut table = PlainTable::new(["load", "IOPS"], [1]).fitted([1]);
        table.add(["a".to_owned(), "1.00".to_owned()]);
        assert_eq!(lines(&table), " load  IOPS\n a     1.00\n");
    }

    #[test]
    fn columns_are_left_out_by_their_priority_and_named() {
        let names = ["load", "rating", "aaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbb", "ccccccccccccccccc"];
        let mut table = PlainTable::new(names, 2..5).fitted([3, 2]);
        let cells = ["the log of a database, durable writes", "ideal for a hard disk", "1", "2", "3"];
        table.add(cells.map(str::to_owned));
        let shown = lines(&table);
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert!(shown.contains("aaaaaaaaaaaaaaaaa") && shown.contains("ccccccccccccccccc"), "{shown}");
        let last =
            "not shown for lack of room: bbbbbbbbbbbbbbbbb (the JSON result and pages of\n--output have all figures)\n";
        assert!(shown.ends_with(last), "{shown}");
        for word in cells[0].split(' ').chain(cells[1].split(' ')) {
            assert!(shown.contains(word), "{word} was cut: {shown}");
        }
    }
}
