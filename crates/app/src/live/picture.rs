//! The run on a full screen.

use super::machine_watch::MachineWatch;
use crate::terminal_settings::has_colours;
use live::run_screen::{After, RunScreen, draw};
use live::terminal::{Event, Screen, Stream};
use model::live::LiveInterval;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How long to wait for keys before updates are processed.
const PATIENCE: Duration = Duration::from_millis(100);

/// The screen while it is ours, and what is on it.
pub(super) struct Picture {
    screen: Screen,
    state: RunScreen,
    machine: MachineWatch,
    has_colours: bool,
    /// Set when the user wants the run to end.
    interrupt: Arc<AtomicBool>,
    is_stale: bool,
}

impl Picture {
    /// Takes the terminal over.
    pub(super) fn begin(state: RunScreen, devices: BTreeSet<String>, interrupt: Arc<AtomicBool>) -> io::Result<Self> {
        let screen = Screen::enter(Stream::Stderr)?;
        let machine = MachineWatch::begin(devices);
        Ok(Self { screen, state, machine, has_colours: has_colours(), interrupt, is_stale: true })
    }

    /// What is shown, to be changed.
    pub(super) fn state(&mut self) -> &mut RunScreen {
        self.is_stale = true;
        &mut self.state
    }

    /// Shows an interval.
    pub(super) fn take(&mut self, interval: LiveInterval) {
        let look = self.machine.look();
        self.state().take(interval, look);
    }

    /// Draws what is new, then waits for keys for a moment.
    ///
    /// # Errors
    ///
    /// If the terminal was closed.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        if self.is_stale || self.screen.was_resized() {
            let Self { screen, state, has_colours, .. } = self;
            screen.draw(|frame| draw(frame, state, *has_colours))?;
            self.is_stale = false;
        }
        let event = self.screen.event(PATIENCE)?;
        if event == Some(Event::Gone) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if let Some(Event::Key(key)) = event
            && self.state().press(key) == After::End
        {
            self.interrupt.store(true, Relaxed);
        }
        Ok(())
    }
}
