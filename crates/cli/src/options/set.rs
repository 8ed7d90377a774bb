//! Options of ours that set one field of a timespan or target: made from the rows of [`settings`].

use super::own::OWN;
use super::row::{Kind, OptionRow, OwnSetting, Repeat, Scope};
use crate::builder::{Builder, GivenOption};
use crate::size;
use settings::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, OwnOption, Setting, ValueKind};

/// May also be in bytes, whose number of I/Os is known once all options are read.
const RATE: &str = "--rate";

/// One row for each.
pub(super) fn rows() -> impl Iterator<Item = OptionRow> {
    let of_time_span = |setting| row(setting, Scope::TimeSpan, OwnSetting::TimeSpan(setting));
    let of_target = |setting| row(setting, Scope::Target, OwnSetting::Target(setting));
    LINUX_IN_TIME_SPAN.iter().filter_map(of_time_span).chain(LINUX_IN_TARGET.iter().filter_map(of_target))
}

fn row<T>(setting: &'static Setting<T>, scope: Scope, sets: OwnSetting) -> Option<OptionRow> {
    let help: &'static OwnOption = setting.own?;
    let is_switch = help.value.is_empty();
    let with_value = if help.value.starts_with('[') { Kind::AttachedValue } else { Kind::Value };
    Some(OptionRow {
        name: setting.option,
        value: help.value,
        kind: if is_switch { Kind::Flag } else { with_value },
        repeat: if is_switch { Repeat::Harmless } else { Repeat::LastWins },
        scope,
        group: help.group,
        xml: std::slice::from_ref(&setting.element),
        short: help.short,
        long: help.long,
        example: help.example,
        setting: Some(sets),
        ..OWN
    })
}

impl OptionRow {
    /// Applies the option to the builder.
    pub(crate) fn apply(&self, builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
        match self.setting {
            None => (self.apply)(builder, given),
            Some(sets) => apply(sets, builder, given.value),
        }
    }
}

/// Sets the value of the option in every timespan or target.
fn apply(sets: OwnSetting, builder: &mut Builder, value: &str) -> Result<(), String> {
    let overrides = &mut builder.overrides;
    if let OwnSetting::TimeSpan(setting) = sets
        && setting.option == RATE
    {
        overrides.rate_bytes_per_s = rate_in_bytes(value)?;
        if overrides.rate_bytes_per_s.is_some() {
            return Ok(());
        }
    }
    overrides.given.insert(match sets {
        OwnSetting::TimeSpan(setting) => set(setting, &mut overrides.settings, value)?,
        OwnSetting::Target(setting) => set(setting, &mut overrides.target_settings, value)?,
    });
    Ok(())
}

/// `100M/s`, `10M/s..100M/s`; `None` if it is in I/Os.
fn rate_in_bytes(value: &str) -> Result<Option<[u64; 2]>, String> {
    let (from, to) = value.split_once("..").unwrap_or((value, value));
    match (size::per_second(from), size::per_second(to)) {
        (None, None) => Ok(None),
        (Some(from), Some(to)) => Ok(Some([from?, to?])),
        _ => Err(format!("'{value}': both ends of a rate in bytes need /s, as in 10M/s..100M/s")),
    }
}

/// Sets a setting to the value of the option; returns the name of its element.
fn set<T>(setting: &Setting<T>, of: &mut T, value: &str) -> Result<&'static str, String> {
    match setting.takes() {
        ValueKind::Nothing => setting.set_flag(of),
        ValueKind::Count(range) => {
            let number = value.parse().ok().filter(|number| range.contains(number));
            let wrong = || format!("'{value}' is not a whole number {}", bounds(*range.start(), *range.end()));
            setting.set_number(of, number.ok_or_else(wrong)?);
        }
        ValueKind::Size(range) => {
            let bytes = bytes(value)?;
            if !range.contains(&bytes) {
                return Err(format!("'{value}' is not a size {}", bounds(*range.start(), *range.end())));
            }
            setting.set_number(of, bytes);
        }
        ValueKind::Word(words) => {
            if !setting.set_word(of, value) {
                return Err(format!("unknown value '{value}' (expected: {})", words.join(", ")));
            }
        }
        ValueKind::Text => setting.set_text(of, value)?,
    }
    Ok(setting.element)
}

fn bounds(least: u64, most: u64) -> String {
    if most == u64::MAX { format!("of at least {least}") } else { format!("from {least} to {most}") }
}

/// The unit b is not available, as the block size (-b) is not known before the targets.
fn bytes(text: &str) -> Result<u64, String> {
    if text.ends_with(['b', 'B']) {
        return Err(format!(
            "'{text}' is a number of blocks, but targets may have different block sizes; use --max-ios to limit the \
             number of I/Os"
        ));
    }
    size::parse(text, 1).map_err(|fault| fault.to_string())
}
