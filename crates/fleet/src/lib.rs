//! One load on many hosts: agents that wait for orders, and a controller that gives them, over NATS.
//!
//! [`serve`] is an agent: it executes signed orders by a [`LoadHost`]. [`Controller`] finds agents and drives a load on
//! them: plan, prepare, start, collect. This crate does not interpret loads: profiles and results are JSON values. The
//! protocol and its rationale: `docs/decisions/0019-fleet.md`.
//!
//! The feature `nats` adds the network; keys, orders and clocks do not need it.

#![cfg_attr(not(feature = "nats"), allow(dead_code, unused_imports, reason = "agents and controllers use all of it"))]

#[cfg(feature = "nats")]
mod agent;
pub mod clock;
#[cfg(feature = "nats")]
mod controller;
mod error;
pub mod key;
mod load;
mod message;
pub mod name;
pub mod order;
mod silence;
#[cfg(feature = "nats")]
#[cfg(test)]
mod simulation;
#[cfg(feature = "nats")]
pub mod ssh;
mod store;
#[cfg(feature = "nats")]
mod transport;

#[cfg(feature = "nats")]
pub use agent::{AgentOptions, Log, Service, serve};
#[cfg(feature = "nats")]
pub use controller::{
    Collected, Controller, FleetRun, HostInfo, HostLive, HostOutcome, HostPlan, HostRun, Progress, RESULT_WAIT,
    Stopped, TimeLimits,
};
pub use error::FleetError;
pub use key::{PublicKey, SigningKey, Trusted};
pub use load::{Finished, Load, LoadHost, Planned, Prepared, StartGate};
pub use message::{AgentState, Kept};
pub use silence::Silence;
#[cfg(feature = "nats")]
pub use transport::Connection;
