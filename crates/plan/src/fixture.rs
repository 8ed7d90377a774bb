//! Facts for tests: a machine with four CPUs, and the targets of a test.

use crate::{Choices, Refusal, RefusalKind};
use model::device_guard::FileIdentity;
use model::facts::{
    DirectIo, Facts, FileSystem, Fill, Memory, MissingFacts, Openers, Origin, RegularFacts, SystemFacts, TargetFacts,
    TargetKind,
};
use model::plan::Plan;
use model::profile::{Profile, Target, TimeSpan};
use model::topology::{Cpu, Topology};

/// Facts with these targets.
pub(crate) fn facts<'a>(targets: impl IntoIterator<Item = (&'a str, TargetKind)>) -> Facts {
    let with_kind = |(path, kind): (&str, TargetKind)| (path.into(), TargetFacts::new(kind));
    Facts { system: system(4), targets: targets.into_iter().map(with_kind).collect(), ..Facts::default() }
}

/// A machine with `cpus` CPUs, 8 GiB of free memory and `io_uring`.
pub(crate) fn system(cpus: u32) -> SystemFacts {
    let cpu = |id| Cpu { id, core: id, socket: 0, node: 0, class: 0, allowed: true };
    SystemFacts {
        page_size_bytes: 4096,
        topology: Topology { cpus: (0..cpus).map(cpu).collect(), possible_cpus: cpus, caches: Vec::new() },
        memory: Memory { available_bytes: 8 << 30, ..Memory::default() },
        open_files_max: 1 << 20,
        ..SystemFacts::default()
    }
}

fn file_system() -> FileSystem {
    FileSystem { name: "ext4".to_owned(), is_pseudo: false, free_bytes: 100 << 30, ..FileSystem::default() }
}

const DIRECT_IO: DirectIo = DirectIo::Aligned { memory_bytes: 512, offset_bytes: 512 };

/// A missing file in an existing directory.
pub(crate) fn missing() -> TargetKind {
    TargetKind::Missing(MissingFacts {
        existing_parent: ".".into(),
        device: 1,
        parent_exists: true,
        not_writable: None,
        mount_point: None,
        direct_io: DIRECT_IO,
        file_system: file_system(),
    })
}

/// A file created by diskspd that no process has open.
pub(crate) fn ours(inode: u64, size_bytes: u64, fill: Fill) -> RegularFacts {
    RegularFacts {
        identity: FileIdentity { device: 1, inode },
        size_bytes,
        modified_ns: 1,
        allocated_bytes: size_bytes,
        direct_io: DIRECT_IO,
        file_system: file_system(),
        origin: Origin::Ours { size_bytes, fill },
        openers: Openers::None,
        fully_written: Some(true),
        unwritten: None,
        encoded_bytes: None,
        shared_bytes: None,
        not_writable: None,
    }
}

/// A file not created by diskspd.
pub(crate) fn theirs(inode: u64, size_bytes: u64) -> RegularFacts {
    let origin = Origin::Foreign { evidence: "it has no diskspd mark".to_owned() };
    RegularFacts { origin, ..ours(inode, size_bytes, Fill::Ramp) }
}

/// A profile of one timespan.
pub(crate) fn profile(time_span: TimeSpan) -> Profile {
    Profile { time_spans: vec![time_span], ..Profile::default() }
}

/// A timespan of these targets.
pub(crate) fn span(targets: impl IntoIterator<Item = Target>) -> TimeSpan {
    TimeSpan { targets: targets.into_iter().collect(), ..TimeSpan::default() }
}

/// A target with one request per thread and changes.
pub(crate) fn target(path: &str, change: impl FnOnce(&mut Target)) -> Target {
    let mut target = Target { outstanding: 1, ..Target::new(path) };
    change(&mut target);
    target
}

/// The refusals, each with its exit status and message.
pub(crate) fn refusals(profile: &Profile, facts: &Facts, choices: &Choices) -> Vec<(u8, String)> {
    let status = |refusal: Refusal| match refusal.kind {
        RefusalKind::Invalid => (3, refusal.message),
        RefusalKind::Impossible => (1, refusal.message),
    };
    crate::plan(profile, facts, choices).err().unwrap_or_default().into_iter().map(status).collect()
}

/// The plan of a profile that must be valid.
pub(crate) fn planned(profile: &Profile, facts: &Facts) -> Plan {
    crate::plan(profile, facts, &Choices::default()).unwrap_or_else(|refusals| panic!("{refusals:#?}"))
}
