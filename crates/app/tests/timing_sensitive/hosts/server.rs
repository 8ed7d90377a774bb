//! The NATS server that connects the hosts and the controller of a test.

use std::time::Duration;
use testkit::{Finished, Program, Running, Workplace, tool};

/// Time limit of a server.
const LIFE: Duration = Duration::from_mins(10);

/// Starts one on a free port of 127.0.0.1, with additional options; returns the port, too.
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

/// True if a program reports that an order took seconds on a busy machine: then nothing starts, or not on all hosts.
fn is_late(stdout: &str, stderr: &str) -> bool {
    let late = ["did not confirm the start in time", "the load was not started"];
    [stdout, stderr].iter().any(|said| late.iter().any(|sentence| said.contains(sentence)))
}

/// Runs a load, and again if it started nowhere because the machine was too busy.
pub(crate) fn run_in_time(load: impl Fn() -> Program) -> Finished {
    (0..10).map(|_| load().run()).find(|run| !is_late(&run.stdout, &run.stderr)).unwrap_or_else(|| load().run())
}

/// Starts a load and waits until it is running; retries if it starts nowhere.
pub(crate) fn start_in_time(load: impl Fn() -> Program, is_under_way: impl Fn(&Running) -> bool) -> Running {
    for _ in 0..10 {
        let mut run = load().start();
        let is_spoilt = |run: &Running| is_late(&run.stdout(), &run.stderr());
        run.wait_until("a start", |run| is_spoilt(run) || is_under_way(run));
        if !is_spoilt(&run) {
            return run;
        }
        run.interrupt();
        run.finish();
    }
    panic!("the load did not start in time, ten times");
}
