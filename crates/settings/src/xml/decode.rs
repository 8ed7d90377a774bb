//! The bytes of a profile as text: UTF-8 with or without a byte order mark, or UTF-16 with one.

use crate::element::fault::{DocumentError, Position};
use model::limits::PROFILE_BYTES_MAX;
use std::borrow::Cow;

/// The text without its byte order mark, or why it cannot be decoded.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, DocumentError> {
    if bytes.len() > PROFILE_BYTES_MAX {
        return Err(DocumentError::whole(format!("the profile is larger than {} MiB", PROFILE_BYTES_MAX >> 20)));
    }
    match bytes {
        [0xff, 0xfe, units @ ..] => utf16(units, u16::from_le_bytes).map(Cow::Owned),
        [0xfe, 0xff, units @ ..] => utf16(units, u16::from_be_bytes).map(Cow::Owned),
        [b'<', 0, ..] | [0, b'<', ..] => Err(DocumentError::whole(
            "the file looks like UTF-16 without a byte order mark; save it as UTF-8, or as UTF-16 with the mark",
        )),
        [0xef, 0xbb, 0xbf, text @ ..] | text => utf8(text).map(Cow::Borrowed),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, DocumentError> {
    std::str::from_utf8(bytes).map_err(|error| {
        // The text before the fault is valid.
        let before = bytes.get(..error.valid_up_to()).and_then(|before| std::str::from_utf8(before).ok());
        let message = "invalid UTF-8; save the file as UTF-8, or as UTF-16 with a byte order mark";
        DocumentError::at(Position::behind(before.unwrap_or_default()), message)
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, DocumentError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match decoded {
            Ok(c) => text.push(c),
            Err(_) => {
                return Err(DocumentError::at(Position::behind(&text), "invalid UTF-16: incomplete surrogate pair"));
            }
        }
    }
    if rest.is_empty() {
        Ok(text)
    } else {
        Err(DocumentError::at(Position::behind(&text), "the file ends in the middle of a UTF-16 character"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_of(text: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        mark.into_iter().chain(text.encode_utf16().flat_map(bytes)).collect()
    }

    fn refusal(bytes: &[u8]) -> (Option<Position>, String) {
        let refused = decode(bytes).unwrap_err();
        (refused.position, refused.message)
    }

    #[test]
    fn all_encodings_of_a_text_give_it_back() {
        let text = "<Path>\u{fc}\u{1f5b4}</Path>";
        let with_mark = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        let little = utf16_of(text, [0xff, 0xfe], u16::to_le_bytes);
        let big = utf16_of(text, [0xfe, 0xff], u16::to_be_bytes);
        for bytes in [text.as_bytes(), &with_mark, &little, &big] {
            assert_eq!(decode(bytes).unwrap(), text, "{bytes:x?}");
        }
    }

    #[test]
    fn what_is_neither_is_refused_where_it_stands() {
        let (position, message) = refusal(b"<a>\n\xc3\xbcx\xe4</a>");
        assert_eq!(position, Some(Position { line: 2, column: 3 }));
        assert!(message.contains("invalid UTF-8"), "{message}");
        let half = utf16_of("ab", [0xff, 0xfe], u16::to_le_bytes);
        let (position, message) = refusal(&[&half[..], b"\x00\xd8"].concat());
        assert_eq!(position, Some(Position { line: 1, column: 3 }));
        assert!(message.contains("incomplete surrogate pair"), "{message}");
        assert!(refusal(&half[..5]).1.contains("ends in the middle"));
        assert!(refusal(b"<\0P\0").1.contains("without a byte order mark"));
        assert!(refusal(b"\0<\0P").1.contains("without a byte order mark"));
    }

    #[test]
    fn a_profile_of_8_mib_is_read_and_one_byte_more_is_not() {
        let mut bytes = vec![b' '; 8 << 20];
        assert!(decode(&bytes).is_ok());
        bytes.push(b' ');
        assert_eq!(refusal(&bytes), (None, "the profile is larger than 8 MiB".to_owned()));
    }
}
