//! `diskspd check`: whether targets and machine are fit to be measured.

mod timers;

use crate::output::{print, say, write_json};
use crate::outputs::{OutputFile, Protected, Replace};
use crate::status::{Status, fail, printed};
use cli::subcommand::check::CheckRequest;
use host::Root;
use model::block_device::BlockDevice;
use model::check::{Activity, CHECK_SCHEMA, CHECK_SCHEMA_VERSION, CheckFacts, CheckReport, CheckedTarget, DeviceState};
use model::environment::TargetEnvironment;
use model::facts::TargetQuestion;
use model::finding::Severity;
use model::record::CpuTimes;
use model::version::IMPLEMENTATION_VERSION;
use render::document::DocumentKind;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long others are watched.
const WATCH: Duration = Duration::from_secs(2);

/// Runs `diskspd check`.
pub(crate) fn run(request: &CheckRequest) -> Status {
    let is_json_on_stdout = request.json.as_deref() == Some(Path::new("-"));
    let path = request.json.as_deref().filter(|_| !is_json_on_stdout);
    let file = match path.map(|path| json_file(path, request)).transpose() {
        Ok(file) => file,
        Err(reason) => {
            say(&format!("ERROR: {reason}"));
            return Status::Refused;
        }
    };
    let findings = rules::check::check(&look(request, &Root::machine()));
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

/// Reads all facts for the checks. Nothing is opened for writing.
fn look(request: &CheckRequest, root: &Root) -> CheckFacts {
    let questions: Vec<TargetQuestion> =
        request.targets.iter().map(|path| TargetQuestion { path: path.clone(), ..TargetQuestion::default() }).collect();
    let system = host::system(root);
    let mut facts = host::targets(root, &questions);
    let mut environments = host::target_environment(root, &request.targets);
    let mut targets = Vec::new();
    for path in &request.targets {
        // A target that is named twice is one.
        if let (Some(facts), Some(environment)) = (facts.remove(path), environments.remove(path)) {
            let file_system = host::file_system_state(root, path, &facts, &environment);
            targets.push(CheckedTarget { path: path.clone(), facts, environment, file_system });
        }
    }
    let devices = device_states(root, &targets);
    CheckFacts {
        workload: request.workload,
        create_bytes: request.create_bytes,
        environment: host::environment(root),
        processors: host::processor_state(root, &system.topology),
        timers: timers::read(sys::clock::realtime_ns()),
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

/// What the devices and the CPUs do while this program does nothing.
fn watch(root: &Root, devices: &BTreeSet<&str>) -> Activity {
    let counters = || host::io_counters(root, devices.iter().copied());
    let began = Instant::now();
    // CPU times that cannot be read are a finding, not an error.
    let (before, cpus_before) = (counters(), host::cpu_times(root).unwrap_or_default());
    thread::sleep(WATCH);
    let (after, cpus_after) = (counters(), host::cpu_times(root).unwrap_or_default());
    Activity {
        duration_ms: began.elapsed().as_millis() as u64,
        devices: after.since(&before).devices,
        cpus: CpuTimes::spent(&cpus_before, &cpus_after),
    }
}
