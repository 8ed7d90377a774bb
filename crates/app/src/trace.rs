//! `diskspd trace`: traces of block I/O.

pub(crate) mod of_run;
#[cfg_attr(not(feature = "ebpf"), path = "absent/record.rs")]
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod show;
