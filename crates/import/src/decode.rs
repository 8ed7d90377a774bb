//! Bytes to text.

use model::note::Note;

/// A text and a note on its conversion.
pub(super) struct DecodedText {
    /// With line feeds only.
    pub(super) text: String,
    /// A note on lost characters.
    pub(super) note: Option<Note>,
}

/// UTF-16 with a byte order mark (as written by `PowerShell`), else UTF-8 with or without one.
///
/// Other bytes, such as names in the code page of a Windows console, become the replacement
/// character.
pub(super) fn decode(bytes: &[u8]) -> DecodedText {
    let decoded = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        bytes => utf8(bytes),
    };
    let (text, is_exact) = decoded;
    let text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text };
    let note = (!is_exact).then(|| Note::Verbatim {
        text: "the file is not valid UTF-8 or UTF-16; invalid bytes are shown as \u{fffd}".to_owned(),
    });
    DecodedText { text, note }
}

fn utf8(bytes: &[u8]) -> (String, bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), true),
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), false),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> (String, bool) {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| unit(pair));
    let mut is_exact = odd.is_empty();
    let text = char::decode_utf16(units)
        .map(|decoded| {
            is_exact &= decoded.is_ok();
            decoded.unwrap_or(char::REPLACEMENT_CHARACTER)
        })
        .collect();
    (text, is_exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, bool) {
        let decoded = decode(bytes);
        (decoded.text, decoded.note.is_none())
    }

    #[test]
    fn every_encoding_gives_the_same_text() {
        let expected = ("a\ngröße \u{1f600}\n".to_owned(), true);
        let windows = "a\r\ngröße \u{1f600}\r\n";
        let units = windows.encode_utf16();
        let little: Vec<u8> = [0xff, 0xfe].into_iter().chain(units.clone().flat_map(u16::to_le_bytes)).collect();
        let big: Vec<u8> = [0xfe, 0xff].into_iter().chain(units.flat_map(u16::to_be_bytes)).collect();
        let marked: Vec<u8> = [0xef, 0xbb, 0xbf].into_iter().chain(windows.bytes()).collect();
        for bytes in [&little, &big, &marked, windows.as_bytes()] {
            assert_eq!(text(bytes), expected);
        }
    }

    #[test]
    fn broken_encodings_are_noted() {
        assert_eq!(text(b"caf\xe9"), ("caf\u{fffd}".to_owned(), false));
        assert_eq!(text(b"\xff\xfea\0b"), ("a".to_owned(), false));
        assert_eq!(text(b"\xff\xfe\x00\xd8"), ("\u{fffd}".to_owned(), false));
    }
}
