//! Parses reports like published scripts: tables by title, cells split at bars.

/// The results of one timespan.
#[derive(Clone, Debug)]
pub struct Report {
    /// "actual test time".
    pub seconds: f64,
    /// `Total IO`.
    pub total: Table,
    /// `Read IO`.
    pub read: Table,
    /// `Write IO`.
    pub write: Table,
}

/// One of the three tables of I/Os.
#[derive(Clone, Debug)]
pub struct Table {
    /// Titles of the columns.
    pub titles: Vec<String>,
    /// One per thread and target.
    pub rows: Vec<Row>,
    /// The line `total:`.
    pub sum: Row,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// Bytes transferred.
    pub bytes: u64,
    /// Number of I/Os.
    pub ios: u64,
    /// MiB per second.
    pub mib_per_s: f64,
    /// I/Os per second.
    pub ios_per_s: f64,
    /// The cells after these, blanks trimmed.
    pub others: Vec<String>,
}

impl Report {
    /// Parses the only report of a text.
    pub fn parse(text: &str) -> Self {
        let time = text.lines().find_map(|line| line.strip_prefix("actual test time:")).unwrap_or_default();
        let seconds = time.trim().trim_end_matches('s').parse();
        Self {
            seconds: seconds.unwrap_or_else(|_| panic!("no test time in\n{text}")),
            total: Table::parse(text, "Total IO"),
            read: Table::parse(text, "Read IO"),
            write: Table::parse(text, "Write IO"),
        }
    }
}

impl Table {
    fn parse(text: &str, title: &str) -> Self {
        let mut lines = text.lines().skip_while(|line| *line != title).skip(1);
        let titles = lines.next().unwrap_or_else(|| panic!("no table '{title}' in\n{text}"));
        let rows = lines.by_ref().skip(1).take_while(|line| !line.starts_with("---")).map(Row::parse).collect();
        let sum = lines.next().and_then(|line| line.strip_prefix("total:")).expect("a line of totals");
        Self {
            titles: titles.split('|').map(|title| title.trim().to_owned()).collect(),
            rows,
            sum: Row::parse(&format!("total|{sum}")),
        }
    }

    /// The cell of the line `total:` in a column, if there is one.
    pub fn sum_of(&self, title: &str) -> Option<&str> {
        let column = self.titles.iter().position(|known| known == title)?;
        self.sum.others.get(column.checked_sub(5)?).map(String::as_str)
    }
}

impl Row {
    fn parse(line: &str) -> Self {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |column: usize| -> f64 {
            let cell = cells.get(column).unwrap_or_else(|| panic!("no column {column} in '{line}'"));
            cell.parse().unwrap_or_else(|_| panic!("'{cell}' is no number in '{line}'"))
        };
        let count = |column: usize| -> u64 {
            let cell = cells.get(column).unwrap_or_else(|| panic!("no column {column} in '{line}'"));
            cell.parse().unwrap_or_else(|_| panic!("'{cell}' is no count in '{line}'"))
        };
        Self {
            bytes: count(1),
            ios: count(2),
            mib_per_s: number(3),
            ios_per_s: number(4),
            others: cells[5..].iter().map(|cell| (*cell).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_by_title_and_column() {
        let table = |title: &str| {
            format!(
                "{title}\nthread |  bytes | I/Os | MiB/s | I/O per s |  AvgLat  |  file\n----\n     0 | 4096 | 1 | 0.50 \
                 | 2.00 | 0.250 | a (1MiB)\n----\ntotal:   4096 | 1 | 0.50 | 2.00 | 0.250\n\n"
            )
        };
        let text = ["actual test time:\t1.50s\n", &table("Total IO"), &table("Read IO"), &table("Write IO")].concat();
        let report = Report::parse(&text);
        assert!((report.seconds - 1.5).abs() < 1e-9);
        assert_eq!((report.read.rows[0].bytes, report.read.sum.ios), (4096, 1));
        assert_eq!(report.read.rows[0].others, ["0.250", "a (1MiB)"]);
        assert_eq!((report.write.sum_of("AvgLat"), report.write.sum_of("IopsStdDev")), (Some("0.250"), None));
    }
}
