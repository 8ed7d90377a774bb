//! Tables as text: columns without lines between them, at most as wide as a terminal.

use comfy_table::CellAlignment;
use comfy_table::presets::NOTHING;
use model::printable::{printable, wrapped};
use report::{Column, Table};

/// Columns of a line, unless a word is longer.
pub(crate) const COLUMNS: usize = 80;

/// Maximum characters per line of a heading, of a text cell, and of a number cell, such as an interval, tried in this
/// order.
const LINES_OF_CELLS: [(usize, usize, usize); 9] = [
    (MAX, MAX, MAX),
    (12, MAX, MAX),
    (8, MAX, MAX),
    (8, 64, MAX),
    (8, 48, MAX),
    (8, 32, MAX),
    (8, 24, MAX),
    (8, 20, MAX),
    (8, 16, MAX),
];

/// The same with numbers and intervals broken, too: if there is no room even without spare columns.
const BROKEN_NUMBERS: (usize, usize, usize) = (8, 16, 13);

const MAX: usize = usize::MAX;

/// Its lines, without trailing blanks: as wide as its cells need.
pub fn lines_of_any_width(table: &Table) -> Vec<String> {
    shown(table, &[], LINES_OF_CELLS[0])
}

/// Its lines in 80 columns: headings and words are wrapped, then spare columns are omitted one by one, and the last
/// line names them. Numbers and words are never truncated.
pub fn lines(table: &Table) -> Vec<String> {
    let spare = table.columns.iter().enumerate().filter_map(|(index, column)| Some((column.spare?, index)));
    let mut spare: Vec<(usize, usize)> = spare.collect();
    spare.sort_unstable();
    let spare: Vec<usize> = spare.into_iter().map(|(_, index)| index).collect();
    let tried = (0..=spare.len()).flat_map(|count| LINES_OF_CELLS.map(|limits| (count, limits)));
    let mut lines = Vec::new();
    for (count, limits) in tried.chain([(spare.len(), BROKEN_NUMBERS)]) {
        let left_out = &spare[..count];
        lines = shown(table, left_out, limits);
        let has_room = lines.iter().all(|line| line.chars().count() <= COLUMNS);
        lines.extend(left_out_words(table, left_out));
        if has_room {
            break;
        }
    }
    lines
}

/// The lines without some of the columns; the limits are of [`LINES_OF_CELLS`].
fn shown(
    Table { columns, rows, .. }: &Table,
    left_out: &[usize],
    (heading_max, words_max, numbers_max): (usize, usize, usize),
) -> Vec<String> {
    let kept: Vec<usize> = (0..columns.len()).filter(|column| !left_out.contains(column)).collect();
    let mut text = comfy_table::Table::new();
    text.load_style(NOTHING);
    // Units, such as fdatasync/s, stay whole; file names may be long.
    let heading = |column: &usize| {
        let lines = wrapped(&printable(&columns[*column].name), heading_max);
        lines.iter().flat_map(|line| pieces(line, heading_max.max(NAME_MAX))).collect::<Vec<_>>().join("\n")
    };
    text.set_header(kept.iter().map(heading));
    let right = kept.iter().enumerate().filter(|(_, column)| columns[**column].is_number);
    for (place, _) in right {
        if let Some(column) = text.column_mut(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        // Rows without figures are shorter.
        let cells = kept.iter().filter_map(|column| Some((&columns[*column], row.get(*column)?)));
        let limit = |column: &Column| if column.is_number { numbers_max } else { words_max };
        text.add_row(cells.map(|(column, cell)| broken(&printable(cell), limit(column))));
    }
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The note on omitted columns, in the order of the table, and where to find them.
fn left_out_words(table: &Table, left_out: &[usize]) -> Vec<String> {
    let names = table.columns.iter().enumerate().filter(|(column, _)| left_out.contains(column));
    let names: Vec<&str> = names.map(|(_, column)| column.name.as_str()).collect();
    match names.len() {
        0 => Vec::new(),
        _ => wrapped(&format!("{NOT_SHOWN}{} ({WHERE})", names.join(", ")), COLUMNS),
    }
}

/// The prefix of the note on omitted columns.
const NOT_SHOWN: &str = "not shown for lack of room: ";

/// The source of the omitted columns.
const WHERE: &str = "JSON results and pages of --output have all figures";

/// Maximum characters of a name on a line, if there is little room.
const NAME_MAX: usize = 24;

/// A word in pieces of at most `characters_max` characters.
fn pieces(word: &str, characters_max: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    characters.chunks(characters_max).map(|piece| piece.iter().collect()).collect()
}

/// A text with line feeds between its words, then after `/`, `-`, `_` and `,`, so that few lines have more characters
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

    fn text(table: &Table) -> String {
        lines(table).into_iter().map(|line| line + "\n").collect()
    }

    /// Numbers from the third column on, or the second of two; `spare` are the indices of columns, in order of
    /// omission.
    fn table(names: &[&str], first_number: usize, spare: &[usize], rows: &[&[&str]]) -> Table {
        let column = |(index, name): (usize, &&str)| Column {
            spare: spare.iter().position(|place| *place == index),
            ..if index < first_number { Column::text(name) } else { Column::number(name) }
        };
        Table {
            columns: names.iter().enumerate().map(column).collect(),
            rows: rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect(),
            ..Table::default()
        }
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
        let rows: [&[&str]; 2] = [&["IOPS", "1,000 IOPS", "2,000 IOPS"], &[&name, "1", "2"]];
        let shown = text(&table(&["", "before.json", &name], 1, &[], &rows));
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert_eq!(shown.matches('x').count(), 360, "{shown}");
    }

    #[test]
    fn a_table_that_fits_is_shown_as_it_is() {
        let table = table(&["load", "IOPS"], 1, &[1], &[&["a", "1.00"]]);
        assert_eq!(text(&table), " load  IOPS\n a     1.00\n");
    }

    #[test]
    fn columns_are_left_out_by_their_priority_and_named() {
        let names = ["load", "rating", "aaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbb", "ccccccccccccccccc"];
        let cells = ["the log of a database, durable writes", "ideal for a hard disk", "1", "2", "3"];
        let shown = text(&table(&names, 2, &[3, 2], &[&cells]));
        assert!(shown.lines().all(|line| line.chars().count() <= COLUMNS), "{shown}");
        assert!(shown.contains("aaaaaaaaaaaaaaaaa") && shown.contains("ccccccccccccccccc"), "{shown}");
        let last =
            "not shown for lack of room: bbbbbbbbbbbbbbbbb (JSON results and pages of\n--output have all figures)\n";
        assert!(shown.ends_with(last), "{shown}");
        for word in cells[0].split(' ').chain(cells[1].split(' ')) {
            assert!(shown.contains(word), "{word} was cut: {shown}");
        }
    }
}
