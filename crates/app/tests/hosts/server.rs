//! The NATS server at which hosts and controller of a test meet.

use std::time::Duration;
use testkit::{Running, Workplace, tool};

/// How long one may run.
const LIFE: Duration = Duration::from_mins(10);

/// Starts one on a free port of 127.0.0.1, with more options; the port, too.
pub(crate) fn start(place: &Workplace, options: &str) -> Result<(Running, u16), String> {
    let nats = tool("nats-server")?;
    let mut server = place.tool(nats).args(&format!("-a 127.0.0.1 -p -1 -V {options}")).limit(LIFE).start();
    let listens = "Listening for client connections on ";
    server.wait_for_stderr(listens);
    server.wait_for_stderr("Server is ready");
    let log = server.stderr();
    let (_, after) = log.split_once(listens).expect("it listens");
    let address = after.lines().next().unwrap_or_default().trim();
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    Ok((server, port))
}
