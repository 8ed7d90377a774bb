//! One load on several hosts: the agent of this machine, and requests to other agents.

mod host;
#[cfg(test)]
mod hostile_results;
mod hosts;
mod live;
mod live_line;
mod many;
mod meeting;
mod over_ssh;
mod paths;
mod series;

use crate::interrupt;
use crate::output::{say, say_each, write_json};
use crate::outputs::{write_document, write_new};
use crate::saved_results::result_in;
use crate::show;
use crate::status::{Status, fail, printed, refuse_with};
use ::fleet::{
    AgentOptions, Connection, Controller, FleetError, HostInfo, LoadHost, Service, SigningKey, Silence, Trusted, key,
};
use ::host::Root;
use cli::subcommand::agent::AgentRequest;
use cli::subcommand::fleet::{FleetCommand, Server};
use cli::{Form, ServerAccess};
use model::profile::Profile;
use model::version::IMPLEMENTATION_VERSION;
use report::{Column, Table};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use sys::confinement::Confinement;

pub(crate) use many::run;
pub(crate) use series::series_runner;

/// Directory where root's agents keep results.
const STATE_OF_ROOT: &str = "/var/lib/diskspd";
/// The same for other users, below the home directory.
const STATE_OF_USER: &str = ".local/state/diskspd";

/// Time for which `agent --once` waits for a load.
const FIRST_LOAD: Duration = Duration::from_mins(10);

/// Features of a profile that a load of several hosts cannot have.
fn not_for_many(profile: &Profile) -> impl Iterator<Item = &'static str> {
    let appends = profile.time_spans.iter().flat_map(|span| &span.targets).any(|target| target.append.is_some());
    let reasons = [
        (appends, "--append cannot be used on other hosts"),
        (
            profile.precreate_files.is_some(),
            "files cannot be created before all timespans (PrecreateFiles) on other hosts",
        ),
        (profile.tracing.is_some(), "-e cannot be used on other hosts"),
    ];
    reasons.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, reason)| reason)
}

fn connection(server: &str, access: &ServerAccess) -> Connection {
    Connection {
        server: server.to_owned(),
        credentials: access.creds.clone(),
        tls_ca: access.tls_ca.clone(),
        no_tls: access.no_tls,
        anonymous: access.anonymous,
        inbox_prefix: access.inbox.clone(),
        nkey: None,
    }
}

/// Prints the error and returns the exit status.
fn print_error(error: &FleetError) -> Status {
    say_each("ERROR", error.sentences());
    if error.touched_nothing() { Status::Refused } else { Status::Failed }
}

/// Runs `diskspd agent`.
pub(crate) fn agent(request: &AgentRequest) -> Status {
    let served = if request.stdin { over_ssh::agent() } else { serve(request) };
    served.unwrap_or_else(|status| status)
}

fn serve(request: &AgentRequest) -> Result<Status, Status> {
    let missing = |what: &str| refuse_with(&format!("--{what} is missing"));
    let server = request.server.as_deref().ok_or_else(|| missing("server"))?;
    let trust = request.trust.as_deref().ok_or_else(|| missing("trust"))?;
    let trusted = Trusted::read(trust).map_err(|error| print_error(&error))?;
    let limits = host::Limits {
        destroy: request.allow_destroy.clone(),
        file_bytes: request.max_file,
        threads: request.max_threads,
        memory_bytes: request.max_memory,
    };
    let shown_limits = shown_limits(&request.allow, &limits);
    let this_host = confined("--allow", &request.allow, limits)?;
    let name = request.name.clone().unwrap_or_else(|| ::host::system(&Root::machine()).computer_name);
    let state = match &request.state {
        Some(state) => state.clone(),
        None => default_state().ok_or_else(|| refuse_with("there is no home directory: give --state"))?,
    };
    let signals = interrupt::watch_for_load()?;
    if request.allow.is_empty() {
        say("WARNING: without --allow, no load is run");
    }
    let options = AgentOptions {
        name,
        connection: connection(server, &request.access),
        trusted,
        state,
        version: IMPLEMENTATION_VERSION.to_owned(),
        limits: shown_limits,
        boot_id: ::host::boot_id(&Root::machine()),
        log: Arc::new(|sentence: &str| say(sentence)),
        service: if request.once { Service::Once(FIRST_LOAD) } else { Service::Standing },
        silence: Silence::default(),
    };
    ::fleet::serve(options, this_host, &signals.interrupted).map_err(|error| print_error(&error))?;
    Ok(Status::Done)
}

/// Confines this process: from now on it opens targets in these directories and on these devices only. Errors begin
/// with `what`.
fn confined(what: &str, allow: &[PathBuf], limits: host::Limits) -> Result<Arc<dyn LoadHost>, Status> {
    let confinement = Confinement::to(allow)
        .map_err(|(path, error)| refuse_with(&format!("{what} '{}': {error}", path.display())))?;
    let confinement = confinement.enter().ok_or_else(|| fail("this process is confined already"))?;
    Ok(Arc::new(host::ThisHost::new(confinement, limits)))
}

/// Limits of an agent, as `fleet hosts` shows them.
fn shown_limits(allow: &[PathBuf], limits: &host::Limits) -> serde_json::Value {
    serde_json::json!({
        "allow": allow.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "max_file_bytes": limits.file_bytes,
        "max_threads": limits.threads,
        "max_memory_bytes": limits.memory_bytes,
    })
}

fn default_state() -> Option<PathBuf> {
    if sys::folder::user() == 0 {
        return Some(PathBuf::from(STATE_OF_ROOT));
    }
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(STATE_OF_USER))
}

/// Runs `diskspd fleet`.
pub(crate) fn command(command: &FleetCommand) -> Status {
    let done = match command {
        FleetCommand::Key { output } => make_key(output),
        FleetCommand::Hosts { server, json } => hosts(server, *json),
        FleetCommand::Stop { server, key, hosts } => stop(server, key, hosts),
        FleetCommand::Collect { server, key, hosts, output } => collect(server, key, hosts, output),
    };
    done.unwrap_or_else(|error| print_error(&error))
}

fn make_key(output: &Path) -> Result<Status, FleetError> {
    let files = key::generate(output)?;
    say(&format!("'{}' signs orders: keep it on the controller", files.private.display()));
    say(&format!("'{}' is for 'diskspd agent --trust': {}", files.public.display(), files.key));
    Ok(Status::Done)
}

fn connect(server: &Server) -> Result<Controller, FleetError> {
    Controller::connect(&connection(&server.url, &server.access), IMPLEMENTATION_VERSION)
}

fn hosts(server: &Server, json: bool) -> Result<Status, FleetError> {
    let found = connect(server)?.hosts(None)?;
    if json {
        let shown: Vec<_> = found.iter().map(of_host).collect();
        return Ok(printed(write_json(&shown, &mut io::stdout().lock()), Status::Done));
    }
    if found.is_empty() {
        say("no agent answers");
        return Ok(Status::Done);
    }
    let [host, state, version, allowed] = ["host", "state", "version", "allowed"].map(Column::text);
    let mut table = Table::with_columns([host, state, version, Column::number("clock ahead (ms)"), allowed]);
    for host in &found {
        let allowed = host.limits["allow"].as_array();
        let allowed = allowed.into_iter().flatten().filter_map(|path| path.as_str()).collect::<Vec<_>>().join(", ");
        let clock = host.clock_ahead_ms.to_string();
        table.rows.push(vec![host.name.clone(), host.state.text().to_owned(), host.version.clone(), clock, allowed]);
    }
    let lines: String = render::table_lines(&table).into_iter().map(|line| line + "\n").collect();
    Ok(show::text(&lines))
}

fn of_host(host: &HostInfo) -> serde_json::Value {
    serde_json::json!({
        "name": host.name,
        "state": host.state.text(),
        "run": host.run,
        "version": host.version,
        "clock_ahead_ms": host.clock_ahead_ms,
        "limits": host.limits,
        "boot_id": host.boot_id,
    })
}

/// All hosts, if none are named.
fn or_all(hosts: &[String]) -> Vec<String> {
    if hosts.is_empty() { vec!["*".to_owned()] } else { hosts.to_vec() }
}

fn stop(server: &Server, key: &Path, hosts: &[String]) -> Result<Status, FleetError> {
    let key = SigningKey::read(key)?;
    let mut status = Status::Done;
    for ::fleet::Stopped { host, outcome } in connect(server)?.stop(&or_all(hosts), &key)? {
        match outcome {
            Ok(()) => say(&format!("{host}: stopped")),
            Err(reason) => status = fail(&format!("{host}: {reason}")),
        }
    }
    Ok(status)
}

fn collect(server: &Server, key: &Path, hosts: &[String], output: &Path) -> Result<Status, FleetError> {
    let key = SigningKey::read(key)?;
    if !output.is_dir() {
        let reason = format!("--output '{}' is not a directory", output.display());
        return Err(FleetError::Usage(reason));
    }
    let mut count = 0;
    connect(server)?.collect(&or_all(hosts), &key, &mut |collected| {
        let result = result_in(Path::new(&collected.run), collected.finished.result.as_bytes())?;
        let stem = format!("{}-{}", collected.run, collected.host);
        let written = write_new(output, &stem, Form::Json, |out| write_document(Form::Json, &result, out));
        let path = written.map_err(|error| format!("cannot write to '{}': {error}", output.display()))?;
        say(&format!("'{}'", path.display()));
        count += 1;
        Ok(())
    })?;
    if count == 0 {
        say("no host keeps a result");
    }
    Ok(Status::Done)
}
