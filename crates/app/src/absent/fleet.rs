//! In a build without fleet, loads run on this machine only.

use crate::feature::Feature;
use crate::interrupt::Signals;
use crate::series_runner::SeriesRunner;
use crate::status::{Status, refuse_with};
use crate::system_env::Invocation;
use cli::subcommand::agent::AgentRequest;
use cli::subcommand::fleet::FleetCommand;
use cli::sweep::PlannedPoint;
use cli::{FleetOption, RunRequest};
use std::cell::RefCell;

/// Refuses to run on other hosts.
pub(crate) fn run(_: &Invocation, _: &RunRequest, _: &FleetOption) -> Status {
    refuse_with(&format!("--on: {}", Feature::Fleet.refusal()))
}

/// Refuses to run a series on other hosts.
pub(crate) fn series_runner<'a>(
    _: &'a [PlannedPoint],
    _: &FleetOption,
    _: &'a Signals,
    _: &'a RefCell<String>,
) -> Result<Box<dyn SeriesRunner + 'a>, Status> {
    Err(refuse_with(&format!("--on: {}", Feature::Fleet.refusal())))
}

/// Refuses to be an agent.
pub(crate) fn agent(_: &AgentRequest) -> Status {
    refuse_with(&format!("agent: {}", Feature::Fleet.refusal()))
}

/// Refuses to manage hosts.
pub(crate) fn command(_: &FleetCommand) -> Status {
    refuse_with(&format!("fleet: {}", Feature::Fleet.refusal()))
}
