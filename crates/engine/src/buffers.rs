//! Buffer regions: memory that an engine may give to the kernel.

use crate::Op;
use model::operation::Operation;
use std::ptr::NonNull;
use std::sync::Arc;
use sys::mapping::Mapping;

/// Memory for reads and writes.
#[derive(Debug)]
pub enum Region {
    /// Of this thread alone.
    Own(Mapping),
    /// Read by several threads, written by none.
    Shared(Arc<Mapping>),
}

impl Region {
    /// The memory.
    pub fn mapping(&self) -> &Mapping {
        match self {
            Self::Own(mapping) => mapping,
            Self::Shared(mapping) => mapping,
        }
    }

    /// As [`crate::Engine::fill`]. Bytes are copied in and no reference to them is made, so filling the buffer of a
    /// write that is under way would only mix what is written; that of a read is refused.
    ///
    /// # Panics
    ///
    /// If the operation reads, or leaves its region.
    pub(crate) fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        assert!(op.operation == Operation::Write, "only writes are filled with data");
        let Self::Own(mapping) = self else { return false };
        mapping.fill(op.region_offset, u64::from(op.length), fill);
        true
    }
}

/// The regions of one engine.
#[derive(Debug, Default)]
pub struct Regions {
    regions: Vec<Region>,
}

impl Regions {
    /// Takes the regions of an engine.
    pub fn new(regions: Vec<Region>) -> Self {
        Self { regions }
    }

    /// The address that `op` reads into or writes from.
    ///
    /// # Panics
    ///
    /// If the operation leaves its region, or would read into a shared one: the address goes to
    /// the kernel, so this is checked in every build.
    #[inline]
    pub(crate) fn address(&self, op: &Op) -> NonNull<u8> {
        let region = &self.regions[op.region as usize];
        let mapping = region.mapping();
        let fits = op.region_offset.checked_add(u64::from(op.length)).is_some_and(|end| end <= mapping.len());
        assert!(fits, "an I/O extends beyond its buffer");
        assert!(
            op.operation == Operation::Write || matches!(region, Region::Own(_)),
            "a read would overwrite a shared write buffer"
        );
        let address = mapping.address().wrapping_add(op.region_offset as usize);
        NonNull::new(address).expect("memory is never mapped at address 0")
    }

    pub(crate) fn fill(&mut self, op: &Op, fill: impl FnMut(&mut [u8], u64)) -> bool {
        self.regions[op.region as usize].fill(op, fill)
    }

    /// As [`crate::Engine::copy_out`].
    pub(crate) fn copy_out(&self, op: &Op, at: u64, bytes: &mut [u8]) {
        self.regions[op.region as usize].mapping().read(op.region_offset + at, bytes);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.regions.iter().map(Region::mapping)
    }
}
