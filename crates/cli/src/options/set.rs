//! Options of ours that set one field of a timespan: made from the rows of [`settings`].

use super::own::OWN;
use super::row::{Kind, OptionRow, Repeat, Scope};
use crate::builder::{Builder, Given};
use crate::size;
use model::profile::TimeSpan;
use settings::{LINUX_IN_TIME_SPAN, OwnOption, Setting, Takes};

/// One row for each.
pub(super) fn rows() -> impl Iterator<Item = OptionRow> {
    LINUX_IN_TIME_SPAN.iter().filter_map(|setting| setting.own.map(|help| row(setting, help)))
}

fn row(setting: &'static Setting<TimeSpan>, help: &'static OwnOption) -> OptionRow {
    let is_switch = help.value.is_empty();
    OptionRow {
        name: setting.option,
        value: help.value,
        kind: if is_switch { Kind::Flag } else { Kind::Value },
        repeat: if is_switch { Repeat::Harmless } else { Repeat::LastWins },
        scope: Scope::TimeSpan,
        xml: std::slice::from_ref(&setting.element),
        short: help.short,
        long: help.long,
        example: help.example,
        setting: Some(setting),
        ..OWN
    }
}

impl OptionRow {
    /// Applies the option to the builder.
    pub(crate) fn apply(&self, builder: &mut Builder, given: &Given<'_>) -> Result<(), String> {
        match self.setting {
            None => (self.apply)(builder, given),
            Some(setting) => apply(setting, builder, given.value),
        }
    }
}

/// Sets what the option says in every timespan.
fn apply(setting: &'static Setting<TimeSpan>, builder: &mut Builder, value: &str) -> Result<(), String> {
    let overrides = &mut builder.overrides;
    match setting.takes() {
        Takes::Nothing => setting.set_flag(&mut overrides.settings),
        Takes::Count(range) => {
            let number = value.parse().ok().filter(|number| range.contains(number));
            let wrong = || format!("'{value}' is not a whole number {}", bounds(*range.start(), *range.end()));
            setting.set_number(&mut overrides.settings, number.ok_or_else(wrong)?);
        }
        Takes::Size(range) => {
            let bytes = bytes(value)?;
            if !range.contains(&bytes) {
                return Err(format!("'{value}' is not a size {} bytes", bounds(*range.start(), *range.end())));
            }
            setting.set_number(&mut overrides.settings, bytes);
        }
        Takes::Word(words) => {
            if !setting.set_word(&mut overrides.settings, value) {
                return Err(format!("unknown value '{value}' (expected: {})", words.join(", ")));
            }
        }
    }
    overrides.given.insert(setting.element);
    Ok(())
}

fn bounds(least: u64, most: u64) -> String {
    if most == u64::MAX { format!("of at least {least}") } else { format!("from {least} to {most}") }
}

/// There is no block of -b that could be the unit before the targets are known.
fn bytes(text: &str) -> Result<u64, String> {
    if text.ends_with(['b', 'B']) {
        return Err(format!(
            "'{text}' is a number of blocks, but targets may have different block sizes; use --max-ios to limit the \
             number of I/Os"
        ));
    }
    size::parse(text, 1).map_err(|fault| fault.to_string())
}
