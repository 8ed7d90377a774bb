//! One job of fio: the final value of each of its options, and its translation.

use super::ini::{Section, Setting};
use crate::foreign::fio::{Class, find};
use settings::fio::{number, percent, switch};
use std::collections::BTreeMap;

/// Quality of the translation of an option of fio, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The load would differ without it.
    Refused,
    /// Translated with a difference, which is reported.
    Approximate,
    /// It does not change the load.
    WithoutEffect,
    /// Translated exactly.
    Exact,
}

impl Level {
    pub(super) const ALL: [Self; 4] = [Self::Refused, Self::Approximate, Self::WithoutEffect, Self::Exact];

    /// Its name in tables and messages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Approximate => "approximate",
            Self::WithoutEffect => "without effect",
            Self::Exact => "exact",
        }
    }
}

/// An option and its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Quality of the translation.
    pub level: Level,
    /// As typed: `bs=4k`; after `default:` fio's default.
    pub option: String,
    /// Our option, or the difference.
    pub says: String,
}

/// Maximum number of rows.
const ROWS_MAX: usize = 4_096;

/// Adds a row unless it is already present.
pub(super) fn add_row(rows: &mut Vec<Row>, row: Row) {
    if rows.len() < ROWS_MAX && !rows.contains(&row) {
        rows.push(row);
    } else if rows.len() == ROWS_MAX {
        let says = format!("more than {ROWS_MAX} differences");
        rows.push(Row { level: Level::Refused, option: "the job".to_owned(), says });
    }
}

/// A job with its options; the last of two with the same meaning takes precedence.
pub(super) struct Job<'a> {
    /// Name of its files, and of its stream.
    pub(super) name: String,
    /// Bytes of a kilobyte: 1,024 or 1,000.
    pub(super) kb_base: u64,
    pub(super) rows: Vec<Row>,
    given: BTreeMap<&'static str, &'a Setting>,
    /// Options that have a row.
    told: Vec<&'static str>,
}

impl<'a> Job<'a> {
    pub(super) fn new(section: &'a Section) -> Self {
        let mut job = Self {
            name: section.name.clone(),
            kb_base: 1024,
            rows: Vec::new(),
            given: BTreeMap::new(),
            told: Vec::new(),
        };
        let mut others: BTreeMap<&str, (Class, &Setting)> = BTreeMap::new();
        for setting in &section.settings {
            match find(&setting.name) {
                None => job.row(Level::Refused, setting.typed(), "fio has no such option"),
                Some(option) => match option.class {
                    Class::Translated => drop(job.given.insert(option.names[0], setting)),
                    Class::Inverse(name) | Class::Rest(name) => drop(job.given.insert(name, setting)),
                    class => drop(others.insert(&setting.name, (class, setting))),
                },
            }
        }
        if let Some(name) = others.get("name").and_then(|(_, setting)| setting.value.clone()) {
            job.name = name;
        }
        for (class, setting) in others.into_values() {
            job.settle(class, setting);
        }
        if job.read("kb_base", 1024, number) == 1000 {
            job.kb_base = 1000;
        }
        job.say(Level::Exact, "kb_base", "");
        job
    }

    /// Adds the row of an option that has no counterpart.
    fn settle(&mut self, class: Class, setting: &Setting) {
        let is_off = matches!(setting.value.as_deref(), Some("0" | "none"));
        let (level, says) = match class {
            Class::Refused(_) | Class::LeftOut(_) if is_off => (Level::WithoutEffect, "off"),
            Class::Refused(why) => (Level::Refused, why),
            Class::LeftOut(difference) => (Level::Approximate, difference),
            Class::WithoutEffect(why) => (Level::WithoutEffect, why),
            Class::Translated | Class::Inverse(_) | Class::Rest(_) => return,
        };
        self.row(level, setting.typed(), says);
    }

    fn row(&mut self, level: Level, option: String, says: impl Into<String>) {
        add_row(&mut self.rows, Row { level, option, says: says.into() });
    }

    /// True if the option is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Adds the row of an option, if it is given; only its first one counts.
    pub(super) fn say(&mut self, level: Level, name: &'static str, says: impl Into<String>) {
        let Some(setting) = self.given.get(name) else { return };
        if !self.told.contains(&name) {
            self.told.push(name);
            let typed = setting.typed();
            self.row(level, typed, says);
        }
    }

    /// Adds the row of a default of fio.
    pub(super) fn say_default(&mut self, level: Level, option: &str, says: impl Into<String>) {
        self.row(level, format!("default: {option}"), says);
    }

    /// The same for an option, given or not.
    pub(super) fn say_either(&mut self, level: Level, name: &'static str, default: &str, says: impl Into<String>) {
        if self.has(name) { self.say(level, name, says) } else { self.say_default(level, default, says) }
    }

    /// The value as text; those of `buffered` and `rwmixwrite` are inverted.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let setting = self.given.get(name)?;
        let value = setting.value.as_deref().unwrap_or("1");
        Some(match find(&setting.name).map(|option| option.class) {
            Some(Class::Inverse(_)) => match switch(Some(value)) {
                Ok(is_on) => u8::from(!is_on).to_string(),
                Err(_) => value.to_owned(),
            },
            Some(Class::Rest(_)) => percent(value).map_or_else(|_| value.to_owned(), |share| (100 - share).to_string()),
            _ => value.to_owned(),
        })
    }

    /// The value of an option; `default` if it is not given, or refused because it cannot be read.
    pub(super) fn read<T>(
        &mut self,
        name: &'static str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        let Some(text) = self.text(name) else { return default };
        parse(&text).unwrap_or_else(|reason| {
            self.say(Level::Refused, name, reason);
            default
        })
    }

    /// The value of a switch.
    pub(super) fn is_on(&mut self, name: &'static str, default: bool) -> bool {
        self.read(name, default, |text| switch(Some(text)))
    }

    /// Adds rows for options that others make meaningless.
    pub(super) fn finish(&mut self) {
        let silent: Vec<&'static str> = self.given.keys().copied().filter(|name| !self.told.contains(name)).collect();
        for name in silent {
            self.say(Level::WithoutEffect, name, "other options leave nothing for it to do");
        }
    }
}

impl Setting {
    /// As in a job file.
    fn typed(&self) -> String {
        self.value.as_ref().map_or_else(|| self.name.clone(), |value| format!("{}={value}", self.name))
    }
}
