//! Text that comes from outside: paths, arguments, messages.

use model::printable::printable_bytes;
use std::io::{self, Write};

/// Writes bytes as they are, so that scripts find the very path they gave, but unprintable characters
/// as `\xNN`: a line break in a file's name must not start a line of the report.
pub fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&printable_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

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
