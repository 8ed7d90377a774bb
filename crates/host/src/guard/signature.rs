//! Partition tables, file systems, volumes and other formats, detected by their magic numbers at the start and at the
//! end of devices.
//!
//! Only the presence of data is reported, never its content. Weak magic numbers count too: a false match costs a flag
//! on the command line, a missed one costs the data.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Position of a magic number.
#[derive(Clone, Copy)]
enum At {
    /// Bytes from the start.
    Start(u64),
    /// Bytes from the end, of the size rounded down to a multiple.
    End { back: u64, of: u64 },
    /// At any of several positions from the start: first, distance, count.
    Every(u64, u64, u64),
    /// The same in the last label of a device, which begins `back` bytes before the end.
    EveryAtEnd { back: u64, of: u64, step: u64, count: u64 },
}

type Row = (&'static str, At, &'static [u8]);

const GPT: &str = "a GPT partition table";
const DOS: &str = "a DOS partition table or boot sector";
const EXT: &str = "an ext2, ext3 or ext4 file system";
const BTRFS: &str = "a btrfs file system";
const LUKS: &str = "LUKS encryption";
const SWAP: &str = "swap space";
const MD: &str = "a member of a Linux software RAID (md)";
const ZFS: &str = "a member of a ZFS pool";
const FAT: &str = "a FAT file system";
const STRATIS: &str = "a member of a Stratis pool";
const OCFS2: &str = "an OCFS2 file system";

const MD_MAGIC: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const MD_MAGIC_BIG: &[u8] = &[0xa9, 0x2b, 0x4e, 0xfc];
const UBERBLOCK: &[u8] = &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0];
const UBERBLOCK_BIG: &[u8] = &[0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c];
const STRATIS_MAGIC: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";

/// A label of ZFS has 256 KiB; its second half is an array of uberblocks.
const LABEL: u64 = 256 * KIB;
const UBERBLOCKS: u64 = 128;

const fn end(back: u64) -> At {
    At::End { back, of: 1 }
}

const fn zfs_start(label: u64) -> At {
    At::Every(label * LABEL + LABEL / 2, KIB, UBERBLOCKS)
}

const fn zfs_end(labels_back: u64) -> At {
    At::EveryAtEnd { back: labels_back * LABEL - LABEL / 2, of: LABEL, step: KIB, count: UBERBLOCKS }
}

const ROWS: &[Row] = &[
    (GPT, At::Start(512), b"EFI PART"),
    (GPT, At::Start(4096), b"EFI PART"),
    (GPT, end(512), b"EFI PART"),
    (GPT, end(4096), b"EFI PART"),
    (DOS, At::Start(510), &[0x55, 0xaa]),
    ("a BSD disk label", At::Start(512), &[0x57, 0x45, 0x56, 0x82]),
    ("a Sun disk label", At::Start(508), &[0xda, 0xbe]),
    (EXT, At::Start(1080), &[0x53, 0xef]),
    ("an XFS file system", At::Start(0), b"XFSB"),
    ("the log of an XFS file system", At::Start(0), &[0xfe, 0xed, 0xba, 0xbe]),
    (BTRFS, At::Start(64 * KIB + 64), b"_BHRfS_M"),
    (BTRFS, At::Start(64 * MIB + 64), b"_BHRfS_M"),
    (BTRFS, At::Start((256 << 30) + 64), b"_BHRfS_M"),
    ("an LVM physical volume", At::Every(24, 512, 4), b"LVM2 001"),
    (LUKS, At::Start(0), b"LUKS\xba\xbe"),
    // The second header of LUKS2 is at the end of the first one, which has 16 KiB to 4 MiB.
    (LUKS, At::Every(16 * KIB, 16 * KIB, 256), b"SKUL\xba\xbe"),
    ("BitLocker encryption", At::Start(3), b"-FVE-FS-"),
    // At the end of the first page, of 4 to 64 KiB.
    (SWAP, At::Start(4 * KIB - 10), b"SWAPSPACE2"),
    (SWAP, At::Start(8 * KIB - 10), b"SWAPSPACE2"),
    (SWAP, At::Start(16 * KIB - 10), b"SWAPSPACE2"),
    (SWAP, At::Start(64 * KIB - 10), b"SWAPSPACE2"),
    (SWAP, At::Start(4 * KIB - 10), b"SWAP-SPACE"),
    ("a hibernated system", At::Start(4 * KIB - 10), b"S1SUSPEND"),
    (MD, At::End { back: 64 * KIB, of: 64 * KIB }, MD_MAGIC),
    (MD, At::End { back: 64 * KIB, of: 64 * KIB }, MD_MAGIC_BIG),
    (MD, At::End { back: 8 * KIB, of: 4 * KIB }, MD_MAGIC),
    (MD, At::Start(0), MD_MAGIC),
    (MD, At::Start(4 * KIB), MD_MAGIC),
    (ZFS, zfs_start(0), UBERBLOCK),
    (ZFS, zfs_start(0), UBERBLOCK_BIG),
    (ZFS, zfs_start(1), UBERBLOCK),
    (ZFS, zfs_start(1), UBERBLOCK_BIG),
    (ZFS, zfs_end(2), UBERBLOCK),
    (ZFS, zfs_end(2), UBERBLOCK_BIG),
    (ZFS, zfs_end(1), UBERBLOCK),
    (ZFS, zfs_end(1), UBERBLOCK_BIG),
    ("a bcache device", At::Start(4 * KIB + 24), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    (
        "a bcachefs file system",
        At::Start(4 * KIB + 24),
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    ("an F2FS file system", At::Start(KIB), &[0x10, 0x20, 0xf5, 0xf2]),
    ("an exFAT file system", At::Start(3), b"EXFAT   "),
    ("an NTFS file system", At::Start(3), b"NTFS    "),
    ("a ReFS file system", At::Start(3), b"ReFS\0\0\0\0"),
    (FAT, At::Start(54), b"FAT1"),
    (FAT, At::Start(82), b"FAT32   "),
    ("an ISO 9660 file system", At::Start(32 * KIB + 1), b"CD001"),
    ("a UDF file system", At::Every(32 * KIB + 1, 2 * KIB, 4), b"NSR0"),
    ("a squashfs file system", At::Start(0), b"hsqs"),
    ("an EROFS file system", At::Start(KIB), &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("a ReiserFS file system", At::Start(64 * KIB + 52), b"ReIsEr"),
    ("a JFS file system", At::Start(32 * KIB), b"JFS1"),
    ("a GFS2 file system", At::Start(64 * KIB), &[0x01, 0x16, 0x19, 0x70]),
    (OCFS2, At::Start(KIB), b"OCFSV2"),
    (OCFS2, At::Start(2 * KIB), b"OCFSV2"),
    (OCFS2, At::Start(4 * KIB), b"OCFSV2"),
    (OCFS2, At::Start(8 * KIB), b"OCFSV2"),
    ("a NILFS2 file system", At::Start(KIB + 6), &[0x34, 0x34]),
    ("an HFS+ file system", At::Start(KIB), b"H+\0\x04"),
    ("an HFS+ file system", At::Start(KIB), b"HX\0\x05"),
    ("an APFS container", At::Start(32), b"NXSB"),
    ("a VMFS volume", At::Start(MIB), &[0x0d, 0xd0, 0x01, 0xc0]),
    ("an Oracle ASM disk", At::Start(32), b"ORCLDISK"),
    ("a Ceph BlueStore device", At::Start(0), b"bluestore block device"),
    ("a VDO device", At::Start(0), b"dmvdo001"),
    (STRATIS, At::Start(516), STRATIS_MAGIC),
    (STRATIS, At::Start(9 * 512 + 4), STRATIS_MAGIC),
    ("a member of a DDF RAID", end(512), &[0xde, 0x11, 0xde, 0x11]),
    ("a member of an Intel RAID", end(1024), b"Intel Raid ISM Cfg Sig"),
];

/// Formats found on a device of this size, each once, in the order of the table.
pub(super) fn find(device: &File, size_bytes: u64) -> io::Result<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    for (name, at, magic) in ROWS {
        if found.iter().any(|known| known == name) {
            continue;
        }
        for offset in places(*at, size_bytes) {
            if is_at(device, size_bytes, offset, magic)? {
                found.push((*name).to_owned());
                break;
            }
        }
    }
    // The format of a boot sector is known better if another signature was found with it.
    if found.iter().any(|name| name == GPT || name == FAT || name.contains("NTFS") || name.contains("FAT")) {
        found.retain(|name| name != DOS);
    }
    Ok(found)
}

fn places(at: At, size_bytes: u64) -> Vec<u64> {
    let from_end = |back: u64, of: u64| (size_bytes / of * of).checked_sub(back);
    match at {
        At::Start(offset) => vec![offset],
        At::End { back, of } => from_end(back, of).into_iter().collect(),
        At::Every(first, step, count) => (0..count).map(|index| first + index * step).collect(),
        At::EveryAtEnd { back, of, step, count } => {
            from_end(back, of).into_iter().flat_map(|first| (0..count).map(move |index| first + index * step)).collect()
        }
    }
}

fn is_at(device: &File, size_bytes: u64, offset: u64, magic: &[u8]) -> io::Result<bool> {
    if offset.checked_add(magic.len() as u64).is_none_or(|end| end > size_bytes) {
        return Ok(false);
    }
    let mut bytes = [0; 32];
    let bytes = &mut bytes[..magic.len()];
    device.read_exact_at(bytes, offset)?;
    Ok(bytes == magic)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 80 * MIB;

    fn image(size_bytes: u64, marks: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(size_bytes).expect("set");
        for (offset, bytes) in marks {
            file.write_all_at(bytes, *offset).expect("written");
        }
        file
    }

    fn found(size_bytes: u64, marks: &[(u64, &[u8])]) -> Vec<String> {
        find(&image(size_bytes, marks), size_bytes).expect("it can be read")
    }

    #[test]
    fn the_longest_mark_fits_the_buffer() {
        assert!(ROWS.iter().all(|(_, _, magic)| (2..=32).contains(&magic.len())));
    }

    #[test]
    fn every_row_is_found_where_it_says() {
        for (name, at, magic) in ROWS {
            for offset in places(*at, SIZE) {
                // Sparse files of 256 GiB are not created for one row.
                if offset < SIZE {
                    assert!(found(SIZE, &[(offset, magic)]).iter().any(|known| known == name), "{name} at {offset}");
                }
            }
        }
    }

    #[test]
    fn marks_at_the_end_follow_the_published_layouts() {
        // A device that is no multiple of 64 KiB: md 0.90 rounds down, 1.0 lies 8 to 12 KiB back.
        let size = 10 * MIB + 12 * KIB + 512;
        let sectors = size / 512;
        for (offset, magic, name) in [
            ((size & !0xffff) - 0x10000, MD_MAGIC, MD),
            (((sectors - 16) & !7) * 512, MD_MAGIC, MD),
            (size - 512, b"EFI PART", GPT),
            (size / LABEL * LABEL - LABEL + 128 * KIB + 5 * KIB, UBERBLOCK, ZFS),
            (size / LABEL * LABEL - 2 * LABEL + 128 * KIB, UBERBLOCK_BIG, ZFS),
        ] {
            assert_eq!(found(size, &[(offset, magic)]), [name], "at {offset}");
        }
    }

    #[test]
    fn zeros_and_our_own_fill_are_nothing() {
        assert!(found(SIZE, &[]).is_empty() && found(0, &[]).is_empty() && found(700, &[]).is_empty());
        let ramp: Vec<u8> = (0..8 * MIB).map(|index| index as u8).collect();
        assert_eq!(found(8 * MIB, &[(0, &ramp)]), Vec::<String>::new());
    }

    #[test]
    fn several_are_named_and_a_protective_table_is_not() {
        let gpt: &[(u64, &[u8])] = &[(510, &[0x55, 0xaa]), (512, b"EFI PART")];
        assert_eq!(found(SIZE, gpt), [GPT]);
        assert_eq!(found(SIZE, &[(510, &[0x55, 0xaa]), (1080, &[0x53, 0xef])]), [DOS, EXT]);
    }
}
