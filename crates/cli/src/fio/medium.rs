//! I/O path of a fio job to its target: engine, depth, caches, flushes, buffers and CPUs.

use super::access::Access;
use super::files::Files;
use super::job::{Job, Level};
use model::engine_kind::EngineKind;
use model::profile::FlushCall;
use settings::fio::{count, percent};

/// The I/O method.
#[derive(Default)]
pub(super) struct Medium {
    /// The value of `--engine`; `None` = it follows from other arguments.
    pub(super) engine: Option<&'static str>,
    /// `-o`
    pub(super) depth: u32,
    /// Number of a thread's writes between its flushes, and the call.
    pub(super) flush: Option<(u32, FlushCall)>,
    /// Options of the whole timespan.
    pub(super) span_words: Vec<String>,
    /// Options of the target.
    pub(super) words: Vec<String>,
}

/// Reads the I/O path of a job.
pub(super) fn medium(job: &mut Job<'_>, access: &Access, files: &Files) -> Medium {
    let mut medium = Medium { depth: 1, ..Medium::default() };
    engine(job, files, &mut medium);
    caches(job, access, &mut medium);
    flushes(job, access, &mut medium);
    if access.writes {
        buffers(job, access, &mut medium);
    }
    if job.text("mem").is_some_and(|kind| kind.contains("cuda") || kind.contains("hip")) {
        job.say(Level::Refused, "mem", "memory of a GPU has no counterpart");
    }
    if job.text("mem").is_some_and(|kind| kind.contains("huge")) {
        medium.words.push("-l".to_owned());
        job.say(Level::Exact, "mem", "-l");
    }
    job.say(Level::WithoutEffect, "mem", "buffers are locked in memory");
    cpus(job, &mut medium);
    let seed = job.read("randseed", 0, count);
    if seed > 0 {
        medium.span_words.push(format!("-z{seed}"));
        job.say(Level::Approximate, "randseed", format!("-z{seed}: a sequence of its own"));
    }
    medium
}

fn engine(job: &mut Job<'_>, files: &Files, medium: &mut Medium) {
    let name = job.text("ioengine").unwrap_or_else(|| "psync".to_owned());
    let depth = job.read("iodepth", 1, count).max(1);
    let at_once = "one I/O at a time, as with fio";
    let kind = if name == "posixaio" { Some(EngineKind::LinuxAio) } else { settings::fio::engine(&name) };
    let kind = kind.unwrap_or_else(|| {
        job.say(Level::Refused, "ioengine", format!("diskspd has no engine '{name}'"));
        EngineKind::IoUring
    });
    let engine = kind.option();
    // Our synchronous engine has one outstanding I/O.
    let is_deep = !kind.is_one_at_a_time();
    let depth = if is_deep { depth } else { 1 };
    medium.depth = depth;
    medium.engine = Some(engine).filter(|_| kind != EngineKind::MemoryMapped);
    match name.as_str() {
        "mmap" => job.say(Level::Exact, "ioengine", "-Sm"),
        "posixaio" => job.say(Level::Approximate, "ioengine", "--engine=aio: the kernel's, not that of the C library"),
        _ => job.say(Level::Exact, "ioengine", format!("--engine={engine}")),
    }
    if !job.has("ioengine") {
        job.say_default(Level::Exact, "ioengine=psync", "--engine=sync");
    }
    let word = if files.is_pool { format!("-O{depth}") } else { format!("-o{depth}") };
    job.say(Level::Exact, "iodepth", if is_deep { word } else { format!("{word}: {at_once}") });
    match job.read("iodepth_batch_complete_max", 0, count) {
        most @ 1..=16 => {
            medium.span_words.push(format!("-oc{most}"));
            job.say(Level::Exact, "iodepth_batch_complete_max", format!("-oc{most}"));
        }
        _ => job.say(Level::Approximate, "iodepth_batch_complete_max", "at most 16 completions are taken at once"),
    }
    for (name, word) in [("hipri", "--iopoll"), ("sqthread_poll", "--sqpoll")] {
        if job.is_on(name, false) {
            medium.span_words.push(word.to_owned());
        }
        job.say(Level::Exact, name, word);
    }
    job.say(Level::Exact, "fixedbufs", "buffers are registered");
}

fn caches(job: &mut Job<'_>, access: &Access, medium: &mut Medium) {
    let is_direct = job.is_on("direct", false);
    let is_mapped = job.text("ioengine").is_some_and(|name| name == "mmap");
    let is_through = job.read("sync", false, |text| match text {
        "none" | "0" => Ok(false),
        "sync" | "1" | "dsync" => Ok(true),
        _ => Err(format!("'{text}' is none of none, sync and dsync")),
    });
    let word = match (is_mapped, is_direct, is_through) {
        (true, ..) => "-Sm",
        (false, true, true) => "-Suw",
        (false, true, false) => "-Su",
        (false, false, true) => "-Sw",
        (false, false, false) => "-Sb",
    };
    medium.words.push(word.to_owned());
    job.say(Level::Exact, "direct", word);
    let level = if job.text("sync").is_some_and(|kind| matches!(kind.as_str(), "sync" | "1")) {
        // The times of a file are also written through.
        Level::Approximate
    } else {
        Level::Exact
    };
    job.say(
        level,
        "sync",
        if level == Level::Exact { word.to_owned() } else { format!("{word}: O_DSYNC, not O_SYNC") },
    );
    let drops = job.is_on("invalidate", true);
    if drops && access.reads && !is_direct && medium.engine != Some("null") {
        medium.span_words.push("--cold".to_owned());
        job.say_either(Level::Exact, "invalidate", "invalidate=1", "--cold");
    }
    job.say(Level::Exact, "invalidate", "the cache stays as it is");
}

fn flushes(job: &mut Job<'_>, access: &Access, medium: &mut Medium) {
    for (name, call) in [("fsync", FlushCall::Fsync), ("fdatasync", FlushCall::Fdatasync)] {
        let every = job.read(name, 0, count);
        if every == 0 {
            job.say(Level::Exact, name, "no flushes");
        } else if !access.writes {
            job.say(Level::WithoutEffect, name, "nothing is written");
        } else if medium.flush.is_some() {
            job.say(Level::Refused, name, "a thread flushes in one way: fsync or fdatasync");
        } else {
            medium.flush = Some((every, call));
            job.say(Level::Exact, name, format!("{}={every}", call.option()));
        }
    }
}

/// Translates the content of writes: fio writes random data by default.
fn buffers(job: &mut Job<'_>, access: &Access, medium: &mut Medium) {
    let is_zero = job.is_on("zero_buffers", false);
    let is_new = job.is_on("refill_buffers", false);
    let goes = job.read("buffer_compress_percentage", 0, percent);
    let repeated = job.read("dedupe_percentage", 0, percent);
    let mut words: Vec<String> = Vec::new();
    if is_zero {
        words.push("-Z".to_owned());
    }
    if goes > 0 {
        let ratio = 100.0 / f64::from(100 - goes.min(99));
        words.push(format!("--compress={}", (ratio * 1000.0).round() / 1000.0));
    }
    if repeated > 0 {
        words.push(format!("--dedupe={repeated}"));
    }
    if job.text("verify").is_some_and(|way| way != "0" && way != "null") {
        medium.span_words.push("--verify".to_owned());
        let says = if access.reads {
            "--verify: reads are checked, with a method of its own"
        } else {
            "--verify: nothing is read back after the run; diskspd verify does that, with a method of its own"
        };
        job.say(Level::Approximate, "verify", says);
    }
    job.say(Level::Exact, "zero_buffers", if is_zero { "-Z" } else { "random data" });
    let level = if goes == 100 { Level::Refused } else { Level::Approximate };
    job.say(
        level,
        "buffer_compress_percentage",
        words.iter().find(|word| word.starts_with("--comp")).cloned().unwrap_or_default(),
    );
    job.say(Level::Approximate, "dedupe_percentage", format!("--dedupe={repeated}: blocks of 4 KiB"));
    if !words.is_empty() {
        job.say(Level::WithoutEffect, "refill_buffers", words.join(" "));
    } else if is_new {
        medium.span_words.push("-Zr".to_owned());
        job.say(Level::Exact, "refill_buffers", "-Zr");
    } else {
        words.push("-Z1M".to_owned());
        job.say_default(Level::Approximate, "random data", "-Z1M: it repeats each MiB; -Zr is new for each write");
    }
    job.say(Level::Exact, "refill_buffers", "-Z1M");
    medium.words.extend(words);
}

fn cpus(job: &mut Job<'_>, medium: &mut Medium) {
    let Some(list) = job.text("cpus_allowed") else {
        medium.span_words.push("-n".to_owned());
        job.say(Level::WithoutEffect, "cpus_allowed_policy", "it needs cpus_allowed");
        return;
    };
    let is_split = job.read("cpus_allowed_policy", false, |text| match text {
        "split" => Ok(true),
        "shared" => Ok(false),
        _ => Err(format!("'{text}' is neither shared nor split")),
    });
    if is_split {
        medium.span_words.push(format!("-a{list}"));
        job.say(Level::Exact, "cpus_allowed", format!("-a{list}"));
        job.say(Level::Exact, "cpus_allowed_policy", "one CPU for each thread, in turn");
    } else {
        medium.span_words.push("-n".to_owned());
        job.say(
            Level::Approximate,
            "cpus_allowed",
            format!("threads are not bound; start diskspd below taskset -c {list}"),
        );
        job.say(Level::Exact, "cpus_allowed_policy", "see cpus_allowed");
    }
}
