//! Readers of words and documents.

use cli::fio::{Import, Surroundings};
use cli::preset::{Machine, Preset, PresetRequest};
use cli::{Command, Environment, LineCommand};
use model::facts::{Facts, MissingFacts, RegularFacts, SystemFacts, TargetFacts, TargetKind};
use model::profile::Profile;
use model::result::RunResult;
use model::sweep::SeriesKind;
use model::topology::{Cpu, Topology};
use model::validate::{Purpose, validate};
use pages::html;
use plan::Choices;
use report::Subject;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// A place with every second file.
struct Place;

impl Environment for Place {
    fn milliseconds_since_boot(&self) -> u32 {
        4711
    }

    fn file_exists(&self, path: &Path) -> bool {
        path.as_os_str().len().is_multiple_of(2)
    }
}

/// Words, as they are parted by line ends.
fn words(bytes: &[u8]) -> Vec<OsString> {
    bytes
        .split(|&byte| byte == b'\n')
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

/// The command line. A profile that it makes is written as XML, and what is written can be read.
pub fn command_line(bytes: &[u8]) {
    match cli::parse(&words(bytes), &Place) {
        Ok(Command::Line(LineCommand::ShowProfile(request))) => written(&request.profile),
        Ok(Command::Line(LineCommand::Run(request))) => written(&request.profile),
        Ok(Command::Help(Some(topic))) => {
            assert!(cli::help::topic(&topic).is_some(), "help has every topic that is let through");
        }
        Ok(_) => {}
        Err(failure) => assert!(failure.exit_status == 3 && !failure.messages.is_empty(), "{failure:?}"),
    }
}

fn written(profile: &Profile) {
    let text = cli::write_profile(profile, profile.result_format);
    // Validation may refuse more than the command line does.
    let _ = cli::read_profile(text.as_bytes(), "written.xml");
}

/// The words behind each subcommand.
pub fn subcommand(bytes: &[u8]) {
    let words = words(bytes);
    for name in cli::subcommand::NAMES {
        let args: Vec<OsString> = std::iter::once(OsString::from(name)).chain(words.iter().cloned()).collect();
        match cli::parse(&args, &Place) {
            Ok(Command::Subcommand(_) | Command::Help(_)) => {}
            Ok(other) => panic!("{name}: {other:?}"),
            Err(failure) => assert!(failure.exit_status == 3 && !failure.messages.is_empty(), "{failure:?}"),
        }
    }
}

/// XML profiles.
pub fn profile(bytes: &[u8]) {
    match cli::read_profile(bytes, "fuzzed.xml") {
        Ok(profile) => {
            let _ = validate(&profile, Purpose::Run);
            written(&profile);
        }
        Err(faults) => assert!(!faults.is_empty(), "a refusal has a reason"),
    }
}

/// A command line or a profile up to the plan, on a machine of four CPUs.
pub fn planned(bytes: &[u8]) {
    let profile = match cli::parse(&words(bytes), &Place) {
        Ok(Command::Line(LineCommand::Run(request))) => request.profile,
        _ => match cli::read_profile(bytes, "fuzzed.xml") {
            Ok(profile) => profile,
            Err(_) => return,
        },
    };
    let questions = plan::questions(&profile);
    // A million of threads or targets is refused, but takes its time.
    if questions.len() > 64 || !validate(&profile, Purpose::Run).errors.is_empty() {
        return;
    }
    let facts = facts(questions.into_iter().map(|question| question.path));
    match plan::plan(&profile, &facts, &Choices::default()) {
        Ok(plan) => assert_eq!(plan.time_spans.len(), profile.time_spans.len()),
        Err(refusals) => assert!(!refusals.is_empty(), "a refusal has a reason"),
    }
}

fn facts(paths: impl Iterator<Item = std::path::PathBuf>) -> Facts {
    let cpu = |id| Cpu { id, core: id / 2, socket: 0, node: 0, class: 0, allowed: true };
    let mut system = SystemFacts {
        topology: Topology { cpus: (0..4).map(cpu).collect(), possible_cpus: 4, ..Topology::default() },
        page_size_bytes: 4096,
        open_files_max: 1024,
        ..SystemFacts::default()
    };
    system.memory.available_bytes = 64 << 20;
    let fact = |path: &std::path::PathBuf| {
        let kind = match path.as_os_str().len() % 3 {
            0 => TargetKind::Missing(MissingFacts { parent_exists: true, ..MissingFacts::default() }),
            _ => TargetKind::Regular(RegularFacts {
                size_bytes: 1 << 30,
                allocated_bytes: 1 << 30,
                ..RegularFacts::default()
            }),
        };
        TargetFacts::new(kind)
    };
    let targets = paths.map(|path| (path.clone(), fact(&path))).collect();
    Facts { system, targets, ..Facts::default() }
}

/// Presets.
pub fn preset(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(preset) = Preset::read(text) else { return };
    let request = PresetRequest {
        name: "fuzzed".to_owned(),
        words: vec!["-d1".to_owned(), "target".to_owned()],
        ..PresetRequest::default()
    };
    let machine = Machine { cpus: 4, sockets: 2, nodes: 3 };
    let _ = cli::planned_series::planned_series(&preset, &request, machine, &[], &Place);
    let _ = cli::preset::command_lines(&preset, &request, machine);
    let _ = cli::preset::profile(&preset, &request, machine, &Place);
    let _ = cli::preset::run_request(&preset, &request, machine, &Place);
}

/// Job files. One that is read is written, and what is written says the same.
pub fn job(bytes: &[u8]) {
    match cli::read_job(bytes, "fuzzed.toml") {
        Ok(job) => {
            let _ = validate(&job.profile, Purpose::Run);
            let text = cli::write_job(&job.profile, &[]);
            let again = cli::read_job(text.as_bytes(), "written.toml").expect("what is written can be read");
            let xml = |profile| cli::write_profile(profile, job.profile.result_format);
            assert_eq!(xml(&again.profile), xml(&job.profile));
        }
        Err(faults) => assert!(!faults.is_empty(), "a refusal has a reason"),
    }
}

/// Job files of fio. A load that is made of one is written as a job file of ours, and its table can be shown.
pub fn fio_job(bytes: &[u8]) {
    let _ = cli::fio::is_job_file(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let surroundings = Surroundings {
        variable: &|name| {
            if name.len().is_multiple_of(2) { Ok(name.to_owned()) } else { Err("no variable".to_owned()) }
        },
        include: &|name| if name == "itself" { Ok(text.to_owned()) } else { Ok("[more]\nrw=randrw\n".to_owned()) },
        bytes_of: &|path| path.len().is_multiple_of(2).then_some((1 << 30) + 1_000),
        cpus: 4,
    };
    if let Ok(import) = cli::fio::read_file(text, "fuzzed.fio", &[], &surroundings) {
        imported(&import);
    }
    let words: Vec<String> = text.lines().map(|line| format!("--{line}")).collect();
    let _ = cli::fio::read_words(&words, &[], &surroundings);
}

fn imported(import: &Import) {
    let commands = import.commands();
    let _ = import.table();
    assert!(import.summary().contains("options: "), "every job has an option or a default that is told");
    if import.is_refused() {
        return;
    }
    assert_eq!(commands.len(), import.spans.len());
    let job = import.job(&Place).expect("what was checked is a load");
    if validate(&job.profile, Purpose::Show).errors.is_empty() {
        let text = cli::write_job(&job.profile, &import.requirements);
        let again = cli::read_job(text.as_bytes(), "written.toml").expect("what is written can be read");
        assert_eq!(again.profile.time_spans.len(), job.profile.time_spans.len());
    }
}

/// Results of DiskSpd and of this program, as XML or text.
pub fn decoded_result(bytes: &[u8]) {
    if let Ok(result) = import::read(bytes) {
        shown(&result);
    }
    // Text reports of this program, too.
    if let Ok(result) = import::read_rounded(bytes) {
        shown(&result);
    }
}

/// Results as JSON.
pub fn result(bytes: &[u8]) {
    let _ = render::document::DocumentKind::detect(bytes);
    if let Ok(result) = import::json::read(bytes) {
        shown(&result);
    }
}

fn shown(result: &RunResult) {
    let mut out = Vec::new();
    let profile = cli::write_profile(&result.profile, result.profile.result_format);
    // Nothing can go wrong with writing to memory, but a result may hold what a form cannot say.
    for detail in [render::Detail::Short, render::Detail::Full] {
        let _ = render::text(result, detail, &mut out);
    }
    let _ = render::brief(result, &mut out);
    let _ = render::xml(result, &profile, &mut out);
    let _ = render::csv(result, &mut out);
    let _ = render::json::write(result, |_| None, &mut out);
    for (index, span_result) in result.time_spans.iter().enumerate() {
        let Some(measured) = &span_result.measured else { continue };
        let _ = render::slowest(Some(index + 1), measured, &mut out);
        if let Ok(part) = stats::part(measured, 1, None, &[500_000_000, 999_000_000]) {
            let _ = render::part(None, &part, &mut out);
        }
    }
}

/// A result of any form as a page with charts.
pub fn page(bytes: &[u8]) {
    let result = import::json::read(bytes).or_else(|_| import::read(bytes));
    if let Ok(result) = result {
        let _ = html(Subject::Run { name: "fuzzed", result: &result, devices: None }.report(|_| None));
    }
}

/// Files of the monitor, as a page with charts.
pub fn recording(bytes: &[u8]) {
    if let Ok(recording) = import::recording::read(bytes) {
        assert!(import::recording::is_recording(bytes), "what can be read is known for what it is");
        let _ = html(Subject::Recording { name: "fuzzed", recording: &recording }.report(|_| None));
    }
}

/// Files of `sweep` and `repeat`.
pub fn sweep(bytes: &[u8]) {
    let Ok(sweep) = import::json::read_sweep(bytes) else { return };
    let mut out = Vec::new();
    let report =
        Subject::Series { kind: SeriesKind::Sweep, name: "fuzzed", sweep: &sweep, example: None }.report(|_| None);
    let _ = render::report_text(&report, render::Detail::Full, &mut out);
    let _ = render::sweep_csv(&sweep, &mut out);
}

/// Sizes.
pub fn size(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for block_bytes in [1, 4096, u64::MAX] {
        if let Err(fault) = cli::size::parse(text, block_bytes) {
            assert!(!fault.to_string().is_empty(), "a fault has words");
        }
    }
}
