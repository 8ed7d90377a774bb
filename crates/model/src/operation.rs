//! What an I/O does to its target.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// What an I/O does to its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Transfers data from it.
    #[default]
    Read,
    /// Transfers data to it.
    Write,
}

impl Operation {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All of them, in the order of [`ByOperation`] and of reports.
    pub const ALL: [Self; 2] = [Self::Read, Self::Write];

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

    /// The gerund for sentences: "reading 4096 bytes".
    pub const fn gerund(self) -> &'static str {
        match self {
            Self::Read => "reading",
            Self::Write => "writing",
        }
    }
}

/// Something of each operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByOperation<T>(pub [T; Operation::COUNT]);

impl<T> ByOperation<T> {
    /// What `of` gives for each.
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
}
