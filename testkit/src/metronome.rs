//! Detects whether this machine had enough time for a test.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Duration of a sleep.
const TICK: Duration = Duration::from_millis(1);

/// Mean lateness of wake-ups up to which a machine counts as having time. A quiet one with 2 CPUs wakes up 130 us late,
/// beside two endless loops for each CPU 950 us.
const LATE: Duration = Duration::from_micros(300);

/// A machine that stalls for this long makes programs miss an agreed time.
const PAUSE: Duration = Duration::from_millis(250);

/// Maximum number of runs of a test that such pauses disturb.
const ATTEMPTS: u32 = 5;

/// A thread that repeatedly sleeps for a millisecond, and records its lateness. Its result does not depend on the
/// program under test, unless that takes all CPUs.
#[derive(Debug)]
pub struct Metronome {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Lateness>,
}

/// Lateness of its wake-ups.
#[derive(Debug, Default)]
struct Lateness {
    sum: Duration,
    longest: Duration,
    count: u32,
}

impl Metronome {
    /// Starts the thread.
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

    /// Ends the thread; an error if the machine was too busy in the meantime.
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

/// Runs a test of programs that agree on times, and repeats it if it failed while the machine stalled.
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
