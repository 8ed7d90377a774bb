//! A run on a full screen.

use super::machine_watch::MachineWatch;
use crate::output::wants_colours;
use live::screen::run::{KeyResult, RunScreen, draw};
use live::screen::terminal::{Event, Screen, Stream};
use model::live::LiveInterval;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Time to wait for keys before updates are processed.
const PATIENCE: Duration = Duration::from_millis(100);

/// The screen in use and its contents.
pub(crate) struct RunPicture {
    screen: Screen,
    state: RunScreen,
    machine: MachineWatch,
    has_colours: bool,
    /// Set when the user ends the run.
    interrupt: Arc<AtomicBool>,
    is_stale: bool,
}

impl RunPicture {
    /// Takes over the terminal. `devices` are those below the targets, by the kernel's names; `interrupt` is set when
    /// the user ends the run.
    pub(crate) fn begin(
        command_line: &str,
        time_spans: u64,
        devices: BTreeSet<String>,
        interrupt: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let state = RunScreen::new(command_line.to_owned(), time_spans);
        let screen = Screen::enter(Stream::Stderr)?;
        let machine = MachineWatch::begin(devices);
        Ok(Self { screen, state, machine, has_colours: wants_colours(), interrupt, is_stale: true })
    }

    /// Starts a timespan.
    pub(crate) fn begin_time_span(&mut self, number: u64, targets: Vec<String>, load: String) {
        self.state().begin(number, targets, load);
    }

    /// Shows the progress of an activity without measurements.
    pub(crate) fn status(&mut self, status: String) {
        self.state().status(status);
    }

    /// Shows a message for the user.
    pub(crate) fn message(&mut self, message: String) {
        self.state().message(message);
    }

    /// The contents of the screen, to be changed.
    fn state(&mut self) -> &mut RunScreen {
        self.is_stale = true;
        &mut self.state
    }

    /// Shows an interval.
    pub(crate) fn take(&mut self, interval: LiveInterval) {
        let look = self.machine.sample();
        self.state().take(interval, look);
    }

    /// Draws updates, then waits for keys for a moment.
    ///
    /// # Errors
    ///
    /// If the terminal was closed.
    pub(crate) fn refresh(&mut self) -> io::Result<()> {
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
            && self.state().press(key) == KeyResult::End
        {
            self.interrupt.store(true, Relaxed);
        }
        Ok(())
    }
}
