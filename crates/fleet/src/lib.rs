//! One load on many hosts: agents that wait for orders, and a controller that gives them, over NATS.
//!
//! [`serve`] is an agent: it carries out signed orders by a [`LoadHost`]. [`Controller`] finds agents and drives a load on
//! them: plan, prepare, start, collect. What a load is, this crate does not know: profiles and results are JSON values.
//! The protocol and the reasons for it: `docs/decisions/0019-fleet.md`.

mod agent;
pub mod clock;
mod controller;
mod error;
pub mod key;
mod load;
mod message;
pub mod name;
pub mod order;
#[cfg(test)]
mod simulation;
pub mod ssh;
mod store;
mod transport;

pub use agent::{AgentOptions, Log, Service, serve};
pub use controller::{
    Collected, Controller, FleetRun, HostInfo, HostLive, HostOutcome, HostPlan, HostRun, Progress, Stopped,
};
pub use error::FleetError;
pub use key::{PublicKey, SigningKey, Trusted};
pub use load::{Finished, Load, LoadHost, Planned, Prepared, StartGate};
pub use message::{AgentState, Kept};
pub use transport::Connection;
