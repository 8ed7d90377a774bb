//! Flags of single reads and writes (`preadv2(2)`).

use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::fs::File;
use std::io::IoSliceMut;

/// Beyond the end of any file or device: such a read transfers nothing, and shows whether its flags are refused.
const BEYOND_END: u64 = 1 << 62;

/// True if the kernel, or the file system of `file`, refuses reads with these flags. False if it cannot be tested:
/// where `file` is not open for reading, or where the same read without flags is refused as well.
pub fn refuses_reads(file: &File, flags: u32) -> bool {
    match read_beyond_end(file, flags) {
        Err(Errno::NOSYS) => true,
        Err(Errno::OPNOTSUPP | Errno::INVAL) => read_beyond_end(file, 0).is_ok(),
        _ => false,
    }
}

fn read_beyond_end(file: &File, flags: u32) -> Result<usize, Errno> {
    let mut byte = [0];
    preadv2(file, &mut [IoSliceMut::new(&mut byte)], BEYOND_END, ReadWriteFlags::from_bits_retain(flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_that_no_kernel_knows_is_refused_and_none_is_not() {
        let file = tempfile::tempfile().expect("a temporary file");
        match read_beyond_end(&file, 0) {
            Ok(_) => {
                assert!(!refuses_reads(&file, 0));
                assert!(refuses_reads(&file, 1 << 31));
            }
            Err(Errno::NOSYS) => assert!(refuses_reads(&file, 0)),
            Err(_) => assert!(!refuses_reads(&file, 1 << 31)),
        }
    }
}
