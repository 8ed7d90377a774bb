//! Instructions of eBPF, in the kernel's encoding (`linux/bpf_common.h`, `linux/bpf.h`; RFC 9669).

/// The registers: `R0` holds results, `R1` to `R5` are arguments, `R6` to `R9` are preserved over calls, `R10` is the
/// frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// Number of bytes loaded or stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One.
    Byte,
    /// Four.
    Word,
    /// Eight.
    Double,
}

impl Width {
    const fn code(self) -> u8 {
        match self {
            Self::Word => 0x00,
            Self::Byte => 0x10,
            Self::Double => 0x18,
        }
    }
}

/// Operation on two values of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Or,
    And,
    ShiftLeft,
    ShiftRight,
}

impl Operation {
    const fn code(self) -> u8 {
        match self {
            Self::Add => 0x00,
            Self::Subtract => 0x10,
            Self::Or => 0x40,
            Self::And => 0x50,
            Self::ShiftLeft => 0x60,
            Self::ShiftRight => 0x70,
        }
    }
}

/// Functions of the kernel, by their numbers in `linux/bpf.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `R1` table, `R2` address of the key: address of the value, or 0.
    Lookup = 1,
    /// `R1` table, `R2` address of the key, `R3` of the value, `R4` flags.
    Update = 2,
    /// `R1` table, `R2` address of the key.
    Delete = 3,
    /// Nanoseconds of the monotonic clock.
    Now = 5,
    /// Process (upper half) and thread.
    CurrentProcess = 14,
    /// `R1` ring buffer, `R2` address of the record, `R3` its bytes, `R4` flags: 0 if there was room.
    RingOutput = 130,
}

/// One instruction, or half of one that has a constant of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    destination: u8,
    source: u8,
    offset: i16,
    constant: i32,
}

/// A constant, not a register.
const CONSTANT: u8 = 0x00;
const REGISTER: u8 = 0x08;

impl Instruction {
    const fn new(code: u8, destination: Register, source: u8, offset: i16, constant: i32) -> Self {
        Self { code, destination: destination as u8, source, offset, constant }
    }

    /// `destination = constant`
    pub const fn set(destination: Register, constant: i32) -> Self {
        Self::new(0xb7 | CONSTANT, destination, 0, 0, constant)
    }

    /// `destination = source`
    pub const fn move_register(destination: Register, source: Register) -> Self {
        Self::new(0xb7 | REGISTER, destination, source as u8, 0, 0)
    }

    /// `destination = destination operation constant`
    pub const fn with_constant(operation: Operation, destination: Register, constant: i32) -> Self {
        Self::new(0x07 | operation.code() | CONSTANT, destination, 0, 0, constant)
    }

    /// `destination = destination operation source`
    pub const fn with_register(operation: Operation, destination: Register, source: Register) -> Self {
        Self::new(0x07 | operation.code() | REGISTER, destination, source as u8, 0, 0)
    }

    /// `destination = *(source + offset)`
    pub const fn load(width: Width, destination: Register, source: Register, offset: i16) -> Self {
        Self::new(0x61 | width.code(), destination, source as u8, offset, 0)
    }

    /// `*(destination + offset) = source`
    pub const fn store(width: Width, destination: Register, offset: i16, source: Register) -> Self {
        Self::new(0x63 | width.code(), destination, source as u8, offset, 0)
    }

    /// `*(destination + offset) += source`, eight bytes, atomically.
    pub const fn add_in_memory(destination: Register, offset: i16, source: Register) -> Self {
        Self::new(0xdb, destination, source as u8, offset, 0)
    }

    /// Skips `count` instructions if `register == constant`.
    pub const fn skip_if_equal(register: Register, constant: i32, count: i16) -> Self {
        Self::new(0x15, register, 0, count, constant)
    }

    /// Skips `count` instructions if `register != constant`.
    pub const fn skip_if_different(register: Register, constant: i32, count: i16) -> Self {
        Self::new(0x55, register, 0, count, constant)
    }

    /// Calls a function of the kernel.
    pub const fn call(function: Function) -> Self {
        Self::new(0x85, Register::R0, 0, 0, function as i32)
    }

    /// The kernel's encoding.
    pub(super) fn encoded(&self) -> u64 {
        let mut bytes = [0; 8];
        bytes[0] = self.code;
        let (low, high) = if cfg!(target_endian = "little") {
            (self.destination, self.source)
        } else {
            (self.source, self.destination)
        };
        bytes[1] = low | high << 4;
        bytes[2..4].copy_from_slice(&self.offset.to_ne_bytes());
        bytes[4..].copy_from_slice(&self.constant.to_ne_bytes());
        u64::from_ne_bytes(bytes)
    }
}

/// `destination = table`: two halves.
pub const fn load_table(destination: Register, number: i32) -> [Instruction; 2] {
    const TABLE: u8 = 1;
    [Instruction::new(0x18, destination, TABLE, 0, number), Instruction::new(0, Register::R0, 0, 0, 0)]
}

/// Ends the program; `R0` is its result.
pub const fn ret() -> Instruction {
    Instruction::new(0x95, Register::R0, 0, 0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_what_a_disassembler_reads() {
        // As disassembled by llvm-objdump.
        for (instruction, bytes) in [
            (Instruction::move_register(Register::R6, Register::R1), [0xbf, 0x16, 0, 0, 0, 0, 0, 0]),
            (Instruction::load(Width::Word, Register::R1, Register::R6, 8), [0x61, 0x61, 8, 0, 0, 0, 0, 0]),
            (Instruction::load(Width::Byte, Register::R1, Register::R6, 32), [0x71, 0x61, 32, 0, 0, 0, 0, 0]),
            (Instruction::store(Width::Double, Register::R10, -8, Register::R1), [0x7b, 0x1a, 0xf8, 0xff, 0, 0, 0, 0]),
            (Instruction::with_constant(Operation::Add, Register::R2, -16), [0x07, 0x02, 0, 0, 0xf0, 0xff, 0xff, 0xff]),
            (
                Instruction::with_register(Operation::ShiftRight, Register::R3, Register::R4),
                [0x7f, 0x43, 0, 0, 0, 0, 0, 0],
            ),
            (Instruction::skip_if_equal(Register::R0, 0, 5), [0x15, 0, 5, 0, 0, 0, 0, 0]),
            (Instruction::call(Function::Now), [0x85, 0, 0, 0, 5, 0, 0, 0]),
            (Instruction::add_in_memory(Register::R0, 0, Register::R1), [0xdb, 0x10, 0, 0, 0, 0, 0, 0]),
            (load_table(Register::R1, 7)[0], [0x18, 0x11, 0, 0, 7, 0, 0, 0]),
            (ret(), [0x95, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(instruction.encoded().to_le_bytes(), bytes, "{instruction:?}");
        }
    }
}
