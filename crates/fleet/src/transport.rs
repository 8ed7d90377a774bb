//! The connection to a NATS server, and the rules for one that others can read.

use crate::FleetError;
use crate::key::SigningKey;
use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Capacity of the queue of one subscription of an agent; further messages are lost. With the largest messages this
/// limits the memory that a flood takes.
pub(crate) const AGENT_WAITING: usize = 32;
/// The same of a controller, which receives from many agents at once.
pub(crate) const CONTROLLER_WAITING: usize = 4096;
/// The same change of the connection is reported once within this time.
const SAME_EVENT: Duration = Duration::from_secs(10);
/// The maximum number of changes reported within this time.
const EVENTS: u32 = 8;
/// Capacity of the send queue.
const WAITING_TO_SEND: usize = 512;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest pause between two attempts to reconnect: well below the 10 s timeout that ends a load.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
/// A server that does not answer is noticed within two of these.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// Options of the connection to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// `nats://HOST:PORT` or `tls://HOST:PORT` (`--server`); the port is 4222 if there is none.
    pub server: String,
    /// A file of credentials, as NATS makes them (`--creds`).
    pub credentials: Option<PathBuf>,
    /// Certificates of the authorities that signed the server's (`--tls-ca`).
    pub tls_ca: Option<PathBuf>,
    /// A key for the server, in place of a file of credentials: a recorded connection is of no use to others.
    pub nkey: Option<SigningKey>,
    /// Connect to another machine without encryption (`--no-tls`).
    pub no_tls: bool,
    /// Connect to another machine without credentials (`--anonymous`).
    pub anonymous: bool,
    /// First part of the subjects of answers, instead of `_INBOX`: permissions can keep others from reading them.
    pub inbox_prefix: Option<String>,
}

/// A checked [`Connection`].
#[derive(Clone, Debug, PartialEq)]
struct Checked {
    address: ServerAddr,
    require_tls: bool,
}

impl Connection {
    /// Checks without connecting.
    ///
    /// # Errors
    ///
    /// If the address is invalid, or the server is on another machine and neither encryption nor `no_tls`, or neither
    /// credentials nor `anonymous` are given.
    pub fn check(&self) -> Result<(), FleetError> {
        self.checked().map(|_| ())
    }

    fn checked(&self) -> Result<Checked, FleetError> {
        let usage = |sentence: String| Err(FleetError::Usage(sentence));
        let address: ServerAddr = match self.server.parse() {
            Ok(address) if !self.server.is_empty() => address,
            _ => {
                return usage(format!(
                    "'{}' is not the address of a server (expected: nats://HOST:PORT)",
                    self.shown()
                ));
            }
        };
        if !matches!(address.scheme(), "nats" | "tls") {
            return usage(format!("'{}': unknown scheme (expected: nats or tls)", self.shown()));
        }
        if let Some(prefix) = &self.inbox_prefix
            && !is_inbox_prefix(prefix)
        {
            return usage(format!(
                "'{}' is not a prefix of inboxes (expected: letters, digits, _, - and dots between \
                                  them)",
                prefix.escape_debug()
            ));
        }
        let near = is_loopback(address.host());
        let wants_tls = address.scheme() == "tls" || self.tls_ca.is_some();
        if wants_tls && self.no_tls {
            return usage("--no-tls contradicts tls:// and --tls-ca".into());
        }
        if address.has_user_pass() || address.username().is_some() {
            return usage(format!(
                "{}: a user and password in the address would be seen by others: give --creds FILE with the line \
                 USER:PASSWORD",
                self.shown()
            ));
        }
        if !near && self.credentials.is_none() && !self.anonymous {
            return usage(format!(
                "no credentials for {}: give --creds FILE, or --anonymous if the server asks nobody who they are",
                self.shown()
            ));
        }
        Ok(Checked { require_tls: wants_tls || (!near && !self.no_tls), address })
    }

    /// The address without a password.
    pub fn shown(&self) -> String {
        let (scheme, rest) = self.server.split_once("://").unwrap_or(("nats", &self.server));
        let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        crate::message::bounded_text(&format!("{scheme}://{rest}"))
    }

    /// Connects. `on_event` receives each change of the connection as a sentence.
    pub(crate) async fn connect(
        &self,
        name: &str,
        waiting: usize,
        on_event: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Client, FleetError> {
        let checked = self.checked()?;
        let told: Mutex<ReportLimiter> = Mutex::new(ReportLimiter { last: None, since: Instant::now(), said: 0 });
        let server = self.shown();
        let mut options = ConnectOptions::new()
            .name(name)
            .require_tls(checked.require_tls)
            .ignore_discovered_servers() // of which the rules know nothing
            .subscription_capacity(waiting)
            .client_capacity(WAITING_TO_SEND.max(waiting)) // orders that wait for a place overtake each other
            .connection_timeout(CONNECT_TIMEOUT)
            .ping_interval(PING_INTERVAL)
            .request_timeout(Some(CONNECT_TIMEOUT))
            .reconnect_delay_callback(|attempts| {
                RECONNECT_PAUSE.min(Duration::from_millis(50 * (1 << attempts.min(6))))
            })
            .event_callback(move |event| {
                if let Some(sentence) = sentence(&event, &server) {
                    let now = Instant::now();
                    if told.lock().unwrap_or_else(PoisonError::into_inner).is_news(&sentence, now) {
                        on_event(&sentence);
                    }
                }
                async {}
            });
        if let Some(path) = &self.tls_ca {
            options = options.add_root_certificates(path.clone());
        }
        if let Some(prefix) = &self.inbox_prefix {
            options = options.custom_inbox_prefix(prefix);
        }
        if let Some(path) = &self.credentials {
            let cannot = |error: std::io::Error| {
                FleetError::Usage(format!("cannot read the credentials {}: {error}", path.display()))
            };
            let text = std::fs::read_to_string(path).map_err(cannot)?;
            options = match user_and_password(&text) {
                Some((user, password)) => options.user_and_password(user.to_owned(), password.to_owned()),
                None => options.credentials(&text).map_err(cannot)?,
            };
        }
        if let Some(key) = &self.nkey {
            options = options.nkey(key.seed()?);
        }
        let connected = tokio::time::timeout(2 * CONNECT_TIMEOUT, options.connect(checked.address)).await;
        match connected {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => {
                let hint = if checked.require_tls && self.tls_ca.is_none() && !self.server.starts_with("tls://") {
                    " (it must use TLS, because it is on another machine; --no-tls connects without)"
                } else {
                    ""
                };
                let reason = reason(&error);
                Err(FleetError::refused(format!("cannot connect to {}: {reason}{hint}", self.shown())))
            }
            Err(_) => Err(FleetError::refused(format!("cannot connect to {}: no answer within 10 s", self.shown()))),
        }
    }
}

/// Rate limit of the reports about the connection.
struct ReportLimiter {
    last: Option<(String, Instant)>,
    /// Start of the period in which this number was reported.
    since: Instant,
    said: u32,
}

impl ReportLimiter {
    /// True if it is to be reported: repeated disconnects do not fill a log.
    fn is_news(&mut self, sentence: &str, now: Instant) -> bool {
        if now.duration_since(self.since) > SAME_EVENT {
            (self.since, self.said) = (now, 0);
        }
        let is_new = |(last, at): &(String, Instant)| last != sentence || now.duration_since(*at) > SAME_EVENT;
        let is_news = self.said < EVENTS && self.last.as_ref().is_none_or(is_new);
        if is_news {
            self.said += 1;
            self.last = Some((sentence.to_owned(), now));
        }
        is_news
    }
}

/// The error with its causes, on one line.
fn reason(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    crate::message::bounded_text(&text)
}

fn sentence(event: &Event, server: &str) -> Option<String> {
    match event {
        Event::Connected => Some(format!("connected to {server}")),
        Event::Disconnected => Some(format!("the connection to {server} is lost; it is tried again")),
        Event::SlowConsumer(_) => Some("messages come faster than they are read; some are lost".into()),
        Event::ServerError(error) => Some(crate::message::bounded_text(&format!("{server}: {error}"))),
        Event::LameDuckMode => Some(format!("{server} is about to shut down")),
        Event::Draining | Event::Closed | Event::ClientError(_) => None,
    }
}

/// A user and a password, if that is all that a file of credentials contains; those of NATS accounts begin with a line
/// of hyphens.
fn user_and_password(text: &str) -> Option<(&str, &str)> {
    let line = text.trim();
    if line.contains('\n') || line.starts_with("-----") { None } else { line.split_once(':') }
}

/// True if this host is reached without a network.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_inbox_prefix(prefix: &str) -> bool {
    let plain =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    prefix.len() <= 128 && prefix.split('.').all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(server: &str) -> Connection {
        Connection { server: server.into(), ..Connection::default() }
    }

    #[test]
    fn a_server_on_this_machine_needs_neither_encryption_nor_credentials() {
        for server in ["nats://127.0.0.1:4222", "127.0.0.1", "nats://localhost", "nats://[::1]:1", "nats://127.9.9.9"] {
            let checked = to(server).checked().unwrap();
            assert!(!checked.require_tls, "{server}");
        }
        assert!(to("tls://127.0.0.1").checked().unwrap().require_tls);
    }

    #[test]
    fn a_server_elsewhere_needs_both_or_words_that_say_no() {
        for server in ["nats://bus:4222", "nats://10.0.0.1", "nats://127.0.0.1.example.org", "nats://[::2]:4222"] {
            let error = to(server).check().unwrap_err();
            assert!(error.to_string().contains("--anonymous") && error.touched_nothing(), "{error}");
            let anonymous = Connection { anonymous: true, ..to(server) };
            assert!(anonymous.checked().unwrap().require_tls, "{server}");
            let open = Connection { anonymous: true, no_tls: true, ..to(server) };
            assert!(!open.checked().unwrap().require_tls, "{server}");
            let credentials = Connection { credentials: Some("x".into()), ..to(server) };
            assert!(credentials.checked().unwrap().require_tls, "{server}");
        }
        for server in ["nats://me:secret@bus", "nats://me@bus", "nats://me:secret@127.0.0.1"] {
            let error = to(server).check().unwrap_err().to_string();
            assert!(error.contains("--creds") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_file_of_credentials_may_have_a_user_and_password() {
        assert_eq!(user_and_password("me:se:cret\n"), Some(("me", "se:cret")));
        for text in ["", "me", "-----BEGIN NATS USER JWT-----\na:b\n", "a:b\nc:d"] {
            assert_eq!(user_and_password(text), None, "{text}");
        }
    }

    #[test]
    fn contradictions_and_nonsense_are_refused() {
        let contradiction = Connection { no_tls: true, anonymous: true, ..to("tls://bus") };
        assert!(contradiction.check().unwrap_err().to_string().contains("contradicts"));
        for server in ["", "http://bus", "nats://", "ws://127.0.0.1"] {
            assert!(to(server).check().is_err(), "{server}");
        }
        for (prefix, good) in
            [("_INBOX_me", true), ("a.b", true), ("", false), ("a..b", false), ("a.>", false), ("a b", false)]
        {
            let connection = Connection { inbox_prefix: Some(prefix.into()), ..to("127.0.0.1") };
            assert_eq!(connection.check().is_ok(), good, "{prefix}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(to("nats://me:secret@bus:4222").shown(), "nats://bus:4222");
        let error = to("http://me:secret@bus").check().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
    #[test]
    fn a_connection_that_comes_and_goes_fills_no_log() {
        let began = Instant::now();
        let mut told = ReportLimiter { last: None, since: began, said: 0 };
        let mut said = 0;
        for number in 0..2000_u32 {
            let now = began + Duration::from_millis(10) * number; // 20 s
            said += u32::from(told.is_news(if number % 2 == 0 { "lost" } else { "connected" }, now));
        }
        assert_eq!(said, 2 * EVENTS);
        assert!(!told.is_news("connected", began + Duration::from_secs(20)), "told just now");
        assert!(told.is_news("connected", began + Duration::from_mins(1)));
    }
}
