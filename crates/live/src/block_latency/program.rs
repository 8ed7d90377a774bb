//! The two programs, made for the layout of this kernel's tracepoints.

use host::Tracepoint;
use sys::bpf::instruction::Operation::{Add, And, Or, ShiftLeft, ShiftRight, Subtract};
use sys::bpf::instruction::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use sys::bpf::instruction::{Function, Instruction, Width, load_table, ret};

/// Offsets on the stack at which keys and values are built.
const KEY: i16 = -16;
const KEY_SECOND_WORD: i16 = -12;
const KEY_SECOND_HALF: i16 = -8;
const VALUE: i16 = -24;

/// Numbers of buckets are below this; writes have it added.
const WRITE: u32 = 256;
const WRITE_SHIFT: i32 = 8;

/// Major and minor number as the kernel keeps them itself (`MINORBITS`).
const MINOR_BITS: u32 = 20;

/// Major and minor number in a key.
pub(super) const fn disk(word: u32) -> (u32, u32) {
    (word >> MINOR_BITS, word & ((1 << MINOR_BITS) - 1))
}

/// True if the second word of a key counts writes.
pub(super) const fn is_write(word: u32) -> bool {
    word >= WRITE
}

/// The bucket in the second word of a key.
pub(super) const fn bucket(word: u32) -> u32 {
    word % WRITE
}

fn offset(tracepoint: &Tracepoint, field: &str) -> Result<i16, String> {
    let found = tracepoint.offsets.get(field).and_then(|&offset| i16::try_from(offset).ok());
    found.ok_or_else(|| format!("this kernel's block request tracepoint has no field '{field}'"))
}

/// Puts disk and sector on the stack, as a key; `R6` is the tracepoint's record.
fn request_key(tracepoint: &Tracepoint) -> Result<Vec<Instruction>, String> {
    Ok(vec![
        Instruction::move_register(R6, R1),
        Instruction::load(Width::Word, R1, R6, offset(tracepoint, "dev")?),
        Instruction::store(Width::Word, R10, KEY, R1),
        Instruction::set(R1, 0),
        Instruction::store(Width::Word, R10, KEY_SECOND_WORD, R1),
        Instruction::load(Width::Double, R1, R6, offset(tracepoint, "sector")?),
        Instruction::store(Width::Double, R10, KEY_SECOND_HALF, R1),
    ])
}

/// The arguments of a call: a table, and the address of the key on the stack.
fn table_and_key(table: i32) -> Vec<Instruction> {
    let mut code = load_table(R1, table).to_vec();
    code.extend([Instruction::move_register(R2, R10), Instruction::with_constant(Add, R2, KEY.into())]);
    code
}

/// Stores what is at [`VALUE`] under the key.
fn update(table: i32) -> Vec<Instruction> {
    let mut code = table_and_key(table);
    code.extend([
        Instruction::move_register(R3, R10),
        Instruction::with_constant(Add, R3, VALUE.into()),
        Instruction::set(R4, 0),
        Instruction::call(Function::Update),
    ]);
    code
}

fn end() -> [Instruction; 2] {
    [Instruction::set(R0, 0), ret()]
}

/// Keeps the time at which a request was issued.
pub(super) fn at_issue(issue: &Tracepoint, requests: i32) -> Result<Vec<Instruction>, String> {
    let mut code = request_key(issue)?;
    code.extend([Instruction::call(Function::Now), Instruction::store(Width::Double, R10, VALUE, R0)]);
    code.extend(update(requests));
    code.extend(end());
    Ok(code)
}

/// Counts the time since then in a bucket.
pub(super) fn at_completion(complete: &Tracepoint, requests: i32, buckets: i32) -> Result<Vec<Instruction>, String> {
    let mut code = request_key(complete)?;
    code.extend(table_and_key(requests));
    code.push(Instruction::call(Function::Lookup));
    code.push(Instruction::skip_if_different(R0, 0, 2));
    code.extend(end());
    code.push(Instruction::load(Width::Double, R7, R0, 0));
    code.extend(table_and_key(requests));
    code.push(Instruction::call(Function::Delete));
    code.push(Instruction::call(Function::Now));
    code.extend([Instruction::move_register(R8, R0), Instruction::with_register(Subtract, R8, R7)]);
    code.extend(direction(offset(complete, "rwbs")?));
    code.extend(bucket_of_r8());
    code.extend([
        // The disk is in the key's first word already.
        Instruction::with_constant(ShiftLeft, R9, WRITE_SHIFT),
        Instruction::with_register(Or, R9, R1),
        Instruction::store(Width::Word, R10, KEY_SECOND_WORD, R9),
    ]);
    code.extend(table_and_key(buckets));
    code.push(Instruction::call(Function::Lookup));
    code.push(Instruction::skip_if_equal(R0, 0, 4));
    code.extend([Instruction::set(R1, 1), Instruction::add_in_memory(R0, 0, R1)]);
    code.extend(end());
    code.extend([Instruction::set(R1, 1), Instruction::store(Width::Double, R10, VALUE, R1)]);
    code.extend(update(buckets));
    code.extend(end());
    Ok(code)
}

/// 0 or 1 in `R9` for reads or writes; others end the program. The kernel writes the kind as letters: `R`, `W`, and `F`
/// before them for a flush.
fn direction(rwbs: i16) -> Vec<Instruction> {
    let mut code = vec![
        Instruction::load(Width::Byte, R1, R6, rwbs),
        Instruction::skip_if_different(R1, b'F'.into(), 1),
        Instruction::load(Width::Byte, R1, R6, rwbs + 1),
        Instruction::set(R9, 0),
        Instruction::skip_if_equal(R1, b'R'.into(), 4),
        Instruction::set(R9, 1),
        Instruction::skip_if_equal(R1, b'W'.into(), 2),
    ];
    code.extend(end());
    code
}

/// The bucket of the time in `R8`, in `R1`: four times its power of two, and the two bits below the highest.
fn bucket_of_r8() -> Vec<Instruction> {
    // So that there are always two bits below the highest.
    let mut code = vec![Instruction::set(R1, 4), Instruction::with_register(Or, R8, R1)];
    code.extend([Instruction::set(R1, 0), Instruction::move_register(R2, R8)]);
    for bits in [32, 16, 8, 4, 2, 1] {
        code.extend([
            Instruction::move_register(R3, R2),
            Instruction::with_constant(ShiftRight, R3, bits),
            Instruction::skip_if_equal(R3, 0, 2),
            Instruction::with_constant(Add, R1, bits),
            Instruction::move_register(R2, R3),
        ]);
    }
    code.extend([
        Instruction::move_register(R4, R1),
        Instruction::with_constant(Add, R4, -2),
        Instruction::with_register(ShiftRight, R8, R4),
        Instruction::with_constant(And, R8, 3),
        Instruction::with_constant(ShiftLeft, R1, 2),
        Instruction::with_register(Or, R1, R8),
    ]);
    code
}
