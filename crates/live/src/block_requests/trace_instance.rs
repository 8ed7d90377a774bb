//! Steps of requests from the kernel's own tracing: events of an instance of tracefs, which needs no eBPF.

use super::{BUFFER_BYTES, Fields, Point, device_number, ring_page, word};
use host::{Root, process_exists, process_of_thread, tracefs};
use model::block_step::{BlockStep, StepKind};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Names of instances are this and the id of the process that made them.
const PREFIX: &str = "diskspd-";

/// Offset of the thread in each record; before it are the tracepoint's id and flags.
const THREAD: i16 = 4;

/// Pages have at most this many bytes, on any machine.
const PAGE_BYTES_MAX: usize = 64 << 10;

/// Buffer of a CPU at least.
const CPU_KIB_MIN: usize = 1024;

/// Counts of entries that found no room, in `per_cpu/*/stats`.
const LOST_COUNTS: [&str; 3] = ["overrun: ", "commit overrun: ", "dropped events: "];

/// An instance, removed when this is dropped.
#[derive(Debug)]
pub(super) struct TraceInstance {
    root: Root,
    folder: PathBuf,
    cpus: Vec<Cpu>,
    points: HashMap<u16, (StepKind, Fields)>,
    page: Box<[u8]>,
    /// Steps before which others may still be unread.
    held: Vec<BlockStep>,
    processes: HashMap<u32, u32>,
}

#[derive(Debug)]
struct Cpu {
    folder: PathBuf,
    pages: File,
}

impl TraceInstance {
    /// Makes the instance and enables its events, for one disk or, with `None`, for all.
    pub(super) fn begin(root: &Root, points: &[Point], disk: Option<(u32, u32)>) -> Result<Self, String> {
        let instances = tracefs(root)?.join("instances");
        remove_abandoned(root, &instances);
        let folder = instances.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&folder).map_err(|error| format!("cannot create '{}': {error}", folder.display()))?;
        let page = vec![0; PAGE_BYTES_MAX].into_boxed_slice();
        let by_id = points.iter().map(|point| (point.tracepoint.id as u16, (point.kind, point.fields)));
        let mut instance = Self {
            root: root.clone(),
            folder,
            cpus: Vec::new(),
            points: by_id.collect(),
            page,
            held: Vec::new(),
            processes: HashMap::new(),
        };
        instance.open_cpus()?;
        // CLOCK_MONOTONIC; full buffers drop new entries, which are counted.
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "0")?;
        let cpu_kib = (BUFFER_BYTES as usize / 1024 / instance.cpus.len().max(1)).max(CPU_KIB_MIN);
        instance.set("buffer_size_kb", &cpu_kib.to_string())?;
        for Point { name, .. } in points {
            if let Some(disk) = disk {
                instance.set(&format!("events/{name}/filter"), &format!("dev == {}", device_number(disk)?))?;
            }
            instance.set(&format!("events/{name}/enable"), "1")?;
        }
        Ok(instance)
    }

    fn open_cpus(&mut self) -> Result<(), String> {
        let error = |path: &Path, error| format!("cannot read '{}': {error}", path.display());
        let all = self.folder.join("per_cpu");
        for cpu in fs::read_dir(&all).map_err(|reason| error(&all, reason))? {
            let folder = cpu.map_err(|reason| error(&all, reason))?.path();
            let path = folder.join("trace_pipe_raw");
            // Reading does not wait for entries.
            let pages = sys::file::open_to_look(&path).map_err(|reason| error(&path, reason))?;
            self.cpus.push(Cpu { folder, pages });
        }
        Ok(())
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        let path = self.folder.join(file);
        fs::write(&path, value).map_err(|error| format!("cannot write '{}': {error}", path.display()))
    }

    /// Gives the steps of all CPUs in their order.
    pub(super) fn take(&mut self, each: impl FnMut(BlockStep)) -> usize {
        let Self { root, cpus, points, page, held, processes, .. } = self;
        let now_ns = sys::clock::monotonic_ns();
        for cpu in cpus {
            let mut last_ns = 0;
            // Entries that come meanwhile can wait.
            while last_ns < now_ns
                && let Ok(length @ 1..) = cpu.pages.read(page)
            {
                ring_page::for_each_entry(&page[..length], |time_ns, record| {
                    last_ns = time_ns;
                    let id = record.first_chunk().map_or(0, |id| u16::from_ne_bytes(*id));
                    let Some((kind, fields)) = points.get(&id) else { return };
                    let thread = word(record, THREAD);
                    let pid = match kind {
                        StepKind::Completed => 0,
                        _ => *processes.entry(thread).or_insert_with(|| process_of_thread(root, thread)),
                    };
                    held.push(fields.step(record, *kind, time_ns, pid));
                });
            }
        }
        held.sort_by_key(|step| step.time_ns);
        // Of each CPU, all entries before now have been read.
        let complete = held.partition_point(|step| step.time_ns < now_ns);
        held.drain(..complete).for_each(each);
        complete
    }

    /// Entries that found no room.
    pub(super) fn lost(&self) -> u64 {
        let count = |line: &str| LOST_COUNTS.iter().find_map(|name| line.strip_prefix(name)?.parse::<u64>().ok());
        let lost = |cpu: &Cpu| {
            let stats = fs::read_to_string(cpu.folder.join("stats")).unwrap_or_default();
            stats.lines().filter_map(count).sum::<u64>()
        };
        self.cpus.iter().map(lost).sum()
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        // The kernel removes no instance with open files.
        self.cpus.clear();
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Removes instances of processes that were killed. Those in use by a process that this one cannot see are busy.
fn remove_abandoned(root: &Root, instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse().ok());
        if pid.is_some_and(|pid| !process_exists(root, pid)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_an_instance_where_it_may_and_abandoned_ones_are_removed() {
        let root = Root::machine();
        let points = match super::super::points(&root) {
            Ok(points) => points,
            Err(reason) => testkit::skip!("no tracepoints here: {reason}"),
        };
        let instances = tracefs(&root).expect("it has tracepoints").join("instances");
        let abandoned = instances.join(format!("{PREFIX}4194305"));
        if let Err(error) = fs::create_dir(&abandoned) {
            testkit::skip!("no instances here: {error}");
        }
        let mut instance = TraceInstance::begin(&root, &points, Some((7, 0))).expect("there may be others");
        instance.take(drop);
        assert_eq!(instance.lost(), 0);
        let folder = instance.folder.clone();
        assert!(folder.exists() && !abandoned.exists());
        drop(instance);
        assert!(!folder.exists());
    }
}
