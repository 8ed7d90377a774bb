//! Whether this machine had time for a test that needs some.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long it sleeps.
const TICK: Duration = Duration::from_millis(1);

/// How late it may wake up on average on a machine that has time. On a quiet one with 2 CPUs it is 130 us late, beside two
/// endless loops for each CPU 950 us.
const LATE: Duration = Duration::from_micros(300);

/// A thread that sleeps for a millisecond again and again, and keeps how late it woke up. What it finds does not depend on
/// the program under test, unless that takes all CPUs.
#[derive(Debug)]
pub struct Metronome {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<(Duration, u32)>,
}

impl Metronome {
    /// Begins.
    pub fn start() -> Self {
        let ends = Arc::<AtomicBool>::default();
        let has_ended = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            let (mut late, mut count) = (Duration::ZERO, 0);
            while !has_ended.load(Relaxed) {
                let due = Instant::now() + TICK;
                std::thread::sleep(TICK);
                late += due.elapsed();
                count += 1;
            }
            (late, count)
        });
        Self { ends, thread }
    }

    /// Ends, and says why the machine was too busy meanwhile, if it was.
    pub fn verdict(self) -> Result<(), String> {
        self.ends.store(true, Relaxed);
        let (late, count) = self.thread.join().map_err(|_| "the machine is too busy: a thread failed".to_owned())?;
        let mean = late / count.max(1);
        if mean <= LATE {
            return Ok(());
        }
        Err(format!(
            "the machine is too busy: a thread that slept for 1 ms woke up {} us late on average",
            mean.as_micros()
        ))
    }
}
