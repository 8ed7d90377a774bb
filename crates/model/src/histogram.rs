//! Latency histograms in documents, as every `HdrHistogram` library reads them: version 2, deflated, in base64.
//!
//! A table of counts of `hot::buckets` keeps the highest 11 bits of a latency. So does an `HdrHistogram` with three
//! significant digits and a lowest value of 1; its counts are in the same order under the same numbers, so nothing is
//! lost in conversion. Coarse buckets are in the same way those of two digits and a lowest value of 8.
//!
//! Fields that hold buckets name this module in `#[serde(with = "crate::histogram")]`.

use crate::packed_counts::PackedCounts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io::Read as _;

/// Bits kept below the highest one.
const SUB_BITS: u32 = 10;
/// Number of buckets that cover every `u64`.
const BUCKET_COUNT: u64 = ((64 - SUB_BITS as u64) + 1) << SUB_BITS;
/// Bits by which coarse buckets are wider.
const COARSE_BITS: u32 = 3;

/// Of the deflated form, of the form inside it, and of the headers of both.
const DEFLATED_COOKIE: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
const DEFLATED_HEADER_BYTES: usize = 8;
const HEADER_BYTES: usize = 40;
/// A number takes at most nine bytes.
const INFLATED_BYTES_MAX: u64 = HEADER_BYTES as u64 + 9 * BUCKET_COUNT;

/// For `#[serde(with)]`: latency buckets that are not empty, ascending, with index (`hot::buckets`) and count. An empty
/// list is written as null.
pub(crate) fn serialize<S: Serializer>(buckets: &[(u32, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serialize_as(Resolution::Fine, buckets, serializer)
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, u64)>, D::Error> {
    deserialize_as(Resolution::Fine, deserializer)
}

/// Coarse buckets (`hot::buckets::coarse`). An empty list is written as null.
impl Serialize for PackedCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_as(Resolution::Coarse, &self.iter().collect::<Vec<_>>(), serializer)
    }
}

impl<'de> Deserialize<'de> for PackedCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_as(Resolution::Coarse, deserializer).map(Self::pack)
    }
}

/// The text of a histogram, for the schema.
#[cfg(feature = "schema")]
pub(crate) struct Histogram;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Histogram {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Histogram".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schema_of(
            "three significant digits and a lowest value of 1. Any HdrHistogram library can decode it and merge it with \
             others. null = no histogram was kept, or it is empty.",
        )
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for PackedCounts {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CoarseHistogram".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schema_of(
            "two significant digits and a lowest value of 8, so that buckets are at most 0.8 % wide, or 8 ns below \
             1024 ns. Any HdrHistogram library can decode it and merge it with others. null = the histogram is empty.",
        )
    }
}

/// The schema of a histogram's text; `resolution` describes its digits and buckets.
#[cfg(feature = "schema")]
fn schema_of(resolution: &str) -> schemars::Schema {
    schemars::json_schema!({
        "type": ["string", "null"],
        "contentEncoding": "base64",
        "pattern": "^HISTFAA",
        "description": format!(
            "Latency histogram in nanoseconds, in the HdrHistogram interchange format: version 2, compressed, in base64, \
             with {resolution}"
        ),
    })
}

/// Buckets as text; null without any.
fn serialize_as<S: Serializer>(resolution: Resolution, buckets: &[(u32, u64)], to: S) -> Result<S::Ok, S::Error> {
    if buckets.is_empty() {
        return to.serialize_none();
    }
    to.serialize_some(&encode(buckets, resolution).map_err(S::Error::custom)?)
}

fn deserialize_as<'de, D: Deserializer<'de>>(resolution: Resolution, from: D) -> Result<Vec<(u32, u64)>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(Vec::new()) };
    decode(&text, resolution).map_err(D::Error::custom)
}

/// How wide the buckets are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// Those of `hot::buckets`.
    Fine,
    /// Eight of them each.
    Coarse,
}

impl Resolution {
    const fn coarse_bits(self) -> u32 {
        match self {
            Self::Fine => 0,
            Self::Coarse => COARSE_BITS,
        }
    }

    const fn digits(self) -> u8 {
        match self {
            Self::Fine => 3,
            Self::Coarse => 2,
        }
    }

    const fn lowest_ns(self) -> u64 {
        1 << self.coarse_bits()
    }

    const fn bucket_count(self) -> u64 {
        BUCKET_COUNT >> self.coarse_bits()
    }

    /// The smallest latency of a bucket, in nanoseconds.
    fn lower_edge_ns(self, index: u32) -> u64 {
        lower_edge_ns(index << self.coarse_bits())
    }
}

/// Why a histogram cannot be written or read.
#[derive(Debug, thiserror::Error)]
enum HistogramError {
    #[error("a histogram cannot be encoded: {0}")]
    Encoding(String),
    #[error("a histogram is not valid base64: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("a histogram cannot be decompressed: {0}")]
    Compression(#[from] std::io::Error),
    #[error("a histogram is not of version 2 and compressed")]
    Form,
    #[error("a histogram has other buckets than those of {digits} significant digits from {lowest_ns} up")]
    Resolution { digits: u8, lowest_ns: u64 },
    #[error("a histogram's counts are broken")]
    Counts,
}

/// The smallest latency of a bucket, in nanoseconds.
fn lower_edge_ns(index: u32) -> u64 {
    let shift = (index >> SUB_BITS).saturating_sub(1);
    u64::from(index - (shift << SUB_BITS)) << shift
}

/// Buckets as text.
fn encode(buckets: &[(u32, u64)], resolution: Resolution) -> Result<String, HistogramError> {
    let problem = |error: &dyn std::fmt::Display| HistogramError::Encoding(error.to_string());
    let last = buckets.last().map_or(0, |&(index, _)| index);
    if u64::from(last) >= resolution.bucket_count() {
        return Err(HistogramError::Encoding(format!("bucket {last} is out of range")));
    }
    // The highest value must be at least twice the lowest.
    let lowest_ns = resolution.lowest_ns();
    let highest_ns = resolution.lower_edge_ns(last).max(2 * lowest_ns);
    let mut histogram =
        HdrHistogram::<u64>::new_with_bounds(lowest_ns, highest_ns, resolution.digits()).map_err(|e| problem(&e))?;
    for &(index, count) in buckets {
        histogram.record_n(resolution.lower_edge_ns(index), count).map_err(|e| problem(&e))?;
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).map_err(|e| problem(&e))?;
    Ok(STANDARD.encode(bytes))
}

/// The buckets in a text. Not left to the library, which trusts its input: it allocates the size in a header, and
/// negates without a check.
fn decode(text: &str, resolution: Resolution) -> Result<Vec<(u32, u64)>, HistogramError> {
    let bytes = STANDARD.decode(text)?;
    let (header, deflated) = bytes.split_at_checked(DEFLATED_HEADER_BYTES).ok_or(HistogramError::Form)?;
    if number(header, 0)? != u64::from(DEFLATED_COOKIE) {
        return Err(HistogramError::Form);
    }
    let mut inflated = Vec::new();
    ZlibDecoder::new(deflated).take(INFLATED_BYTES_MAX + 1).read_to_end(&mut inflated)?;
    let (header, counts) = inflated.split_at_checked(HEADER_BYTES).ok_or(HistogramError::Form)?;
    if number(header, 0)? != u64::from(COOKIE) {
        return Err(HistogramError::Form);
    }
    let lowest = number(header, 16)? << 32 | number(header, 20)?;
    let (digits, lowest_ns) = (resolution.digits(), resolution.lowest_ns());
    let has_our_buckets = lowest == lowest_ns && number(header, 12)? == u64::from(digits) && number(header, 8)? == 0;
    if !has_our_buckets {
        return Err(HistogramError::Resolution { digits, lowest_ns });
    }
    if number(header, 4)? != counts.len() as u64 {
        return Err(HistogramError::Counts);
    }
    decode_counts(counts, resolution)
}

/// The 32-bit number at a place of a header.
fn number(header: &[u8], at: usize) -> Result<u64, HistogramError> {
    let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).ok_or(HistogramError::Form)?;
    Ok(u64::from(u32::from_be_bytes(bytes)))
}

/// Counts in order; a negative number stands for that many empty buckets.
fn decode_counts(mut bytes: &[u8], resolution: Resolution) -> Result<Vec<(u32, u64)>, HistogramError> {
    let mut buckets = Vec::new();
    let mut index = 0u64;
    while !bytes.is_empty() {
        let encoded = variable_length(&mut bytes).ok_or(HistogramError::Counts)?;
        // Zigzag: odd numbers are negative, 1 being -1.
        let is_negative = encoded & 1 == 1;
        let (count, step) = if is_negative { (0, (encoded >> 1) + 1) } else { (encoded >> 1, 1) };
        if count > 0 {
            buckets.push((index as u32, count));
        }
        index =
            index.checked_add(step).filter(|&next| next <= resolution.bucket_count()).ok_or(HistogramError::Counts)?;
    }
    Ok(buckets)
}

/// Seven bits a byte, the lowest first, the highest bit set if more follow; a ninth byte has eight.
fn variable_length(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for position in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if position == 8 {
            return Some(value | u64::from(byte) << 56);
        }
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::Resolution::{Coarse, Fine};
    use super::*;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Latencies of every magnitude.
    fn latency_ns() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>()).prop_map(|(shift, value)| value >> shift)
    }

    fn buckets() -> impl Strategy<Value = Vec<(u32, u64)>> {
        prop::collection::btree_map(latency_ns().prop_map(index), 1u64..=i64::MAX as u64 / 64, 0..50)
            .prop_map(|counts: BTreeMap<u32, u64>| counts.into_iter().collect())
    }

    fn index(latency_ns: u64) -> u32 {
        hot::buckets::index(latency_ns) as u32
    }

    #[test]
    fn the_buckets_are_those_of_the_recorder() {
        assert_eq!(BUCKET_COUNT, hot::buckets::BUCKET_COUNT as u64);
        for index in 0..hot::buckets::BUCKET_COUNT {
            assert_eq!(lower_edge_ns(index as u32), hot::buckets::lower_edge_ns(index), "at {index}");
        }
    }

    #[test]
    fn coarse_buckets_are_those_of_the_recorder() {
        assert_eq!(Coarse.bucket_count(), hot::buckets::COARSE_COUNT as u64);
        for index in 0..hot::buckets::COARSE_COUNT {
            assert_eq!(Coarse.lower_edge_ns(index as u32), hot::buckets::coarse_lower_edge_ns(index), "at {index}");
        }
    }

    #[test]
    fn the_ends_of_the_range_survive() {
        let last = hot::buckets::BUCKET_COUNT as u32 - 1;
        for buckets in [vec![(0, 1)], vec![(1, 7)], vec![(last, 3)], vec![(0, i64::MAX as u64), (last, 1)]] {
            assert_eq!(decode(&encode(&buckets, Fine).unwrap(), Fine).unwrap(), buckets);
        }
        assert!(encode(&[(last + 1, 1)], Fine).is_err());
        assert!(encode(&[(1, u64::MAX)], Fine).is_err(), "a count that the form cannot hold");
    }

    #[test]
    fn every_text_begins_as_the_form_is_known_by() {
        assert!(encode(&[(5, 1)], Fine).unwrap().starts_with("HISTFAA"));
    }

    #[test]
    fn other_forms_and_resolutions_are_refused() {
        let other = |lowest, digits| {
            let mut histogram = HdrHistogram::<u64>::new_with_bounds(lowest, 1000 * lowest, digits).unwrap();
            histogram.record(lowest * 500).unwrap();
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
            decode(&STANDARD.encode(bytes), Fine)
        };
        assert!(matches!(other(1, 2), Err(HistogramError::Resolution { .. })));
        assert!(matches!(other(1000, 3), Err(HistogramError::Resolution { .. })));
        assert!(other(1, 3).is_ok());
        assert!(matches!(decode("*", Fine), Err(HistogramError::Base64(_))));
        assert!(matches!(decode("", Fine), Err(HistogramError::Form)));
        assert!(matches!(decode("AAAAAAAAAAAAAAAA", Fine), Err(HistogramError::Form)));
    }

    #[test]
    fn what_inflates_without_end_is_refused() {
        use std::io::Write as _;
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        let mut inflated = COOKIE.to_be_bytes().to_vec();
        inflated.extend((64u32 << 20).to_be_bytes());
        inflated.extend([0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1]);
        inflated.resize(64 << 20, 0);
        encoder.write_all(&inflated).unwrap();
        let mut bytes = DEFLATED_COOKIE.to_be_bytes().to_vec();
        bytes.extend([0; 4]);
        bytes.extend(encoder.finish().unwrap());
        assert!(matches!(decode(&STANDARD.encode(bytes), Fine), Err(HistogramError::Counts)));
    }

    proptest! {
        #[test]
        fn coarse_buckets_read_back_and_are_those_of_the_library(latencies in prop::collection::vec(latency_ns(), 1..200)) {
            let mut counts = BTreeMap::<u32, u64>::new();
            for &ns in &latencies {
                *counts.entry(hot::buckets::coarse(hot::buckets::index(ns)) as u32).or_default() += 1;
            }
            let buckets = PackedCounts::pack(counts);
            let text = serde_json::to_string(&buckets).unwrap();
            prop_assert_eq!(&serde_json::from_str::<PackedCounts>(&text).unwrap(), &buckets);
            let bytes = STANDARD.decode(text.trim_matches('"')).unwrap();
            let theirs: HdrHistogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let mut oracle = HdrHistogram::<u64>::new_with_bounds(8, u64::MAX, 2).unwrap();
            for &ns in &latencies {
                oracle.record(ns).unwrap();
            }
            prop_assert_eq!(theirs.len(), oracle.len());
            for &ns in &latencies {
                prop_assert_eq!(theirs.count_at(ns), oracle.count_at(ns), "at {}", ns);
            }
        }

        #[test]
        fn buckets_read_back(buckets in buckets()) {
            let mut text = Vec::new();
            serialize(&buckets, &mut serde_json::Serializer::new(&mut text)).unwrap();
            let read = deserialize(&mut serde_json::Deserializer::from_slice(&text)).unwrap();
            prop_assert_eq!(read, buckets);
        }

        #[test]
        fn the_library_reads_the_same(latencies in prop::collection::vec(latency_ns(), 1..200)) {
            let mut counts = BTreeMap::<u32, u64>::new();
            for &ns in &latencies {
                *counts.entry(index(ns)).or_default() += 1;
            }
            let text = encode(&counts.into_iter().collect::<Vec<_>>(), Fine).unwrap();
            let bytes = STANDARD.decode(text).unwrap();
            let theirs: HdrHistogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            let mut oracle = HdrHistogram::<u64>::new_with_bounds(1, u64::MAX, 3).unwrap();
            for &ns in &latencies {
                oracle.record(ns).unwrap();
            }
            prop_assert_eq!(theirs.len(), oracle.len());
            for &ns in &latencies {
                prop_assert_eq!(theirs.count_at(ns), oracle.count_at(ns), "at {}", ns);
                prop_assert_eq!(theirs.lowest_equivalent(ns), hot::buckets::lower_edge_ns(hot::buckets::index(ns)));
            }
        }

        #[test]
        fn broken_texts_are_refused_without_harm(buckets in buckets(), at: prop::sample::Index, byte: u8, inner: bool) {
            let mut bytes = STANDARD.decode(encode(&buckets, Fine).unwrap()).unwrap();
            if inner {
                // Behind the checksum of the compression, where broken counts would come through.
                let mut inflated = Vec::new();
                ZlibDecoder::new(&bytes[DEFLATED_HEADER_BYTES..]).read_to_end(&mut inflated).unwrap();
                let at = at.index(inflated.len());
                inflated[at] = byte;
                let _ = decode_counts(inflated.get(HEADER_BYTES..).unwrap_or_default(), Fine);
            } else {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                let _ = decode(&STANDARD.encode(bytes), Fine);
            }
        }
    }
}
