//! Console output during a run: `-v` lines, `-P` dots, the live line, progress bars.
//! All of it on stderr; bars and the live line only if that is a terminal.

use crate::interrupt;
use crate::output::say_at_once;
use indicatif::{BinaryBytes, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use jiff::Zoned;
use model::live::LiveCounts;
use model::plan::{Pattern, TimeSpanPlan, WorkerPlan};
use model::preset::PresetRun;
use model::printable::printable;
use model::units::{counted, mib};
use run::observer::{Event, Live, Observer, Phase};
use std::fmt;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Progress of a load since its start.
#[derive(Debug, Default)]
pub(crate) struct LoadProgress {
    pub(crate) ios: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// Interval at which observers want all counts; `None` = never.
    pub(crate) counts_every_ns: Option<u64>,
    /// Latest counts, until they are taken.
    pub(crate) counts: Mutex<Option<LiveCounts>>,
}

/// Shows the events of a run.
pub(crate) struct ConsoleObserver {
    verbose: bool,
    /// Prefix of the live line; permanent lines are only for single runs.
    part: Option<String>,
    /// The preset that is run, and its progress.
    preset: Option<PresetRun>,
    progress: Option<String>,
    terminal: bool,
    bar: Option<ProgressBar>,
    dots: bool,
    /// Lines held back until the screen is free; `None` while it is.
    held: Option<Vec<String>>,
    /// Number of lines that were not read in time.
    dropped: u64,
    /// Counters of I/Os and bytes for observers.
    progress_of_load: Option<Arc<LoadProgress>>,
}

impl ConsoleObserver {
    /// `verbose`: with the lines of `-v`.
    pub(crate) fn new(verbose: bool) -> Self {
        Self {
            verbose,
            part: None,
            preset: None,
            progress: None,
            terminal: io::stderr().is_terminal(),
            bar: None,
            dots: false,
            held: None,
            dropped: 0,
            progress_of_load: None,
        }
    }

    /// Shows the progress through the preset's loads at the beginning of the live line.
    pub(crate) fn of_preset(self, preset: Option<PresetRun>) -> Self {
        Self { preset, ..self }
    }

    /// For one run of a series; `part` identifies the run.
    pub(crate) fn of_part(part: String) -> Self {
        Self { part: Some(part), ..Self::new(false) }
    }

    /// Counts I/Os and bytes once per second for observers.
    #[cfg(feature = "fleet")]
    pub(crate) fn counting(self, progress: Arc<LoadProgress>) -> Self {
        Self { progress_of_load: Some(progress), ..self }
    }

    /// Holds lines back until [`finish`](Self::finish) while something else uses the screen.
    pub(crate) fn hold_back(&mut self) {
        self.end_live_line();
        self.terminal = false;
        self.held.get_or_insert_default();
    }

    /// Ends the output of a run: removes the live line and prints the lines that were held back.
    pub(crate) fn finish(&mut self) {
        self.end_live_line();
        for line in self.held.take().unwrap_or_default() {
            crate::output::say(&line);
        }
        if self.dropped > 0 {
            let lines = counted(self.dropped, "line");
            say_at_once(format!("WARNING: dropped {lines}: stderr was not read in time\n").as_bytes());
        }
    }

    fn end_live_line(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.end_dots();
    }

    /// Ends a line of dots.
    fn end_dots(&mut self) {
        if std::mem::take(&mut self.dots) {
            say_at_once(b"\n");
        }
    }

    /// Prints a permanent line, above a bar if there is one.
    fn say(&mut self, line: &str) {
        if let Some(held) = &mut self.held {
            held.push(line.to_owned());
            return;
        }
        self.end_dots();
        match &self.bar {
            Some(bar) => bar.suspend(|| crate::output::say(line)),
            None if say_at_once(format!("{}\n", printable(line)).as_bytes()) => {}
            None => self.dropped += 1,
        }
    }

    fn verbose(&mut self, line: &str) {
        if self.verbose {
            self.say(&format!("{}: {line}", Zoned::now().strftime("%Y-%m-%dT%H:%M:%S")));
        }
    }

    fn creating(&mut self, path: &Path, written_bytes: u64, size_bytes: u64) {
        if written_bytes == 0 {
            self.verbose(&format!("Creating file '{}' of size {size_bytes}.", path.display()));
        }
        if !self.terminal {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(size_bytes), ProgressDrawTarget::stderr());
            let template = "creating {msg} [{wide_bar}] {binary_bytes}/{binary_total_bytes} {rate} {eta}";
            bar.with_style(style(template)).with_message(printable(&path.to_string_lossy()).into_owned())
        });
        bar.set_position(written_bytes);
        if written_bytes == size_bytes {
            self.end_live_line();
        }
    }

    /// Replaces the live line.
    pub(crate) fn live(&mut self, line: String) {
        if !self.terminal {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.with_style(style("{msg}"))
        });
        bar.set_message(match self.part.as_ref().or(self.progress.as_ref()) {
            Some(part) => format!("{}: {line}", printable(part)),
            None => line,
        });
        bar.tick();
    }

    fn phase(&mut self, phase: Phase) {
        let seconds = |ns: u64| ns / 1_000_000_000;
        self.verbose(&match phase {
            Phase::WarmUp { length_ns } => format!("starting warm up for {}s...", seconds(length_ns)),
            Phase::Measure { length_ns } => format!("starting measurements for {}s...", seconds(length_ns)),
            Phase::CoolDown { length_ns } => format!("starting cool down for {}s...", seconds(length_ns)),
        });
        self.live(format!("{}, {} s", phase_name(phase), seconds(phase_length_ns(phase))));
    }

    fn thread(&mut self, worker: &WorkerPlan, plan: &TimeSpanPlan) {
        if !self.verbose {
            return;
        }
        let thread = worker.thread;
        self.verbose(&format!("creating thread {thread}"));
        if let Some(cpu) = worker.cpu {
            let (group, number) = (cpu / model::limits::CPUS_PER_GROUP, cpu % model::limits::CPUS_PER_GROUP);
            self.verbose(&format!("thread {thread:3}: affinitizing to Group {group} / CPU {number}"));
        }
        for target in &worker.targets {
            let path = plan.targets[target.target].path.display();
            let (relative, seed) = (target.relative_thread, worker.seed);
            self.verbose(&format!(
                "thread {thread:3}: file '{path}' relative thread {relative} (random seed: {seed}, stream {})",
                worker.stream
            ));
            let pattern = match &target.pattern {
                Pattern::Random { .. } => "100% random IO".to_owned(),
                Pattern::Mixed { random_percent, .. } => format!("{random_percent}% random IO"),
                Pattern::Append { .. } => "appending IO".to_owned(),
                Pattern::Recorded { .. } => "IO of a trace".to_owned(),
                Pattern::Interlocked { .. } => "interlocked sequential IO".to_owned(),
                Pattern::Sequential { .. } | Pattern::Parallel { .. } => "sequential IO".to_owned(),
            };
            self.verbose(&format!("thread {thread:3}: {pattern}"));
        }
    }
}

impl Observer for ConsoleObserver {
    fn observe(&mut self, event: &Event<'_>) {
        match event {
            Event::TimeSpan { number } => {
                self.progress = self.preset.as_ref().and_then(|preset| preset.progress(*number));
                self.verbose(&format!("Generating requests for timespan {number}."));
            }
            Event::Reusing { .. } if self.part.is_some() => {}
            Event::Reusing { path } => self.verbose(&format!("reusing {}", path.display())),
            Event::DirectoryCreated { directory } => self.say(&format!("created {directory}")),
            Event::Deleted { path } => self.say(&format!("deleted {}", path.display())),
            Event::Creating { path, written_bytes, size_bytes } => self.creating(path, *written_bytes, *size_bytes),
            Event::Thread { worker, plan } => self.thread(worker, plan),
            Event::WaitingForStart => self.verbose("all threads are ready; waiting for the start event"),
            Event::Started => self.verbose("all threads are ready; start signal sent"),
            Event::Phase(phase) => self.phase(*phase),
            Event::CpuTimesRead { cpus } => self.verbose(&format!("get system perf info: {}", counted(*cpus, "CPU"))),
            Event::Measured { elapsed_ns } => {
                let seconds = *elapsed_ns as f64 / 1e9;
                self.verbose(&format!("stopped measurements, total measured time {seconds:.2}s..."));
            }
            Event::Finished => {
                self.end_live_line();
                self.verbose("finished test...");
            }
            Event::Counts(counts) => {
                if let Some(progress) = &self.progress_of_load {
                    *progress.counts.lock().unwrap_or_else(PoisonError::into_inner) = Some((*counts).clone());
                }
            }
            Event::Live(live) => {
                if let Some(progress) = &self.progress_of_load {
                    progress.ios.fetch_add(live.ios, Relaxed);
                    progress.bytes.fetch_add(live.bytes, Relaxed);
                }
                self.live(live_line(live));
            }
            Event::Status(live) => self.say(&live_line(live)),
            Event::Dots { .. } if self.held.is_some() => {}
            Event::Dots { count } => {
                self.dots = true;
                let dots = ".".repeat(usize::try_from(*count).unwrap_or(usize::MAX).min(10_000));
                // The most that a pipe accepts in one atomic write.
                dots.as_bytes().chunks(4096).all(say_at_once);
            }
            Event::Interrupted => {
                self.say("");
                self.say(&format!("*** Interrupted by {}. Stopping I/O Request Generator. ***", interrupt::cause()));
            }
            Event::StopEventSet => self.verbose("the stop event was set; stopping"),
            Event::Warning { message } => self.say(&format!("WARNING: {message}")),
        }
    }

    fn counts_every_ns(&self) -> Option<u64> {
        self.progress_of_load.as_ref().and_then(|progress| progress.counts_every_ns)
    }
}

/// The style of a progress bar; `{rate}` is its mean rate in bytes per second.
pub(crate) fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
        // A failure to write to the terminal cannot be reported.
        let _ = out.write_str(&mean_rate(state.pos(), state.elapsed()));
    })
}

/// Mean rate since the start; empty in the first moments, when few bytes give no usable rate. An estimate of the
/// current rate would end with that of the last moments: terabytes per second.
fn mean_rate(bytes: u64, elapsed: Duration) -> String {
    const FIRST_MOMENTS: Duration = Duration::from_millis(200);
    if elapsed < FIRST_MOMENTS {
        return String::new();
    }
    format!("{}/s", BinaryBytes((bytes as f64 / elapsed.as_secs_f64()) as u64))
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp { .. } => "warm up",
        Phase::Measure { .. } => "measuring",
        Phase::CoolDown { .. } => "cool down",
    }
}

fn phase_length_ns(phase: Phase) -> u64 {
    let (Phase::WarmUp { length_ns } | Phase::Measure { length_ns } | Phase::CoolDown { length_ns }) = phase;
    length_ns
}

/// `measuring, 7 s left: 123456 IOPS, 482.25 MiB/s, 0.259 ms mean latency`
fn live_line(live: &Live) -> String {
    let seconds = live.stretch_ns as f64 / 1e9;
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let latency = if live.ios == 0 {
        "no I/O completed".to_owned()
    } else {
        format!("{:.3} ms mean latency", live.latency_sum_ns as f64 / live.ios as f64 / 1e6)
    };
    format!(
        "{}, {:.0} s left: {:.0} IOPS, {:.2} MiB/s, {latency}",
        phase_name(live.phase),
        live.left_ns as f64 / 1e9,
        per_second(live.ios),
        mib(per_second(live.bytes)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_bars_show_the_mean_rate() {
        assert_eq!(mean_rate(1 << 30, Duration::from_secs(2)), "512.00 MiB/s");
        assert_eq!(mean_rate(0, Duration::from_secs(1)), "0 B/s");
        assert_eq!(mean_rate(1 << 40, Duration::from_millis(1)), "");
    }

    #[test]
    fn the_live_line_says_phase_time_rate_and_latency() {
        let live = Live {
            phase: Phase::Measure { length_ns: 10_000_000_000 },
            left_ns: 7_000_000_000,
            stretch_ns: 500_000_000,
            ios: 1000,
            bytes: 4_096_000,
            latency_sum_ns: 250_000_000,
        };
        assert_eq!(live_line(&live), "measuring, 7 s left: 2000 IOPS, 7.81 MiB/s, 0.250 ms mean latency");
        let idle = Live { ios: 0, bytes: 0, ..live };
        assert_eq!(live_line(&idle), "measuring, 7 s left: 0 IOPS, 0.00 MiB/s, no I/O completed");
    }
}
