//! Requests of block devices, one by one: programs in the kernel put each step of each request into a ring buffer.

use crate::block_latency::refused;
use host::{Root, Tracepoint, tracepoint};
use model::block_step::{BlockStep, StepKind};
use sys::bpf::instruction::Function::{self, CurrentProcess, Now, RingOutput};
use sys::bpf::instruction::Operation::Add;
use sys::bpf::instruction::Register::{R0, R1, R2, R3, R4, R6, R10};
use sys::bpf::instruction::{Instruction, Width, load_table, ret};
use sys::bpf::ring_buffer::{NO_WAKE, RingBuffer};
use sys::bpf::{Attached, HashTable, attach};

/// Room for 400,000 steps: a second of 100,000 requests per second is three quarters of it.
const RING_BYTES: u32 = 32 << 20;

/// Bytes of a record in the ring.
const RECORD_BYTES: i16 = 72;

/// Offsets of its fields.
const TIME: i16 = 0;
const SECTOR: i16 = 8;
const DEVICE: i16 = 16;
const BYTES: i16 = 20;
const SECTORS: i16 = 24;
const KIND: i16 = 28;
const PROCESS: i16 = 32;
const LETTERS: i16 = 40;
const LETTERS_BYTES: i16 = 10;
const NAME: i16 = 56;
const NAME_BYTES: i16 = 16;

/// The record is built here, below the frame.
const RECORD: i16 = -RECORD_BYTES;
/// Key and value of the count of lost steps.
const KEY: i16 = RECORD - 8;
const VALUE: i16 = KEY - 8;

const SECTOR_BYTES: u64 = 512;

/// Major and minor number as the kernel keeps them (`MINORBITS`).
const MINOR_BITS: u32 = 20;

/// Attached programs, and what they found.
#[derive(Debug)]
pub struct BlockRequestWatch {
    _programs: Vec<Attached>,
    lost: HashTable<8>,
    ring: RingBuffer,
}

impl BlockRequestWatch {
    /// Loads and attaches the programs, for one disk or, with `None`, for all.
    ///
    /// # Errors
    ///
    /// A sentence that names the missing privilege or feature.
    pub fn begin(root: &Root, disk: Option<(u32, u32)>) -> Result<Self, String> {
        let ring = RingBuffer::create(RING_BYTES).map_err(|error| refused(&error))?;
        let lost = HashTable::create(1).map_err(|error| refused(&error))?;
        // Later steps first: those of requests whose issue was not seen are skipped.
        let mut points = vec![
            (StepKind::Completed, tracepoint(root, "block/block_rq_complete")?),
            (StepKind::Requeued, tracepoint(root, "block/block_rq_requeue")?),
            (StepKind::Issued, tracepoint(root, "block/block_rq_issue")?),
        ];
        // The process that asked; without it (before Linux 6.5) the one that was running when the driver got it.
        points.extend(tracepoint(root, "block/block_io_start").ok().map(|point| (StepKind::Queued, point)));
        let attach = |(kind, point): (StepKind, Tracepoint)| {
            let code = program(kind, &point, disk, (ring.number(), lost.number()))?;
            attach(&code, point.id).map_err(|error| refused(&error))
        };
        let programs = points.into_iter().map(attach).collect::<Result<_, String>>()?;
        Ok(Self { _programs: programs, lost, ring })
    }

    /// Gives the steps since the last call to `each`, and makes room for others; gives their number.
    pub fn take(&mut self, mut each: impl FnMut(BlockStep)) -> usize {
        self.ring.take(|record| each(step(record)))
    }

    /// Steps that found no room.
    pub fn lost(&self) -> u64 {
        let entries = self.lost.entries().unwrap_or_default();
        entries.into_iter().map(|(_, count)| count).sum()
    }
}

/// The step of a record.
fn step(record: &[u8]) -> BlockStep {
    let bytes = |at: i16, count: i16| record.get(at as usize..(at + count) as usize).unwrap_or_default();
    let word = |at| bytes(at, 4).first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
    let double = |at| bytes(at, 8).first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
    let text = |at, count| {
        let bytes = bytes(at, count);
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let device = word(DEVICE);
    let (sectors, length) = (u64::from(word(SECTORS)) * SECTOR_BYTES, u64::from(word(BYTES)));
    let sector = double(SECTOR);
    BlockStep {
        kind: StepKind::ALL[word(KIND) as usize % StepKind::ALL.len()],
        time_ns: double(TIME),
        device: (device >> MINOR_BITS, device & ((1 << MINOR_BITS) - 1)),
        // The kernel's own flushes have none.
        sector: if sector == u64::MAX { 0 } else { sector },
        bytes: if length > 0 { length } else { sectors },
        letters: text(LETTERS, LETTERS_BYTES),
        pid: (double(PROCESS) >> 32) as u32,
        name: text(NAME, NAME_BYTES),
    }
}

fn offset(tracepoint: &Tracepoint, field: &str) -> Result<i16, String> {
    let found = tracepoint.offsets.get(field).and_then(|&offset| i16::try_from(offset).ok());
    found.ok_or_else(|| format!("this kernel's block request tracepoint has no field '{field}'"))
}

/// A field of the tracepoint, or 0 if it has none, at a place of the record.
fn copy(width: Width, from: Option<i16>, at: i16) -> [Instruction; 2] {
    let load = from.map_or(Instruction::set(R1, 0), |from| Instruction::load(width, R1, R6, from));
    [load, Instruction::store(width, R10, RECORD + at, R1)]
}

/// Puts a step at this tracepoint into the ring.
fn program(
    kind: StepKind,
    point: &Tracepoint,
    disk: Option<(u32, u32)>,
    (ring, lost): (i32, i32),
) -> Result<Vec<Instruction>, String> {
    let field = |name| offset(point, name);
    let device = field("dev")?;
    let mut code = vec![Instruction::move_register(R6, R1), Instruction::load(Width::Word, R1, R6, device)];
    if let Some((major, minor)) = disk {
        let number = i32::try_from(major << MINOR_BITS | minor).map_err(|_| "the number of the disk is too high")?;
        code.push(Instruction::skip_if_equal(R1, number, 2));
        code.extend(end());
    }
    code.push(Instruction::store(Width::Word, R10, RECORD + DEVICE, R1));
    code.extend(copy(Width::Double, Some(field("sector")?), SECTOR));
    code.extend(copy(Width::Word, Some(field("nr_sector")?), SECTORS));
    code.extend(copy(Width::Word, field("bytes").ok(), BYTES));
    // Bytes behind the letters are read by nobody, but the kernel wants all of a record to be set.
    for at in [LETTERS, LETTERS + 8] {
        code.extend(copy(Width::Double, None, at));
    }
    let letters = field("rwbs")?;
    for byte in 0..LETTERS_BYTES {
        code.extend(copy(Width::Byte, Some(letters + byte), LETTERS + byte));
    }
    let name = field("comm").ok();
    for word in (0..NAME_BYTES).step_by(4) {
        // It may lie at any offset; one that is not a multiple of 4 is read byte by byte.
        match name {
            Some(name) if name % 4 != 0 => {
                for byte in word..word + 4 {
                    code.extend(copy(Width::Byte, Some(name + byte), NAME + byte));
                }
            }
            _ => code.extend(copy(Width::Word, name.map(|name| name + word), NAME + word)),
        }
    }
    code.extend([Instruction::set(R1, kind as i32), Instruction::store(Width::Word, R10, RECORD + KIND, R1)]);
    for (function, at) in [(CurrentProcess, PROCESS), (Now, TIME)] {
        code.extend([Instruction::call(function), Instruction::store(Width::Double, R10, RECORD + at, R0)]);
    }
    code.extend(load_table(R1, ring));
    code.extend(address(R2, RECORD));
    code.extend([
        Instruction::set(R3, RECORD_BYTES.into()),
        Instruction::set(R4, NO_WAKE),
        Instruction::call(RingOutput),
        Instruction::skip_if_different(R0, 0, 2),
    ]);
    code.extend(end());
    code.extend(count(lost));
    code.extend(end());
    Ok(code)
}

fn end() -> [Instruction; 2] {
    [Instruction::set(R0, 0), ret()]
}

/// The address of something on the stack.
fn address(register: sys::bpf::instruction::Register, at: i16) -> [Instruction; 2] {
    [Instruction::move_register(register, R10), Instruction::with_constant(Add, register, at.into())]
}

/// Adds 1 to the only count of a table.
fn count(table: i32) -> Vec<Instruction> {
    let mut code = vec![Instruction::set(R1, 0), Instruction::store(Width::Double, R10, KEY, R1)];
    code.extend(load_table(R1, table));
    code.extend(address(R2, KEY));
    code.extend([
        Instruction::call(Function::Lookup),
        Instruction::skip_if_equal(R0, 0, 4),
        Instruction::set(R1, 1),
        Instruction::add_in_memory(R0, 0, R1),
    ]);
    code.extend(end());
    code.extend([Instruction::set(R1, 1), Instruction::store(Width::Double, R10, VALUE, R1)]);
    code.extend(load_table(R1, table));
    code.extend(address(R2, KEY));
    code.extend(address(R3, VALUE));
    code.extend([Instruction::set(R4, 0), Instruction::call(Function::Update)]);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_step() {
        let mut record = vec![0; RECORD_BYTES as usize];
        let mut put = |at: i16, bytes: &[u8]| record[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
        put(TIME, &77_u64.to_ne_bytes());
        put(SECTOR, &8_u64.to_ne_bytes());
        put(DEVICE, &(254_u32 << 20 | 3).to_ne_bytes());
        put(SECTORS, &2_u32.to_ne_bytes());
        put(KIND, &(StepKind::Completed as u32).to_ne_bytes());
        put(PROCESS, &(0x9_u64 << 32 | 0xb).to_ne_bytes());
        put(LETTERS, b"WFS");
        put(NAME, b"app");
        let expected = BlockStep {
            kind: StepKind::Completed,
            time_ns: 77,
            device: (254, 3),
            sector: 8,
            bytes: 1024,
            letters: "WFS".to_owned(),
            pid: 9,
            name: "app".to_owned(),
        };
        assert_eq!(step(&record), expected);
    }

    #[test]
    fn the_kernel_takes_the_programs_where_it_may() {
        for disk in [None, Some((254, 0))] {
            match BlockRequestWatch::begin(&Root::machine(), disk) {
                Ok(mut watch) => {
                    watch.take(drop);
                    assert_eq!(watch.lost(), 0);
                }
                Err(reason) => testkit::skip!("no eBPF here: {reason}"),
            }
        }
    }
}
