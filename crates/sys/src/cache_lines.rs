//! The CPU's caches: writing lines back, and copying past them.

/// True if this CPU can write cache lines back without a system call (CLWB or CLFLUSHOPT).
pub fn can_write_back() -> bool {
    write_back_instruction().is_some()
}

#[derive(Clone, Copy)]
enum WriteBack {
    /// CLWB: the line may stay in the cache.
    Keep,
    /// CLFLUSHOPT: it does not.
    Evict,
}

#[cfg(target_arch = "x86_64")]
fn write_back_instruction() -> Option<WriteBack> {
    use std::sync::OnceLock;
    static FOUND: OnceLock<Option<WriteBack>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        // Leaf 7 of CPUID (Intel SDM volume 2A): EBX bit 24 is CLWB, bit 23 CLFLUSHOPT.
        let features = core::arch::x86_64::__cpuid_count(7, 0).ebx;
        match (features >> 24 & 1, features >> 23 & 1) {
            (1, _) => Some(WriteBack::Keep),
            (0, 1) => Some(WriteBack::Evict),
            _ => None,
        }
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn write_back_instruction() -> Option<WriteBack> {
    None
}

/// Writes the lines of a range back to memory; false if this CPU cannot.
///
/// # Safety
///
/// `start` must have `bytes` readable bytes.
pub(crate) unsafe fn write_back(start: *const u8, bytes: usize) -> bool {
    let Some(instruction) = write_back_instruction() else { return false };
    #[cfg(target_arch = "x86_64")]
    {
        const LINE: usize = 64;
        let first = start as usize & !(LINE - 1);
        for line in (first..start as usize + bytes).step_by(LINE) {
            // SAFETY: each line overlaps the range, which the caller says is readable; the
            // instructions change nothing that a program can see.
            unsafe {
                match instruction {
                    WriteBack::Keep => core::arch::asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                    WriteBack::Evict => {
                        core::arch::asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                    }
                }
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, bytes, instruction);
    true
}

/// Returns when all stores before it have reached memory.
pub(crate) fn wait_for_stores() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SFENCE is part of SSE, which every x86-64 CPU has, and touches no memory.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Copies with stores that bypass the caches, where the CPU has them.
///
/// # Safety
///
/// As for `ptr::copy_nonoverlapping`.
#[allow(clippy::cast_ptr_alignment, reason = "the load takes any address, and `head` aligns the stores")]
pub(crate) unsafe fn copy_past(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
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
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise is the one needed.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes);
    }
}
