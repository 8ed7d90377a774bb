//! `--on=root@h1,h2`: hosts reached by ssh. In most tests a script replaces ssh, and runs its command on this machine;
//! in the last ones it is ssh, with an sshd of the test.

use crate::hosts::server::{run_in_time, start_in_time};
use serde_json::Value;
use std::cell::Cell;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{Finished, Program, Running, Workplace, is_root, or_skip, skip, tool, workplace};

/// Time limit for steps that normally take a moment.
const PATIENCE: Duration = Duration::from_mins(3);

const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs the last of its arguments here. A file `at-HOST` contains commands to run before.
const SSH: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/ssh.log"
while [ "$1" != -- ]; do
  [ "$1" = -R ] && forward=$2
  shift
done
host=${2#*@}
shift 2
echo "Welcome to $host"
[ -f "$HOME/at-$host" ] && . "$HOME/at-$host"
echo "Allocated port ${forward##*:} for remote forward to 127.0.0.1:${forward##*:}" >&2
sh -c "$*"
"#;

/// A load that ends by itself, and one that does not.
const BRIEF: &str = "-c1M -b4K -r -w50 -o4 -t2 -d60 -W0 --max-ios=200 -L";
const ENDLESS: &str = "-c1M -b4K -r -w50 -o4 -t2 -d600 -W0 -L";

/// Hosts on this machine, each with a directory `room-HOST`.
struct Hosts {
    place: Workplace,
}

impl Hosts {
    fn new(place: Workplace, ssh: &str, hosts: &[&str]) -> Result<Self, String> {
        tool("nats-server")?;
        for folder in ["bin", "tmp"] {
            fs::create_dir(place.path(folder)).expect("made");
        }
        for host in hosts {
            fs::create_dir(place.path(&format!("room-{host}"))).expect("made");
        }
        script(&place, "bin/ssh", ssh);
        symlink(place.program(), place.path("bin/diskspd")).expect("made");
        Ok(Self { place })
    }

    /// With the script in place of ssh.
    fn fake(place: Workplace) -> Result<Self, String> {
        Self::new(place, SSH, &["h1", "h2"])
    }

    fn path(&self) -> String {
        format!("{}:{SYSTEM_PATH}", self.place.path("bin").display())
    }

    /// A load without a target.
    fn load(&self, hosts: &str, words: &str) -> Program {
        let program = self.place.diskspd(&format!("--on={hosts}")).args(words).limit(Duration::from_mins(5));
        program.env("PATH", self.path()).env("TMPDIR", self.place.path("tmp"))
    }

    fn target(&self) -> PathBuf {
        self.place.path("room-{host}/t.dat")
    }

    fn file_of(&self, host: &str) -> PathBuf {
        self.place.path(&format!("room-{host}/t.dat"))
    }

    /// Running processes started by programs of this test, with their arguments.
    fn processes(&self) -> Vec<String> {
        let home = format!("HOME={}\0", self.place.folder().display());
        let mark = format!("PLACE={}\0", self.place.folder().display());
        let entries = fs::read_dir("/proc").expect("there").flatten();
        let ours = entries.filter_map(|entry| {
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let environment = String::from_utf8_lossy(&environment);
            let arguments = fs::read(entry.path().join("cmdline")).ok()?;
            let is_ours = environment.contains(&home) || environment.contains(&mark);
            (is_ours && !arguments.is_empty())
                .then(|| format!("{} {environment}", String::from_utf8_lossy(&arguments).replace('\0', " ")))
        });
        ours.collect()
    }

    /// Waits until no process is left, and checks that no file is.
    fn expect_nothing_left(&self) {
        let began = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "still there: {left:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let left: Vec<_> = fs::read_dir(self.place.path("tmp")).expect("there").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    fn expect_untouched(&self) {
        for host in ["h1", "h2"] {
            assert!(!self.file_of(host).exists(), "{host}");
        }
    }

    /// Starts an endless load on both hosts and waits until it runs on both.
    fn start_endless(&self) -> Running {
        let load = || self.load("root@h1,h2", ENDLESS).args("--json r.json").arg(self.target());
        // Each load overwrites its file's beginning, after the file was created.
        let times = || ["h1", "h2"].map(|host| fs::metadata(self.file_of(host)).and_then(|file| file.modified()).ok());
        let made = Cell::new(None);
        start_in_time(load, |run| {
            if !run.stderr().contains("start in ") {
                made.set(None);
                return false;
            }
            let before = made.get().unwrap_or_else(times);
            made.set(Some(before));
            times().iter().zip(&before).all(|(now, before)| now > before)
        })
    }

    fn result(&self) -> Value {
        self.place.json("r.json")
    }
}

fn script(place: &Workplace, name: &str, text: &str) {
    let path = place.file(name, text.as_bytes());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
}

/// I/Os of a host in a result.
fn ios_of(result: &Value, host: &str) -> u64 {
    let rows = result["time_spans"][0]["measured"]["rows"].as_array().expect("a list");
    let is_of = |row: &&Value| row["path"].as_str().is_some_and(|path| path.starts_with(&format!("{host}:")));
    rows.iter().filter(is_of).map(|row| row["figures"]["total"]["ios"].as_u64().expect("a number")).sum()
}

/// True if this text has the secret half of a key: `SU` and 56 more characters of Base32.
fn has_secret(text: &str) -> bool {
    let is_base32 = |byte: u8| byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte);
    text.match_indices("SU")
        .any(|(at, _)| text.as_bytes().get(at..at + 58).is_some_and(|seed| seed.iter().all(|&byte| is_base32(byte))))
}

fn expect_no_secret_in(folder: &Path) {
    for entry in fs::read_dir(folder).expect("there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            expect_no_secret_in(&path);
        } else if !path.is_symlink() {
            let content = fs::read(&path).expect("readable");
            assert!(!has_secret(&String::from_utf8_lossy(&content)), "{}", path.display());
        }
    }
}

// Shows switches: --on=<[user@]host,...|nats://server/host,...>
#[test]
fn hosts_that_ssh_reaches_carry_out_one_load() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    let run = run_in_time(|| {
        let _ = fs::remove_file(hosts.place.path("ssh.log"));
        hosts.load("root@h1,h2", BRIEF).args("--json r.json").arg(hosts.target())
    });
    run.expect_status(0).expect_stderr(&["connecting over ssh: root@h1, h2", "2 hosts checked the load: h1, h2"]);
    let result = hosts.result();
    for host in ["h1", "h2"] {
        assert!(ios_of(&result, host) > 0, "{host}");
        assert_eq!(fs::metadata(hosts.file_of(host)).expect("made").len(), 1 << 20);
    }
    let log = String::from_utf8(hosts.place.content("ssh.log")).expect("text");
    for destination in ["root@h1", "h2"] {
        let line = log.lines().find(|line| line.contains(&format!(" -- {destination} ")));
        let line = line.expect("ssh was called");
        assert!(line.ends_with("diskspd agent --stdin") && line.contains("BatchMode=yes"), "{line}");
    }
    hosts.expect_nothing_left();
    expect_no_secret_in(hosts.place.folder());
    // The plans alone.
    fs::remove_file(hosts.file_of("h1")).expect("there");
    let run = hosts.load("h1", BRIEF).args("--plan").arg(hosts.target()).run();
    run.expect_status(0).expect_stdout(&["h1\n==", "room-h1/t.dat"]);
    assert!(!hosts.file_of("h1").exists());
    hosts.expect_nothing_left();
}

#[test]
fn runs_of_a_sweep_use_one_connection() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    let words = format!("sweep --on h1,h2 --vary o=1,2 --dir d -- {BRIEF}");
    let run = run_in_time(|| {
        let _ = fs::remove_file(hosts.place.path("ssh.log"));
        let _ = fs::remove_dir_all(hosts.place.path("d"));
        let sweep = hosts.place.diskspd(&words).arg(hosts.target()).limit(Duration::from_mins(5));
        sweep.env("PATH", hosts.path()).env("TMPDIR", hosts.place.path("tmp"))
    });
    run.expect_status(0).expect_stderr(&["; on 2 hosts"]);
    let log = String::from_utf8(hosts.place.content("ssh.log")).expect("text");
    assert_eq!(log.lines().count(), 2, "{log}");
    let point: Value = hosts.place.json("d/point-0002.json");
    assert!(ios_of(&point, "h1") > 0 && ios_of(&point, "h2") > 0);
    hosts.expect_nothing_left();
}

#[test]
fn ctrl_c_and_a_killed_controller_leave_nothing() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    // A controller that stalls while the hosts begin withdraws the load, although I/Os were seen.
    let interrupted = || {
        let run = hosts.start_endless();
        run.interrupt();
        run.finish()
    };
    let is_in_time = |run: &Finished| !run.stderr.contains("did not confirm the start in time");
    let run = (0..5).map(|_| interrupted()).find(is_in_time).expect("one of them starts in time");
    run.expect_status(0);
    let result = hosts.result();
    assert!(ios_of(&result, "h1") > 0 && ios_of(&result, "h2") > 0);
    hosts.expect_nothing_left();

    let run = hosts.start_endless();
    let processes = hosts.processes();
    let is_there = |what: &str| processes.iter().any(|words| words.contains(what));
    assert!(is_there("nats-server") && is_there("agent --stdin") && is_there("bin/ssh"), "{processes:#?}");
    assert!(!processes.iter().any(|words| has_secret(words)), "{processes:#?}");
    expect_no_secret_in(hosts.place.folder());
    // Only this one process: its children are in separate groups.
    run.kill_hard();
    hosts.expect_nothing_left();
}

#[test]
fn a_signal_before_the_load_leaves_nothing() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    // It never gets a reply from there.
    hosts.place.file("at-h2", b"echo hangs >&2; sleep infinity\n");
    let mut run = hosts.load("h1,h2", BRIEF).arg(hosts.target()).start();
    let log = hosts.place.path("ssh.log");
    run.wait_until("ssh", |_| fs::read_to_string(&log).is_ok_and(|log| log.lines().count() == 2));
    run.terminate();
    run.finish().expect_status(143);
    hosts.expect_nothing_left();
    hosts.expect_untouched();
}

#[test]
fn a_host_that_is_not_reached_is_named_and_nothing_is_touched() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    let refused = |at_h2: &str, words: &str, reasons: &[&str]| {
        hosts.place.file("at-h2", at_h2.as_bytes());
        let run = hosts.load("h1,root@h2", BRIEF).args(words).arg(hosts.target()).run();
        run.expect_status(3).expect_stderr(reasons);
        assert!(!run.stderr.contains("Welcome"), "{run}");
        hosts.expect_nothing_left();
        hosts.expect_untouched();
    };
    refused(
        "echo 'Host key verification failed.' >&2; exit 255\n",
        "",
        &["h2: ssh failed: Host key verification failed."],
    );
    refused("PATH=/usr/bin:/bin\n", "", &["h2: ", "not found", "diskspd must be installed there"]);
    refused(
        r#"echo '{"diskspd_agent":"0.0.1"}'; cat > /dev/null; exit 0"#,
        "",
        &["h2: diskspd there is version 0.0.1, here "],
    );
    refused(
        "echo 'Error: remote port forwarding failed for listen port 0' >&2; sleep infinity\n",
        "",
        &["AllowTcpForwarding"],
    );
    refused("exit 7\n", "", &["h2: the agent ended without a reason"]);
    // An older program does not know the option.
    refused("echo \"ERROR: invalid option '--stdin'\" >&2; exit 3\n", "", &["h2: invalid option '--stdin'"]);
    fs::remove_dir(hosts.place.path("room-h2")).expect("empty");
    refused("", "", &["h2: directory of a target: '", "room-h2': No such file or directory"]);
}

// Shows data-safety: targets of a load that another host orders
#[test]
fn agents_use_the_directories_of_the_targets_only() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    let theirs = hosts.place.file("theirs.dat", &vec![7; 1 << 20]);
    symlink(&theirs, hosts.file_of("h1")).expect("made");
    let run = hosts.load("h1,h2", BRIEF).arg(hosts.target()).run();
    run.expect_status(3).expect_stderr(&["h1: '", "is neither a regular file nor"]);
    fs::remove_file(hosts.file_of("h1")).expect("there");
    // A file not created by diskspd.
    fs::copy(&theirs, hosts.file_of("h1")).expect("copied");
    let run = hosts.load("h1,h2", BRIEF).arg(hosts.target()).run();
    run.expect_status(3).expect_stderr(&["h1: "]);
    assert!(fs::read(hosts.file_of("h1")).expect("there") == fs::read(&theirs).expect("there"));
    assert!(!hosts.file_of("h2").exists());
    assert!(fs::read(&theirs).expect("there") == vec![7; 1 << 20]);
    hosts.expect_nothing_left();
}

#[test]
fn others_on_the_machine_cannot_use_the_server() {
    let hosts = or_skip!(Hosts::fake(workplace!()));
    let mut run = hosts.load("h1,h2", ENDLESS).arg(hosts.target()).start();
    run.wait_for_stderr("start in ");
    let log = String::from_utf8(hosts.place.content("ssh.log")).expect("text");
    let (_, after) = log.split_once("-R 127.0.0.1:0:127.0.0.1:").expect("a port");
    let port = after.split_whitespace().next().expect("a port");
    hosts.place.file("creds", b"controller:secret\n");
    hosts.place.diskspd("fleet key --output fleet").run().expect_status(0);
    for words in ["", "--creds creds"] {
        let seen = hosts.place.diskspd(&format!("fleet hosts --server 127.0.0.1:{port} {words}")).run();
        seen.expect_status(3).expect_stderr(&["authorization"]);
        let stopped =
            hosts.place.diskspd(&format!("fleet stop --server 127.0.0.1:{port} --key fleet.key {words}")).run();
        stopped.expect_status(3);
    }
    run.interrupt();
    run.finish();
    hosts.expect_nothing_left();
}

#[test]
fn what_ssh_could_take_for_an_option_is_refused() {
    let place = workplace!();
    for (on, reason) in [
        ("-oProxyCommand=touch${IFS}x", "is not [user@]host"),
        ("h1,-v", "'-v' is not [user@]host"),
        ("root@-v", "is not [user@]host"),
        ("h1,root@h1", "host h1 is given twice"),
    ] {
        let run = place.diskspd("-d1 -c1M").arg(format!("--on={on}")).arg("/nowhere/{host}.dat").run();
        run.expect_status(3).expect_stderr(&[reason]);
    }
    let run = place.diskspd("--on=h1,h2 --key=k --anonymous -d1 -c1M /nowhere/{host}.dat").run();
    run.expect_status(3).expect_stderr(&["--key is for hosts on a server", "--anonymous is for hosts on a server"]);
    let run = place.diskspd("--on=h1,h2 -d1 -c1M /nowhere/t.dat").run();
    run.expect_status(3).expect_stderr(&["{host}"]);
}

#[test]
fn a_missing_server_program_is_named() {
    let unshare = or_skip!(if is_root() { tool("unshare") } else { Err("needs root".to_owned()) });
    let hosts = or_skip!(Hosts::fake(workplace!()));
    let nats = tool("nats-server").expect("it is there");
    // Hidden from one process and its children.
    let line = format!(
        "mount --bind /dev/null {} && exec diskspd --on=h1 {BRIEF} {}",
        nats.display(),
        hosts.target().display()
    );
    let run = hosts.place.tool(unshare).args("--mount --propagation private sh -c").arg(line).env("PATH", hosts.path());
    let run = run.run();
    if run.stderr.contains("unshare:") || run.stderr.contains("mount:") {
        skip!("not possible here: {}", run.stderr.trim());
    }
    run.expect_status(3).expect_stderr(&["nats-server is not installed", "apt install nats-server"]);
    hosts.expect_untouched();
}

#[test]
fn an_agent_without_a_controller_ends() {
    let place = workplace!();
    let run = place.diskspd("agent --stdin").run();
    run.expect_status(3).expect_stderr(&["standard input closed"]).expect_stdout(&["{\"diskspd_agent\":\""]);
    place.diskspd("agent --stdin --once").run().expect_status(3).expect_stderr(&["--stdin"]);
}

/// Hosts behind a real sshd, which accepts the key made for it.
struct Sshd {
    hosts: Hosts,
    _sshd: Running,
}

impl Sshd {
    fn start(place: Workplace) -> Result<Self, String> {
        let (sshd, ssh, keygen) = (tool("sshd")?, tool("ssh")?, tool("ssh-keygen")?);
        let wrapper = format!("#!/bin/sh\nexec {} -F \"$HOME/ssh_config\" \"$@\"\n", ssh.display());
        let hosts = Hosts::new(place, &wrapper, &["h1", "h2"])?;
        let place = &hosts.place;
        for name in ["host_key", "key", "other_key"] {
            place.tool(&keygen).args("-q -t ed25519 -N").arg("").arg("-f").arg(name).run().expect_status(0);
        }
        fs::copy(place.path("key.pub"), place.path("authorized_keys")).expect("copied");
        // Other programs may take a port between the two steps.
        let mut listening = None;
        for _ in 0..10 {
            let port =
                TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
            listening = Self::listening(&hosts, &sshd, port)?;
            if listening.is_some() {
                break;
            }
        }
        let sshd = listening.ok_or("no port for an sshd here")?;
        let reached = place.tool("bin/ssh").args("h1 true").run();
        if reached.code() != Some(0) {
            return Err(format!("not possible here: ssh to this machine: {}", reached.stderr.trim()));
        }
        Ok(Self { hosts, _sshd: sshd })
    }

    /// An sshd at this port; none if the port is taken.
    fn listening(hosts: &Hosts, sshd: &Path, port: u16) -> Result<Option<Running>, String> {
        let place = &hosts.place;
        let folder = place.folder().display().to_string();
        let lines = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n\
             PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nMaxStartups 100\n\
             SetEnv PATH={} TMPDIR={folder}/tmp PLACE={folder}\n",
            hosts.path()
        );
        place.file("sshd_config", lines.as_bytes());
        let host_key = String::from_utf8(place.content("host_key.pub")).expect("text");
        place.file("known_hosts", format!("[127.0.0.1]:{port} {host_key}").as_bytes());
        let user = place.tool("id").args("-un").run().stdout;
        let lines = format!(
            "Host *\n  HostName 127.0.0.1\n  Port {port}\n  User {}\n  IdentitiesOnly yes\n  IdentityAgent none\n\
             Host stranger\n  UserKnownHostsFile {folder}/none\n  GlobalKnownHostsFile none\n\
             Host locked\n  IdentityFile {folder}/other_key\n\
             Host * !locked\n  IdentityFile {folder}/key\n\
             Host *\n  UserKnownHostsFile {folder}/known_hosts\n",
            user.trim()
        );
        place.file("ssh_config", lines.as_bytes());
        let listens = format!("{} -D -e -f {folder}/sshd_config", sshd.display());
        // As root it requires a directory in /run, which is created in a private mount namespace.
        let sshd = if is_root() {
            let line = format!("mount -t tmpfs none /run && mkdir /run/sshd && exec {listens}");
            place.tool(tool("unshare")?).args("--mount --propagation private sh -c").arg(line)
        } else {
            place.tool("sh").arg("-c").arg(format!("exec {listens}"))
        };
        let sshd = sshd.limit(Duration::from_mins(10)).start();
        let began = Instant::now();
        while !sshd.stderr().contains("Server listening on") {
            if sshd.stderr().contains("mount:") || sshd.stderr().contains("unshare:") {
                return Err(format!("not possible here: {}", sshd.stderr().trim()));
            }
            if sshd.stderr().contains("Cannot bind any address") {
                return Ok(None);
            }
            assert!(began.elapsed() < PATIENCE, "sshd does not listen: {}", sshd.stderr());
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Some(sshd))
    }

    fn run(&self, hosts: &str) -> Finished {
        run_in_time(|| self.hosts.load(hosts, BRIEF).args("--json r.json").arg(self.hosts.target()))
    }

    /// Processes of agents.
    fn expect_no_agent(&self) {
        let began = Instant::now();
        while self
            .hosts
            .processes()
            .iter()
            .any(|words| words.contains("agent --stdin") || words.contains("nats-server"))
        {
            assert!(began.elapsed() < PATIENCE, "{:#?}", self.hosts.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
        let left: Vec<_> = fs::read_dir(self.hosts.place.path("tmp")).expect("there").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_real_sshd_connects_hosts_and_refuses_strangers() {
    let sshd = or_skip!(Sshd::start(workplace!()));
    for (hosts, reason) in
        [("h1,stranger", "stranger: ssh failed: Host key verification failed."), ("locked,h1", "Permission denied")]
    {
        sshd.run(hosts).expect_status(3).expect_stderr(&[reason]);
        sshd.hosts.expect_untouched();
        sshd.expect_no_agent();
    }
    sshd.run("h1,h2").expect_status(0);
    let result = sshd.hosts.result();
    assert!(ios_of(&result, "h1") > 0 && ios_of(&result, "h2") > 0);
    sshd.expect_no_agent();
}
