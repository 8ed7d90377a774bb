//! Directories of another machine: NFS 3 and 4.2, SMB, 9p. The server is a virtual machine of its own, prepared by
//! xtask/vm/serve; 9p is served by qemu.

use crate::machine;
use crate::tools::{DeviceSetup, run};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::{Finished, Workplace, or_skip};

const SERVER: &str = "10.0.0.1";

/// The output of a command line that the server runs.
fn ask(line: &str) -> Result<String, String> {
    let reach = || -> std::io::Result<String> {
        let mut server = TcpStream::connect((SERVER, 7000))?;
        server.set_read_timeout(Some(Duration::from_mins(1)))?;
        server.write_all(format!("{line}\n").as_bytes())?;
        let mut output = String::new();
        server.read_to_string(&mut output)?;
        Ok(output)
    };
    reach().map_err(|error| format!("this machine has no server of shares: {error}"))
}

/// A network file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nfs3,
    Nfs4,
    Smb,
    Ninth,
}

const ALL: [Kind; 4] = [Kind::Nfs3, Kind::Nfs4, Kind::Smb, Kind::Ninth];
/// Those of the other virtual machine.
const OF_SERVER: [Kind; 3] = [Kind::Nfs3, Kind::Nfs4, Kind::Smb];

/// A mounted share.
struct Share<'a> {
    path: PathBuf,
    _mounted: DeviceSetup<'a>,
}

impl Kind {
    /// Mounts an export of the server with more options.
    fn mounted<'a>(self, place: &'a Workplace, export: &str, options: &str) -> Result<Share<'a>, String> {
        ask("true")?;
        let path = place.path(&format!("{self:?}-{export}"));
        let point = path.display();
        let words = match self {
            Self::Nfs3 => format!(
                "nfs -o vers=3,proto=tcp,mountproto=tcp,mountvers=3,addr={SERVER},mountaddr={SERVER}{options} \
                 {SERVER}:/export/{export}"
            ),
            Self::Nfs4 => {
                format!("nfs4 -o vers=4.2,addr={SERVER},clientaddr=10.0.0.2{options} {SERVER}:/{export}")
            }
            Self::Smb => format!(
                "cifs -o vers=3.1.1,ip={SERVER},unc=//{SERVER}/{export},username=guest,password=none{options} \
                 //{SERVER}/{export}"
            ),
            Self::Ninth => format!("9p -o trans=virtio,version=9p2000.L{options} host"),
        };
        let mount = format!("mkdir -p {point} && mount -i -t {words} {point}");
        let mounted = DeviceSetup::by(place, &mount, &format!("umount -l {point}"))?;
        Ok(Share { path, _mounted: mounted })
    }

    /// True if files keep extended attributes, so that this program's are marked.
    fn keeps_attributes(self) -> bool {
        self != Self::Nfs3
    }
}

impl Share<'_> {
    /// A new file on it.
    fn file(&self, name: &str) -> PathBuf {
        let _ = std::fs::remove_file(self.path.join(name));
        self.path.join(name)
    }
}

/// A load of 64 I/Os, at most.
fn load(place: &Workplace, words: &str, target: &Path) -> Finished {
    place.diskspd("-d60 -W0 -b4K -r --max-ios=64 --json=r.json --replace-output").args(words).arg(target).run()
}

/// NFS 4 and SMB refuse leases unless the server gave a delegation or an oplock: each second run was refused as in use.
#[test]
fn files_are_created_reused_and_marked_where_there_are_attributes() {
    let place = machine!();
    for kind in ALL {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        load(&place, "-c1M -w50 -Su -o4", &file).expect_status(0);
        assert_eq!(place.mark(&file).is_some(), kind.keeps_attributes(), "{kind:?}");
        let again = load(&place, "-c1M -w50 -Su -o4", &file);
        if kind.keeps_attributes() {
            again.expect_status(0);
            let reused = &place.json::<Value>("r.json")["plan"]["time_spans"][0]["targets"][0]["preparation"];
            assert!(reused["reuse"].is_object(), "{kind:?}: {reused}");
        } else {
            again.expect_status(3).expect_stderr(&["--overwrite"]);
            load(&place, "-c1M -w50 -Su -o4 --overwrite", &file).expect_status(0);
        }
        // A file of somebody else.
        let other = share.file("other.dat");
        std::fs::write(&other, vec![7; 1 << 20]).expect("room");
        load(&place, "-w50", &other).expect_status(3).expect_stderr(&["--overwrite"]);
        assert!(std::fs::read(&other).expect("readable").iter().all(|&byte| byte == 7), "{kind:?}");
    }
}

#[test]
fn every_cache_mode_and_engine_works() {
    let place = machine!();
    for kind in ALL {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        for words in
            ["-c1M", "-Su -o8", "-Su -o1", "-Sr -o4", "-Sh", "-Sw", "-Su --engine=aio -o8", "-o8 --engine=sync"]
        {
            let run = load(&place, &format!("-w50 --overwrite {words}"), &file);
            run.expect_status(0);
            let measured = &place.measured("r.json")["total"]["total"]["ios"];
            assert_eq!(measured, 64, "{kind:?} {words}: {run}");
        }
        let found = place.json::<Value>("r.json")["targets"][0]["environment"]["mount"]["file_system"].clone();
        let name = match kind {
            Kind::Nfs3 => "nfs",
            Kind::Nfs4 => "nfs4",
            Kind::Smb => "cifs",
            Kind::Ninth => "9p",
        };
        assert_eq!(found, name);
    }
    // The directory without the share.
    let local = place.path("local.dat");
    load(&place, "-c1M -Sr", &local).expect_status(1);
}

#[test]
fn data_that_is_verified_comes_back_from_the_server() {
    let place = machine!();
    for kind in ALL {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("v.dat");
        for words in ["-c1M -w50 -Su -o4 --verify", "-c1M -w50 --verify --fdatasync-every=8"] {
            load(&place, &format!("{words} --overwrite"), &file).expect_status(0);
            place.diskspd("verify").arg(&file).run().expect_status(0).expect_stdout(&["corrupt   0 units"]);
        }
    }
}

/// A server of SMB sets the time of a file's last change some time after the write: a run that followed another at once
/// took that for a change by another process.
#[test]
fn runs_that_follow_each_other_are_no_other_processes() {
    let place = machine!();
    for kind in ALL {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        load(&place, "-c1M", &file).expect_status(0);
        for words in ["-b4K", "-b4K", "-Su", "-b4K", "-Sh", "-b4K --fdatasync-every=4", "-Su", "-b4K"] {
            let run = load(&place, &format!("-w100 -o1 --overwrite {words}"), &file);
            println!("{kind:?} {words}: {:?} {}", run.code(), run.stderr);
            run.expect_status(0);
        }
    }
}

/// Flushes of the server's disk so far.
fn server_flushes() -> Result<u64, String> {
    let stat = ask("for disk in /sys/block/vd*; do [ $(cat $disk/serial) != export ] || cat $disk/stat; done")?;
    stat.split_whitespace().nth(15).and_then(|word| word.parse().ok()).ok_or(format!("no counters: {stat}"))
}

#[test]
fn durable_writes_are_flushed_by_the_server() {
    let place = machine!();
    for kind in OF_SERVER {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        load(&place, "-c1M", &file).expect_status(0);
        let flushes = |words: &str| -> Result<u64, String> {
            let before = server_flushes()?;
            load(&place, &format!("-w100 -o1 --overwrite {words}"), &file).expect_status(0);
            Ok(server_flushes()? - before)
        };
        let durable = or_skip!(flushes("-Sh"));
        println!("{kind:?}: 64 writes with -Sh: {durable} flushes");
        assert!(durable >= 64, "{kind:?}: {durable} flushes for 64 durable writes");
        let each = or_skip!(flushes("-Su --fdatasync-every=1"));
        println!("{kind:?}: 64 writes with a flush each: {each} flushes");
        assert!(each >= 64, "{kind:?}: {each}");
        let cached = or_skip!(flushes("-b4K"));
        println!("{kind:?}: 64 cached writes: {cached} flushes");
        let direct = or_skip!(flushes("-Su"));
        println!("{kind:?}: 64 writes with -Su: {direct} flushes");
    }
}

#[test]
fn a_read_only_export_refuses_writes_and_is_read() {
    let place = machine!();
    or_skip!(ask("dd if=/dev/zero of=/servers/export/ro/a.dat bs=1M count=1"));
    for kind in OF_SERVER {
        let share = or_skip!(kind.mounted(&place, "ro", ""));
        let file = share.path.join("a.dat");
        load(&place, "-Su", &file).expect_status(0);
        for (words, target) in [("-w50 --overwrite", &file), ("-c1M", &share.path.join("new.dat"))] {
            let run = load(&place, words, target);
            println!("{kind:?} {words}: {run}");
            assert!([1, 3].contains(&run.code().unwrap_or(-1)), "{kind:?} {words}: {run}");
            let is_named =
                ["ead-only file system", "ermission denied", "read-only"].iter().any(|part| run.stderr.contains(part));
            assert!(is_named, "{kind:?} {words}: {run}");
        }
        assert!(!share.path.join("new.dat").exists(), "{kind:?}");
    }
}

#[test]
fn root_of_a_client_is_nobody_on_a_squashed_export() {
    let place = machine!();
    or_skip!(ask("rm -f /servers/export/squash/*; dd if=/dev/zero of=/servers/export/squash/root.dat bs=1M count=1; \
                  chmod 600 /servers/export/squash/root.dat"));
    for kind in [Kind::Nfs3, Kind::Nfs4] {
        let share = or_skip!(kind.mounted(&place, "squash", ""));
        let file = share.file("own.dat");
        load(&place, "-c1M -w50 -Su -o4", &file).expect_status(0);
        let denied = load(&place, "-Su", &share.path.join("root.dat"));
        println!("{kind:?}: {denied}");
        assert_eq!(denied.code(), Some(1), "{kind:?}: {denied}");
        denied.expect_stderr(&["ermission denied"]);
    }
}

#[test]
fn another_client_that_has_the_file_open_cannot_be_seen_and_the_report_says_so() {
    let place = machine!();
    for kind in OF_SERVER {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        load(&place, "-c1M -w50", &file).expect_status(0);
        or_skip!(ask("(exec 3<> /servers/export/rw/a.dat; sleep 20) > /dev/null 2>&1 &"));
        let run = load(&place, "-w50 --overwrite -v", &file);
        run.expect_status(0);
        println!("{kind:?}: {run}");
        run.expect_stdout(&["other hosts"]);
    }
}

#[test]
fn a_full_server_is_an_error_that_says_so() {
    let place = machine!();
    for kind in OF_SERVER {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        or_skip!(ask("dd if=/dev/zero of=/servers/export/rw/fill bs=1M count=400; sync"));
        let file = share.file("big.dat");
        let run = load(&place, "-c64M", &file);
        let has_file = file.exists();
        or_skip!(ask("rm /servers/export/rw/fill; sync"));
        println!("{kind:?}: {run}");
        assert!([1, 3].contains(&run.code().unwrap_or(-1)), "{kind:?}: {run}");
        run.expect_stderr(&["free"]);
        assert!(!has_file, "{kind:?}: a part of the file is left");
    }
}

#[test]
fn a_hard_mount_waits_for_the_server_and_goes_on() {
    let place = machine!();
    for kind in [Kind::Nfs3, Kind::Nfs4] {
        let share = or_skip!(kind.mounted(&place, "rw", ",hard,timeo=20,retrans=1"));
        let file = share.file("a.dat");
        load(&place, "-c1M", &file).expect_status(0);
        let words = "-v -d600 -W0 -b4K -r -w50 -Su -o4 --overwrite --max-ios=2000 -g20i --json=r.json --replace-output";
        let mut running = place.diskspd(words).arg(&file).start();
        running.wait_for_stderr("starting measurements");
        running.wait_for_ios();
        or_skip!(ask("echo 0 > /proc/fs/nfsd/threads"));
        std::thread::sleep(Duration::from_secs(3));
        or_skip!(ask("nfs-on"));
        running.wait_for_ios();
        running.interrupt();
        let run = running.finish();
        run.expect_status(0);
    }
}

#[test]
fn a_soft_mount_without_its_server_is_an_error() {
    let place = machine!();
    let share = or_skip!(Kind::Nfs4.mounted(&place, "rw", ",soft,timeo=10,retrans=1"));
    let file = share.file("a.dat");
    load(&place, "-c1M", &file).expect_status(0);
    let words = "-v -d600 -W0 -b4K -r -w50 -Su -o4 --overwrite";
    let mut running = place.diskspd(words).arg(&file).start();
    running.wait_for_stderr("starting measurements");
    running.wait_for_ios();
    or_skip!(ask("ip link set eth0 down; sleep 25; ip link set eth0 up").or_else(|_| Ok::<_, String>(String::new())));
    let run = running.finish();
    println!("{run}");
    assert_eq!(run.code(), Some(1), "{run}");
    run.expect_stderr(&["rror"]);
}

/// Reads and writes that the server of NFS has counted, by version.
fn server_operations(kind: Kind) -> Result<[u64; 2], String> {
    let text = ask("cat /proc/net/rpc/nfsd")?;
    let (line, indexes) = if kind == Kind::Nfs3 { ("proc3 ", [7, 8]) } else { ("proc4ops ", [26, 39]) };
    let line = text.lines().find(|text| text.starts_with(line)).ok_or(format!("no such line in {text}"))?;
    let counts: Vec<u64> = line.split_whitespace().skip(1).map(|word| word.parse().unwrap_or(0)).collect();
    Ok(indexes.map(|index| counts[index]))
}

#[test]
fn requests_of_nfs_are_those_that_the_server_counted() {
    let place = machine!();
    for kind in [Kind::Nfs3, Kind::Nfs4] {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        load(&place, "-c1M", &file).expect_status(0);
        let before = or_skip!(server_operations(kind));
        load(&place, "-w50 -Su -o4 -g20i --overwrite -L", &file).expect_status(0);
        let after = or_skip!(server_operations(kind));
        let document: Value = place.json("r.json");
        let span = &document["time_spans"][0];
        let counters = &span["kernel_counters"];
        let read_count = |when: &str, kind: &str| {
            counters[when]["shares"][0][kind]["count"]
                .as_u64()
                .unwrap_or_else(|| panic!("{}", counters[when]["shares"]))
        };
        for (number, name) in ["read", "write"].into_iter().enumerate() {
            let ios = span["measured"]["total"][name]["ios"].as_u64().expect("a number");
            let requests = read_count("after", name) - read_count("before", name);
            let served = after[number] - before[number];
            println!("{kind:?} {name}: {ios} I/Os, {requests} requests, {served} served");
            // One I/O every 50 ms: four may have completed before the counters of the client were read.
            assert!(ios <= requests + 4 && requests <= served, "{kind:?} {name}: {ios}, {requests}, {served}");
            // The guard reads samples of the file before.
            assert!((ios..=ios + 40).contains(&served), "{kind:?} {name}: {ios}, {requests}, {served}");
        }
    }
}

#[test]
fn a_file_that_the_server_replaced_is_an_error_and_nothing_else_is_written() {
    let place = machine!();
    let share = or_skip!(Kind::Nfs3.mounted(&place, "rw", ""));
    let file = share.file("a.dat");
    load(&place, "-c1M", &file).expect_status(0);
    let mut running = place.diskspd("-v -d600 -W0 -b4K -r -w50 -Su -o4 --overwrite -g50i").arg(&file).start();
    running.wait_for_stderr("starting measurements");
    running.wait_for_ios();
    or_skip!(ask("cd /servers/export/rw && dd if=/dev/zero of=new bs=1M count=1 && mv new a.dat && sync"));
    let run = running.finish();
    println!("{run}");
    assert_eq!(run.code(), Some(1), "{run}");
    run.expect_stderr(&["tale"]);
    let other = or_skip!(ask("tr -d '\\0' < /servers/export/rw/a.dat | wc -c"));
    assert_eq!(other.trim(), "0", "the new file was written to");
}

#[test]
fn locks_are_held_by_the_server() {
    let place = machine!();
    for kind in [Kind::Nfs3, Kind::Nfs4] {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let file = share.file("a.dat");
        load(&place, "-c1M", &file).expect_status(0);
        let locked = format!("flock -x {0} sleep 30", file.display());
        let holder = place.tool("sh").arg("-c").arg(&locked).start();
        or_skip!(run(&place, "sleep 2"));
        let seen = or_skip!(ask("flock -n /servers/export/rw/a.dat true && echo free || echo held"));
        // NFS turns a lock of the whole file into one of its bytes, which the server's own flock(1) does not see; /proc has it.
        let locks = or_skip!(ask("cat /proc/locks"));
        println!("{kind:?}: {seen}{locks}");
        assert!(locks.contains("POSIX"), "{kind:?}: {locks}");
        // A lock is not in the way of a load: it is advice.
        load(&place, "-w50 --overwrite -Su", &file);
        holder.kill_hard();
    }
}

/// As the guide compares a local disk with a share.
#[test]
fn a_local_file_and_one_on_a_share_are_compared_in_pairs() {
    let place = machine!();
    for kind in [Kind::Nfs4, Kind::Smb] {
        let share = or_skip!(kind.mounted(&place, "rw", ""));
        let (local, remote) = (place.path(&format!("{kind:?}.dat")), share.file("a.dat"));
        let dir = format!("pairs-{kind:?}");
        let pairs = place.diskspd(&format!("ab --pairs 3 --dir {dir}")).arg("--target-a").arg(&local);
        let load = "-- -c1M -b8K -r -Su -L -W0 -d60 --max-ios=200";
        let run = pairs.arg("--target-b").arg(&remote).args(load).run();
        println!("{run}");
        assert!(matches!(run.code(), Some(0 | 6)), "{run}");
        let results: Vec<Value> = std::fs::read_dir(place.path(&dir))
            .expect("a directory of results")
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("point"))
            .map(|entry| place.json(&format!("{dir}/{}", entry.file_name().display())))
            .collect();
        assert_eq!(results.len(), 6, "{run}");
        let systems = results.iter().map(|result| {
            assert_eq!(result["time_spans"][0]["measured"]["total"]["read"]["ios"], 200);
            result["targets"][0]["environment"]["mount"]["file_system"].as_str().unwrap_or_default()
        });
        let on_share = systems.filter(|system| *system == if kind == Kind::Nfs4 { "nfs4" } else { "cifs" }).count();
        assert_eq!(on_share, 3, "{run}");
    }
}
