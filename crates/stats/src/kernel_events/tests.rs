use super::*;
use model::block_device::DeviceKind;
use model::environment::Backing;
use model::machine_counters::{FaultCounters, NetworkCounters, TaskCounters};
use model::plan::{Expected, OpenPlan, Preparation, TargetPlan};
use model::record::Tally;

const SECOND_NS: u64 = 1_000_000_000;

fn device(name: &str, below: Vec<BlockDevice>) -> BlockDevice {
    BlockDevice { name: name.to_owned(), kind: DeviceKind::Other, below, ..BlockDevice::default() }
}

/// Two targets on a stripe of two disks, one on the first disk alone, and one in memory.
fn environments() -> BTreeMap<PathBuf, TargetEnvironment> {
    let on = |devices| TargetEnvironment { mount: None, backing: Backing::Devices(devices) };
    let stripe = || vec![device("md0", vec![device("sda", vec![]), device("sdb", vec![]), device("sda", vec![])])];
    BTreeMap::from([
        ("b".into(), on(stripe())),
        ("a".into(), on(stripe())),
        ("c".into(), on(vec![device("sda", vec![])])),
        ("d".into(), TargetEnvironment { mount: None, backing: Backing::Memory }),
    ])
}

fn plan() -> TimeSpanPlan {
    let target = |path: &str| TargetPlan {
        path: path.into(),
        stream: None,
        size_bytes: 1 << 20,
        preparation: Preparation::Keep,
        expect: Expected::Character,
        open: OpenPlan::default(),
        write_source: None,
        shared_run: None,
    };
    TimeSpanPlan { targets: ["b", "a", "c", "d"].map(target).into(), ..TimeSpanPlan::default() }
}

fn ios(count: u64, sum_ns: u128) -> DirectionRecord {
    DirectionRecord {
        bytes: count * 4096,
        tally: Tally { count, sum_ns, ..Tally::default() },
        ..DirectionRecord::default()
    }
}

fn record() -> TimeSpanRecord {
    let row =
        |target, reads| RowRecord { target, read: ios(reads, u128::from(reads) * 200_000), ..RowRecord::default() };
    let written = RowRecord { target: 1, write: ios(50, 5_000_000), ..RowRecord::default() };
    TimeSpanRecord {
        elapsed_ns: 2 * SECOND_NS,
        rows: vec![row(0, 100), row(1, 300), written, row(2, 40), row(3, 7)],
        ..TimeSpanRecord::default()
    }
}

fn around() -> KernelCountersAround {
    let requests =
        |count, time_ms| RequestCounters { count, bytes: count * 4096, time_ms, ..RequestCounters::default() };
    let counters = |reads, writes| DeviceCounters {
        read: requests(reads, reads / 10),
        write: requests(writes, 0),
        ..DeviceCounters::default()
    };
    let faults = |soft, hard| Some(FaultCounters { soft, hard });
    let moment = |times: u64| KernelCounters {
        devices: [("md0", 400, 50), ("sda", 240, 25), ("sdb", 200, 25)]
            .map(|(name, reads, writes)| (name.to_owned(), counters(reads * times, writes * times)))
            .into(),
        machine: Some(MachineCounters {
            page_faults: faults(1000 * times, 10 * times),
            own_page_faults: faults(5 * times, 0),
            network: Some(NetworkCounters {
                tcp_sent: 8 * times,
                udp_received: 3 * times,
                ..NetworkCounters::default()
            }),
            tasks: Some(TaskCounters { started: 30 * times, ended: 20 * times }),
        }),
        ..KernelCounters::default()
    };
    KernelCountersAround { before: moment(1), after: moment(2) }
}

fn events(tracing: Tracing) -> KernelEvents {
    let (plan, record, around, environments) = (plan(), record(), around(), environments());
    kernel_events(&EventSources { tracing, plan: &plan, record: &record, around: &around, environments: &environments })
}

fn counts(events: &KernelEvents) -> Vec<(EventKind, Vec<(KernelEvent, u64)>)> {
    let counters = |class: &EventClass| class.counters.iter().map(|count| (count.event, count.count)).collect();
    events.classes.iter().map(|class| (class.class, counters(class))).collect()
}

#[test]
fn each_level_is_told_of_once_and_devices_beside_the_program() {
    let events = events(Tracing { disk_io: true, ..Tracing::default() });
    let [stripe, disk] = events.stacks.as_slice() else { panic!("{:?}", events.stacks) };
    assert_eq!(stripe.targets, [PathBuf::from("a"), PathBuf::from("b")]);
    assert_eq!(disk.targets, [PathBuf::from("c")]);
    let shape = |stack: &IoStack| -> Vec<_> {
        stack.levels.iter().map(|level| (level.device.clone(), level.depth, level.read.ios)).collect()
    };
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(shape(stripe), [(None, 0, 400), (named("md0"), 1, 400), (named("sda"), 2, 240), (named("sdb"), 2, 200)]);
    assert_eq!(shape(disk), [(None, 0, 40), (named("sda"), 1, 240)]);
    let own = stripe.levels[0].read;
    assert_eq!((own.bytes, own.latency_mean_ns, own.iops), (400 * 4096, Some(200_000.0), 200.0));
    assert_eq!(stripe.levels[0].write.latency_mean_ns, Some(100_000.0));
    assert_eq!(stripe.levels[1].read.latency_mean_ns, Some(100_000.0));
    assert_eq!(disk.levels[0].write, LevelFigures::default());
}

#[test]
fn what_was_asked_for_is_counted_and_nothing_else() {
    use KernelEvent::{
        Accept, Connect, End, HardPageFault, OwnHardPageFault, OwnSoftPageFault, Read, Retransmit, SoftPageFault,
        Start, TcpReceive, TcpSend, UdpReceive, UdpSend, Write,
    };
    assert_eq!(events(Tracing::default()), KernelEvents::default());
    // The disk that carries a stripe and a target of its own counts for both.
    let disk = events(Tracing { disk_io: true, ..Tracing::default() });
    assert_eq!(counts(&disk), [(EventKind::DiskIo, vec![(Read, 640), (Write, 75)])]);
    let all = Tracing {
        process: true,
        thread: true,
        memory_page_faults: true,
        memory_hard_faults: true,
        network: true,
        ..Tracing::default()
    };
    let faults = vec![(HardPageFault, 10), (SoftPageFault, 1000), (OwnHardPageFault, 0), (OwnSoftPageFault, 5)];
    let network =
        vec![(Accept, 0), (Connect, 0), (Retransmit, 0), (TcpSend, 8), (TcpReceive, 0), (UdpSend, 0), (UdpReceive, 3)];
    let tasks = vec![(Start, 30), (End, 20)];
    assert_eq!(
        counts(&events(all)),
        [
            (EventKind::MemoryPageFaults, faults),
            (EventKind::Network, network),
            (EventKind::Process, tasks.clone()),
            (EventKind::Thread, tasks),
        ]
    );
    let hard = events(Tracing { memory_hard_faults: true, ..Tracing::default() });
    assert_eq!(counts(&hard), [(EventKind::MemoryHardFaults, vec![(HardPageFault, 10), (OwnHardPageFault, 0)])]);
}

#[test]
fn what_the_kernel_does_not_tell_is_left_out() {
    let (plan, record, environments) = (plan(), record(), environments());
    let tracing = Tracing { disk_io: true, network: true, process: true, ..Tracing::default() };
    let around = KernelCountersAround::default();
    let found = kernel_events(&EventSources {
        tracing,
        plan: &plan,
        record: &record,
        around: &around,
        environments: &environments,
    });
    assert_eq!(found.classes, []);
    assert!(found.stacks.iter().all(|stack| stack.levels.len() == 1), "{:?}", found.stacks);
}
