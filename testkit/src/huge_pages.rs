//! Huge pages of the default size, which are a resource of the whole machine.

use crate::machine::is_root;
use std::fs::{self, File};

const COUNT: &str = "/proc/sys/vm/nr_hugepages";

/// Excludes changes of their number by other tests until this is dropped; then the number is restored.
#[derive(Debug)]
pub struct HugePages {
    before: Option<String>,
    /// Released last.
    _turn: File,
}

impl HugePages {
    /// Waits until no other test depends on their number.
    pub fn as_they_are() -> Result<Self, String> {
        let turn = std::env::temp_dir().join("diskspd-tests-huge-pages.lock");
        let turn = File::options().create(true).truncate(false).write(true).open(turn);
        let turn = turn.map_err(|error| error.to_string())?;
        turn.lock().map_err(|error| error.to_string())?;
        Ok(Self { before: None, _turn: turn })
    }

    /// Adds some; the error is the reason if that is impossible here.
    pub fn add(&mut self, count: u64) -> Result<(), String> {
        if !is_root() {
            return Err("needs root".to_owned());
        }
        let reason = |error: std::io::Error| format!("no huge pages here: {error}");
        self.before = Some(fs::read_to_string(COUNT).map_err(reason)?);
        let (total, free) = (meminfo("HugePages_Total"), meminfo("HugePages_Free"));
        fs::write(COUNT, (total + count).to_string()).map_err(reason)?;
        if meminfo("HugePages_Free") < free + count {
            return Err("memory is too scattered for huge pages".to_owned());
        }
        Ok(())
    }

    /// Number of free pages.
    pub fn free(&self) -> u64 {
        meminfo("HugePages_Free")
    }

    /// Size of each in KiB.
    pub fn size_kib(&self) -> u64 {
        meminfo("Hugepagesize")
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // There is no alternative.
            let _ = fs::write(COUNT, before.trim());
        }
    }
}

/// A number of `/proc/meminfo`; 0 if there is none.
fn meminfo(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
