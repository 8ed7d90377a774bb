//! Outputs of the monitor: a screen, lines on stdout or in a file, a recording.

use super::{PATIENCE, View};
use crate::output::{print_to_reader, say};
use crate::outputs::{LineFile, OutputFile, cannot_write};
use crate::screens::MonitorPicture;
use crate::status::MonitorEnd;
use cli::subcommand::monitor::LineForm;
use jiff::tz::TimeZone;
use live::watch::Watch;
use live::watch_lines::{self, Column, TypeperfCsv};
use live::watch_table;
use model::device_interval::{DeviceInterval, WatchBegin, WatchEnd, WatchLine};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Lines and their destination.
struct Lines {
    form: Form,
    /// The name of the file; `None` = stdout.
    file: Option<PathBuf>,
}

enum Form {
    Csv(Box<TypeperfCsv<Box<dyn Write>>>),
    Json(Box<dyn Write>),
}

impl Lines {
    fn begin(
        form: LineForm,
        columns: Vec<Column>,
        facts: &WatchBegin,
        file: Option<OutputFile>,
    ) -> Result<Self, MonitorEnd> {
        let name = file.as_ref().map(|file| file.name().to_owned());
        let out: Box<dyn Write> = match file {
            Some(file) => Box::new(file.begin(form == LineForm::Csv)),
            None => Box::new(io::stdout()),
        };
        let form = match form {
            LineForm::Json => Form::Json(out),
            LineForm::Csv => {
                let csv = TypeperfCsv::begin(out, &facts.host, columns, TimeZone::system(), facts.started_at_unix_ns);
                Form::Csv(Box::new(csv.map_err(|error| ended(name.as_deref(), &error))?))
            }
        };
        Ok(Self { form, file: name })
    }

    fn take(&mut self, interval: &DeviceInterval) -> Result<(), MonitorEnd> {
        let written = match &mut self.form {
            Form::Csv(csv) => csv.interval(interval),
            Form::Json(out) => watch_lines::json(&WatchLine::Interval(interval.clone()), out),
        };
        written.map_err(|error| ended(self.file.as_deref(), &error))
    }
}

fn ended(file: Option<&Path>, error: &io::Error) -> MonitorEnd {
    match file {
        Some(name) => MonitorEnd::Failed(cannot_write(name, error)),
        None => MonitorEnd::of_stdout(error),
    }
}

/// All outputs of the monitor.
pub(super) struct MonitorSinks {
    lines: Option<Lines>,
    /// Time zone of the tables on stdout, if these are shown.
    tables: Option<TimeZone>,
    picture: Option<MonitorPicture>,
    recording: Option<LineFile>,
    told_count: u64,
}

impl MonitorSinks {
    pub(super) fn begin(
        view: View,
        columns: Vec<Column>,
        facts: &WatchBegin,
        output: Option<OutputFile>,
        record: Option<OutputFile>,
    ) -> Result<Self, MonitorEnd> {
        let recording = record.map(|file| file.begin(true));
        let lines = match view {
            View::Lines(form) => Some(Lines::begin(form, columns, facts, output)?),
            View::Screen | View::Table => None,
        };
        let tables = (view == View::Table).then(TimeZone::system);
        let mut all = Self { lines, tables, picture: None, recording, told_count: 0 };
        all.record(&WatchLine::Begin(facts.clone()))?;
        // Last, so that earlier errors are printed on the normal terminal.
        if view == View::Screen {
            all.picture = Some(MonitorPicture::begin(&facts.host)?);
        }
        Ok(all)
    }

    /// Shows an interval.
    pub(super) fn take(&mut self, interval: &DeviceInterval, watch: &Watch) -> Result<(), MonitorEnd> {
        self.told_count += 1;
        self.record(&WatchLine::Interval(interval.clone()))?;
        if let Some(lines) = &mut self.lines {
            lines.take(interval)?;
        }
        if let Some(zone) = &self.tables {
            let text = watch_table::table(interval, zone);
            print_to_reader(text.as_bytes()).map_err(|error| MonitorEnd::of_stdout(&error))?;
        }
        if let Some(picture) = &mut self.picture {
            picture.take(interval, watch)?;
        }
        Ok(())
    }

    /// Number of intervals that were shown.
    pub(super) fn told_count(&self) -> u64 {
        self.told_count
    }

    /// Waits until `until_ns` on the monotonic clock, or a little less: signals and keys are polled in between.
    pub(super) fn wait(&mut self, until_ns: u64) -> Result<ControlFlow<()>, MonitorEnd> {
        let now_ns = sys::clock::monotonic_ns();
        let time = Duration::from_nanos(until_ns.saturating_sub(now_ns)).min(PATIENCE);
        if let Some(picture) = &mut self.picture {
            return picture.wait(time);
        }
        sys::clock::sleep_until_ns(now_ns.saturating_add(time.as_nanos() as u64));
        Ok(ControlFlow::Continue(()))
    }

    /// Writes the last line of a recording. An earlier recording remains if there is no interval.
    pub(super) fn end(&mut self, missed_count: u64) -> Result<(), MonitorEnd> {
        if let Some(file) = self.recording.as_ref().filter(|file| file.is_untouched()) {
            say(&format!("WARNING: '{}': nothing was recorded; the file is unchanged", file.name().display()));
            return Ok(());
        }
        self.record(&WatchLine::End(WatchEnd { interval_count: self.told_count, missed_count }))
    }

    fn record(&mut self, line: &WatchLine) -> Result<(), MonitorEnd> {
        match &mut self.recording {
            Some(file) => watch_lines::json(line, file).map_err(|error| ended(Some(file.name()), &error)),
            None => Ok(()),
        }
    }
}
