//! Tracepoints of the kernel: their IDs, and the offsets of their fields.

use crate::root::Root;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Mount points of tracefs: on its own, or below debugfs.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracepoint {
    /// Its ID, for `perf_event_open(2)`.
    pub id: u64,
    /// Offset of each field, in bytes.
    pub offsets: BTreeMap<String, u32>,
}

/// Finds a tracepoint such as `block/block_rq_issue`.
///
/// # Errors
///
/// A sentence with the cause and the remedy.
pub fn tracepoint(root: &Root, name: &str) -> Result<Tracepoint, String> {
    let folder = mount_point(root)?;
    let event = format!("{folder}/events/{name}");
    let id = root.number(format!("{event}/id"));
    let format = root.text(format!("{event}/format"));
    let (id, format) =
        id.zip(format).ok_or_else(|| format!("this kernel has no tracepoint {name}, or reading it needs root"))?;
    Ok(Tracepoint { id, offsets: format.lines().filter_map(field).collect() })
}

/// The directory of tracefs.
///
/// # Errors
///
/// A sentence with the cause and the remedy.
pub fn tracefs(root: &Root) -> Result<PathBuf, String> {
    mount_point(root).map(|folder| root.path(folder))
}

fn mount_point(root: &Root) -> Result<&'static str, String> {
    let is_mounted = |folder: &&str| root.exists(format!("{folder}/events"));
    FOLDERS.into_iter().find(is_mounted).ok_or_else(|| {
        "tracefs is not visible: it may not be mounted (mount -t tracefs tracefs /sys/kernel/tracing), or it needs \
         root"
            .to_owned()
    })
}

/// `\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;`
fn field(line: &str) -> Option<(String, u32)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let name = parts.next()?.rsplit(' ').next()?.split('[').next()?;
    let offset = parts.find_map(|part| part.strip_prefix("offset:"))?.parse().ok()?;
    Some((name.to_owned(), offset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_found_by_name() {
        let expected = |name: &str, offset| Some((name.to_owned(), offset));
        assert_eq!(field("\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;"), expected("sector", 16));
        assert_eq!(field("\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;"), expected("rwbs", 34));
        assert_eq!(field("print fmt: \"%d\""), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::recorded(folder.path());
        assert!(tracepoint(&root, "block/x").expect_err("nothing").contains("mount -t tracefs"));
        let events = folder.path().join("sys/kernel/tracing/events/block/x");
        std::fs::create_dir_all(&events).expect("a folder");
        assert!(tracepoint(&root, "block/x").expect_err("no files").contains("no tracepoint block/x"));
        std::fs::write(events.join("id"), "42\n").expect("a file");
        std::fs::write(events.join("format"), "name: x\n\tfield:dev_t dev;\toffset:8;\tsize:4;\n").expect("a file");
        let found = tracepoint(&root, "block/x").expect("it is there");
        assert_eq!((found.id, found.offsets.get("dev")), (42, Some(&8)));
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "\\PC*") {
            let _ = field(&line);
        }
    }
}
