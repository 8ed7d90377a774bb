//! `diskspd trace`: traces of block I/O.

pub(crate) mod of_run;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod show;
