//! Arguments of `diskspd verify`.

use super::verify_cycles::CycleArguments;
use super::{Arguments, Typed};
use crate::request::Environment;
use std::path::PathBuf;

/// Read back what --verify wrote, and check it (experimental)
///
/// Reads whole targets past the page cache, with several threads, and checks each unit that a run with --verify wrote: is it
/// at the place that its header names, and is its checksum right. This finds data that changed, that belongs elsewhere, or
/// that is torn within a unit. It does not find writes that are missing as a whole: for that, --journal compares each unit
/// with the map of the run, or, if the run was cut off, with its logs: all that was flushed must be there. Never writes to a target. Ctrl+C ends it with a report of what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(
    override_usage = "diskspd verify TARGET... [--journal DIR] [--json]
       diskspd verify --cycles N --cut COMMAND [--back COMMAND] --journal DIR [--json] -- LOAD",
    after_help = "Exit status: 0 = all that could be checked is right; 5 = data is corrupt; 6 = nothing could be checked on a \
                  target, or Ctrl+C ended it; 1 = a target cannot be read; 3 = command line or map not valid."
)]
pub struct VerifyRequest {
    /// files and block devices that runs with --verify wrote to
    #[arg(value_name = "TARGET", required_unless_present = "cycles")]
    pub targets: Vec<PathBuf>,
    /// compare with the map or the logs of a run, which are in this directory. Nothing else may have written to the targets since
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// print JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cycles: CycleArguments,
}

impl Arguments for VerifyRequest {
    type Request = Self;

    fn request(self, _: &Typed<'_>, _: &dyn Environment) -> Result<Self, String> {
        self.cycles.check().map(|()| self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subcommand::Subcommand;
    use crate::subcommand::tests::typed;

    #[test]
    fn targets_journal_and_form_are_read() {
        let all = VerifyRequest {
            targets: vec!["a".into(), "b".into()],
            journal: Some("j".into()),
            json: true,
            ..VerifyRequest::default()
        };
        assert_eq!(typed("verify", "a --journal j --json b"), Ok(Subcommand::Verify(all)));
        for (line, expected) in [("", "TARGET"), ("a --journal", "'--journal'"), ("a --jurnal=x", "'--jurnal'")] {
            let failure = typed("verify", line).expect_err(line);
            assert!(failure.contains(expected), "{line}: {failure}");
        }
    }
}
