//! Runs that write to files, and those that are refused.

use crate::machine::unless_swapping;
use crate::process::Finished;
use crate::snapshot::Snapshot;
use crate::workplace::Workplace;
use std::path::{Path, PathBuf};

impl Workplace {
    /// Creates a file of 64 KiB with foreign data, unlike our fill pattern.
    pub fn somebodys(&self, name: &str) -> PathBuf {
        let content: Vec<u8> = (0..65_536_u32).map(|index| (index * 7 % 251) as u8 ^ 0x55).collect();
        self.file(name, &content)
    }

    /// Checks that the run is refused before anything happens: exit 3, no report, the file named and untouched.
    pub fn refused(&self, words: &str, path: &Path, parts: &[&str]) -> Finished {
        let (run, is_untouched) = unless_swapping(|| {
            let before = Snapshot::take(path);
            let run = self.short_run("").args(words).arg(path).run();
            (run, Snapshot::take(path) == before)
        });
        run.expect_status(3).expect_stderr(&[&path.display().to_string()]).expect_stderr(parts);
        assert_eq!(run.stdout, "", "a refused run has no report");
        assert!(is_untouched, "{words} changed a file that it refused");
        run
    }

    /// Writes for a moment.
    pub fn allowed(&self, words: &str, path: &Path) -> Finished {
        let run = self.briefly(words).arg(path).run_until_measuring();
        run.expect_status(0);
        run
    }
}
