//! Rows of a target.

use crate::element::reader::Reader;
use crate::element::tree::Element;
use crate::element::value;
use crate::linux::LINUX_IN_TARGET;
use crate::setting::{
    Codec, CustomElement, EmitCondition, NumberField, Setting, U32, U64, flag, number, short_size, words, write_all,
};
use crate::target_parts::{CONTENT_OF_TARGET, DISTRIBUTION, THREAD_TARGETS};
use model::limits::BLOCK_SIZE_BYTES_MAX;
use model::profile::{BypassIo, CacheMode, FlushMode, IoPriority, Target, Throughput};
use model::units::Bytes;
use std::path::PathBuf;

type Row = Setting<Target>;

/// A number from 1.
const FROM_ONE: std::ops::RangeInclusive<u64> = 1..=u32::MAX as u64;

/// `Target`. Of contradictory caching elements the later row takes precedence.
pub static TARGET: &[Row] = &[
    Row::new("Path", "path", Codec::Own(&PATH)).required().no_load().examples(&[
        "f",
        " a b\t",
        "*1",
        "&lt;&amp;&gt;&#13;",
    ]),
    Row::new("BlockSize", "block_size_bytes", number!(size block_size, 1..=BLOCK_SIZE_BYTES_MAX))
        .option("-b")
        .doc("Bytes (-b) [65536]."),
    Row::new("BaseFileOffset", "base_offset_bytes", number!(size base_offset, U64)).option("-B").doc("Bytes (-B)."),
    Row::new("SequentialScan", "sequential_scan_hint", flag!(sequential_scan_hint)).option("-fs").doc("-fs"),
    Row::new("RandomAccess", "random_access_hint", flag!(random_access_hint))
        .option("-fr")
        .doc("Hint for random access (-fr); the access pattern itself is set by Random."),
    Row::new("TemporaryFile", "temporary_hint", flag!(temporary_hint)).option("-ft").doc("-ft"),
    Row::new("UseLargePages", "large_pages", flag!(large_pages)).option("-l").doc("-l"),
    Row::new(
        "DisableOSCache",
        "cache_mode",
        Codec::Flag(
            |target| target.cache_mode == CacheMode::Unbuffered,
            |target, on| {
                if on {
                    target.cache_mode = CacheMode::Unbuffered;
                }
            },
        ),
    )
    .option("-Su")
    .doc("-Su")
    .emit(EmitCondition::IfSet),
    Row::new(
        "DisableAllCache",
        "cache_mode",
        Codec::Flag(
            |_| false,
            |target, on| {
                if on {
                    target.cache_mode = CacheMode::Unbuffered;
                    target.write_through = true;
                }
            },
        ),
    )
    .doc("Same as -Sh; found in old profiles.")
    .emit(EmitCondition::Never),
    Row::new(
        "DisableLocalCache",
        "cache_mode",
        Codec::Flag(
            |target| target.cache_mode == CacheMode::NoLocalCache,
            |target, on| {
                if on {
                    target.cache_mode = CacheMode::NoLocalCache;
                }
            },
        ),
    )
    .option("-Sr")
    .doc("-Sr")
    .emit(EmitCondition::IfSet),
    Row::new(
        "WriteThrough",
        "write_through",
        Codec::Flag(|target| target.write_through, |target, on| target.write_through |= on),
    )
    .option("-Sw")
    .doc("-Sw")
    .emit(EmitCondition::IfSet),
    Row::new("MemoryMappedIo", "memory_mapped", flag!(memory_mapped))
        .option("-Sm")
        .doc("-Sm")
        .emit(EmitCondition::IfSet),
    Row::new(
        "FlushType",
        "flush",
        words!(flush;
            "ViewOfFile" / "v" => Some(FlushMode::ViewOfFile),
            "NonVolatileMemory" / "n" => Some(FlushMode::NonVolatileMemory),
            "NonVolatileMemoryNoDrain" / "i" => Some(FlushMode::NonVolatileMemoryNoDrain),
        ),
    )
    .option("-N")
    .doc("-Nv, -Nn, -Ni")
    .emit(EmitCondition::IfSet),
    Row::new(
        "BypassIO",
        "bypass_io",
        words!(bypass_io; "Partial" / "y" => Some(BypassIo::Partial), "Full" / "Y" => Some(BypassIo::Full)),
    )
    .option("-S")
    .doc("-Sy, -SY")
    .emit(EmitCondition::IfSet),
    Row::new("WriteBufferContent", "", Codec::Own(&CONTENT_OF_TARGET)).option("-Z").examples(&[
        "<Pattern>sequential</Pattern>",
        "<Pattern>zero</Pattern>",
        "<Pattern>random</Pattern><RandomDataSource><SizeInBytes>18446744073709551615</SizeInBytes></RandomDataSource>",
        "<Pattern>random</Pattern><RandomDataSource><SizeInBytes>1</SizeInBytes><FilePath> a&amp;b </FilePath>\
         </RandomDataSource>",
    ]),
    Row::new("ParallelAsyncIO", "parallel", flag!(parallel)).option("-p").doc("-p"),
    Row::new("BurstSize", "burst_ios", number!(burst_ios, U32))
        .option("-i")
        .doc("I/Os per burst (-i); needs ThinkTime.")
        .emit(EmitCondition::IfSet),
    Row::new("ThinkTime", "think_time_ms", number!(think_time_ms, U32))
        .option("-j")
        .doc("Pause between bursts in milliseconds (-j); needs BurstSize.")
        .emit(EmitCondition::IfSet),
    Row::new("FileSize", "create_size_bytes", number!(size create_size, U64))
        .option("-c")
        .doc("Creates the file with this many bytes (-c); 0: does not create it.")
        .emit(EmitCondition::IfSet),
    Row::new("StrideSize", "alignment_bytes", Codec::Own(&STRIDE))
        .option("-s")
        .doc("Stride of sequential I/O in bytes (-s) [BlockSize]; not together with Random or RandomRatio.")
        .emit(EmitCondition::When(|target| target.random_percent == 0))
        .examples(&["1", "4096", "18446744073709551615"]),
    Row::new("InterlockedSequential", "interlocked", flag!(interlocked))
        .option("-si")
        .doc("-si")
        .emit(EmitCondition::When(|target| target.random_percent == 0)),
    Row::new("Random", "alignment_bytes", Codec::Own(&RANDOM))
        .option("-r")
        .doc("Random I/O at multiples of this many bytes (-r); 0: multiples of BlockSize.")
        .emit(EmitCondition::When(|target| target.random_percent > 0))
        .examples(&["1", "4096", "18446744073709551615"]),
    Row::new("RandomRatio", "random_percent", Codec::Own(&RANDOM_RATIO))
        .option("-rs")
        .doc("Percentage of random I/Os, if not all are random (-rs).")
        .emit(EmitCondition::When(|target| (1..100).contains(&target.random_percent)))
        .examples(&["1", "50", "99"]),
    Row::new("Distribution", "distribution", Codec::Own(&DISTRIBUTION))
        .option("-rd")
        .emit(EmitCondition::When(|target| target.random_percent > 0 && target.distribution.is_some()))
        .examples(&[
            "<Percent><Range IO='80'>5</Range><Range IO='0'>15</Range><Range IO='20'>80</Range></Percent>",
            "<Absolute><Range IO='50'>1073741824</Range><Range IO='50'>0</Range></Absolute>",
        ]),
    Row::new("ThreadStride", "thread_stride_bytes", number!(size thread_stride, U64)).option("-T").doc("Bytes (-T)."),
    Row::new("MaxFileSize", "max_offset_bytes", number!(size max_offset, U64))
        .option("-f")
        .doc("Upper limit of I/O offsets, in bytes from the start of the target (-f); 0: no limit."),
    Row::new("RequestCount", "outstanding", number!(outstanding, FROM_ONE))
        .option("-o")
        .doc("Outstanding I/Os per thread (-o) [2]."),
    Row::new("WriteRatio", "write_percent", number!(write_percent, 0..=100)).option("-w").doc("-w"),
    Row::new("Throughput", "throughput", Codec::Own(&THROUGHPUT))
        .option("-g")
        .doc("Limit per thread (-g): bytes per millisecond or I/Os per second; 0: none.")
        .examples(&["0", "250", "<Throughput unit='IOPS'>4294967295</Throughput>"]),
    Row::new("ThreadsPerFile", "threads", number!(threads, FROM_ONE)).option("-t").doc("-t [1]"),
    Row::new(
        "IOPriority",
        "io_priority",
        Codec::Number(NumberField { is_size: false, get: |target| Some(priority(target)), set: set_priority }, 0..=3),
    )
    .option("-I")
    .doc("1 very low, 2 low, 3 or 0 normal (-I)."),
    Row::new("Weight", "weight", number!(weight, U32)).doc(
        "Weight of this target in a thread's I/Os, relative to the thread's other targets [1]; used only with \
         ThreadCount and RequestCount.",
    ),
    Row::new("ThreadTargets", "thread_targets", Codec::Own(&THREAD_TARGETS))
        .emit(EmitCondition::When(|target| !target.thread_targets.is_empty()))
        .examples(&[
            "<ThreadTarget><Thread>3</Thread><Weight>60</Weight></ThreadTarget><ThreadTarget><Thread>1</Thread>\
             </ThreadTarget>",
        ]),
    Row::new("Linux", "", Codec::Own(&LINUX))
        .emit(EmitCondition::When(|target| LINUX_IN_TARGET.iter().any(|setting| setting.is_emitted(target)))),
];

static LINUX: CustomElement<Target> = CustomElement {
    schema: "TargetLinux",
    attributes: &[],
    read: |reader, node, target| reader.children(node, LINUX_IN_TARGET, target),
    write: |xml, name, target| xml.inside(name, |xml| write_all(xml, LINUX_IN_TARGET, target)),
    shown: |_| String::new(),
};

/// White space is part of a path.
static PATH: CustomElement<Target> = CustomElement {
    schema: "path",
    attributes: &[],
    read: |reader, node, target| {
        let Some(path) = reader.text(node) else { return };
        if reader.is_strict() {
            reader.read(node, value::template(&path));
        }
        target.path = PathBuf::from(path);
    },
    write: |xml, name, target| xml.element(name, target.path.display()),
    shown: |target| format!("'{}'", target.path.as_os_str().as_encoded_bytes().escape_ascii()),
};

/// True if the target being read has random I/O; results of earlier versions contain `<Random>0</Random>` where it has
/// not.
fn is_random(reader: &Reader<'_>) -> bool {
    let Some(holder) = reader.holders.last() else { return false };
    if reader.is_strict() {
        return holder.child("Random").is_some() || holder.child("RandomRatio").is_some();
    }
    let states = |random: &Element| !random.texts.is_empty() && value::trimmed(&random.text()) != "0";
    holder.child("Random").is_some_and(|random| states(random) || has_sizes(holder))
}

/// True if a target has several sizes, whose random offsets may have no alignment of their own.
fn has_sizes(target: &Element) -> bool {
    let linux = target.child("Linux");
    linux.is_some_and(|linux| ["Sizes", "ReadSizes", "WriteSizes"].into_iter().any(|name| linux.child(name).is_some()))
}

static STRIDE: CustomElement<Target> = CustomElement {
    schema: "u64",
    attributes: &[],
    read: |reader, node, target| {
        let stride = reader.number(node, &U64);
        if is_random(reader) && reader.is_strict() {
            reader.fault(node, "cannot be combined with <Random> or <RandomRatio>: I/O is either sequential or random");
        }
        target.alignment = stride.map(Bytes);
    },
    write: |xml, name, target| xml.element(name, target.effective_alignment().get()),
    shown: |target| format!("-s{}", short_size(target.effective_alignment().get())),
};

static RANDOM: CustomElement<Target> = CustomElement {
    schema: "u64",
    attributes: &[],
    read: |reader, node, target| {
        let alignment = reader.number(node, &U64);
        if reader.is_strict() || alignment.is_some_and(|alignment| alignment > 0) || is_random(reader) {
            target.random_percent = 100;
            target.alignment = alignment.map(Bytes);
        }
    },
    write: |xml, name, target| xml.element(name, target.stated_alignment().get()),
    shown: |target| match target.stated_alignment().get() {
        0 => "-r".to_owned(),
        alignment => format!("-r{}", short_size(alignment)),
    },
};

static RANDOM_RATIO: CustomElement<Target> = CustomElement {
    schema: "RandomRatio",
    attributes: &[],
    read: |reader, node, target| {
        let Some(text) = reader.text(node) else { return };
        if !reader.is_strict() {
            let percent = reader.read(node, value::number(&text, &(0..=u32::MAX)));
            if is_random(reader) {
                target.random_percent = percent.unwrap_or(100);
            }
            return;
        }
        let read = value::number(&text, &(1..=99)).map_err(|message| match value::trimmed(&text) {
            "100" => format!("{message}; for random I/O only, leave it out and keep <Random>"),
            "0" => format!("{message}; for sequential I/O only, leave out <Random> too"),
            _ => message,
        });
        target.random_percent = reader.read(node, read).unwrap_or(100);
    },
    write: |xml, name, target| xml.element(name, target.random_percent),
    shown: |target| format!("-rs{}", target.random_percent),
};

static THROUGHPUT: CustomElement<Target> = CustomElement {
    schema: "Throughput",
    attributes: &["unit"],
    read: |reader, node, target| {
        let counts_ios = reader.word_attribute(node, "unit", &[("BPMS", false), ("IOPS", true)]).unwrap_or(false);
        let rate = reader.number(node, &U32).and_then(|rate| u32::try_from(rate).ok());
        target.throughput = match rate {
            None | Some(0) => Throughput::Unlimited,
            Some(rate) if counts_ios => Throughput::Iops(rate),
            Some(rate) => Throughput::BytesPerMs(rate),
        };
    },
    write: |xml, name, target| match target.throughput {
        Throughput::Unlimited => xml.element(name, 0),
        Throughput::BytesPerMs(rate) => xml.element(name, rate),
        Throughput::Iops(rate) => xml.element_with(name, &[("unit", &"IOPS")], rate),
    },
    shown: |target| match target.throughput {
        Throughput::Unlimited => "no -g".to_owned(),
        Throughput::BytesPerMs(rate) => format!("-g{rate}"),
        Throughput::Iops(rate) => format!("-g{rate}i"),
    },
};

fn priority(target: &Target) -> u64 {
    match target.io_priority {
        IoPriority::VeryLow => 1,
        IoPriority::Low => 2,
        IoPriority::Normal => 3,
    }
}

/// 0 is documented as "not set".
fn set_priority(target: &mut Target, number: u64) {
    target.io_priority = match number {
        1 => IoPriority::VeryLow,
        2 => IoPriority::Low,
        _ => IoPriority::Normal,
    };
}
