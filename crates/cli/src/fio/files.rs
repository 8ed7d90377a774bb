//! The files of a job of fio, and which part of them it uses.

use super::access::Access;
use super::job::{Job, Level};
use super::value::{Amount, amount, count, names, size};
use model::limits::TARGETS_MAX;
use model::units::short_size;

/// Files with the same options.
pub(super) struct Part {
    pub(super) paths: Vec<String>,
    /// Threads on each file or, in a pool, on all of them.
    pub(super) threads: u32,
    /// Where I/O begins, in bytes.
    pub(super) base: u64,
}

/// The files of a job.
pub(super) struct Files {
    pub(super) parts: Vec<Part>,
    /// True if each thread works on all files, and chooses one for each I/O.
    pub(super) is_pool: bool,
    /// Bytes of each file that are used; `None` = to its end.
    pub(super) length: Option<u64>,
    /// Bytes that each file must have; `None` = those that it has.
    pub(super) file_bytes: Option<u64>,
    /// Bytes that one copy of the job transfers in one pass; `None` = not known.
    pub(super) pass_bytes: Option<u64>,
    /// Copies of the job (`numjobs`).
    pub(super) copies: u32,
    /// Options of the target.
    pub(super) words: Vec<String>,
}

/// Reads which files a job uses; `bytes_of` knows the sizes of those that exist.
pub(super) fn files(job: &mut Job<'_>, access: &Access, bytes_of: &dyn Fn(&str) -> Option<u64>) -> Files {
    let copies = job.read("numjobs", 1, count).max(1);
    let own_count = job.read("nrfiles", 1, count).max(1);
    let folders = job.text("directory").map(|text| names(&text)).unwrap_or_default();
    let shared: Vec<String> = job
        .text("filename")
        .map(|text| names(&text))
        .unwrap_or_default()
        .iter()
        .map(|name| below(&folders, 0, name))
        .collect();
    let per_copy = if shared.is_empty() { own_count } else { shared.len() as u32 };
    let mut files = Files {
        parts: Vec::new(),
        is_pool: per_copy > 1,
        length: None,
        file_bytes: None,
        pass_bytes: None,
        copies,
        words: Vec::new(),
    };
    let mut base = 0;
    let existing = shared.first().and_then(|path| bytes_of(path)).filter(|bytes| *bytes > 0);
    let existing = existing.filter(|bytes| shared.iter().all(|path| bytes_of(path) == Some(*bytes)));
    extent(job, access, (per_copy, existing), &mut files, &mut base);
    let step = increment(job);
    let base_of = |copy: u32| base.saturating_add(step.saturating_mul(u64::from(copy)));
    if u64::from(copies) * u64::from(per_copy) > TARGETS_MAX as u64 {
        job.say(Level::Refused, "numjobs", format!("more than {TARGETS_MAX} files or threads"));
        job.say(Level::Refused, "nrfiles", format!("more than {TARGETS_MAX} files"));
        return files;
    }
    if shared.is_empty() {
        of_each_copy(job, &folders, own_count, &mut files, &base_of);
    } else {
        if own_count > 1 {
            job.say(Level::WithoutEffect, "nrfiles", "filename= names the files");
        }
        of_all_copies(job, shared, step > 0 && copies > 1, &mut files, &base_of);
    }
    let count = files.parts.iter().map(|part| part.paths.len()).sum::<usize>();
    let word = if count == 1 { "the target".to_owned() } else { format!("{count} targets") };
    job.say(Level::Exact, "filename", word.clone());
    job.say(Level::Exact, "directory", "in the paths of the targets");
    job.say(Level::Exact, "nrfiles", word);
    files
}

fn below(folders: &[String], copy: usize, name: &str) -> String {
    match folders.get(copy % folders.len().max(1)) {
        // fio puts the directory before an absolute name, too.
        Some(folder) => format!("{}/{name}", folder.trim_end_matches('/')),
        None => name.to_owned(),
    }
}

/// `JOB.COPY.FILE`, as fio names them.
fn of_each_copy(job: &mut Job<'_>, folders: &[String], own: u32, files: &mut Files, base_of: &dyn Fn(u32) -> u64) {
    let copies = files.copies;
    // A slash in a name would lead to another directory.
    let title = job.name.replace('/', "_");
    let path = |copy: u32, file: u32| below(folders, copy as usize, &format!("{title}.{copy}.{file}"));
    if files.is_pool && copies > 1 {
        job.say(Level::Refused, "nrfiles", "several files for each of several copies have no counterpart");
    }
    if base_of(0) == base_of(1) || files.is_pool {
        let paths = (0..copies).flat_map(|copy| (0..own).map(move |file| (copy, file)));
        let paths = paths.map(|(copy, file)| path(copy, file)).collect();
        files.parts.push(Part { paths, threads: 1, base: base_of(0) });
    } else {
        files.parts.extend((0..copies).map(|copy| Part {
            paths: vec![path(copy, 0)],
            threads: 1,
            base: base_of(copy),
        }));
    }
    let says = if copies == 1 { "-t1".to_owned() } else { format!("{copies} targets, one thread each (-t1)") };
    job.say(Level::Exact, "numjobs", says);
}

fn of_all_copies(
    job: &mut Job<'_>,
    paths: Vec<String>,
    is_apart: bool,
    files: &mut Files,
    base_of: &dyn Fn(u32) -> u64,
) {
    let copies = files.copies;
    if is_apart && files.is_pool {
        job.say(Level::Refused, "offset_increment", "it has no counterpart with several files");
    }
    if is_apart && !files.is_pool {
        let part = |copy| Part { paths: paths.clone(), threads: 1, base: base_of(copy) };
        files.parts = (0..copies).map(part).collect();
        job.say(Level::Exact, "numjobs", format!("{copies} streams, one thread each (-t1)"));
        return;
    }
    let word = if files.is_pool { format!("-F{copies}") } else { format!("-t{copies}") };
    job.say(Level::Exact, "numjobs", word);
    files.parts.push(Part { paths, threads: copies, base: base_of(0) });
}

fn increment(job: &mut Job<'_>) -> u64 {
    let base = job.kb_base;
    let step = job.read("offset_increment", Amount::Bytes(0), |text| amount(text, base));
    match step {
        Amount::Bytes(bytes) => {
            job.say(Level::Exact, "offset_increment", "-B of each copy");
            bytes
        }
        Amount::Percent(_) => {
            job.say(Level::Refused, "offset_increment", "the size of the target is not known");
            0
        }
    }
}

/// Which part of each file is used, and how much a copy transfers. `existing`: the size of each file, if it is known.
fn extent(
    job: &mut Job<'_>,
    access: &Access,
    (per_copy, existing): (u32, Option<u64>),
    files: &mut Files,
    base: &mut u64,
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
    // fio rounds shares down to whole blocks.
    let block = access.block_bytes.unwrap_or(4096);
    let part_of = |share: u32, whole: u64| (u128::from(whole) * u128::from(share) / 100) as u64 / block * block;
    let whole = of_file.or(existing);
    let offset = match (offset, whole) {
        (Amount::Percent(share), Some(whole)) => Amount::Bytes(part_of(share, whole)),
        (other, _) => other,
    };
    let rest = match (whole, &offset) {
        (Some(whole), Amount::Bytes(at)) => Some(whole.saturating_sub(*at)),
        _ => None,
    };
    let total = match (total, whole, rest) {
        (Some(Amount::Percent(share)), Some(whole), Some(rest)) => {
            Some(Amount::Bytes(part_of(share, whole).min(rest) * u64::from(per_copy)))
        }
        (None, _, Some(rest)) => Some(Amount::Bytes(rest * u64::from(per_copy))),
        (other, ..) => other,
    };
    match (total, offset) {
        (Some(Amount::Bytes(bytes)), Amount::Bytes(at)) => {
            *base = at;
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
            *base = at;
            job.say(Level::Exact, "size", "the whole target");
            job.say(Level::Exact, "offset", format!("-B{}", short_size(at)));
        }
        (total, offset) => shares_of_target(job, access, total, offset, files),
    }
}

/// Shares of a target whose size is not known can be met by random I/O alone.
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
