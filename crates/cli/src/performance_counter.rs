//! Performance counters in Windows syntax: `\\HOST\LogicalDisk(*)\Avg. Disk sec/Read`.

use model::counter_object::CounterObject;
use model::performance_counter::{CounterPattern, NamedCounter, matches};

/// Patterns separated by commas; commas in parentheses belong to an instance, such as `Processor Information(0,3)`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CounterList(pub(crate) Vec<CounterPattern>);

/// Objects of Windows that do not exist here, by the beginning of their names, and their replacements.
const OTHER_OBJECTS: &[(&str, &str)] = &[
    (
        "SQLServer:",
        "SQL Server has its own counters: SELECT * FROM sys.dm_os_performance_counters (with sqlcmd), also on Linux",
    ),
    (
        "MSSQL$",
        "SQL Server has its own counters: SELECT * FROM sys.dm_os_performance_counters (with sqlcmd), also on Linux",
    ),
    ("Cluster Storage Hybrid Disk", "caches here are \\Storage Cache(*)\\Cache Hit Reads/sec"),
    ("Cluster Disk Counters", "use \\PhysicalDisk(*)\\Disk Reads/sec"),
    ("Cluster CSV", "use \\LogicalDisk(MOUNT POINT)\\Disk Reads/sec"),
    ("Storage Spaces", "RAIDs and volumes are instances of LogicalDisk: \\LogicalDisk(md*)\\Avg. Disk sec/Read"),
    ("Network Adapter", "use \\Network Interface(*)\\Bytes Total/sec"),
    ("SMB Server", "this is the client's side: \\SMB Client Shares(*)\\Read Bytes/sec; on the server watch its disks"),
    ("RDMA Activity", "rdma statistic show (iproute2) has them"),
    ("Processor Performance", "the clock of each CPU is in /proc/cpuinfo (cpu MHz)"),
    ("Process", "pidstat -d -u 1 (sysstat) shows processes"),
    ("Thread", "pidstat -t 1 (sysstat) shows threads"),
    ("System", "vmstat 1 has the processor queue (r) and context switches (cs)"),
    ("Paging File", "use \\Memory\\Pages/sec for swapping; swapon --show has the use of swap"),
    ("Cache", "use \\Memory\\Cache Bytes"),
    ("TCP", "nstat (iproute2) has the protocols; use \\Network Interface(*)\\Bytes Total/sec for traffic"),
    ("Hyper-V", "the hypervisor's counters are on its host"),
];

/// Counters of Windows that do not exist here, in lower case, and their replacements.
const OTHER_COUNTERS: &[(&str, &str)] = &[
    ("% free space", "df -h shows it"),
    ("free megabytes", "df -m shows it"),
    ("split io/sec", "the kernel does not count split requests; merged ones are merg/s of the table"),
    ("output queue length", "tc -s qdisc shows it (backlog)"),
    ("% processor utility", "use % Processor Time"),
    ("processor frequency", "it is in /proc/cpuinfo (cpu MHz)"),
    ("% of maximum frequency", "/sys/devices/system/cpu/cpu*/cpufreq has it"),
    ("interrupts/sec", "vmstat 1 has it (in)"),
    ("avg. sec/data request", "/proc/fs/cifs/Stats has no times of SMB; NFS Client Shares has Avg. sec/Read"),
    ("avg. sec/read", "/proc/fs/cifs/Stats has no times of SMB; NFS Client Shares has Avg. sec/Read"),
    ("avg. sec/write", "/proc/fs/cifs/Stats has no times of SMB; NFS Client Shares has Avg. sec/Write"),
];

/// Reads one pattern. A missing instance matches any: `\PhysicalDisk\% Idle Time`.
pub(crate) fn parse(text: &str) -> Result<CounterPattern, String> {
    let text = text.trim();
    let wrong = || {
        format!(
            "'{text}' is not a counter (for example \\PhysicalDisk(sda)\\Avg. Disk sec/Read, with * for any device)"
        )
    };
    let path = match text.strip_prefix("\\\\") {
        // The machine is always this one.
        Some(with_host) => with_host.split_once('\\').ok_or_else(wrong)?.1,
        None => text.strip_prefix('\\').unwrap_or(text),
    };
    let (object, instance, counter) = parts(path).ok_or_else(wrong)?;
    let known = CounterObject::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(object));
    let object = known.ok_or_else(|| unknown_object(text, object))?;
    let counters: Vec<NamedCounter> =
        object.counters().into_iter().filter(|known| matches(counter, known.name())).collect();
    if counters.is_empty() {
        return Err(unknown_counter(text, object, counter));
    }
    Ok(CounterPattern { object, instance: instance.to_owned(), counters })
}

/// Object, instance and counter. An instance may contain backslashes: `\filer\share`.
fn parts(path: &str) -> Option<(&str, &str, &str)> {
    let (head, _) = path.split_once('\\')?;
    let Some((object, rest)) = path.split_once('(').filter(|(object, _)| object.len() < head.len()) else {
        let (object, counter) = path.split_once('\\')?;
        return Some((object, "*", counter));
    };
    let (instance, counter) = rest.rsplit_once(")\\")?;
    Some((object, instance, counter))
}

fn unknown_object(text: &str, object: &str) -> String {
    let begins = |(name, _): &&(&str, &str)| {
        object.get(..name.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(name))
    };
    if let Some((_, instead)) = OTHER_OBJECTS.iter().find(begins) {
        return format!("'{text}': no object '{object}' on Linux; {instead}");
    }
    let known = CounterObject::ALL.map(CounterObject::name).join(", ");
    format!("'{text}': unknown object '{object}' (expected: {known})")
}

fn unknown_counter(text: &str, object: CounterObject, counter: &str) -> String {
    if let Some((_, instead)) = OTHER_COUNTERS.iter().find(|(name, _)| name.eq_ignore_ascii_case(counter)) {
        return format!("'{text}': no counter '{counter}' on Linux; {instead}");
    }
    let known: Vec<String> = object.counters().into_iter().map(|known| object.path("*", known)).collect();
    let known = format!("\n  {}", known.join("\n  "));
    format!("'{text}': unknown counter '{counter}'. Expected one of:{known}\n")
}

/// Reads a list of patterns.
pub(crate) fn parse_list(text: &str) -> Result<CounterList, String> {
    let mut depth = 0usize;
    let is_separator = |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    };
    text.split(is_separator).map(parse).collect::<Result<_, _>>().map(CounterList)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::performance_counter::Counter;
    use proptest::prelude::*;

    #[test]
    fn the_forms_of_windows_are_understood() {
        let pattern = |object, instance: &str, counters: &[Counter]| {
            Ok(CounterPattern {
                object,
                instance: instance.to_owned(),
                counters: counters.iter().copied().map(NamedCounter::Disk).collect(),
            })
        };
        let (physical, logical) = (CounterObject::PhysicalDisk, CounterObject::LogicalDisk);
        let read = &[Counter::SecondsPerRead];
        assert_eq!(parse(r"\LogicalDisk(*)\Avg. Disk sec/Read"), pattern(logical, "*", read));
        assert_eq!(parse(r"\\SERVER\logicaldisk(dm-0)\avg. disk SEC/read"), pattern(logical, "dm-0", read));
        assert_eq!(
            parse(r"PhysicalDisk(_Total)\% Idle Time"),
            pattern(physical, "_Total", &[Counter::IdleTimePercent])
        );
        let of_reads = [Counter::SecondsPerRead, Counter::BytesPerRead];
        assert_eq!(parse(r"\PhysicalDisk\Avg*/Read"), pattern(physical, "*", &of_reads));
        assert_eq!(parse(r"\PhysicalDisk(sda)\*"), pattern(physical, "sda", &Counter::ALL));
    }

    #[test]
    fn what_is_no_counter_is_told_what_would_be() {
        for (text, expected) in [
            ("", "'' is not a counter (for example \\PhysicalDisk(sda)"),
            ("sda", "is not a counter"),
            (r"\\host", "is not a counter"),
            (r"\PhysicalDisk(sda\% Idle Time", "is not a counter"),
            (r"\Disk(_Total)\% Idle Time", "unknown object 'Disk' (expected: PhysicalDisk, LogicalDisk, Processor, "),
            (r"\SQLServer:Buffer Manager\Page life expectancy", "SELECT * FROM sys.dm_os_performance_counters"),
            (r"\Process(sqlservr)\IO Data Bytes/sec", "pidstat -d -u 1 (sysstat) shows processes"),
            (r"\LogicalDisk(G:)\% Free Space", "no counter '% Free Space' on Linux; df -h shows it"),
            (r"\Memory\Availible", "unknown counter 'Availible'. Expected one of:\n  \\Memory\\Available Bytes\n"),
            (
                r"\LogicalDisk(*)\Free Kilobytes",
                "unknown counter 'Free Kilobytes'. Expected one of:\n  \\LogicalDisk(*)\\Disk Reads/sec\n",
            ),
        ] {
            let failure = parse(text).expect_err(text);
            assert!(failure.contains(expected), "{text}: {failure}");
        }
    }

    #[test]
    fn instances_may_hold_separators() {
        let names = |text: &str| {
            let list = parse_list(text).expect(text).0;
            list.into_iter().map(|one| (one.object.name(), one.instance, one.counters.len())).collect::<Vec<_>>()
        };
        assert_eq!(
            names(r"\Processor Information(0,3)\% Processor Time,\\H\SMB Client Shares(\filer\a b)\Read Bytes/sec"),
            [("Processor Information", "0,3".to_owned(), 1), ("SMB Client Shares", r"\filer\a b".to_owned(), 1)]
        );
        assert_eq!(names(r"\LogicalDisk(/var/lib)\Disk Reads/sec"), [("LogicalDisk", "/var/lib".to_owned(), 1)]);
        assert_eq!(names(r"\memory\*"), [("Memory", "*".to_owned(), CounterObject::Memory.counters().len())]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC*|[\\\\()*%a-zA-Z ]{0,40}") {
            if let Ok(pattern) = parse(&text) {
                prop_assert!(!pattern.counters.is_empty());
                let _ = pattern.takes_instance(&text);
            }
        }
    }
}
