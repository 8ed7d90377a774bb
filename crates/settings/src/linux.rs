//! Rows of `Linux`: settings that `DiskSpd` does not have. Each is an option of ours too.

use crate::group::Group;
use crate::setting::{Codec, EmitCondition, OwnOption, Setting, TextField, flag, number, words};
use model::engine_kind::EngineKind;
use model::profile::{Append, OfferedRate, RateProcess, Reduction, SizeMix, Skew, StreamName, Target, TimeSpan};
use model::tier::Tier;

type Row = Setting<TimeSpan>;

/// `Linux` in a timespan: settings that `DiskSpd` does not have.
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
            group: Group::Caching,
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
            group: Group::Caching,
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
            group: Group::Caching,
            value: "",
            short: "poll the device for io_uring completions (IOPOLL)",
            long: "Needs -Su or -Sh and a device with poll queues, such as NVMe with nvme.poll_queues set.",
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
            group: Group::Caching,
            value: "",
            short: "drop the targets' cached pages before the warm-up",
            long: "Dirty pages are written back first. The first reads then come from the device, not from memory.",
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
            group: Group::Affinity,
            value: "",
            short: "run threads on the NUMA node that their targets' disks are attached to",
            long: "In the order of -a. Where the kernel reports no node, the option has no effect and a note says so.",
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
            group: Group::Caching,
            value: "",
            short: "let I/O update the access times of files, as applications do",
            long: "By default, files that belong to this user are opened with O_NOATIME (with CAP_FOWNER, all files), \
                   so that reads do not update access times and cost less. With this option, each read may update the \
                   access time, depending on the mount options (relatime, strictatime), and the file system may write \
                   the new time to the device.",
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
            group: Group::Timing,
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
            group: Group::Timing,
            value: "=<size>[KMGT]",
            short: "end the timespan when this many bytes have been transferred in the measurement; never exceeded",
            long: "Counts reads and writes of all threads together, without the warm-up. -d still ends the timespan if \
                   it expires first.",
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
            group: Group::Timing,
            value: "=<size>[KMGT]",
            short: "end the timespan when this many bytes have been written; never exceeded",
            long: "Limits wear on the device. Counts writes of all threads together, including warm-up and cool-down, \
                   but not those that create a file (-c). -d still ends the timespan if it expires first.",
            kernel: "no write is started that would exceed the limit; writes during warm-up and cool-down count too",
            seen_in: "strace: number of calls; bytes written in `/proc/PID/io`",
            example: "--max-write=50G",
        },
    ),
    Row::own(
        "Rate",
        "rate_iops",
        Codec::Text(TextField {
            get: |span: &TimeSpan| span.rate_iops.map(|rate| rate.to_string()),
            set: |span, text| OfferedRate::parse(text).map(|rate| span.rate_iops = Some(rate)),
        }),
        "--rate",
        &OwnOption {
            group: Group::Rate,
            value: "=<rate>[..<rate>]",
            short: "open loop: start I/Os at this rate over all threads, whether or not earlier ones have completed",
            long: "An I/O that cannot start on time starts as soon as it can. Two latencies are reported: service time \
                   from start to completion, in DiskSpd's columns, and response time from the intended start to \
                   completion, in a separate table. -o is the maximum number of outstanding I/Os per thread; if this \
                   limit delays starts, the result says so. With two rates, as in 1000..50000, the rate changes \
                   linearly from the first to the second over the measured time. A size and /s, as in 100M/s, is a \
                   rate in bytes per second for all threads and targets together; all I/Os must then have one size. \
                   Cannot be used with -g, -i, -j or -O.",
            kernel: "starts I/Os on a fixed schedule, whether or not earlier ones have completed",
            seen_in: "the report: intended starts, response times",
            example: "--rate=5000",
        },
    )
    .examples(&["5000", "1", "4294967295", "1000..50000", "50..1"]),
    Row::own(
        "RateProcess",
        "rate_process",
        Codec::Text(TextField {
            get: |span: &TimeSpan| span.rate_process.map(|process| process.to_string()),
            set: |span, text| RateProcess::parse(text).map(|process| span.rate_process = Some(process)),
        }),
        "--rate-process",
        &OwnOption {
            group: Group::Rate,
            value: "=<constant|poisson|bursts:<on>,<off>,<factor>>",
            short: "spacing of the I/Os of --rate: even (constant, the default), random and independent (poisson) or bursts",
            long: "constant: the intended starts of all threads together are evenly spaced. poisson: the gaps between \
                   the starts of a thread are exponential, as with independent clients; the same seed (-z) gives the \
                   same gaps. bursts:100ms,900ms,5: for 100 ms the rate is 5 times that of --rate, then for 900 ms as \
                   much lower as keeps the mean, and so on; a burst begins with the measurement. The factor is at most \
                   (on + off) / on, at which nothing is started between bursts. Durations are in us, ms or s. bursts \
                   cannot be used with a rate that changes (1000..50000).",
            kernel: "spacing of the I/O starts of --rate",
            seen_in: "the report: the same seed gives the same intended starts",
            example: "--rate-process=poisson",
        },
    )
    .examples(&["constant", "poisson", "bursts:100ms,900ms,5", "bursts:1s,50us,1.000001"]),
    Row::own(
        "FlushAfterWrites",
        "flush_after_writes",
        number!(flush_after_writes, 1..=u32::MAX as u64),
        "--fdatasync-every",
        &OwnOption {
            group: Group::Durability,
            value: "=<writes>",
            short: "call fdatasync each time a thread has made this many writes, and time the calls",
            long: "As with a database's group commit, the thread then starts no further write, waits for its \
                   outstanding I/Os, calls fdatasync on the targets that it writes to, and continues. Reads go on \
                   until the last of these writes has completed. A thread has at most this many writes outstanding, \
                   whatever -o is. Discards and write-zeroes count as writes here. -Suw is the other way to write \
                   durably: each write is durable when it completes.",
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
            group: Group::Durability,
            value: "=<writes>",
            short: "like --fdatasync-every, but with fsync, which also makes all metadata of the file durable",
            long: "These are timestamps and other metadata that reading the data does not need, mostly written through \
                   the journal of the file system, so that it often takes longer than fdatasync. Cannot be used with \
                   --fdatasync-every.",
            kernel: "`fsync` after every N writes of a thread",
            seen_in: "strace: `fsync`; the report",
            example: "--fsync-every=32",
        },
    ),
    Row::own(
        "Verify",
        "verify",
        flag!(verify),
        "--verify",
        &OwnOption {
            group: Group::Durability,
            value: "",
            short: "experimental: compare what is read with what this run wrote, and classify what differs",
            long: "Each unit of 512 to 4096 bytes that is written contains its place, a number of the write and a \
                   checksum, and a map in memory keeps what each unit must hold (2 bytes per unit; --plan shows the \
                   size). Units that this run did not write, or that changed during the read, are not checkable. \
                   Writes to the same units wait for each other. Corrupt units make the result INVALID and the exit \
                   status 5. Making and checking data is in no latency, but takes CPU time. All sizes, offsets and \
                   alignments must be multiples of 512. Cannot be used with -Z, -Zr, --dedupe or --engine=null.",
            kernel: "content of writes",
            seen_in: "bytes on the target; the report: units checked, corrupt units",
            example: "--verify",
        },
    ),
    Row::own(
        "VerifyStop",
        "verify_stop",
        number!(verify_stop, 1..=u64::MAX),
        "--verify-stop",
        &OwnOption {
            group: Group::Durability,
            value: "=<n>",
            short: "end the run after this many corrupt units (--verify)",
            long: "By default, a run with corrupt units goes on to its end. The first 100 corrupt units are reported one \
                   by one in any case.",
            kernel: "no further I/O after the units that are corrupt",
            seen_in: "the report: end of the run",
            example: "--verify-stop=1",
        },
    ),
];

/// `Linux` in a target: settings that `DiskSpd` does not have.
pub static LINUX_IN_TARGET: &[Setting<Target>] = &[
    Setting::new(
        "Stream",
        "stream",
        Codec::Text(TextField {
            get: |target: &Target| target.stream.as_ref().map(ToString::to_string),
            set: |target, text| StreamName::parse(text).map(|name| target.stream = Some(name)),
        }),
    )
    .emit(EmitCondition::IfSet)
    .option("--stream")
    .doc("Name of the stream that the target belongs to (--stream): 1 to 32 of A-Z, a-z, 0-9, '.', '_' and '-'.")
    .examples(&["oltp", "a.b_c-1"])
    .no_load(),
    Setting::<Target>::own(
        "ExpectTier",
        "expected_tier",
        words!(expected_tier;
            "nvme" / "nvme" => Some(Tier::Nvme),
            "ssd" / "ssd" => Some(Tier::Ssd),
            "hdd" / "hdd" => Some(Tier::Hdd),
        ),
        "--expect-tier",
        &OwnOption {
            group: Group::Acceptance,
            value: "=<nvme|ssd|hdd>",
            short: "warn if targets are not wholly on such media; with --strict refuse to run",
            long: "ssd is any flash, NVMe included. If any byte is on other media, the verdict has the WARN finding \
                   wrong-tier with the bytes on each; with --strict the run is refused with status 3 before it starts. \
                   Where the media are unknown, as below virtual machines, arrays, caches or without root, the finding \
                   is the NOTE unknown-tier, and nothing is refused.",
            kernel: "`FS_IOC_FIEMAP`; tables of the device mapper",
            seen_in: "the verdict; exit status 3 with --strict",
            example: "--expect-tier=nvme",
        },
    )
    .no_load(),
    Setting::own(
        "Sizes",
        "sizes",
        Codec::Text(TextField {
            get: |target: &Target| target.sizes.as_ref().map(ToString::to_string),
            set: |target, text| SizeMix::parse(text).map(|sizes| target.sizes = Some(sizes)),
        }),
        "--sizes",
        &OwnOption {
            group: Group::Access,
            value: "=<size>/<percent>:...",
            short: "sizes of I/Os and their percentages, as in 4K/60:8K/30:64K/10",
            long: "Up to 16 sizes, whose percentages add up to 100; -b then only sets the size of the unit b. The size \
                   is drawn before the offset: random offsets are multiples of -r<align> or, without it, of the drawn \
                   size; sequential I/Os follow each other without gaps. -g in bytes counts each I/O with its own \
                   size. Results have figures for each size. Cannot be used with -s<stride>, -p, -T or -rdabs.",
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
            group: Group::Access,
            value: "=<size>/<percent>:...",
            short: "sizes of reads, in place of --sizes or -b",
            long: "Other I/Os have the sizes of --write-sizes or --sizes, or else the block size (-b).",
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
            group: Group::Access,
            value: "=<size>/<percent>:...",
            short: "sizes of writes, in place of --sizes or -b",
            long: "Other I/Os have the sizes of --read-sizes or --sizes, or else the block size (-b).",
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
            group: Group::Access,
            value: "=<percent>",
            short: "percentage of all I/Os that discard (trim) their range",
            long: "Files: the range becomes a hole and reads as zeros. Block devices: the device may drop the data, \
                   and decides which data a read of the range then returns. -w is the percentage of writes among the \
                   other I/Os. Discards are counted and timed separately from reads and writes. Needs the same \
                   permissions as writing (--overwrite, --destroy), and io_uring (block devices: Linux 6.12 or later) \
                   or --engine=sync.",
            kernel: "files: `fallocate(FALLOC_FL_PUNCH_HOLE)`; block devices: `BLOCK_URING_CMD_DISCARD` of io_uring, \
                     `ioctl(BLKDISCARD)` of --engine=sync",
            seen_in: "holes in the file; strace: `fallocate`, `ioctl`; discards of the device (`iostat -x`: d/s)",
            example: "--discard=10",
        },
    ),
    Setting::own(
        "WriteZeroes",
        "write_zeroes_percent",
        number!(write_zeroes_percent, 0..=100),
        "--write-zeroes",
        &OwnOption {
            group: Group::Access,
            value: "=<percent>",
            short: "percentage of all I/Os that zero their range without transferring data",
            long: "The range stays allocated. If the device has no command for it, the kernel writes zeros. As with \
                   --discard, -w applies to the other I/Os, the same permissions and engines are needed, and these \
                   I/Os are counted and timed separately.",
            kernel: "`fallocate(FALLOC_FL_ZERO_RANGE)`",
            seen_in: "zeros in the file; strace: `fallocate`",
            example: "--write-zeroes=5",
        },
    ),
    Setting::own(
        "DontCache",
        "dont_cache",
        flag!(dont_cache),
        "--dontcache",
        &OwnOption {
            group: Group::Caching,
            value: "",
            short: "buffered I/O that leaves nothing in the page cache (RWF_DONTCACHE)",
            long: "Reads and writes go through the page cache and need no alignment, but their pages are dropped when \
                   the I/O is complete: after a read, and after the kernel has written the data, which it begins at \
                   once. Pages that were cached before stay. Needs Linux 6.14 or later and a file system that supports \
                   it. Cannot be used with -Su, -Sh, -Sr or -Sm.",
            kernel: "`RWF_DONTCACHE` on each read and write",
            seen_in: "strace: flags of `preadv2`, `pwritev2`; cached pages of the file (`fincore`)",
            example: "--dontcache",
        },
    ),
    Setting::own(
        "AtomicWrites",
        "atomic_writes",
        flag!(atomic_writes),
        "--atomic",
        &OwnOption {
            group: Group::Durability,
            value: "",
            short: "atomic writes: after a power failure, each is there as a whole or not at all (RWF_ATOMIC)",
            long: "The block size (-b) must be a power of two that the target supports, and offsets must be multiples \
                   of it; others are refused before the run, with the sizes that the target supports. Needs -Su or \
                   -Sh, a device with atomic writes, and Linux 6.11 or later (files on ext4 and xfs: 6.13). Writes \
                   become durable as without the option: add -Sw or --fdatasync-every=<writes>. Cannot be used with \
                   --sizes, --read-sizes or --write-sizes.",
            kernel: "`RWF_ATOMIC` on each write; io_uring makes these writes from buffers that are not registered",
            seen_in: "strace: flags of `pwritev2`; an error of the kernel where it has no atomic writes",
            example: "--atomic",
        },
    ),
    Setting::own(
        "Compress",
        "compress_ratio_millionths",
        Codec::Text(TextField {
            get: |target: &Target| target.compress_ratio.map(|ratio| ratio.to_string()),
            set: |target, text| Reduction::parse_ratio(text).map(|ratio| target.compress_ratio = Some(ratio)),
        }),
        "--compress",
        &OwnOption {
            group: Group::WriteBuffers,
            value: "=<ratio>",
            short: "write data that compresses by this ratio, as in --compress=2.5",
            long: "Each block of 4 KiB is random bytes, as many as remain after compression, then zeros. zstd, LZ4 and \
                   gzip compress it by this ratio within 5 % (1 to 15, with --verify 1 to 4; 1 is incompressible). \
                   From 4 on, writes must be multiples of 4 KiB, from 2 on of 512 bytes. Files that are created (-c) \
                   have the same content. The data is generated before the I/O is timed. The report gives the ratio of \
                   a sample of what was written. Cannot be used with -Z, -Z<size> or -Zr.",
            kernel: "bytes of writes",
            seen_in: "the file, compressed; the report",
            example: "--compress=2.5",
        },
    )
    .examples(&["2.5", "1", "15", "1.000001"]),
    Setting::own(
        "Dedupe",
        "dedupe_percent",
        number!(dedupe_percent, 0..=100),
        "--dedupe",
        &OwnOption {
            group: Group::WriteBuffers,
            value: "=<percent>",
            short: "percentage of written 4 KiB blocks that repeat one of 256 blocks",
            long: "The repeated blocks are the same for all threads, targets and runs, and in files that are created \
                   (-c); all others are unique. Without --compress, the data is incompressible. Sizes and offsets of \
                   writes must be multiples of 4 KiB. The report gives the percentage of equal blocks in a sample of \
                   what was written. Cannot be used with -Z, -Z<size> or -Zr.",
            kernel: "bytes of writes",
            seen_in: "equal blocks of the file; the report",
            example: "--dedupe=30",
        },
    ),
    Setting::own(
        "Skew",
        "skew",
        Codec::Text(TextField {
            get: |target: &Target| target.skew.map(|skew| skew.to_string()),
            set: |target: &mut Target, text| Skew::parse(text).map(|skew| target.skew = Some(skew)),
        }),
        "--skew",
        &OwnOption {
            group: Group::Access,
            value: "=<zipf|pareto>:<parameter>[,contiguous]",
            short: "send most random I/Os to a few hot positions, with a Zipf or Pareto distribution",
            long: "zipf:<s>: the k-th hottest position is hit in proportion to 1/k^s, with s above 0 and up to 4. \
                   pareto:<h>: the hottest fraction h of the positions receives 1-h of the I/Os, and so on within this \
                   fraction, with h above 0 and below 0.5: pareto:0.2 is the 80/20 rule. The hot positions are \
                   scattered over the target, in the same places for every thread and every run with the same seed \
                   (-z); with ,contiguous they follow each other from the base offset, the hottest first. The report \
                   gives the percentage of the I/Os on the hottest 1, 10 and 20 % of the positions, expected and \
                   actual. Needs -r or -rs. Cannot be used with -rd or --sizes.",
            kernel: "offsets drawn from the distribution",
            seen_in: "strace: offsets of `pread64`; the report",
            example: "--skew=zipf:1.1",
        },
    )
    .examples(&["zipf:1.1", "pareto:0.2,contiguous", "zipf:0.000001"]),
    Setting::own(
        "Append",
        "append",
        Codec::Text(TextField {
            get: |target: &Target| target.append.map(|append| append.to_string()),
            set: |target: &mut Target, text| {
                target.append = Some(Append::parse(text)?);
                // No other meaning is possible.
                if target.write_percent == 0 {
                    target.write_percent = 100;
                }
                Ok(())
            },
        }),
        "--append",
        &OwnOption {
            group: Group::Access,
            value: "[=<size>[KMGT][,preallocate|,recycle][,single]]",
            short: "write at the end of a file per thread, like a write-ahead log [default size: 1G]",
            long: "With the target log.dat, the threads write log.dat.0, log.dat.1 and so on; with ,single one thread \
                   writes the target itself. All I/Os are writes of -b bytes, or of --write-sizes or --sizes, and each \
                   begins where the one before it ends. A file that has reached the size is rotated: the thread waits \
                   for its outstanding I/Os, truncates the file and begins again at its start. With ,preallocate, \
                   blocks for the whole size are reserved each time, so that writes do not make the file grow. With \
                   ,recycle, the file is written once before the run and then overwritten again and again, as \
                   PostgreSQL does. Rotations are timed separately, and are in no latency. Files that exist and were \
                   not created by diskspd are refused unless --overwrite is given. Add --fdatasync-every=<writes> or \
                   -Sw to make writes durable. Cannot be used with -r, -s, -si, -p, -T, -B, -f, -c, -F, -Sm, \
                   --discard, --write-zeroes or reads.",
            kernel: "writes at consecutive offsets; `ftruncate` and `fallocate` when a file is full",
            seen_in: "strace: offsets of `pwrite64`, `ftruncate`, `fallocate`; lengths of files; the report",
            example: "--append=64M,preallocate",
        },
    )
    .examples(&["1G", "64M,preallocate", "16M,recycle", "4097,single"]),
];
