//! The NATS server at which hosts and controller of a test meet.

use std::time::Duration;
use testkit::{Finished, Program, Running, Workplace, tool};

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

/// True if a program says that the machine was so busy that an order took seconds: then nothing starts.
fn is_late(stdout: &str, stderr: &str) -> bool {
    [stdout, stderr].iter().any(|said| said.contains("did not confirm the start in time"))
}

/// Runs a load, and again if it started nowhere because the machine was too busy for that.
pub(crate) fn run_in_time(load: impl Fn() -> Program) -> Finished {
    (0..10).map(|_| load().run()).find(|run| !is_late(&run.stdout, &run.stderr)).unwrap_or_else(|| load().run())
}

/// Starts a load and waits until it is under way; begins again if it starts nowhere.
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
