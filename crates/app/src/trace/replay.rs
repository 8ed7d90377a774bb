//! `diskspd trace replay`: the requests of a trace, issued again.

use crate::status::{Status, refuse_with};
use crate::system_env::Invocation;
use cli::subcommand::trace::ReplayRequest;

/// Runs `diskspd trace replay`.
pub(crate) fn run(_: &Invocation, request: &ReplayRequest) -> Status {
    refuse_with(&format!("'{}': this build cannot replay", request.trace.display()))
}
