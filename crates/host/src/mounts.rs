//! The mount table of this process.

use crate::root::Root;
use crate::syntax::unescape;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One line of /proc/self/mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Major and minor number of the device, as `stat` shows them on most file systems.
    pub(crate) device: (u32, u32),
    /// Which directory of the file system is mounted.
    pub(crate) root: PathBuf,
    /// Where.
    pub(crate) point: PathBuf,
    /// `ext4`, `fuse.sshfs` ...
    pub(crate) file_system: String,
    /// Options of the file system itself, such as cgroup controllers.
    pub(crate) super_options: String,
}

/// All mounts; lines that make no sense are left out.
pub(crate) fn read(root: &Root) -> Vec<Mount> {
    root.text("/proc/self/mountinfo").unwrap_or_default().lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mount> {
    let path = |text: &str| PathBuf::from(OsString::from_vec(unescape(text)));
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let (major, minor) = place.next()?.split_once(':')?;
    let (mount_root, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        root: path(mount_root),
        point: path(point),
        file_system: kind.next().filter(|name| !name.is_empty())?.to_owned(),
        super_options: kind.nth(1).unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_with_optional_fields_and_blanks_in_names() {
        let mount =
            parse(r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue");
        let expected = Mount {
            device: (98, 0),
            root: "/mnt1".into(),
            point: "/mnt 2".into(),
            file_system: "ext3".to_owned(),
            super_options: "rw,errors=continue".to_owned(),
        };
        assert_eq!(mount, Some(expected));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "\\PC*", words in "([0-9:/ -]{0,6} ){0,12}") {
            let _ = (parse(&line), parse(&words));
        }
    }
}
