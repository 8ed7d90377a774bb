//! Steps of requests from programs in the kernel (eBPF).

use super::{BUFFER_BYTES, Fields, LETTERS_BYTES, NAME_BYTES, Point, device_number, double, word};
use crate::block_latency::refused;
use model::block_step::{BlockStep, MissedSteps, StepKind};
use sys::bpf::instruction::Function::{self, CurrentProcess, Now, RingOutput};
use sys::bpf::instruction::Operation::Add;
use sys::bpf::instruction::Register::{R0, R1, R2, R3, R4, R6, R10};
use sys::bpf::instruction::{Instruction, Width, load_table, ret};
use sys::bpf::ring_buffer::{NO_WAKE, RingBuffer};
use sys::bpf::{Attached, HashTable, attach};

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
const NAME: i16 = 56;

/// Those that a tracepoint has, too.
const FIELDS: Fields =
    Fields { device: DEVICE, sector: SECTOR, sectors: SECTORS, bytes: Some(BYTES), letters: LETTERS, name: Some(NAME) };

/// The record is built here, below the frame.
const RECORD: i16 = -RECORD_BYTES;
/// Key and value of the count of lost steps.
const KEY: i16 = RECORD - 8;
const VALUE: i16 = KEY - 8;

/// Attached programs, and what they found. The buffer has room for 400,000 steps: a second of 100,000 requests per second
/// is three quarters of it.
#[derive(Debug)]
pub(super) struct Programs {
    attached: Vec<Attached>,
    lost: HashTable<8>,
    ring: RingBuffer,
}

impl Programs {
    /// Loads and attaches the programs, for one disk or, with `None`, for all.
    pub(super) fn begin(points: &[Point], disk: Option<(u32, u32)>) -> Result<Self, String> {
        let ring = RingBuffer::create(BUFFER_BYTES).map_err(|error| refused(&error))?;
        let lost = HashTable::create(1).map_err(|error| refused(&error))?;
        let disk = disk.map(device_number).transpose()?;
        let attach = |point: &Point| {
            let code = program(point, disk, (ring.number(), lost.number()));
            attach(&code, point.tracepoint.id).map_err(|error| refused(&error))
        };
        let attached = points.iter().map(attach).collect::<Result<_, String>>()?;
        Ok(Self { attached, lost, ring })
    }

    pub(super) fn take(&mut self, mut each: impl FnMut(BlockStep)) -> usize {
        self.ring.take(|record| each(step(record)))
    }

    pub(super) fn missed(&self) -> MissedSteps {
        let entries = self.lost.entries().unwrap_or_default();
        MissedSteps {
            without_room: entries.into_iter().map(|(_, count)| count).sum(),
            skipped: self.attached.iter().map(|program| program.skipped().unwrap_or(0)).sum(),
        }
    }
}

/// The step of a record.
fn step(record: &[u8]) -> BlockStep {
    let kind = StepKind::ALL[word(record, KIND) as usize % StepKind::ALL.len()];
    FIELDS.step(record, kind, double(record, TIME), (double(record, PROCESS) >> 32) as u32)
}

/// A field of the tracepoint, or 0 if it has none, at a place of the record.
fn copy(width: Width, from: Option<i16>, at: i16) -> [Instruction; 2] {
    let load = from.map_or(Instruction::set(R1, 0), |from| Instruction::load(width, R1, R6, from));
    [load, Instruction::store(width, R10, RECORD + at, R1)]
}

/// Puts a step at this tracepoint into the ring.
fn program(point: &Point, disk: Option<i32>, (ring, lost): (i32, i32)) -> Vec<Instruction> {
    let Fields { device, sector, sectors, bytes, letters, name } = point.fields;
    let mut code = vec![Instruction::move_register(R6, R1), Instruction::load(Width::Word, R1, R6, device)];
    if let Some(number) = disk {
        code.push(Instruction::skip_if_equal(R1, number, 2));
        code.extend(end());
    }
    code.push(Instruction::store(Width::Word, R10, RECORD + DEVICE, R1));
    code.extend(copy(Width::Double, Some(sector), SECTOR));
    code.extend(copy(Width::Word, Some(sectors), SECTORS));
    code.extend(copy(Width::Word, bytes, BYTES));
    // Bytes behind the letters are read by nobody, but the kernel wants all of a record to be set.
    for at in [LETTERS, LETTERS + 8] {
        code.extend(copy(Width::Double, None, at));
    }
    for byte in 0..LETTERS_BYTES {
        code.extend(copy(Width::Byte, Some(letters + byte), LETTERS + byte));
    }
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
    code.extend([Instruction::set(R1, point.kind as i32), Instruction::store(Width::Word, R10, RECORD + KIND, R1)]);
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
    code
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
    use host::Root;

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
            match super::super::points(&Root::machine()).and_then(|points| Programs::begin(&points, disk)) {
                Ok(mut programs) => {
                    programs.take(drop);
                    assert_eq!(programs.missed().without_room, 0);
                    assert!(programs.attached.iter().all(|program| program.skipped().is_ok()));
                }
                Err(reason) => testkit::skip!("no eBPF here: {reason}"),
            }
        }
    }
}
