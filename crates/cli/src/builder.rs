//! The state of the command line, built up by options from left to right.

use crate::number;
use crate::request::{Environment, Events, Overrides, RunOptions};
use crate::typed_stream::TypedStream;
use model::profile::{Profile, ResultFormat, Target, TimeSpan};
use std::path::PathBuf;

/// One option as it was given.
#[derive(Clone, Copy)]
pub(crate) struct GivenOption<'a> {
    /// The whole argument exactly as typed.
    pub(crate) argument: &'a str,
    /// The text after the option's name, without leading blanks.
    pub(crate) value: &'a str,
    /// For the options whose effect depends on it.
    pub(crate) environment: &'a dyn Environment,
}

/// Options parsed so far.
#[derive(Default)]
pub(crate) struct Builder {
    /// Profile settings; its timespans are made at the end.
    pub(crate) profile: Profile,
    /// Settings of the one timespan.
    pub(crate) span: TimeSpan,
    /// Settings of every target.
    pub(crate) target: TargetSettings,
    /// Settings that are permitted with `-X`.
    pub(crate) overrides: Overrides,
    /// `--stream`.
    pub(crate) streams: Vec<TypedStream>,
    pub(crate) events: Events,
    /// `-ye`.
    pub(crate) signals: Vec<String>,
    pub(crate) options: RunOptions,
    /// `-?`.
    pub(crate) usage: bool,
    /// `-Rp`.
    pub(crate) show: bool,
    /// `-Rptoml`: as a job file.
    pub(crate) show_job: bool,
    /// `-Rs`.
    pub(crate) system_information: Option<ResultFormat>,
    /// `-X`.
    pub(crate) profile_path: Option<PathBuf>,
    pub(crate) seen: SeenOptions,
    pub(crate) warnings: Vec<String>,
}

/// A target without a path, whose settings every target gets.
pub(crate) struct TargetSettings(pub(crate) Target);

impl Default for TargetSettings {
    fn default() -> Self {
        Self(Target::new(""))
    }
}

/// Options given explicitly, where repeating or combining them is an error.
#[derive(Default)]
pub(crate) struct SeenOptions {
    /// `-B`
    pub(crate) base: bool,
    /// `-f<size>` or the length of `-B`
    pub(crate) maximum: bool,
    /// `-r`
    pub(crate) random: bool,
    /// `-rs`
    pub(crate) mixed_percent: Option<u32>,
    /// `-s`
    pub(crate) sequential: bool,
    /// `-S` letters `b`, `u`, `h`, `r`, or `-h`
    pub(crate) cache_mode: bool,
    /// `-bsp`
    pub(crate) separation: bool,
    /// `-w0`
    pub(crate) no_writes: bool,
}

impl Builder {
    pub(crate) fn settings(&mut self) -> &mut Target {
        &mut self.target.0
    }

    pub(crate) fn block_bytes(&self) -> u64 {
        self.target.0.block_size.get()
    }

    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// The number at the start of the value, as C's `atoi` reads it. Text after it is ignored as in `DiskSpd`, but with
    /// a warning.
    pub(crate) fn number(&mut self, given: &GivenOption<'_>) -> Result<i64, String> {
        let (number, rest) = number::leading(given.value)?;
        self.warn_of_ignored(given, rest);
        Ok(number)
    }

    pub(crate) fn warn_of_ignored(&mut self, given: &GivenOption<'_>, rest: &str) {
        if !rest.trim().is_empty() {
            self.warn(format!("'{}': the trailing text '{rest}' is ignored", given.argument));
        }
    }

    /// A number of at least 0; without digits it is 0.
    pub(crate) fn bounded_or_zero(&mut self, given: &GivenOption<'_>, what: &str) -> Result<u32, String> {
        let number = self.number(given)?;
        u32::try_from(number).map_err(|_| format!("{what} must be 0 or more, not '{}'", given.value.trim()))
    }

    /// A number within bounds; `what` names it in the message.
    pub(crate) fn bounded(&mut self, given: &GivenOption<'_>, what: &str, min: u32, max: u32) -> Result<u32, String> {
        let (number, rest) = number::leading(given.value)?;
        match u32::try_from(number) {
            Ok(number) if (min..=max).contains(&number) => {
                self.warn_of_ignored(given, rest);
                Ok(number)
            }
            _ if given.value.trim().is_empty() => Err(format!("{what} is missing; give {}", span(min, max))),
            _ => Err(format!("{what} must be {}, not '{}'", span(min, max), given.value.trim())),
        }
    }
}

fn span(min: u32, max: u32) -> String {
    if max == u32::MAX { format!("a whole number of at least {min}") } else { format!("{min} to {max}") }
}
