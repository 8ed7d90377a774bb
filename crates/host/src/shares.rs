//! The kernel's counters of mounted shares: NFS in /proc/self/mountstats, SMB in /proc/fs/cifs/Stats.

use crate::root::Root;
use crate::syntax::unescape;
use model::environment::MountedFileSystem;
use model::kernel_counters::{RpcCounters, ShareCounters, TransferCounters};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// File systems whose mounts are in /proc/self/mountstats with the counters of their RPCs.
const NFS: [&str; 2] = ["nfs", "nfs4"];

/// File systems whose shares are in /proc/fs/cifs/Stats.
const SMB: [&str; 2] = ["cifs", "smb3"];

/// True if the kernel counts reads and writes of such a file system.
pub fn counts_transfers(file_system: &MountedFileSystem) -> bool {
    let name = file_system.file_system.as_str();
    NFS.contains(&name) || SMB.contains(&name)
}

/// Reads the counters of these mounts; those without counters are left out.
pub fn share_counters(root: &Root, mounts: &[&MountedFileSystem]) -> Vec<ShareCounters> {
    let text_for = |names: &[&str], path: &str| {
        let is_used = mounts.iter().any(|mount| names.contains(&mount.file_system.as_str()));
        is_used.then(|| root.text(path)).flatten().unwrap_or_default()
    };
    let nfs = mount_statistics(&text_for(&NFS, "/proc/self/mountstats"));
    let smb = smb_shares(&text_for(&SMB, "/proc/fs/cifs/Stats"));
    let counters = |mount: &&MountedFileSystem| {
        if NFS.contains(&mount.file_system.as_str()) {
            // Of several mounts at one point, the last hides the others.
            return nfs.iter().rev().find(|counters| counters.mount_point == mount.point).cloned();
        }
        let tree = tree_name(&mount.source);
        let (_, read, write) = smb.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&tree))?;
        let (mount_point, source) = (mount.point.clone(), mount.source.clone());
        Some(ShareCounters { mount_point, source, read: *read, write: *write })
    };
    mounts.iter().filter_map(counters).collect()
}

/// The mounts of NFS in /proc/self/mountstats (`nfs_show_stats` and `rpc_clnt_show_stats` in the kernel). A block
/// begins with `device SOURCE mounted on POINT with fstype TYPE statvers=VERSION`; its `per-op statistics` have a line
/// for each operation, of which `READ` and `WRITE` are used.
fn mount_statistics(text: &str) -> Vec<ShareCounters> {
    let mut mounts = Vec::new();
    let mut current: Option<ShareCounters> = None;
    for line in text.lines() {
        if line.starts_with("device ") || line.starts_with("no device ") {
            mounts.extend(current.take());
            current = nfs_mount(line);
        } else if let Some(mount) = &mut current
            && let Some((operation, numbers)) = line.trim_start().split_once(": ")
        {
            match operation {
                "READ" => mount.read = transfers(numbers, Direction::Received).unwrap_or_default(),
                "WRITE" => mount.write = transfers(numbers, Direction::Sent).unwrap_or_default(),
                _ => {}
            }
        }
    }
    mounts.extend(current);
    // Without the lines of operations there are no counters.
    mounts.retain(|mount| mount.read.rpc.is_some() && mount.write.rpc.is_some());
    mounts
}

fn nfs_mount(line: &str) -> Option<ShareCounters> {
    let (source, rest) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
    let (point, kind) = rest.split_once(" with fstype ")?;
    let (name, _) = kind.split_once(' ')?;
    NFS.contains(&name).then(|| ShareCounters {
        mount_point: PathBuf::from(OsString::from_vec(unescape(point))),
        source: String::from_utf8_lossy(&unescape(source)).into_owned(),
        ..ShareCounters::default()
    })
}

/// Direction of the data of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

/// The numbers of an operation: operations, transmissions, major timeouts, bytes sent, bytes received, and the sums of
/// the times in the queue, to the reply and of the whole execution in milliseconds. Later versions add more.
fn transfers(numbers: &str, direction: Direction) -> Option<TransferCounters> {
    let numbers: Vec<u64> = numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [count, transmission_count, timeout_count, sent, received, queue_ms, round_trip_ms, execute_ms, ..] =
        numbers[..]
    else {
        return None;
    };
    Some(TransferCounters {
        count,
        bytes: if direction == Direction::Sent { sent } else { received },
        rpc: Some(RpcCounters { transmission_count, timeout_count, queue_ms, round_trip_ms, execute_ms }),
    })
}

/// Counters of every NFS mount.
pub(crate) fn nfs_mounts(root: &Root) -> Vec<ShareCounters> {
    mount_statistics(&root.text("/proc/self/mountstats").unwrap_or_default())
}

/// Reads and writes of every SMB share, by name.
pub(crate) fn smb_mounts(root: &Root) -> Vec<(String, TransferCounters, TransferCounters)> {
    smb_shares(&root.text("/proc/fs/cifs/Stats").unwrap_or_default())
}

/// Name of `//server/share/folder` in /proc/fs/cifs/Stats: `\\server\share`.
fn tree_name(source: &str) -> String {
    let mut parts = source.split(['/', '\\']).filter(|part| !part.is_empty());
    let (server, share) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!(r"\\{server}\{share}")
}

/// The shares in /proc/fs/cifs/Stats (`cifs_stats_proc_show` and `smb2_print_stats` in the kernel), each with its reads
/// and writes. A block begins with `1) \\server\share`, followed by the state if it needs a new connection.
fn smb_shares(text: &str) -> Vec<(String, TransferCounters, TransferCounters)> {
    let mut shares: Vec<(String, TransferCounters, TransferCounters)> = Vec::new();
    for line in text.lines() {
        if let Some(name) = smb_share(line) {
            shares.push((name.to_owned(), TransferCounters::default(), TransferCounters::default()));
        } else if let Some((_, read, write)) = shares.last_mut() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |word: &str| word.parse::<u64>().ok();
            match words[..] {
                ["Bytes", "read:", bytes_read, "Bytes", "written:", bytes_written] => {
                    (read.bytes, write.bytes) = (number(bytes_read).unwrap_or(0), number(bytes_written).unwrap_or(0));
                }
                ["Reads:", count, "total", ..] => read.count = number(count).unwrap_or(0),
                ["Writes:", count, "total", ..] => write.count = number(count).unwrap_or(0),
                // SMB 1.
                ["Reads:", count, "Bytes:", bytes] => {
                    (read.count, read.bytes) = (number(count).unwrap_or(0), number(bytes).unwrap_or(0));
                }
                ["Writes:", count, "Bytes:", bytes] => {
                    (write.count, write.bytes) = (number(count).unwrap_or(0), number(bytes).unwrap_or(0));
                }
                _ => {}
            }
        }
    }
    shares
}

fn smb_share(line: &str) -> Option<&str> {
    let (number, name) = line.split_once(") ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // The state follows a tab; names may contain blanks.
    let name = name.split('\t').next()?.trim_end();
    (is_number && name.starts_with(r"\\")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Written by hand in the form of Linux 6.1: an NFS 4.2 mount with two connections beside other file systems.
    const NFS_4_2: &str = include_str!("../tests/data/mountstats-nfs4");

    /// Written by hand in the form of Linux 3.10, NFS 3: `statvers=1.1`, but operations without errors.
    const NFS_3: &str = include_str!("../tests/data/mountstats-nfs3");

    /// Written by hand in the form of Linux 6.1: two shares of one server, one of them disconnected.
    const SMB_3: &str = include_str!("../tests/data/cifs-stats");

    fn rpc(transmission_count: u64, timeout_count: u64, times_ms: [u64; 3]) -> RpcCounters {
        let [queue_ms, round_trip_ms, execute_ms] = times_ms;
        RpcCounters { transmission_count, timeout_count, queue_ms, round_trip_ms, execute_ms }
    }

    #[test]
    fn nfs_counts_its_operations_by_mount() {
        let found = mount_statistics(NFS_4_2);
        let expected = ShareCounters {
            mount_point: "/mnt/big data".into(),
            source: "nas:/export/big data".to_owned(),
            read: TransferCounters {
                count: 40_960,
                bytes: 172_687_360,
                rpc: Some(rpc(40_972, 3, [912, 24_576, 26_011])),
            },
            write: TransferCounters {
                count: 8192,
                bytes: 34_996_224,
                rpc: Some(rpc(8192, 0, [40_210, 16_384, 56_901])),
            },
        };
        assert_eq!(found, [expected]);
        let old = mount_statistics(NFS_3);
        assert_eq!((old.len(), old[0].source.as_str()), (1, "10.0.0.5:/vol/a"));
        assert_eq!((old[0].read.count, old[0].read.rpc), (5, Some(rpc(5, 0, [1, 7, 9]))));
    }

    #[test]
    fn a_mount_without_operations_is_left_out() {
        let cut = NFS_4_2.split("per-op").next().expect("a beginning");
        assert_eq!(mount_statistics(cut), []);
        let short = NFS_4_2.replace("WRITE: 8192", "WRITE: x");
        assert_eq!(mount_statistics(&short), []);
        assert_eq!(mount_statistics("\tREAD: 1 2 3 4 5 6 7 8\n"), [], "of no mount");
    }

    #[test]
    fn smb_counts_requests_and_bytes_by_share() {
        let shares = smb_shares(SMB_3);
        let names: Vec<&str> = shares.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, [r"\\filer\IPC$", r"\\filer\bench data", r"\\filer\old"]);
        let (_, read, write) = shares[1];
        assert_eq!(read, TransferCounters { count: 3125, bytes: 25_600_000, rpc: None });
        assert_eq!(write, TransferCounters { count: 1250, bytes: 10_240_000, rpc: None });
        let smb_1 = "1) \\\\a\\b\nSMBs: 9 Oplocks breaks: 0\nReads:  7 Bytes: 4096\nWrites: 2 Bytes: 1024\n";
        let (_, read, write) = &smb_shares(smb_1)[0];
        assert_eq!((read.count, read.bytes, write.count, write.bytes), (7, 4096, 2, 1024));
    }

    #[test]
    fn mounts_are_found_by_their_point_or_share() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(folder.path());
        let mount = |file_system: &str, source: &str, point: &str| MountedFileSystem {
            file_system: file_system.to_owned(),
            source: source.to_owned(),
            point: point.into(),
            ..MountedFileSystem::default()
        };
        let nfs = mount("nfs4", "nas:/export/big data", "/mnt/big data");
        let smb = mount("cifs", "//FILER/bench data/folder", "/mnt/smb");
        let disk = mount("ext4", "/dev/sda", "/");
        let other = mount("nfs", "nas:/other", "/mnt/other");
        assert!([&nfs, &smb, &other].into_iter().all(counts_transfers) && !counts_transfers(&disk));
        assert_eq!(share_counters(&root, &[&nfs, &smb]), [], "the kernel has no such files");
        for (path, text) in [("proc/self/mountstats", NFS_4_2), ("proc/fs/cifs/Stats", SMB_3)] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let found = share_counters(&root, &[&disk, &nfs, &other, &smb]);
        let points: Vec<_> = found.iter().map(|share| share.mount_point.display().to_string()).collect();
        assert_eq!(points, ["/mnt/big data", "/mnt/smb"]);
        assert_eq!((found[0].read.count, found[1].read.count), (40_960, 3125));
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "\\PC*", lines in "(device a mounted on /b with fstype nfs4 x\n|\tREAD: |1 |\n|1\\) \\\\\\\\|Reads: |total ){0,40}") {
            for text in [&text, &lines] {
                let _ = (mount_statistics(text), smb_shares(text), tree_name(text));
            }
        }
    }
}
