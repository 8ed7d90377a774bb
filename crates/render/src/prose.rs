//! Sentences of our own, in lines that a terminal has room for.

use model::printable::wrapped;
use report::words::plain_table::COLUMNS;
use std::io::{self, Write};

/// Blanks before the second and further lines of a sentence, beyond those before its first.
const INDENT: usize = 2;
/// Lines with more blanks stand below the text of a labelled one.
const BELOW_LABEL: usize = 8;
/// Longest label of a line.
const LABEL_MAX: usize = 20;

/// Writes the lines that `write` writes, long ones in several: between words, and indented from the second on.
///
/// It is for sentences: blanks beside each other, such as those of tables, become one in a long line.
pub(crate) fn in_lines(out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match std::str::from_utf8(line) {
            Ok(line) if line.trim_end().chars().count() > COLUMNS => write_wrapped(out, line)?,
            _ => out.write_all(line)?,
        }
    }
    Ok(())
}

/// Writes a sentence in lines; see [`in_lines`].
pub(crate) fn sentence(out: &mut dyn Write, text: &str) -> io::Result<()> {
    in_lines(out, |out| writeln!(out, "{text}"))
}

fn write_wrapped(out: &mut dyn Write, line: &str) -> io::Result<()> {
    let first = line.len() - line.trim_start().len();
    // A severity or the name of a figure, and blanks up to where the text begins.
    let label = line[first..].find("  ").filter(|end| *end < LABEL_MAX);
    let text = label.map(|end| line.len() - line[first + end..].trim_start().len());
    let indent = match (first, text) {
        (0, _) => INDENT,
        (_, Some(text)) => text,
        (BELOW_LABEL.., None) => first,
        (first, None) => first + INDENT,
    };
    let (start, rest) = line.split_at(text.unwrap_or(first));
    // The first line is of the width of the others, or of that of its label.
    let columns = COLUMNS.saturating_sub(indent.max(start.chars().count()));
    let mut lines = wrapped(rest, columns).into_iter();
    writeln!(out, "{start}{}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "{:indent$}{line}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_become_several() {
        let mut out = Vec::new();
        let word = "abcdefgh ".repeat(10);
        in_lines(&mut out, |out| write!(out, "short  line\n\n  {word}\n{}\n", "x".repeat(90)))
            .expect("memory takes all");
        let mut labelled = Vec::new();
        let text = "a-word ".repeat(11);
        in_lines(&mut labelled, |out| writeln!(out, "  WARN    {text}\n          {text}")).expect("memory takes all");
        let of_ten = "a-word ".repeat(10);
        let both = format!("{}\n          a-word\n", of_ten.trim_end());
        assert_eq!(String::from_utf8(labelled).expect("text"), format!("  WARN    {both}          {both}"));
        let long = format!("  {}\n    abcdefgh abcdefgh\n", "abcdefgh ".repeat(8).trim_end());
        assert_eq!(String::from_utf8(out).expect("text"), format!("short  line\n\n{long}{}\n", "x".repeat(90)));
    }
}
