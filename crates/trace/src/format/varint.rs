//! Signed numbers and texts, in numbers of variable length.

use model::varint::{put, take};

/// A signed number as one that is small if it is near 0.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The number of which [`zigzag`] gave `value`.
pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

/// Appends the length of a text and the text.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Takes numbers and texts from the front of bytes; `None` where they end or are not valid.
#[derive(Debug)]
pub(super) struct Cursor<'a>(pub(super) &'a [u8]);

impl Cursor<'_> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        take(&mut self.0)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_come_back_and_ends_are_noticed() {
        for value in [0, 1, 127, 128, 1 << 32, u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(Cursor(&bytes).number(), Some(value));
            assert_eq!(Cursor(&bytes[..bytes.len() - 1]).number(), None);
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(Cursor(&[0xFF; 11]).number(), None);
        assert_eq!(Cursor(&[3, b'a', b'b']).text(), None);
        assert_eq!(Cursor(&[2, b'a', b'b']).text().as_deref(), Some("ab"));
        assert_eq!(Cursor(&[1, 0xFF]).text(), None);
    }
}
