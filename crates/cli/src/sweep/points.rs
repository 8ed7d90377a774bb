//! The points of a sweep: every combination of values, as a separate command line.

use super::axis::Axis;
use crate::command_line::run_of;
use crate::request::{Environment, RunRequest};
use crate::words::{row_of, split as split_words, with_all, without};
use model::limits::SWEEP_POINTS_MAX;
use model::profile::{EndAfter, ResultFormat, StreamName, TimeSpan};
use model::sweep::{Point, Setting};
use model::units::counted;
use std::path::Path;

/// A point and its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPoint {
    /// The values of the varied options.
    pub point: Point,
    /// The words of its command line, without the program's name.
    pub words: Vec<String>,
    /// The same, parsed.
    pub request: RunRequest,
}

impl PlannedPoint {
    /// The words that repeat a run of it without its `--rate`.
    pub fn words_without_rate(&self, seed: u32) -> Vec<String> {
        without(&self.words_with_seed(seed), |row| ["--rate", "--rate-process"].contains(&row.name))
    }

    /// The words that repeat a run of it with this seed.
    pub fn words_with_seed(&self, seed: u32) -> Vec<String> {
        let spans = &self.request.profile.time_spans;
        if spans.iter().all(|span| span.random_seed == seed) {
            return self.words.clone();
        }
        let (options, targets) = split_words(&self.words);
        [with_all(options, &[format!("-z{seed}")]), targets.to_vec()].concat()
    }
}

/// The varied options of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variation {
    pub(crate) axes: Vec<Axis>,
    /// `--total-depth`: -t and -o over the whole-number divisors.
    pub(crate) total_depth: Option<u32>,
    /// `--threads`: only these numbers, per target; all divisors if empty.
    pub(crate) threads: Vec<u32>,
    /// `--files`: the volume split over this number of files.
    pub(crate) files: Vec<u32>,
}

/// The pseudo-option of `--files`.
const FILES: &str = "files";
/// The option of hosts.
const ON: &str = "on";

/// All points of a grid, the last axis changing fastest.
///
/// # Errors
///
/// The error in the base, or in the first impossible point.
pub(crate) fn points(
    base: &[String],
    variation: &Variation,
    environment: &dyn Environment,
) -> Result<Vec<PlannedPoint>, String> {
    let targets = variation.axes.iter().find(|axis| axis.name == Setting::TARGET).and_then(|axis| axis.values.first());
    let base = Base::read(&with_target(base, targets, "--vary target=...")?, environment)?;
    let is_on_varied = variation.axes.iter().any(|axis| axis.name == ON);
    if is_on_varied && base.request.options.fleet.as_ref().is_some_and(|fleet| !fleet.hosts.is_empty()) {
        return Err("--on is given, so hosts are the same for all runs; leave it out to vary them".to_owned());
    }
    let columns = columns(&base, variation)?;
    let count = columns.iter().try_fold(1_usize, |count, column| count.checked_mul(column.len()));
    if count.is_none_or(|count| count > SWEEP_POINTS_MAX) {
        return Err(format!("more than {SWEEP_POINTS_MAX} points"));
    }
    let mut grid: Vec<Vec<Setting>> = vec![Vec::new()];
    for column in &columns {
        let with = |settings: &Vec<Setting>| {
            let settings = settings.clone();
            column.iter().map(move |more| settings.iter().chain(more).cloned().collect()).collect::<Vec<_>>()
        };
        grid = grid.iter().flat_map(with).collect();
    }
    grid.into_iter().map(|settings| base.point(settings, environment)).collect()
}

/// A load with a target, if `option` gives its targets.
fn with_target(words: &[String], target: Option<&String>, option: &str) -> Result<Vec<String>, String> {
    match (target, split_words(words).1) {
        (None, _) => Ok(words.to_vec()),
        (Some(target), []) => Ok([words, std::slice::from_ref(target)].concat()),
        (Some(_), [given, ..]) => Err(format!("'{given}': the targets are those of {option}; put none behind --")),
    }
}

/// One side of a pair: its differences from the base.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Side {
    /// Options, typed in one word.
    pub(crate) options: String,
    /// Its target instead of the base's.
    pub(crate) target: Option<String>,
    /// Its hosts instead of the base's.
    pub(crate) on: Option<String>,
}

impl Side {
    /// The differences as typed.
    pub(crate) fn shown(&self) -> String {
        Setting::typed_side(self.on.as_deref(), Some(&self.options), self.target.as_deref())
    }
}

/// Two sides: the base with the differences of each.
pub(crate) fn sides(
    base: &[String],
    sides: &[Side; 2],
    environment: &dyn Environment,
) -> Result<Vec<PlannedPoint>, String> {
    let base = with_target(base, sides[0].target.as_ref(), "--target-a and --target-b")?;
    let base = Base::read(&base, environment)?;
    let point = |(name, side): (&str, &Side)| {
        let mut over: Vec<String> = side.options.split_whitespace().map(str::to_owned).collect();
        if !split_words(&over).1.is_empty() {
            return Err(format!(
                "side {name}: '{}': only options can differ; put the targets after --, or give --target-a and --target-b",
                side.options
            ));
        }
        over.extend(side.on.iter().map(|hosts| format!("--{ON}={hosts}")));
        let targets = side.target.clone().map_or_else(|| base.targets.clone(), |target| vec![target]);
        let words = [with_all(&base.options, &over), targets].concat();
        let request = run_of(&words, environment).map_err(|reason| format!("side {name}: {reason}"))?;
        check_run(&request).map_err(|reason| format!("side {name}: {reason}"))?;
        base.check_hosts(&request, side.on.is_some())?;
        let settings = vec![Setting { name: Setting::SIDE.to_owned(), value: name.to_owned() }];
        Ok(PlannedPoint { point: Point { settings }, words, request })
    };
    ["A", "B"].into_iter().zip(sides).map(point).collect()
}

/// The streams of a load: each alone, then all together.
pub(crate) fn streams(words: &[String], environment: &dyn Environment) -> Result<Vec<PlannedPoint>, String> {
    let mut words = words.to_vec();
    let mut base = Base::read(&words, environment)?;
    let is_measured = |base: &Base| base.request.profile.time_spans.iter().all(|span| span.measure_latency);
    if !is_measured(&base) {
        words.insert(0, "-L".to_owned());
        base = Base::read(&words, environment)?;
    }
    if base.request.options.fleet.is_some() {
        return Err("interference runs its streams on this machine only; leave out --on".to_owned());
    }
    let spans = &base.request.profile.time_spans;
    let names: Vec<StreamName> = spans.iter().flat_map(TimeSpan::streams).map(|(name, _)| name.clone()).collect();
    if names.len() < 2 {
        return Err("interference needs two or more streams; give each with --stream".to_owned());
    }
    if spans.iter().any(|span| span.rate_iops.is_some()) {
        return Err(
            "--rate is shared by all streams, and one alone would get all of it: limit each with -g inside --stream"
                .to_owned(),
        );
    }
    if let Some(span) = spans.iter().find(|span| span.end_after != EndAfter::default()) {
        return Err(format!("all runs must have the same duration: leave out {}", span.end_after));
    }
    let point = |value: String| Point { settings: vec![Setting { name: Setting::STREAM.to_owned(), value }] };
    let alone = |name: &StreamName| {
        let mut request = base.request.clone();
        for target in request.profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
            // It is created before the first run.
            target.create_size = None;
        }
        for span in &mut request.profile.time_spans {
            span.targets.retain(|target| target.stream.as_ref() == Some(name));
        }
        PlannedPoint { point: point(name.to_string()), words: base.words_of_stream(name, &request), request }
    };
    let mut points: Vec<PlannedPoint> = names.iter().map(alone).collect();
    let all: Vec<&str> = names.iter().map(StreamName::as_str).collect();
    points.push(PlannedPoint { point: point(all.join("+")), words, request: base.request.clone() });
    Ok(points)
}

/// The settings of each varied option.
fn columns(base: &Base, variation: &Variation) -> Result<Vec<Vec<Vec<Setting>>>, String> {
    let mut columns: Vec<Vec<Vec<Setting>>> = Vec::new();
    if !variation.files.is_empty() {
        let setting = |files: &u32| vec![Setting { name: FILES.to_owned(), value: files.to_string() }];
        columns.push(variation.files.iter().map(setting).collect());
    }
    let (of_targets, others): (Vec<&Axis>, Vec<&Axis>) =
        variation.axes.iter().partition(|axis| axis.name == Setting::TARGETS && variation.total_depth.is_some());
    if let Some(total) = variation.total_depth {
        let divided = |targets| base.divisions(total, targets, &variation.threads);
        let mut divisions = Vec::new();
        for setting in of_targets.iter().flat_map(|axis| (0..axis.values.len()).map(|index| axis.setting(index))) {
            // It was parsed as a number before.
            let count = setting.value.parse().unwrap_or(1);
            let with_count = |own: Vec<Setting>| [vec![setting.clone()], own].concat();
            divisions.extend(divided(count)?.into_iter().map(with_count));
        }
        columns.push(if of_targets.is_empty() { divided(base.targets.len() as u32)? } else { divisions });
    }
    for axis in others {
        columns.push((0..axis.values.len()).map(|index| vec![axis.setting(index)]).collect());
    }
    Ok(columns)
}

/// The command line to be varied.
struct Base {
    options: Vec<String>,
    targets: Vec<String>,
    request: RunRequest,
}

impl Base {
    fn read(words: &[String], environment: &dyn Environment) -> Result<Self, String> {
        let request = run_of(words, environment)?;
        check_run(&request)?;
        let (options, targets) = split_words(words);
        Ok(Self { options: options.to_vec(), targets: targets.to_vec(), request })
    }

    /// Refuses points on different hosts: hosts are connected, and given their permissions, once for all runs on them.
    fn check_hosts(&self, request: &RunRequest, is_varied: bool) -> Result<(), String> {
        let (own, of_all) = (&request.options, &self.request.options);
        if own.fleet != of_all.fleet && !is_varied {
            return Err("--on and what belongs to it are the same for all runs; put them before --".to_owned());
        }
        if own.fleet.is_some() && own.destroy != of_all.destroy {
            return Err("with --on, --destroy is the same for all runs; put it behind --, with the load".to_owned());
        }
        Ok(())
    }

    /// The command line of one stream.
    fn words_of_stream(&self, name: &StreamName, request: &RunRequest) -> Vec<String> {
        let is_other = |text: &str| text.split(':').next().unwrap_or_default().trim() != name.as_str();
        let mut words = Vec::new();
        let mut options = self.options.iter();
        while let Some(word) = options.next() {
            match word.strip_prefix("--stream") {
                Some("") => {
                    if let Some(text) = options.next().filter(|text| !is_other(text)) {
                        words.extend([word.clone(), text.clone()]);
                    }
                }
                Some(text) if is_other(text.trim_start_matches('=')) => {}
                _ => words.push(word.clone()),
            }
        }
        let spans = &request.profile.time_spans;
        let is_used = |path: &&String| {
            spans.iter().flat_map(|span| &span.targets).any(|target| target.path.as_os_str() == path.as_str())
        };
        words.extend(self.targets.iter().filter(is_used).cloned());
        words
    }

    /// Threads and outstanding I/Os per target and thread whose product over this many targets is `total`; only for
    /// these numbers of threads, if there are any.
    fn divisions(&self, total: u32, targets: u32, threads: &[u32]) -> Result<Vec<Vec<Setting>>, String> {
        if self.request.profile.time_spans.iter().any(|span| span.thread_count > 0) {
            return Err("--total-depth varies -t and -o and cannot be combined with -F".to_owned());
        }
        if self.request.profile.time_spans.iter().any(|span| !span.streams().is_empty()) {
            return Err(
                "--total-depth varies -t and -o of all targets alike and cannot be used with --stream".to_owned()
            );
        }
        let each = total / targets.max(1);
        if total == 0 || each * targets != total {
            return Err(format!("--total-depth {total} cannot be divided evenly among {targets} targets"));
        }
        if let Some(threads) = threads.iter().find(|threads| !each.is_multiple_of(**threads)) {
            return Err(format!(
                "--threads {threads}: the queue depth {each} of each target cannot be divided evenly among {}",
                counted(*threads as usize, "thread")
            ));
        }
        let setting = |name: &str, value: u32| Setting { name: name.to_owned(), value: value.to_string() };
        let divisors = (1..=each).filter(|threads| each.is_multiple_of(*threads)).collect::<Vec<_>>();
        let threads = if threads.is_empty() { &divisors } else { threads };
        Ok(threads.iter().map(|threads| vec![setting("t", *threads), setting("o", each / threads)]).collect())
    }

    fn point(&self, settings: Vec<Setting>, environment: &dyn Environment) -> Result<PlannedPoint, String> {
        let mut options = self.options.clone();
        let mut targets = self.targets.clone();
        let shown = Setting::typed_all(&settings);
        for setting in &settings {
            match setting.name.as_str() {
                FILES => {}
                Setting::TARGET => targets = vec![setting.value.clone()],
                Setting::TARGETS => {
                    let count = setting.value.parse().unwrap_or(usize::MAX);
                    if count > self.targets.len() {
                        return Err(format!("{shown}: the load has only {}", counted(self.targets.len(), "target")));
                    }
                    targets.truncate(count);
                }
                _ => options = varied(&options, setting),
            }
        }
        if let Some(files) = settings.iter().find(|setting| setting.name == FILES) {
            let request = run_of(&[&options[..], &targets[..]].concat(), environment);
            let split = request.and_then(|request| split(&options, &request, &files.value));
            (options, targets) = split.map_err(|reason| format!("{shown}: {reason}"))?;
        }
        let words = [options, targets].concat();
        let request = run_of(&words, environment).map_err(|reason| format!("{shown}: {reason}"))?;
        check_run(&request).map_err(|reason| format!("{shown}: {reason}"))?;
        self.check_hosts(&request, settings.iter().any(|setting| setting.name == ON))?;
        Ok(PlannedPoint { point: Point { settings }, words, request })
    }
}

/// The options with another value of one of them, without those excluded by that value.
fn varied(options: &[String], setting: &Setting) -> Vec<String> {
    const RANDOM: [&str; 3] = ["-r", "-rs", "-rd"];
    let typed = match setting.value.as_str() {
        Setting::ON | Setting::OFF => Setting::dashed(&setting.name),
        _ => setting.typed(),
    };
    let excluded: &[&str] = match row_of(&typed).map(|row| row.name) {
        Some("-s") => &RANDOM,
        Some("-r" | "-rs") => &["-s"],
        _ => &[],
    };
    // A given alignment remains.
    let is_random = |word: &String| row_of(word).is_some_and(|row| row.name == "-r");
    let is_kept = typed == "-r" && options.iter().any(is_random);
    let options = without(options, |row| excluded.contains(&row.name));
    match setting.value.as_str() {
        Setting::OFF => without(&options, |row| row_of(&typed).is_some_and(|other| other.name == row.name)),
        _ if is_kept => options,
        _ => with_all(&options, &[typed]),
    }
}

/// Refuses options of a single run.
fn check_run(request: &RunRequest) -> Result<(), String> {
    if request.options.plan_only {
        return Err("--plan is for a single run; leave it out".to_owned());
    }
    if let Some(option) = request.options.outputs.options().next() {
        return Err(format!("omit {option}: the results are written to --dir"));
    }
    if let Some(option) = request.options.live.asked().next() {
        return Err(format!("{option} is for a single run; leave it out"));
    }
    if request.profile.result_format == ResultFormat::Xml {
        return Err("omit -Rxml: the results are written to --dir, as JSON".to_owned());
    }
    Ok(())
}

/// One volume as several files of equal size, with the same depth over all.
fn split(options: &[String], request: &RunRequest, files: &str) -> Result<(Vec<String>, Vec<String>), String> {
    let Some([target]) = request.profile.time_spans.first().map(|span| &span.targets[..]) else {
        return Err("--files needs exactly one target".to_owned());
    };
    if target.stream.is_some() {
        return Err("--files cannot be used with --stream".to_owned());
    }
    let path = target.path.display().to_string();
    let Some(size) = target.create_size else {
        return Err(format!("--files needs -c<size> for '{path}'"));
    };
    // It was derived from a number.
    let count: u32 = files.parse().map_err(|_| format!("'{files}' is not a valid number of files"))?;
    let block = target.block_size.0.max(1);
    let has_pool = request.profile.time_spans.iter().any(|span| span.thread_count > 0);
    let threads = if has_pool { 1 } else { target.threads };
    let (threads, outstanding) = shared(threads, target.outstanding, count).ok_or_else(|| {
        format!(
            "queue depth {} cannot be divided evenly among {count} files; use {}",
            threads * target.outstanding,
            if has_pool {
                format!("-o{}", target.outstanding.max(1) * count)
            } else {
                format!("-t{}", threads * count)
            }
        )
    })?;
    let each = size.0 / u64::from(count) / block * block;
    if each == 0 {
        return Err(format!("{} cannot hold {count} files of at least one block", counted(size.0, "byte")));
    }
    let setting = |name: &str, value: u64| Setting { name: name.to_owned(), value: value.to_string() };
    let mut settings = vec![setting("o", outstanding.into()), setting("c", each)];
    // Only changed options are included.
    if threads != target.threads && !has_pool {
        settings.insert(0, setting("t", threads.into()));
    }
    let options = with_all(options, &settings.iter().map(Setting::typed).collect::<Vec<_>>());
    let targets = if count == 1 { vec![path] } else { (1..=count).map(|n| part(&path, n, count)).collect() };
    Ok((options, targets))
}

/// Threads and outstanding I/Os of each of several files, so that their total depth is the same: threads are divided
/// first, then outstanding I/Os, as in `DiskSpd`'s guides. `None` if there is a remainder.
fn shared(threads: u32, outstanding: u32, files: u32) -> Option<(u32, u32)> {
    let by_threads = common_divisor(threads, files);
    let left = files / by_threads;
    outstanding.is_multiple_of(left).then(|| (threads / by_threads, outstanding / left))
}

/// Greatest common divisor; at least 1.
fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one.max(1) } else { common_divisor(other, one % other) }
}

/// `test.dat` -> `test-2of4.dat`
fn part(path: &str, number: u32, count: u32) -> String {
    let suffix = Path::new(path).extension().map(|suffix| format!(".{}", suffix.display()));
    let suffix = suffix.unwrap_or_default();
    let stem = path.strip_suffix(&suffix).unwrap_or(path);
    format!("{stem}-{number}of{count}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::FakeEnv;

    fn planned(base: &str, variation: &Variation) -> Result<Vec<String>, String> {
        let base: Vec<String> = base.split_whitespace().map(str::to_owned).collect();
        let points = points(&base, variation, &FakeEnv)?;
        Ok(points.into_iter().map(|point| point.words.join(" ")).collect())
    }

    fn axes(axes: &[&str]) -> Variation {
        Variation { axes: axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect(), ..Variation::default() }
    }

    #[test]
    fn every_combination_replaces_what_the_base_says() {
        let lines = planned("-o4 -b8K --rate 7 -r a.dat", &axes(&["o=1,2", "rate=100,200"])).unwrap();
        assert_eq!(
            lines,
            [
                "--rate=100 -o1 -b8K -r a.dat",
                "--rate=200 -o1 -b8K -r a.dat",
                "--rate=100 -o2 -b8K -r a.dat",
                "--rate=200 -o2 -b8K -r a.dat",
            ]
        );
    }

    #[test]
    fn the_request_of_a_point_is_that_of_its_words() {
        let base: Vec<String> = ["-b4K", "-r", "-w10", "a.dat"].map(str::to_owned).to_vec();
        let points = points(&base, &axes(&["w=0..100/50"]), &FakeEnv).unwrap();
        let shares: Vec<u32> =
            points.iter().map(|point| point.request.profile.time_spans[0].targets[0].write_percent).collect();
        assert_eq!(shares, [0, 50, 100]);
        assert_eq!(points[1].point.settings, [Setting { name: "w".into(), value: "50".into() }]);
    }

    #[test]
    fn a_run_is_repeated_with_its_own_seed() {
        let base: Vec<String> = ["-z5", "-b4K", "a.dat"].map(str::to_owned).to_vec();
        let points = points(&base, &axes(&["o=2"]), &FakeEnv).unwrap();
        assert_eq!(points[0].words_with_seed(5).join(" "), "-o2 -z5 -b4K a.dat");
        assert_eq!(points[0].words_with_seed(7).join(" "), "-z7 -o2 -b4K a.dat");
        let base: Vec<String> = ["--rate-process", "poisson", "-b4K", "a.dat"].map(str::to_owned).to_vec();
        let points = super::points(&base, &axes(&["rate=100"]), &FakeEnv).unwrap();
        assert_eq!(points[0].words_without_rate(7).join(" "), "-z7 -b4K a.dat");
    }

    #[test]
    fn a_total_depth_is_divided_over_threads() {
        let variation = |total| Variation { total_depth: Some(total), ..Variation::default() };
        let lines = planned("-t9 -b8K a.dat", &variation(6)).unwrap();
        assert_eq!(lines, ["-o6 -t1 -b8K a.dat", "-o3 -t2 -b8K a.dat", "-o2 -t3 -b8K a.dat", "-o1 -t6 -b8K a.dat"]);
        assert_eq!(planned("a b", &variation(4)).unwrap(), ["-o2 -t1 a b", "-o1 -t2 a b"]);
        assert!(planned("a b", &variation(5)).unwrap_err().contains("cannot be divided evenly among 2 targets"));
        assert!(planned("-F2 a", &variation(4)).unwrap_err().contains("combined with -F"));
    }

    #[test]
    fn of_the_threads_that_divide_a_total_depth_some_can_be_chosen() {
        let variation = |targets: &[&str]| Variation { total_depth: Some(120), threads: vec![40, 60], ..axes(targets) };
        assert_eq!(planned("-b8K a", &variation(&[])).unwrap(), ["-o3 -t40 -b8K a", "-o2 -t60 -b8K a"]);
        let of_both = planned("-b8K a b", &Variation { threads: vec![20], ..variation(&["targets=1,2"]) }).unwrap();
        assert_eq!(of_both, ["-o6 -t20 -b8K a", "-o3 -t20 -b8K a b"], "equal depth over the targets that are used");
        assert!(planned("a", &Variation { threads: vec![50], ..variation(&[]) }).unwrap_err().contains("--threads 50"));
    }

    #[test]
    fn patterns_replace_what_they_exclude() {
        let lines = planned("-r4K -rs30 -b8K a", &axes(&["pattern=seq,random,interlocked"])).unwrap();
        assert_eq!(lines, ["-s -b8K a", "-r4K -rs30 -b8K a", "-si -b8K a"]);
        assert_eq!(planned("-si64K a", &axes(&["pattern=seq,random"])).unwrap(), ["-s a", "-r a"]);
        assert_eq!(
            planned("-r4K -w30 a", &axes(&["rs=0..100/50"])).unwrap(),
            ["-s -w30 a", "-rs50 -r4K -w30 a", "-rs100 -r4K -w30 a"]
        );
        assert_eq!(planned("-r -s4K a", &axes(&["si=4K,8K"])), Err(planned("-r -s4K a", &axes(&["o=1"])).unwrap_err()));
        let ranges = planned("-r a", &axes(&["rd=pct90/10:5/5;abs90/1G"])).unwrap();
        assert_eq!(ranges, ["-rdpct90/10:5/5 -r a", "-rdabs90/1G -r a"]);
    }

    #[test]
    fn an_option_can_be_left_out() {
        assert_eq!(planned("-n -o2 a", &axes(&["n=off,on"])).unwrap(), ["-o2 a", "-n -o2 a"]);
        assert_eq!(planned("--rate 5 a", &axes(&["rate=off,100"])).unwrap(), ["a", "--rate=100 a"]);
    }

    #[test]
    fn targets_vary_by_name_and_by_number() {
        assert_eq!(planned("-b4K", &axes(&["target=a,b"])).unwrap(), ["-b4K a", "-b4K b"]);
        assert!(planned("-b4K c", &axes(&["target=a,b"])).unwrap_err().contains("put none behind --"));
        assert_eq!(planned("-b4K a b c", &axes(&["targets=1..3*2"])).unwrap(), ["-b4K a", "-b4K a b"]);
    }

    #[test]
    fn files_share_size_and_depth() {
        let variation = Variation { files: vec![1, 2], ..Variation::default() };
        let lines = planned("-c1M -o8 -t2 dir.d/a.dat", &variation).unwrap();
        assert_eq!(lines, ["-o8 -c1048576 -t2 dir.d/a.dat", "-t1 -o8 -c524288 dir.d/a-1of2.dat dir.d/a-2of2.dat"]);
        let line = |base: &str, files| {
            planned(base, &Variation { files: vec![files], ..Variation::default() }).unwrap().remove(0)
        };
        assert_eq!(line("-c1M -o8 -t3 a", 2), "-o4 -c524288 -t3 a-1of2 a-2of2", "threads cannot be divided");
        let four = "a-1of4 a-2of4 a-3of4 a-4of4";
        assert_eq!(line("-c1M -o8 -t6 a", 4), format!("-t3 -o4 -c262144 {four}"), "first threads, then the rest");
        assert_eq!(line("-c1M -o8 -F6 a", 4), format!("-o2 -c262144 -F6 {four}"), "threads that all files share");
        let reason = |base| planned(base, &variation).unwrap_err();
        assert!(reason("-o8 a").contains("--files needs -c<size> for 'a'"));
        assert!(reason("-c1M -o3 a").contains("use -t2"));
        assert!(reason("-c1M -o3 -F2 a").contains("use -o6"));
        assert!(reason("-c1M -o2 a b").contains("exactly one target"));
    }

    #[test]
    fn what_cannot_be_varied_is_said() {
        for (base, axis, expected) in [
            ("-Xp.xml", "o=1", "an XML profile (-X)"),
            ("", "o=1", "the workload is missing"),
            ("-?", "o=1", "does not start a run"),
            ("--plan a", "o=1", "--plan"),
            ("--json=x a", "o=1", "--json"),
            ("-Rxml a", "o=1", "-Rxml"),
            ("--live-json=x a", "o=1", "--live-json is for a single run"),
            ("a", "o=1..2000", "more than 1024"),
            ("a", "w=50,101", "-w101"),
            ("-q a", "o=1", "-q"),
            ("--on=h1 --destroy=x -w100 /dev/sdb", "destroy=y", "with --on, --destroy is the same for all runs"),
        ] {
            let failure = Axis::parse(axis)
                .and_then(|axis| planned(base, &Variation { axes: vec![axis], ..Variation::default() }));
            let reason = failure.expect_err(base);
            assert!(reason.contains(expected), "{base} {axis}: {reason}");
        }
    }
}
