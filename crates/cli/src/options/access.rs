//! `-r -rs -rd -s -p -T -w`: offsets and kinds of I/Os.

use super::row::{Group, Kind, OptionRow, Repeat, SinceVersion};
use super::target::size_value;
use crate::builder::{Builder, GivenOption};
use crate::distribution;

const ACCESS: OptionRow = OptionRow { group: Group::Access, ..OptionRow::BASE };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-r",
        value: "[<align>[K|M|G|T|b]]",
        repeat: Repeat::Error,
        xml: &["Random"],
        short: "random I/O at multiples of <align> [default: sequential I/O; -r alone: multiples of the block size]",
        long: "Random I/O. Offsets, counted from the base offset (-B), are multiples of <align>; -r alone uses \
               multiples of the block size. Cannot be used with -s, -si, -p or -T.",
        example: "-r4K",
        apply: random,
        ..ACCESS
    },
    OptionRow {
        name: "-rs",
        value: "<percent>",
        repeat: Repeat::Error,
        xml: &["RandomRatio"],
        short: "percentage of random I/Os; the others continue sequentially",
        long: "Mixes random and sequential I/O: each I/O is random with this probability in percent (1 to 100); \
               otherwise it continues where the previous I/O ended. -r<align> sets the alignment of the random I/Os. \
               -rs100 is the same as -r.",
        since: SinceVersion::DiskSpd("2.1"),
        example: "-rs50",
        apply: mixed,
        ..ACCESS
    },
    OptionRow {
        name: "-rd",
        value: "(pct|abs)<IO%>/<length>:...",
        xml: &["Distribution"],
        short: "distribution of random I/Os over ranges, e.g. -rdpct90/10:5/5 or -rdabs90/10G",
        long: "Distributes random I/Os unevenly over the target. The ranges follow one another, the first at the base \
               offset. <IO%> is the percentage of the I/Os that go to a range (0: none); <length> is the length of the \
               range, as a percentage of the target (pct) or as a size (abs). The remaining I/Os go to the rest of the \
               target. Needs -r or -rs.",
        since: SinceVersion::DiskSpd("2.1"),
        example: "-rdpct90/10",
        apply: |builder, given| {
            let distribution = distribution::parse(given.value, builder.block_bytes())?;
            builder.settings().distribution = Some(distribution);
            Ok(())
        },
        ..ACCESS
    },
    OptionRow {
        name: "-s",
        value: "[i][<stride>[K|M|G|T|b]]",
        repeat: Repeat::Error,
        xml: &["StrideSize", "InterlockedSequential"],
        short: "sequential I/O in steps of <stride> [default: block size]; i: all threads share one offset",
        long: "Sequential I/O that advances by <stride>. With i (interlocked), all threads of a target share one \
               offset; without it, each thread has its own. Cannot be used with -r or -rs.",
        since: SinceVersion::DiskSpd("2.0"),
        example: "-si64K",
        apply: sequential,
        ..ACCESS
    },
    OptionRow {
        name: "-p",
        kind: Kind::Flag,
        repeat: Repeat::Harmless,
        xml: &["ParallelAsyncIO"],
        short: "each of a thread's outstanding I/Os has its own sequential position (needs -o2 or more)",
        long: "Parallel sequential I/O: each of a thread's outstanding I/Os has its own sequential position, so every \
               offset is accessed once per outstanding I/O. Cannot be used with -r or -si.",
        example: "-p",
        apply: |builder, _| {
            builder.settings().parallel = true;
            Ok(())
        },
        ..ACCESS
    },
    OptionRow {
        name: "-T",
        value: "<size>[K|M|G|T|b]",
        xml: &["ThreadStride"],
        short: "distance between the starting offsets of threads on a target",
        long: "Thread n starts at the base offset plus n times this size. Needs several threads per target. Cannot be \
               used with -r or -si.",
        example: "-T1M",
        apply: |builder, given| {
            let stride = size_value(builder, given.value, "distance between threads")?;
            if stride.get() == 0 {
                return Err("the thread stride (-T) must be above 0".to_owned());
            }
            builder.settings().thread_stride = stride;
            Ok(())
        },
        ..ACCESS
    },
    OptionRow {
        name: "-w",
        value: "[<percent>]",
        xml: &["WriteRatio"],
        short: "percentage of writes [default 0: reads only]",
        long: "Percentage of I/Os that are writes, 0 to 100. -w without a value means 0, with a warning.",
        on_linux: "As in DiskSpd before 2.1, -w without a value means -w0; newer versions of DiskSpd reject it. \
                   Existing files that this program did not create are written to only with --overwrite.",
        example: "-w30",
        apply: |builder, given| {
            let percent = builder.bounded(given, "the percentage of writes", 0, 100)?;
            if given.value.trim().is_empty() {
                builder.warn("-w without a percentage writes nothing, as -w0; -w100 writes only");
            }
            builder.seen.no_writes = percent == 0;
            builder.settings().write_percent = percent;
            Ok(())
        },
        ..ACCESS
    },
];

const CONFLICT: &str = "random I/O (-r, -rs) conflicts with sequential I/O (-s) given before";
const MIXED_WITH_STRIDE: &str = "mixed I/O (-rs) conflicts with -s; give the alignment with -r<align>";

fn random(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    if builder.seen.random {
        return Err("random I/O (-r) can only be given once".to_owned());
    }
    if builder.seen.sequential {
        return Err(CONFLICT.to_owned());
    }
    if !given.value.trim_end().is_empty() {
        let alignment = size_value(builder, given.value, "alignment")?;
        if alignment.get() == 0 {
            return Err("the alignment must be above 0; -r alone aligns to the block size".to_owned());
        }
        builder.settings().alignment = Some(alignment);
    }
    builder.seen.random = true;
    if builder.seen.mixed_percent.is_none() {
        builder.settings().random_percent = 100;
    }
    Ok(())
}

fn mixed(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    if builder.seen.mixed_percent.is_some_and(|percent| percent < 100) {
        return Err("the percentage of random I/Os (-rs) can only be given once".to_owned());
    }
    if builder.seen.sequential {
        return Err(MIXED_WITH_STRIDE.to_owned());
    }
    let percent = builder.bounded(given, "the percentage of random I/Os", 1, 100)?;
    builder.seen.mixed_percent = Some(percent);
    builder.settings().random_percent = percent;
    Ok(())
}

fn sequential(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    if builder.seen.sequential {
        return Err("sequential I/O (-s) can only be given once".to_owned());
    }
    if builder.seen.mixed_percent.is_some() {
        return Err(MIXED_WITH_STRIDE.to_owned());
    }
    if builder.seen.random {
        return Err("sequential I/O (-s) conflicts with random I/O (-r) given before".to_owned());
    }
    let (interlocked, stride) = match given.value.strip_prefix('i') {
        Some(stride) => (true, stride.trim()),
        None => (false, given.value.trim()),
    };
    if !stride.is_empty() {
        let stride = size_value(builder, stride, "stride")?;
        builder.settings().alignment = Some(stride);
    }
    builder.seen.sequential = true;
    builder.settings().interlocked = interlocked;
    Ok(())
}
