//! Serves one page over HTTP, to one client at a time: what is asked is bounded in size and time, and anything but
//! the page is refused.

use super::text::RunMetrics;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The one path.
const PATH: &str = "/metrics";

/// What clients may send before they are refused.
const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

/// How long a client may take to ask, and to take the answer.
const CLIENT_TIME: Duration = Duration::from_secs(2);

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN_METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A server and what it serves.
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
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let served = Arc::new(Mutex::new(metrics));
        let shared = Arc::clone(&served);
        thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for client in listener.incoming() {
                match client {
                    // What a client does wrong is its own business.
                    Ok(client) => drop(answer(client, &shared)),
                    // As when there are too many open files: it may pass.
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
        Ok(Self { address, served })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what is served.
    pub fn update(&self, change: impl FnOnce(&mut RunMetrics)) {
        change(&mut self.served.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn answer(mut client: TcpStream, metrics: &Mutex<RunMetrics>) -> io::Result<()> {
    client.set_write_timeout(Some(CLIENT_TIME))?;
    let (status, kind, body) = match read_request(&mut client)? {
        Request::Page { open_metrics } => {
            let metrics = metrics.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let page =
                if open_metrics { (OPEN_METRICS, metrics.text()) } else { (PLAIN_METRICS, metrics.plain_text()) };
            ("200 OK", page.0, page.1)
        }
        Request::Other(status) => (status, TEXT, format!("{status}: only GET {PATH} is supported\n")),
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    client.write_all((head + &body).as_bytes())
}

enum Request {
    /// In the form that the client knows.
    Page { open_metrics: bool },
    /// The status that it is answered with.
    Other(&'static str),
}

/// Reads what a client asks, for as long as it may take.
fn read_request(client: &mut TcpStream) -> io::Result<Request> {
    let until = Instant::now() + CLIENT_TIME;
    let (mut bytes, mut length) = ([0; REQUEST_BYTES_MAX], 0);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Request::Other("408 Request Timeout"));
        }
        client.set_read_timeout(Some(left))?;
        let count = match client.read(&mut bytes[length..]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
            other => other?,
        };
        length += count;
        if let Some(request) = parse(&bytes[..length]) {
            return Ok(request);
        }
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if length == bytes.len() {
            return Ok(Request::Other("431 Request Header Fields Too Large"));
        }
    }
}

/// What is asked; `None` if the request is not complete.
fn parse(bytes: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Request::Other("431 Request Header Fields Too Large")),
        Err(_) => return Some(Request::Other("400 Bad Request")),
    }
    let path = request.path.unwrap_or_default().split('?').next();
    Some(match (request.method, path) {
        (Some("GET"), Some(PATH)) => {
            let accepts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
            let kinds = accepts.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase());
            Request::Page {
                open_metrics: kinds.into_iter().any(|kinds| kinds.contains("application/openmetrics-text")),
            }
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
        client.write_all(request).expect("it reads");
        let mut answer = String::new();
        // A server that refused what it has not read resets the connection; what came before is kept.
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

    proptest! {
        #[test]
        fn no_request_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
