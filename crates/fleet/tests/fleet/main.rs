//! Agents and a controller on a NATS server: the course of runs, what is refused, what is lost.
//!
//! Each test has a server of its own on a free port of the loopback interface.

mod bench;
mod runs;
