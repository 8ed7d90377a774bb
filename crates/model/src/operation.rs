//! Operations of I/Os on a target.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// Operation of an I/O on its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Transfers data from it.
    #[default]
    Read,
    /// Transfers data to it.
    Write,
    /// Discards the data in its range (`--discard`): a hole in a file, a discard on a block device.
    Discard,
    /// Replaces the data in its range with zeros, without transferring them (`--write-zeroes`).
    WriteZeroes,
}

impl Operation {
    /// Number of operations.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, in the order of [`ByOperation`] and of reports.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Discard, Self::WriteZeroes];

    /// Those that `DiskSpd` has too: its tables, and everything over time, are about these.
    pub const TRANSFERS: [Self; 2] = [Self::Read, Self::Write];

    /// The others.
    pub const WITHOUT_DATA: [Self; 2] = [Self::Discard, Self::WriteZeroes];

    /// Its place in [`ALL`](Self::ALL).
    #[inline]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// True if it changes what the target holds.
    #[inline]
    pub const fn changes_data(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// True if data goes between a buffer and the target.
    #[inline]
    pub const fn transfers_data(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::WriteZeroes => "write zeroes",
        }
    }

    /// Several of them: "reads".
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Discard => "discards",
            Self::WriteZeroes => "write-zeroes",
        }
    }

    /// The gerund for sentences: "reading 4096 bytes".
    pub const fn gerund(self) -> &'static str {
        match self {
            Self::Read => "reading",
            Self::Write => "writing",
            Self::Discard => "discarding",
            Self::WriteZeroes => "zeroing",
        }
    }
}

/// Shares of the operations in all I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Percent of all I/Os.
    pub discard_percent: u32,
    /// Percent of all I/Os.
    pub write_zeroes_percent: u32,
    /// Percent of the others, which read or write.
    pub write_percent: u32,
}

impl Shares {
    /// Percent of the I/Os that read or write.
    pub const fn transfer_percent(self) -> u32 {
        100_u32.saturating_sub(self.discard_percent.saturating_add(self.write_zeroes_percent))
    }

    /// True if any I/O may do this.
    pub const fn does(self, operation: Operation) -> bool {
        match operation {
            Operation::Read => self.transfer_percent() > 0 && self.write_percent < 100,
            Operation::Write => self.transfer_percent() > 0 && self.write_percent > 0,
            Operation::Discard => self.discard_percent > 0,
            Operation::WriteZeroes => self.write_zeroes_percent > 0,
        }
    }

    /// True if any I/O changes what the target holds.
    pub fn changes_data(self) -> bool {
        Operation::ALL.into_iter().any(|operation| operation.changes_data() && self.does(operation))
    }

    /// Percent of the I/Os that change what the target holds, to the next whole number.
    pub fn changing_percent(self) -> u32 {
        100 - self.transfer_percent() * 100_u32.saturating_sub(self.write_percent) / 100
    }

    /// The expected share of an operation in all I/Os, from 0 to 1.
    pub fn expected(self, operation: Operation) -> f64 {
        let transfers = f64::from(self.transfer_percent()) / 100.0;
        let writes = f64::from(self.write_percent.min(100)) / 100.0;
        match operation {
            Operation::Read => transfers * (1.0 - writes),
            Operation::Write => transfers * writes,
            Operation::Discard => f64::from(self.discard_percent) / 100.0,
            Operation::WriteZeroes => f64::from(self.write_zeroes_percent) / 100.0,
        }
    }
}

/// One value for each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByOperation<T>(pub [T; Operation::COUNT]);

impl<T> ByOperation<T> {
    /// The result of `of` for each operation.
    pub fn new(of: impl FnMut(Operation) -> T) -> Self {
        Self(Operation::ALL.map(of))
    }

    /// In the order of [`Operation::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T> Index<Operation> for ByOperation<T> {
    type Output = T;

    #[inline]
    fn index(&self, operation: Operation) -> &T {
        &self.0[operation.index()]
    }
}

impl<T> IndexMut<Operation> for ByOperation<T> {
    #[inline]
    fn index_mut(&mut self, operation: Operation) -> &mut T {
        &mut self.0[operation.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_own_place() {
        let mut names = ByOperation::new(Operation::gerund);
        for (index, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!((operation.index(), names[operation]), (index, operation.gerund()));
        }
        names[Operation::Write] = "changed";
        assert_eq!((names[Operation::Read], names[Operation::Write]), ("reading", "changed"));
    }

    #[test]
    fn the_share_of_writes_is_of_what_discards_and_zeroes_leave() {
        let shares = Shares { discard_percent: 10, write_zeroes_percent: 30, write_percent: 50 };
        assert_eq!(ByOperation::new(|operation| shares.expected(operation)), ByOperation([0.3, 0.3, 0.1, 0.3]));
        let without = Shares { discard_percent: 100, ..shares };
        assert_eq!(ByOperation::new(|operation| without.does(operation)), ByOperation([false, false, true, true]));
        let changing = |discard_percent, write_percent| {
            Shares { discard_percent, write_percent, ..Shares::default() }.changing_percent()
        };
        assert_eq!([changing(0, 30), changing(1, 30), changing(100, 0), changing(0, 0)], [30, 31, 100, 0]);
        let reads = Shares::default();
        assert!(!reads.changes_data() && Shares { discard_percent: 1, ..reads }.changes_data());
    }
}
