//! Kinds of corruption of data that was read back.

use serde::{Deserialize, Serialize};

/// Kind of corruption of a unit of data that was read back (`--verify`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CorruptionClass {
    /// An acknowledged write is not there: the place holds what this run or an earlier one wrote before.
    Lost,
    /// Part of the data of a write is there, beside older data.
    Torn,
    /// Data that was written to another place, which does not hold it.
    Misdirected,
    /// One read returned older data; a second read returned the right data.
    Stale,
    /// Data that was written to another place, which holds it too.
    Duplicated,
    /// The data of the right write with changed bytes.
    Rot,
    /// Data that no run with `--verify` wrote. During a run also data of a later run: a second writer.
    Foreign,
    /// Zeros in place of data.
    Zeros,
    /// The read failed.
    Unreadable,
}

/// True for error numbers by which storage reports that it cannot return data: `EIO`, `ENODATA`, `EBADMSG` and
/// `EILSEQ`.
pub const fn is_unreadable(errno: i32) -> bool {
    matches!(errno, 5 | 61 | 74 | 84)
}

impl CorruptionClass {
    /// Every class, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::Lost,
        Self::Torn,
        Self::Misdirected,
        Self::Stale,
        Self::Duplicated,
        Self::Rot,
        Self::Foreign,
        Self::Zeros,
        Self::Unreadable,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Torn => "torn",
            Self::Misdirected => "misdirected",
            Self::Stale => "stale",
            Self::Duplicated => "duplicated",
            Self::Rot => "rot",
            Self::Foreign => "foreign",
            Self::Zeros => "zeros",
            Self::Unreadable => "unreadable",
        }
    }

    /// Its meaning, as a clause about a unit.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Lost => "an acknowledged write is missing; the older data is still there",
            Self::Torn => "only part of a write is there, beside older data",
            Self::Misdirected => "the data belongs to another place, which does not hold it",
            Self::Stale => "one read returned older data, a second read the right data",
            Self::Duplicated => "the data belongs to another place, which holds it too",
            Self::Rot => "bytes of the right data changed",
            Self::Foreign => "no run with --verify wrote the data",
            Self::Zeros => "zeros in place of data",
            Self::Unreadable => "the read failed",
        }
    }
}
