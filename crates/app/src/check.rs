//! `diskspd check`: fitness of targets and machine for measurement.

mod scheduled;

use crate::load;
use crate::output::{print, write_json};
use crate::outputs::{OutputFile, Protected, Replace};
use crate::status::{Status, fail, printed, refuse_with};
use crate::system_env::SystemEnv;
use cli::subcommand::check::CheckRequest;
use cli::{Command, Subcommand};
use host::Root;
use model::block_device::BlockDevice;
use model::check::{
    Activity, CHECK_SCHEMA, CHECK_SCHEMA_VERSION, CheckFacts, CheckReport, CheckedTarget, DeviceState,
    InterfaceActivity,
};
use model::environment::TargetEnvironment;
use model::facts::TargetQuestion;
use model::finding::Severity;
use model::record::CpuTimes;
use model::version::IMPLEMENTATION_VERSION;
use render::document::DocumentKind;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time for which the activity of other processes is observed.
const WATCH: Duration = Duration::from_secs(2);

/// Runs `diskspd check`.
pub(crate) fn run(request: &CheckRequest) -> Status {
    let is_json_on_stdout = request.json.as_deref() == Some(Path::new("-"));
    let path = request.json.as_deref().filter(|_| !is_json_on_stdout);
    let file = match path.map(|path| json_file(path, request)).transpose() {
        Ok(file) => file,
        Err(reason) => {
            return refuse_with(&reason);
        }
    };
    let facts = read_facts(request, &Root::machine());
    let findings = rules::check::check(&facts);
    let report = CheckReport {
        schema: CHECK_SCHEMA,
        schema_version: CHECK_SCHEMA_VERSION,
        version: IMPLEMENTATION_VERSION.to_owned(),
        workload: request.workload,
        findings,
    };
    let status = if report.count(Severity::Fail) > 0 { Status::No } else { Status::Done };
    let json = |out: &mut dyn Write| write_json(&report, out);
    let mut text = Vec::new();
    let shown = if is_json_on_stdout { json(&mut text) } else { render::check::text(&report, &mut text) };
    if let Some(load) = request.expected.as_ref().filter(|_| !is_json_on_stdout) {
        text.extend(load::planned_limits(load, facts.system).into_bytes());
    }
    let status = printed(shown.and_then(|()| print(&text)), status);
    let written = file.map_or(Ok(()), |file| file.write(json));
    written.map_or_else(|error| fail(&format!("cannot write --json: {error}")), |()| status)
}

fn json_file(path: &Path, request: &CheckRequest) -> Result<OutputFile, String> {
    let targets = request.targets.iter();
    let protected: Vec<Protected> =
        targets.map(|target| Protected { path: target.clone(), role: "a target of this check" }).collect();
    let replace = Replace { kind: DocumentKind::Check, any: request.replace_output };
    OutputFile::check(path, replace, &protected).map_err(|reason| format!("--json '{}': {reason}", path.display()))
}

/// Reads all facts for the checks. Opens nothing for writing.
fn read_facts(request: &CheckRequest, root: &Root) -> CheckFacts {
    let questions: Vec<TargetQuestion> =
        request.targets.iter().map(|path| TargetQuestion { path: path.clone(), ..TargetQuestion::default() }).collect();
    let system = host::system(root);
    let mut facts = host::targets(root, &questions);
    let mut environments = host::target_environment(root, &request.targets);
    let mut targets = Vec::new();
    for path in &request.targets {
        // A target named twice is listed once.
        if let (Some(facts), Some(environment)) = (facts.remove(path), environments.remove(path)) {
            let file_system = host::file_system_state(root, path, &facts, &environment);
            let network = host::network_paths(root, &environment);
            targets.push(CheckedTarget { path: path.clone(), facts, environment, file_system, network });
        }
    }
    let devices = device_states(root, &targets);
    CheckFacts {
        workload: request.workload,
        create_bytes: request.create_bytes,
        copies: request.copies,
        environment: host::environment(root),
        processors: host::processor_state(root, &system.topology),
        scheduled: scheduled::read(root, request.window.as_secs()),
        window_s: request.window.as_secs(),
        housekeeping: host::housekeeping(root),
        activity: watch(root, &devices.keys().map(String::as_str).collect()),
        system,
        targets,
        devices,
    }
}

fn device_states(root: &Root, targets: &[CheckedTarget]) -> BTreeMap<String, DeviceState> {
    let environments = targets.iter().map(|target| &target.environment);
    let devices = environments.flat_map(TargetEnvironment::devices).flat_map(BlockDevice::walk);
    let mut states = BTreeMap::new();
    for device in devices {
        if !states.contains_key(&device.name) {
            states.insert(device.name.clone(), host::device_state(root, device));
        }
    }
    states
}

/// Activity of the devices and the CPUs while this program is idle.
fn watch(root: &Root, devices: &BTreeSet<&str>) -> Activity {
    let counters = || host::io_counters(root, devices.iter().copied());
    let began = Instant::now();
    // CPU times that cannot be read are a finding, not an error.
    let (before, cpus_before) = (counters(), host::cpu_times(root).unwrap_or_default());
    let interfaces_before = host::interface_values(root);
    thread::sleep(WATCH);
    let interfaces = host::interface_values(root).into_iter().filter_map(|(name, after)| {
        let activity = InterfaceActivity::between(interfaces_before.get(&name)?, &after);
        Some((name, activity))
    });
    let (after, cpus_after) = (counters(), host::cpu_times(root).unwrap_or_default());
    Activity {
        duration_ms: began.elapsed().as_millis() as u64,
        devices: after.since(&before).devices,
        cpus: CpuTimes::spent(&cpus_before, &cpus_after),
        interfaces: interfaces.collect(),
    }
}

/// Checks the targets of a load before it runs, as `diskspd check` does with these options.
///
/// # Errors
///
/// The reason why they cannot be checked.
pub(crate) fn before_load(options: &[&str], words: &[String]) -> Result<Status, String> {
    let words: Vec<OsString> = std::iter::once("check")
        .chain(options.iter().copied())
        .chain(["--"])
        .chain(words.iter().map(String::as_str))
        .map(OsString::from)
        .collect();
    match cli::parse(&words, &SystemEnv) {
        Ok(Command::Subcommand(Subcommand::Check(request))) => {
            let status = run(&request);
            print(b"\n").map_err(|error| format!("cannot write to stdout: {error}"))?;
            Ok(status)
        }
        Ok(_) => Err("the command is not a check of the targets".to_owned()),
        Err(failure) => Err(failure.messages.join("; ")),
    }
}
