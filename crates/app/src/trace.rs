//! `diskspd trace`: traces of block I/O.

#[cfg_attr(not(feature = "ebpf"), path = "absent/record.rs")]
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod show;
