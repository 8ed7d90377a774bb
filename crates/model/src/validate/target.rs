//! Checks of one target within its timespan.

use super::{Report, check_without_data, distribution};
use crate::limits::{BLOCK_SIZE_BYTES_MAX, OUTSTANDING_MAX, PATH_BYTES_MAX, TARGETS_MAX, TRANSFER_BYTES_MAX};
use crate::operation::Operation;
use crate::printable::{REPEATED_CHARACTERS_MAX, clipped};
use crate::profile::{CacheMode, Distribution, Reduction, Target, Throughput, TimeSpan};
use crate::rw_flags::RwFlags;
use crate::units::{Bytes, counted};
use std::path::PathBuf;

/// True if two targets have the same settings apart from the path.
pub(super) fn is_twin(a: &Target, b: &Target) -> bool {
    *a == Target { path: a.path.clone(), ..b.clone() }
}

/// Checks that do not depend on the path.
pub(super) fn check_settings(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    check_counts(span, target, report);
    check_rates(span, target, report);
    check_pool(span, target, report);
    if target.random_percent > 0 {
        check_random(target, report);
    } else {
        check_sequential(span, target, report);
    }
    if let Some(fault) = target.distribution.as_ref().and_then(|ranges| distribution::fault(ranges, target)) {
        report.error(fault);
    }
    check_sizes(target, report);
    check_skew(target, report);
    check_append(span, target, report);
    check_write_source(target, report);
    check_reduction(span, target, report);
    check_without_data(span, target, report);
    check_memory_mapped(span, target, report);
    check_rw_flags(target, report);
    check_bypass(target, report);
    check_bounds(target, report);
}

/// Checks of the path that matter only in a run.
pub(super) fn check_path(target: &Target, report: &mut Report<'_>) {
    if target.path == PathBuf::new() {
        report.error("empty target path; give the path of a file or device");
    }
    let path = target.path.to_string_lossy();
    if target.path.as_os_str().len() > PATH_BYTES_MAX {
        let shown = clipped(&path, REPEATED_CHARACTERS_MAX);
        report.error(format!("the target path '{shown}' is longer than Linux allows ({PATH_BYTES_MAX} bytes)"));
    }
    if target.is_template() {
        report.error(format!(
            "target '{}' is a placeholder (template): with -Rp, it is written to a profile; with -X, a target on the \
             command line replaces it. It cannot be used in a run",
            clipped(&path, REPEATED_CHARACTERS_MAX)
        ));
    }
}

/// Transfers that Linux cannot do in a run, whatever `DiskSpd` allows.
pub(super) fn check_transfers(target: &Target, report: &mut Report<'_>) {
    let bytes = target.largest_io_bytes();
    if (TRANSFER_BYTES_MAX + 1..=BLOCK_SIZE_BYTES_MAX).contains(&bytes) {
        let option = target.sizes_option().unwrap_or("-b");
        report.error(format!(
            "I/Os of {bytes} bytes ({option}) are too large: Linux transfers at most 2 GiB - 4 KiB ({TRANSFER_BYTES_MAX} \
             bytes) in one"
        ));
    }
}

fn check_counts(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    let block = target.block_size.get();
    if block == 0 || block > BLOCK_SIZE_BYTES_MAX {
        report.error(format!("the block size (-b) must be 1 to {BLOCK_SIZE_BYTES_MAX} bytes, not {block}"));
    }
    if target.threads == 0 {
        report.error("the number of threads (-t) must be at least 1");
    }
    if target.outstanding == 0 {
        report.error("the number of outstanding I/Os (-o) must be at least 1");
    }
    if target.outstanding > OUTSTANDING_MAX {
        report.error(format!("{} outstanding I/Os (-o) exceed the maximum {OUTSTANDING_MAX}", target.outstanding));
    }
    if target.write_percent > 100 {
        report.error(format!("the percentage of writes (-w) must be 0 to 100, not {}", target.write_percent));
    }
    if span.thread_count > 0 && target.threads > 1 {
        report.error("-F and -t cannot be used together: -F is the total number of threads, -t threads per target");
    }
}

fn check_rates(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    if target.throughput != Throughput::Unlimited && span.completion_routines {
        report.error("throughput control (-g) cannot be used with completion routines (-x)");
    }
    let bursts = target.burst_ios.unwrap_or(0) > 0;
    let pauses = target.think_time_ms.unwrap_or(0) > 0;
    if bursts != pauses {
        report.error("a burst size (-i<n>) and a think time (-j<ms>) must be used together");
    }
}

/// Options that a pool of threads with its own queue depth (`-F` with `-O`) excludes, and options that need it.
fn check_pool(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    if !span.is_pool_with_requests() {
        if !target.thread_targets.is_empty() {
            report.error("ThreadTargets can only be used with both a ThreadCount (-F) and a RequestCount (-O)");
        }
        return;
    }
    if target.throughput != Throughput::Unlimited {
        report.error("throughput control (-g) cannot be used with -O, outstanding I/Os per thread");
    }
    if target.think_time_ms.unwrap_or(0) > 0 {
        report.error("a think time (-j) cannot be used with -O, outstanding I/Os per thread");
    }
    if target.parallel {
        report.error("parallel I/O (-p) cannot be used with -O, outstanding I/Os per thread");
    }
    if target.weight == 0 {
        report.error("with ThreadCount (-F) and RequestCount (-O) the Weight of a target must be above 0");
    }
    for thread_target in &target.thread_targets {
        if thread_target.thread >= span.thread_count {
            report.error(format!(
                "ThreadTarget refers to thread {}, but with {} (-F) the last is {}",
                thread_target.thread,
                counted(span.thread_count, "thread"),
                span.thread_count - 1
            ));
        }
    }
}

fn check_random(target: &Target, report: &mut Report<'_>) {
    if target.thread_stride > Bytes(0) {
        report.error("-T conflicts with -r: random I/O has no starting offsets");
    }
    if target.interlocked {
        report.error("-si conflicts with -r: only sequential I/O can be interlocked");
    }
    if target.parallel {
        report.error("-p conflicts with -r: only sequential I/O can be parallel");
    }
}

fn check_sequential(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    if target.distribution.is_some() {
        report.error("a random distribution (-rd) needs random I/O; add -r or -rs");
    }
    if target.parallel && target.outstanding == 1 {
        report.warning("-p has no effect unless more than one I/O is outstanding (-o)");
    }
    let several_threads = span.threads_on(target) > 1;
    let has_stride = target.thread_stride > Bytes(0);
    if target.interlocked {
        if has_stride {
            report.error("-si conflicts with -T: interlocked threads share one offset");
        }
        if target.parallel {
            report.error("-si conflicts with -p: interlocked threads share one offset");
        }
        if !several_threads {
            report.warning("-si is ignored: there is only one thread per target");
        }
    } else if several_threads && !has_stride && target.append.is_none() {
        // DiskSpd's wording, which scripts search for.
        report.warning("target access pattern will not be sequential, consider -si");
    } else if !several_threads && has_stride {
        report.error("-T has no effect unless several threads per target are used (-t, -F)");
    }
}

fn check_skew(target: &Target, report: &mut Report<'_>) {
    let Some(skew) = target.skew else { return };
    if let Some(fault) = skew.fault() {
        report.error(fault);
    }
    if target.random_percent == 0 {
        report.error("--skew needs random I/O; add -r or -rs");
    } else if target.distribution.is_some() {
        report.error("--skew and -rd cannot be used together: both say where random I/Os fall");
    }
    if let Some(option) = target.sizes_option() {
        report.error(format!(
            "--skew cannot be used with {option}: hot positions would differ from size to size; use several targets in \
             a job file, each with one size"
        ));
    }
}

/// Options that a file that is only ever written at its end excludes.
fn check_append(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    let Some(append) = target.append else { return };
    let stride = target.alignment.filter(|&stride| stride > Bytes(0) && stride != target.block_size);
    let others = [
        (target.random_percent > 0, "-r", "a log is written in sequence"),
        (
            target.random_percent == 0 && stride.is_some(),
            "-s<stride>",
            "each write begins where the one before it ends",
        ),
        (target.interlocked, "-si", "each thread has a file of its own"),
        (target.parallel, "-p", "all I/Os of a thread follow each other"),
        (target.thread_stride > Bytes(0), "-T", "each thread has a file of its own"),
        (target.base_offset > Bytes(0), "-B", "files are written from their start"),
        (target.max_offset > Bytes(0), "-f<size>", "give the size as in --append=64M"),
        (target.create_size.is_some_and(|size| size > Bytes(0)), "-c", "give the size as in --append=64M"),
        (span.thread_count > 0, "-F", "use -t, threads per target: each has a file of its own"),
        (target.memory_mapped, "-Sm", "a mapped file does not grow"),
        (target.shares().does(Operation::Discard), "--discard", "all I/Os are writes"),
        (target.shares().does(Operation::WriteZeroes), "--write-zeroes", "all I/Os are writes"),
    ];
    for (_, option, reason) in others.into_iter().filter(|(is_given, ..)| *is_given) {
        report.error(format!("--append cannot be used with {option}: {reason}"));
    }
    if target.write_percent != 100 {
        report.error(format!("--append cannot be used with -w{}: all I/Os are writes", target.write_percent));
    }
    if append.size.get() < target.largest_io_bytes() {
        report.error(format!(
            "the file size of --append ({}) is smaller than an I/O of {} (-b)",
            counted(append.size.get(), "byte"),
            counted(target.largest_io_bytes(), "byte")
        ));
    }
    if append.is_single && target.threads > 1 {
        report.error("--append with ',single' is for one thread: leave out -t or ',single'");
    }
    if target.threads as usize > TARGETS_MAX {
        report.error(format!(
            "--append needs a file for each thread, and {} threads (-t) exceed the maximum of {TARGETS_MAX} files",
            target.threads
        ));
    }
}

fn check_write_source(target: &Target, report: &mut Report<'_>) {
    if let Some(source) = &target.write_source
        && source.size.get() < target.largest_io_bytes()
    {
        report.error(format!(
            "the write source (-Z<size>) of {} is smaller than the {} of {}",
            counted(source.size.get(), "byte"),
            target.sizes_option().map_or("block size (-b)".to_owned(), |option| format!("largest size ({option})")),
            counted(target.largest_io_bytes(), "byte")
        ));
    }
}

/// The ratio holds within 5 % with zstd, LZ4 and gzip, or is refused.
fn check_ratio(span: &TimeSpan, target: &Target, reduction: Reduction, report: &mut Report<'_>) {
    let ratio = reduction.compress_ratio;
    if !Reduction::admits(ratio) {
        report.error(format!("the ratio (--compress) must be 1 to 15, not {ratio}"));
        return;
    }
    if span.verify && ratio > Reduction::RATIO_MAX_VERIFIED {
        report.error(format!(
            "--compress={ratio} cannot be used with --verify, whose headers do not compress: the ratio must be 1 to 4"
        ));
    }
    let multiple = reduction.write_multiple_bytes();
    let sizes = target.sizes_of(Operation::Write).into_iter().map(|(bytes, _)| bytes);
    if let Some(odd) = sizes.filter(|_| target.writes()).find(|bytes| !bytes.is_multiple_of(multiple)) {
        report.error(format!(
            "--compress={ratio} needs writes that are multiples of {multiple} bytes, not {odd}: compressors take too much \
             for smaller parts (-b, --sizes)"
        ));
    }
}

/// Data that reduces excludes all other options that set the content of writes.
fn check_reduction(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    let (Some(reduction), Some(option)) = (target.reduction(), target.reduction_option()) else { return };
    check_ratio(span, target, reduction, report);
    if reduction.dedupe_percent > 100 {
        let percent = reduction.dedupe_percent;
        report.error(format!("the percentage of repeated blocks (--dedupe) must be 0 to 100, not {percent}"));
    }
    let other = match (&target.write_source, target.zero_write_buffers, span.random_write_data) {
        (Some(_), _, _) => Some("-Z<size>"),
        (None, true, _) => Some("-Z"),
        (None, false, true) => Some("-Zr"),
        (None, false, false) => None,
    };
    if let Some(other) = other {
        report.error(format!("{option} cannot be used with {other}: both say what is written; give one of them"));
    }
    let writes = target.shares().does(Operation::Write);
    if !writes && target.size_to_create().is_none() {
        report.error(format!("{option} needs data that is written; add -w<percent>, or -c<size> to create the target"));
    }
    if reduction.dedupe_percent == 0 || !writes {
        return;
    }
    // A write that covers a part of a block would leave one that is equal to no other.
    let sizes = target.sizes_of(Operation::Write).into_iter().map(|(bytes, _)| bytes);
    let places = [target.base_offset.get(), target.stated_alignment().get(), target.thread_stride.get()];
    if let Some(odd) = sizes.chain(places).find(|bytes| !bytes.is_multiple_of(Reduction::BLOCK_BYTES)) {
        report.error(format!(
            "--dedupe repeats blocks of 4 KiB, but the sizes or offsets of writes are multiples of {odd} bytes: use \
             multiples of 4K with -b, --sizes, -r, -s, -B and -T"
        ));
    }
}

/// Options that several sizes exclude: all that count in blocks.
fn check_sizes(target: &Target, report: &mut Report<'_>) {
    let Some(option) = target.sizes_option() else { return };
    for bytes in target.io_sizes() {
        if bytes == 0 || bytes > BLOCK_SIZE_BYTES_MAX {
            report.error(format!("a size ({option}) must be 1 to {BLOCK_SIZE_BYTES_MAX} bytes, not {bytes}"));
        }
    }
    for (option, sizes, operation) in [
        ("--read-sizes", &target.read_sizes, Operation::Read),
        ("--write-sizes", &target.write_sizes, Operation::Write),
    ] {
        if sizes.is_some() && !target.shares().does(operation) {
            report.error(format!("{option} needs {}, but the load has none (-w)", operation.plural()));
        }
    }
    // Profiles state the stride of sequential I/O, which is the block size unless it was given.
    let stride = target.alignment.filter(|&stride| stride > Bytes(0) && stride != target.block_size);
    if target.random_percent == 0 && stride.is_some() {
        report.error(format!(
            "{option} cannot be used with a stride (-s<stride>): sequential I/Os of different sizes follow each other; \
             leave the stride out"
        ));
    }
    if target.parallel {
        report.error(format!(
            "{option} cannot be used with -p: the sequential positions of a thread's outstanding I/Os would drift apart"
        ));
    }
    if target.thread_stride > Bytes(0) {
        report.error(format!("{option} cannot be used with -T: start threads apart with several targets and -B"));
    }
    if matches!(target.distribution, Some(Distribution::Absolute(_))) {
        report.error(format!("{option} cannot be used with -rdabs, which counts in blocks; use -rdpct"));
    }
}

fn check_memory_mapped(span: &TimeSpan, target: &Target, report: &mut Report<'_>) {
    if target.memory_mapped {
        if span.completion_routines {
            report.error("completion routines (-x) cannot be used with memory mapped I/O (-Sm)");
        }
        if target.cache_mode == CacheMode::Unbuffered {
            report.error("unbuffered I/O (-Su, -Sh, -h) cannot be memory mapped (-Sm)");
        }
        if span.io_ring.is_some() {
            report.error("IoRing (-u) cannot be used with memory mapped I/O (-Sm)");
        }
    } else if target.flush.is_some() {
        report.error("a flush mode (-N) can only be used with memory mapped I/O (-Sm)");
    }
}

/// Options that flags of single reads and writes exclude.
fn check_rw_flags(target: &Target, report: &mut Report<'_>) {
    for flag in RwFlags::from_target(target).iter() {
        let option = flag.option;
        if target.memory_mapped {
            report.error(format!("{option} cannot be used with -Sm: memory mapped I/O makes no system calls"));
        } else if flag.is_direct && target.cache_mode != CacheMode::Unbuffered {
            report.error(format!("{option} needs direct I/O; add -Su or -Sh"));
        } else if !flag.is_direct && target.cache_mode != CacheMode::Cached {
            report.error(format!(
                "{option} cannot be used with -Su, -Sh or -Sr: direct I/O does not use the page cache; leave one out"
            ));
        }
        if let Some(operation) = flag.operation.filter(|&operation| !target.shares().does(operation)) {
            report.error(format!("{option} needs {}, but the load has none (-w)", operation.plural()));
        }
    }
}

fn check_bypass(target: &Target, report: &mut Report<'_>) {
    if target.bypass_io.is_none() {
        return;
    }
    if target.cache_mode != CacheMode::Unbuffered {
        report.error("BypassIO (-Sy, -SY) requires unbuffered I/O (-Su)");
    }
    if target.writes() {
        report.error("BypassIO (-Sy, -SY) cannot be used with writes (-w)");
    }
    if target.memory_mapped {
        report.error("BypassIO (-Sy, -SY) cannot be used with memory mapped I/O (-Sm)");
    }
}

fn check_bounds(target: &Target, report: &mut Report<'_>) {
    let maximum = target.max_offset;
    if maximum > Bytes(0) && maximum <= target.base_offset {
        report.error(format!(
            "the maximum offset (-f, -B<base>:<length>) of {} must be greater than the base offset (-B) of {}",
            counted(maximum.get(), "byte"),
            counted(target.base_offset.get(), "byte")
        ));
    }
}
