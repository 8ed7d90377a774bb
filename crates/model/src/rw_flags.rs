//! Flags of single reads and writes (`RWF_*` of `preadv2(2)`): one word from the plan to the engines.

use crate::operation::Operation;
use crate::profile::Target;
use serde::{Deserialize, Serialize};
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// Flags of a read or write, with the kernel's bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RwFlags(u32);

/// A flag and the option that sets it.
#[derive(Clone, Copy, Debug)]
pub struct RwFlag {
    /// Its bit.
    pub flag: RwFlags,
    /// The kernel's name.
    pub name: &'static str,
    /// The option.
    pub option: &'static str,
    /// Kernel and targets that have it, for errors.
    pub needs: &'static str,
    /// True if I/O must bypass the page cache, false if it must not.
    pub is_direct: bool,
    /// The only I/Os that have it; `None` = reads and writes.
    pub operation: Option<Operation>,
    /// True if a target of a profile requests it.
    is_set: fn(&Target) -> bool,
}

/// All of them.
const FLAGS: [RwFlag; 2] = [
    RwFlag {
        flag: RwFlags::DONT_CACHE,
        name: "RWF_DONTCACHE",
        option: "--dontcache",
        needs: "Linux 6.14 or later and a file system with uncached buffered I/O, such as xfs, ext4 or btrfs",
        is_direct: false,
        operation: None,
        is_set: |target| target.dont_cache,
    },
    RwFlag {
        flag: RwFlags::ATOMIC,
        name: "RWF_ATOMIC",
        option: "--atomic",
        needs: "Linux 6.11 or later (files on ext4 and xfs: 6.13) and a device with atomic writes",
        is_direct: true,
        operation: Some(Operation::Write),
        is_set: |target| target.atomic_writes,
    },
];

impl RwFlags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// `RWF_DONTCACHE`: data that goes through the page cache does not stay there.
    pub const DONT_CACHE: Self = Self(0x80);

    /// `RWF_ATOMIC`: a write reaches the device as a whole or not at all.
    pub const ATOMIC: Self = Self(0x40);

    /// `RWF_DSYNC`: a write is durable when it completes. No option sets it: writes of traces have it (`trace replay`).
    pub const DURABLE: Self = Self(0x2);

    /// The flags that the I/Os of a target have.
    pub fn from_target(target: &Target) -> Self {
        FLAGS.iter().filter(|flag| (flag.is_set)(target)).fold(Self::NONE, |all, flag| all | flag.flag)
    }

    /// Its flags one by one.
    pub fn iter(self) -> impl Iterator<Item = &'static RwFlag> {
        FLAGS.iter().filter(move |flag| !(self & flag.flag).is_empty())
    }

    /// Those that an operation has; none if it transfers no data.
    #[must_use]
    pub fn for_operation(self, operation: Operation) -> Self {
        let has = |flag: &&RwFlag| operation.transfers_data() && flag.operation.is_none_or(|only| only == operation);
        self.iter().filter(has).fold(Self::NONE, |all, flag| all | flag.flag)
    }

    /// The bits that are passed to the kernel.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// True if no flag is set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl BitOr for RwFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for RwFlags {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl BitAnd for RwFlags {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_the_flags_of_its_kind() {
        let target = Target { dont_cache: true, atomic_writes: true, ..Target::new("a") };
        let flags = RwFlags::from_target(&target);
        let bits = Operation::ALL.map(|operation| flags.for_operation(operation).bits());
        assert_eq!(bits, [0x80, 0xC0, 0, 0]);
    }
}
