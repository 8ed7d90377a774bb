//! Pages of the kernel's ring buffer for tracing, as `trace_pipe_raw` gives them (`events/header_page`,
//! `events/header_event` in tracefs).

/// Behind the time of the page and its length, which is a `local_t`.
const DATA: usize = 8 + size_of::<usize>();

/// Bits of the length; those above it are flags.
const LENGTH_MASK: u32 = (1 << 27) - 1;

/// Types of entries; others have data: 4 bytes times the type, or, of type 0, as many as their first word says.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

const DELTA_BITS: u32 = 27;

/// Bits of a time that an absolute stamp leaves out.
const STAMP_OMITTED: u64 = 0xF8 << 56;

/// Gives time and data of each entry of a page to `each`. Ends early where the page is not valid.
pub(super) fn for_each_entry(page: &[u8], mut each: impl FnMut(u64, &[u8])) {
    let word = |at: usize| page.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let Some(mut time_ns) = page.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes)) else { return };
    let end = DATA + (word(8).unwrap_or(0) & LENGTH_MASK) as usize;
    let mut at = DATA;
    while at < end {
        let Some((kind, delta)) = word(at).map(split) else { return };
        let first = word(at + 4).unwrap_or(0);
        let long_delta = (u64::from(first) << DELTA_BITS) + u64::from(delta);
        // Where its data begins, and where it ends.
        let (begin, behind) = match kind {
            PADDING if delta == 0 => return,
            PADDING => (at + 4, at + 4 + first as usize),
            TIME_EXTEND | TIME_STAMP => (at + 8, at + 8),
            0 => (at + 8, at + 4 + (first as usize).max(4).next_multiple_of(4)),
            _ => (at + 4, at + 4 + 4 * kind as usize),
        };
        match kind {
            TIME_STAMP => time_ns = time_ns & STAMP_OMITTED | long_delta,
            TIME_EXTEND => time_ns = time_ns.wrapping_add(long_delta),
            _ => time_ns = time_ns.wrapping_add(delta.into()),
        }
        if kind < PADDING {
            let Some(data) = page.get(begin..behind) else { return };
            each(time_ns, data);
        }
        at = behind;
    }
}

/// Type and time after the entry before.
fn split(head: u32) -> (u32, u32) {
    if cfg!(target_endian = "little") {
        (head & 0x1F, head >> 5)
    } else {
        (head >> DELTA_BITS, head & ((1 << DELTA_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries(page: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut found = Vec::new();
        for_each_entry(page, |time_ns, data| found.push((time_ns, data.to_vec())));
        found
    }

    #[test]
    #[cfg(all(target_endian = "little", target_pointer_width = "64"))]
    fn entries_have_their_times_and_data() {
        let words: [u32; 14] = [
            2 | 100 << 5, // data of two words, 100 ns after the begin of the page
            1,
            2,
            TIME_EXTEND | 5 << 5,
            1,
            10 << 5, // data whose length is in the first word, with itself
            8,
            3,
            PADDING | 1 << 5, // without the word of its type
            8,
            0,
            1 | 3 << 5,
            4,
            PADDING, // to the end of the page
        ];
        let mut page = 1_000_u64.to_ne_bytes().to_vec();
        // The flags of lost entries are above the length.
        page.extend((3_u64 << 30 | 0x3c).to_ne_bytes());
        page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        page.extend([0; 4096 - 72]);
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let later = 1_100 + 5 + (1 << 27);
        let expected = [(1_100, bytes(&[1, 2])), (later + 10, bytes(&[3])), (later + 10 + 1 + 3, bytes(&[4]))];
        assert_eq!(entries(&page), expected);
        assert_eq!(entries(&page[..28]), expected[..1]);
    }

    proptest! {
        #[test]
        fn no_page_makes_it_panic(page in prop::collection::vec(any::<u8>(), 0..200)) {
            entries(&page);
        }
    }
}
