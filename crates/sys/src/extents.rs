//! Allocated and unwritten parts of a file.

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::fd::AsRawFd;

/// `FS_IOC_FIEMAP`; its size part counts the header alone.
const FS_IOC_FIEMAP: rustix::ioctl::Opcode = rustix::ioctl::opcode::read_write::<Header>(b'f', 11);
const FIEMAP_FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 0x1;
const EXTENT_UNKNOWN: u32 = 0x2;
const EXTENT_DELALLOC: u32 = 0x4;
/// Its bytes on the device differ from those of the file: compressed or encrypted, and their number is not reported.
const EXTENT_ENCODED: u32 = 0x8;
const EXTENT_INLINE: u32 = 0x200;
const EXTENT_UNWRITTEN: u32 = 0x800;
/// Other files, or other parts of this one, have the same bytes on the device: a write allocates new blocks.
const EXTENT_SHARED: u32 = 0x2000;
/// Extents fetched per call: most files have fewer, and room for more is zeroed for each of many files.
const BATCH: usize = 32;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; BATCH],
}

/// An allocated part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its first byte in the file.
    pub start_bytes: u64,
    /// Its length.
    pub length_bytes: u64,
    /// True if it contains written data; false if it is only reserved, and reads as zeros without I/O to the device.
    pub is_written: bool,
    /// Offset on the device, or in the address space of a file system on several; `None` if it is not allocated yet, or
    /// inside the file system's metadata.
    pub place_bytes: Option<u64>,
    /// True if the device has its bytes in another form, such as compressed: the length is that in the file.
    pub is_encoded: bool,
    /// True if it is shared with others (reflinks, snapshots).
    pub is_shared: bool,
}

/// Bytes of a file whose form on the device is not plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forms {
    /// In another form, such as compressed.
    pub encoded_bytes: u64,
    /// Shared with others.
    pub shared_bytes: u64,
}

/// Calls `visit` with each extent of `file` in order of offset, after flushing cached data; holes are between them.
///
/// Fails with `EOPNOTSUPP` or `ENOTTY` where the file system does not report extents.
pub fn for_each(file: &File, visit: impl FnMut(Extent) -> ControlFlow<()>) -> io::Result<()> {
    for_each_with(file, FIEMAP_FLAG_SYNC, visit)
}

/// The same in the current state, without flushing.
pub fn for_each_as_is(file: &File, visit: impl FnMut(Extent) -> ControlFlow<()>) -> io::Result<()> {
    for_each_with(file, 0, visit)
}

fn for_each_with(file: &File, flags: u32, mut visit: impl FnMut(Extent) -> ControlFlow<()>) -> io::Result<()> {
    let mut request = Box::new(Request { header: Header::default(), extents: [RawExtent::default(); BATCH] });
    let mut start = 0;
    loop {
        request.header =
            Header { start, length: u64::MAX - start, flags, extent_count: BATCH as u32, ..Header::default() };
        // `Ioctl` is 32 or 64 bits wide, by C library.
        #[allow(clippy::cast_lossless, clippy::cast_possible_wrap)]
        let code = FS_IOC_FIEMAP as libc::Ioctl;
        // SAFETY: FS_IOC_FIEMAP reads the header and writes it and at most `extent_count` extents
        // behind it; `Request` has this very layout with room for BATCH extents, every bit
        // pattern of which is valid, and is borrowed by nothing else during the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), code, &raw mut *request) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let mapped = (request.header.mapped_extents as usize).min(BATCH);
        for raw in &request.extents[..mapped] {
            let extent = Extent {
                start_bytes: raw.logical,
                length_bytes: raw.length,
                place_bytes: (raw.flags & (EXTENT_UNKNOWN | EXTENT_DELALLOC | EXTENT_INLINE) == 0)
                    .then_some(raw.physical),
                is_encoded: raw.flags & EXTENT_ENCODED != 0,
                is_shared: raw.flags & EXTENT_SHARED != 0,
                is_written: raw.flags & (EXTENT_UNKNOWN | EXTENT_DELALLOC | EXTENT_UNWRITTEN) == 0,
            };
            if visit(extent).is_break() || raw.flags & EXTENT_LAST != 0 {
                return Ok(());
            }
        }
        match request.extents[..mapped].last().map(|raw| raw.logical.saturating_add(raw.length)) {
            // An end that does not advance would loop forever.
            Some(end) if end > start => start = end,
            _ => return Ok(()),
        }
    }
}

/// True if the first `size_bytes` of `file` are all on the device as written data: no holes, and no reserved space.
///
/// Where extents cannot be listed, only holes are detected.
pub fn is_fully_written(file: &File, size_bytes: u64) -> io::Result<bool> {
    let mut written_to = 0;
    let listed = for_each(file, |extent| {
        if written_to >= size_bytes || extent.start_bytes > written_to || !extent.is_written {
            return ControlFlow::Break(());
        }
        written_to = written_to.max(extent.start_bytes.saturating_add(extent.length_bytes));
        ControlFlow::Continue(())
    });
    match listed {
        Ok(()) => Ok(written_to >= size_bytes),
        Err(error) if is_unsupported(&error) => Ok(first_hole(file, 0)? >= size_bytes),
        Err(error) => Err(error),
    }
}

/// Calls `visit` with each part of the first `size_bytes` of `file` without written data on the device, in order of
/// offset: holes, and reserved space. Returns the form of the rest.
///
/// Where extents cannot be listed, only holes are detected, which moves the descriptor's position; the form is unknown.
pub fn for_each_unwritten(
    file: &File,
    size_bytes: u64,
    mut visit: impl FnMut(Range<u64>),
) -> io::Result<Option<Forms>> {
    let mut written_to = 0;
    let mut forms = Forms::default();
    let mut written = |extent: Range<u64>| {
        if extent.start > written_to && written_to < size_bytes {
            visit(written_to..extent.start.min(size_bytes));
        }
        written_to = written_to.max(extent.end);
    };
    let listed = for_each(file, |extent| {
        if extent.is_written {
            written(extent.start_bytes..extent.start_bytes.saturating_add(extent.length_bytes));
            let bytes_if = |is_so| if is_so { extent.length_bytes } else { 0 };
            forms.encoded_bytes = forms.encoded_bytes.saturating_add(bytes_if(extent.is_encoded));
            forms.shared_bytes = forms.shared_bytes.saturating_add(bytes_if(extent.is_shared));
        }
        ControlFlow::Continue(())
    });
    let forms = match listed {
        Err(error) if is_unsupported(&error) => {
            data_segments(file, size_bytes, usize::MAX)?.into_iter().for_each(&mut written);
            None
        }
        listed => listed.map(|()| Some(forms))?,
    };
    written(size_bytes..size_bytes);
    Ok(forms)
}

fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::OPNOTSUPP, Errno::NOTTY, Errno::INVAL, Errno::NOSYS, Errno::BADR];
    error.raw_os_error().is_some_and(|code| unsupported.iter().any(|errno| errno.raw_os_error() == code))
}

/// Offset of the first hole at or after `from`; the file's end counts as one.
fn first_hole(file: &File, from: u64) -> io::Result<u64> {
    Ok(rustix::fs::seek(file, SeekFrom::Hole(from))?)
}

/// The parts of `file` below `size_bytes` that are not holes, at most `count_max` of them, the
/// last one then reaching to the end. Moves the descriptor's position.
pub fn data_segments(file: &File, size_bytes: u64, count_max: usize) -> io::Result<Vec<Range<u64>>> {
    let mut segments = Vec::new();
    let mut at = 0;
    while at < size_bytes {
        let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        if start >= size_bytes {
            break;
        }
        let is_last = segments.len() + 1 >= count_max;
        let end = if is_last { size_bytes } else { first_hole(file, start)?.min(size_bytes) };
        if end <= start {
            break;
        }
        segments.push(start..end);
        at = end;
    }
    Ok(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    fn file() -> File {
        tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("a temporary file")
    }

    #[test]
    fn a_file_written_from_end_to_end_is_fully_written() {
        let file = file();
        file.write_all_at(&vec![1; MIB as usize + 100], 0).expect("written");
        assert!(is_fully_written(&file, MIB + 100).expect("an answer"));
        assert!(!is_fully_written(&file, 8 * MIB).expect("an answer"), "the file ends before");
    }

    #[test]
    fn a_hole_is_not_written_wherever_it_is() {
        for hole_at in 0..3 {
            let file = file();
            file.set_len(3 * MIB).expect("set");
            for piece in (0..3).filter(|piece| *piece != hole_at) {
                file.write_all_at(&vec![1; MIB as usize], piece * MIB).expect("written");
            }
            assert!(!is_fully_written(&file, 3 * MIB).expect("an answer"), "hole in MiB {hole_at}");
        }
    }

    #[test]
    fn reserved_room_is_not_written() {
        let file = file();
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, MIB).is_err() {
            testkit::skip!("this file system cannot reserve room");
        }
        assert!(!is_fully_written(&file, MIB).expect("an answer"));
        file.write_all_at(&vec![1; MIB as usize], 0).expect("written");
        assert!(is_fully_written(&file, MIB).expect("an answer"));
    }

    fn unwritten(file: &File, size_bytes: u64) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let forms = for_each_unwritten(file, size_bytes, |part| parts.push(part)).expect("an answer");
        assert!(forms.is_none_or(|forms| forms == Forms::default()), "nobody shares it: {forms:?}");
        parts
    }

    #[test]
    fn holes_and_reserved_room_are_the_unwritten_parts() {
        let file = file();
        assert_eq!(unwritten(&file, 0), []);
        file.set_len(8 * MIB).expect("set");
        assert_eq!(unwritten(&file, 8 * MIB), std::slice::from_ref(&(0..8 * MIB)));
        for piece in [1, 2, 5] {
            file.write_all_at(&vec![1; MIB as usize], piece * MIB).expect("written");
        }
        let holes = [0..MIB, 3 * MIB..5 * MIB, 6 * MIB..8 * MIB];
        assert_eq!(unwritten(&file, 8 * MIB), holes);
        assert_eq!(unwritten(&file, 4 * MIB), [0..MIB, 3 * MIB..4 * MIB]);
        assert_eq!(unwritten(&file, 2 * MIB), std::slice::from_ref(&(0..MIB)));
        // Reserved space contains no data.
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 8 * MIB).is_ok() {
            assert_eq!(unwritten(&file, 8 * MIB), holes);
        }
    }

    #[test]
    fn more_extents_than_one_call_returns_are_all_visited() {
        let file = file();
        let pieces = 2 * BATCH as u64 + 10;
        for piece in 0..pieces {
            file.write_all_at(&[1; 4096], piece * 65_536).expect("written");
        }
        let mut count = 0;
        let listed = for_each(&file, |extent| {
            assert!(extent.is_written);
            count += 1;
            ControlFlow::Continue(())
        });
        match listed {
            Ok(()) => assert!(count >= pieces, "{count} extents for {pieces} separate pieces"),
            Err(error) => testkit::skip!("no extents are listed here: {error}"),
        }
    }

    #[test]
    fn data_segments_leave_holes_out_and_are_limited() {
        let file = file();
        file.set_len(10 * MIB).expect("set");
        for piece in [2, 5, 9] {
            file.write_all_at(&vec![1; MIB as usize], piece * MIB).expect("written");
        }
        let segments = data_segments(&file, 10 * MIB, 100).expect("segments");
        assert_eq!(segments, [2 * MIB..3 * MIB, 5 * MIB..6 * MIB, 9 * MIB..10 * MIB]);
        let limited = data_segments(&file, 10 * MIB, 2).expect("segments");
        assert_eq!(limited, [2 * MIB..3 * MIB, 5 * MIB..10 * MIB]);
    }
}
