//! Times at which a target had no free request.

/// Since when a target has had free requests, after it had none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Saturation {
    is_full: bool,
    /// When it last was no longer full.
    ended_ns: u64,
}

impl Saturation {
    /// An I/O starts, after which `left` requests are free. Those that are free now were free at `freed_ns`, or before.
    pub(crate) fn start(&mut self, freed_ns: u64, left: usize) {
        if self.is_full {
            self.ended_ns = freed_ns;
        }
        self.is_full = left == 0;
    }

    /// True if no request was free when an I/O was due.
    pub(crate) fn delayed(&self, due_ns: u64) -> bool {
        due_ns < self.ended_ns
    }
}
