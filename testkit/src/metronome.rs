//! Whether this machine had time for a test that needs some.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long it sleeps.
const TICK: Duration = Duration::from_millis(1);

/// How late it may wake up on average on a machine that has time. On a quiet one with 2 CPUs it is 130 us late, beside two
/// endless loops for each CPU 950 us.
const LATE: Duration = Duration::from_micros(300);

/// A machine that stands still for so long makes others miss a time that they have agreed on.
const PAUSE: Duration = Duration::from_millis(250);

/// Runs of a test that such pauses disturb, at most.
const ATTEMPTS: u32 = 5;

/// A thread that sleeps for a millisecond again and again, and keeps how late it woke up. What it finds does not depend on
/// the program under test, unless that takes all CPUs.
#[derive(Debug)]
pub struct Metronome {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Lateness>,
}

/// How late it woke up.
#[derive(Debug, Default)]
struct Lateness {
    sum: Duration,
    longest: Duration,
    count: u32,
}

impl Metronome {
    /// Begins.
    pub fn start() -> Self {
        let ends = Arc::<AtomicBool>::default();
        let has_ended = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let mut lateness = Lateness::default();
            while !has_ended.load(Relaxed) {
                let due = Instant::now() + TICK;
                std::thread::sleep(TICK);
                let late = due.elapsed();
                lateness.sum += late;
                lateness.longest = lateness.longest.max(late);
                lateness.count += 1;
            }
            lateness
        });
        Self { ends, thread }
    }

    /// Ends, and says why the machine was too busy meanwhile, if it was.
    pub fn verdict(self) -> Result<(), String> {
        let lateness = self.end().ok_or("the machine is too busy: a thread failed")?;
        let mean = lateness.sum / lateness.count.max(1);
        if mean <= LATE {
            return Ok(());
        }
        Err(format!(
            "the machine is too busy: a thread that slept for 1 ms woke up {} us late on average",
            mean.as_micros()
        ))
    }

    fn end(self) -> Option<Lateness> {
        self.ends.store(true, Relaxed);
        self.thread.join().ok()
    }
}

/// Runs a test of programs that agree on times, and runs it again if it failed while the machine stood still.
pub fn unless_paused(test: impl Fn()) {
    for _ in 1..ATTEMPTS {
        let metronome = Metronome::start();
        let outcome = catch_unwind(AssertUnwindSafe(&test));
        let longest = metronome.end().map(|lateness| lateness.longest).unwrap_or_default();
        match outcome {
            Ok(()) => return,
            Err(panic) if longest < PAUSE => resume_unwind(panic),
            Err(_) => eprintln!("running it again: the machine stood still for {longest:?}"),
        }
    }
    test();
}
