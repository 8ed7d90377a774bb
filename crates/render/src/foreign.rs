//! Text from outside, in cells and lines.

use model::printable::printable_bytes;
use std::io::{self, Write};

/// Writes bytes unchanged, so that scripts find the path as given, but unprintable characters as `\xNN`: a line break
/// in a file name must not start a line of the report.
pub(crate) fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&printable_bytes(bytes))
}

/// A text cell of comma-separated values: printable, and with an apostrophe before a text that a spreadsheet would read
/// as a formula. Never for numbers.
pub(crate) fn cell(text: &[u8]) -> Vec<u8> {
    let apostrophe: &[u8] =
        if matches!(text.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r')) { b"'" } else { b"" };
    [apostrophe, &printable_bytes(text)].concat()
}

/// [`cell`] of a text.
pub(crate) fn text_cell(text: &str) -> String {
    String::from_utf8_lossy(&cell(text.as_bytes())).into_owned()
}

/// [`write_bytes`] of a path.
pub(crate) fn write_path(out: &mut dyn Write, path: &std::path::Path) -> io::Result<()> {
    write_bytes(out, path.as_os_str().as_encoded_bytes())
}

/// A line of a remark: `NOTE: text`.
pub(crate) fn remark(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    write!(out, "{label}: ")?;
    write_bytes(out, text.as_bytes())?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_no_formula() {
        for (text, shown) in
            [("=1+1", "'=1+1"), ("-x", "'-x"), ("@a", "'@a"), ("\ta", r"'\x09a"), ("a=1", "a=1"), ("", "")]
        {
            assert_eq!(cell(text.as_bytes()), shown.as_bytes());
        }
    }

    fn written(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write_bytes(&mut out, bytes).expect("a vector takes everything");
        out
    }

    #[test]
    fn names_keep_their_bytes() {
        assert_eq!(written(b"caf\xe9 \xff.dat"), b"caf\xe9 \xff.dat");
        assert_eq!(written("größe".as_bytes()), "größe".as_bytes());
    }

    #[test]
    fn control_characters_cannot_start_a_line_or_move_a_cursor() {
        assert_eq!(written(b"a\ntotal: 9|\x1b[2J"), b"a\\x0atotal: 9|\\x1b[2J");
        assert_eq!(written(b"\r\n"), b"\\x0d\\x0a");
    }
}
