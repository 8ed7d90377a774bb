//! `diskspd sweep`: a load once for each value of an option; `diskspd repeat`: the same load repeatedly.

mod ab;

use crate::interrupt::{self, Signals};
use crate::meaning::meaning;
use crate::output::{print, say, say_each};
use crate::outputs::{Protected, misdirected_report, written};
use crate::random::random;
use crate::request_checks::{overwrites_by_environment, say_overwrite_of_environment};
use crate::run_report::judged;
use crate::saved_results;
use crate::series_folder::{self, Folder, ResumeError};
use crate::series_places;
use crate::series_runner::{ProfileRefusal, SeriesRunner};
use crate::status::{Status, fail, printed, refuse, refuse_each, refuse_with};
use crate::subject::{name_of, shown_run};
use crate::system_env::{Invocation, SystemEnv};
use cli::subcommand::sweep::{AddedValues, Allowed, SweepCommand, SweepOptions, SweepRequest};
use cli::sweep::PlannedPoint;
use cli::{Command, FleetOption, ParseFailure, Subcommand};
use model::printable::command_line;
use model::profile::Profile;
use model::result::RunResult;
use model::shell;
use model::sweep::{
    DeviceCount, Extent, Point, Purpose, SWEEP_SCHEMA, SWEEP_SCHEMA_VERSION, SeriesKind, Setting, Sweep, Visit,
};
use model::units::{Bytes, counted};
use render::Detail;
use report::Subject;
use stats::DEPTHS_MIN;
use stats::repeats::RUNS_FOR_INTERVAL;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tune::RunFailure;
use tune::{Design, Ending, Step, SweepObserver};

/// Runs `diskspd sweep` or `diskspd repeat`.
pub(crate) fn run(invocation: &Invocation, command: SweepCommand, kind: SeriesKind) -> Status {
    match command {
        SweepCommand::Run { request, folder, replace_output, plan_only } => {
            begin(invocation, &request, folder, (replace_output, plan_only), kind)
        }
        SweepCommand::Resume { folder, allowed, replace_output, added } => {
            match Folder::open(folder, kind, replace_output) {
                Ok((folder, sweep)) => resume(invocation, folder, sweep, &allowed, &added),
                Err(ResumeError::Unreadable(reason)) => fail(&reason),
                Err(ResumeError::Untrusted(reason)) => refuse_with(&reason),
            }
        }
    }
}

fn begin(
    invocation: &Invocation,
    request: &SweepRequest,
    path: Option<PathBuf>,
    (replace_output, plan_only): (bool, bool),
    kind: SeriesKind,
) -> Status {
    let options = &request.options;
    let sweep = Sweep {
        schema: SWEEP_SCHEMA.to_owned(),
        schema_version: SWEEP_SCHEMA_VERSION,
        program: series_folder::program(),
        words: request.words.clone(),
        order_seed: Some(random() as u32),
        points: request.points.iter().map(|planned| planned.point.clone()).collect(),
        devices: devices(options),
        ..Sweep::default()
    };
    let folder = match path {
        Some(path) => Folder::check(path, kind, replace_output),
        None => Folder::unasked(kind),
    };
    match folder {
        Ok(folder) => go(invocation, request, folder, sweep, plan_only),
        Err(reason) => refuse_with(&reason),
    }
}

/// The devices below the targets, if their number was given.
pub(crate) fn devices(options: &SweepOptions) -> Option<DeviceCount> {
    options.ssds.map(|ssds| DeviceCount { ssds, copies: options.copies.unwrap_or(1) })
}

fn resume(
    invocation: &Invocation,
    folder: Folder,
    mut sweep: Sweep,
    allowed: &Allowed,
    added: &[AddedValues],
) -> Status {
    let kind = folder.kind();
    let cannot = |reason: &str| refuse_with(&format!("this {} cannot be resumed: {reason}", kind.name()));
    let request = match saved_request(&sweep, kind) {
        Ok(Some(request)) => request,
        Ok(None) => {
            let name = kind.name();
            return refuse_with(&format!(
                "the command line saved in this directory is not a diskspd {name} command line"
            ));
        }
        Err(failure) => return refuse(&failure),
    };
    if let Some(difference) = series_folder::difference(&sweep, &request) {
        return cannot(&difference);
    }
    let request = match added {
        [] => request,
        added => match with_values(&mut sweep, added, kind) {
            Ok(request) => request,
            Err(reason) => return cannot(&reason),
        },
    };
    let refused = not_allowed(&request, allowed);
    if !refused.is_empty() {
        for reason in refused {
            say(&format!("ERROR: --resume '{}': the saved options {reason}", folder.path().display()));
        }
        return Status::Refused;
    }
    go(invocation, &request, folder, sweep, false)
}

/// Adds values to the option that the sweep varies: its runs keep the points that they were made for, and its answers
/// no longer cover all points.
fn with_values(sweep: &mut Sweep, added: &[AddedValues], kind: SeriesKind) -> Result<Box<SweepRequest>, String> {
    for values in added {
        sweep.words = values.added_to(&sweep.words)?;
    }
    let request = saved_request(sweep, kind).map_err(|failure| failure.messages.join("; "))?;
    let request = request.ok_or("with these values, its command line is that of no sweep")?;
    let points: Vec<Point> = request.points.iter().map(|planned| planned.point.clone()).collect();
    for visit in &mut sweep.visits {
        let is_same = |point: &Point| *point == sweep.points[visit.point];
        visit.point = points.iter().position(is_same).ok_or("a point of the sweep is missing")?;
    }
    *sweep = Sweep { points, depths: Vec::new(), front: Vec::new(), block_sizes: Vec::new(), ..std::mem::take(sweep) };
    Ok(request)
}

/// The request that a series was begun with; `None` if its command line is of another kind.
fn saved_request(sweep: &Sweep, kind: SeriesKind) -> Result<Option<Box<SweepRequest>>, ParseFailure> {
    let words: Vec<OsString> =
        std::iter::once(kind.name()).chain(sweep.words.iter().map(String::as_str)).map(OsString::from).collect();
    cli::parse(&words, &SystemEnv).map(|command| match command {
        Command::Subcommand(
            Subcommand::Sweep(SweepCommand::Run { request, .. })
            | Subcommand::Repeat(SweepCommand::Run { request, .. })
            | Subcommand::Ab(SweepCommand::Run { request, .. })
            | Subcommand::Interference(SweepCommand::Run { request, .. }),
        ) => Some(request),
        _ => None,
    })
}

/// The summary of the series in a directory, as printed at its end, or with its details; `None` if there is none.
pub(crate) fn report(path: &Path, detail: Detail) -> Option<Result<Vec<u8>, String>> {
    let (kind, sweep) = match saved_results::sweep_in(path)? {
        Ok(found) => found,
        Err(reason) => return Some(Err(reason)),
    };
    Some(summary(&sweep, kind, path, detail).map_err(|error| error.to_string()))
}

/// The report of a series.
fn summary(sweep: &Sweep, kind: SeriesKind, folder: &Path, detail: Detail) -> io::Result<Vec<u8>> {
    if sweep.visits.is_empty() {
        return Ok(Vec::new());
    }
    let example = shown_run(folder, sweep);
    let name = name_of(folder);
    let report = Subject::Series { kind, name: &name, sweep, example: example.as_ref() }.report(meaning);
    written(|out| render::report_text(&report, detail, out))
}

/// Actions of saved options that were not permitted again: their author is not necessarily the user who resumes.
fn not_allowed(request: &SweepRequest, allowed: &Allowed) -> BTreeSet<String> {
    let mut refused = BTreeSet::new();
    let of_sides = request.options.ab.iter().flat_map(|ab| ab.before.iter().flatten());
    for command in request.options.before_point.iter().chain(of_sides).filter(|_| !allowed.run_commands) {
        refused.insert(format!(
            "run a shell command before each run: '{command}'. Check it, then give --run-commands to allow it"
        ));
    }
    for options in request.points.iter().map(|planned| &planned.request.options) {
        if options.overwrite && !allowed.overwrite && !overwrites_by_environment() {
            refused
                .insert("allow existing files to be overwritten. Check the targets, then give --overwrite".to_owned());
        }
        for name in options.destroy.iter().filter(|name| !allowed.destroy.contains(name)) {
            refused.insert(format!(
                "allow the block device '{name}' to be written to. Check the targets, then give --destroy={}",
                shell::quoted(name)
            ));
        }
        if !is_allowed_on(options.fleet.as_deref(), allowed.on.as_deref()) {
            refused.insert(match &options.fleet {
                Some(on) => format!(
                    "run the load on {}. Check hosts and targets, then give --on, --key and what belongs to them \
                     as before",
                    on.shown()
                ),
                None => "run the load on this machine; leave out --on".to_owned(),
            });
        }
    }
    refused
}

/// True if these hosts are among the permitted ones, and reached in the same way.
fn is_allowed_on(wanted: Option<&FleetOption>, allowed: Option<&FleetOption>) -> bool {
    let (Some(wanted), Some(allowed)) = (wanted, allowed) else { return wanted == allowed };
    let is_among = |wanted: &[String], allowed: &[String]| wanted.iter().all(|one| allowed.contains(one));
    let with_hosts_of = |option: &FleetOption| FleetOption {
        hosts: wanted.hosts.clone(),
        destinations: wanted.destinations.clone(),
        ..option.clone()
    };
    is_among(&wanted.hosts, &allowed.hosts)
        && is_among(&wanted.destinations, &allowed.destinations)
        && with_hosts_of(allowed) == *wanted
}

fn go(
    invocation: &Invocation,
    request: &SweepRequest,
    mut folder: Folder,
    mut sweep: Sweep,
    plan_only: bool,
) -> Status {
    let Some(first) = request.points.first() else { return fail("the sweep has no points") };
    let signals = match interrupt::watch_for_load() {
        Ok(signals) => signals,
        Err(status) => return status,
    };
    let part = RefCell::new(String::new());
    let mut runner = match series_places::runner(&request.points, &signals, &part) {
        Ok(runner) => runner,
        Err(status) => return status,
    };
    let to_be_made = match check_all(request, &mut *runner) {
        Ok(to_be_made) => to_be_made,
        Err(refused) => return refused.print_reasons(),
    };
    let profiles = request.points.iter().map(|planned| &planned.request.profile);
    let files: Vec<Protected> = profiles.flat_map(|profile| runner.protected(profile)).collect();
    let mut misplaced: Vec<String> = misdirected_report(&files).into_iter().collect();
    misplaced.extend(folder.misplaced(files.into_iter()));
    if !misplaced.is_empty() {
        return refuse_each(&misplaced);
    }
    say_each("WARNING", &first.request.warnings);
    say_overwrite_of_environment(&first.request);
    let mut design = design(request, sweep.order_seed);
    if request.options.precondition {
        match runner.precondition(0, &first.request.profile) {
            Ok((profile, bytes)) => {
                say(&preconditioning(bytes, request.options.endurance_bytes));
                design.precondition = Some(profile);
            }
            Err(refused) => return refused.print_reasons(),
        }
    }
    if design.extent == Extent::UntilSteady {
        design.not_as_snia = not_as_snia(&request.options, &first.request.profile, &*runner);
    }
    // The last point of streams is that of all streams together.
    let whole = if design.extent == Extent::Streams { request.points.len() - 1 } else { 0 };
    let load = load_of(&design, &request.points[whole].request.profile);
    sweep.load = runner.load_line(whole, &load, !design.limits.is_empty());
    announce(&design, &request.options, &to_be_made, &sweep, &folder);
    if plan_only {
        return printed(print_commands(request), Status::Done);
    }
    if let Err(reason) = folder.make().and_then(|()| folder.save(&sweep)) {
        return fail(&reason);
    }
    let program = invocation.program.to_string_lossy().into_owned();
    let mut keeper = SweepRecorder {
        request,
        folder: &folder,
        signals: &signals,
        part: &part,
        program,
        judged: Status::Done,
        ran: false,
        is_unready: false,
    };
    let ending = tune::sweep(&design, &mut sweep, &mut *runner, &mut keeper);
    let judged = keeper.judged;
    delete_targets(&request.points, &mut *runner);
    sweep.findings = rules::runs::findings(&sweep);
    if ending == Ending::Complete
        && let Err(reason) = folder.save(&sweep)
    {
        return fail(&reason);
    }
    finish(&ending, &sweep, &folder, request, judged)
}

/// Checks a series as it would be run now, without touching anything: returns the files that it would create, and their
/// sizes.
pub(crate) fn check(request: &SweepRequest, signals: &Signals) -> Result<BTreeSet<(PathBuf, u64)>, Status> {
    let part = RefCell::new(String::new());
    let mut runner = series_places::runner(&request.points, signals, &part)?;
    check_all(request, &mut *runner).map_err(ProfileRefusal::print_reasons)
}

/// Minimum number of runs of a series, or the maximum of a search, and the duration of their load in seconds.
pub(crate) fn extent(request: &SweepRequest) -> (usize, u64) {
    let design = design(request, None);
    (runs_of(&design), design.load_s())
}

/// Minimum number of runs; of a search, the maximum.
fn runs_of(design: &Design) -> usize {
    if design.limits.is_empty() { design.runs_at_least() } else { Design::runs_of_search() }
}

/// Deletes the files that the runs of a series created, as far as requested.
pub(crate) fn delete(request: &SweepRequest, signals: &Signals) {
    let part = RefCell::new(String::new());
    if request.points.iter().any(|planned| planned.request.options.delete_after)
        && let Ok(mut runner) = series_places::runner(&request.points, signals, &part)
    {
        delete_targets(&request.points, &mut *runner);
    }
}

/// Checks all points before anything is written.
fn check_all(
    request: &SweepRequest,
    runner: &mut dyn SeriesRunner,
) -> Result<BTreeSet<(PathBuf, u64)>, ProfileRefusal> {
    // Points of a search do not differ in anything that could be refused.
    let is_search = !request.options.limits.is_empty();
    // A stream alone uses the files that all streams together create.
    let is_of_streams = request.options.extent == Extent::Streams;
    let without = if is_of_streams { request.points.len().saturating_sub(1) } else { 0 };
    let count = if is_search { 1 } else { usize::MAX };
    check_points(request.points.iter().enumerate().skip(without).take(count), runner)
}

/// Checks points, each with its index: returns the files that would be created, and their sizes.
pub(crate) fn check_points<'a>(
    points: impl Iterator<Item = (usize, &'a PlannedPoint)>,
    runner: &mut dyn SeriesRunner,
) -> Result<BTreeSet<(PathBuf, u64)>, ProfileRefusal> {
    let mut to_be_made = BTreeSet::new();
    for (index, planned) in points {
        let options = &planned.request.options;
        let misplaced = [
            (planned.request.events != cli::Events::default(), "-ys, -yf, -yr and -yp work only with single runs"),
            (options.journal.is_some(), "--journal works only with a single run: each run would replace the map"),
            (options.trace.is_some(), "--trace works only with a single run: each run would replace the trace"),
            (
                options.delete_after && options.fleet.is_some(),
                "--delete-after works with --on only in a single run; in a series, the targets stay on the hosts",
            ),
        ];
        if let Some((_, reason)) = misplaced.iter().find(|(is_there, _)| *is_there) {
            return Err(ProfileRefusal { status: Status::Refused, reasons: vec![(*reason).to_owned()] });
        }
        let made = runner.check(index, &planned.request.profile).map_err(|refused| {
            let place = match Setting::typed_all(&planned.point.settings) {
                settings if settings.is_empty() => String::new(),
                settings => format!("{settings}: "),
            };
            let reasons = refused.reasons.into_iter().map(|reason| format!("{place}{reason}")).collect();
            ProfileRefusal { reasons, ..refused }
        })?;
        to_be_made.extend(made);
    }
    Ok(to_be_made)
}

/// Deletes the files created by the runs of those points that request it.
pub(crate) fn delete_targets(points: &[PlannedPoint], runner: &mut dyn SeriesRunner) {
    for (index, planned) in points.iter().enumerate().filter(|(_, planned)| planned.request.options.delete_after) {
        let profile = &planned.request.profile;
        // Most points share their targets.
        if profile.time_spans.iter().flat_map(|span| &span.targets).any(|target| target.path.exists()) {
            runner.delete_targets(index, profile);
        }
    }
}

/// Announces size and time of preconditioning.
fn preconditioning(bytes: u64, endurance_bytes: Option<u64>) -> String {
    /// A typical device, for a rough estimate.
    const BYTES_PER_S: u64 = 500_000_000;
    let time = length(Duration::from_secs(bytes.div_ceil(BYTES_PER_S)));
    let share = endurance_bytes
        .map(|all| format!("; {:.4} % of its rated endurance", bytes as f64 / all as f64 * 100.0))
        .unwrap_or_default();
    format!("preconditioning: writes {} (every target twice), {time} at 500 MB/s{share}", Bytes(bytes))
}

/// Differences between rounds until steady state and the test of SNIA.
fn not_as_snia(options: &SweepOptions, profile: &Profile, runner: &dyn SeriesRunner) -> Vec<String> {
    let mut targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let all_devices = targets.all(|target| runner.is_device(&target.path));
    let missing = [
        (!options.is_purged, "the device was not purged first, or --purged was not given"),
        (!options.precondition, "the targets were not preconditioned with two full writes (--precondition)"),
        (!all_devices, "the targets are files, not whole devices"),
        (true, "only one of the loads that the specification requires is measured"),
    ];
    missing.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, sentence)| sentence.to_owned()).collect()
}

/// Older series have no order seed: they used that of the load (`-z`), the same in each.
pub(crate) fn design(request: &SweepRequest, order_seed: Option<u32>) -> Design {
    let SweepOptions { extent, ref limits, order, runs, probe_s, confirm_s, .. } = request.options;
    let point = |planned: &PlannedPoint| tune::PlannedPoint {
        point: planned.point.clone(),
        profile: planned.request.profile.clone(),
    };
    let points: Vec<tune::PlannedPoint> = request.points.iter().map(point).collect();
    let of_load = || points.first().and_then(|point| point.profile.time_spans.first()).map(|span| span.random_seed);
    let seed = order_seed.or_else(of_load).unwrap_or(0);
    Design {
        points,
        extent,
        limits: limits.clone(),
        order,
        runs,
        probe_s,
        confirm_s,
        seed: seed.into(),
        ..Design::default()
    }
}

/// Announces the sweep before it starts.
fn announce(
    design: &Design,
    options: &SweepOptions,
    to_be_made: &BTreeSet<(PathBuf, u64)>,
    sweep: &Sweep,
    folder: &Folder,
) {
    let points = design.points.len();
    let runs = design.runs;
    let most = runs_of(design);
    let rests = options.rest * u32::try_from(most.saturating_sub(1)).unwrap_or(u32::MAX);
    let time = length(Duration::from_secs(design.load_s()) + rests);
    let runs_and_time = match (design.extent, folder.kind()) {
        _ if !design.limits.is_empty() => {
            format!(
                "searches for the highest rate within the limits (maximum {}); takes at most {time}",
                counted(most, "run")
            )
        }
        (Extent::UntilSure { scope, figure, share }, _) => {
            let percent = share * 100.0;
            format!(
                "adds runs until the mean of {} is known to within {percent} % (maximum {runs}); takes at least {time}",
                scope.label(figure.name())
            )
        }
        (Extent::Pairs { is_fixed: true, .. }, _) => format!("{} of runs: {time}", counted(runs, "pair")),
        (Extent::Pairs { is_fixed: false, .. }, _) => {
            format!(
                "adds pairs of runs until the comparison of every figure is conclusive (maximum {runs}); takes at least {time}"
            )
        }
        (Extent::Streams, _) if runs == 1 => format!("{}: {time}", counted(points, "run")),
        (Extent::Streams, _) => format!("{runs} rounds of {}: {time}", counted(points, "run")),
        (Extent::UntilSteady, _) => format!("adds rounds until steady state (maximum {runs}); takes at least {time}"),
        (Extent::UntilFlat, _) => format!("tries further values until throughput stops growing; takes at least {time}"),
        (Extent::Whole, SeriesKind::Repeat) => format!("{}: {time}", counted(runs, "run")),
        (Extent::Whole, _) if runs > 1 => format!("{}, {runs} runs each: {time}", counted(points, "point")),
        (Extent::Whole, _) => format!("{}: {time}", counted(points, "point")),
    };
    let load = match &design.limits[..] {
        [] => report::words::load_line::of_sweep(sweep),
        limits => report::words::load_line::of_search(&sweep.load, limits),
    };
    say(&format!("load: {load}"));
    say(&format!("{runs_and_time} plus file creation"));
    if let Some(too_few) = too_few(design, sweep, folder.kind()) {
        say(&too_few);
    }
    if !sweep.visits.is_empty() {
        let done = sweep.visits.iter().filter(|visit| visit.headline().is_some()).count();
        say(&format!("already done: {}", counted(done, "run")));
    }
    let bytes = to_be_made.iter().map(|(_, size)| size).sum::<u64>();
    let writes = design.points.iter().flat_map(|point| &point.profile.time_spans).flat_map(|span| &span.targets);
    let shares: Vec<u32> = writes.map(|target| target.shares().changing_percent()).collect();
    let load = match (shares.iter().min(), shares.iter().max()) {
        (_, None | Some(0)) => "the load writes nothing".to_owned(),
        (Some(least), Some(most)) if least == most => format!("{most} % of the I/Os are writes"),
        (_, Some(most)) => format!("up to {most} % of the I/Os are writes"),
    };
    let made =
        if bytes == 0 { "no targets to create".to_owned() } else { format!("{} to create targets", Bytes(bytes)) };
    say(&format!("data to write: {made}; {load}"));
    say(&format!("results: {}", folder.path().display()));
}

/// The command of each point, as it can be typed; of a search, whose rates are not known in advance, that of its
/// capacity.
fn print_commands(request: &SweepRequest) -> io::Result<()> {
    let command = |words: &[String]| format!("diskspd {}\n", command_line(words.iter().map(String::as_str)));
    let commands: String = match &request.points[..] {
        [first, ..] if !request.options.limits.is_empty() => {
            let seed = first.request.profile.time_spans.first().map_or(0, |span| span.random_seed);
            command(&first.words_without_rate(seed))
        }
        points => points.iter().map(|planned| command(&planned.words)).collect(),
    };
    print(commands.as_bytes())
}

/// A warning of too few runs or depths, printed before they take their time.
fn too_few(design: &Design, sweep: &Sweep, kind: SeriesKind) -> Option<String> {
    match (design.extent, kind) {
        _ if !design.limits.is_empty() => None,
        (Extent::Whole, SeriesKind::Repeat) if (2..RUNS_FOR_INTERVAL).contains(&design.runs) => {
            Some(format!("a 95 % interval of the median needs {RUNS_FOR_INTERVAL} runs or more (--runs)"))
        }
        (Extent::Whole, SeriesKind::Sweep) if stats::sweep::has_too_few_depths(&sweep.points) => {
            Some(format!("an efficient and a saturation depth need {DEPTHS_MIN} queue depths or more"))
        }
        _ => None,
    }
}

/// The load common to its points: a search for a rate begins without one.
fn load_of(design: &Design, first: &Profile) -> Profile {
    let mut profile = first.clone();
    if !design.limits.is_empty() {
        for span in &mut profile.time_spans {
            span.rate_iops = None;
        }
    }
    profile
}

pub(crate) fn length(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn finish(ending: &Ending, sweep: &Sweep, folder: &Folder, request: &SweepRequest, judged: Status) -> Status {
    let mut average = Vec::new();
    if folder.kind() == SeriesKind::Repeat {
        // Writing to memory does not fail.
        let _ = render::run_lines::average_line(sweep, &mut average);
    }
    let written = summary(sweep, folder.kind(), folder.path(), Detail::Short)
        .and_then(|text| if text.is_empty() { Ok(()) } else { print(&[&average, &b"\n"[..], &text].concat()) });
    let failed = sweep.visits.iter().filter(|visit| visit.headline().is_none()).count();
    let status = match ending {
        Ending::Lost(reason) => return fail(reason),
        Ending::TooSlow { capacity_iops, needed_s } => {
            return fail(&format!(
                "--limit needs longer runs: even at its full speed of {capacity_iops:.0} I/Os per s (without --rate), \
                 the target needs {needed_s:.0} s to complete ten I/Os beyond the highest percentile given with \
                 --limit; set --confirm or -d to at least that time"
            ));
        }
        Ending::Interrupted => {
            if folder.remove_if_useless(sweep) {
                say("stopped before a run was complete; nothing is kept");
            } else {
                let (kind, path) = (folder.kind().name(), folder.path().display());
                say(&format!("stopped; continue with diskspd {kind} --resume {path}"));
            }
            // There is no answer yet.
            interrupt::status_without_results().unwrap_or(Status::Done)
        }
        Ending::Complete => match &request.options.ab {
            Some(options) => ab::status(sweep.ab.as_ref(), options),
            None => Status::Done,
        },
    };
    if failed > 0 {
        return fail(&format!("{} failed", counted(failed, "run")));
    }
    printed(written, if judged == Status::Done { status } else { judged })
}

/// Accompanies a sweep: rests, runs the user's command, keeps results, prints a line for each run.
struct SweepRecorder<'a> {
    request: &'a SweepRequest,
    folder: &'a Folder,
    signals: &'a Signals,
    part: &'a RefCell<String>,
    program: String,
    /// Status of the runs so far by `--strict` and `--require`: the worst counts.
    judged: Status,
    /// True after the first run, so that a rest is due before the next.
    ran: bool,
    /// A command that sets up a side failed: without that side there are no pairs.
    is_unready: bool,
}

impl SweepObserver for SweepRecorder<'_> {
    fn before(&mut self, step: &Step, done: usize, known: usize) -> Result<(), RunFailure> {
        if self.is_unready {
            return Err(RunFailure::Interrupted);
        }
        let point = &self.request.points[step.point];
        let what = match step.purpose {
            Purpose::Capacity => "capacity".to_owned(),
            _ => Setting::typed_all(&point.point.settings),
        };
        let part = if self.request.options.limits.is_empty() {
            format!("{} of {known} {what}", done + 1)
        } else {
            format!("{} of up to {} {what}", done + 1, Design::runs_of_search())
        };
        *self.part.borrow_mut() = part;
        if std::mem::replace(&mut self.ran, true) {
            self.rest()?;
        }
        let of_side = self.request.options.ab.as_ref().and_then(|ab| ab.before.get(step.point)?.as_ref());
        let commands = self.request.options.before_point.iter().map(|command| ("--before-point", command));
        let name = if step.point == 0 { "--before-a" } else { "--before-b" };
        let mut commands = commands.chain(of_side.map(|command| (name, command)));
        let ready = commands.try_for_each(|(name, command)| before(name, command));
        self.is_unready = ready.is_err() && self.folder.kind() == SeriesKind::Ab;
        ready
    }

    fn keep(&mut self, step: &Step, result: RunResult) -> Result<String, String> {
        let point = &self.request.points[step.point];
        self.judged = Status::worst([self.judged, judged(&result, &point.request.options)]);
        let seed = result.profile.time_spans.first().map_or(0, |span| span.random_seed);
        let words = match step.purpose {
            Purpose::Capacity => point.words_without_rate(seed),
            _ => point.words_with_seed(seed),
        };
        let words: Vec<String> = std::iter::once(self.program.clone()).chain(words).collect();
        let command_line = command_line(words.iter().map(String::as_str));
        let labels = point.request.options.labels.clone();
        self.folder.keep(&RunResult { command_line, labels, ..result }, step.purpose)
    }

    fn visited(&mut self, visit: &Visit, sweep: &Sweep) -> Result<(), String> {
        let planned = &self.request.points[visit.point];
        let mut line = Vec::new();
        let made = match self.folder.kind() {
            SeriesKind::Sweep => {
                render::run_lines::sweep_line(visit, &planned.request.profile, &planned.point, &mut line)
            }
            SeriesKind::Repeat => render::run_lines::repeat_line(visit, &mut line),
            SeriesKind::Ab => render::run_lines::pair_line(visit, &mut line),
            SeriesKind::Interference => render::run_lines::round_line(visit, &planned.point, &mut line),
        };
        made.and_then(|()| print(&line)).map_err(|error| format!("cannot write to stdout: {error}"))?;
        self.folder.save(sweep)
    }

    fn judged(&mut self, sweep: &Sweep) -> Result<(), String> {
        self.folder.save(sweep)
    }
}

impl SweepRecorder<'_> {
    /// Waits between runs, unless the user wants to end.
    fn rest(&self) -> Result<(), RunFailure> {
        const TICK: Duration = Duration::from_millis(100);
        let end = Instant::now() + self.request.options.rest;
        loop {
            if self.signals.interrupted.load(Relaxed) {
                return Err(RunFailure::Interrupted);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(TICK));
        }
    }
}

/// Runs the user's command; its output goes to stderr, as stdout is for results.
fn before(name: &str, command: &str) -> Result<(), RunFailure> {
    let failed = |reason: String| RunFailure::Failed(vec![format!("{name} '{command}': {reason}")]);
    let ran = process::Command::new("sh").args(["-c", command]).stdout(std::io::stderr()).status();
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}
