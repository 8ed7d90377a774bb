//! Small programs that the kernel runs at its tracepoints (eBPF), and the maps that they share with us.
//!
//! See bpf(2). Calls need `CAP_BPF` and `CAP_PERFMON`, or root.

pub mod instruction;
pub mod ring_buffer;

use instruction::Instruction;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Commands of bpf(2), from `linux/bpf.h`.
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP_ELEM: libc::c_long = 1;
const MAP_GET_NEXT_KEY: libc::c_long = 4;
const PROG_LOAD: libc::c_long = 5;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;

/// `struct bpf_prog_info` up to `recursion_misses`, its last word.
type ProgramInfo = [u64; 27];

const MAP_TYPE_HASH: u32 = 1;
const PROG_TYPE_TRACEPOINT: u32 = 5;

/// From `linux/perf_event.h`.
const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_EVENT_ATTR_BYTES: u32 = 128;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
/// `_IO('$', 0)` and `_IOW('$', 8, __u32)`.
const PERF_EVENT_IOC_ENABLE: libc::c_ulong = 0x2400;
const PERF_EVENT_IOC_SET_BPF: libc::c_ulong = 0x4004_2408;

/// The maximum length of the kernel's log on a program that it rejects.
const LOG_BYTES: usize = 64 << 10;

/// The licence declared to the kernel: some of its functions are only for programs under a GPL-compatible licence.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";

/// `union bpf_attr`, as far as it is used here.
type Attributes = [u64; 16];

fn bpf(command: libc::c_long, attributes: &mut Attributes) -> io::Result<i32> {
    // SAFETY: the kernel reads and writes at most as many bytes as the size says, which are those of `attributes`;
    // the addresses in it are of memory that the callers below keep for the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_mut_ptr(), size_of::<Attributes>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

fn owned(number: i32) -> OwnedFd {
    // SAFETY: the kernel has just created it, so nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Two numbers of 32 bits in memory order.
const fn pair(first: u32, second: u32) -> u64 {
    if cfg!(target_endian = "little") {
        first as u64 | (second as u64) << 32
    } else {
        (first as u64) << 32 | second as u64
    }
}

/// A hash table shared with programs.
#[derive(Debug)]
pub struct HashTable<const KEY_BYTES: usize>(OwnedFd);

impl<const KEY_BYTES: usize> HashTable<KEY_BYTES> {
    /// A table from keys to counts, of at most `entries_max` entries.
    ///
    /// # Errors
    ///
    /// If the kernel permits none (`EPERM`), or does not support tables.
    pub fn create(entries_max: u32) -> io::Result<Self> {
        let mut attributes = Attributes::default();
        attributes[0] = pair(MAP_TYPE_HASH, KEY_BYTES as u32);
        attributes[1] = pair(size_of::<u64>() as u32, entries_max);
        bpf(MAP_CREATE, &mut attributes).map(|number| Self(owned(number)))
    }

    /// Its number in programs.
    pub fn number(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Its current entries, in no order.
    ///
    /// # Errors
    ///
    /// Those of bpf(2); entries that are added or removed meanwhile may be missing.
    pub fn entries(&self) -> io::Result<Vec<([u8; KEY_BYTES], u64)>> {
        let mut entries = Vec::new();
        let mut key: Option<[u8; KEY_BYTES]> = None;
        loop {
            let mut next = [0u8; KEY_BYTES];
            let before = key.as_ref().map_or(std::ptr::null(), |key| key.as_ptr());
            let mut attributes = self.attributes(before, next.as_mut_ptr());
            match bpf(MAP_GET_NEXT_KEY, &mut attributes) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(entries),
                Err(error) => return Err(error),
            }
            let mut value = [0u64; 1];
            let mut attributes = self.attributes(next.as_ptr(), value.as_mut_ptr().cast());
            // Removed since it was found: ignored.
            if bpf(MAP_LOOKUP_ELEM, &mut attributes).is_ok() {
                entries.push((next, value[0]));
            }
            key = Some(next);
        }
    }

    fn attributes(&self, key: *const u8, value: *mut u8) -> Attributes {
        let mut attributes = Attributes::default();
        attributes[0] = pair(self.number().cast_unsigned(), 0);
        // The kernel reads and writes through these numbers.
        attributes[1] = key.expose_provenance() as u64;
        attributes[2] = value.expose_provenance() as u64;
        attributes
    }
}

/// A program attached to a tracepoint until this is dropped.
#[derive(Debug)]
pub struct Attached {
    program: OwnedFd,
    _event: OwnedFd,
}

impl Attached {
    /// Events at which the kernel did not run the program, as a program was running on that CPU. Kernels before 6.7
    /// do not count them: 0.
    ///
    /// # Errors
    ///
    /// Those of bpf(2).
    pub fn skipped(&self) -> io::Result<u64> {
        let mut info = ProgramInfo::default();
        let mut attributes = Attributes::default();
        attributes[0] = pair(self.program.as_raw_fd().cast_unsigned(), size_of::<ProgramInfo>() as u32);
        attributes[1] = info.as_mut_ptr().expose_provenance() as u64;
        bpf(OBJ_GET_INFO_BY_FD, &mut attributes)?;
        Ok(info[info.len() - 1])
    }
}

/// Loads a program and attaches it to the tracepoint with this id (tracefs, `events/*/*/id`).
///
/// # Errors
///
/// Those of bpf(2) and `perf_event_open(2)`; for a rejected program, with the kernel's log.
pub fn attach(program: &[Instruction], tracepoint_id: u64) -> io::Result<Attached> {
    let program = load(program)?;
    let mut attributes = [0u64; PERF_EVENT_ATTR_BYTES as usize / 8];
    attributes[0] = pair(PERF_TYPE_TRACEPOINT, PERF_EVENT_ATTR_BYTES);
    attributes[1] = tracepoint_id;
    // At each event. The samples themselves are dropped: there is no buffer.
    attributes[2] = 1;
    let (every_process, cpu, no_group) = (-1, 0, -1);
    // SAFETY: the kernel reads as many bytes as `attributes` says that it has, which are all of them.
    let event = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes.as_ptr(),
            every_process,
            cpu,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    let event = owned(event as i32);
    // A program runs on all CPUs, whatever the CPU of the event.
    for (request, argument) in [(PERF_EVENT_IOC_SET_BPF, program.as_raw_fd()), (PERF_EVENT_IOC_ENABLE, 0)] {
        // SAFETY: both requests take an integer.
        if unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Attached { program, _event: event })
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let code: Vec<u64> = program.iter().map(Instruction::encoded).collect();
    let mut log = vec![0u8; LOG_BYTES];
    let mut attributes = Attributes::default();
    attributes[0] = pair(PROG_TYPE_TRACEPOINT, code.len() as u32);
    attributes[1] = code.as_ptr().expose_provenance() as u64;
    attributes[2] = LICENCE.as_ptr().expose_provenance() as u64;
    match bpf(PROG_LOAD, &mut attributes) {
        Ok(number) => return Ok(owned(number)),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => return Err(error),
        Err(_) => {}
    }
    // Again, with the kernel's log: it costs time and, if its buffer is too short, the program is rejected.
    attributes[3] = pair(1, log.len() as u32);
    attributes[4] = log.as_mut_ptr().expose_provenance() as u64;
    bpf(PROG_LOAD, &mut attributes).map(owned).map_err(|error| {
        let text = String::from_utf8_lossy(&log);
        let said = text.trim_end_matches('\0').trim();
        if said.is_empty() { error } else { io::Error::new(error.kind(), format!("{error}: {said}")) }
    })
}

#[cfg(test)]
mod tests {
    use super::instruction::{Register, ret};
    use super::*;

    #[test]
    fn a_table_is_empty_at_first_and_bad_programs_are_refused_with_a_reason() {
        match HashTable::<8>::create(16) {
            Ok(table) => {
                assert_eq!(table.entries().expect("it can be read"), []);
                let nothing = [Instruction::move_register(Register::R0, Register::R7), ret()];
                let reason = load(&nothing).expect_err("R7 holds nothing").to_string();
                assert!(reason.contains("R7 !read_ok"), "{reason}");
                load(&[Instruction::set(Register::R0, 0), ret()]).expect("it does nothing");
            }
            Err(error) => testkit::skip!("no eBPF here: {error}"),
        }
    }
}
