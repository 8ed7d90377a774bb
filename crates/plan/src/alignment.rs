//! Alignment requirements of direct I/O on sizes and offsets, checked before the first I/O fails.

use crate::findings::{Findings, RefusalKind};
use crate::words;
use model::facts::{AtomicWrites, DirectIo};
use model::note::Note;
use model::profile::{Distribution, Target};
use model::rw_flags::RwFlags;
use model::units::{Bytes, counted};

/// Upper and lower limit of the assumed alignment, if the kernel reports none.
const ASSUMED_BYTES_MAX: u64 = 4096;
const ASSUMED_BYTES_MIN: u64 = 512;

/// Required alignment of buffers and offsets, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// For buffer addresses.
    pub(crate) memory_bytes: u64,
    /// For offsets and lengths.
    pub(crate) offset_bytes: u64,
}

impl Alignment {
    /// Alignment of blocks, which are adjacent in one buffer and so must meet both.
    pub(crate) fn block_bytes(self) -> u64 {
        self.memory_bytes.max(self.offset_bytes)
    }
}

/// The alignment of a target that is opened for direct I/O; `None` after a refusal.
pub(crate) fn check(
    target: &Target,
    direct_io: DirectIo,
    file_system: &str,
    findings: &mut Findings,
) -> Option<Alignment> {
    let path = target.path.display();
    let needed = match direct_io {
        DirectIo::Aligned { memory_bytes, offset_bytes } => {
            Alignment { memory_bytes: u64::from(memory_bytes).max(1), offset_bytes: u64::from(offset_bytes).max(1) }
        }
        DirectIo::Unknown => {
            let bytes = assumed_bytes(target);
            findings.note(Note::AlignmentAssumed { path: target.path.clone(), alignment_bytes: bytes });
            Alignment { memory_bytes: bytes, offset_bytes: bytes }
        }
        DirectIo::Unsupported => {
            findings.refuse_file(
                RefusalKind::Impossible,
                format!(
                    "'{path}': {file_system} does not support direct I/O; leave out -Su, -Sh and -h, or use another \
                     file system"
                ),
            );
            return None;
        }
    };
    met(target, needed, "direct I/O (-Su, -Sh) needs", findings).then_some(needed)
}

/// Discards and write-zeroes of a block device must cover whole logical blocks, through the page cache too: the kernel
/// refuses others (`blk_ioctl_discard`, `blkdev_fallocate`), after earlier ones have changed the data. False after a
/// refusal.
pub(crate) fn check_without_data(target: &Target, direct_io: DirectIo, findings: &mut Findings) -> bool {
    let needed = Alignment { memory_bytes: 1, offset_bytes: logical_block_bytes(direct_io) };
    met(target, needed, "--discard and --write-zeroes on a block device need", findings)
}

/// The logical block of a block device, in bytes.
pub(crate) fn logical_block_bytes(direct_io: DirectIo) -> u64 {
    match direct_io {
        DirectIo::Aligned { offset_bytes, .. } => u64::from(offset_bytes).max(1),
        DirectIo::Unknown | DirectIo::Unsupported => ASSUMED_BYTES_MIN,
    }
}

/// False after a refusal of atomic writes (`--atomic`): the kernel supports only some sizes, each at a multiple of its
/// size, and refuses others after earlier ones have changed the data.
pub(crate) fn check_atomic(target: &Target, found: Option<AtomicWrites>, findings: &mut Findings) -> bool {
    let Some(flag) = (RwFlags::from_target(target) & RwFlags::ATOMIC).iter().next() else { return true };
    let (option, path, block) = (flag.option, target.path.display(), target.block_size);
    let Some(AtomicWrites { min_bytes, max_bytes }) = found else {
        let message = format!("{option}: '{path}' has no atomic writes; they need {}", flag.needs);
        findings.refuse_file(RefusalKind::Impossible, message);
        return false;
    };
    if let Some(sizes) = target.sizes_option() {
        let message = format!("{option} cannot be used with {sizes}: all I/Os must have one size (-b)");
        findings.refuse(RefusalKind::Invalid, message);
        return false;
    }
    let is_size = (u64::from(min_bytes)..=u64::from(max_bytes)).contains(&block.get());
    if !is_size || !block.get().is_power_of_two() {
        let (min, max) = (Bytes(min_bytes.into()), Bytes(max_bytes.into()));
        let message = format!(
            "{option}: '{path}' supports atomic writes of {min} to {max}, in powers of two; the block size (-b) is {block}"
        );
        findings.refuse(RefusalKind::Invalid, message);
        return false;
    }
    let needed = Alignment { memory_bytes: 1, offset_bytes: block.get() };
    met(target, needed, "atomic writes (--atomic) of this block size (-b) need", findings)
}

/// True if sizes and offsets have the needed alignment; refuses the target if not.
fn met(target: &Target, needed: Alignment, what_needs: &str, findings: &mut Findings) -> bool {
    let wrong: Vec<String> = values(target, needed)
        .into_iter()
        .filter(|value| !value.bytes.is_multiple_of(value.needed_bytes))
        .map(|value| format!("the {} is {}", value.name, counted(value.bytes, "byte")))
        .collect();
    if wrong.is_empty() {
        return true;
    }
    let (path, needed_bytes) = (target.path.display(), needed.block_bytes());
    findings.refuse(
        RefusalKind::Invalid,
        format!("'{path}': {what_needs} multiples of {needed_bytes} bytes, but {}", words::list(&wrong)),
    );
    false
}

/// A size or offset of the profile with an alignment requirement.
struct Value {
    name: String,
    bytes: u64,
    needed_bytes: u64,
}

fn values(target: &Target, needed: Alignment) -> Vec<Value> {
    let stride = if target.random_percent > 0 { "alignment (-r)" } else { "stride (-s)" };
    let offset = needed.offset_bytes;
    let sizes = target.io_sizes();
    let name = target.sizes_option().map_or("block size (-b)".to_owned(), |option| format!("size ({option})"));
    let mut values: Vec<Value> =
        sizes.iter().map(|&bytes| Value { name: name.clone(), bytes, needed_bytes: needed.block_bytes() }).collect();
    // An unset stride is the block size, which would be reported twice.
    if !sizes.contains(&target.effective_alignment().get()) && target.stated_alignment().get() > 0 {
        let bytes = target.effective_alignment().get();
        values.push(Value { name: stride.to_owned(), bytes, needed_bytes: offset });
    }
    let others = [
        ("base offset (-B)", target.base_offset, offset),
        ("thread stride (-T)", target.thread_stride, offset),
        ("end of the range (-f, -B)", target.max_offset, offset),
    ];
    values.extend(others.into_iter().map(|(name, bytes, needed_bytes)| Value {
        name: name.to_owned(),
        bytes: bytes.get(),
        needed_bytes,
    }));
    if let Some(Distribution::Absolute(ranges)) = &target.distribution {
        let mut start = 0u64;
        for (index, range) in ranges.iter().enumerate() {
            if range.io_percent > 0 {
                let name = format!("start of range {} (-rdabs)", index + 1);
                values.push(Value { name, bytes: start, needed_bytes: offset });
            }
            start = start.saturating_add(range.length);
        }
    }
    values
}

/// The largest plausible alignment that the profile meets.
fn assumed_bytes(target: &Target) -> u64 {
    let any = Alignment { memory_bytes: 1, offset_bytes: 1 };
    let bits = values(target, any).iter().fold(ASSUMED_BYTES_MAX, |bits, value| bits | value.bytes);
    (1 << bits.trailing_zeros()).max(ASSUMED_BYTES_MIN)
}

/// Alignment of direct writes to a created file, in bytes; `None` = buffered writes.
pub(crate) fn of_creation(direct_io: DirectIo) -> Option<u64> {
    match direct_io {
        DirectIo::Aligned { memory_bytes, offset_bytes } => Some(u64::from(memory_bytes.max(offset_bytes))),
        DirectIo::Unknown => Some(ASSUMED_BYTES_MAX),
        DirectIo::Unsupported => None,
    }
}

/// The alignment of a block device.
pub(crate) fn of_device(logical_block_bytes: u32) -> DirectIo {
    match logical_block_bytes {
        0 => DirectIo::Unknown,
        bytes => DirectIo::Aligned { memory_bytes: bytes, offset_bytes: bytes },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::DistributionRange;
    use model::units::Bytes;

    const ALIGNED_512: DirectIo = DirectIo::Aligned { memory_bytes: 4, offset_bytes: 512 };

    fn refusal(target: &Target, direct_io: DirectIo) -> (Option<Alignment>, Vec<(RefusalKind, String)>) {
        let mut findings = Findings::default();
        let alignment = check(target, direct_io, "tmpfs", &mut findings);
        (alignment, findings.refusals().iter().map(|r| (r.kind, r.message.clone())).collect())
    }

    #[test]
    fn what_fits_passes() {
        let target = Target::new("a");
        let aligned = Alignment { memory_bytes: 4, offset_bytes: 512 };
        assert_eq!(refusal(&target, ALIGNED_512), (Some(aligned), vec![]));
    }

    #[test]
    fn one_message_names_everything_that_does_not_fit() {
        let mut target = Target::new("a");
        target.block_size = Bytes(1000);
        target.base_offset = Bytes(100);
        target.thread_stride = Bytes(10);
        target.max_offset = Bytes(513);
        let (alignment, refusals) = refusal(&target, ALIGNED_512);
        assert_eq!(alignment, None);
        let [(RefusalKind::Invalid, message)] = refusals.as_slice() else { panic!("{refusals:?}") };
        insta::assert_snapshot!(message, @
            "'a': direct I/O (-Su, -Sh) needs multiples of 512 bytes, but the block size (-b) is 1000 bytes, the base \
             offset (-B) is 100 bytes, the thread stride (-T) is 10 bytes and the end of the range (-f, -B) is 513 \
             bytes");
    }

    #[test]
    fn strides_and_ranges_are_checked_too() {
        let mut target = Target::new("a");
        target.random_percent = 100;
        target.alignment = Some(Bytes(700));
        let range = |length| DistributionRange { io_percent: 50, length };
        target.distribution = Some(Distribution::Absolute(vec![range(70_000), range(0)]));
        let (_, refusals) = refusal(&target, ALIGNED_512);
        insta::assert_snapshot!(refusals[0].1, @
            "'a': direct I/O (-Su, -Sh) needs multiples of 512 bytes, but the alignment (-r) is 700 bytes and the \
             start of range 2 (-rdabs) is 70000 bytes");
    }

    #[test]
    fn a_block_must_also_keep_the_next_buffer_aligned() {
        let mut target = Target::new("a");
        target.block_size = Bytes(512);
        let (alignment, refusals) = refusal(&target, DirectIo::Aligned { memory_bytes: 4096, offset_bytes: 512 });
        assert_eq!(alignment, None);
        assert!(refusals[0].1.contains("multiples of 4096 bytes"), "{}", refusals[0].1);
    }

    #[test]
    fn atomic_writes_need_a_size_that_the_target_has_at_multiples_of_itself() {
        let refused = |target: &Target, found: Option<AtomicWrites>| {
            let mut findings = Findings::default();
            let is_sound = check_atomic(target, found, &mut findings);
            let messages: Vec<String> = findings.refusals().iter().map(|refusal| refusal.message.clone()).collect();
            assert_eq!(is_sound, messages.is_empty());
            messages.join("; ")
        };
        let found = Some(AtomicWrites { min_bytes: 4096, max_bytes: 16_384 });
        let target = |block| Target { atomic_writes: true, block_size: Bytes(block), ..Target::new("a") };
        assert_eq!(refused(&Target::new("a"), None), "");
        assert_eq!(refused(&target(4096), found), "");
        assert_eq!(refused(&target(16_384), found), "");
        insta::assert_snapshot!(refused(&target(4096), None), @"--atomic: 'a' has no atomic writes; they need Linux 6.11 or later (files on ext4 and xfs: 6.13) and a device with atomic writes");
        insta::assert_snapshot!(refused(&target(65_536), found), @"--atomic: 'a' supports atomic writes of 4KiB to 16KiB, in powers of two; the block size (-b) is 64KiB");
        insta::assert_snapshot!(refused(&target(12_288), found), @"--atomic: 'a' supports atomic writes of 4KiB to 16KiB, in powers of two; the block size (-b) is 12KiB");
        insta::assert_snapshot!(refused(&target(2048), found), @"--atomic: 'a' supports atomic writes of 4KiB to 16KiB, in powers of two; the block size (-b) is 2KiB");
        let odd = Target { base_offset: Bytes(4096), ..target(16_384) };
        insta::assert_snapshot!(refused(&odd, found), @"'a': atomic writes (--atomic) of this block size (-b) need multiples of 16384 bytes, but the base offset (-B) is 4096 bytes");
        let random = Target { random_percent: 100, alignment: Some(Bytes(4096)), ..target(16_384) };
        insta::assert_snapshot!(refused(&random, found), @"'a': atomic writes (--atomic) of this block size (-b) need multiples of 16384 bytes, but the alignment (-r) is 4096 bytes");
    }

    #[test]
    fn a_file_system_without_direct_io_is_named() {
        let (_, refusals) = refusal(&Target::new("a"), DirectIo::Unsupported);
        assert_eq!(refusals[0].0, RefusalKind::Impossible);
        assert!(refusals[0].1.contains("tmpfs does not support direct I/O"), "{}", refusals[0].1);
    }

    #[test]
    fn an_unknown_alignment_is_assumed_as_large_as_the_profile_keeps() {
        for (block, assumed) in [(65_536, 4096), (4096, 4096), (1024, 1024), (512, 512)] {
            let mut target = Target::new("a");
            target.block_size = Bytes(block);
            let mut findings = Findings::default();
            let expected = Alignment { memory_bytes: assumed, offset_bytes: assumed };
            assert_eq!(check(&target, DirectIo::Unknown, "ext4", &mut findings), Some(expected));
            let note = Note::AlignmentAssumed { path: "a".into(), alignment_bytes: assumed };
            assert_eq!(findings.notes(), [note]);
        }
        let mut target = Target::new("a");
        target.block_size = Bytes(100);
        assert_eq!(refusal(&target, DirectIo::Unknown).0, None);
    }
}
