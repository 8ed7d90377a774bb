//! Properties of a device of the device mapper.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The device mapper's control node.
const CONTROL: &str = "/dev/mapper/control";
/// `DM_TABLE_STATUS`: `_IOWR(0xfd, 12, struct dm_ioctl)`.
const TABLE_STATUS: libc::c_ulong = (3 << 30) | ((HEADER_BYTES as libc::c_ulong) << 16) | (0xfd << 8) | 0x0c;
/// Requests the table itself, not the status of its targets.
const STATUS_TABLE_FLAG: u32 = 1 << 4;
/// Without this flag thin pools and caches commit metadata before they report their status.
const NO_FLUSH_FLAG: u32 = 1 << 11;
/// The answer did not fit into the buffer.
const BUFFER_FULL_FLAG: u32 = 1 << 8;
/// `struct dm_ioctl`.
const HEADER_BYTES: usize = 312;
/// `struct dm_target_spec`, which begins each target of a table.
const TARGET_BYTES: usize = 40;
/// Room for the header and any plausible table.
const ANSWER_BYTES: usize = 64 << 10;

/// A device-mapper device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedDevice {
    /// Number of descriptors, mounts and devices that have it open.
    pub open_count: u32,
    /// The kinds of its targets: `linear`, `thin`, `snapshot-origin` ...
    pub targets: Vec<String>,
}

/// A target of such a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedTarget {
    /// Its start in the device, in sectors of 512 bytes.
    pub start_sectors: u64,
    /// Its length, in sectors of 512 bytes.
    pub length_sectors: u64,
    /// Its kind: `linear`, `cache` ...
    pub kind: String,
    /// Its parameters, or its status, in the format of its kind.
    pub parameters: String,
}

/// Describes the device with this number.
pub fn describe(major: u32, minor: u32) -> io::Result<MappedDevice> {
    let (open_count, targets) = ask(major, minor, STATUS_TABLE_FLAG)?;
    Ok(MappedDevice { open_count, targets: targets.into_iter().map(|target| target.kind).collect() })
}

/// The table of the device with this number: its targets in order, with the devices that each is on.
pub fn table(major: u32, minor: u32) -> io::Result<Vec<MappedTarget>> {
    ask(major, minor, STATUS_TABLE_FLAG).map(|(_, targets)| targets)
}

/// The targets of the device with this number, with their status.
pub fn status(major: u32, minor: u32) -> io::Result<Vec<MappedTarget>> {
    ask(major, minor, NO_FLUSH_FLAG).map(|(_, targets)| targets)
}

fn ask(major: u32, minor: u32, flags: u32) -> io::Result<(u32, Vec<MappedTarget>)> {
    let control = File::open(CONTROL)?;
    let mut answer = vec![0_u64; ANSWER_BYTES / 8];
    let request = request(major, minor, flags);
    for (word, bytes) in answer.iter_mut().zip(request.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    // SAFETY: the request reads and writes at most the number of bytes that its header states,
    // which is the length of `answer`, and keeps no pointer.
    if unsafe { libc::ioctl(control.as_raw_fd(), TABLE_STATUS as _, answer.as_mut_ptr()) } == -1 {
        return Err(io::Error::last_os_error());
    }
    let bytes: Vec<u8> = answer.iter().flat_map(|word| word.to_ne_bytes()).collect();
    parse(&bytes).ok_or_else(|| io::Error::other("unexpected reply from the device mapper"))
}

fn request(major: u32, minor: u32, flags: u32) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    // Version 4.0.0, which every kernel since 2.6 accepts.
    put(0, &4_u32.to_ne_bytes());
    put(12, &(ANSWER_BYTES as u32).to_ne_bytes());
    put(16, &(HEADER_BYTES as u32).to_ne_bytes());
    put(28, &flags.to_ne_bytes());
    // The kernel's encoding of device numbers for user space.
    let device = u64::from((minor & 0xff) | (major << 8) | ((minor & !0xff) << 12));
    put(40, &device.to_ne_bytes());
    header
}

/// The open count and the targets.
fn parse(answer: &[u8]) -> Option<(u32, Vec<MappedTarget>)> {
    let long = |at: usize| answer.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_ne_bytes);
    let number = |at: usize| answer.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_ne_bytes);
    if number(28)? & BUFFER_FULL_FLAG != 0 {
        return None;
    }
    let (start, count) = (number(16)? as usize, number(20)?);
    let mut targets = Vec::new();
    let mut at = start;
    for _ in 0..count {
        // The offset of the next one is relative to the first.
        let next = start.checked_add(number(at.checked_add(20)?)? as usize)?;
        let behind_kind = at.checked_add(TARGET_BYTES)?;
        targets.push(MappedTarget {
            start_sectors: long(at)?,
            length_sectors: long(at.checked_add(8)?)?,
            kind: text(answer.get(at + 24..behind_kind)?)?,
            parameters: text(answer.get(behind_kind..next)?)?,
        });
        at = next;
    }
    Some((number(24)?, targets))
}

/// The text before the first NUL.
fn text(bytes: &[u8]) -> Option<String> {
    bytes.split(|byte| *byte == 0).next().map(|text| String::from_utf8_lossy(text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with targets whose parameters take 8 bytes.
    fn answer(open_count: u32, kinds: &[&str]) -> Vec<u8> {
        let mut bytes = request(253, 0, STATUS_TABLE_FLAG).to_vec();
        bytes[20..24].copy_from_slice(&(kinds.len() as u32).to_ne_bytes());
        bytes[24..28].copy_from_slice(&open_count.to_ne_bytes());
        for (index, kind) in kinds.iter().enumerate() {
            let mut target = [0; TARGET_BYTES + 8];
            target[..8].copy_from_slice(&(index as u64 * 100).to_ne_bytes());
            target[8..16].copy_from_slice(&100_u64.to_ne_bytes());
            target[20..24].copy_from_slice(&((index + 1) as u32 * 48).to_ne_bytes());
            target[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
            target[TARGET_BYTES..TARGET_BYTES + 3].copy_from_slice(b"8 9");
            bytes.extend(target);
        }
        bytes
    }

    #[test]
    fn an_answer_tells_openers_and_targets() {
        let known = |open_count: u32, targets: &[&str]| {
            let target = |(start_sectors, kind): (u64, &&str)| MappedTarget {
                start_sectors,
                length_sectors: 100,
                kind: (*kind).to_owned(),
                parameters: "8 9".to_owned(),
            };
            Some((open_count, (0..).step_by(100).zip(targets).map(target).collect::<Vec<_>>()))
        };
        assert_eq!(parse(&answer(0, &[])), known(0, &[]));
        assert_eq!(parse(&answer(3, &["linear", "snapshot-origin"])), known(3, &["linear", "snapshot-origin"]));
    }

    #[test]
    fn an_answer_that_is_cut_off_is_not_understood() {
        let whole = answer(1, &["linear", "thin"]);
        for length in [0, 20, 100, HEADER_BYTES, HEADER_BYTES + 60] {
            let cut = parse(&whole[..length]);
            assert!(cut.is_none(), "{length}: {cut:?}");
        }
        let mut full = whole;
        full[28..32].copy_from_slice(&BUFFER_FULL_FLAG.to_ne_bytes());
        assert_eq!(parse(&full), None);
    }

    #[test]
    fn numbers_are_packed_as_the_kernel_unpacks_them() {
        let device = |major, minor| u64::from_ne_bytes(request(major, minor, 0)[40..48].try_into().expect("8 bytes"));
        assert_eq!((device(253, 5), device(253, 300)), (0xfd05, 0x0010_fd2c));
    }
}
