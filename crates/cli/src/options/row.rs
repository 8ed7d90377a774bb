//! What the table of options knows about each.

use crate::builder::{Builder, Given};
use model::profile::{Target, TimeSpan};
pub use settings::Group;
use settings::Setting;

/// One option.
#[derive(Clone, Copy)]
pub struct OptionRow {
    /// As typed, without its value: `-b`, `-bs`, `--overwrite`.
    pub name: &'static str,
    /// Which values belong to this row, where several rows share a name.
    pub lead: Lead,
    /// Grammar of the value as help shows it, directly after the name; may be empty.
    pub value: &'static str,
    /// Whether it takes a value.
    pub kind: Kind,
    /// What giving it again does.
    pub repeat: Repeat,
    /// When the parser acts on it.
    pub pass: Pass,
    /// True if it may stand beside `-X`.
    pub with_profile: bool,
    /// What it belongs to.
    pub scope: Scope,
    /// Elements of an XML profile that say the same; empty if there are none.
    pub xml: &'static [&'static str],
    /// Under which heading help lists it.
    pub group: Group,
    /// One line.
    pub short: &'static str,
    /// All there is to know, for `--help OPTION`.
    pub long: &'static str,
    /// First version that knows it in this form.
    pub since: Since,
    /// What it does on Linux, where that is not obvious; else empty.
    pub on_linux: &'static str,
    /// A complete argument that is accepted, as an example in help and for tests.
    pub example: &'static str,
    /// Applies a value to the builder, or says what is wrong with it and what would be right.
    pub(crate) apply: fn(&mut Builder, &Given<'_>) -> Result<(), String>,
    /// The setting that the value goes to instead, if the option is one of ours that sets one.
    pub(crate) setting: Option<OwnSetting>,
}

/// A setting that one of our options sets.
#[derive(Clone, Copy)]
pub(crate) enum OwnSetting {
    /// In every timespan.
    TimeSpan(&'static Setting<TimeSpan>),
    /// In every target.
    Target(&'static Setting<Target>),
}

/// Which values belong to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    Any,
    /// None at all.
    Nothing,
    /// Those that begin with a digit.
    Digit,
    /// Those that begin with one of these characters.
    OneOf(&'static str),
}

impl Lead {
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

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Takes none. Text after a short one is ignored with a warning.
    Flag,
    /// A short one's value follows directly and may be empty; a long one's must be given.
    Value,
    /// A long one's value may be given.
    OptionalValue,
    /// A long one's value may be given behind '=', and is never the next argument.
    AttachedValue,
}

/// What giving an option again does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// Nothing.
    Harmless,
    /// The last value counts.
    LastWins,
    /// The values add up.
    Accumulates,
    /// It is an error.
    Error,
}

/// When the parser acts on an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Before anything else: our own options.
    Zero,
    /// Before other values are read: the block size, and what may stand beside `-X`.
    One,
    /// Last, in the order given.
    Two,
}

/// What an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The invocation; no profile holds it.
    Invocation,
    /// The whole profile.
    Profile,
    /// Its one timespan.
    TimeSpan,
    /// Every target.
    Target,
}

/// First version that knows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// This version of `DiskSpd`; "2.0" means all of 2.0.x.
    DiskSpd(&'static str),
    /// Ours.
    Own,
}

impl OptionRow {
    /// What most rows share; each names the rest.
    pub(crate) const BASE: Self = Self {
        name: "",
        lead: Lead::Any,
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
        since: Since::DiskSpd("2.0"),
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

    /// Name and value as help shows them.
    pub fn synopsis(&self) -> String {
        format!("{}{}", self.name, self.value)
    }
}
