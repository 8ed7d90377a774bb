//! Loads on several hosts, all of them on this machine.

mod hosts_apart;
mod many_hosts;
mod over_ssh;
mod server;
mod systemd_unit;
