//! Serves one page over HTTP: requests are bounded in size and time, and any other path is refused.

use super::text::RunMetrics;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// The one path.
const PATH: &str = "/metrics";

/// The longest request; longer ones are refused.
const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

/// Time that a client has for its request, and for reading each part of the response.
const CLIENT_TIME: Duration = Duration::from_secs(2);

/// Clients at a time, each with a thread of its own; another one replaces the oldest.
const CLIENTS_MAX: usize = 64;

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN_METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A server and its metrics.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    served: Arc<Mutex<RunMetrics>>,
}

impl Server {
    /// Listens at `address` until the program ends.
    ///
    /// # Errors
    ///
    /// If the address is already in use or does not belong to this machine.
    pub fn start(address: SocketAddr, metrics: RunMetrics) -> io::Result<Self> {
        Self::start_with_patience(address, metrics, CLIENT_TIME)
    }

    fn start_with_patience(address: SocketAddr, metrics: RunMetrics, client_time: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let served = Arc::new(Mutex::new(metrics));
        let shared = Arc::clone(&served);
        spawn(move || accept_clients(&listener, &shared, client_time))?;
        Ok(Self { address, served })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the metrics.
    pub fn update(&self, change: impl FnOnce(&mut RunMetrics)) {
        change(&mut self.served.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn spawn(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name("metrics".to_owned()).spawn(body).map(drop)
}

/// Serves each client on a thread of its own, so that slow ones delay nobody.
fn accept_clients(listener: &TcpListener, served: &Arc<Mutex<RunMetrics>>, client_time: Duration) {
    let mut clients: VecDeque<Weak<TcpStream>> = VecDeque::new();
    for client in listener.incoming() {
        let Ok(client) = client.map(Arc::new) else {
            // For example too many open files: it may pass.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        clients.retain(|client| client.strong_count() > 0);
        if clients.len() == CLIENTS_MAX
            && let Some(oldest) = clients.pop_front().and_then(|oldest| oldest.upgrade())
        {
            // Its thread ends. If it has ended meanwhile, there is nothing to shut down.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        clients.push_back(Arc::downgrade(&client));
        let served = Arc::clone(served);
        // Without a thread the connection is closed. Errors of a client are ignored.
        let _ = spawn(move || _ = serve_client(&client, &served, client_time));
    }
}

fn serve_client(mut client: &TcpStream, served: &Mutex<RunMetrics>, client_time: Duration) -> io::Result<()> {
    let request = read_request(client, Instant::now() + client_time)?;
    client.set_write_timeout(Some(client_time))?;
    client.write_all(&response(&request, served))
}

fn response(request: &Request, served: &Mutex<RunMetrics>) -> Vec<u8> {
    let (status, kind, body) = match request {
        Request::Page { open_metrics } => {
            let metrics = served.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let page =
                if *open_metrics { (OPEN_METRICS, metrics.text()) } else { (PLAIN_METRICS, metrics.plain_text()) };
            ("200 OK", page.0, page.1)
        }
        Request::Other(status) => (*status, TEXT, format!("{status}: only GET {PATH} is supported\n")),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    (head + &body).into_bytes()
}

enum Request {
    /// In the format that the client accepts.
    Page { open_metrics: bool },
    /// The status of the response.
    Other(&'static str),
}

const TOO_LONG: Request = Request::Other("431 Request Header Fields Too Large");

/// A client's request once it is complete, too long or too late.
fn read_request(mut client: &TcpStream, until: Instant) -> io::Result<Request> {
    let (mut bytes, mut length) = ([0; REQUEST_BYTES_MAX], 0);
    while length < bytes.len() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Request::Other("408 Request Timeout"));
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut bytes[length..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => length += count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if let Some(request) = parse(&bytes[..length]) {
            return Ok(request);
        }
    }
    Ok(TOO_LONG)
}

/// The request; `None` if it is not complete.
fn parse(bytes: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(TOO_LONG),
        Err(_) => return Some(Request::Other("400 Bad Request")),
    }
    let path = request.path.unwrap_or_default().split('?').next();
    Some(match (request.method, path) {
        (Some("GET"), Some(PATH)) => {
            let accepts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
            let mut kinds = accepts.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase());
            Request::Page { open_metrics: kinds.any(|kinds| kinds.contains("application/openmetrics-text")) }
        }
        (Some("GET"), _) => Request::Other("404 Not Found"),
        _ => Request::Other("405 Method Not Allowed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ask(server: &Server, request: &[u8]) -> String {
        let mut client = TcpStream::connect(server.address()).expect("it listens");
        // Far more than any machine needs: a server that does not answer fails the test instead of blocking it.
        client.set_read_timeout(Some(Duration::from_mins(5))).expect("our own socket");
        // The server may have closed the connection already.
        let _ = client.write_all(request);
        let mut answer = String::new();
        // A server that refused an unread request resets the connection; what was received before is kept.
        let _ = client.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn one_page_is_served_and_nothing_else() {
        let here = "127.0.0.1:0".parse().expect("an address");
        let server = Server::start(here, RunMetrics::default()).expect("a free port");
        server.update(|metrics| metrics.time_span = 42);
        let plain = ask(&server, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(plain.contains("\r\nContent-Type: text/plain; version=0.0.4;") && !plain.contains("# EOF"), "{plain}");
        let page = ask(&server, b"GET /metrics?x=1 HTTP/1.1\r\nACCEPT: a/b, application/openmetrics-text\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"), "{page}");
        assert!(page.contains("\ndiskspd_time_span 42\n") && page.ends_with("# EOF\n"), "{page}");
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100));
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics/../etc HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("\x16\x03\x01", "400"),
            (&many, "431"),
        ] {
            assert!(ask(&server, request.as_bytes()).starts_with(&format!("HTTP/1.1 {status}")), "{request:?}");
        }
        let taken = Server::start(server.address(), RunMetrics::default());
        assert_eq!(taken.expect_err("somebody listens").kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_client_that_never_stops_asking_is_refused() {
        let here = "127.0.0.1:0".parse().expect("an address");
        let server = Server::start(here, RunMetrics::default()).expect("a free port");
        let long = format!("GET /metrics HTTP/1.1\r\na: {}", "b".repeat(REQUEST_BYTES_MAX));
        let answer = ask(&server, long.as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
        assert!(ask(&server, b"GET /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200"));
    }

    /// A server for one test, with the given time limit for clients.
    fn patient(client_time: Duration) -> Server {
        let here = "127.0.0.1:0".parse().expect("an address");
        Server::start_with_patience(here, RunMetrics::default(), client_time).expect("a free port")
    }

    #[test]
    fn clients_that_do_not_ask_keep_nobody_waiting() {
        // Served one after the other, no client would be answered before the silent ones have had their hour.
        let server = patient(Duration::from_hours(1));
        let connect = || TcpStream::connect(server.address()).expect("it listens");
        let silent: Vec<TcpStream> = (0..CLIENTS_MAX + 50).map(|_| connect()).collect();
        for _ in 0..20 {
            assert!(ask(&server, b"GET /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200"));
        }
        // The oldest have been replaced, the newest are still there.
        let has_ended = |mut client: &TcpStream| {
            client.set_nonblocking(true).expect("our own socket");
            !matches!(client.read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        };
        assert!(has_ended(&silent[0]) && !has_ended(&silent[CLIENTS_MAX + 49]));
    }

    #[test]
    fn a_client_whose_time_is_over_is_answered_so() {
        let server = patient(Duration::from_secs(1));
        let answer = ask(&server, b"GET /met");
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    }

    proptest! {
        #[test]
        fn no_request_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
