//! I/Os of a fio job: their kind, size and place.

use super::job::{Job, Level};
use model::limits::SIZES_MAX;
use model::units::short_size;
use settings::fio::{Pattern, count, of_directions, pattern, percent, size};

/// The I/Os of a job.
pub(super) struct Access {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) discards: bool,
    /// False if all are sequential.
    pub(super) is_random: bool,
    /// Share of reads in percent.
    pub(super) read_percent: u32,
    /// Bytes of every I/O, if all have the same size.
    pub(super) block_bytes: Option<u64>,
    /// The smallest of all sizes, including those of I/Os that are not done, to which fio rounds shares of a target.
    pub(super) least_bytes: u64,
    /// True if hot places or zones are given.
    pub(super) is_uneven: bool,
    /// Options of the target.
    pub(super) words: Vec<String>,
}

impl Access {
    /// True if fio would read and write.
    pub(super) fn is_mixed(&self) -> bool {
        self.reads && self.writes
    }
}

const DEFAULT_BYTES: u64 = 4096;
const APART: &str = "reads and writes each have a place of their own in fio; here they share one";

/// Reads the access pattern of a job.
pub(super) fn access(job: &mut Job<'_>) -> Access {
    let text = job.text("rw").unwrap_or_else(|| "read".to_owned());
    let Pattern { is_random, reads, writes, trims, hole } = pattern(&text).unwrap_or_else(|| {
        job.say(Level::Refused, "rw", "reads, writes, a mix of both, and trims have a counterpart");
        Pattern { is_random: text.starts_with("rand"), reads: true, writes: false, trims: false, hole: None }
    });
    let mut access = Access {
        reads,
        writes,
        discards: trims,
        is_random,
        read_percent: if reads { 100 } else { 0 },
        block_bytes: None,
        least_bytes: DEFAULT_BYTES,
        is_uneven: false,
        words: Vec::new(),
    };
    mix(job, &mut access);
    let least_bytes = sizes(job, &mut access);
    place(job, &mut access, least_bytes, hole);
    distribution(job, &mut access);
    access
}

fn mix(job: &mut Job<'_>, access: &mut Access) {
    let share = job.read("rwmixread", 50, percent);
    if access.is_mixed() {
        access.read_percent = share;
        job.say(Level::Exact, "rwmixread", format!("-w{}", 100 - share));
    }
    if access.writes {
        access.words.push(format!("-w{}", 100 - access.read_percent));
    } else if access.discards {
        access.words.push("--discard=100".to_owned());
    }
}

/// Sets the options for sizes; returns the alignment of random I/Os in bytes, 0 = the size of each.
fn sizes(job: &mut Job<'_>, access: &mut Access) -> u64 {
    let base = job.kb_base;
    let each =
        |part: &str| size(part, base).and_then(|bytes| if bytes == 0 { Err("0 bytes".to_owned()) } else { Ok(bytes) });
    let fixed = |bytes: u64| vec![(bytes, 100)];
    let default = fixed(DEFAULT_BYTES);
    let of_one = |text: &str| of_directions(text, &default, |part| each(part).map(fixed));
    let mut kinds = [default.clone(), default.clone(), default.clone()];
    for (name, parse) in [
        ("bs", &of_one as &dyn Fn(&str) -> _),
        ("bsrange", &|text: &str| of_directions(text, &default, |part| range(part, base))),
        ("bssplit", &|text: &str| of_directions(text, &default, |part| split(part, base))),
    ] {
        kinds = job.read(name, kinds, parse);
    }
    access.least_bytes = kinds.iter().flatten().map(|(bytes, _)| *bytes).min().unwrap_or(DEFAULT_BYTES);
    let [of_reads, of_writes, of_discards] = kinds;
    let done: Vec<&Vec<(u64, u32)>> =
        [(access.reads, &of_reads), (access.writes, &of_writes), (access.discards, &of_discards)]
            .into_iter()
            .filter_map(|(is_done, sizes)| is_done.then_some(sizes))
            .collect();
    let largest = done.iter().flat_map(|sizes| sizes.iter()).map(|(bytes, _)| *bytes).max().unwrap_or(DEFAULT_BYTES);
    let is_alike = done.windows(2).all(|pair| pair[0] == pair[1]);
    let mut words = vec![format!("-b{}", short_size(largest))];
    match done.as_slice() {
        [one, ..] if is_alike && one.len() == 1 => access.block_bytes = Some(largest),
        [one, ..] if is_alike => words.push(format!("--sizes={}", shares(one))),
        [reads, writes, ..] => {
            words.push(format!("--read-sizes={}", shares(reads)));
            words.push(format!("--write-sizes={}", shares(writes)));
        }
        _ => {}
    }
    let typed = words.join(" ");
    let is_too_many = done.iter().any(|sizes| sizes.len() > SIZES_MAX);
    for name in ["bssplit", "bsrange", "bs"] {
        let level = match name {
            _ if is_too_many => Level::Refused,
            "bsrange" if done.iter().any(|sizes| 100 % sizes.len() != 0) => Level::Approximate,
            _ => Level::Exact,
        };
        let says = if is_too_many { format!("more than {SIZES_MAX} sizes") } else { typed.clone() };
        if name == "bs" && (job.has("bssplit") || job.has("bsrange")) {
            job.say(Level::WithoutEffect, name, "other options give the sizes");
        } else {
            job.say(level, name, says);
        }
    }
    access.words.extend(words);
    if !is_alike && done.iter().all(|sizes| sizes.len() == 1) {
        // Each at multiples of its own size, in both tools.
        return 0;
    }
    done.iter().flat_map(|sizes| sizes.iter()).map(|(bytes, _)| *bytes).min().unwrap_or(DEFAULT_BYTES)
}

fn shares(sizes: &[(u64, u32)]) -> String {
    let one = |(bytes, percent): &(u64, u32)| format!("{}/{percent}", short_size(*bytes));
    sizes.iter().map(one).collect::<Vec<_>>().join(":")
}

/// Distributes the rest to 100 over those without a share.
fn completed(sizes: Vec<(u64, Option<u32>)>) -> Result<Vec<(u64, u32)>, String> {
    let given: u32 = sizes.iter().filter_map(|(_, share)| *share).sum();
    let silent = sizes.iter().filter(|(_, share)| share.is_none()).count() as u32;
    let left = 100u32.checked_sub(given).ok_or_else(|| "the shares are more than 100 %".to_owned())?;
    if silent == 0 && left > 0 {
        return Err(format!("the shares are {given} %, not 100 %"));
    }
    let mut extra = if silent == 0 { 0 } else { left % silent };
    let mut complete = Vec::new();
    for (value, share) in sizes {
        let own = share.unwrap_or_else(|| {
            let more = u32::from(extra > 0);
            extra -= more;
            left / silent.max(1) + more
        });
        complete.push((value, own));
    }
    complete.retain(|(_, share)| *share > 0);
    Ok(complete)
}

/// `4k/60:64k/`
fn split(text: &str, base: u64) -> Result<Vec<(u64, u32)>, String> {
    let one = |part: &str| {
        let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.is_empty() { None } else { Some(percent(share)?) };
        match size(bytes, base)? {
            0 => Err("0 bytes".to_owned()),
            bytes => Ok((bytes, share)),
        }
    };
    // More parts than can be used would only take time.
    let parts: Vec<&str> = text.splitn(SIZES_MAX + 2, ':').collect();
    completed(parts.into_iter().map(one).collect::<Result<_, _>>()?)
}

/// `4k-16k`: each multiple of the smallest, equally often.
fn range(text: &str, base: u64) -> Result<Vec<(u64, u32)>, String> {
    let (least, most) = text.split_once('-').ok_or_else(|| format!("'{text}' is not a range"))?;
    let (least, most) = (size(least, base)?, size(most, base)?);
    if least == 0 || most < least || !most.is_multiple_of(least) {
        return Err(format!("'{text}': the largest size must be a multiple of the smallest"));
    }
    let count = most / least;
    if count > SIZES_MAX as u64 {
        return Err(format!("more than {SIZES_MAX} sizes"));
    }
    completed((1..=count).map(|times| (least * times, None)).collect())
}

/// Sets the options for offsets.
fn place(job: &mut Job<'_>, access: &mut Access, least_bytes: u64, hole: Option<&str>) {
    let base = job.kb_base;
    let align = job.read("ba", 0, |text| of_directions(text, &0, |part| size(part, base)).map(|each| each[0]));
    if !access.is_random {
        place_in_sequence(job, access, hole);
        return;
    }
    let align = if align > 0 { align } else { least_bytes };
    let word = if align == 0 || access.block_bytes == Some(align) {
        "-r".to_owned()
    } else {
        format!("-r{}", short_size(align))
    };
    job.say(Level::Exact, "ba", word.clone());
    if hole.is_some_and(|count| count != "1") {
        job.say(Level::Refused, "rw", "several I/Os at one random place have no counterpart; see percentage_random");
    }
    let share = job.read("percentage_random", 100, |text| {
        let shares = of_directions(text, &100, percent)?;
        if shares[0] == shares[1] { Ok(shares[0]) } else { Err("reads and writes have the same share here".to_owned()) }
    });
    match share {
        0 => access.is_random = false,
        100 => access.words.push(word.clone()),
        _ => access.words.extend([word.clone(), format!("-rs{share}")]),
    }
    let says = if share == 100 { word } else { format!("-rs{share}") };
    match share {
        0 if access.is_mixed() => job.say(Level::Refused, "percentage_random", APART),
        1..=99 if access.is_mixed() => {
            let says = format!("{says}: sequential I/Os follow the last I/O, not the last read or write");
            job.say(Level::Approximate, "percentage_random", says);
        }
        _ => job.say(Level::Exact, "percentage_random", says.clone()),
    }
    job.say(Level::Exact, "rw", format!("{}{says}", with_mix(access)));
    let is_free = job.is_on("norandommap", false) || access.is_uneven;
    let again = "a place may be hit again before all were hit once";
    job.say(Level::Exact, "norandommap", again);
    // With a distribution fio does not have such a map either.
    if !is_free && !job.has("random_distribution") {
        job.say_default(Level::Approximate, "norandommap=0", again);
    }
}

fn place_in_sequence(job: &mut Job<'_>, access: &mut Access, hole: Option<&str>) {
    let base = job.kb_base;
    if access.is_mixed() {
        job.say(Level::Refused, "rw", APART);
    }
    let word = match (hole, access.block_bytes) {
        (None, _) => "-s".to_owned(),
        (Some(hole), Some(bytes)) => {
            let Some(stride) = size(hole, base).ok().and_then(|hole| hole.checked_add(bytes)) else {
                job.say(Level::Refused, "rw", format!("steps of '{hole}' have no counterpart"));
                return;
            };
            format!("-s{}", short_size(stride))
        }
        (Some(_), None) => {
            job.say(Level::Refused, "rw", "a hole needs I/Os of one size");
            return;
        }
    };
    job.say(Level::Exact, "rw", format!("{}{word}", with_mix(access)));
    access.words.push(word);
}

/// The share of writes or discards, for the row of `rw`.
fn with_mix(access: &Access) -> String {
    match access {
        Access { discards: true, .. } => "--discard=100 ".to_owned(),
        Access { writes: true, read_percent, .. } => format!("-w{} ", 100 - read_percent),
        _ => String::new(),
    }
}

/// Sets the options for hot positions and zones.
fn distribution(job: &mut Job<'_>, access: &mut Access) {
    let Some(text) = job.text("random_distribution") else { return };
    let (law, parameter) = text.split_once(':').unwrap_or((&text, ""));
    let word = match law {
        _ if !access.is_random || (law == "random" && parameter.is_empty()) => None,
        "zipf" | "pareto" => Some(Ok(format!("--skew={law}:{parameter}"))),
        "zoned" => Some(zones(parameter, percent, 100).map(|zones| format!("-rdpct{zones}"))),
        "zoned_abs" => {
            let base = job.kb_base;
            Some(zones(parameter, |text| size(text, base), 0).map(|zones| format!("-rdabs{zones}")))
        }
        _ => Some(Err(format!("'{law}' has no counterpart (zipf, pareto, zoned and zoned_abs have)"))),
    };
    match word {
        None => job.say(Level::Exact, "random_distribution", "all places alike"),
        Some(Err(reason)) => job.say(Level::Refused, "random_distribution", reason),
        Some(Ok(word)) => {
            // The parser of our option checks the parameters.
            access.is_uneven = true;
            job.say(Level::Exact, "random_distribution", word.clone());
            access.words.push(word);
        }
    }
}

/// `50/5:30/15:20/`: shares of the I/Os, each with its part of the target; the target has `whole` parts.
fn zones<T>(text: &str, part: impl Fn(&str) -> Result<T, String>, whole: u64) -> Result<String, String>
where
    T: Into<u64>,
{
    if text.contains(',') {
        return Err("reads and writes have the same zones here".to_owned());
    }
    let (mut shares, mut lengths): (Vec<u32>, Vec<Option<u64>>) = (Vec::new(), Vec::new());
    for zone in text.splitn(101, ':') {
        let (share, length) = zone.split_once('/').ok_or_else(|| format!("'{zone}' is no zone"))?;
        shares.push(count(share).map_err(|_| format!("'{share}' is no share of the I/Os"))?);
        lengths.push(if length.is_empty() { None } else { Some(part(length)?.into()) });
    }
    if shares.iter().map(|share| u64::from(*share)).sum::<u64>() != 100 {
        return Err("the shares of the I/Os are not 100 %".to_owned());
    }
    let given = lengths.iter().flatten().try_fold(0u64, |sum, length| sum.checked_add(*length));
    let given = given.ok_or_else(|| "the zones are too large".to_owned())?;
    // The rest of the I/Os goes to the rest of the target, in both tools.
    let before_last = &lengths[..lengths.len() - 1];
    if before_last.contains(&None) {
        return Err("only the last zone may be without a length here".to_owned());
    }
    if whole > 0 && (given > whole || (!lengths.contains(&None) && given != whole)) {
        return Err(format!("the zones are {given} % of the target, not {whole} %"));
    }
    let words = shares.iter().zip(&lengths).map(|(share, length)| match length {
        Some(length) if whole > 0 => format!("{share}/{length}"),
        Some(length) => format!("{share}/{}", short_size(*length)),
        None => String::new(),
    });
    Ok(words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(":"))
}
