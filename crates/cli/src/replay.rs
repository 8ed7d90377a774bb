//! The run that replays a trace: the load is the trace's, the rest is from the command line.

use crate::command_line::run_of;
use crate::request::{Environment, RunRequest};
use crate::subcommand::trace::ReplayRequest;
use model::profile::{EndAfter, Target, Throughput, TimeSpan};
use model::replay::{PIECE_BYTES_MAX, Replay};
use model::units::Bytes;

/// Requests outstanding at most, if `-o` is not given and buffers of this number are small.
const DEPTH_MAX: u64 = 128;
/// The same if they are large.
const DEPTH_MIN: u64 = 8;
/// Memory for buffers of reads, and of writes, that the default depth may take.
const BUFFERS_BYTES_MAX: u64 = 256 << 20;

/// Sizes of buffers are multiples of this.
const BUFFER_STEP_BYTES: u64 = 4096;

/// The longest time that a replay takes, in seconds, if `-d` is not given: a quarter longer than its trace. A closed one,
/// whose time depends on the target, has ten times the time of its trace, and a millisecond for each request.
fn duration_s(replay: &Replay) -> u64 {
    let trace_s = replay.recorded.span_ns.div_ceil(1_000_000_000).max(1);
    let requests_s = replay.recorded.count() / 1000;
    let most_s = if replay.closed { trace_s.saturating_mul(10) + requests_s + 60 } else { trace_s + trace_s / 4 + 10 };
    most_s.min(u64::from(u32::MAX))
}

/// The run of a replay.
///
/// # Errors
///
/// The fault in the options or the target.
pub fn replay_request(
    request: &ReplayRequest,
    replay: Replay,
    environment: &dyn Environment,
) -> Result<RunRequest, String> {
    let piece_bytes = replay.recorded.largest_bytes.clamp(1, PIECE_BYTES_MAX).next_multiple_of(BUFFER_STEP_BYTES);
    let depth = (BUFFERS_BYTES_MAX / piece_bytes).clamp(DEPTH_MIN, DEPTH_MAX);
    let own = ["-L".to_owned(), "-W0".to_owned(), format!("-d{}", duration_s(&replay)), format!("-o{depth}")];
    let words: Vec<&String> = own.iter().chain(&request.words).collect();
    let mut run = run_of(&words, environment)?;
    let [span] = &mut run.profile.time_spans[..] else { return Err("a replay is one timespan".to_owned()) };
    check_span(span)?;
    if run.options.fleet.is_some() {
        return Err("--on cannot be used with trace replay: a trace is replayed on one host".to_owned());
    }
    let [target] = &mut span.targets[..] else {
        return Err(format!("a trace is replayed on one target; {} are given", span.targets.len()));
    };
    check_target(target)?;
    if let Some(threads) = request.threads {
        target.threads = threads.get();
    }
    set_load(target, &replay, piece_bytes);
    span.replay = Some(replay);
    Ok(run)
}

/// Gives the target the operations of the trace, by which it is guarded and opened.
fn set_load(target: &mut Target, replay: &Replay, piece_bytes: u64) {
    let load = &replay.recorded;
    let (reads, writes) = (load.read.count, load.write.count);
    let discards = if replay.discards { load.discard.count } else { 0 };
    let zeroes = load.write_zeroes.count;
    let all = reads + writes + discards + zeroes;
    // Shares are whole percents; those that occur have at least one.
    let percent = |part: u64, all: u64, most: u64| {
        let percent = (u128::from(part) * 100 / u128::from(all.max(1))) as u64;
        if part == 0 { 0 } else { percent.clamp(1, most) as u32 }
    };
    let left_for_others = if all > zeroes + discards { 49 } else { 50 };
    target.block_size = Bytes(piece_bytes);
    target.random_percent = 100;
    target.write_percent = percent(writes, reads + writes, if reads > 0 { 99 } else { 100 });
    let without_data = |part: u64, other: u64| {
        let most = if all == part {
            100
        } else if other > 0 {
            left_for_others
        } else {
            99
        };
        Some(percent(part, all, most)).filter(|&percent| percent > 0)
    };
    target.discard_percent = without_data(discards, zeroes);
    target.write_zeroes_percent = without_data(zeroes, discards);
    if all == discards + zeroes
        && let (Some(discard), Some(zeroes)) = (target.discard_percent, &mut target.write_zeroes_percent)
    {
        *zeroes = 100 - discard;
    }
}

/// Refuses options that decide what the trace decides.
fn check_span(span: &TimeSpan) -> Result<(), String> {
    let options = [
        ("-F", span.thread_count > 0),
        ("-O", span.request_count > 0),
        ("-u", span.io_ring.is_some()),
        ("-W", span.warm_up_s > 0),
        ("-C", span.cool_down_s > 0),
        ("--rate", span.rate_iops.is_some()),
        ("--rate-process", span.rate_process.is_some()),
        ("--max-ios, --max-bytes and --max-write", span.end_after != EndAfter::default()),
        ("--fdatasync-every", span.flush_after_writes.is_some()),
        ("--fsync-every", span.fsync_after_writes.is_some()),
        ("--verify", span.verify),
    ];
    refuse(&options)
}

fn check_target(target: &Target) -> Result<(), String> {
    let default = Target::new("");
    let options = [
        ("--stream", target.stream.is_some()),
        ("-b", target.block_size != default.block_size),
        ("-r", target.random_percent > 0),
        ("-s", target.alignment.is_some() || target.interlocked),
        ("-p", target.parallel),
        ("-rd", target.distribution.is_some()),
        ("-T", target.thread_stride.get() > 0),
        ("-w", target.write_percent > 0),
        ("--skew", target.skew.is_some()),
        ("--sizes", target.sizes_option().is_some()),
        ("--discard (--discards issues those of the trace)", target.discard_percent.is_some()),
        ("--write-zeroes", target.write_zeroes_percent.is_some()),
        ("--append", target.append.is_some()),
        ("-i and -j", target.burst_ios.is_some() || target.think_time_ms.is_some()),
        ("-g", target.throughput != Throughput::Unlimited),
        ("--atomic", target.atomic_writes),
        ("-Sm", target.memory_mapped),
    ];
    refuse(&options)
}

fn refuse(options: &[(&str, bool)]) -> Result<(), String> {
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(format!("{option} cannot be used with trace replay: the trace decides when, where and how I/O is done"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::FakeEnv;
    use model::replay::{RecordedLoad, RecordedRequests};

    fn request(words: &[&str]) -> ReplayRequest {
        ReplayRequest {
            trace: "t.iotrace".into(),
            closed: false,
            threads: None,
            scale_offsets: false,
            discards: false,
            words: words.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    fn replay(reads: u64, writes: u64, discards: u64) -> Replay {
        let requests = |count| RecordedRequests { count, ..RecordedRequests::default() };
        let recorded = RecordedLoad {
            span_ns: 20_000_000_001,
            largest_bytes: 5000,
            read: requests(reads),
            write: requests(writes),
            discard: requests(discards),
            ..RecordedLoad::default()
        };
        Replay { discards: true, recorded, ..Replay::default() }
    }

    #[test]
    fn the_target_has_the_operations_of_the_trace_and_the_options_of_the_user() {
        let parse = |words: &[&str], replay| replay_request(&request(words), replay, &FakeEnv).expect("a run");
        let run = parse(&["-Sh", "-o7", "-t3", "a.dat"], replay(1, 10_000, 0));
        let span = &run.profile.time_spans[0];
        let target = &span.targets[0];
        assert_eq!((span.duration_s, span.warm_up_s, span.measure_latency), (36, 0, true));
        assert_eq!((target.block_size, target.outstanding, target.threads), (Bytes(8192), 7, 3));
        assert_eq!((target.write_percent, target.discard_percent), (99, None));
        assert!(target.write_through && span.replay.is_some());
        let shares = |replay| parse(&["a.dat"], replay).profile.time_spans[0].targets[0].shares();
        assert_eq!((shares(replay(5, 0, 0)).write_percent, shares(replay(0, 5, 0)).write_percent), (0, 100));
        let few = shares(replay(1, 0, 1_000_000));
        assert_eq!((few.discard_percent, few.transfer_percent()), (99, 1));
        assert_eq!(shares(replay(0, 0, 3)).discard_percent, 100);
    }

    #[test]
    fn options_that_the_trace_decides_are_refused() {
        for (words, expected) in [
            (&["-b4K", "a.dat"][..], "-b cannot be used with trace replay"),
            (&["-w30", "a.dat"], "-w cannot be used with trace replay"),
            (&["-W5", "a.dat"], "-W cannot be used with trace replay"),
            (&["--rate=5", "a.dat"], "--rate cannot be used with trace replay"),
            (&["a.dat", "b.dat"], "a trace is replayed on one target; 2 are given"),
        ] {
            let refused = replay_request(&request(words), replay(1, 1, 0), &FakeEnv).expect_err("refused");
            assert!(refused.starts_with(expected), "{refused}");
        }
    }
}
