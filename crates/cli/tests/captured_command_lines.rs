//! Behaviour of DiskSpd 2.2.0 for 363 command lines, compared with ours.
//!
//! `tests/data/command-lines.jsonl` holds one command line a row, captured from the original: `valid` with the profile
//! that `-Rpxml` prints, `invalid` with exit status and stderr, `run` with the outcome of a real run. Every row is
//! tested, belongs to the tests of whole runs, or differs intentionally; the counts at the end ensure that none is
//! missed.

#![allow(clippy::unwrap_used)] // A faulty data file may stop the tests.

use cli::{
    Command, Environment, LineCommand, LoadRequest, LoadedProfile, ParseFailure, XmlFault, parse, read_profile,
    write_profile,
};
use model::profile::Profile;
use model::validate::{Purpose, validate};
use roxmltree::{Document, Node};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

/// Rows where we differ intentionally, and the reasons. Each has its line in docs/differences.md.
const DIFFERENT: &[(&str, &str)] = &[
    ("0246", "2.3: CPUs of a group end at 63"),
    ("0247", "2.3: CPUs of a group end at 63"),
    ("0338", "'/' begins a path and no option"),
    ("0705", "2.3: -u exists"),
    ("0712", "--help exists"),
    ("0713", "--version exists"),
    ("0715", "'/' begins a path and no option"),
    ("0716", "'/' begins a path and no option"),
    ("0771", "an IOPriority above 3 is refused; the original writes it as '* UNSUPPORTED *'"),
    ("0832", "an argument that begins with a typographic dash is an option"),
    ("0833", "an argument that begins with a typographic dash is an option"),
    ("0871", "-b0 is refused; the original crashes"),
    ("0876", "#<n> is refused; the original looks for a drive"),
];

/// Rows about what happens to target files: whole runs are tested with the program.
const WHOLE_RUNS: &[&str] = &["0855", "0857", "0858", "0860", "0861", "0862", "0872", "0873", "0877"];

/// Rows that show a template which is invalid in a profile: `*` without a number.
const NO_TEMPLATES: &[&str] = &["0336"];

struct Row {
    id: String,
    status: String,
    exit_status: i64,
    args: Vec<String>,
    profile_xml: Option<String>,
    stderr: String,
}

fn rows() -> Vec<Row> {
    let text = include_str!("data/command-lines.jsonl");
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    text.lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).unwrap();
            Row {
                id: string(&row["id"]),
                status: string(&row["status"]),
                exit_status: row["rc"].as_i64().unwrap(),
                args: row["args"].as_array().unwrap().iter().map(string).collect(),
                profile_xml: row["profile_xml"].as_str().map(str::to_owned),
                stderr: string(&row["stderr"]),
            }
        })
        .collect()
}

struct FakeEnv;

impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        0
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

/// The command of a command line; with `-X`, after the profile has been read.
fn parsed(args: &[String]) -> Result<Command, ParseFailure> {
    let args: Vec<OsString> = args.iter().map(OsString::from).collect();
    match parse(&args, &FakeEnv)? {
        Command::Line(LineCommand::LoadProfile(request)) => load(request),
        command => Ok(command),
    }
}

fn load(request: LoadRequest) -> Result<Command, ParseFailure> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/profiles").join(&request.path);
    let faults = |faults: Vec<XmlFault>| {
        let messages = faults.iter().map(|fault| format!("ERROR: {fault}")).collect();
        ParseFailure { messages, exit_status: 3 }
    };
    let name = request.path.display().to_string();
    let profile = read_profile(&std::fs::read(file).unwrap(), &name).map_err(faults)?;
    Ok(match request.load(profile, &FakeEnv)? {
        LoadedProfile::Show(request) => Command::Line(LineCommand::ShowProfile(request)),
        LoadedProfile::Run(request) => Command::Line(LineCommand::Run(*request)),
    })
}

/// Errors and warnings of a command line, and the exit status as far as it is known before a run.
#[derive(Debug, Default)]
struct Outcome {
    errors: Vec<String>,
    warnings: Vec<String>,
    exit_status: i64,
}

fn outcome(args: &[String]) -> Outcome {
    match parsed(args) {
        Err(failure) => {
            Outcome { errors: failure.messages, exit_status: i64::from(failure.exit_status), ..Outcome::default() }
        }
        Ok(Command::Line(LineCommand::Run(request))) => {
            let findings = validate(&request.profile, Purpose::Run);
            if !findings.errors.is_empty() {
                return Outcome { errors: findings.errors, warnings: findings.warnings, exit_status: 3 };
            }
            Outcome { warnings: findings.warnings, ..Outcome::default() }
        }
        Ok(Command::Line(LineCommand::SignalEvents { names, .. })) => Outcome {
            errors: names.iter().map(|name| format!("no process holds the event of -ye{name}")).collect(),
            exit_status: 1,
            ..Outcome::default()
        },
        Ok(_) => Outcome::default(),
    }
}

/// The same command line with `-Rpxml` after its options, and the profile that it shows.
fn shown(args: &[String]) -> (Profile, String) {
    // Only options begin with a dash, targets never do.
    let first_target = args.iter().position(|arg| !arg.starts_with('-')).unwrap_or(args.len());
    let mut args = args.to_vec();
    args.insert(first_target, "-Rpxml".to_owned());
    match parsed(&args) {
        Ok(Command::Line(LineCommand::ShowProfile(request))) => {
            let text = write_profile(&request.profile, request.format);
            (request.profile, text)
        }
        other => panic!("{args:?} does not show a profile: {other:?}"),
    }
}

/// Every element of a profile that DiskSpd 2.2 has, as path and content; children in the order of
/// 2.2. Affinity is a plain list of group/CPU.
fn flattened(text: &str) -> Vec<(String, String)> {
    let document = Document::parse(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let mut list = Vec::new();
    flatten(document.root_element(), "", &mut list);
    list
}

const ONLY_2_3: [&str; 5] = ["AffinityTraversal", "BufferSeparation", "CompletionDepth", "IoRing", "BypassIO"];
/// Lost by 2.2 when a profile is written, and by 2.3; kept by us.
const ONLY_OURS: [&str; 1] = ["RandomWriteData"];

fn flatten(node: Node<'_, '_>, parent: &str, list: &mut Vec<(String, String)>) {
    let name = node.tag_name().name();
    if ONLY_2_3.contains(&name) || ONLY_OURS.contains(&name) {
        return;
    }
    let path = format!("{parent}/{name}");
    if name == "Affinity" {
        list.push((path, affinity(node).join(" ")));
        return;
    }
    let attributes: Vec<String> =
        node.attributes().map(|attribute| format!("[{}={}]", attribute.name(), attribute.value())).collect();
    let attributes = attributes.concat();
    let mut children: Vec<Node<'_, '_>> = node.children().filter(Node::is_element).collect();
    if name == "TimeSpan" {
        // 2.3 moved it.
        let moved = children.iter().position(|child| child.has_tag_name("DisableAffinity")).unwrap();
        let moved = children.remove(moved);
        children.insert(3, moved);
    }
    let content = if children.is_empty() { node.text().unwrap_or_default() } else { "" };
    list.push((format!("{path}{attributes}"), content.to_owned()));
    for child in children {
        flatten(child, &path, list);
    }
}

fn affinity(node: Node<'_, '_>) -> Vec<String> {
    let mut list = Vec::new();
    for entry in node.children().filter(Node::is_element) {
        let group = entry.attribute("Group").unwrap();
        if let Some(processor) = entry.attribute("Processor") {
            list.push(format!("{group}/{processor}"));
            continue;
        }
        let mask = u64::from_str_radix(entry.attribute("Mask").unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
        list.extend((0..64).filter(|cpu| mask >> cpu & 1 == 1).map(|cpu| format!("{group}/{cpu}")));
    }
    list
}

/// The options named in a captured message: `-rd` of "ranges (-rd) do not apply".
fn options_named(line: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for (at, _) in line.match_indices('-') {
        let begins_a_word = at == 0 || !line.as_bytes()[at - 1].is_ascii_alphanumeric();
        let letters: String = line[at + 1..].chars().take_while(char::is_ascii_alphabetic).collect();
        if begins_a_word && !letters.is_empty() {
            // "-Bbase:length" and "-fsize" are -B and -f with a word for the value.
            let name = if letters.ends_with("base") || letters.ends_with("size") { &letters[..1] } else { &letters };
            named.insert(format!("-{name}"));
        }
    }
    named
}

fn check_valid(row: &Row) {
    let (profile, ours) = shown(&row.args);
    let theirs = row.profile_xml.as_deref().unwrap();
    assert_eq!(flattened(&ours), flattened(theirs), "{} {:?}", row.id, row.args);
    let findings = validate(&profile, Purpose::Show);
    assert_eq!(findings.errors, Vec::<String>::new(), "{} {:?}", row.id, row.args);
    let their_warnings = row.stderr.lines().filter(|line| line.starts_with("WARNING")).count();
    assert_eq!(findings.warnings.len(), their_warnings, "{} {:?}", row.id, row.args);
    for (ours, theirs) in findings.warnings.iter().zip(row.stderr.lines()) {
        for option in options_named(theirs) {
            assert!(ours.contains(&option), "{} {:?}: {ours} should name {option}", row.id, row.args);
        }
    }
}

/// Checks that the exit status is the same, and that stderr names the same argument as the original, or else all
/// options of its message.
fn check_refused(row: &Row) {
    let outcome = outcome(&row.args);
    let context = format!("{} {:?}: {outcome:?}\nDiskSpd: {}", row.id, row.args, row.stderr);
    assert_eq!(outcome.exit_status, row.exit_status, "{context}");
    let ours = outcome.errors.join("\n");
    let typed: Vec<&String> = row
        .args
        .iter()
        .filter(|arg| row.stderr.contains(&format!("'{arg}'")) || row.stderr.contains(&format!("({arg})")))
        .collect();
    for argument in &typed {
        assert!(ours.contains(argument.as_str()), "should name {argument}: {context}");
    }
    if typed.is_empty() {
        for line in row.stderr.lines().filter(|line| line.starts_with("ERROR")) {
            for option in options_named(line) {
                assert!(ours.contains(&option), "should name {option}: {context}");
            }
        }
    }
    let their_warnings = row.stderr.lines().filter(|line| line.starts_with("WARNING")).count();
    assert_eq!(outcome.warnings.len(), their_warnings, "{context}");
    assert!(!ours.is_empty(), "{context}");
}

#[test]
fn every_captured_command_line_is_understood_as_diskspd_does() {
    let different: BTreeMap<&str, &str> = DIFFERENT.iter().copied().collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows() {
        let fate = if different.contains_key(row.id.as_str()) {
            "different"
        } else if WHOLE_RUNS.contains(&row.id.as_str()) {
            "whole run"
        } else if row.status == "valid" {
            check_valid(&row);
            "same profile"
        } else {
            check_refused(&row);
            "same refusal"
        };
        *counts.entry(fate).or_default() += 1;
    }
    let counts: Vec<(&str, usize)> = counts.into_iter().collect();
    assert_eq!(counts, [("different", 13), ("same profile", 183), ("same refusal", 158), ("whole run", 9)]);
}

/// The output of `-Rpxml`, ours and that of the original, is valid input of `-X`.
#[test]
fn every_shown_profile_reads_as_what_it_shows() {
    let rewritten = |text: &str, id: &str| {
        let profile = read_profile(text.as_bytes(), id).unwrap_or_else(|faults| panic!("{faults:?}\n{text}"));
        write_profile(&profile, profile.result_format)
    };
    let left_out: BTreeSet<&str> = DIFFERENT.iter().map(|(id, _)| id).chain(NO_TEMPLATES).copied().collect();
    let valid = rows().into_iter().filter(|row| row.status == "valid" && !left_out.contains(row.id.as_str()));
    let mut count = 0;
    for row in valid {
        let (_, ours) = shown(&row.args);
        assert_eq!(rewritten(&ours, &row.id), ours, "{} {:?}", row.id, row.args);
        let theirs = row.profile_xml.as_deref().unwrap();
        assert_eq!(flattened(&rewritten(theirs, &row.id)), flattened(theirs), "{} {:?}", row.id, row.args);
        count += 1;
    }
    assert_eq!(count, 182);
}

fn row(id: &str) -> Row {
    rows().into_iter().find(|row| row.id == id).unwrap_or_else(|| panic!("no row {id}"))
}

#[test]
fn different_cpus_above_63_are_refused() {
    for id in ["0246", "0247"] {
        let row = row(id);
        let outcome = outcome(&row.args);
        assert_eq!(outcome.exit_status, 3);
        assert!(outcome.errors[0].contains(&row.args[0]), "{outcome:?}");
        assert!(outcome.errors[0].contains("out of range"), "{outcome:?}");
    }
}

#[test]
fn different_a_slash_begins_a_target() {
    let outcome = outcome(&row("0338").args);
    assert_eq!(outcome.exit_status, 3);
    assert!(outcome.errors[0].contains("(-b8k) must come before targets"), "{outcome:?}");
    assert!(outcome.errors[0].contains("did you mean -c1M?"), "{outcome:?}");
    for id in ["0715", "0716"] {
        let Ok(Command::Line(LineCommand::Run(request))) = parsed(&row(id).args) else { panic!("{id}") };
        assert_eq!(request.profile.time_spans[0].targets.len(), 2, "{id}");
    }
}

#[test]
fn different_options_of_2_3_and_ours_exist() {
    let Ok(Command::Line(LineCommand::Run(request))) = parsed(&row("0705").args) else { panic!() };
    assert!(request.profile.time_spans[0].io_ring.is_some());
    assert_eq!(parsed(&row("0712").args), Ok(Command::Help(None)));
    assert_eq!(parsed(&row("0713").args), Ok(Command::Line(LineCommand::Version)));
}

#[test]
fn different_a_typographic_dash_begins_an_option() {
    for id in ["0832", "0833"] {
        let Ok(Command::Line(LineCommand::Run(request))) = parsed(&row(id).args) else { panic!("{id}") };
        let span = &request.profile.time_spans[0];
        assert_eq!((span.duration_s, span.warm_up_s, span.measure_latency), (600, 300, true));
        assert_eq!(span.targets.len(), row(id).args.iter().filter(|arg| arg.starts_with("test")).count());
        assert_eq!(span.targets[0].block_size.get(), 8192);
        let dashes = row(id).args.iter().filter(|arg| arg.starts_with('\u{2013}')).count();
        assert_eq!(request.warnings.len(), dashes, "{:?}", request.warnings);
    }
}

#[test]
fn different_block_size_0_and_drive_numbers_are_refused() {
    for (id, word) in [("0871", "-b0"), ("0876", "'#99'")] {
        let outcome = outcome(&row(id).args);
        assert_eq!(outcome.exit_status, 3);
        assert!(outcome.errors[0].contains(word), "{outcome:?}");
    }
}

#[test]
fn different_io_priorities_are_those_that_exist() {
    let outcome = outcome(&row("0771").args);
    assert_eq!(outcome.exit_status, 3);
    assert!(outcome.errors[0].contains("<IOPriority>"), "{outcome:?}");
}
