//! Contents of the table of options.

use crate::builder::{Builder, GivenOption};
use model::profile::{Target, TimeSpan};
pub use settings::Group;
use settings::Setting;

/// One option.
#[derive(Clone, Copy)]
pub struct OptionRow {
    /// Name as typed, without its value: `-b`, `-bs`, `--overwrite`.
    pub name: &'static str,
    /// The values that belong to this row, if several rows share a name.
    pub lead: ValueForm,
    /// Grammar of the value as help shows it, directly after the name; may be empty.
    pub value: &'static str,
    /// The presence and form of its value.
    pub kind: Kind,
    /// The effect of giving it again.
    pub repeat: Repeat,
    /// The pass in which the parser applies it.
    pub pass: Pass,
    /// True if it is permitted with `-X`.
    pub with_profile: bool,
    /// The part of a request that it belongs to.
    pub scope: Scope,
    /// Equivalent elements of an XML profile; empty if there are none.
    pub xml: &'static [&'static str],
    /// The heading under which help lists it.
    pub group: Group,
    /// One-line description.
    pub short: &'static str,
    /// Full description; that of one of our own options continues the short one.
    pub long: &'static str,
    /// First version with this form.
    pub since: SinceVersion,
    /// Its effect on Linux, if not obvious; else empty.
    pub on_linux: &'static str,
    /// A complete valid argument, as an example in help and for tests.
    pub example: &'static str,
    /// Applies a value to the builder; the error states what is wrong and what would be right.
    pub(crate) apply: fn(&mut Builder, &GivenOption<'_>) -> Result<(), String>,
    /// The setting that receives the value instead, if the option is one of ours that sets one.
    pub(crate) setting: Option<OwnSetting>,
}

/// A setting of one of our options.
#[derive(Clone, Copy)]
pub(crate) enum OwnSetting {
    /// Of every timespan.
    TimeSpan(&'static Setting<TimeSpan>),
    /// Of every target.
    Target(&'static Setting<Target>),
}

/// The values that belong to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    Any,
    /// None at all.
    Nothing,
    /// Those that begin with a digit.
    Digit,
    /// Those that begin with one of these characters.
    OneOf(&'static str),
}

impl ValueForm {
    /// True if `value` belongs to the row.
    pub fn admits(self, value: &str) -> bool {
        let first = value.chars().next();
        match self {
            Self::Any => true,
            Self::Nothing => value.trim_end().is_empty(),
            Self::Digit => first.is_some_and(|first| first.is_ascii_digit()),
            Self::OneOf(characters) => first.is_some_and(|first| characters.contains(first)),
        }
    }
}

/// The presence and form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value. Text after a short option is ignored with a warning.
    Flag,
    /// The value of a short option follows directly and may be empty; that of a long one is required.
    Value,
    /// The value of a long option may be given.
    OptionalValue,
    /// The value of a long option may be given after '=', and is never the next argument.
    AttachedValue,
}

/// The effect of giving an option again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// None.
    Harmless,
    /// The last value counts.
    LastWins,
    /// The values add up.
    Accumulates,
    /// It is an error.
    Error,
}

/// The pass in which the parser applies an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Before anything else: our own options.
    Zero,
    /// Before other values are read: the block size, and options permitted with `-X`.
    One,
    /// Last, in the order given.
    Two,
}

/// The part of a request that an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The invocation; not stored in a profile.
    Invocation,
    /// The whole profile.
    Profile,
    /// Its one timespan.
    TimeSpan,
    /// Every target.
    Target,
}

/// First version with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinceVersion {
    /// This version of `DiskSpd`; "2.0" stands for all of 2.0.x.
    DiskSpd(&'static str),
    /// This program.
    Own,
}

impl OptionRow {
    /// Values common to most rows; each row sets the others.
    pub(crate) const BASE: Self = Self {
        name: "",
        lead: ValueForm::Any,
        value: "",
        kind: Kind::Value,
        repeat: Repeat::LastWins,
        pass: Pass::Two,
        with_profile: false,
        scope: Scope::Target,
        xml: &[],
        group: Group::Targets,
        short: "",
        long: "",
        since: SinceVersion::DiskSpd("2.0"),
        on_linux: "",
        example: "",
        apply: |_, _| Ok(()),
        setting: None,
    };

    /// True for our own options.
    pub fn is_long(&self) -> bool {
        self.name.starts_with("--")
    }

    /// True for our own options whose value is the name of a file.
    pub(crate) fn takes_file(&self) -> bool {
        self.is_long() && self.value.starts_with("=<file")
    }

    /// Sentences about it, for `--help OPTION`, the man page and the reference.
    pub fn description(&self) -> String {
        if !self.is_long() {
            return self.long.to_owned();
        }
        let (first, rest) = self.short.split_at(self.short.chars().next().map_or(0, char::len_utf8));
        format!("{}{rest}. {}", first.to_uppercase(), self.long)
    }

    /// Name and value as help shows them.
    pub fn synopsis(&self) -> String {
        format!("{}{}", self.name, self.value)
    }
}
