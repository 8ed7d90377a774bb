//! Arguments of `diskspd fleet`.

use super::{Arguments, TypedArguments};
use crate::fleet::{self, ServerAccess};
use crate::request::Environment;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;

/// Make keys for --on, and look after the hosts (experimental)
///
/// key makes a new key: FILE.key, which signs orders and stays with the controller, and FILE.pub for 'agent --trust'. hosts lists
/// the agents that are connected to a server. stop ends the load that runs on hosts. collect fetches results that agents kept
/// because the controller was lost; each is written to DIR as RUN-HOST.json.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(override_usage = "diskspd fleet key --output FILE
       diskspd fleet hosts --server URL [--json]
       diskspd fleet stop --server URL --key FILE [HOST...]
       diskspd fleet collect --server URL --key FILE --output DIR [HOST...]")]
pub(super) struct FleetArguments {
    /// what to do
    #[arg(value_name = "ACTION", required = true, value_parser = action())]
    action: Action,
    /// with stop and collect: names of hosts, in which * stands for any characters; default: all
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
    /// NATS server: nats://host:port, or tls://host:port
    #[arg(long, value_name = "URL", value_parser = server)]
    server: Option<String>,
    /// file with the key that signs orders
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// with key: the names of both files, without .key and .pub. With collect: the directory for results
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// with hosts: print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    access: ServerAccess,
}

/// The action on agents or keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Action {
    #[default]
    Key,
    Hosts,
    Stop,
    Collect,
}

fn action() -> impl TypedValueParser<Value = Action> {
    PossibleValuesParser::new(["key", "hosts", "stop", "collect"]).map(|name| match name.as_str() {
        "key" => Action::Key,
        "hosts" => Action::Hosts,
        "stop" => Action::Stop,
        _ => Action::Collect,
    })
}

fn server(text: &str) -> Result<String, String> {
    fleet::server(text)
}

/// A server and the access to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// As in `nats://bus:4222`.
    pub url: String,
    /// Access to the server.
    pub access: ServerAccess,
}

/// Arguments of `diskspd fleet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetCommand {
    /// Make a key.
    Key {
        /// The names of both files without their endings.
        output: PathBuf,
    },
    /// List the agents.
    Hosts {
        /// Server of the agents.
        server: Server,
        /// As JSON.
        json: bool,
    },
    /// End running loads.
    Stop {
        /// Server of the agents.
        server: Server,
        /// File with the key that signs the orders.
        key: PathBuf,
        /// Names, which may contain `*`; empty = all.
        hosts: Vec<String>,
    },
    /// Fetch results.
    Collect {
        /// Server of the agents.
        server: Server,
        /// File with the key that signs the orders.
        key: PathBuf,
        /// Names, which may contain `*`; empty = all.
        hosts: Vec<String>,
        /// Directory of the results.
        output: PathBuf,
    },
}

impl Arguments for FleetArguments {
    type Request = FleetCommand;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<FleetCommand, String> {
        let Self { action, hosts, server, key, output, json, access } = self;
        let missing = |name: &str| format!("--{name} is missing");
        let names_hosts = matches!(action, Action::Stop | Action::Collect);
        if let Some(host) = hosts.first().filter(|_| !names_hosts) {
            return Err(format!("unexpected '{host}'"));
        }
        if action == Action::Key {
            return output.map(|output| FleetCommand::Key { output }).ok_or_else(|| missing("output"));
        }
        let server = Server { url: server.ok_or_else(|| missing("server"))?, access };
        if action == Action::Hosts {
            return Ok(FleetCommand::Hosts { server, json });
        }
        let key = key.ok_or_else(|| missing("key"))?;
        if action == Action::Stop {
            return Ok(FleetCommand::Stop { server, key, hosts });
        }
        let output = output.ok_or_else(|| missing("output"))?;
        Ok(FleetCommand::Collect { server, key, hosts, output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    #[test]
    fn each_action_needs_what_it_uses() {
        let server = || Server { url: "nats://bus".to_owned(), ..Server::default() };
        let (key, output) = (PathBuf::from("k"), PathBuf::from("d"));
        for (line, expected) in [
            ("key --output d", FleetCommand::Key { output: output.clone() }),
            ("hosts --server bus", FleetCommand::Hosts { server: server(), json: false }),
            (
                "stop --server bus --key k h*",
                FleetCommand::Stop { server: server(), key: key.clone(), hosts: vec!["h*".to_owned()] },
            ),
            (
                "collect --server bus --key k -o d",
                FleetCommand::Collect { server: server(), key, hosts: Vec::new(), output },
            ),
        ] {
            assert_eq!(typed("fleet", line), Ok(Subcommand::Fleet(expected)), "{line}");
        }
        for (line, expected) in [
            ("", "ACTION"),
            ("fly", "'fly'"),
            ("key", "--output is missing"),
            ("hosts", "--server is missing"),
            ("hosts --server bus h1", "unexpected 'h1'"),
            ("stop --server bus", "--key is missing"),
            ("collect --server bus --key k", "--output is missing"),
        ] {
            let failure = typed("fleet", line).expect_err(line);
            assert!(failure.contains(expected), "{line}: {failure}");
        }
    }
}
