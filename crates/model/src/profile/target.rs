//! One target of a profile, and the settings that each target has of its own.

use super::{Append, Reduction, Rotation, SizeMix, Skew, StreamName};
use crate::operation::{Operation, Shares};
use crate::tier::Tier;
use crate::units::{Bytes, Millionths};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One target with its own settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// Path as the user wrote it; may be a template (`*1`).
    #[serde(with = "crate::path::One")]
    pub path: PathBuf,
    /// `--stream`: results have figures for each; targets of one name are one stream.
    #[serde(default)]
    pub stream: Option<StreamName>,
    /// `--expect-tier`: the media that the target is expected to be on.
    #[serde(default)]
    pub expected_tier: Option<Tier>,
    /// `-b`.
    #[serde(rename = "block_size_bytes")]
    pub block_size: Bytes,
    /// `-B`.
    #[serde(rename = "base_offset_bytes")]
    pub base_offset: Bytes,
    /// `-f<size>` or `-B<base>:<length>`: exclusive end, from the start of the target; 0 = none.
    #[serde(rename = "max_offset_bytes")]
    pub max_offset: Bytes,
    /// `-c`: create with this size; `Some(0)` was said and creates nothing.
    #[serde(rename = "create_size_bytes")]
    pub create_size: Option<Bytes>,
    /// Percent of I/Os at random offsets: 0 sequential, 100 random (`-r`), else mixed (`-rs`).
    pub random_percent: u32,
    /// `-r<align>` or `-s<stride>`; `None` or 0 = block size.
    #[serde(rename = "alignment_bytes")]
    pub alignment: Option<Bytes>,
    /// `-si`.
    pub interlocked: bool,
    /// `-p`.
    pub parallel: bool,
    /// `-rd`.
    pub distribution: Option<Distribution>,
    /// `--skew`.
    #[serde(default)]
    pub skew: Option<Skew>,
    /// `-o`.
    pub outstanding: u32,
    /// `-t`.
    pub threads: u32,
    /// `-T`.
    #[serde(rename = "thread_stride_bytes")]
    pub thread_stride: Bytes,
    /// `-w`, 0..=100: percent of the I/Os that are neither discards nor write-zeroes.
    pub write_percent: u32,
    /// `--sizes`: in place of the block size.
    #[serde(default)]
    pub sizes: Option<SizeMix>,
    /// `--read-sizes`: the same for reads alone.
    #[serde(default)]
    pub read_sizes: Option<SizeMix>,
    /// `--write-sizes`: the same for writes alone.
    #[serde(default)]
    pub write_sizes: Option<SizeMix>,
    /// `--discard`: percent of all I/Os; `None` = not said (none).
    #[serde(default)]
    pub discard_percent: Option<u32>,
    /// `--write-zeroes`: percent of all I/Os; `None` = not said (none).
    #[serde(default)]
    pub write_zeroes_percent: Option<u32>,
    /// `--append`: threads write at the end of files of their own; `None` = no.
    #[serde(default)]
    pub append: Option<Append>,
    /// `-i`, if given.
    pub burst_ios: Option<u32>,
    /// `-j`, if given.
    pub think_time_ms: Option<u32>,
    /// `-g`.
    pub throughput: Throughput,
    /// `-Sb`, `-Su`, `-Sr`.
    pub cache_mode: CacheMode,
    /// `-Sw`.
    pub write_through: bool,
    /// `--dontcache`.
    #[serde(default)]
    pub dont_cache: bool,
    /// `--atomic`.
    #[serde(default)]
    pub atomic_writes: bool,
    /// `-Sm`.
    pub memory_mapped: bool,
    /// `-N`.
    pub flush: Option<FlushMode>,
    /// `-Sy`, `-SY`.
    pub bypass_io: Option<BypassIo>,
    /// `-fs`.
    pub sequential_scan_hint: bool,
    /// `-fr`.
    pub random_access_hint: bool,
    /// `-ft`.
    pub temporary_hint: bool,
    /// `-l`.
    pub large_pages: bool,
    /// `-Z`: zero write buffers.
    pub zero_write_buffers: bool,
    /// `-Z<size>[,file]`.
    pub write_source: Option<WriteSource>,
    /// `--compress`: size of what is written before compression divided by the size after it.
    #[serde(default, rename = "compress_ratio_millionths")]
    pub compress_ratio: Option<Millionths>,
    /// `--dedupe`: percent of the written blocks of 4 KiB that are repeated.
    #[serde(default)]
    pub dedupe_percent: Option<u32>,
    /// `-I`.
    pub io_priority: IoPriority,
    /// XML `Weight`.
    pub weight: u32,
    /// XML `ThreadTargets`; empty = on all threads.
    pub thread_targets: Vec<ThreadTarget>,
}

impl Default for Target {
    /// A target without a path.
    fn default() -> Self {
        Self::new("")
    }
}

impl Target {
    /// A target with every default of the command line.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            stream: None,
            expected_tier: None,
            block_size: Bytes::from_kib(64),
            base_offset: Bytes(0),
            max_offset: Bytes(0),
            create_size: None,
            random_percent: 0,
            alignment: None,
            interlocked: false,
            parallel: false,
            distribution: None,
            skew: None,
            outstanding: 2,
            threads: 1,
            thread_stride: Bytes(0),
            write_percent: 0,
            sizes: None,
            read_sizes: None,
            write_sizes: None,
            discard_percent: None,
            write_zeroes_percent: None,
            append: None,
            burst_ios: None,
            think_time_ms: None,
            throughput: Throughput::Unlimited,
            cache_mode: CacheMode::Cached,
            write_through: false,
            dont_cache: false,
            atomic_writes: false,
            memory_mapped: false,
            flush: None,
            bypass_io: None,
            sequential_scan_hint: false,
            random_access_hint: false,
            temporary_hint: false,
            large_pages: false,
            zero_write_buffers: false,
            write_source: None,
            compress_ratio: None,
            dedupe_percent: None,
            io_priority: IoPriority::Normal,
            weight: 1,
            thread_targets: Vec::new(),
        }
    }

    /// Alignment of random offsets, or stride of sequential ones; an unset or zero one is the
    /// block size.
    pub fn effective_alignment(&self) -> Bytes {
        match self.alignment {
            Some(alignment) if alignment.get() > 0 => alignment,
            _ => self.block_size,
        }
    }

    /// Shares of the operations in all I/Os.
    pub fn shares(&self) -> Shares {
        Shares {
            discard_percent: self.discard_percent.unwrap_or(0),
            write_zeroes_percent: self.write_zeroes_percent.unwrap_or(0),
            write_percent: self.write_percent,
        }
    }

    /// The option that gives several sizes, if one does.
    pub fn sizes_option(&self) -> Option<&'static str> {
        let options =
            [("--sizes", &self.sizes), ("--read-sizes", &self.read_sizes), ("--write-sizes", &self.write_sizes)];
        options.into_iter().find(|(_, sizes)| sizes.is_some()).map(|(option, _)| option)
    }

    /// The sizes that I/Os of a kind have, in bytes, and their percentages; the block size alone if none are given.
    pub fn sizes_of(&self, operation: Operation) -> Vec<(u64, u32)> {
        let own = match operation {
            Operation::Read => self.read_sizes.as_ref(),
            Operation::Write => self.write_sizes.as_ref(),
            Operation::Discard | Operation::WriteZeroes => None,
        };
        let block_bytes = self.block_size.get();
        match own.or(self.sizes.as_ref()) {
            Some(mix) => mix.shares().iter().map(|share| (share.bytes(block_bytes), share.percent)).collect(),
            None => vec![(block_bytes, 100)],
        }
    }

    /// Every size in bytes that an I/O may have, ascending.
    pub fn io_sizes(&self) -> Vec<u64> {
        if self.sizes_option().is_none() {
            return vec![self.block_size.get()];
        }
        let done = Operation::ALL.into_iter().filter(|&operation| self.shares().does(operation));
        let mut sizes: Vec<u64> = done.flat_map(|operation| self.sizes_of(operation)).map(|(bytes, _)| bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The largest size in bytes that an I/O may have: that of buffers.
    pub fn largest_io_bytes(&self) -> u64 {
        self.io_sizes().last().copied().unwrap_or_else(|| self.block_size.get())
    }

    /// The alignment of random I/Os as a profile states it; 0 = each at multiples of its own size.
    pub fn stated_alignment(&self) -> Bytes {
        match self.alignment {
            Some(alignment) if alignment.get() > 0 => alignment,
            _ if self.sizes_option().is_some() => Bytes(0),
            _ => self.effective_alignment(),
        }
    }

    /// Reduction of the written data by storage, if the profile requests it.
    pub fn reduction(&self) -> Option<Reduction> {
        (self.compress_ratio.is_some() || self.dedupe_percent.is_some()).then(|| Reduction {
            compress_ratio: self.compress_ratio.unwrap_or(Reduction::NONE.compress_ratio),
            dedupe_percent: self.dedupe_percent.unwrap_or(Reduction::NONE.dedupe_percent),
        })
    }

    /// The option that requests such data, if one does.
    pub fn reduction_option(&self) -> Option<&'static str> {
        let options = [("--compress", self.compress_ratio.is_some()), ("--dedupe", self.dedupe_percent.is_some())];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// True if any I/O of this target changes what it holds.
    pub fn writes(&self) -> bool {
        self.shares().changes_data()
    }

    /// The first kind of its I/Os that changes what it holds.
    pub fn change(&self) -> Option<Operation> {
        Operation::ALL.into_iter().find(|&operation| operation.changes_data() && self.shares().does(operation))
    }

    /// True if any I/O of this target reads.
    pub fn reads(&self) -> bool {
        self.shares().does(Operation::Read)
    }

    /// The size of a file to be written from start to end before the run: that of `-c`, or of a log that is recycled.
    pub fn size_to_create(&self) -> Option<Bytes> {
        let recycled = self.append.filter(|append| append.rotation == Rotation::Recycle).map(|append| append.size);
        recycled.or(self.create_size).filter(|size| size.get() > 0)
    }

    /// True if the path is a template (`*1`), which only a profile may hold.
    pub fn is_template(&self) -> bool {
        self.path.as_os_str().as_encoded_bytes().starts_with(b"*")
    }
}

/// `-rd`: where random I/Os fall.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// `-rdpct`: lengths as percentages of the target.
    Percent(Vec<DistributionRange>),
    /// `-rdabs`: lengths in bytes; 0 in the last place = to the end of the target.
    Absolute(Vec<DistributionRange>),
}

impl Distribution {
    /// The ranges, in order.
    pub fn ranges(&self) -> &[DistributionRange] {
        match self {
            Self::Percent(ranges) | Self::Absolute(ranges) => ranges,
        }
    }

    /// Assigns the remaining I/Os to the rest of the target, as `DiskSpd` does.
    pub fn complete(&mut self) {
        let listed: u64 = self.ranges().iter().map(|range| u64::from(range.io_percent)).sum();
        let io_percent = 100_u64.saturating_sub(listed) as u32;
        if io_percent == 0 {
            return;
        }
        match self {
            Self::Percent(ranges) => {
                let length = 100_u64.saturating_sub(ranges.iter().map(|range| range.length).sum());
                if length > 0 {
                    ranges.push(DistributionRange { io_percent, length });
                }
            }
            Self::Absolute(ranges) => ranges.push(DistributionRange { io_percent, length: 0 }),
        }
    }
}

/// One range of a distribution; it starts where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistributionRange {
    /// Percent of the I/Os in this range; 0 = none.
    pub io_percent: u32,
    /// Length in percent or bytes, by the kind of the list.
    pub length: u64,
}

/// `-g`: limit per thread and target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Throughput {
    /// No limit.
    #[default]
    Unlimited,
    /// Bytes per millisecond.
    BytesPerMs(u32),
    /// I/Os per second.
    Iops(u32),
}

/// Which caches stand between the tool and the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Through the file system's cache.
    #[default]
    Cached,
    /// `-Sr`: the client's cache of a network file system is off.
    NoLocalCache,
    /// `-Su`: no software cache.
    Unbuffered,
}

/// `-N`: what follows each memory mapped write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlushMode {
    /// `-Nv`
    ViewOfFile,
    /// `-Nn`
    NonVolatileMemory,
    /// `-Ni`
    NonVolatileMemoryNoDrain,
}

/// `-Sy`, `-SY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BypassIo {
    /// `-Sy`: as far as possible.
    Partial,
    /// `-SY`: or fail.
    Full,
}

/// `-Z<size>[,file]`: where write data is taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriteSource {
    /// Size of the source buffer.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Its contents, repeated if shorter; `None` = random.
    #[serde(with = "crate::path")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::path::Written>"))]
    pub file: Option<PathBuf>,
}

/// `-I`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IoPriority {
    /// 1
    VeryLow,
    /// 2
    Low,
    /// 3
    #[default]
    Normal,
}

/// XML `ThreadTarget`: a thread that serves the target, and with which weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadTarget {
    /// Thread number, from 0.
    pub thread: u32,
    /// 0 = the target's own weight.
    pub weight: u32,
}
