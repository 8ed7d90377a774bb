//! Log of refused messages: a few lines a second, however many messages come.

use super::Log;
use model::units::counted;

/// The maximum number of lines per second.
const LINES: u32 = 5;
const SECOND_NS: u64 = 1_000_000_000;

/// A log with a rate limit.
pub(super) struct LimitedLog {
    log: Log,
    /// Start of the second of these lines.
    since_ns: u64,
    lines: u32,
    left_out: u64,
}

impl LimitedLog {
    pub(super) fn new(log: Log) -> Self {
        Self { log, since_ns: 0, lines: 0, left_out: 0 }
    }

    /// Logs without the limit.
    pub(super) fn say(&self, sentence: &str) {
        (self.log)(sentence);
    }

    /// Logs if the limit of this second is not reached.
    pub(super) fn limited(&mut self, now_ns: u64, sentence: &str) {
        self.tick(now_ns);
        if self.lines < LINES {
            self.lines += 1;
            (self.log)(sentence);
        } else {
            self.left_out += 1;
        }
    }

    /// Logs the number of dropped lines when the second is over.
    pub(super) fn tick(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.since_ns) < SECOND_NS {
            return;
        }
        self.since_ns = now_ns;
        self.lines = 0;
        if self.left_out > 0 {
            self.lines = 1;
            (self.log)(&format!("refused {}", counted(self.left_out, "more message")));
            self.left_out = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_flood_is_counted_and_not_repeated() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let mut log = LimitedLog::new(Arc::new(move |line: &str| kept.lock().unwrap().push(line.to_owned())));
        for number in 0..1000 {
            log.limited(10 * SECOND_NS + number, "refused");
        }
        log.tick(11 * SECOND_NS + 1);
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), LINES as usize + 1);
        assert_eq!(lines.last().unwrap(), "refused 995 more messages");
    }
}
