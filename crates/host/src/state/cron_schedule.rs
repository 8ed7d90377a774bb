//! The five fields of a cron table, and the words that replace them (crontab(5)).

use std::ops::RangeInclusive;

/// A minute of local time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CronMinute {
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 23.
    pub hour: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// 1 to 12.
    pub month: u8,
    /// 0 = Sunday.
    pub weekday: u8,
}

/// Due times of a cron job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CronSchedule {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
}

/// The values of a field, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Values {
    bits: u64,
    /// True if the field begins with an asterisk: cron does not count it as a restriction of the day.
    is_any: bool,
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// The number of the first month.
const JANUARY: u8 = 1;

impl CronSchedule {
    /// Reads five fields, or a word like `@daily`, at the start of a line. Also returns the rest of the line. `None` = not
    /// a schedule; `@reboot` is one that is never due.
    pub(super) fn parse(line: &str) -> Option<(Self, &str)> {
        if let Some(line) = line.strip_prefix('@') {
            let (word, rest) = split_word(line);
            let fields = match word {
                "yearly" | "annually" => "0 0 1 1 *",
                "monthly" => "0 0 1 * *",
                "weekly" => "0 0 * * 0",
                "daily" | "midnight" => "0 0 * * *",
                "hourly" => "0 * * * *",
                "reboot" => return Some((Self::default(), rest)),
                _ => return None,
            };
            return Some((Self::parse(fields)?.0, rest));
        }
        let (minutes, rest) = split_word(line);
        let (hours, rest) = split_word(rest);
        let (days, rest) = split_word(rest);
        let (months, rest) = split_word(rest);
        let (weekdays, rest) = split_word(rest);
        let mut schedule = Self {
            minutes: Values::parse(minutes, 0..=59, 0, &[])?,
            hours: Values::parse(hours, 0..=23, 0, &[])?,
            days: Values::parse(days, 1..=31, 0, &[])?,
            months: Values::parse(months, 1..=12, JANUARY, &MONTHS)?,
            weekdays: Values::parse(weekdays, 0..=7, 0, &WEEKDAYS)?,
        };
        // 7 is Sunday, too.
        schedule.weekdays.bits |= schedule.weekdays.bits >> 7;
        Some((schedule, rest))
    }

    /// True if the job is due in this minute.
    pub fn matches(&self, at: CronMinute) -> bool {
        let (day, weekday) = (self.days.has(at.day), self.weekdays.has(at.weekday));
        // If both are restricted, either is enough.
        let is_day = if self.days.is_any || self.weekdays.is_any { day && weekday } else { day || weekday };
        is_day && self.minutes.has(at.minute) && self.hours.has(at.hour) && self.months.has(at.month)
    }
}

impl Values {
    /// A list of values and ranges, each with an optional step; `names` replace the numbers from `first_name` on.
    fn parse(field: &str, range: RangeInclusive<u8>, first_name: u8, names: &[&str]) -> Option<Self> {
        let number = |text: &str| {
            let index = names.iter().position(|name| text.eq_ignore_ascii_case(name));
            let value = index.map_or_else(|| text.parse().ok(), |index| Some(index as u8 + first_name))?;
            range.contains(&value).then_some(value)
        };
        let mut bits = 0;
        for part in field.split(',') {
            let (values, step) = part.split_once('/').map_or((part, None), |(values, step)| (values, Some(step)));
            let (first, last) = match (values, values.split_once('-')) {
                ("*", _) => (*range.start(), *range.end()),
                (_, Some((first, last))) => (number(first)?, number(last)?),
                // A single value with a step begins a range.
                (_, None) if step.is_some() => (number(values)?, *range.end()),
                (_, None) => (number(values)?, number(values)?),
            };
            let step = step.map_or(Some(1), |step| step.parse::<usize>().ok())?;
            if step == 0 || first > last {
                return None;
            }
            bits |= (first..=last).step_by(step).fold(0, |bits, value| bits | 1_u64 << value);
        }
        Some(Self { bits, is_any: field.starts_with('*') })
    }

    const fn has(self, value: u8) -> bool {
        self.bits >> value & 1 == 1
    }
}

/// The first word of a line, and the rest without the blanks around it.
pub(super) fn split_word(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sunday, 29 November, 03:30.
    const SUNDAY: CronMinute = CronMinute { minute: 30, hour: 3, day: 29, month: 11, weekday: 0 };

    #[test]
    fn fields_have_lists_ranges_steps_and_names() {
        for (line, is_due) in [
            ("* * * * *", true),
            ("30 3 * * *", true),
            ("29 3 * * *", false),
            ("*/15 * * * *", true),
            ("*/7 * * * *", false),
            ("20-40/10 3 * * *", true),
            ("21-40/10 3 * * *", false),
            ("0,30 1-4 * * *", true),
            ("10/20 3 * * *", true),
            ("30 3 * Nov *", true),
            ("30 3 * jan-oct *", false),
            ("30 3 * * SUN", true),
            ("30 3 * * mon-fri", false),
            ("30 3 * * 7", true),
            ("30 3 * * 0", true),
            ("30 3 * * 5-7", true),
        ] {
            let (schedule, rest) = CronSchedule::parse(line).expect(line);
            assert_eq!((schedule.matches(SUNDAY), rest), (is_due, ""), "{line}");
        }
    }

    #[test]
    fn either_day_is_enough_unless_one_is_an_asterisk() {
        for (line, is_due) in [
            ("30 3 1 * sun", true),
            ("30 3 29 * mon", true),
            ("30 3 1 * mon", false),
            ("30 3 * * mon", false),
            ("30 3 1 * *", false),
            // The first and every second day after it, but only on Sundays.
            ("30 3 */2 * sun", true),
            ("30 3 */2 * mon", false),
        ] {
            assert_eq!(CronSchedule::parse(line).expect(line).0.matches(SUNDAY), is_due, "{line}");
        }
    }

    #[test]
    fn words_stand_for_fields() {
        let midnight = CronMinute { minute: 0, hour: 0, ..SUNDAY };
        for (word, at_midnight, at_night) in [
            ("@daily", true, false),
            ("@midnight", true, false),
            ("@weekly", true, false),
            ("@monthly", false, false),
            ("@hourly", true, false),
            ("@yearly", false, false),
            ("@annually", false, false),
            ("@reboot", false, false),
        ] {
            let line = format!("{word}\troot  sync now ");
            let (schedule, rest) = CronSchedule::parse(&line).expect(word);
            assert_eq!((schedule.matches(midnight), schedule.matches(SUNDAY)), (at_midnight, at_night), "{word}");
            assert_eq!(rest, "root  sync now");
        }
    }

    #[test]
    fn no_schedule_is_made_of_anything_else() {
        for line in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "9-3 * * * *",
            "0~59 * * * *",
            "a * * * *",
            "1,, * * * *",
            "-1 * * * *",
            "@often x",
        ] {
            assert_eq!(CronSchedule::parse(line), None, "{line}");
        }
    }
}
