//! The systemd unit of the agent, as the packages install it: the capabilities that its sandbox leaves to an agent.

use cli::{Command, Environment, Subcommand};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{LoopDevice, is_root, or_skip, skip, tool, workplace};

/// Time limit for steps that normally take a moment.
const PATIENCE: Duration = Duration::from_mins(3);

/// A file of the packages.
fn packaged(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging")).join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(packaged(name)).expect("it is there")
}

#[test]
fn systemd_takes_the_unit_without_complaint() {
    let analyze = or_skip!(tool("systemd-analyze"));
    let place = workplace!();
    let unit = text("diskspd-agent.service").replace("/usr/bin/diskspd", &place.program().to_string_lossy());
    let unit = place.file("diskspd-agent.service", unit.as_bytes());
    let run = place.tool(analyze).args("verify --man=no").arg(unit).run();
    run.expect_status(0);
    assert!(!run.stderr.contains("diskspd-agent"), "{run}");
}

/// Either would make openat2 fail, without which an agent opens no target.
#[test]
fn the_unit_leaves_openat2() {
    let unit = text("diskspd-agent.service");
    assert!(!unit.contains("\nRestrictSUIDSGID=") && !unit.contains("\nDynamicUser="), "{unit}");
}

#[test]
fn an_agent_without_openat2_names_who_may_have_taken_it_away() {
    const OPENAT2: i64 = 437;
    const ENOSYS: u32 = 38;
    let place = workplace!();
    place.diskspd("fleet key --output fleet").run().expect_status(0);
    let agent = place.diskspd("agent --server 127.0.0.1:1 --trust fleet.pub --state s --allow").arg(place.folder());
    let agent = or_skip!(agent.start_without(&[testkit::Denied::always(OPENAT2)], ENOSYS)).finish();
    agent.expect_status(3).expect_stderr(&["openat2", "RestrictSUIDSGID="]);
}

/// An environment in which no file exists.
struct FakeEnv;

impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        1
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

#[test]
fn the_example_of_the_options_is_understood() {
    let file = text("agent.conf");
    let example = file.lines().find_map(|line| line.strip_prefix("#AGENT_OPTIONS=\"")?.strip_suffix('"'));
    let words = shlex::split(example.expect("an example")).expect("quotes that match");
    let all = ["agent", "--state", "/s"].map(OsString::from).into_iter().chain(words.into_iter().map(OsString::from));
    let command = cli::parse(&all.collect::<Vec<_>>(), &FakeEnv);
    assert!(matches!(command, Ok(Command::Subcommand(Subcommand::Agent(_)))), "{command:?}");
}

/// Boots systemd on a copy of this system, whose writes are kept in memory. $1 = the program, $2 = the files of the
/// packages, $3 = the number of the loop device
const BOOT: &str = r#"
set -e
mount --make-rprivate /
mkdir memory root
mount -t tmpfs none memory
mkdir memory/upper memory/work
mount -t overlay -o "lowerdir=/,upperdir=$PWD/memory/upper,workdir=$PWD/memory/work" none root
shared=$PWD
cd root
mount -t proc none proc
mount -t sysfs none sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=1777 none tmp
mount -t tmpfs none etc/systemd/system
mount -t tmpfs -o mode=755 none dev
for name in null zero full random urandom; do
    touch dev/$name
    mount --bind /dev/$name dev/$name
done
mknod dev/loop$3 b 7 $3
chgrp disk dev/loop$3
chmod 660 dev/loop$3
mkdir -p run/shared mnt/data etc/diskspd
mount --bind "$shared" run/shared
cp "$2/diskspd-agent.service" usr/lib/systemd/system/
cp "$2/sysusers.conf" usr/lib/sysusers.d/diskspd.conf
cp "$shared/fleet.pub" "$shared/agent.conf" etc/diskspd/
touch usr/bin/diskspd
mount --bind "$1" usr/bin/diskspd
cat > etc/systemd/system/probe.service <<END
[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/sh /run/shared/probe.sh
StandardOutput=file:/run/shared/probe.log
StandardError=inherit
END
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    chroot . /lib/systemd/systemd --system --unit=probe.service --log-target=console
"#;

/// The commands run in it: the agent without and with the drop-in. The network is this machine's and need not be waited
/// for; the ownership of disks is irrelevant.
const PROBE: &str = r#"
cd /run/shared
touch booted
/bin/sh "$PWD/postinst" configure
chown diskspd /mnt/data
folder=/etc/systemd/system/diskspd-agent.service.d
mkdir -p $folder
printf '[Unit]\nDefaultDependencies=no\nWants=\nAfter=\n[Service]\nSupplementaryGroups=disk\n' > $folder/first.conf
systemctl daemon-reload
systemctl start diskspd-agent
systemctl status --no-pager --full diskspd-agent
until test -e again; do sleep 0.1; done
cp allow.conf $folder/
systemctl daemon-reload
systemctl restart diskspd-agent
systemctl status --no-pager --full diskspd-agent
touch restarted
exec sleep infinity
"#;

/// The drop-in from the unit's comment, for a device.
fn drop_in(device: &Path) -> String {
    let unit = text("diskspd-agent.service");
    let example: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("#   ")).collect();
    assert!(example.len() == 6, "{example:?}");
    example.join("\n").replace("/dev/nvme1n1", &device.to_string_lossy()) + "\n"
}

/// True once the condition is true; false if it is not within [`PATIENCE`].
fn comes(is_so: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

#[test]
fn an_agent_of_the_unit_opens_what_its_drop_in_names_and_nothing_else() {
    if !is_root() {
        skip!("only root boots a system of its own");
    }
    let place = workplace!();
    let systemd = Path::new("/lib/systemd/systemd");
    or_skip!(if systemd.exists() { Ok(()) } else { Err("systemd is not installed") });
    let unshare = or_skip!(tool("unshare"));
    let image = place.file("disk.img", &vec![7; 1 << 20]);
    let device = or_skip!(LoopDevice::over(&place, &image));
    let (_server, port) = or_skip!(crate::hosts::server::start(&place, ""));
    let url = format!("nats://127.0.0.1:{port}");
    place.diskspd("fleet key --output fleet").run().expect_status(0);
    let options = format!(
        "--server {url} --trust /etc/diskspd/fleet.pub --name h1 --allow '/mnt/data' --allow {}",
        device.path.display()
    );
    place.file("agent.conf", format!("# Options\nAGENT_OPTIONS=\"{options}\"\n").as_bytes());
    place.file("postinst", text("debian/postinst").as_bytes());
    place.file("probe.sh", PROBE.as_bytes());
    let number = device.name().trim_start_matches("loop").to_owned();
    let boot = place.tool(unshare).args("--mount --pid --fork --kill-child --cgroup --ipc --uts sh -c").arg(BOOT);
    let boot = boot.arg("sh").arg(place.program()).arg(packaged("")).arg(number).limit(Duration::from_mins(5));
    let booted = boot.start();
    if !comes(|| place.path("booted").exists()) {
        skip!("cannot boot systemd here: {}", booted.stderr().lines().last().unwrap_or_default());
    }
    let log = || String::from_utf8_lossy(&place.content("probe.log")).into_owned();
    // An agent that accepts an order to stop accepts others, too.
    let is_there = || place.diskspd(&format!("fleet stop --server {url} --key fleet.key h1")).run().code() == Some(0);
    assert!(comes(is_there), "{}", log());
    let load = |words: &str, target: &Path| {
        let load = || {
            let run = place.diskspd("--key=fleet.key -d60 --max-ios=100 -W0 -b4K -r").args(words);
            run.arg(format!("--on={url}/h1")).arg(target)
        };
        crate::hosts::server::run_in_time(load)
    };
    let file = || load("-w50 -c1M", Path::new("/mnt/data/{host}.dat"));
    let disk = || load("", &device.path);
    file().expect_status(3).expect_stderr(&["h1: '/mnt/data/h1.dat'", "read-only"]);
    disk().expect_status(3).expect_stderr(&["cannot be opened for reading: Operation not permitted"]);
    place.file("allow.conf", drop_in(&device.path).as_bytes());
    place.file("again", b"");
    assert!(comes(|| place.path("restarted").exists()) && comes(is_there), "{}", log());
    file().expect_status(0).expect_stdout(&["h1:/mnt/data/h1.dat"]);
    disk().expect_status(0);
    assert!(fs::read(&image).expect("there") == vec![7; 1 << 20]);
    booted.kill_hard();
}
