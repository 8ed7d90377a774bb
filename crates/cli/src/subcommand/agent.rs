//! Arguments of `diskspd agent`.

use super::{Arguments, TypedArguments};
use crate::fleet::{self, ServerAccess};
use crate::request::Environment;
use crate::size;
use std::path::PathBuf;

/// Run loads for controllers on other hosts (experimental)
///
/// Connects to a NATS server and waits for orders of 'diskspd --on'. An order is carried out only if it is signed with a key
/// that --trust lists. Targets must be beneath a directory of --allow, or be one of its block devices; without --allow, no
/// load is run. One load at a time. Ctrl+C ends a load that runs, and the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(override_usage = "diskspd agent --server URL --trust FILE --allow PATH... [options]
       diskspd agent --stdin")]
pub struct AgentRequest {
    /// NATS server: nats://host:port, or tls://host:port
    #[arg(long, value_name = "URL", value_parser = server, required_unless_present = "stdin")]
    pub server: Option<String>,
    /// file with the public keys whose orders are carried out, one per line ('fleet key' makes one)
    #[arg(long, value_name = "FILE", required_unless_present = "stdin")]
    pub trust: Option<PathBuf>,
    /// directory in which targets may be, or a block device that may be read; absolute; may be given again
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<PathBuf>,
    /// block device of --allow that may be written to, by its ID as for --destroy; may be given again
    #[arg(long, value_name = "ID")]
    pub allow_destroy: Vec<String>,
    /// name of this host in results and paths; default: the host name
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,
    /// directory in which results are kept until they are fetched; default: /var/lib/diskspd for root, otherwise
    /// ~/.local/state/diskspd
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// largest file that a load may create (units K, M, G, T); default: 1T
    #[arg(long, value_name = "SIZE", value_parser = bytes, default_value = "1T", hide_default_value = true)]
    pub max_file: u64,
    /// most threads of a load; default: 1024
    #[arg(long, value_name = "N", default_value = "1024", hide_default_value = true)]
    pub max_threads: u32,
    /// most memory of a load, as its plan says (units K, M, G, T); default: as for every run, 90 % of what is available
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_memory: Option<u64>,
    /// run one load, then end; also end if none has begun within 10 minutes
    #[arg(long)]
    pub once: bool,
    /// read server, keys and directories from standard input, and end when it closes: how --on starts an agent over ssh. No other
    /// option can be given with it
    #[arg(long, exclusive = true)]
    pub stdin: bool,
    #[command(flatten)]
    pub access: ServerAccess,
}

impl Arguments for AgentRequest {
    type Request = Self;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<Self, String> {
        match self.allow.iter().find(|path| !path.is_absolute()) {
            Some(path) => Err(format!("--allow '{}': the path must be absolute", path.display())),
            None => Ok(self),
        }
    }
}

fn server(text: &str) -> Result<String, String> {
    fleet::server(text)
}

fn name(text: &str) -> Result<String, String> {
    let expected = "expected 1 to 63 letters, digits, dots, underscores and hyphens";
    if fleet::is_host_name(text) { Ok(text.to_owned()) } else { Err(expected.to_owned()) }
}

fn bytes(text: &str) -> Result<u64, String> {
    size::parse(text, 1).map_err(|fault| fault.to_string())
}

#[cfg(test)]
mod tests {
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    #[test]
    fn standard_input_says_everything_or_nothing() {
        let Ok(Subcommand::Agent(request)) = typed("agent", "--stdin") else { panic!("--stdin") };
        assert!(request.stdin && request.server.is_none() && request.trust.is_none());
        let Ok(Subcommand::Agent(request)) = typed("agent", "--server bus --trust t --once") else { panic!("--once") };
        assert!(request.once && !request.stdin);
    }

    #[test]
    fn what_an_agent_may_do_is_read() {
        let line = "--server bus:4222 --trust t.pub --allow /a --allow /dev/b --allow-destroy=eui.1 --name h1 --max-file=2G --max-memory=1G";
        let Ok(Subcommand::Agent(request)) = typed("agent", line) else { panic!("{line}") };
        assert_eq!(request.server.as_deref(), Some("nats://bus:4222"));
        assert_eq!((request.allow.len(), request.allow_destroy.len()), (2, 1));
        assert_eq!((request.name.as_deref(), request.max_file, request.max_threads), (Some("h1"), 2 << 30, 1024));
        assert_eq!(request.max_memory, Some(1 << 30));
        for (line, expected) in [
            ("", "--server"),
            ("--server bus", "--trust"),
            ("--server bus/x --trust t", "is not nats://"),
            ("--server bus --trust t --allow data", "must be absolute"),
            ("--server bus --trust t --name a/b", "expected 1 to 63 letters"),
            ("--server bus --trust t --max-file=x", "--max-file"),
            ("--stdin --server bus", "--stdin"),
            ("--stdin --allow /a", "--stdin"),
            ("--stdin --once", "--stdin"),
        ] {
            let failure = typed("agent", line).expect_err(line);
            assert!(failure.contains(expected), "{line}: {failure}");
        }
    }
}
