//! The CPU's caches: writing lines back, and copying past them.

#[cfg(target_arch = "aarch64")]
use aarch64 as cpu;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use other as cpu;
#[cfg(target_arch = "x86_64")]
use x86_64 as cpu;

/// True if this CPU can write cache lines back to persistent memory without a system call (CLWB or CLFLUSHOPT of
/// x86-64, DC CVAP of ARM64).
pub fn can_write_back() -> bool {
    cpu::write_back_instruction().is_some()
}

/// Writes the lines of a range back to memory; false if this CPU cannot.
///
/// # Safety
///
/// `start` must have `bytes` readable bytes.
pub(crate) unsafe fn write_back(start: *const u8, bytes: usize) -> bool {
    let Some(instruction) = cpu::write_back_instruction() else { return false };
    let line_bytes = cpu::line_bytes();
    let first = start as usize & !(line_bytes - 1);
    for line in (first..start as usize + bytes).step_by(line_bytes) {
        // SAFETY: each line overlaps the range, which the caller says is readable.
        unsafe { cpu::write_line_back(instruction, line) };
    }
    true
}

pub(crate) use cpu::{copy_past, wait_for_stores};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use core::arch::asm;
    use core::arch::x86_64::{__cpuid_count, __m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    use std::sync::OnceLock;

    #[derive(Clone, Copy)]
    pub(super) enum WriteBack {
        /// CLWB: the line may stay in the cache.
        Keep,
        /// CLFLUSHOPT: the line is evicted.
        Evict,
    }

    pub(super) fn write_back_instruction() -> Option<WriteBack> {
        static FOUND: OnceLock<Option<WriteBack>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // Leaf 7 of CPUID (Intel SDM volume 2A): EBX bit 24 is CLWB, bit 23 CLFLUSHOPT.
            let features = __cpuid_count(7, 0).ebx;
            match (features >> 24 & 1, features >> 23 & 1) {
                (1, _) => Some(WriteBack::Keep),
                (0, 1) => Some(WriteBack::Evict),
                _ => None,
            }
        })
    }

    pub(super) fn line_bytes() -> usize {
        64
    }

    /// # Safety
    ///
    /// The line must hold readable memory.
    pub(super) unsafe fn write_line_back(instruction: WriteBack, line: usize) {
        // SAFETY: the caller says the line is readable; the instructions change nothing that a program can see.
        unsafe {
            match instruction {
                WriteBack::Keep => asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                WriteBack::Evict => asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags)),
            }
        }
    }

    /// Returns when all stores before it have reached memory.
    pub(crate) fn wait_for_stores() {
        // SAFETY: SFENCE is part of SSE, which every x86-64 CPU has, and touches no memory.
        unsafe { _mm_sfence() }
    }

    /// Copies with stores that bypass the caches.
    ///
    /// # Safety
    ///
    /// As for `ptr::copy_nonoverlapping`.
    #[allow(clippy::cast_ptr_alignment, reason = "the load takes any address, and `head` aligns the stores")]
    pub(crate) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
        let head = to.align_offset(16).min(bytes);
        let body = (bytes - head) / 16;
        // SAFETY: head, body and tail together are the range that the caller vouches for; streaming
        // stores need the 16-byte alignment that `head` makes.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, head);
            for index in 0..body {
                let at = head + index * 16;
                let value = _mm_loadu_si128(from.add(at).cast::<__m128i>());
                _mm_stream_si128(to.add(at).cast::<__m128i>(), value);
            }
            let done = head + body * 16;
            std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
        }
        wait_for_stores();
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use core::arch::asm;
    use std::sync::OnceLock;

    /// DC CVAP: clean to the point of persistence. DC CVAC would only clean to the point of coherency, whose content
    /// may be lost with the power.
    #[derive(Clone, Copy)]
    pub(super) struct CleanToPersistence;

    pub(super) fn write_back_instruction() -> Option<CleanToPersistence> {
        // arch/arm64/include/uapi/asm/hwcap.h
        const HWCAP_DCPOP: usize = 1 << 16;
        (rustix::param::linux_hwcap().0 & HWCAP_DCPOP != 0).then_some(CleanToPersistence)
    }

    /// The smallest line of all data caches.
    pub(super) fn line_bytes() -> usize {
        // Where the CPUs differ, Linux emulates the read, which is slow.
        static FOUND: OnceLock<usize> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let cache_type: u64;
            // SAFETY: CTR_EL0 describes the caches; Linux lets user space read it.
            unsafe { asm!("mrs {}, ctr_el0", out(reg) cache_type, options(nomem, nostack, preserves_flags)) }
            // DminLine, bits 19 to 16: the logarithm of the number of 4-byte words.
            4 << (cache_type >> 16 & 0xf)
        })
    }

    /// # Safety
    ///
    /// The line must hold readable memory.
    pub(super) unsafe fn write_line_back(_: CleanToPersistence, line: usize) {
        // SAFETY: the caller says the line is readable, and the CPU has DC CVAP (written as SYS, since assemblers
        // know its name only from ARMv8.2 on); it changes nothing that a program can see.
        unsafe { asm!("sys #3, c7, c12, #1, {}", in(reg) line, options(nostack, preserves_flags)) }
    }

    /// Returns when all stores before it have reached memory.
    pub(crate) fn wait_for_stores() {
        // SAFETY: a barrier touches no memory.
        unsafe { asm!("dsb sy", options(nostack, preserves_flags)) }
    }

    /// Copies; the architecture has only hints for stores past the caches, which CPUs may ignore.
    ///
    /// # Safety
    ///
    /// As for `ptr::copy_nonoverlapping`.
    pub(crate) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: the caller guarantees the same.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    #[derive(Clone, Copy)]
    pub(super) enum NoInstruction {}

    pub(super) fn write_back_instruction() -> Option<NoInstruction> {
        None
    }

    pub(super) fn line_bytes() -> usize {
        64
    }

    pub(super) unsafe fn write_line_back(never: NoInstruction, _: usize) {
        match never {}
    }

    pub(crate) fn wait_for_stores() {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// # Safety
    ///
    /// As for `ptr::copy_nonoverlapping`.
    pub(crate) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: the caller guarantees the same.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
    }
}
