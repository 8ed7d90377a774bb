//! Elements of a document, read and written one by one.

pub(crate) mod fault;
pub(crate) mod reader;
pub(crate) mod tree;
pub(crate) mod value;
pub(crate) mod writer;
