//! Jobs of fio that run at the same time, as a timespan.

use super::Surroundings;
use super::access::{Access, access};
use super::files::{Files, Part, files};
use super::ini::Section;
use super::job::{Job, Level, Row, add_row};
use super::medium::{Medium, medium};
use super::timing::{Timing, timing};
use model::limits::TARGETS_MAX;
use model::printable::clipped;
use model::units::short_size;
use std::collections::BTreeMap;

/// Longer than any pass takes: the amount ends the run.
const LONGEST_S: u32 = 604_800;
/// Length of a stream's name in characters.
const STREAM_CHARACTERS: usize = 32;

/// A parsed job.
pub(super) struct Load {
    name: String,
    access: Access,
    files: Files,
    medium: Medium,
    timing: Timing,
}

/// A timespan.
pub(super) struct Group {
    pub(super) loads: Vec<Load>,
    /// The only job for which its jobs wait.
    after: Option<String>,
}

/// Adds a job; the translation of its options is added to `rows`.
pub(super) fn add(groups: &mut Vec<Group>, section: &Section, surroundings: &Surroundings<'_>, rows: &mut Vec<Row>) {
    let mut job = Job::new(section);
    let is_after_all = job.is_on("stonewall", false);
    job.say(Level::Exact, "stonewall", "a timespan of its own");
    let after = job.text("wait_for").filter(|_| !is_after_all);
    if !is_after_all && !is_in_order(groups.last(), after.as_deref()) {
        let why = "jobs wait for all jobs before them here: use stonewall";
        job.say_either(Level::Refused, "wait_for", "no wait_for", why);
    }
    job.say(Level::Exact, "wait_for", "a timespan after that of the job");
    let begins = is_after_all || groups.last().is_none_or(|last| last.after != after);
    let access = access(&mut job);
    let held = groups.iter().flat_map(|group| &group.loads).map(|load| load.files.held_bytes).sum();
    let files = files(&mut job, &access, held, surroundings.bytes_of);
    let medium = medium(&mut job, &access, &files);
    let timing = timing(&mut job, &access, &files);
    job.finish();
    for row in std::mem::take(&mut job.rows) {
        add_row(rows, row);
    }
    let load = Load { name: job.name, access, files, medium, timing };
    match groups.last_mut().filter(|_| !begins) {
        Some(group) => group.loads.push(load),
        None => groups.push(Group { loads: vec![load], after }),
    }
}

/// True if a job waits for a whole timespan: its predecessor is alone in the last one, or the last one waits for the
/// same.
fn is_in_order(last: Option<&Group>, after: Option<&str>) -> bool {
    let Some(last) = last else { return after.is_none() };
    let is_alone = matches!(last.loads.as_slice(), [load] if after == Some(load.name.as_str()));
    is_alone || last.after.as_deref() == after
}

/// The required size of each file, over all jobs. A file that is large enough keeps its size, as with fio.
pub(super) fn file_sizes(groups: &[Group], surroundings: &Surroundings<'_>) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for load in groups.iter().flat_map(|group| &group.loads) {
        let Some(bytes) = load.files.file_bytes else { continue };
        for part in &load.files.parts {
            let last = part.base.saturating_add(load.files.length.unwrap_or(0)).max(bytes);
            for path in part.paths.iter().filter(|path| !path.starts_with("/dev/")) {
                let known = sizes.entry(path.clone()).or_insert(last);
                *known = last.max(*known);
            }
        }
    }
    sizes.retain(|path, bytes| (surroundings.bytes_of)(path).is_none_or(|found| found < *bytes));
    sizes
}

impl Group {
    /// The command line: options, then targets. Combinations that the jobs cannot have are refused in `rows`.
    pub(super) fn words(&self, sizes: &BTreeMap<String, u64>, rows: &mut Vec<Row>) -> Vec<String> {
        let mut span = self.span(rows);
        let parts: usize = self.loads.iter().map(|load| load.files.parts.len()).sum();
        let targets: usize = self.loads.iter().flat_map(|load| &load.files.parts).map(|part| part.paths.len()).sum();
        if targets > TARGETS_MAX {
            refuse(rows, "numjobs", format!("more than {TARGETS_MAX} targets at once"));
            return Vec::new();
        }
        match self.loads.as_slice() {
            [load] if parts == 1 => {
                let part = &load.files.parts[0];
                [load.options(part, sizes), span, part.paths.clone()].concat()
            }
            _ => {
                let mut names = BTreeMap::new();
                for load in &self.loads {
                    for part in &load.files.parts {
                        let name = stream_name(&load.name, &mut names);
                        let paths = part.paths.iter().map(|path| in_text(path, rows));
                        let text: Vec<String> = load.options(part, sizes).into_iter().chain(paths).collect();
                        span.push("--stream".to_owned());
                        span.push(format!("{name}: {}", text.join(" ")));
                    }
                }
                span
            }
        }
    }

    /// Options of the timespan.
    fn span(&self, rows: &mut Vec<Row>) -> Vec<String> {
        let mut words = self.end(rows);
        let deep: Vec<&'static str> = self.distinct(|load| load.medium.engine);
        match deep.as_slice() {
            [] => {}
            [engine] if self.loads.iter().all(|load| load.medium.engine.is_some()) => {
                words.push(format!("--engine={engine}"));
            }
            _ if deep.contains(&"null") => refuse(rows, "ioengine", "null beside other engines has no counterpart"),
            _ => tell(
                rows,
                Level::Approximate,
                "ioengine",
                "jobs of several engines: diskspd chooses one for each thread",
            ),
        }
        let flushes = self.distinct(|load| load.medium.flush.filter(|_| load.access.writes));
        let is_for_all = self.loads.iter().all(|load| load.medium.flush.is_some() || !load.access.writes);
        match flushes.as_slice() {
            [] => {}
            [(every, call)] if is_for_all => words.push(format!("{}={every}", call.option())),
            _ => refuse(rows, "fsync", "all jobs that write at the same time flush alike here"),
        }
        let open = self.distinct(|load| load.timing.open_iops);
        match open.as_slice() {
            [] => {}
            [rate] if self.loads.len() == 1 => {
                words.extend([format!("--rate={rate}"), "--rate-process=poisson".to_owned()]);
            }
            _ => refuse(rows, "rate_process", "an open loop is one of all jobs together"),
        }
        if self.loads.len() > 1 && self.loads.iter().any(|load| load.files.is_pool) {
            refuse(rows, "filename", "a job with several files has no counterpart beside other jobs");
        }
        for word in self.loads.iter().flat_map(|load| &load.medium.span_words) {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        if words.iter().filter(|word| word.starts_with("-a") || *word == "-n").count() > 1 {
            refuse(rows, "cpus_allowed", "all jobs at the same time have the same CPUs here");
        }
        words.push("-L".to_owned());
        words
    }

    /// Options that end the timespan.
    fn end(&self, rows: &mut Vec<Row>) -> Vec<String> {
        let mut words = Vec::new();
        let runtimes = self.distinct(|load| Some(load.timing.runtime_s));
        let ramps = self.distinct(|load| Some(load.timing.ramp_s));
        if runtimes.len() > 1 {
            refuse(rows, "runtime", "jobs at the same time run equally long here");
        }
        if ramps.len() > 1 {
            refuse(rows, "ramp_time", "jobs at the same time have one warm-up here");
        }
        if self.distinct(|load| Some(load.timing.delay_us)).len() > 1 {
            refuse(rows, "startdelay", "jobs of a timespan start together");
        }
        words.push(format!("-d{}", runtimes.first().copied().flatten().unwrap_or(LONGEST_S)));
        words.push(format!("-W{}", ramps.first().copied().unwrap_or(0)));
        let together = "the amounts of all jobs together end the run";
        for (option, of_load) in [
            ("--max-bytes", (|load| load.timing.bytes) as fn(&Load) -> Option<u64>),
            ("--max-ios", |load| load.timing.ios),
        ] {
            let given: Vec<u64> = self.loads.iter().filter_map(of_load).collect();
            let all = given.iter().fold(0u64, |sum, amount| sum.saturating_add(*amount));
            let has_time = runtimes.first().is_some_and(Option::is_some);
            match given.len() {
                0 => continue,
                count if count == self.loads.len() && count > 1 => tell(rows, Level::Approximate, option, together),
                count if count < self.loads.len() => {
                    tell(rows, Level::Approximate, option, "the time ends the run, not the amount of one job");
                    if !has_time {
                        refuse(rows, option, "not all jobs have an end");
                    }
                    continue;
                }
                _ => {}
            }
            let amount = if option == "--max-bytes" { short_size(all) } else { all.to_string() };
            words.push(format!("{option}={amount}"));
        }
        words
    }

    /// The different values of the loads, in their order.
    fn distinct<T: PartialEq>(&self, of: impl Fn(&Load) -> Option<T>) -> Vec<T> {
        let mut found = Vec::new();
        for value in self.loads.iter().filter_map(of) {
            if !found.contains(&value) {
                found.push(value);
            }
        }
        found
    }
}

impl Load {
    /// Options of a part's targets.
    fn options(&self, part: &Part, sizes: &BTreeMap<String, u64>) -> Vec<String> {
        let mut words = self.access.words.clone();
        let (threads, depth) = (part.threads, self.medium.depth);
        words.push(if self.files.is_pool { format!("-F{threads}") } else { format!("-t{threads}") });
        words.push(if self.files.is_pool { format!("-O{depth}") } else { format!("-o{depth}") });
        words.extend(self.medium.words.iter().chain(&self.timing.words).chain(&self.files.words).cloned());
        // The largest size that any job requires of one of these files.
        let size = part.paths.iter().filter_map(|path| sizes.get(path)).max().copied();
        if let Some(size) = size {
            words.push(format!("-c{}", short_size(size)));
        }
        match self.files.length {
            Some(length) if part.base > 0 => {
                words.push(format!("-B{}:{}", short_size(part.base), short_size(length)));
            }
            None if part.base > 0 => words.push(format!("-B{}", short_size(part.base))),
            Some(length) if size != Some(length) => words.push(format!("-f{}", short_size(length))),
            _ => {}
        }
        words
    }

    /// The requirements of the job.
    pub(super) fn requirements(&self) -> &[String] {
        &self.timing.requirements
    }

    /// Options of the search that it requests.
    pub(super) fn search(&self) -> Option<&str> {
        self.timing.search.as_deref()
    }
}

fn tell(rows: &mut Vec<Row>, level: Level, option: &str, says: impl Into<String>) {
    add_row(rows, Row { level, option: option.to_owned(), says: says.into() });
}

fn refuse(rows: &mut Vec<Row>, option: &str, says: impl Into<String>) {
    tell(rows, Level::Refused, option, says);
}

/// A unique stream name for a job; `names` has the earlier ones, each with the number to try next.
fn stream_name(job: &str, names: &mut BTreeMap<String, usize>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = job.chars().map(plain).take(STREAM_CHARACTERS).collect();
    let mut found = name.clone();
    let mut number = names.get(&name).copied().unwrap_or(1);
    while found.is_empty() || names.contains_key(&found) {
        let end = format!(".{number}");
        found = name.chars().take(STREAM_CHARACTERS - end.len()).collect::<String>() + &end;
        number += 1;
    }
    names.insert(name, number);
    names.entry(found.clone()).or_insert(1);
    found
}

/// A path in the text of `--stream`.
fn in_text(path: &str, rows: &mut Vec<Row>) -> String {
    if !path.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c)) {
        return path.to_owned();
    }
    if path.contains(['"', '\\']) {
        refuse(rows, "filename", format!("'{}' has quotation marks or backslashes", clipped(path, 60)));
    }
    format!("\"{path}\"")
}
