//! Requests of block devices, one by one: programs in the kernel (eBPF) put each step of each request into a ring
//! buffer; where they are not allowed, the kernel's own tracing does.

mod programs;
mod ring_page;
mod trace_instance;

use host::{Root, Tracepoint, tracepoint};
use model::block_step::{BlockStep, MissedSteps, StepKind};
use programs::Programs;
use trace_instance::TraceInstance;

/// Bytes of the kernel's buffer.
const BUFFER_BYTES: u32 = 32 << 20;

const SECTOR_BYTES: u64 = 512;

/// Major and minor number as the kernel keeps them (`MINORBITS`).
const MINOR_BITS: u32 = 20;

/// Steps of requests, as they are made.
#[derive(Debug)]
pub struct BlockRequestWatch {
    source: Source,
    refusal: Option<String>,
}

#[derive(Debug)]
enum Source {
    Programs(Programs),
    Instance(TraceInstance),
}

impl BlockRequestWatch {
    /// Begins, for one disk or, with `None`, for all.
    ///
    /// # Errors
    ///
    /// A sentence that names the missing privilege or feature.
    pub fn begin(root: &Root, disk: Option<(u32, u32)>) -> Result<Self, String> {
        let points = points(root)?;
        let refusal = match Programs::begin(&points, disk) {
            Ok(programs) => return Ok(Self { source: Source::Programs(programs), refusal: None }),
            Err(reason) => reason,
        };
        match TraceInstance::begin(root, &points, disk) {
            Ok(instance) => Ok(Self { source: Source::Instance(instance), refusal: Some(refusal) }),
            Err(reason) => Err(format!("{refusal}; tracefs events instead: {reason}")),
        }
    }

    /// Gives the steps since the last call to `each`, and makes room for others; gives their number.
    pub fn take(&mut self, each: impl FnMut(BlockStep)) -> usize {
        match &mut self.source {
            Source::Programs(programs) => programs.take(each),
            Source::Instance(instance) => instance.take(each),
        }
    }

    /// Steps that are missing so far.
    pub fn missed(&self) -> MissedSteps {
        match &self.source {
            Source::Programs(programs) => programs.missed(),
            Source::Instance(instance) => MissedSteps { without_room: instance.lost(), skipped: 0 },
        }
    }

    /// The reason why the kernel's tracing is used; `None` = it is not.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }
}

/// The tracepoint of a step.
#[derive(Debug)]
struct Point {
    kind: StepKind,
    /// Its directory in `events`.
    name: &'static str,
    tracepoint: Tracepoint,
    fields: Fields,
}

/// The tracepoints of all steps, those of later steps first: steps of requests whose issue was not seen are skipped.
fn points(root: &Root) -> Result<Vec<Point>, String> {
    let point = |kind, name| -> Result<Point, String> {
        let tracepoint = tracepoint(root, name)?;
        let fields = Fields::from_tracepoint(&tracepoint)?;
        Ok(Point { kind, name, tracepoint, fields })
    };
    let mut points = vec![
        point(StepKind::Completed, "block/block_rq_complete")?,
        point(StepKind::Requeued, "block/block_rq_requeue")?,
        point(StepKind::Issued, "block/block_rq_issue")?,
    ];
    // The process that asked; without it (before Linux 6.5) the one that was running when the driver got it.
    points.extend(point(StepKind::Queued, "block/block_io_start").ok());
    Ok(points)
}

/// Offsets of the fields of a record.
#[derive(Clone, Copy, Debug)]
struct Fields {
    device: i16,
    sector: i16,
    sectors: i16,
    bytes: Option<i16>,
    letters: i16,
    name: Option<i16>,
}

/// Bytes of the letters and of the name of a thread.
const LETTERS_BYTES: i16 = 10;
const NAME_BYTES: i16 = 16;

impl Fields {
    fn from_tracepoint(tracepoint: &Tracepoint) -> Result<Self, String> {
        let offset = |field: &str| {
            let found = tracepoint.offsets.get(field).and_then(|&offset| i16::try_from(offset).ok());
            found.ok_or_else(|| format!("this kernel's block request tracepoint has no field '{field}'"))
        };
        Ok(Self {
            device: offset("dev")?,
            sector: offset("sector")?,
            sectors: offset("nr_sector")?,
            bytes: offset("bytes").ok(),
            letters: offset("rwbs")?,
            name: offset("comm").ok(),
        })
    }

    /// The step of a record; fields beyond its end are 0 or empty.
    fn step(&self, record: &[u8], kind: StepKind, time_ns: u64, pid: u32) -> BlockStep {
        let text = |at, count| {
            let bytes = part(record, at, count);
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        let device = word(record, self.device);
        let sector = double(record, self.sector);
        let sectors_bytes = u64::from(word(record, self.sectors)) * SECTOR_BYTES;
        let bytes = self.bytes.map_or(0, |at| u64::from(word(record, at)));
        BlockStep {
            kind,
            time_ns,
            device: (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1)),
            // The kernel's own flushes have none.
            sector: if sector == u64::MAX { 0 } else { sector },
            bytes: if bytes > 0 { bytes } else { sectors_bytes },
            letters: text(self.letters, LETTERS_BYTES),
            pid,
            name: self.name.map(|at| text(at, NAME_BYTES)).unwrap_or_default(),
        }
    }
}

fn part(record: &[u8], at: i16, count: i16) -> &[u8] {
    let end = record.len().min((at + count) as usize);
    record.get(at as usize..end).unwrap_or_default()
}

fn word(record: &[u8], at: i16) -> u32 {
    part(record, at, 4).first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes))
}

fn double(record: &[u8], at: i16) -> u64 {
    part(record, at, 8).first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// The number of a disk in filters and records.
fn device_number((major, minor): (u32, u32)) -> Result<i32, String> {
    i32::try_from(major << MINOR_BITS | minor).map_err(|_| "the number of the disk is too high".to_owned())
}
