//! One `--vary`: an option and its values.

use crate::file_name::not_an_option;
use crate::number;
use crate::options::Kind;
use crate::words::row_of;
use model::limits::SWEEP_POINTS_MAX;
use model::sweep::Setting;

/// Suffix of the unit of a rate.
const PER_SECOND: &str = "/s";

/// Longest unit: `KiB`, `min`.
const UNIT_LETTERS_MAX: usize = 3;

/// An option, or a name for several, and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// The option without its dashes: `o`, `rs`, `rate`; or `pattern`, `target`, `targets`.
    pub name: String,
    /// Its values as typed; for an open range, the maximum number of a sweep.
    pub values: Vec<String>,
    /// True if the range has no end: values are tried until throughput no longer grows.
    pub is_open: bool,
}

/// Values of `pattern`.
const PATTERNS: [&str; 3] = ["seq", "random", "interlocked"];

/// Maximum number of targets.
const TARGETS_MAX: u32 = 1024;

impl Axis {
    /// Reads `o=1..24`, `b=4K,8K,64K`, `w=0..100/10`, `o=1..256*2`, `o=1..`, `n=off,on`, `target=a.dat,b.dat`. If a
    /// value has commas, a semicolon separates values; `\` before either makes it part of a value.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some((name, list)) = text.split_once('=') else {
            return Err(format!(
                "'{text}' is not an option with values, as in o=1..16 or b=4K,64K (an option without values: n=off,on)"
            ));
        };
        let name = name.trim_start_matches('-').to_owned();
        let mut axis = Self { name, values: Vec::new(), is_open: false };
        for part in split(list) {
            axis.add(&part).map_err(|reason| format!("'{text}': {reason}"))?;
        }
        for (index, value) in axis.values.iter().enumerate() {
            axis.check(index).map_err(|reason| format!("'{text}': {reason}"))?;
            if axis.values[..index].contains(value) {
                return Err(format!("'{text}': {value} is given twice"));
            }
        }
        Ok(axis)
    }

    /// Refuses invalid values, as far as the name determines them.
    fn check(&self, index: usize) -> Result<(), String> {
        let value = self.values[index].as_str();
        match self.name.as_str() {
            Setting::PATTERN if !PATTERNS.contains(&value) => {
                Err(format!("'{value}' is not a pattern (expected: {})", PATTERNS.join(", ")))
            }
            Setting::TARGETS => number::count::<TARGETS_MAX>(value).map(drop),
            Setting::TARGET if value.is_empty() => Err("a target is missing".to_owned()),
            Setting::TARGET => not_an_option(value.as_ref()),
            Setting::PATTERN => Ok(()),
            _ => {
                let dashed = Setting::dashed(&self.name);
                let is_switched = [Setting::ON, Setting::OFF].contains(&value);
                let typed = if is_switched { dashed.clone() } else { self.setting(index).typed() };
                match row_of(&typed) {
                    None => Err(format!("unknown option {}", typed.split('=').next().unwrap_or(&dashed))),
                    Some(row) if row.kind == Kind::Flag && !is_switched => {
                        Err(format!("{dashed} takes no value; write {}=off,on", self.name))
                    }
                    Some(_) => Ok(()),
                }
            }
        }
    }

    /// True if `..` in a value is not a range.
    fn is_of_words(&self) -> bool {
        [Setting::PATTERN, Setting::TARGET, "on"].contains(&self.name.as_str())
    }

    /// Rates from 1 to 100 million I/Os per second, each 2 % above the one before.
    pub(crate) fn rates() -> Self {
        const HIGHEST: f64 = 1e8;
        let mut values: Vec<u32> = Vec::new();
        let mut rate = 1.0_f64;
        while rate <= HIGHEST {
            if values.last().is_none_or(|&last| last < rate as u32) {
                values.push(rate as u32);
            }
            rate *= 1.02;
        }
        Self { name: "rate".to_owned(), values: values.iter().map(u32::to_string).collect(), is_open: false }
    }

    /// The option with one of the values.
    pub(crate) fn setting(&self, index: usize) -> Setting {
        Setting { name: self.name.clone(), value: self.values[index].clone() }
    }

    /// The values as typed, each separately.
    pub(crate) fn typed(&self) -> String {
        let escaped = |value: &String| value.replace(',', "\\,").replace(';', "\\;");
        format!("{}={}", self.name, self.values.iter().map(escaped).collect::<Vec<_>>().join(","))
    }

    fn add(&mut self, part: &str) -> Result<(), String> {
        if self.is_open {
            return Err("an open-ended range, such as o=1.., must come last".to_owned());
        }
        if self.is_of_words() {
            self.values.push(part.to_owned());
            return Ok(());
        }
        let Some((first, rest)) = part.split_once("..") else {
            if let Some((first, last)) = part.split_once(['-', ':']).filter(|ends| is_range(*ends)) {
                return Err(format!("'{part}' is not a value; write {first}..{last} for a range"));
            }
            self.values.push(part.to_owned());
            return Ok(());
        };
        let (last, step) = without_step(rest);
        let step = if step.is_empty() { Step::Add(1) } else { Step::parse(step)? };
        self.is_open = last.is_empty();
        if self.is_open && !self.values.is_empty() {
            return Err("an open-ended range, such as o=1.., cannot be combined with other values".to_owned());
        }
        self.extend(first, last, step)
    }

    fn extend(&mut self, first: &str, last: &str, step: Step) -> Result<(), String> {
        let (mut value, unit) = number(first)?;
        let end = if last.is_empty() { None } else { Some(number(last)?) };
        // 1..4K counts in bytes; 4K..64K in KiB, and so is the step.
        let (unit, end) = match end {
            Some((end, end_unit)) if end_unit.eq_ignore_ascii_case(unit) => (unit, Some(end)),
            Some((end, end_unit)) => {
                value = in_bytes(value, unit)?;
                ("", Some(in_bytes(end, end_unit)?))
            }
            None => (unit, None),
        };
        if end.is_some_and(|end| end < value) {
            return Err(format!("the range {first}..{last} ends below its start"));
        }
        if value == 0 && matches!(step, Step::Multiply(_)) {
            return Err("a range with * cannot start at 0".to_owned());
        }
        while end.is_none_or(|end| value <= end) {
            if self.values.len() == SWEEP_POINTS_MAX {
                return if end.is_none() { Ok(()) } else { Err(format!("more than {SWEEP_POINTS_MAX} values")) };
            }
            self.values.push(format!("{value}{unit}"));
            let next = match step {
                Step::Add(step) => value.checked_add(step),
                Step::Multiply(factor) => value.checked_mul(factor),
            };
            // A number that does not fit is above any end.
            let Some(next) = next else { break };
            value = next;
        }
        Ok(())
    }
}

/// From one value of a range to the next.
#[derive(Clone, Copy)]
enum Step {
    Add(u64),
    Multiply(u64),
}

impl Step {
    fn parse(text: &str) -> Result<Self, String> {
        let number = text[1..].parse::<u64>().ok();
        match (text.as_bytes()[0], number) {
            (b'/', Some(step)) if step > 0 => Ok(Self::Add(step)),
            (b'*', Some(factor)) if factor > 1 => Ok(Self::Multiply(factor)),
            (b'/', _) => Err(format!("'{text}' is not a step (for example /10, every tenth value)")),
            _ => Err(format!("'{text}' is not a factor (for example *2, which doubles each value)")),
        }
    }
}

/// The end of a range, and the step after it: `64K` and `*2`, `2M/s` and `/10`.
fn without_step(text: &str) -> (&str, &str) {
    let at = text.rfind(['/', '*']).filter(|at| text[*at..] != *PER_SECOND);
    text.split_at(at.unwrap_or(text.len()))
}

/// A number and its unit: `4K`, `100i`, `1M/s`.
fn number(text: &str) -> Result<(u64, &str), String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let letters = unit.strip_suffix(PER_SECOND).unwrap_or(unit);
    let is_unit = letters.len() <= UNIT_LETTERS_MAX && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    let value = digits.parse().ok().filter(|_| is_unit);
    value
        .map(|value| (value, unit))
        .ok_or_else(|| format!("'{text}' is not a number with its unit, as in 8, 4K or 100i"))
}

/// True for two numbers: `1-4`, `4K-64K`, `1-16*2`, `100i-200i`.
fn is_range((first, last): (&str, &str)) -> bool {
    number(first).is_ok() && number(without_step(last).0).is_ok()
}

fn in_bytes(value: u64, unit: &str) -> Result<u64, String> {
    crate::size::parse(&format!("{value}{unit}"), 1).map_err(|fault| fault.to_string())
}

/// Values between commas, or between semicolons if there are any.
fn split(list: &str) -> Vec<String> {
    let mut escaped = false;
    let is_separator = |character: char, separator: char, escaped: &mut bool| {
        let is_escaped = std::mem::replace(escaped, character == '\\' && !*escaped);
        character == separator && !is_escaped
    };
    let has_semicolon = list.chars().any(|character| is_separator(character, ';', &mut escaped));
    let separator = if has_semicolon { ';' } else { ',' };
    escaped = false;
    let parts = list.split(|character| is_separator(character, separator, &mut escaped));
    parts.map(|part| part.replace("\\,", ",").replace("\\;", ";")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options;

    fn values(text: &str) -> String {
        let axis = Axis::parse(text).unwrap_or_else(|reason| panic!("{text}: {reason}"));
        assert!(!axis.is_open);
        axis.values.join(" ")
    }

    #[test]
    fn lists_and_ranges_become_values() {
        assert_eq!(values("o=1..4"), "1 2 3 4");
        assert_eq!(values("-o=8"), "8");
        assert_eq!(values("t=1,2,4"), "1 2 4");
        assert_eq!(values("b=4K,8K,1M"), "4K 8K 1M");
        assert_eq!(values("w=0..100/25"), "0 25 50 75 100");
        assert_eq!(values("w=0..90/25"), "0 25 50 75");
        assert_eq!(values("o=1..100*4"), "1 4 16 64");
        assert_eq!(values("b=4K..64K*2"), "4K 8K 16K 32K 64K");
        assert_eq!(values("b=512..2K*2"), "512 1024 2048");
        assert_eq!(values("o=1..3,8,16"), "1 2 3 8 16");
        assert_eq!(values("rate=1000,2000"), "1000 2000");
        assert_eq!(values("--engine=io_uring,aio"), "io_uring aio");
        assert_eq!(values("S=u,h"), "u h");
        assert_eq!(values("rs=0..100/50"), "0 50 100");
        assert_eq!(values("si=4K,8K"), "4K 8K");
        assert_eq!(values("n=off,on"), "off on");
        assert_eq!(values("pattern=seq,random"), "seq random");
        assert_eq!(values("targets=1..4"), "1 2 3 4");
        assert_eq!(values("on=h1,h2"), "h1 h2");
        assert_eq!(values("g=100i..300i/100"), "100i 200i 300i");
        assert_eq!(values("g=1M/s..8M/s*2"), "1M/s 2M/s 4M/s 8M/s");
        assert_eq!(values("rate=1M/s..3M/s"), "1M/s 2M/s 3M/s");
    }

    #[test]
    fn values_may_have_separators_in_them() {
        for (text, expected) in [
            (r"target=a\,1.dat,../b.dat", &["a,1.dat", "../b.dat"][..]),
            ("rd=pct90/10:5/5;abs90/1G", &["pct90/10:5/5", "abs90/1G"]),
            ("sizes=4K/50:8K/50,64K/100", &["4K/50:8K/50", "64K/100"]),
            (r"target=a\;b,c", &["a;b", "c"]),
            (r"target=c:\a,b", &[r"c:\a", "b"]),
        ] {
            let axis = Axis::parse(text).unwrap();
            assert_eq!(axis.values, expected, "{text}");
            assert_eq!(Axis::parse(&axis.typed()), Ok(axis), "{text}");
        }
    }

    /// The model has a list of the options of several letters, without access to the table.
    #[test]
    fn options_of_several_letters_with_one_dash_are_listed() {
        let of_rows = options::all().filter(|row| !row.is_long() && row.name.len() > 2).map(|row| &row.name[1..]);
        let missing: Vec<&str> = of_rows.filter(|name| !Setting::SHORT.contains(name)).collect();
        assert_eq!(missing, [""; 0]);
        let long = |name: &&&str| options::find_long(&format!("--{name}")).is_some();
        assert_eq!(Setting::SHORT.iter().filter(long).collect::<Vec<_>>(), [&""; 0], "one name, two options");
    }

    #[test]
    fn an_open_range_has_as_many_values_as_a_sweep_may_have() {
        for (text, start) in [("o=1..", ["1", "2", "3"]), ("o=1..*2", ["1", "2", "4"]), ("o=4../4", ["4", "8", "12"])] {
            let axis = Axis::parse(text).unwrap();
            assert!(axis.is_open && axis.values.len() <= SWEEP_POINTS_MAX, "{text}");
            assert_eq!(axis.values[..3], start, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("o", "not an option with values"),
            ("o=8..1", "ends below its start"),
            ("o=1-4", "'1-4' is not a value; write 1..4 for a range"),
            ("b=4K-64K*2", "write 4K..64K*2 for a range"),
            ("w=0,10-90/10", "write 10..90/10 for a range"),
            ("rate=100-200", "write 100..200 for a range"),
            ("t=1:8", "write 1..8 for a range"),
            ("g=100i-200i", "'100i-200i' is not a value; write 100i..200i for a range"),
            ("rate=1M/s-2M/s", "write 1M/s..2M/s for a range"),
            ("g=1M/s:8M/s*2", "write 1M/s..8M/s*2 for a range"),
            ("T=1b-4b", "write 1b..4b for a range"),
            ("o=x..9", "'x' is not a number"),
            ("o=0..8*2", "cannot start at 0"),
            ("o=1..8*1", "not a factor"),
            ("o=1..8/0", "not a step"),
            ("o=1..9,3", "3 is given twice"),
            ("o=1..,3", "must come last"),
            ("o=3,1..", "cannot be combined with other values"),
            ("o=1..99999", "more than"),
            ("nothing=1", "unknown option --nothing"),
            ("=1", "unknown option"),
            ("k=1", "unknown option -k1"),
            ("n=1,2", "-n takes no value; write n=off,on"),
            ("n", "n=off,on"),
            ("pattern=seq,zigzag", "'zigzag' is not a pattern (expected: seq, random, interlocked)"),
            ("target=a,,b", "a target is missing"),
            ("targets=0..4", "'0' is not a number from 1 to 1024"),
        ] {
            let reason = Axis::parse(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }
}
