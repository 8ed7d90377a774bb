//! Counts by bucket, packed: the histogram of an interval in memory.

use crate::varint::{put, take};
use std::sync::Arc;

/// Buckets that are not empty, ascending: index and count.
///
/// A bucket takes the gap to the one before and its count, each as a number of variable length: about two
/// bytes instead of sixteen. The bytes are shared, so that a clone costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedCounts(Option<Arc<[u8]>>);

impl PackedCounts {
    /// Packs buckets, which must ascend; empty ones are left out.
    pub fn pack(buckets: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let mut bytes = Vec::new();
        let mut next = 0u32;
        for (index, count) in buckets.into_iter().filter(|&(_, count)| count > 0) {
            debug_assert!(index >= next, "buckets ascend");
            put(&mut bytes, u64::from(index.saturating_sub(next)));
            put(&mut bytes, count);
            next = index.saturating_add(1);
        }
        Self((!bytes.is_empty()).then(|| bytes.into()))
    }

    /// The buckets.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut bytes = self.0.as_deref().unwrap_or_default();
        let mut next = 0u32;
        std::iter::from_fn(move || {
            let index = next.saturating_add(u32::try_from(take(&mut bytes)?).unwrap_or(u32::MAX));
            next = index.saturating_add(1);
            Some((index, take(&mut bytes)?))
        })
    }

    /// These and others together; the others ascend too.
    #[must_use]
    pub fn plus(&self, others: impl IntoIterator<Item = (u32, u64)>) -> Self {
        let (mut ours, mut others) = (self.iter().peekable(), others.into_iter().peekable());
        Self::pack(std::iter::from_fn(|| match (ours.peek().copied(), others.peek().copied()) {
            (Some((at, count)), Some((other, more))) if at == other => {
                ours.next();
                others.next();
                Some((at, count.saturating_add(more)))
            }
            (Some((at, _)), Some((other, _))) if at < other => ours.next(),
            (Some(_), None) => ours.next(),
            (_, _) => others.next(),
        }))
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_usual_bucket_takes_two_bytes() {
        let packed = PackedCounts::pack((900..1000).map(|index| (index, 100)));
        assert_eq!(packed.0.map(|bytes| bytes.len()), Some(201));
        assert!(PackedCounts::pack([(5, 0)]).is_empty());
    }

    proptest! {
        #[test]
        fn buckets_come_back(buckets: BTreeMap<u32, u64>) {
            let buckets: Vec<_> = buckets.into_iter().filter(|&(_, count)| count > 0).collect();
            let packed = PackedCounts::pack(buckets.iter().copied());
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), buckets);
        }

        #[test]
        fn counts_add_up(ours: BTreeMap<u32, u32>, others: BTreeMap<u32, u32>) {
            let wide = |counts: &BTreeMap<u32, u32>| counts.iter().map(|(&at, &n)| (at, u64::from(n))).collect::<Vec<_>>();
            let mut expected = BTreeMap::<u32, u64>::new();
            wide(&ours).into_iter().chain(wide(&others)).for_each(|(at, n)| *expected.entry(at).or_default() += n);
            let sum = PackedCounts::pack(wide(&ours)).plus(wide(&others));
            prop_assert_eq!(sum, PackedCounts::pack(expected));
        }
    }
}
