//! Duration and rate of a fio job.

use super::access::Access;
use super::files::Files;
use super::job::{Job, Level};
use model::units::short_size;
use settings::fio::{count, number, of_directions, seconds, size, time_us};

/// Duration and rate of a job.
#[derive(Default)]
pub(super) struct Timing {
    pub(super) runtime_s: Option<u32>,
    pub(super) ramp_s: u32,
    /// Delay from the start of fio to that of the job.
    pub(super) delay_us: u64,
    /// Bytes of all copies that end the job.
    pub(super) bytes: Option<u64>,
    /// I/Os of all copies that end it.
    pub(super) ios: Option<u64>,
    /// I/Os per second of all copies, in an open loop.
    pub(super) open_iops: Option<u64>,
    /// `--require` for jobs that fio would stop below a rate.
    pub(super) requirements: Vec<String>,
    /// The search that the job requests: options of `diskspd sweep`.
    pub(super) search: Option<String>,
    /// Options of the target.
    pub(super) words: Vec<String>,
}

/// Reads the duration and rate of a job.
pub(super) fn timing(job: &mut Job<'_>, access: &Access, files: &Files) -> Timing {
    let mut timing = Timing::default();
    end(job, files, &mut timing);
    rates(job, access, files, &mut timing);
    pauses(job, files, &mut timing);
    search(job, &mut timing);
    timing
}

fn end(job: &mut Job<'_>, files: &Files, timing: &mut Timing) {
    let units = job.kb_base;
    let copies = u64::from(files.copies);
    timing.runtime_s = job.read("runtime", None, |text| seconds(text).map(|s| Some(s).filter(|s| *s > 0)));
    timing.ramp_s = job.read("ramp_time", 0, seconds);
    timing.delay_us = job.read("startdelay", 0, |text| time_us(text, 1_000_000));
    job.say(Level::Approximate, "startdelay", "all jobs of a timespan start without a delay");
    let is_time_based = job.is_on("time_based", false);
    let passes = job.read("loops", 1, number).max(1);
    let given = job.read("io_size", None, |text| size(text, units).map(|bytes| Some(bytes).filter(|bytes| *bytes > 0)));
    let each = given.or(files.pass_bytes);
    if !is_time_based {
        timing.bytes = each.map(|bytes| bytes.saturating_mul(passes).saturating_mul(copies));
    }
    timing.ios = job.read("number_ios", None, |text| {
        number(text).map(|ios| Some(ios.saturating_mul(copies)).filter(|ios| *ios > 0))
    });
    if let Some(runtime_s) = timing.runtime_s {
        job.say(Level::Exact, "runtime", format!("-d{runtime_s}"));
    }
    job.say(Level::Exact, "ramp_time", format!("-W{}", timing.ramp_s));
    if let Some(ios) = timing.ios {
        job.say(Level::Exact, "number_ios", format!("--max-ios={ios}"));
    }
    let says = timing
        .bytes
        .map_or_else(|| "the time ends the run".to_owned(), |bytes| format!("--max-bytes={}", short_size(bytes)));
    for name in ["io_size", "loops"] {
        job.say(if timing.bytes.is_some() { Level::Exact } else { Level::WithoutEffect }, name, says.clone());
    }
    match timing.runtime_s {
        None if is_time_based => job.say(Level::Refused, "time_based", "it needs runtime"),
        _ => job.say(Level::Exact, "time_based", "the time alone ends the run"),
    }
    if timing.bytes.is_some() && given.is_none() && passes == 1 {
        job.say_default(Level::Exact, "time_based=0", format!("{says}: one pass ends the run"));
    }
    if timing.bytes.is_none() && timing.ios.is_none() && !is_time_based {
        match timing.runtime_s {
            Some(_) => job.say_default(Level::Approximate, "time_based=0", "the run does not end after one pass"),
            None => job.say_default(Level::Refused, "time_based=0", "one pass of unknown size: give size or runtime"),
        }
    }
}

/// Translates the rate of one copy, to `-g` or an open loop.
fn rates(job: &mut Job<'_>, access: &Access, files: &Files, timing: &mut Timing) {
    let units = job.kb_base;
    let bytes = job.read("rate", [0; 3], |text| of_directions(text, &0, |part| size(part, units)));
    let ios = job.read("rate_iops", [0; 3], |text| of_directions(text, &0, number));
    let is_poisson = job.read("rate_process", false, |text| match text {
        "linear" => Ok(false),
        "poisson" => Ok(true),
        _ => Err("linear and poisson have a counterpart".to_owned()),
    });
    for (name, each) in [("rate", bytes), ("rate_iops", ios)] {
        if !job.has(name) {
            continue;
        }
        let outcome = match of_all(each, access) {
            Ok(0) => Ok("no limit".to_owned()),
            Ok(_) if files.is_pool => Err("a rate has no counterpart with several files".to_owned()),
            Ok(rate) if name == "rate_iops" && is_poisson => {
                let all = rate.saturating_mul(u64::from(files.copies));
                timing.open_iops = Some(all);
                Ok(format!("--rate={all} --rate-process=poisson"))
            }
            Ok(_) if is_poisson => Err("rate_process=poisson needs rate_iops here".to_owned()),
            Ok(rate) if name == "rate_iops" => Ok(format!("-g{rate}i")),
            Ok(rate) => throughput(rate, access),
            Err(reason) => Err(reason),
        };
        match outcome {
            Err(reason) => job.say(Level::Refused, name, reason),
            Ok(word) => {
                if word.starts_with("-g") {
                    timing.words.push(word.clone());
                }
                job.say(Level::Exact, name, word);
            }
        }
    }
    job.say(Level::Exact, "rate_process", if is_poisson { "--rate-process=poisson" } else { "I/Os at even distances" });
    let least = job.read("rate_iops_min", [0; 3], |text| of_directions(text, &0, number));
    let least_bytes = job.read("rate_min", [0; 3], |text| of_directions(text, &0, |part| size(part, units)));
    for (name, each, metric, unit) in
        [("rate_iops_min", least, "iops", 1.0), ("rate_min", least_bytes, "mib", f64::from(1 << 20))]
    {
        if let (true, Ok(all)) = (job.has(name), of_all(each, access)) {
            let bound = (all as f64) * f64::from(files.copies) / unit;
            timing.requirements.push(format!("{metric}>={}", (bound * 1000.0).round() / 1000.0));
            let says = format!("--require '{metric}>={bound:.3}': judged at the end");
            job.say(Level::Approximate, name, says);
        } else {
            job.say(Level::Refused, name, "the rates of reads and writes are not in the ratio of the mix");
        }
    }
}

/// The rate of reads and writes together; those of a mix must be in its ratio.
fn of_all(each: [u64; 3], access: &Access) -> Result<u64, String> {
    let [reads, writes, discards] = each;
    if !access.is_mixed() {
        return Ok(if access.reads {
            reads
        } else if access.writes {
            writes
        } else {
            discards
        });
    }
    if (reads, writes) == (0, 0) {
        return Ok(0);
    }
    let share = u64::from(access.read_percent);
    if reads.saturating_mul(100 - share) == writes.saturating_mul(share) {
        Ok(reads + writes)
    } else {
        Err("fio limits reads and writes apart; here one rate holds for the mix".to_owned())
    }
}

/// Bytes per second as I/Os per second or bytes per millisecond.
fn throughput(rate: u64, access: &Access) -> Result<String, String> {
    if let Some(block) = access.block_bytes.filter(|block| rate.is_multiple_of(*block)) {
        return Ok(format!("-g{}i", rate / block));
    }
    let per_ms = (rate + 500) / 1000;
    let error = (per_ms * 1000).abs_diff(rate);
    if error * 1000 > rate {
        return Err("rates here are whole bytes per millisecond or whole I/Os per second".to_owned());
    }
    Ok(format!("-g{per_ms}"))
}

fn pauses(job: &mut Job<'_>, files: &Files, timing: &mut Timing) {
    let pause_us = job.read("thinktime", 0, |text| time_us(text, 1));
    let blocks = job.read("thinktime_blocks", 1, count).max(1);
    if pause_us == 0 {
        job.say(Level::Exact, "thinktime", "no pauses");
        return;
    }
    if !pause_us.is_multiple_of(1000) || files.is_pool || timing.open_iops.is_some() {
        let why = match () {
            () if files.is_pool => "pauses have no counterpart with several files",
            () if timing.open_iops.is_some() => "an open loop has no pauses",
            () => "pauses here are whole milliseconds",
        };
        job.say(Level::Refused, "thinktime", why);
        return;
    }
    // -i counts the I/Os of all threads on a target.
    let threads = files.parts.first().map_or(1, |part| part.threads);
    let words = [format!("-i{}", u64::from(blocks) * u64::from(threads)), format!("-j{}", pause_us / 1000)];
    let differs = format!("{}: a pause begins when the last I/O is issued, not when it completes", words[1]);
    job.say(Level::Approximate, "thinktime", differs);
    job.say(Level::Exact, "thinktime_blocks", words[0].clone());
    timing.words.extend(words);
}

/// Translates fio's search for a queue depth.
fn search(job: &mut Job<'_>, timing: &mut Timing) {
    let target_us = job.read("latency_target", 0, |text| time_us(text, 1));
    let rank = job.read("latency_percentile", 100.0, |text| {
        let rank = text.trim().parse::<f64>().ok().filter(|rank| (0.0..=100.0).contains(rank));
        rank.ok_or_else(|| format!("'{text}' is not a percentile"))
    });
    if target_us > 0 {
        let rank = if rank < 100.0 { format!("p{rank}") } else { "max".to_owned() };
        let search = format!("--limit {rank}={target_us}us");
        let says = "a search, no run: use the sweep below, which finds a rate where fio finds a depth";
        job.say(Level::Refused, "latency_target", says);
        job.say(Level::Exact, "latency_percentile", search.clone());
        timing.search = Some(search);
    }
    let most_us = job.read("max_latency", [0; 3], |text| of_directions(text, &0, |part| time_us(part, 1)));
    let most_us = most_us.into_iter().filter(|us| *us > 0).min();
    if let Some(us) = most_us {
        timing.requirements.push(format!("max<={us}us"));
        job.say(Level::Approximate, "max_latency", format!("--require 'max<={us}us': judged at the end"));
    }
}
