//! `cargo xtask torment`: stacks of files, links, mounts, loop devices and swap with other people's data in them, one
//! command line of ours over each, and afterwards a comparison of everything that the command does not name.

mod case;
mod command;
mod places;
mod process;
mod random;
mod snapshot;
mod stack;
mod steps;
#[cfg(test)]
mod tests;
mod verdict;

use crate::stop::Stop;
use crate::surroundings::target_directory;
use case::Outcome;
use places::Places;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Options of a session.
#[derive(Clone, Debug)]
pub struct Request {
    /// Duration in seconds.
    pub seconds: u64,
    /// Seed of all choices; `None` = from the clock.
    pub seed: Option<u64>,
    /// Only this case.
    pub case: Option<u64>,
    /// Program to test instead of the one that is built.
    pub program: Option<PathBuf>,
    /// Continues after a loss, to find more.
    pub keep_going: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self { seconds: 60, seed: None, case: None, program: None, keep_going: false }
    }
}

/// Results of all cases.
#[derive(Debug, Default)]
struct Tally {
    cases: u64,
    /// Numbers of cases that ran, failed and were refused.
    statuses: [u64; 3],
    changed: u64,
    losses: u64,
    /// The same statuses by the kind of command.
    kinds: BTreeMap<&'static str, [u64; 3]>,
}

/// Runs cases until the time is over.
///
/// # Errors
///
/// [`Stop::Failed`] if other people's data was lost, the program ended in an undocumented way, or something was left
/// behind.
pub fn run(root: &Path, request: &Request) -> Result<(), Stop> {
    let program = match &request.program {
        Some(program) => program.clone(),
        None => build(root)?,
    };
    let seed = request.seed.unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_nanos() as u64 % 1_000_000_000
    });
    let is_stopped = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&is_stopped))
            .map_err(|error| Stop::Failed(format!("cannot handle signals: {error}")))?;
    }
    let is_root = rustix::process::geteuid().is_root();
    let places = Places::new(&target_directory(root).join("tmp"), &program, is_root)?;
    println!("seed {seed}, on {}", places.bases.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join(", "));
    for missing in &places.missing {
        println!("LEFT OUT: {missing}");
    }
    cases(&places, request, seed, is_root, &is_stopped)
}

fn cases(places: &Places, request: &Request, seed: u64, is_root: bool, is_stopped: &AtomicBool) -> Result<(), Stop> {
    let began = Instant::now();
    let mut tally = Tally::default();
    let mut next = request.case.unwrap_or(0);
    while !is_stopped.load(Ordering::Relaxed) {
        if tally.cases > 0 && (request.case.is_some() || began.elapsed() >= Duration::from_secs(request.seconds)) {
            break;
        }
        let outcome = case::run(places, seed, next, is_root)?;
        tally.add(&outcome);
        if !outcome.losses.is_empty() || request.case.is_some() {
            print(seed, next, &outcome);
        }
        if !outcome.losses.is_empty() && !request.keep_going {
            break;
        }
        next += 1;
    }
    println!("{}", tally.text(began.elapsed()));
    if tally.losses > 0 {
        return Err(Stop::Failed(format!(
            "{} of {} cases lost somebody's data or ended badly",
            tally.losses, tally.cases
        )));
    }
    Ok(())
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        // An inconclusive comparison, and a limit that was exceeded, count as run.
        let ended: [&[i32]; 3] = [&[0, 4, 6], &[1], &[3]];
        if let Some(index) = ended.iter().position(|codes| outcome.code.is_some_and(|code| codes.contains(&code))) {
            self.statuses[index] += 1;
            self.kinds.entry(outcome.kind).or_default()[index] += 1;
        }
        self.changed += u64::from(outcome.has_changed);
        self.losses += u64::from(!outcome.losses.is_empty());
    }

    fn text(&self, time: Duration) -> String {
        let [good, failed, refused] = self.statuses;
        let kinds =
            self.kinds.iter().map(|(kind, [good, failed, refused])| format!("{kind} {good}/{failed}/{refused}"));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        format!(
            "{} cases in {:.0} s ({:.1} per second): {good} ran, {failed} failed, {refused} refused ({kinds}); {} changed what they may; {} losses",
            self.cases,
            time.as_secs_f64(),
            self.cases as f64 / time.as_secs_f64().max(0.001),
            self.changed,
            self.losses
        )
    }
}

fn print(seed: u64, case: u64, outcome: &Outcome) {
    println!("\n== cargo xtask torment --seed {seed} --case {case}");
    for line in &outcome.lines {
        println!("  {line}");
    }
    println!("exit status {}", outcome.status);
    for line in outcome.stderr.lines() {
        println!("  | {line}");
    }
    for loss in &outcome.losses {
        println!("LOSS: {loss}");
    }
    for left in &outcome.left {
        println!("taken down by force: {left}");
    }
}

/// Builds the program as tests run it.
fn build(root: &Path) -> Result<PathBuf, Stop> {
    let status = Command::new("cargo").current_dir(root).args(["build", "--locked", "-p", "app"]).status();
    if status.is_ok_and(|status| status.success()) {
        Ok(target_directory(root).join("debug/diskspd"))
    } else {
        Err(Stop::Failed("cargo build failed".to_owned()))
    }
}
