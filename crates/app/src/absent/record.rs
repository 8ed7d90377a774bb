//! In a build without eBPF no requests are recorded.

use crate::feature::Feature;
use crate::status::{Status, refuse_with};
use cli::subcommand::trace::RecordRequest;

/// Refuses to record.
pub(crate) fn run(_: &RecordRequest) -> Status {
    refuse_with(&Feature::Ebpf.refusal())
}
