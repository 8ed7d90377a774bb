//! Loads on several hosts, all of them on this machine. Hosts that hear nothing of each other for ten seconds give up, so these
//! tests are apart from all others.

mod hosts_apart;
mod many_hosts;
mod over_ssh;
mod server;
mod systemd_unit;
mod turn;
