//! Arguments of agents and controllers about the NATS server that connects them.

use clap::Args;
use std::path::PathBuf;

/// How a server is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct ServerAccess {
    /// file with NATS credentials (.creds), or with one line, USER:PASSWORD
    #[arg(long, value_name = "FILE")]
    pub creds: Option<PathBuf>,
    /// certificates (PEM) of the authority that signed the server's, beside those of the system; turns TLS on
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,
    /// allow a server on another machine without TLS: everybody on the network can read and delay messages, but not sign
    /// orders
    #[arg(long)]
    pub no_tls: bool,
    /// allow a server on another machine without credentials
    #[arg(long)]
    pub anonymous: bool,
    /// first part of the subjects on which answers come, instead of _INBOX, if the server's permissions keep others from it
    #[arg(long, value_name = "PREFIX")]
    pub inbox: Option<String>,
}

/// `--on` and what goes with it, before the load of a series of runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct OnArguments {
    /// experimental: make each run on these hosts at the same time, as with --on of a run, whose help says more
    #[arg(long, value_name = "HOSTS")]
    on: Option<String>,
    /// with hosts on a NATS server: sign orders to them with this key
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// targets with the same path on all hosts are one file: the first host creates it, the others check that it is there, and
    /// all write to it
    #[arg(long)]
    shared: bool,
    #[command(flatten)]
    access: ServerAccess,
}

impl OnArguments {
    /// True for the IDs of its arguments.
    pub(crate) fn is_one(id: &str) -> bool {
        Self::augment_args(clap::Command::new("")).get_arguments().any(|argument| argument.get_id() == id)
    }
}

/// `--on` and its related options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetOption {
    /// The server, as in `nats://bus:4222`; empty = hosts are reached by ssh.
    pub server: String,
    /// Names of hosts in the order given. On a server they may contain `*`.
    pub hosts: Vec<String>,
    /// The same hosts as ssh destinations (`root@h1`), if they are reached by ssh.
    pub destinations: Vec<String>,
    /// `--key`: file with the key that signs orders.
    pub key: Option<PathBuf>,
    /// Access to the server.
    pub access: ServerAccess,
    /// `--shared`: targets with the same path on all hosts are one file.
    pub shared: bool,
}

/// Longest name of a host.
const NAME_MAX: usize = 63;

impl FleetOption {
    /// True if the hosts are reached by ssh.
    pub const fn is_over_ssh(&self) -> bool {
        !self.destinations.is_empty()
    }

    /// The hosts as text.
    pub fn shown(&self) -> String {
        if self.is_over_ssh() { self.destinations.join(", ") } else { format!("hosts of {}", self.server) }
    }

    /// Parses the value of `--on`.
    pub(crate) fn on(&mut self, text: &str) -> Result<(), String> {
        if text.contains("://") {
            (self.server, self.hosts) = on_server(text)?;
        } else {
            (self.hosts, self.destinations) = over_ssh(text)?;
        }
        Ok(())
    }
}

/// Hosts reached by ssh: their names, and their ssh destinations.
fn over_ssh(text: &str) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut names, mut destinations) = (Vec::<String>::new(), Vec::new());
    for destination in text.split(',') {
        let (user, name) = match destination.rsplit_once('@') {
            Some((user, name)) => (Some(user), name),
            None => (None, destination),
        };
        if !is_host_name(name) || user.is_some_and(|user| !is_host_name(user)) {
            return Err(format!(
                "'{destination}' is not [user@]host, each of 1 to {NAME_MAX} letters, digits, dots, underscores and hyphens, \
                 the first no dot or hyphen (give other addresses a name in ~/.ssh/config; a server: \
                 nats://server[:port]/host[,host...])"
            ));
        }
        if names.iter().any(|other| other == name) {
            return Err(format!("host {name} is given twice (give one of them another name in ~/.ssh/config)"));
        }
        names.push(name.to_owned());
        destinations.push(destination.to_owned());
    }
    Ok((names, destinations))
}

/// The server and the hosts of `--on`.
fn on_server(text: &str) -> Result<(String, Vec<String>), String> {
    let shape = || format!("'{text}' is not nats://server[:port]/host[,host...]");
    let (scheme, rest) = text.split_once("://").ok_or_else(shape)?;
    server_scheme(scheme)?;
    let (address, hosts) = rest.split_once('/').ok_or_else(shape)?;
    if address.is_empty() {
        return Err(shape());
    }
    let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
    if let Some(wrong) = hosts.iter().find(|name| !is_host_pattern(name)) {
        return Err(format!(
            "'{wrong}' is not a host: expected 1 to {NAME_MAX} letters, digits, dots, underscores and hyphens, or * for \
             any of them"
        ));
    }
    Ok((format!("{scheme}://{address}"), hosts))
}

fn server_scheme(scheme: &str) -> Result<(), String> {
    match scheme {
        "nats" | "tls" => Ok(()),
        _ => Err(format!("unknown scheme '{scheme}' (expected: nats, tls)")),
    }
}

/// The server of `--server`.
pub(crate) fn server(text: &str) -> Result<String, String> {
    let (scheme, address) = text.split_once("://").unwrap_or(("nats", text));
    server_scheme(scheme)?;
    if address.is_empty() || address.contains('/') {
        return Err(format!("'{text}' is not nats://server[:port]"));
    }
    Ok(format!("{scheme}://{address}"))
}

/// True if a text is valid as the name of a host in results and in paths of targets.
pub(crate) fn is_host_name(name: &str) -> bool {
    is_host_pattern(name) && !name.contains('*')
}

fn is_host_pattern(name: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-*".contains(c);
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_known) && !name.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_and_its_hosts_are_told_apart() {
        let parsed = |text: &str| on_server(text).expect(text);
        let hosts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(parsed("nats://bus:4222/web*,db1"), ("nats://bus:4222".to_owned(), hosts(&["web*", "db1"])));
        assert_eq!(parsed("tls://[::1]:4222/h"), ("tls://[::1]:4222".to_owned(), hosts(&["h"])));
        for (text, expected) in [
            ("nats://bus", "is not nats://"),
            ("nats:///h1", "is not nats://"),
            ("http://bus/h1", "unknown scheme 'http'"),
            ("nats://bus/", "'' is not a host"),
            ("nats://bus/a,,b", "'' is not a host"),
            ("nats://bus/a b", "'a b' is not a host"),
            ("nats://bus/../x", "'../x' is not a host"),
            ("nats://bus/-x", "'-x' is not a host"),
        ] {
            let reason = FleetOption::default().on(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }

    #[test]
    fn hosts_without_a_server_are_reached_by_ssh() {
        let mut option = FleetOption::default();
        assert_eq!(option.on("root@h1,h2.example.org,db_1"), Ok(()));
        assert_eq!(option.hosts, ["h1", "h2.example.org", "db_1"]);
        assert_eq!(option.destinations, ["root@h1", "h2.example.org", "db_1"]);
        assert!(option.is_over_ssh() && option.server.is_empty());
        for (text, expected) in [
            ("", "'' is not [user@]host"),
            ("h1,", "'' is not [user@]host"),
            ("-oProxyCommand=x", "'-oProxyCommand=x' is not"),
            ("-h", "'-h' is not"),
            ("root@-h", "'root@-h' is not"),
            ("-l@h", "'-l@h' is not"),
            ("a@b@h", "'a@b@h' is not"),
            ("@h", "'@h' is not"),
            ("h1:22", "'h1:22' is not"),
            ("h*", "'h*' is not"),
            ("h 1", "'h 1' is not"),
            ("../h", "'../h' is not"),
            ("h1,root@h1", "h1 is given twice"),
        ] {
            let reason = FleetOption::default().on(text).expect_err(text);
            assert!(reason.contains(expected), "{text}: {reason}");
        }
    }

    #[test]
    fn a_server_needs_no_scheme() {
        assert_eq!(server("bus:4222"), Ok("nats://bus:4222".to_owned()));
        assert_eq!(server("tls://bus"), Ok("tls://bus".to_owned()));
        for text in ["", "nats://", "nats://bus/h1", "ws://bus"] {
            assert!(server(text).is_err(), "{text}");
        }
    }
}
