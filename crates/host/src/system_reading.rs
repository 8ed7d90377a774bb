//! The kernel's values of processors, memory, network interfaces, shares and caches.

use crate::root::Root;
use crate::syntax::labelled_kib;
use crate::{cache_counters, cpus, shares};
use model::counter_object::{CounterObject, TOTAL_INSTANCE};
use model::kernel_counters::TransferCounters;
use model::system_counter::{KernelValues, SystemReading};
use std::collections::BTreeMap;

/// Directory of network interfaces.
const NETWORK_DIRECTORY: &str = "/sys/class/net";

/// Reads all of them; `devices` are the block devices, some of which may be caches. Objects without any value are left
/// out.
pub(crate) fn read<'a>(root: &Root, devices: impl IntoIterator<Item = &'a str>) -> SystemReading {
    let text = |path: &str| root.text(path).unwrap_or_default();
    let memory = memory(&text("/proc/meminfo"), &text("/proc/vmstat"));
    let memory = [(TOTAL_INSTANCE.to_owned(), memory)].into_iter().filter(|(_, values)| !values.is_empty()).collect();
    let all: [(CounterObject, BTreeMap<String, KernelValues>); 6] = [
        (CounterObject::Processor, processors(&text("/proc/stat"))),
        (CounterObject::Memory, memory),
        (CounterObject::NetworkInterface, interface_values(root)),
        (CounterObject::SmbClientShares, smb(root)),
        (CounterObject::NfsClientShares, nfs(root)),
        (CounterObject::StorageCache, caches(root, devices)),
    ];
    all.into_iter().filter(|(_, instances)| !instances.is_empty()).collect()
}

/// Numbers of the CPUs of Processor by their names in Processor Information: `NODE,CPU`.
pub fn processor_names(root: &Root) -> BTreeMap<String, String> {
    let nodes = cpus::nodes(root);
    let named = |number: String| {
        let node = number.parse().ok().and_then(|cpu: u32| nodes.get(&cpu).copied()).unwrap_or(0);
        (format!("{node},{number}"), number)
    };
    processors(&root.text("/proc/stat").unwrap_or_default()).into_keys().map(named).collect()
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`, in ticks.
fn processors(stat: &str) -> BTreeMap<String, KernelValues> {
    const TIMES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let of_cpu = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let cpu = words.next().filter(|word| !line.starts_with("cpu ") && word.parse::<u32>().is_ok())?;
        let times: Option<Vec<u64>> = words.take(TIMES.len()).map(|word| word.parse().ok()).collect();
        Some((cpu.to_owned(), TIMES.into_iter().zip(times?).collect()))
    };
    stat.lines().filter_map(of_cpu).collect()
}

/// Sizes in bytes of `meminfo`, counts of `vmstat`.
fn memory(meminfo: &str, vmstat: &str) -> KernelValues {
    const SIZES: [&str; 7] = ["MemAvailable", "Cached", "Buffers", "Dirty", "Writeback", "Committed_AS", "CommitLimit"];
    const COUNTS: [&str; 4] = ["pswpin", "pswpout", "pgfault", "pgmajfault"];
    let sizes = SIZES.into_iter().filter_map(|name| Some((name, labelled_kib(meminfo, name)?)));
    let count = |name: &'static str| {
        let value = vmstat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some((name, value.trim().parse().ok()?))
    };
    sizes.chain(COUNTS.into_iter().filter_map(count)).collect()
}

/// The kernel's values of each network interface.
pub fn interface_values(root: &Root) -> BTreeMap<String, KernelValues> {
    interfaces(root, &root.text("/proc/net/dev").unwrap_or_default())
}

/// Two heading lines, then `name: ` and sixteen numbers. A speed is that of the link in Mbit/s; virtual interfaces have
/// none, and one that is down has -1.
fn interfaces(root: &Root, dev: &str) -> BTreeMap<String, KernelValues> {
    let of_interface = |line: &str| {
        let (name, numbers) = line.trim_start().rsplit_once(": ").or_else(|| line.trim_start().rsplit_once(':'))?;
        let numbers: Vec<u64> = numbers.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [rx_bytes, rx_packets, rx_errors, rx_dropped, _, _, _, _, tx_bytes, tx_packets, tx_errors, tx_dropped, ..] =
            numbers[..]
        else {
            return None;
        };
        let counts = [
            ("rx_bytes", rx_bytes),
            ("rx_packets", rx_packets),
            ("rx_errors", rx_errors),
            ("rx_dropped", rx_dropped),
            ("tx_bytes", tx_bytes),
            ("tx_packets", tx_packets),
            ("tx_errors", tx_errors),
            ("tx_dropped", tx_dropped),
        ];
        let speed = root.number(format!("{NETWORK_DIRECTORY}/{name}/speed")).map(|speed| ("speed", speed));
        Some((name.to_owned(), counts.into_iter().chain(speed).collect()))
    };
    dev.lines().filter_map(of_interface).collect()
}

fn smb(root: &Root) -> BTreeMap<String, KernelValues> {
    // perfmon has one leading backslash there.
    let named = |(name, read, write): (String, TransferCounters, TransferCounters)| {
        (name.replacen(r"\\", r"\", 1), transfers(&read, &write).into_iter().collect())
    };
    shares::smb_mounts(root).into_iter().map(named).collect()
}

fn transfers(read: &TransferCounters, write: &TransferCounters) -> [(&'static str, u64); 4] {
    [("reads", read.count), ("read_bytes", read.bytes), ("writes", write.count), ("write_bytes", write.bytes)]
}

fn nfs(root: &Root) -> BTreeMap<String, KernelValues> {
    let named = |share: model::kernel_counters::ShareCounters| {
        let times = [("read_execute_ms", share.read.rpc), ("write_execute_ms", share.write.rpc)];
        let times = times.into_iter().filter_map(|(name, rpc)| Some((name, rpc?.execute_ms)));
        let values = transfers(&share.read, &share.write).into_iter().chain(times).collect();
        (share.mount_point.to_string_lossy().into_owned(), values)
    };
    shares::nfs_mounts(root).into_iter().map(named).collect()
}

fn caches<'a>(root: &Root, devices: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, KernelValues> {
    let found = cache_counters::read(root, devices).into_iter();
    found
        .map(|(name, cache)| (name, [("read_hits", cache.read_hits), ("read_misses", cache.read_misses)].into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::system_counter::counters_of;
    use proptest::prelude::*;

    /// In the form of Linux 6.1.
    const FILES: [(&str, &str); 9] = [
        ("proc/stat", "cpu  9 9 9 9\ncpu0 10 1 20 300 4 5 6 7 8 9\ncpu12 1 0 0 0 0 0 0 0 0 0\nintr 5\n"),
        (
            "proc/meminfo",
            "MemTotal: 9 kB\nMemAvailable: 4 kB\nBuffers: 1 kB\nCached: 2 kB\nDirty: 3 kB\nWriteback: 0 kB\n\
             CommitLimit: 8 kB\nCommitted_AS: 7 kB\n",
        ),
        ("proc/vmstat", "pswpin 1\npswpout 2\npgfault 30\npgmajfault 4\n"),
        (
            "proc/net/dev",
            "Inter-|   Receive                                                |  Transmit\n \
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    \
             lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth0:100 2 0 0 0 0 0 0 200 3 0 0 0 0 0 0\n",
        ),
        ("sys/class/net/eth0/speed", "25000\n"),
        ("proc/self/mountstats", include_str!("../tests/data/mountstats-nfs4")),
        ("proc/fs/cifs/Stats", include_str!("../tests/data/cifs-stats")),
        ("sys/class/block/bcache0/bcache/stats_total/cache_hits", "70\n"),
        ("sys/class/block/bcache0/bcache/stats_total/cache_misses", "30\n"),
    ];

    fn recorded() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in FILES {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let root = Root::recorded(folder.path());
        (folder, root)
    }

    #[test]
    fn every_object_is_read() {
        let (_folder, root) = recorded();
        let reading = read(&root, ["sda", "bcache0"]);
        let value = |object, instance: &str, name: &str| reading[&object][instance].get(name).copied();
        assert_eq!(value(CounterObject::Processor, "0", "iowait"), Some(4));
        assert_eq!(reading[&CounterObject::Processor].keys().collect::<Vec<_>>(), ["0", "12"]);
        assert_eq!(value(CounterObject::Memory, TOTAL_INSTANCE, "MemAvailable"), Some(4096));
        assert_eq!(value(CounterObject::Memory, TOTAL_INSTANCE, "pgmajfault"), Some(4));
        assert_eq!(value(CounterObject::NetworkInterface, "lo", "tx_packets"), Some(10));
        assert_eq!(value(CounterObject::NetworkInterface, "lo", "tx_dropped"), Some(12));
        assert_eq!(value(CounterObject::NetworkInterface, "eth0", "rx_bytes"), Some(100), "a number fills its column");
        assert_eq!(value(CounterObject::NetworkInterface, "eth0", "speed"), Some(25_000));
        assert_eq!(value(CounterObject::SmbClientShares, r"\filer\bench data", "read_bytes"), Some(25_600_000));
        assert_eq!(value(CounterObject::NfsClientShares, "/mnt/big data", "writes"), Some(8192));
        assert_eq!(value(CounterObject::NfsClientShares, "/mnt/big data", "read_execute_ms"), Some(26_011));
        assert_eq!(value(CounterObject::StorageCache, "bcache0", "read_hits"), Some(70));
        assert_eq!(processor_names(&root).keys().collect::<Vec<_>>(), ["0,0", "0,12"]);
    }

    #[test]
    fn every_counter_has_its_values() {
        let (_folder, root) = recorded();
        for (object, instances) in read(&root, ["bcache0"]) {
            let all: KernelValues = instances.into_values().flatten().collect();
            for counter in counters_of(object) {
                for name in counter.rule.values() {
                    assert!(all.contains_key(name), "{object:?} {} needs {name}", counter.name);
                }
            }
        }
    }

    #[test]
    fn nothing_is_read_where_nothing_is() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(&Root::recorded(folder.path()), ["sda"]).is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_them_panic(text in "\\PC*", words in "(cpu|lo:|[0-9]{0,21}| |\n){0,30}") {
            let root = Root::recorded("/nonexistent");
            for text in [&text, &words] {
                let _ = (processors(text), memory(text, text), interfaces(&root, text));
            }
        }
    }
}
