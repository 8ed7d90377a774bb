//! The JSON document: its form, and that it is lossless.

mod a_day;
mod document;
mod instance;
mod random_documents;
#[path = "../../../render/tests/report/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the text report")]
mod support;
