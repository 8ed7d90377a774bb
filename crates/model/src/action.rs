//! Effects of requests: operations and flushes.

use crate::operation::Operation;
use crate::profile::FlushCall;

/// The effect of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reads or changes data.
    Operation(Operation),
    /// Makes earlier writes durable; of a block device always [`FlushCall::Fsync`].
    Flush(FlushCall),
}

impl Action {
    /// Number of actions.
    pub const COUNT: usize = Self::ALL.len();

    /// All actions: the operations in their order, then the flushes.
    pub const ALL: [Self; 6] = [
        Self::Operation(Operation::ALL[0]),
        Self::Operation(Operation::ALL[1]),
        Self::Operation(Operation::ALL[2]),
        Self::Operation(Operation::ALL[3]),
        Self::Flush(FlushCall::Fdatasync),
        Self::Flush(FlushCall::Fsync),
    ];

    /// Index in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        match self {
            Self::Operation(operation) => operation.index(),
            Self::Flush(FlushCall::Fdatasync) => Operation::COUNT,
            Self::Flush(FlushCall::Fsync) => Operation::COUNT + 1,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::Flush(call) => call.name(),
        }
    }

    /// The operation, unless it is a flush.
    pub const fn operation(self) -> Option<Operation> {
        match self {
            Self::Operation(operation) => Some(operation),
            Self::Flush(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_its_own_index() {
        for (index, action) in Action::ALL.into_iter().enumerate() {
            assert_eq!(action.index(), index);
        }
    }
}
