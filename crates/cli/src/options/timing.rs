//! `-d -W -C -z`: durations and seed.

use super::row::{Group, OptionRow, Pass, Scope};
use crate::builder::{Builder, GivenOption};
use crate::number;

const TIMING: OptionRow =
    OptionRow { pass: Pass::One, with_profile: true, scope: Scope::TimeSpan, group: Group::Timing, ..OptionRow::BASE };

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "-d",
        value: "<seconds>",
        xml: &["Duration"],
        short: "measured time in seconds [default 10]",
        long: "Seconds of measurement, after the warm-up and before the cool-down. With -X it applies to every \
               timespan.",
        on_linux: "A run with -d0 is refused; DiskSpd would measure for a few microseconds.",
        example: "-d30",
        apply: |builder, given| {
            builder.overrides.settings.duration_s = seconds(builder, given, "the duration in seconds")?;
            builder.overrides.given.insert("Duration");
            Ok(())
        },
        ..TIMING
    },
    OptionRow {
        name: "-W",
        value: "<seconds>",
        xml: &["Warmup"],
        short: "warm-up in seconds before the measurement [default 5]",
        long: "Seconds of load before the measurement starts. 0 skips the warm-up.",
        example: "-W0",
        apply: |builder, given| {
            builder.overrides.settings.warm_up_s = seconds(builder, given, "the warm-up in seconds")?;
            builder.overrides.given.insert("Warmup");
            Ok(())
        },
        ..TIMING
    },
    OptionRow {
        name: "-C",
        value: "<seconds>",
        xml: &["Cooldown"],
        short: "cool-down in seconds after the measurement [default 0]",
        long: "Seconds of load after the measurement has ended.",
        example: "-C2",
        apply: |builder, given| {
            builder.overrides.settings.cool_down_s = seconds(builder, given, "the cool-down in seconds")?;
            builder.overrides.given.insert("Cooldown");
            Ok(())
        },
        ..TIMING
    },
    OptionRow {
        name: "-z",
        value: "[<seed>]",
        xml: &["RandSeed"],
        short: "random seed [default 0; -z alone: milliseconds since boot]",
        long: "Seed of all random choices, a 32-bit whole number. -z without a value uses the milliseconds since boot.",
        on_linux: "The random number generator is xoshiro256++, so the same seed gives different offsets than on Windows.",
        example: "-z1234",
        apply: seed,
        ..TIMING
    },
];

/// A number of seconds; `DiskSpd` ignores text after it, and so would treat minutes as seconds.
fn seconds(builder: &mut Builder, given: &GivenOption<'_>, what: &str) -> Result<u32, String> {
    let (digits, unit) = number::split_digits(given.value.trim());
    let seconds_of_unit: u64 = match unit {
        "s" => return builder.bounded(&GivenOption { value: digits, ..*given }, what, 0, u32::MAX),
        "m" | "min" => 60,
        "h" => 3600,
        _ => return builder.bounded(given, what, 0, u32::MAX),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds_of_unit));
    let option = given.argument.trim_end_matches(given.value);
    Err(match seconds {
        Some(seconds) => format!("{what} cannot have a unit; write {option}{seconds}"),
        None => format!("{what} cannot have a unit"),
    })
}

fn seed(builder: &mut Builder, given: &GivenOption<'_>) -> Result<(), String> {
    builder.overrides.settings.random_seed = if given.value.trim_end().is_empty() {
        given.environment.milliseconds_since_boot()
    } else {
        number::seed(given.value)?
    };
    builder.overrides.given.insert("RandSeed");
    Ok(())
}
