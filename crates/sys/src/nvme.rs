//! Admin commands to an `NVMe` drive.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Bytes of the SMART log, as of every version of the standard.
pub const SMART_LOG_BYTES: usize = 512;

/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const ADMIN_COMMAND: libc::c_ulong =
    (3 << 30) | ((size_of::<AdminCommand>() as libc::c_ulong) << 16) | (0x4e << 8) | 0x41;
/// Get Log Page.
const GET_LOG_PAGE: u8 = 0x02;
/// SMART / Health Information.
const SMART_LOG: u32 = 0x02;
/// The whole drive, not one namespace of it.
const ALL_NAMESPACES: u32 = u32::MAX;

/// `struct nvme_admin_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// The SMART log of the drive behind `device`, a namespace's block device or a controller. Needs
/// `CAP_SYS_ADMIN` on most kernels.
pub fn smart_log(device: &File) -> io::Result<[u8; SMART_LOG_BYTES]> {
    let mut log = [0; SMART_LOG_BYTES];
    // The length is in 4-byte words, minus one.
    let words = (SMART_LOG_BYTES as u32 / 4 - 1) << 16;
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace: ALL_NAMESPACES,
        // The kernel writes through this number, so the compiler must know that somebody may.
        address: log.as_mut_ptr().expose_provenance() as u64,
        data_bytes: SMART_LOG_BYTES as u32,
        words_10_15: [words | SMART_LOG, 0, 0, 0, 0, 0],
        ..AdminCommand::default()
    };
    // SAFETY: the request reads and writes one `nvme_admin_cmd`, and writes at most `data_bytes` bytes at
    // `address`, which are those of `log`; it keeps neither after it returned.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), ADMIN_COMMAND as _, &raw mut command) };
    match status {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(log),
        // The drive's own status.
        status => Err(io::Error::other(format!("the drive rejected the SMART log command (status {status:#x})"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_what_the_kernel_takes() {
        assert_eq!(ADMIN_COMMAND, 0xc048_4e41);
    }

    #[test]
    fn a_file_is_no_drive() {
        let file = tempfile::tempfile().expect("a temporary file");
        let error = smart_log(&file).expect_err("a file has no log");
        if error.raw_os_error() == Some(libc::ENOSYS) {
            testkit::skip!("this kernel is emulated, without commands for drives");
        }
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }
}
