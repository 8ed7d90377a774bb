//! Builds a run from a preset and the user's arguments.

use super::counts::{self, Counts, GivenCounts, Machine};
use super::{Load, Preset, Required};
use crate::command_line::run_of;
use crate::options::Scope;
use crate::request::{Environment, RunRequest, ShortReport};
use crate::words::{given_too, row_of, split, with_all};
use model::latency_band::BandKind;
use model::preset::PresetRun;
use model::profile::{Profile, TimeSpan};
use model::requirement::Requirement;
use std::path::PathBuf;

/// The beginning of a target of profiles for `-X`, before its number.
const TEMPLATE: &str = "*";
/// Placeholder target if nothing is run.
const ANY: &str = "target";

/// A preset and the user's options for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetRequest {
    /// Its name or path.
    pub name: String,
    /// Numbers in place of those of the machine.
    pub counts: GivenCounts,
    /// Options and targets of a load.
    pub words: Vec<String>,
    /// Options of series of runs.
    pub choices: SeriesChoices,
}

/// Choices of `preset run` beside the options of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesChoices {
    /// `--dir`
    pub folder: Option<PathBuf>,
    /// `--resume`: continue in `--dir`.
    pub resume: bool,
    /// `--plan`
    pub plan_only: bool,
    /// `--quick`
    pub is_quick: bool,
    /// `--against`
    pub against: Option<String>,
    /// `--ssds`, `--copies`
    pub devices: Vec<String>,
}

/// The run of a preset with the user's options and targets: a timespan for each load.
///
/// # Errors
///
/// The error in the user's arguments or in the preset.
pub fn run_request(
    preset: &Preset,
    request: &PresetRequest,
    machine: Machine,
    environment: &dyn Environment,
) -> Result<RunRequest, String> {
    counts::check(preset, &request.name, request.counts)?;
    if !preset.series.is_empty() {
        return Err("the preset is series of runs, not a run; diskspd preset run runs them".to_owned());
    }
    let own = run_of(&request.words, environment)?;
    if own.profile.time_spans.len() != 1 {
        return Err("a preset takes the options and targets of a single timespan, not of several".to_owned());
    }
    let (options, targets) = split(&request.words);
    let user = User { preset, options, targets, counts: Counts::new(preset, request.counts, machine) };
    let mut spans = Vec::new();
    only_loads(&preset.options)?;
    for load in &preset.loads {
        only_loads(&load.options).map_err(|reason| format!("load '{}': {reason}", load.name))?;
        let span = user.span(load, environment).map_err(|reason| format!("load '{}': {reason}", load.name))?;
        spans.extend(std::iter::repeat_n(span, preset.repeats as usize));
    }
    let asks_for_report = options.iter().filter_map(|word| row_of(word)).any(|row| row.name == "-R");
    let mut run = RunRequest { profile: Profile { time_spans: spans, ..own.profile }, ..own };
    let is_acceptance = !preset.requirements.is_empty();
    if (preset.loads.len() > 1 || is_acceptance) && !asks_for_report && run.options.short_report.is_none() {
        run.options.short_report = Some(ShortReport::Loads);
    }
    require(preset, &mut run);
    let runs = || preset.loads.iter().flat_map(|load| std::iter::repeat_n(load, preset.repeats as usize));
    let bands: Vec<Option<BandKind>> = runs().map(|load| preset.bands(load)).collect();
    run.options.preset = Some(Box::new(PresetRun {
        name: request.name.clone(),
        title: preset.title.clone(),
        loads: runs().map(|load| user.name(load)).collect(),
        table: preset.table,
        has_latency_bands: bands.iter().any(Option::is_some),
        bands,
        is_judged: preset.judge,
        is_acceptance,
        repeats: preset.repeats,
    }));
    Ok(run)
}

/// Puts the requirements of the preset before those of the user, which replace them if they are about the same metric.
fn require(preset: &Preset, run: &mut RunRequest) {
    let span = run.profile.time_spans.first();
    // A name without a scope refers to the latency that the application waits for.
    let names = |requirement: &Requirement| {
        let resolved = span.and_then(|span| requirement.name.resolve(span).ok());
        resolved.unwrap_or_else(|| vec![requirement.name.clone()])
    };
    let typed: Vec<_> = run.options.criteria.requirements.iter().flat_map(names).collect();
    let of_preset = preset.requirements.iter().map(Required::requirement);
    let mut all: Vec<Requirement> = of_preset.filter(|of| names(of).iter().all(|name| !typed.contains(name))).collect();
    let needs_latency = all.iter().any(|requirement| requirement.name.metric.needs_latency());
    run.profile.time_spans.iter_mut().for_each(|span| span.measure_latency |= needs_latency);
    all.append(&mut run.options.criteria.requirements);
    run.options.criteria.requirements = all;
}

/// Refuses options of the whole run: they are given by the user only, and would have no effect in a preset.
pub(crate) fn only_loads(options: &str) -> Result<(), String> {
    let is_of_load = |word: &&str| row_of(word).is_none_or(|row| matches!(row.scope, Scope::Target | Scope::TimeSpan));
    match options.split_whitespace().find(|word| !is_of_load(word)) {
        Some(word) => Err(format!(
            "'{word}' cannot be given in a preset, since it is no option of a load; give it when the preset is run"
        )),
        None => Ok(()),
    }
}

/// The profile of a preset for `-X`, with templates for its target.
pub fn profile(
    preset: &Preset,
    request: &PresetRequest,
    machine: Machine,
    environment: &dyn Environment,
) -> Result<Profile, String> {
    let count = preset.loads.iter().map(Load::targets).max().unwrap_or(0).max(preset.targets.len()).max(1);
    let words = (1..=count).map(|number| format!("{ANY}{number}")).collect();
    let with_target = PresetRequest { words, ..request.clone() };
    let mut profile = run_request(preset, &with_target, machine, environment)?.profile;
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        let number = target.path.to_string_lossy().trim_start_matches(ANY).to_owned();
        target.path = PathBuf::from(format!("{TEMPLATE}{number}"));
    }
    Ok(profile)
}

/// 1 of `{target:1}`.
fn number_of_target(word: &str) -> Option<usize> {
    let number = word.strip_prefix("{target:")?.strip_suffix('}')?.parse().ok()?;
    (1..=TARGETS_MAX).contains(&number).then_some(number)
}

/// Maximum number of targets named by streams of a preset.
const TARGETS_MAX: usize = 16;

impl Load {
    /// Its options, including those of its streams and of the parts of its mix.
    pub(super) fn all_options(&self) -> impl Iterator<Item = &str> {
        let parts = self.mix.iter().map(|part| &part.options);
        let streams = self.streams.iter().map(|stream| &stream.options);
        std::iter::once(&self.options).chain(parts).chain(streams).map(String::as_str)
    }

    /// Number of targets that its streams name by number; 0 = all streams use all targets.
    pub(super) fn targets(&self) -> usize {
        let words = self.streams.iter().flat_map(|stream| stream.options.split_whitespace());
        words.filter_map(number_of_target).max().unwrap_or(0)
    }
}

/// A preset, and the arguments of the user.
pub(super) struct User<'a> {
    pub(super) preset: &'a Preset,
    pub(super) options: &'a [String],
    pub(super) targets: &'a [String],
    pub(super) counts: Counts,
}

impl User<'_> {
    /// The name of a load, with the user's options that override its own.
    fn name(&self, load: &Load) -> String {
        let rows = || load.all_options().flat_map(str::split_whitespace).filter_map(row_of);
        let is_changed = |word: &&String| row_of(word).is_some_and(|row| rows().any(|other| other.name == row.name));
        let changed: Vec<&str> = self.options.iter().filter(is_changed).map(String::as_str).collect();
        if changed.is_empty() { load.name.clone() } else { format!("{} ({})", load.name, changed.join(" ")) }
    }

    /// All options of a load outside of its parts.
    pub(super) fn options(&self, load: &Load) -> Vec<String> {
        let layers = [self.counts.typed(&load.options), self.options.to_vec()];
        layers.iter().fold(self.counts.typed(&self.preset.options), |options, layer| with_all(&options, layer))
    }

    /// The streams of a load as values of `--stream`, or the parts of its mix as values of `--mix`.
    pub(super) fn parts(&self, load: &Load) -> Vec<(&'static str, String)> {
        let streams = load.streams.iter().map(|of| ("--stream", of.name.to_string(), &of.options));
        let mix = load.mix.iter().map(|of| ("--mix", of.weight.to_string(), &of.options));
        let part = |(option, label, options): (&'static str, String, &String)| {
            let own = self.counts.typed(options);
            // Options outside of a part would be overridden by those inside.
            let over = given_too(self.options, &own);
            let words: Vec<String> = with_all(&own, &over).into_iter().map(|word| self.placed(word)).collect();
            (option, format!("{label}: {}", words.join(" ")))
        };
        streams.chain(mix).map(part).collect()
    }

    /// A target by its number, or the word itself.
    fn placed(&self, word: String) -> String {
        match number_of_target(&word) {
            None => word,
            Some(_) if self.targets.is_empty() && self.preset.targets.is_empty() => {
                format!("<{}>", word.trim_matches(['{', '}']).replace(':', " "))
            }
            Some(number) if self.targets.is_empty() => self.target(number),
            Some(number) => format!("\"{}\"", self.target(number)),
        }
    }

    /// A target by its number from 1: the first replaces one that was not given, a placeholder if there are none.
    pub(super) fn target(&self, number: usize) -> String {
        let given = self.targets.get(number - 1).or(self.targets.first());
        let name = || self.preset.targets.get(number - 1).map_or(ANY, String::as_str);
        given.cloned().unwrap_or_else(|| format!("<{}>", name()))
    }

    /// The arguments after the options and parts of a load.
    fn own_targets(&self, load: &Load) -> Result<Vec<String>, String> {
        let names = &self.preset.targets;
        if self.targets.len() > names.len() && !names.is_empty() {
            let count = names.len();
            return Err(format!("it takes 1 to {count} targets ({}), not {}", names.join(", "), self.targets.len()));
        }
        let numbered = load.targets();
        if numbered == 0 {
            return Ok(if names.is_empty() { self.targets.to_vec() } else { vec![self.target(load.target)] });
        }
        if numbered != self.targets.len() && names.is_empty() {
            return Err(format!("it needs {numbered} targets, not {}", self.targets.len()));
        }
        match self.targets.iter().find(|target| target.contains('"')) {
            Some(target) => Err(format!("'{target}': a name with quotation marks cannot be used here")),
            None => Ok(Vec::new()),
        }
    }

    fn span(&self, load: &Load, environment: &dyn Environment) -> Result<TimeSpan, String> {
        let parts = self.parts(load).into_iter().map(|(option, part)| format!("{option}={part}")).collect();
        let words = [self.options(load), parts, self.own_targets(load)?].concat();
        let spans = run_of(&words, environment)?.profile.time_spans;
        let mut span = spans.into_iter().next().ok_or_else(|| "the preset defines no workload".to_owned())?;
        // -c of the user applies to the data; logs have the size given in the preset.
        for target in span.targets.iter_mut().filter(|target| target.append.is_some()) {
            target.create_size = None;
        }
        Ok(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::BUILTIN;
    use crate::preset::command_lines;
    use crate::request::FakeEnv;
    use model::profile::ResultFormat;
    use model::validate::{Purpose, validate};

    const MACHINE: Machine = Machine { cpus: 4, sockets: 1, nodes: 1 };

    fn request(name: &str, words: &[&str]) -> PresetRequest {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        PresetRequest { name: name.to_owned(), words, ..PresetRequest::default() }
    }

    fn request_from(text: &str, words: &[&str]) -> Result<RunRequest, String> {
        Preset::read(text).and_then(|preset| run_request(&preset, &request("test", words), MACHINE, &FakeEnv))
    }

    #[test]
    fn options_of_the_whole_run_are_refused_in_a_preset() {
        for (of_preset, of_load, word) in [
            ("--json=r.json", "-b4K", "'--json=r.json' cannot be given in a preset"),
            ("-b4K", "--json r.json", "load 'one': '--json' cannot be given in a preset"),
            ("-b4K", "--overwrite", "load 'one': '--overwrite' cannot be given in a preset"),
            ("-Rxml", "-b4K", "'-Rxml' cannot be given in a preset"),
        ] {
            let text = format!(
                "form = \"diskspd-preset/1\"\ntitle = \"t\"\noptions = \"{of_preset}\"\nload = [{{ name = \"one\", options = \"{of_load}\" }}]"
            );
            let error = request_from(&text, &["a"]).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn every_preset_of_the_program_is_a_run_and_a_profile() {
        for builtin in BUILTIN {
            let preset = builtin.preset().unwrap_or_else(|reason| panic!("{}: {reason}", builtin.name));
            if !preset.series.is_empty() {
                continue;
            }
            let targets: &[&str] = if preset.loads[0].targets() == 2 { &["-c1G", "a", "b"] } else { &["-c1G", "a"] };
            let run = run_request(&preset, &request(builtin.name, targets), MACHINE, &FakeEnv)
                .unwrap_or_else(|reason| panic!("{}: {reason}", builtin.name));
            let findings = validate(&run.profile, Purpose::Run);
            assert_eq!((findings.errors, run.warnings), (vec![], vec![]), "{}", builtin.name);
            assert_eq!(run.profile.time_spans.len(), preset.loads.len() * preset.repeats as usize, "{}", builtin.name);
            let xml = profile(&preset, &request(builtin.name, &[]), MACHINE, &FakeEnv).unwrap();
            let written = crate::write_profile(&xml, ResultFormat::Xml);
            let read = crate::read_profile(written.as_bytes(), "x").unwrap();
            assert_eq!(crate::write_profile(&read, ResultFormat::Xml), written, "{}", builtin.name);
            for line in command_lines(&preset, &request(builtin.name, &[]), MACHINE).unwrap() {
                assert!(!line.words.contains('{'), "{}", builtin.name);
            }
        }
    }

    #[test]
    fn the_users_words_win_and_threads_follow_the_machine() {
        let text = r#"
            form = "diskspd-preset/1"
            title = "test"
            threads_max = 8
            options = "-d60 -b8K -t{threads}"
            load = [{ name = "one", options = "-w30 -r" }, { name = "two", options = "-b64K" }]
        "#;
        let run = request_from(text, &["-d3", "-c1M", "a", "b"]).unwrap();
        let [one, two] = &run.profile.time_spans[..] else { panic!("two loads") };
        let seen = |span: &TimeSpan| (span.duration_s, span.targets[1].block_size.0, span.targets[1].threads);
        assert_eq!((seen(one), seen(two)), ((3, 8 << 10, 4), (3, 64 << 10, 4)));
        assert_eq!((one.targets[0].write_percent, two.targets[0].write_percent), (30, 0));
        let named = request_from(text, &["-b4K", "a"]).unwrap().options.preset.unwrap().loads;
        assert_eq!(named, ["one", "two (-b4K)"]);
        assert!(
            run.options.short_report == Some(ShortReport::Loads)
                && request_from(text, &["-Rtext", "a"]).unwrap().options.short_report.is_none()
        );
        let preset = Preset::read(text).unwrap();
        let threads = |max_degree, cpus| {
            let counts = GivenCounts { max_degree, ..GivenCounts::default() };
            let request = PresetRequest { counts, ..request("test", &["a"]) };
            run_request(&preset, &request, Machine { cpus, ..MACHINE }, &FakeEnv).unwrap().profile.time_spans[0].targets
                [0]
            .threads
        };
        assert_eq!((threads(None, 64), threads(Some(12), 64), threads(Some(2), 64)), (8, 12, 2));
        let lines = command_lines(&preset, &request("test", &[]), MACHINE).unwrap();
        assert_eq!(lines[0].words, "-w30 -r -d60 -b8K -t4 <target>");
    }

    #[test]
    fn parts_of_a_mix_share_threads_and_have_weights() {
        let text = r#"
            form = "diskspd-preset/1"
            title = "test"
            [[load]]
            name = "mix"
            options = "-F2 -O8"
            mix = [{ weight = 3, options = "-b8K -r" }, { options = "-b64K -w100" }]
        "#;
        let run = request_from(text, &["a", "b"]).unwrap();
        let span = &run.profile.time_spans[0];
        assert_eq!((span.thread_count, span.request_count), (2, 8));
        let seen: Vec<_> =
            span.targets.iter().map(|t| (t.path.display().to_string(), t.block_size.0, t.weight)).collect();
        let expected = [("a", 8192, 3), ("b", 8192, 3), ("a", 65536, 1), ("b", 65536, 1)];
        assert_eq!(seen, expected.map(|(path, block, weight)| (path.to_owned(), block, weight)));
        let lines = command_lines(&Preset::read(text).unwrap(), &request("test", &[]), MACHINE).unwrap();
        assert_eq!(lines[0].words, "-F2 -O8 --mix '3: -b8K -r' --mix '1: -b64K -w100' <target>");
    }

    #[test]
    fn targets_with_names_are_chosen_by_load_and_the_first_stands_for_those_not_given() {
        let text = r#"
            form = "diskspd-preset/1"
            title = "test"
            targets = ["data", "log"]
            [[load]]
            name = "pages"
            source = "a paper"
            [[load]]
            name = "log"
            target = 2
            [[load]]
            name = "both"
            streams = [{ name = "p", options = "{target:1}" }, { name = "l", options = "-w100 {target:2}" }]
        "#;
        let paths = |words: &[&str]| -> Result<Vec<String>, String> {
            let paths = |span: &TimeSpan| {
                span.targets.iter().map(|of| of.path.display().to_string()).collect::<Vec<_>>().join(" ")
            };
            Ok(request_from(text, words)?.profile.time_spans.iter().map(paths).collect())
        };
        assert_eq!(paths(&["a"]).unwrap(), ["a", "a", "a a"]);
        assert_eq!(paths(&["a", "b c"]).unwrap(), ["a", "b c", "a b c"]);
        assert_eq!(paths(&["a", "b", "c"]), Err("load 'pages': it takes 1 to 2 targets (data, log), not 3".to_owned()));
        let lines = command_lines(&Preset::read(text).unwrap(), &request("test", &[]), MACHINE).unwrap();
        let words: Vec<&str> = lines.iter().map(|line| line.words.as_str()).collect();
        assert_eq!(words, ["<data>", "<log>", "--stream 'p: <data>' --stream 'l: -w100 <log>'"]);
        assert_eq!((lines[0].source.as_str(), lines[1].source.as_str()), ("a paper", ""));
        assert!(
            request_from(&text.replace("target = 2", "target = 3"), &["a"])
                .unwrap_err()
                .contains("load 'log': target 3")
        );
    }

    /// A preset with a bound on the flush and one on the rate.
    const BOUNDED: &str = r#"
        form = "diskspd-preset/1"
        title = "test"
        require = [
            { condition = "commit.p99 < 10ms", source = " the vendor " },
            { condition = "iops>=300", source = "own choice" },
        ]
        load = [{ name = "log", options = "-w100 --fdatasync-every=1" }]
    "#;

    #[test]
    fn bounds_are_required_and_replaced_by_the_users_on_the_same_metric() {
        let required = |words: &[&str]| -> Vec<(String, String)> {
            let run = request_from(BOUNDED, words).unwrap();
            assert!(run.profile.time_spans[0].measure_latency, "{words:?}");
            assert!(run.options.short_report == Some(ShortReport::Loads) && run.options.preset.unwrap().is_acceptance);
            run.options.criteria.requirements.into_iter().map(|of| (of.to_string(), of.basis)).collect()
        };
        let vendors = || ("commit.p99<10ms".to_owned(), "the vendor".to_owned());
        let own = || ("iops>=300".to_owned(), "own choice".to_owned());
        let users = |text: &str| (text.to_owned(), String::new());
        assert_eq!(required(&["a"]), [vendors(), own()]);
        assert_eq!(required(&["--require=p50<1ms", "a"]), [vendors(), own(), users("p50<1ms")]);
        assert_eq!(required(&["--require=iops>9", "a"]), [vendors(), users("iops>9")]);
        // Alone it refers to the latency that the application waits for: the commit.
        assert_eq!(required(&["--require", "p99<2ms", "a"]), [own(), users("p99<2ms")]);
        assert!(request_from(BOUNDED, &["-Rtext", "a"]).unwrap().options.short_report.is_none());
        let lines = command_lines(&Preset::read(BOUNDED).unwrap(), &request("test", &[]), MACHINE).unwrap();
        let words = "-w100 --fdatasync-every=1 --require 'commit.p99<10ms' --require 'iops>=300' <target>";
        assert_eq!(lines[0].words, words);
    }

    #[test]
    fn bounds_that_say_nothing_are_refused_with_their_place() {
        let long = "x".repeat(401);
        for (before, after, expected) in [
            ("commit.p99 < 10ms", "commit.p98<1ms", "line 5, column 27: unknown metric 'commit.p98'"),
            ("commit.p99 < 10ms", "commit.p99<10", "line 5, column 27: '10' is not a bound for commit.p99"),
            ("\" the vendor \"", "\" \"", "line 5, column 57: source must be one line of 1 to 400 bytes"),
            (" the vendor ", &long, "source must be one line"),
            (" the vendor ", "a\\nb", "source must be one line"),
            (", source = \"own choice\"", "", "line 6, column 13: missing field `source`"),
            ("source = \"own", "why = 1, source = \"own", "unknown field `why`"),
        ] {
            let text = BOUNDED.replace(before, after);
            assert_ne!(text, BOUNDED);
            let reason = Preset::read(&text).expect_err(&text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let whole = |rest: &str| format!("form = \"diskspd-preset/1\"\ntitle = \"t\"\n{rest}");
        for (text, words, expected) in [
            ("form = 1".to_owned(), &["a"][..], "expected a string"),
            (whole("colour = 1\nload = []"), &["a"], "unknown field `colour`"),
            (whole("load = []"), &["a"], "either [[load]] or [[series]]"),
            (whole("").replace("preset/1", "preset/9") + "load = []", &["a"], "(expected: diskspd-preset/1)"),
            (whole("load = [{ name = \"x\", options = \"-q\" }]"), &["a"], "load 'x': invalid option: '-q'"),
            (
                whole("load = [{ name = \"x\", mix = [{ options = \"-d3\" }] }]"),
                &["a"],
                "load 'x': mix '1': '-d3' is not an option of a target",
            ),
            (
                whole("load = [{ name = \"x\", mix = [{ options = \"-w1\", weight = 0 }] }]"),
                &["a"],
                "weight must be above 0",
            ),
            (whole("load = [{ name = \"x\" }]"), &["-d3"], "at least one target"),
            (whole("load = [{ name = \"x\" }]"), &["-Xp.xml"], "an XML profile (-X)"),
        ] {
            let reason = request_from(&text, words).expect_err(&text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }
}
