//! Lists of named values as ZFS packs them: XDR, big-endian, in units of four bytes.
//!
//! A packed list is four bytes of header, then the list: version, flags, pairs, and two zeros at
//! the end. A pair is its packed size, its size in memory, name, type, number of elements, value.

/// The maximum depth of nested lists.
const DEPTH_MAX: usize = 32;
/// In the header: packed as XDR.
const ENCODING_XDR: u8 = 1;

const TYPE_NUMBER: u32 = 8;
const TYPE_TEXT: u32 = 9;
const TYPE_LIST: u32 = 19;
const TYPE_LISTS: u32 = 20;

/// A list of named values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List<'a> {
    /// In the order of the list.
    pub(crate) pairs: Vec<(&'a str, Value<'a>)>,
}

/// A value of one of the types used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// 64 bits without a sign.
    Number(u64),
    /// Text.
    Text(&'a str),
    /// A list.
    List(List<'a>),
    /// Several lists.
    Lists(Vec<List<'a>>),
}

impl<'a> List<'a> {
    fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.pairs.iter().find(|(other, _)| *other == name).map(|(_, value)| value)
    }

    /// The number with this name.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        if let Value::Number(number) = self.get(name)? { Some(*number) } else { None }
    }

    /// The text with this name.
    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        if let Value::Text(text) = self.get(name)? { Some(text) } else { None }
    }

    /// The list with this name.
    pub(crate) fn list(&self, name: &str) -> Option<&List<'a>> {
        if let Value::List(list) = self.get(name)? { Some(list) } else { None }
    }

    /// The lists with this name; none if there are none.
    pub(crate) fn lists(&self, name: &str) -> &[List<'a>] {
        if let Some(Value::Lists(lists)) = self.get(name) { lists } else { &[] }
    }
}

/// Unpacks a list; `None` if it is truncated, invalid or packed in another encoding. Values of other types are left
/// out.
pub(crate) fn unpack(bytes: &[u8]) -> Option<List<'_>> {
    let (header, bytes) = bytes.split_at_checked(4)?;
    (header[0] == ENCODING_XDR).then(|| list(&mut Reader { bytes }, 0))?
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn small(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn large(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Length, characters, and zeros up to the next unit of four bytes.
    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.small()?).ok()?;
        let letters = self.take(length)?;
        self.take(length.next_multiple_of(4) - length)?;
        std::str::from_utf8(letters).ok()
    }
}

fn list<'a>(reader: &mut Reader<'a>, depth: usize) -> Option<List<'a>> {
    if depth > DEPTH_MAX {
        return None;
    }
    let (_version, _flags) = (reader.small()?, reader.small()?);
    let mut pairs = Vec::new();
    loop {
        let (packed, unpacked) = (reader.small()?, reader.small()?);
        if packed == 0 && unpacked == 0 {
            return Some(List { pairs });
        }
        // The size counts itself and the one after it.
        let rest = usize::try_from(packed).ok()?.checked_sub(8)?;
        let mut pair = Reader { bytes: reader.take(rest)? };
        let (name, kind, count) = (pair.text()?, pair.small()?, pair.small()?);
        let value = match kind {
            TYPE_NUMBER => Value::Number(pair.large()?),
            TYPE_TEXT => Value::Text(pair.text()?),
            TYPE_LIST => Value::List(list(&mut pair, depth + 1)?),
            TYPE_LISTS => Value::Lists((0..count).map(|_| list(&mut pair, depth + 1)).collect::<Option<_>>()?),
            _ => continue,
        };
        pairs.push((name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Version 0, unique names, and one pair `name` = "tank", byte by byte.
    const ONE_PAIR: [u8; 64] = [
        1, 1, 0, 0, // header: XDR, packed on a little-endian machine
        0, 0, 0, 0, 0, 0, 0, 1, // version, flags
        0, 0, 0, 36, 0, 0, 0, 48, // sizes of the pair
        0, 0, 0, 4, b'n', b'a', b'm', b'e', 0, 0, 0, 9, 0, 0, 0, 1, // name, type, one element
        0, 0, 0, 5, b't', b'a', b'n', b'k', b's', 0, 0, 0, // "tanks", padded
        0, 0, 0, 0, 0, 0, 0, 0, // end
        9, 9, 9, 9, 9, 9, 9, 9, // what follows is no part of it
    ];

    #[test]
    fn a_pair_is_read_byte_by_byte() {
        let expected = List { pairs: vec![("name", Value::Text("tanks"))] };
        assert_eq!(unpack(&ONE_PAIR), Some(expected));
    }

    #[test]
    fn what_is_cut_off_is_none() {
        for length in 0..56 {
            assert_eq!(unpack(&ONE_PAIR[..length]), None, "{length}");
        }
        assert!(unpack(&ONE_PAIR[..56]).is_some());
    }

    #[test]
    fn a_size_that_cannot_be_is_none() {
        for size in [1, 7, 8, 11, 0x7fff_ffff_u32, u32::MAX] {
            let mut bytes = ONE_PAIR;
            bytes[12..16].copy_from_slice(&size.to_be_bytes());
            assert_eq!(unpack(&bytes), None, "{size}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpack(&bytes);
        }

        #[test]
        fn no_changed_byte_makes_it_panic(at in 0..64_usize, byte in any::<u8>()) {
            let mut bytes = ONE_PAIR;
            bytes[at] = byte;
            let _ = unpack(&bytes);
        }
    }
}
