//! The files of a fio job, and the parts of them that it uses.

use super::access::Access;
use super::job::{Job, Level};
use model::limits::TARGETS_MAX;
use model::units::short_size;
use settings::fio::{Amount, amount, count, names, size};

/// Files with the same options.
pub(super) struct Part {
    pub(super) paths: Vec<String>,
    /// Threads on each file or, in a pool, on all of them.
    pub(super) threads: u32,
    /// Offset at which I/O begins, in bytes.
    pub(super) base: u64,
}

/// The files of a job.
pub(super) struct Files {
    pub(super) parts: Vec<Part>,
    /// True if each thread works on all files, and chooses one for each I/O.
    pub(super) is_pool: bool,
    /// Bytes of each file that are used; `None` = to its end.
    pub(super) length: Option<u64>,
    /// Minimum size of each file in bytes; `None` = its existing size.
    pub(super) file_bytes: Option<u64>,
    /// Bytes that one copy of the job transfers in one pass; `None` = unknown.
    pub(super) pass_bytes: Option<u64>,
    /// Approximate memory for the arguments of all parts, in bytes.
    pub(super) held_bytes: u64,
    /// Copies of the job (`numjobs`).
    pub(super) copies: u32,
    /// Options of the target.
    pub(super) words: Vec<String>,
}

/// Memory limit for the files of all jobs, in bytes: enough for the maximum number of targets with usual names.
const HELD_BYTES_MAX: u64 = 64 << 20;
/// Memory for a target beside its name, in bytes.
const TARGET_BYTES: u64 = 512;

/// Reads the files that a job uses; `held` is the memory for those of other jobs, and `bytes_of` returns the sizes of
/// existing ones.
pub(super) fn files(job: &mut Job<'_>, access: &Access, held: u64, bytes_of: &dyn Fn(&str) -> Option<u64>) -> Files {
    let copies = job.read("numjobs", 1, count).max(1);
    let own_count = job.read("nrfiles", 1, count).max(1);
    let folders = job.text("directory").map(|text| names(&text)).unwrap_or_default();
    let mut shared = job.text("filename").map(|text| names(&text)).unwrap_or_default();
    let format = name_format(job, copies, own_count);
    if shared.is_empty() && own_count == 1 && folders.len() < 2 && !format.contains("$jobnum") {
        shared.push(format.replace("$filenum", "0"));
    }
    let shared: Vec<String> = shared.iter().map(|name| below(&folders, 0, name)).collect();
    let per_copy = if shared.is_empty() { own_count } else { shared.len() as u32 };
    let mut files = Files {
        parts: Vec::new(),
        is_pool: per_copy > 1,
        length: None,
        file_bytes: None,
        pass_bytes: None,
        held_bytes: 0,
        copies,
        words: Vec::new(),
    };
    let mut start = Start { offset: 0, step: 0, align: 1 };
    let existing = shared.first().and_then(|path| bytes_of(path)).filter(|bytes| *bytes > 0);
    let existing = existing.filter(|bytes| shared.iter().all(|path| bytes_of(path) == Some(*bytes)));
    extent(job, access, (per_copy, existing), &mut files, &mut start);
    let longest = shared.iter().chain([&format]).map(String::len).max().unwrap_or(0);
    let longest = longest + folders.iter().map(String::len).max().unwrap_or(0);
    let targets = u64::from(copies) * u64::from(per_copy);
    files.held_bytes = targets.saturating_mul(TARGET_BYTES + longest as u64);
    if targets > TARGETS_MAX as u64 || held.saturating_add(files.held_bytes) > HELD_BYTES_MAX {
        files.held_bytes = 0;
        let says = format!("more than {TARGETS_MAX} files or threads, or their names are too long");
        job.say_either(Level::Refused, "numjobs", "numjobs=1", says);
        job.say(Level::Refused, "nrfiles", format!("more than {TARGETS_MAX} files"));
        return files;
    }
    if shared.is_empty() {
        of_each_copy(job, &folders, (own_count, &format), &mut files, &start);
    } else {
        if own_count > 1 {
            job.say(Level::WithoutEffect, "nrfiles", "filename= names the files");
        }
        of_all_copies(job, shared, &mut files, &start);
    }
    let count = files.parts.iter().map(|part| part.paths.len()).sum::<usize>();
    let word = if count == 1 { "the target".to_owned() } else { format!("{count} targets") };
    job.say(Level::Exact, "filename", word.clone());
    job.say(Level::Exact, "directory", "in the paths of the targets");
    job.say(Level::Exact, "filename_format", "in the paths of the targets");
    job.say(Level::Exact, "nrfiles", word);
    let order = job.text("file_service_type").unwrap_or_default();
    if files.is_pool {
        let level = if order == "random" { Level::Exact } else { Level::Approximate };
        let says = "the file of each I/O is chosen at random";
        job.say_either(level, "file_service_type", "file_service_type=roundrobin", says);
    }
    files
}

/// Start offsets of the copies of a job.
struct Start {
    offset: u64,
    /// Distance from one copy to the next.
    step: u64,
    /// Alignment to which fio rounds up if either is a share of the target.
    align: u64,
}

impl Start {
    fn offset_for(&self, copy: u32) -> u64 {
        let at = self.offset.saturating_add(self.step.saturating_mul(u64::from(copy)));
        at.checked_next_multiple_of(self.align).unwrap_or(at)
    }
}

/// Format of the names of files that are not named individually; it contains `$jobnum` and `$filenum`.
fn name_format(job: &mut Job<'_>, copies: u32, own: u32) -> String {
    // A slash in a name would refer to another directory.
    let title = job.name.replace('/', "_");
    let default = format!("{title}.$jobnum.$filenum");
    job.read("filename_format", default, |text| {
        let is_known = !text.replace("$jobname", "").replace("$jobnum", "").replace("$filenum", "").contains('$');
        // Without the number of the copy, all copies have the same file.
        let is_each = text.contains("$jobnum") || copies == 1 || own == 1;
        if is_known && is_each && (text.contains("$filenum") || own == 1) {
            Ok(text.replace("$jobname", &title))
        } else {
            Err("name the files with filename=".to_owned())
        }
    })
}

fn below(folders: &[String], copy: usize, name: &str) -> String {
    let path = match folders.get(copy % folders.len().max(1)) {
        // fio also prefixes the directory to an absolute name.
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    };
    // Among our arguments, -w100 would be an option, *1 a template and #1 a disk.
    let is_path = path.starts_with(|c: char| c.is_alphanumeric() || "/._".contains(c));
    if is_path { path } else { format!("./{path}") }
}

fn of_each_copy(job: &mut Job<'_>, folders: &[String], (own, format): (u32, &str), files: &mut Files, start: &Start) {
    let copies = files.copies;
    let path = |copy: u32, file: u32| {
        let name = format.replace("$jobnum", &copy.to_string()).replace("$filenum", &file.to_string());
        below(folders, copy as usize, &name)
    };
    if files.is_pool && copies > 1 {
        job.say(Level::Refused, "nrfiles", "several files for each of several copies have no counterpart");
    }
    if start.step == 0 || files.is_pool {
        let paths = (0..copies).flat_map(|copy| (0..own).map(move |file| (copy, file)));
        let paths = paths.map(|(copy, file)| path(copy, file)).collect();
        files.parts.push(Part { paths, threads: 1, base: start.offset_for(0) });
    } else {
        files.parts.extend((0..copies).map(|copy| Part {
            paths: vec![path(copy, 0)],
            threads: 1,
            base: start.offset_for(copy),
        }));
    }
    let says = if copies == 1 { "-t1".to_owned() } else { format!("{copies} targets, one thread each (-t1)") };
    job.say(Level::Exact, "numjobs", says);
}

fn of_all_copies(job: &mut Job<'_>, paths: Vec<String>, files: &mut Files, start: &Start) {
    let copies = files.copies;
    let is_apart = start.step > 0 && copies > 1;
    if is_apart && files.is_pool {
        job.say(Level::Refused, "offset_increment", "it has no counterpart with several files");
    }
    if is_apart && !files.is_pool {
        let part = |copy| Part { paths: paths.clone(), threads: 1, base: start.offset_for(copy) };
        files.parts = (0..copies).map(part).collect();
        job.say(Level::Exact, "numjobs", format!("{copies} streams, one thread each (-t1)"));
        return;
    }
    let word = if files.is_pool { format!("-F{copies}") } else { format!("-t{copies}") };
    job.say(Level::Exact, "numjobs", word);
    files.parts.push(Part { paths, threads: copies, base: start.offset_for(0) });
}

fn increment(job: &mut Job<'_>, access: &Access, whole: Option<u64>, start: &mut Start) {
    let base = job.kb_base;
    start.step = match (job.read("offset_increment", Amount::Bytes(0), |text| amount(text, base)), whole) {
        (Amount::Bytes(bytes), _) => bytes,
        (Amount::Percent(share), Some(whole)) => {
            start.align = access.least_bytes;
            share_of(whole, share)
        }
        (Amount::Percent(_), None) => {
            job.say(Level::Refused, "offset_increment", "the size of the target is not known");
            0
        }
    };
    job.say(Level::Exact, "offset_increment", "-B of each copy");
}

fn share_of(whole: u64, percent: u32) -> u64 {
    (u128::from(whole) * u128::from(percent) / 100) as u64
}

/// Sets the part of each file that is used, and the amount transferred by a copy. `existing`: the size of each file, if
/// known.
fn extent(
    job: &mut Job<'_>,
    access: &Access,
    (per_copy, existing): (u32, Option<u64>),
    files: &mut Files,
    start: &mut Start,
) {
    let units = job.kb_base;
    let of_file = job.read("filesize", None, |text| {
        let text = text.split_once('-').map_or(Ok(text), |(least, most)| {
            if least == most { Ok(least) } else { Err("files of random sizes have no counterpart".to_owned()) }
        })?;
        size(text, units).map(Some)
    });
    let total = job.read("size", None, |text| amount(text, units).map(Some));
    let offset = job.read("offset", Amount::Bytes(0), |text| amount(text, units));
    let whole = of_file.or(existing);
    increment(job, access, whole, start);
    match (offset, whole) {
        (Amount::Bytes(bytes), _) => start.offset = bytes,
        (Amount::Percent(share), Some(whole)) => {
            start.offset = share_of(whole, share);
            start.align = access.least_bytes;
        }
        (Amount::Percent(_), None) => {}
    }
    let offset = if whole.is_some() { Amount::Bytes(start.offset_for(0)) } else { offset };
    let rest = match (whole, &offset) {
        (Some(whole), Amount::Bytes(at)) => Some(whole.saturating_sub(*at)),
        _ => None,
    };
    let total = match (total, whole, rest) {
        (Some(Amount::Percent(share)), Some(whole), Some(rest)) => {
            // The last block of a share is whole.
            let used = share_of(whole, share) / access.least_bytes * access.least_bytes;
            Some(Amount::Bytes(used.min(rest) * u64::from(per_copy)))
        }
        (None, _, Some(rest)) => Some(Amount::Bytes(rest * u64::from(per_copy))),
        (other, ..) => other,
    };
    match (total, offset) {
        (Some(Amount::Bytes(bytes)), Amount::Bytes(at)) => {
            let length = (bytes / u64::from(per_copy)).min(of_file.unwrap_or(u64::MAX));
            files.pass_bytes = Some(bytes);
            let is_whole = of_file.is_none() && rest == Some(length);
            if !is_whole {
                files.length = Some(length);
                files.file_bytes = Some(at.saturating_add(length).max(of_file.unwrap_or(0)));
            }
            let says = format!("{} of each target", short_size(length));
            job.say(Level::Exact, "size", says.clone());
            job.say(Level::Exact, "filesize", says);
            job.say(Level::Exact, "offset", format!("-B{}", short_size(at)));
        }
        (None | Some(Amount::Percent(100)), Amount::Bytes(at)) => {
            job.say(Level::Exact, "size", "the whole target");
            job.say(Level::Exact, "offset", format!("-B{}", short_size(at)));
        }
        (total, offset) => shares_of_target(job, access, total, offset, files),
    }
}

/// Shares of a target of unknown size can only be translated for random I/O.
fn shares_of_target(job: &mut Job<'_>, access: &Access, total: Option<Amount>, offset: Amount, files: &mut Files) {
    let (Amount::Percent(before), Some(Amount::Percent(used))) = (offset, total.or(Some(Amount::Percent(100)))) else {
        if let (Amount::Bytes(0), Some(Amount::Percent(used))) = (offset, total) {
            return shares_of_target(job, access, Some(Amount::Percent(used)), Amount::Percent(0), files);
        }
        job.say(Level::Refused, "size", "the size of the target is not known");
        job.say(Level::Refused, "offset", "the size of the target is not known");
        return;
    };
    if !access.is_random || access.is_uneven || access.words.iter().any(|word| word.starts_with("-rs")) {
        let why = "the size of the target is not known; give bytes, or filesize";
        job.say(Level::Refused, "size", why);
        job.say(Level::Refused, "offset", why);
        return;
    }
    let used = used.min(100 - before);
    let zones = [(0, before), (100, used), (0, 100 - before - used)];
    let zones = zones.iter().filter(|(_, length)| *length > 0).map(|(share, length)| format!("{share}/{length}"));
    let word = format!("-rdpct{}", zones.collect::<Vec<_>>().join(":"));
    job.say(Level::Exact, "size", word.clone());
    job.say(Level::Exact, "offset", word.clone());
    files.words.push(word);
}
