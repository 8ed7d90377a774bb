//! Hosts reached by ssh: a NATS server of the controller's own, and an agent on each host for as long as the connection
//! lives.
//!
//! The server listens on loopback, each host reaches it through its ssh connection (`-R`), and the agent reads the
//! server's address, its own name and the trusted key on its standard input. Server and hosts authenticate each other
//! by keys that are generated for this session and are in no file.

mod host;
mod lines;
mod server;

use crate::key::{PublicKey, SigningKey};
use crate::transport::Connection;
use crate::{FleetError, name};
use host::Host;
use serde::{Deserialize, Serialize};
use server::PrivateServer;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time limit for hosts until they wait for orders.
const REACH: Duration = Duration::from_mins(1);
/// Time limit for their agents to end.
const END: Duration = Duration::from_secs(20);
/// Time limit for a terminated ssh to end.
const TERMINATE: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(20);
/// The maximum size of a [`Setup`] in bytes: the capacity of a pipe, whether its reader reads or not.
const MAX_SETUP_BYTES: usize = 60 << 10;
/// First part of the subjects on which controllers receive answers.
const CONTROLLER_INBOX: &str = "_INBOX_controller";

/// A host, and its ssh destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// Argument of ssh: `root@h1`.
    pub destination: String,
    /// The name of the host: `h1`.
    pub name: String,
}

/// Targets that a host allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// Directories.
    pub directories: Vec<String>,
    /// Block devices; an entry that is a file allows its directory.
    pub devices: Vec<String>,
    /// IDs of block devices that may be written to.
    pub destroy: Vec<String>,
}

/// The agent's setup on its standard input: a line of JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The name of the host.
    pub name: String,
    /// Address of the server as seen by the host.
    server: String,
    /// The agent's secret for the server.
    seed: String,
    /// First part of the subjects on which it receives answers.
    inbox: String,
    /// The public key whose orders it executes.
    trust: String,
    /// Targets that a load may use.
    pub allowed: Allowed,
}

impl std::fmt::Debug for Setup {
    /// Without its secret, which must not appear in a message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Setup({})", self.name)
    }
}

impl Setup {
    /// Reads the line.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn parse(line: &str) -> Result<Self, FleetError> {
        // The message of serde would quote the input.
        let cannot = |_| FleetError::Usage("standard input does not begin with the settings of an agent".to_owned());
        serde_json::from_str(line).map_err(cannot)
    }

    /// The agent's connection to the server.
    ///
    /// # Errors
    ///
    /// If the key is invalid.
    pub fn connection(&self) -> Result<Connection, FleetError> {
        let key = SigningKey::parse(&self.seed).ok_or_else(|| FleetError::Usage("the seed is not a key".to_owned()))?;
        let inbox_prefix = Some(self.inbox.clone());
        Ok(Connection { server: self.server.clone(), nkey: Some(key), inbox_prefix, ..Connection::default() })
    }

    /// The key whose orders it executes.
    ///
    /// # Errors
    ///
    /// If it is invalid.
    pub fn trust(&self) -> Result<PublicKey, FleetError> {
        PublicKey::parse(&self.trust)
            .ok_or_else(|| FleetError::Usage("the key to trust is not a public key".to_owned()))
    }
}

/// Messages of an agent on its standard output, at its start and when it waits for orders: a line of JSON each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMessage {
    /// It waits for a [`Setup`]; its version.
    DiskspdAgent(String),
    /// It waits for orders.
    DiskspdAgentReady(String),
}

impl AgentMessage {
    /// As a line without its end.
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Agents on hosts, and the server between them and the controller. Dropping it ends all.
#[derive(Debug)]
pub struct Session {
    hosts: Vec<Host>,
    server: Option<PrivateServer>,
    connection: Connection,
    key: SigningKey,
}

impl Session {
    /// Starts a server and an agent on each host. `version` is that of the program.
    ///
    /// # Errors
    ///
    /// If there is no server, or a host cannot be reached or refuses; the sentences of all that do.
    pub fn open(hosts: &[(Destination, Allowed)], version: &str, stop: &AtomicBool) -> Result<Self, FleetError> {
        for (host, _) in hosts {
            name::checked(&host.name)?;
        }
        let (key, identity) = (SigningKey::generate()?, SigningKey::generate()?);
        let identities: Vec<SigningKey> = hosts.iter().map(|_| SigningKey::generate()).collect::<Result<_, _>>()?;
        let agents = hosts.iter().zip(&identities).map(|((host, _), identity)| (host.name.as_str(), identity.public()));
        let server = PrivateServer::start(&configuration(identity.public(), agents), stop)?;
        let connection = Connection {
            server: format!("nats://127.0.0.1:{}", server.port()),
            nkey: Some(identity),
            inbox_prefix: Some(CONTROLLER_INBOX.to_owned()),
            ..Connection::default()
        };
        let port = server.port();
        let mut session = Self { hosts: Vec::new(), server: Some(server), connection, key };
        for ((host, allowed), identity) in hosts.iter().zip(identities) {
            let setup = Setup {
                name: host.name.clone(),
                server: String::new(),
                seed: identity.seed()?,
                inbox: inbox_of(&host.name),
                trust: session.key.public().to_string(),
                allowed: allowed.clone(),
            };
            session.hosts.push(Host::reach(host.clone(), setup, port)?);
        }
        session.wait_until_ready(version, stop)?;
        Ok(session)
    }

    /// The controller's connection to the server.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The key that signs orders to these agents.
    pub fn key(&self) -> &SigningKey {
        &self.key
    }

    fn wait_until_ready(&mut self, version: &str, stop: &AtomicBool) -> Result<(), FleetError> {
        let until = Instant::now() + REACH;
        loop {
            let mut waits = false;
            for host in &mut self.hosts {
                waits |= !host.advance(version);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(FleetError::Stopped(vec!["stopped before all hosts were reached".to_owned()]));
            }
            if !waits {
                break;
            }
            if Instant::now() >= until {
                self.hosts.iter_mut().for_each(|host| host.is_late(REACH));
                break;
            }
            std::thread::sleep(TICK);
        }
        let sentences: Vec<String> = self.hosts.iter().flat_map(|host| host.refusals().to_vec()).collect();
        if sentences.is_empty() { Ok(()) } else { Err(FleetError::Refused(sentences)) }
    }

    /// Ends the agents and the server, and returns a sentence for each host whose connection was lost before, or whose
    /// agent does not end.
    pub fn close(&mut self) -> Vec<String> {
        let mut hosts = std::mem::take(&mut self.hosts);
        let mut sentences: Vec<String> = hosts.iter_mut().filter_map(Host::lost).collect();
        hosts.iter_mut().for_each(Host::end);
        let wait = |hosts: &mut [Host], time: Duration| {
            let until = Instant::now() + time;
            while !hosts.iter_mut().all(Host::has_ended) && Instant::now() < until {
                std::thread::sleep(TICK);
            }
        };
        wait(&mut hosts, END);
        for host in hosts.iter_mut().filter(|host| !host.has_been_waited_for()) {
            sentences.extend(host.terminate());
        }
        wait(&mut hosts, TERMINATE);
        drop(hosts);
        drop(self.server.take());
        sentences
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}

fn inbox_of(host: &str) -> String {
    format!("_INBOX_{}", name::token(host))
}

/// A server on loopback that authenticates the controller and each agent by their keys, with permissions to publish and
/// subscribe for each of them.
fn configuration<'a>(controller: &PublicKey, agents: impl Iterator<Item = (&'a str, &'a PublicKey)>) -> String {
    let user = |key: &PublicKey, publish: &[String], subscribe: &[String]| serde_json::json!({ "nkey": key.as_str(), "permissions": { "publish": publish, "subscribe": subscribe } });
    let hears = |inbox: &str| format!("{inbox}.>");
    let heartbeats = "diskspd.v1.run.>".to_owned();
    let mut users = vec![user(controller, &["diskspd.v1.>".to_owned()], &[hears(CONTROLLER_INBOX), heartbeats])];
    for (host, key) in agents {
        let own = hears(&inbox_of(host));
        let publish = [
            name::heartbeat_subject("*", host),
            name::hello_subject(host),
            "$SRV.>".to_owned(),
            hears(CONTROLLER_INBOX),
            own.clone(),
        ];
        let subscribe =
            [name::order_subject(host, "*"), name::hello_to_all(), name::hello_subject(host), "$SRV.>".to_owned(), own];
        users.push(user(key, &publish, &subscribe));
    }
    // The server's format is a superset of JSON.
    serde_json::json!({ "listen": "127.0.0.1:-1", "authorization": { "timeout": 20, "users": users } }).to_string()
}

#[cfg(test)]
mod tests;
