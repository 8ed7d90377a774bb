//! `diskspd trace record`: requests to a block device, written as a trace.

use crate::status::{Status, refuse_with};
use cli::subcommand::trace::RecordRequest;

/// Runs `diskspd trace record`.
pub(crate) fn run(request: &RecordRequest) -> Status {
    refuse_with(&format!("'{}': this build cannot record", request.output.display()))
}
