//! The devices on a full screen.

use crate::output::wants_colours;
use crate::status::MonitorEnd;
use jiff::tz::TimeZone;
use live::screen::monitor::{KeyResult, MonitorScreen, draw};
use live::screen::terminal::{Event, Screen, Stream};
use live::watch::Watch;
use model::device_interval::DeviceInterval;
use std::ops::ControlFlow;
use std::time::Duration;

/// The live table.
pub(crate) struct MonitorPicture {
    screen: Screen,
    state: MonitorScreen,
    has_colours: bool,
    zone: TimeZone,
}

impl MonitorPicture {
    /// Takes over the terminal; `host` is the name of the machine.
    pub(crate) fn begin(host: &str) -> Result<Self, MonitorEnd> {
        let screen = Screen::enter(Stream::Stdout).map_err(|error| {
            MonitorEnd::Failed(format!("cannot use the terminal: {error}; --csv works without one"))
        })?;
        let state = MonitorScreen::new(host.to_owned());
        let mut picture = Self { screen, state, has_colours: wants_colours(), zone: TimeZone::system() };
        picture.draw()?;
        Ok(picture)
    }

    /// Shows an interval.
    pub(crate) fn take(&mut self, interval: &DeviceInterval, watch: &Watch) -> Result<(), MonitorEnd> {
        self.state.take(interval, watch.devices());
        self.draw()
    }

    fn draw(&mut self) -> Result<(), MonitorEnd> {
        let Self { screen, state, has_colours, zone } = self;
        let drawn = screen.draw(|frame| draw(frame, state, *has_colours, zone));
        drawn.map_err(|error| MonitorEnd::of_stdout(&error))
    }

    /// Executes the action of one key, if one arrives in time; breaks if it ends the view.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<ControlFlow<()>, MonitorEnd> {
        let after = match self
            .screen
            .event(timeout)
            .map_err(|error| MonitorEnd::Failed(format!("cannot read the keyboard: {error}")))?
        {
            Some(Event::Gone) => return Err(MonitorEnd::ReaderGone),
            Some(Event::Key(key)) => self.state.press(key),
            None if self.screen.was_resized() => KeyResult::Continue,
            None => return Ok(ControlFlow::Continue(())),
        };
        self.draw()?;
        Ok(if after == KeyResult::Quit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}
