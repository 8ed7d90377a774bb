//! Rows of `Linux`: settings that `DiskSpd` does not have. Each is an option of ours too.

use crate::setting::{Codec, OwnOption, Setting, TextField, flag, number, words};
use model::engine_kind::EngineKind;
use model::profile::{RateProcess, SizeMix, Target, TimeSpan};

type Row = Setting<TimeSpan>;

/// `Linux` in a timespan: what `DiskSpd` does not have.
pub static LINUX_IN_TIME_SPAN: &[Row] = &[
    Row::own(
        "Engine",
        "engine",
        words!(engine;
            "io_uring" / "io_uring" => Some(EngineKind::IoUring),
            "aio" / "aio" => Some(EngineKind::LinuxAio),
            "sync" / "sync" => Some(EngineKind::Synchronous),
            "mmap" / "mmap" => Some(EngineKind::MemoryMapped),
            "null" / "null" => Some(EngineKind::Null),
        ),
        "--engine",
        &OwnOption {
            value: "=<io_uring|aio|sync|mmap|null>",
            short: "use this I/O engine for every thread, or fail",
            long: "By default, a thread with one outstanding I/O is synchronous, and others use io_uring or, where \
                   that is not available, Linux AIO. null completes every I/O immediately without the kernel: it shows \
                   the overhead of this program and the highest rate it can reach on this machine.",
            kernel: "only the system calls of that engine, or an error",
            seen_in: "strace: `pread64`, `io_submit`, `io_uring_enter`, none",
            example: "--engine=io_uring",
        },
    ),
    Row::own(
        "SubmissionPolling",
        "submission_polling",
        flag!(submission_polling),
        "--sqpoll",
        &OwnOption {
            value: "",
            short: "submit io_uring I/Os through a polling kernel thread (SQPOLL)",
            long: "Submissions need no system call; one kernel thread per ring polls for them and keeps a CPU busy.",
            kernel: "`IORING_SETUP_SQPOLL`",
            seen_in: "strace: `io_uring_setup`",
            example: "--sqpoll",
        },
    ),
    Row::own(
        "CompletionPolling",
        "completion_polling",
        flag!(completion_polling),
        "--iopoll",
        &OwnOption {
            value: "",
            short: "poll the device for io_uring completions (IOPOLL)",
            long: "Polls for completions instead of waiting for interrupts. Needs -Su or -Sh and a device with poll \
                   queues, such as NVMe with nvme.poll_queues set.",
            kernel: "`IORING_SETUP_IOPOLL`",
            seen_in: "no interrupts of the device in `/proc/interrupts`",
            example: "--iopoll",
        },
    ),
    Row::own(
        "Cold",
        "cold",
        flag!(cold),
        "--cold",
        &OwnOption {
            value: "",
            short: "drop the targets' cached pages before the warm-up",
            long: "Writes back the targets' dirty pages and drops their clean pages, so that the first reads come from \
                   the device, not from memory.",
            kernel: "`fdatasync` and `posix_fadvise(POSIX_FADV_DONTNEED)`",
            seen_in: "strace: `fadvise64`",
            example: "--cold",
        },
    ),
    Row::own(
        "NearDevice",
        "near_device",
        flag!(near_device),
        "--near-device",
        &OwnOption {
            value: "",
            short: "run threads on the NUMA node that their targets' disks are attached to",
            long: "Each thread runs on the next CPU of the NUMA node that the kernel reports for its targets' disks, \
                   in the order of -a. Where the kernel reports no node, the option has no effect and a note says \
                   so.",
            kernel: "`sched_setaffinity` to CPUs of the node in the device's `numa_node`",
            seen_in: "the report (tested with simulated NUMA nodes only)",
            example: "--near-device",
        },
    ),
    Row::own(
        "AccessTimes",
        "access_times",
        flag!(access_times),
        "--atime",
        &OwnOption {
            value: "",
            short: "let I/O update the access times of files, as applications do",
            long: "By default, files are opened with O_NOATIME where the kernel allows it (to the owner of the file, \
                   or with CAP_FOWNER): reads do not update access times and cost less. With this option, each read \
                   may update the access time, depending on the mount options (relatime, strictatime), and the file \
                   system may write the new time to the device.",
            kernel: "files are opened without `O_NOATIME`",
            seen_in: "strace: flags of `openat`; `st_atime`",
            example: "--atime",
        },
    ),
    Row::own(
        "MaxIos",
        "end_after",
        number!(end_after.ios, 1..=u64::MAX),
        "--max-ios",
        &OwnOption {
            value: "=<n>",
            short: "end the timespan after this many measured I/Os",
            long: "Exact across all threads: no I/O beyond this number is started. Warm-up I/Os do not count. -d \
                   still ends the timespan if it expires first.",
            kernel: "no I/O is started that would exceed the limit",
            seen_in: "strace: number of calls",
            example: "--max-ios=100000",
        },
    ),
    Row::own(
        "MaxBytes",
        "end_after",
        number!(size end_after.bytes, 1..=u64::MAX),
        "--max-bytes",
        &OwnOption {
            value: "=<size>[KMGT]",
            short: "end the timespan before more than this many bytes are measured",
            long: "Counts reads and writes of all threads together; no I/O that would exceed the limit is started. The warm-up does not count. -d still ends the timespan if it expires first.",
            kernel: "no I/O is started that would exceed the limit",
            seen_in: "strace: number of calls",
            example: "--max-bytes=10G",
        },
    ),
    Row::own(
        "MaxWriteBytes",
        "end_after",
        number!(size end_after.written_bytes, 1..=u64::MAX),
        "--max-write",
        &OwnOption {
            value: "=<size>[KMGT]",
            short: "end the timespan before more than this many bytes are written",
            long: "Limits wear on the device. Counts writes of all threads together, including warm-up and cool-down, \
                   but not those that create a file (-c). No write is started that might exceed the limit. -d still \
                   ends the timespan if it expires first.",
            kernel: "no write is started that would exceed the limit; writes during warm-up and cool-down count too",
            seen_in: "strace: number of calls; bytes written in `/proc/PID/io`",
            example: "--max-write=50G",
        },
    ),
    Row::own(
        "Rate",
        "rate_iops",
        number!(rate_iops, 1..=u32::MAX as u64),
        "--rate",
        &OwnOption {
            value: "=<iops>",
            short: "open loop: start this many I/Os per second over all threads, whether or not earlier ones have \
                    completed",
            long: "The schedule is fixed before the run; an I/O that cannot start on time starts as soon as it can. \
                   Two latencies are reported: service time from start to completion, in DiskSpd's columns, and \
                   response time from the intended start to completion, in a separate table. -o is the maximum number \
                   of outstanding I/Os per thread; if this limit delays starts, the result says so. Cannot be used \
                   with -g, -i, -j or -O.",
            kernel: "starts I/Os on a fixed schedule, whether or not earlier ones have completed",
            seen_in: "the report: intended starts, response times",
            example: "--rate=5000",
        },
    ),
    Row::own(
        "RateProcess",
        "rate_process",
        words!(rate_process;
            "constant" / "constant" => Some(RateProcess::Constant),
            "poisson" / "poisson" => Some(RateProcess::Poisson),
        ),
        "--rate-process",
        &OwnOption {
            value: "=<constant|poisson>",
            short: "spacing of the I/Os of --rate: even (constant, the default) or random and independent (poisson)",
            long: "constant: the intended starts of all threads together are evenly spaced. poisson: the gaps between \
                   the starts of a thread are drawn from an exponential distribution, as with independent clients; the \
                   same seed (-z) gives the same gaps.",
            kernel: "spacing of the I/O starts of --rate",
            seen_in: "the report: the same seed gives the same intended starts",
            example: "--rate-process=poisson",
        },
    ),
    Row::own(
        "FlushAfterWrites",
        "flush_after_writes",
        number!(flush_after_writes, 1..=u32::MAX as u64),
        "--fdatasync-every",
        &OwnOption {
            value: "=<writes>",
            short: "call fdatasync each time a thread has made this many writes, and time the calls",
            long: "Simulates the group commit of databases: after this many writes, a thread waits for its outstanding \
                   I/Os, calls fdatasync on the targets that it writes to, and continues. Flushes are counted and \
                   timed separately from reads and writes; discards and write-zeroes count as writes here. With -Su, this is one of two ways to write durably; the \
                   other is -Suw, with which each write is durable when it completes.",
            kernel: "`fdatasync` after every N writes of a thread",
            seen_in: "flushes counted by the device; the report",
            example: "--fdatasync-every=32",
        },
    ),
    Row::own(
        "FsyncAfterWrites",
        "fsync_after_writes",
        number!(fsync_after_writes, 1..=u32::MAX as u64),
        "--fsync-every",
        &OwnOption {
            value: "=<writes>",
            short: "as --fdatasync-every, but call fsync, which also makes all metadata of the file durable",
            long: "fsync also writes times and other metadata that reading the data does not need, mostly through the \
                   journal of the file system, so that it often takes longer than fdatasync. Cannot be used with \
                   --fdatasync-every.",
            kernel: "`fsync` after every N writes of a thread",
            seen_in: "strace: `fsync`; the report",
            example: "--fsync-every=32",
        },
    ),
];

/// `Linux` in a target: what `DiskSpd` does not have.
pub static LINUX_IN_TARGET: &[Setting<Target>] = &[
    Setting::own(
        "Sizes",
        "sizes",
        Codec::Text(TextField {
            get: |target: &Target| target.sizes.as_ref().map(ToString::to_string),
            set: |target, text| SizeMix::parse(text).map(|sizes| target.sizes = Some(sizes)),
        }),
        "--sizes",
        &OwnOption {
            value: "=<size>/<percent>:...",
            short: "sizes of I/Os and their percentages, as in 4K/60:8K/30:64K/10",
            long: "The size of each I/O is drawn from up to 16 sizes, whose percentages add up to 100; -b then only defines the unit b. The size is drawn before the offset: random offsets are multiples of -r<align> or, without it, of the drawn size; sequential I/Os follow each other without gaps. -g in bytes counts the drawn bytes. Results have figures for each size. Cannot be used with -s<stride>, -p, -T or -rdabs.",
            kernel: "lengths of I/Os",
            seen_in: "strace: lengths of `pread64`, `pwrite64`; the report",
            example: "--sizes=4K/60:8K/30:64K/10",
        },
    )
    .examples(&["4K/60:8K/30:64K/10", "1b/50:3b/50"]),
    Setting::own(
        "ReadSizes",
        "read_sizes",
        Codec::Text(TextField {
            get: |target: &Target| target.read_sizes.as_ref().map(ToString::to_string),
            set: |target, text| SizeMix::parse(text).map(|sizes| target.read_sizes = Some(sizes)),
        }),
        "--read-sizes",
        &OwnOption {
            value: "=<size>/<percent>:...",
            short: "sizes of reads, in place of --sizes or -b",
            long: "As --sizes, for reads alone. Other I/Os have the sizes of --write-sizes or --sizes, or else the block size (-b).",
            kernel: "lengths of I/Os",
            seen_in: "strace: lengths of `pread64`, `pwrite64`; the report",
            example: "--read-sizes=8K/90:128K/10",
        },
    )
    .examples(&["8K/100", "8K/90:128K/10"]),
    Setting::own(
        "WriteSizes",
        "write_sizes",
        Codec::Text(TextField {
            get: |target: &Target| target.write_sizes.as_ref().map(ToString::to_string),
            set: |target, text| SizeMix::parse(text).map(|sizes| target.write_sizes = Some(sizes)),
        }),
        "--write-sizes",
        &OwnOption {
            value: "=<size>/<percent>:...",
            short: "sizes of writes, in place of --sizes or -b",
            long: "As --sizes, for writes alone. Other I/Os have the sizes of --read-sizes or --sizes, or else the block size (-b).",
            kernel: "lengths of I/Os",
            seen_in: "strace: lengths of `pread64`, `pwrite64`; the report",
            example: "--write-sizes=16K/80:1M/20",
        },
    )
    .examples(&["16K/100", "16K/80:1M/20"]),
    Setting::own(
        "Discard",
        "discard_percent",
        number!(discard_percent, 0..=100),
        "--discard",
        &OwnOption {
            value: "=<percent>",
            short: "percentage of all I/Os that discard (trim) their range",
            long: "Files: the range becomes a hole and reads as zeros. Block devices: the device is told that the data \
                   is no longer needed; what the range reads as afterwards is up to the device. Drawn before -w, which \
                   is then the percentage of writes among the other I/Os. Discards are counted and timed separately \
                   from reads and writes. Needs the same permissions as writing (--overwrite, --destroy). Needs \
                   io_uring (block devices: Linux 6.12 or later) or --engine=sync; with io_uring, kernel threads of \
                   this process make the holes in files.",
            kernel: "files: `fallocate(FALLOC_FL_PUNCH_HOLE)`; block devices: `BLOCK_URING_CMD_DISCARD` of io_uring, \
                     `ioctl(BLKDISCARD)` of --engine=sync",
            seen_in: "holes in the file; strace: `fallocate`, `ioctl`; discards counted by the device",
            example: "--discard=10",
        },
    ),
    Setting::own(
        "WriteZeroes",
        "write_zeroes_percent",
        number!(write_zeroes_percent, 0..=100),
        "--write-zeroes",
        &OwnOption {
            value: "=<percent>",
            short: "percentage of all I/Os that zero their range without transferring data",
            long: "The file system or device replaces the range by zeros: it stays allocated, and no data is \
                   transferred where the device has a command for it; otherwise the kernel writes zeros. Drawn before \
                   -w, as --discard, with the same requirements, permissions and separate figures.",
            kernel: "`fallocate(FALLOC_FL_ZERO_RANGE)`",
            seen_in: "zeros in the file; strace: `fallocate`",
            example: "--write-zeroes=5",
        },
    ),
];
