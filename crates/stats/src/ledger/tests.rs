use super::*;
use model::engine_kind::EngineKind;
use model::environment::MountedFileSystem;
use model::facts::{RegularFacts, TargetFacts};
use model::figures::{Directions, Figures};
use model::kernel_counters::{DeviceCounters, OtherBytes, ProcessCounters, RequestCounters};
use model::plan::{Expected, Preparation, TargetPlan};
use model::profile::{Target, TimeSpan};

const ASKED: u64 = 1000 << 20;

/// One target, its storage, and the counters.
struct Case {
    environment: TargetEnvironment,
    open: OpenPlan,
    span_result: TimeSpanResult,
    /// Nothing of the file is compressed.
    is_plain: bool,
}

fn device(name: &str, kind: DeviceKind, below: Vec<BlockDevice>) -> BlockDevice {
    BlockDevice { name: name.to_owned(), kind, below, ..BlockDevice::default() }
}

fn disk(name: &str) -> BlockDevice {
    device(name, DeviceKind::Disk, Vec::new())
}

fn loop_on(file_system: &str, below: Vec<BlockDevice>) -> BlockDevice {
    let file_system = Some(file_system.to_owned());
    let kind = DeviceKind::Loop { file: None, offset_bytes: None, direct: Some(false), file_system };
    device("loop0", kind, below)
}

impl Case {
    /// Direct reads of a device, or of a file on a file system on it.
    fn reads(file_system: Option<&str>, top: BlockDevice) -> Self {
        let figures = Figures { bytes: ASKED, ios: 1, ..Figures::default() };
        let figures = Directions { read: figures, total: figures, ..Directions::default() };
        let row = Row { path: "a".into(), figures, ..Row::default() };
        let measured = Measured { elapsed_ns: 100_000_000_000, rows: vec![row], ..Measured::default() };
        let mount =
            file_system.map(|name| MountedFileSystem { file_system: name.to_owned(), ..MountedFileSystem::default() });
        Self {
            environment: TargetEnvironment { mount, backing: Backing::Devices(vec![top]) },
            open: OpenPlan { direct: true, ..OpenPlan::default() },
            span_result: TimeSpanResult {
                engines: vec![EngineKind::Synchronous],
                measured: Some(measured),
                kernel_counters: Some(KernelCountersAround::default()),
                ..TimeSpanResult::default()
            },
            is_plain: false,
        }
    }

    fn writes(file_system: Option<&str>, top: BlockDevice) -> Self {
        let mut case = Self::reads(file_system, top);
        let row = &mut case.span_result.measured.as_mut().expect("measured").rows[0].figures;
        (row.write, row.read) = (row.read, row.write);
        case
    }

    fn after(&mut self) -> &mut KernelCounters {
        &mut self.span_result.kernel_counters.as_mut().expect("counted").after
    }

    /// Counters of a device, in both directions.
    fn counted(mut self, name: &str, bytes: u64) -> Self {
        let around = self.span_result.kernel_counters.as_mut().expect("counted");
        around.before.devices.insert(name.to_owned(), DeviceCounters::default());
        let requests = RequestCounters { bytes, ..RequestCounters::default() };
        let counters = DeviceCounters { read: requests, write: requests, ..DeviceCounters::default() };
        around.after.devices.insert(name.to_owned(), counters);
        self
    }

    fn process(mut self, bytes: u64) -> Self {
        let around = self.span_result.kernel_counters.as_mut().expect("counted");
        around.before.process = Some(ProcessCounters::default());
        let (storage_read_bytes, storage_write_bytes) = (bytes, bytes);
        around.after.process =
            Some(ProcessCounters { storage_read_bytes, storage_write_bytes, ..ProcessCounters::default() });
        self
    }

    fn cached(mut self) -> Self {
        self.open.direct = false;
        self
    }

    fn ledger(&self) -> Ledger {
        let target = TargetPlan {
            path: "a".into(),
            stream: None,
            size_bytes: 1 << 30,
            preparation: Preparation::Keep,
            expect: Expected::Prepared,
            open: self.open,
            write_source: None,
            shared_run: None,
        };
        let plan = TimeSpanPlan { targets: vec![target], ..TimeSpanPlan::default() };
        let environments = [(PathBuf::from("a"), self.environment.clone())].into();
        let (span_result, plan) = (&self.span_result, &plan);
        let uncompressed: BTreeSet<&Path> = self.is_plain.then_some(Path::new("a")).into_iter().collect();
        let environments = &environments;
        let sources =
            LedgerSources { span_result, plan, environments, uncompressed: &uncompressed, kernel_release: "6.8" };
        ledger(&sources).expect("it was measured")
    }

    /// Percent that reached storage, the level with the fewest bytes, and true if all below was counted.
    fn reached(&self) -> (Option<u64>, String, bool) {
        let ledger = self.ledger();
        let [account] = ledger.accounts.as_slice() else { panic!("one target: {ledger:?}") };
        let percent = account.reached_percent.map(|percent| percent.round() as u64);
        (percent, account.level.clone(), account.is_complete)
    }
}

fn expected(percent: u64, level: &str) -> (Option<u64>, String, bool) {
    (Some(percent), level.to_owned(), true)
}

#[test]
fn of_levels_that_follow_each_other_the_fewest_bytes_count() {
    let stack = || loop_on("ext4", vec![device("sda1", DeviceKind::Partition { number: None }, vec![disk("sda")])]);
    let counted = |loop_bytes, disk_bytes| {
        Case::reads(None, stack()).counted("loop0", loop_bytes).counted("sda1", disk_bytes).counted("sda", disk_bytes)
    };
    assert_eq!(counted(ASKED, 2 * ASKED).reached(), expected(100, "loop0"));
    assert_eq!(counted(ASKED, ASKED / 10).reached(), expected(10, "sda1"));
    assert_eq!(counted(ASKED, ASKED).process(ASKED / 4).reached(), expected(25, "kernel"));
}

#[test]
fn mirrors_stripes_and_parity_are_no_shortfall() {
    let array = |operation: Operation, bytes| {
        let top = device("md0", DeviceKind::Raid(model::block_device::Raid::default()), vec![disk("sda"), disk("sdb")]);
        let case = if operation == Operation::Read { Case::reads(None, top) } else { Case::writes(None, top) };
        case.counted("md0", ASKED).counted("sda", bytes).counted("sdb", bytes).reached()
    };
    assert_eq!(array(Operation::Write, ASKED), expected(100, "md0"), "mirror");
    assert_eq!(array(Operation::Read, ASKED / 2), expected(100, "md0"), "stripe");
    assert_eq!(array(Operation::Read, ASKED / 8), expected(25, "sda + sdb"));
    let silent = device("md0", DeviceKind::Raid(model::block_device::Raid::default()), vec![disk("sda")]);
    let silent = Case::reads(None, silent).counted("md0", 0).counted("sda", ASKED);
    assert_eq!(silent.reached(), expected(100, "sda"), "the driver counts nothing");
}

#[test]
fn memory_is_no_disk() {
    let zram = || device("zram0", DeviceKind::Zram { algorithm: None }, Vec::new());
    assert_eq!(Case::writes(None, zram()).counted("zram0", ASKED).reached(), expected(0, "a disk below zram0"));
    let in_memory = Case::reads(Some("ext4"), loop_on("tmpfs", Vec::new())).counted("loop0", ASKED);
    assert_eq!(in_memory.reached(), expected(0, "a disk below loop0"));
    let mut case = Case::reads(Some("tmpfs"), zram());
    case.environment.backing = Backing::Memory;
    assert_eq!(case.reached(), expected(0, "tmpfs"));
}

#[test]
fn compression_explains_a_part_only() {
    let case = |bytes| Case::reads(Some("btrfs"), disk("sda")).counted("sda", bytes).reached();
    assert_eq!(case(ASKED / 32), expected(100, "sda"));
    assert_eq!(case(ASKED / 64), expected(50, "sda"));
    let mut plain = Case::reads(Some("btrfs"), disk("sda")).counted("sda", ASKED / 32);
    plain.is_plain = true;
    assert_eq!(plain.reached(), expected(3, "sda"), "nothing of the file is compressed");
}

#[test]
fn a_file_is_uncompressed_if_it_was_and_nothing_writes_to_it() {
    let is_plain = |file_system: &str, encoded_bytes, write_percent| {
        let mut facts = RegularFacts { encoded_bytes, ..RegularFacts::default() };
        file_system.clone_into(&mut facts.file_system.name);
        let kind = TargetKind::Regular(facts);
        let facts = [(PathBuf::from("a"), TargetFacts::new(kind))].into();
        let mut target = Target::new("a");
        target.write_percent = write_percent;
        let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
        let profile = Profile { time_spans: vec![TimeSpan::default(), span], ..Profile::default() };
        uncompressed(&profile, &TargetsFound { facts, ..TargetsFound::default() }).contains(Path::new("a"))
    };
    assert!(is_plain("btrfs", Some(0), 0));
    assert!(!is_plain("btrfs", Some(0), 1), "what it writes may be compressed");
    assert!(!is_plain("btrfs", Some(4096), 0) && !is_plain("btrfs", None, 0) && !is_plain("ext4", Some(0), 0));
}

#[test]
fn what_nothing_counts_is_unknown() {
    let unknown = Case::reads(Some("f2fs"), disk("sda")).counted("sda", ASKED);
    assert_eq!(unknown.reached(), (None, String::new(), false));
    let mut process = Case::reads(Some("fuse.sshfs"), disk("sda"));
    process.environment.backing = Backing::Process;
    assert_eq!(process.reached(), (None, String::new(), false));
    let hidden = Case::reads(None, loop_on("ext4", Vec::new())).counted("loop0", ASKED);
    assert_eq!(hidden.reached(), (Some(100), "loop0".to_owned(), false), "of the file nothing is known");
}

#[test]
fn cached_writes_are_what_left_memory() {
    let case = |given, dirty: [u64; 2]| {
        let mut case = Case::writes(Some("ext4"), disk("sda")).cached().counted("sda", 2 * ASKED).process(given);
        let dirty = dirty.map(|bytes| {
            Some(model::kernel_counters::DirtyMemory {
                dirty_bytes: bytes,
                ..model::kernel_counters::DirtyMemory::default()
            })
        });
        case.after().dirty_of_targets = dirty[1];
        case.span_result.kernel_counters.as_mut().expect("counted").before.dirty_of_targets = dirty[0];
        let account = &case.ledger().accounts[0];
        (account.reached_bytes, account.dirty_left_bytes)
    };
    assert_eq!(case(ASKED, [0, 0]), (Some(ASKED), Some(0)));
    assert_eq!(case(ASKED / 4, [0, 0]), (Some(ASKED / 4), Some(0)), "the rest was written over in memory");
    assert_eq!(case(ASKED, [0, ASKED / 2]), (Some(ASKED / 2), Some(ASKED / 2)), "it is still there");
    assert_eq!(case(ASKED / 2, [ASKED / 4, 0]), (Some(ASKED * 3 / 4), Some(0)), "some was from before");
}

#[test]
fn bytes_of_other_programs_are_subtracted_where_they_can_be_of_no_other_disk() {
    let case = |others: OtherBytes, below: Vec<BlockDevice>| {
        let mut case = Case::reads(
            Some("ext4"),
            device("dm-0", DeviceKind::Mapper { maker: None, name: None, uuid: None }, below),
        );
        case = case.counted("dm-0", ASKED).counted("sda", ASKED).counted("sdb", 0);
        case.after().others = Some(others);
        case.span_result.kernel_counters.as_mut().expect("counted").before.others = Some(OtherBytes::default());
        let account = &case.ledger().accounts[0];
        (account.reached_percent.expect("counted").round() as u64, account.without_others)
    };
    let others = OtherBytes { read_bytes: ASKED * 3 / 4, write_bytes: 0, ..OtherBytes::default() };
    assert_eq!(case(others.clone(), vec![disk("sda")]), (25, true));
    assert_eq!(case(others.clone(), vec![disk("sda"), disk("sdb")]), (100, false), "two disks");
    let meanwhile = OtherBytes { meanwhile_read_bytes: ASKED * 3 / 4, ..others.clone() };
    assert_eq!(case(meanwhile, vec![disk("sda")]).0, 100);
    let elsewhere = [("sdc".to_owned(), ASKED * 3 / 4)].into();
    let elsewhere = OtherBytes { elsewhere_read_bytes: elsewhere, ..others.clone() };
    let case = |others: OtherBytes, before| {
        let mut case = Case::reads(Some("ext4"), disk("sda")).counted("sda", ASKED);
        case.after().others = Some(others);
        case.span_result.kernel_counters.as_mut().expect("counted").before.others = Some(before);
        let account = &case.ledger().accounts[0];
        (account.reached_percent.expect("counted").round() as u64, account.without_others)
    };
    let at_first =
        |bytes| OtherBytes { elsewhere_read_bytes: [("sdc".to_owned(), bytes)].into(), ..OtherBytes::default() };
    assert_eq!(case(elsewhere.clone(), at_first(0)), (100, true));
    assert_eq!(case(elsewhere.clone(), at_first(ASKED * 3 / 4)), (25, true));
    assert_eq!(case(elsewhere.clone(), at_first(ASKED)), (100, false), "it counts anew");
    assert_eq!(case(elsewhere, OtherBytes::default()), (100, false), "it came meanwhile");
    assert_eq!(case(others, at_first(0)), (100, false), "it went");
}

#[test]
fn levels_are_the_program_the_kernel_and_the_devices_from_the_top() {
    let stack = loop_on("ext4", vec![disk("sda")]);
    let case = Case::reads(None, stack).counted("loop0", ASKED).counted("sda", 5).process(ASKED);
    let levels = case.ledger().levels;
    let seen: Vec<(&str, &str, u64)> =
        levels.iter().map(|level| (level.name.as_str(), level.kind.as_str(), level.read_bytes)).collect();
    let expected =
        [("diskspd", "program", ASKED), ("kernel", "kernel", ASKED), ("loop0", "loop", ASKED), ("sda", "disk", 5)];
    assert_eq!(seen, expected);
}
