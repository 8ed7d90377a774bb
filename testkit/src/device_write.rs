//! Runs that write to a block device, or are refused.

use crate::machine::unless_swapping;
use crate::process::{Finished, Program};
use crate::snapshot::Snapshot;
use crate::workplace::Workplace;
use std::path::Path;

impl Workplace {
    /// Writes to a device for a moment, or is refused.
    pub fn write_to(&self, options: &[&str], device: &Path) -> Finished {
        let program = options.iter().fold(self.diskspd("-d60 -W0 -b4K -w100 --max-ios=100"), Program::arg);
        program.arg(device).run()
    }

    /// The same, which must end with exit 3, all `parts` on stderr and no report, and must not have changed a byte of
    /// `content`: the device, or the file below it.
    pub fn write_refused(&self, options: &[&str], device: &Path, content: &Path, parts: &[&str]) -> Finished {
        let (run, is_untouched) = unless_swapping(|| {
            let before = Snapshot::take(content).checksum;
            let run = self.write_to(options, device);
            (run, Snapshot::take(content).checksum == before)
        });
        run.expect_status(3).expect_stderr(&[&device.display().to_string()]).expect_stderr(parts);
        assert_eq!(run.stdout, "", "a refused run has no report");
        assert!(is_untouched, "{options:?} changed what it refused");
        run
    }
}
