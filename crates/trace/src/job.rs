//! A load as a profile.

use crate::fit::{Load, Pace};
use model::operation::Operation;
use model::profile::{CacheMode, FlushCall, OfferedRate, Profile, RateProcess, SizeMix, Target, TimeSpan};
use model::units::Bytes;

/// Bytes of which sizes and offsets of requests that bypass the page cache are multiples.
const SECTOR_BYTES: u64 = 512;

impl Load {
    /// The size that all requests have, in bytes; `None` = several.
    pub fn only_size(&self) -> Option<u64> {
        let mut sizes = self.mixes().flat_map(SizeMix::shares).map(|share| share.bytes(0));
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    fn mixes(&self) -> impl Iterator<Item = &SizeMix> {
        [&self.read_sizes, &self.write_sizes, &self.sizes].into_iter().flatten()
    }

    /// The profile of the load, on the first target of the command line. `duration_s` is its time in seconds.
    pub fn profile(&self, duration_s: u32) -> Profile {
        let mut span =
            TimeSpan { duration_s, measure_latency: true, targets: vec![self.target()], ..TimeSpan::default() };
        if let Pace::Rate { iops, process, .. } = self.pace {
            span.rate_iops = Some(OfferedRate::Steady(iops));
            span.rate_process = Some(process).filter(|process| *process != RateProcess::Constant);
        }
        match self.flush_after_writes {
            Some((writes, FlushCall::Fdatasync)) => span.flush_after_writes = Some(writes),
            Some((writes, FlushCall::Fsync)) => span.fsync_after_writes = Some(writes),
            None => {}
        }
        Profile { time_spans: vec![span], ..Profile::default() }
    }

    fn target(&self) -> Target {
        let only = self.only_size();
        let first = self.mixes().flat_map(SizeMix::shares).map(|share| share.bytes(0)).next();
        let mix = |mix: &Option<SizeMix>, operations: &[Operation]| {
            let is_done = operations.iter().any(|&operation| self.shares.does(operation));
            mix.clone().filter(|_| only.is_none() && is_done)
        };
        let (outstanding, burst) = match self.pace {
            Pace::Depth(outstanding) | Pace::Rate { outstanding, .. } => (outstanding, None),
            Pace::Bursts { ios, pause_ms, outstanding } => (outstanding, Some((ios, pause_ms))),
        };
        let mut target = Target::new("*1");
        target.block_size = Bytes(only.or(first).unwrap_or(SECTOR_BYTES));
        target.read_sizes = mix(&self.read_sizes, &[Operation::Read]);
        target.write_sizes = mix(&self.write_sizes, &[Operation::Write]);
        target.sizes = mix(&self.sizes, &Operation::WITHOUT_DATA);
        target.base_offset = Bytes(self.base_offset);
        target.max_offset = Bytes(self.base_offset.saturating_add(self.target_bytes));
        target.random_percent = self.random_percent;
        target.alignment = self.alignment.filter(|_| self.random_percent > 0).map(Bytes);
        target.skew = self.skew;
        target.write_percent = self.shares.write_percent;
        target.discard_percent = Some(self.shares.discard_percent).filter(|&percent| percent > 0);
        target.write_zeroes_percent = Some(self.shares.write_zeroes_percent).filter(|&percent| percent > 0);
        target.outstanding = outstanding;
        target.burst_ios = burst.map(|(ios, _)| ios);
        target.think_time_ms = burst.map(|(_, pause_ms)| pause_ms);
        let mut places = [self.base_offset, self.alignment.unwrap_or(0)].into_iter().chain(target.io_sizes());
        if places.all(|bytes| bytes.is_multiple_of(SECTOR_BYTES)) {
            target.cache_mode = CacheMode::Unbuffered;
        }
        target
    }
}
