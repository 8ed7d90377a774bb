//! The connection between a controller and its hosts: through an existing server, or through its own, to which ssh
//! connects them.

use super::paths::{alike, expanded, refusals};
use super::{connection, print_error};
use crate::output::{say, say_each};
use crate::status::{Status, refuse_each, refuse_with};
use ::fleet::ssh::{Allowed, Destination, Session};
use ::fleet::{Connection, SigningKey};
use cli::{FleetOption, RunRequest};
use model::profile::Profile;
use model::version::IMPLEMENTATION_VERSION;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Ends the server and the connections that it started when dropped.
pub(super) struct Meeting {
    pub(super) connection: Connection,
    pub(super) key: SigningKey,
    session: Option<Session>,
}

impl Meeting {
    /// Connects the hosts, on the thread that lives as long as the load: the server ends with it.
    pub(super) fn open(request: &RunRequest, option: &FleetOption, stop: &AtomicBool) -> Result<Self, Status> {
        if !option.is_over_ssh() {
            let key = option.key.as_deref().ok_or_else(|| refuse_with("--key is missing"))?;
            let key = SigningKey::read(key).map_err(|error| print_error(&error))?;
            return Ok(Self { connection: connection(&option.server, &option.access), key, session: None });
        }
        let of_host = |(index, name): (usize, &String)| expanded(&request.profile, name, index);
        let profiles: Vec<Profile> = option.hosts.iter().enumerate().map(of_host).collect();
        // Known before any host is contacted.
        let alike = alike(&profiles);
        if !option.shared && !alike.is_empty() {
            return Err(refuse_each(&refusals(&alike)));
        }
        let mut hosts = Vec::new();
        for ((name, destination), profile) in option.hosts.iter().zip(&option.destinations).zip(&profiles) {
            let allowed = allowed(profile, &request.options.destroy).map_err(|reason| refuse_with(&reason))?;
            hosts.push((Destination { destination: destination.clone(), name: name.clone() }, allowed));
        }
        say(&format!("connecting over ssh: {}", option.destinations.join(", ")));
        let session = Session::open(&hosts, IMPLEMENTATION_VERSION, stop).map_err(|error| print_error(&error))?;
        Ok(Self { connection: session.connection().clone(), key: session.key().clone(), session: Some(session) })
    }
}

impl Drop for Meeting {
    fn drop(&mut self) {
        if let Some(session) = &mut self.session {
            say_each("WARNING", &session.close());
        }
    }
}

/// The directories and devices of the targets of a load, and of its files with data to be written.
fn allowed(profile: &Profile, destroy: &[String]) -> Result<Allowed, String> {
    let (mut directories, mut devices) = (BTreeSet::new(), BTreeSet::new());
    for target in profile.time_spans.iter().flat_map(|span| &span.targets) {
        let source = target.write_source.as_ref().and_then(|source| source.file.as_deref());
        for path in std::iter::once(target.path.as_path()).chain(source) {
            let text = |path: &Path| {
                path.to_str().map(str::to_owned).ok_or_else(|| format!("'{}' is not valid UTF-8", path.display()))
            };
            if path.starts_with("/dev") {
                devices.insert(text(path)?);
            } else if let Some(folder) = path.parent() {
                directories.insert(text(folder)?);
            }
        }
    }
    Ok(Allowed {
        directories: directories.into_iter().collect(),
        devices: devices.into_iter().collect(),
        destroy: destroy.to_vec(),
    })
}
