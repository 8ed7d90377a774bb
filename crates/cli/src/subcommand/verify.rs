//! Arguments of `diskspd verify`.

use super::verify_cycles::CycleArguments;
use super::{Arguments, TypedArguments};
use crate::request::Environment;
use crate::size;
use std::path::PathBuf;

/// Read back what --verify wrote, and check it (experimental)
///
/// Reads whole targets past the page cache, with several threads, and checks each unit that a run with --verify wrote: is it
/// at the place that its header names, and is its checksum right. This finds data that changed, that belongs elsewhere, or
/// that is torn within a unit. It does not find writes that are missing as a whole: for that, --journal compares each unit
/// with the map of the run, or, if the run was cut off, with its logs: all that was flushed must be there. Never writes to a
/// target. Ctrl+C ends it with a report of what was read, and the --from to go on with.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(
    override_usage = "diskspd verify TARGET... [--journal DIR] [--from OFFSET] [--json]
       diskspd verify --cycles N --cut COMMAND [--back COMMAND] --journal DIR [--json] -- LOAD",
    after_help = "Exit status, the first that applies: 3 = command line, map or logs not valid, nothing was read; 5 = data is \
                  corrupt; 1 = a target cannot be read; 6 = it cannot be told: nothing could be checked on a target, Ctrl+C \
                  ended it, units are torn as a killed run leaves them, or a later run wrote to it; 0 = all that could be \
                  checked is right."
)]
pub struct VerifyRequest {
    /// files and block devices that runs with --verify wrote to
    #[arg(value_name = "TARGET", required_unless_present = "cycles")]
    pub targets: Vec<PathBuf>,
    /// compare with the map or the logs of a run, which are in this directory. Nothing else may have written to the targets since
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,
    /// begin at this offset of the only target, in bytes (units K, M, G, T as for -b): where an interrupted verification ended
    #[arg(long, value_name = "OFFSET", value_parser = offset)]
    pub from: Option<u64>,
    /// print JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub cycles: CycleArguments,
}

impl Arguments for VerifyRequest {
    type Request = Self;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<Self, String> {
        if self.from.is_some() && self.targets.len() > 1 {
            return Err("--from needs exactly one TARGET".to_owned());
        }
        if self.from.is_some() && self.cycles.cycles.is_some() {
            return Err("--from cannot be used with --cycles".to_owned());
        }
        self.cycles.check().map(|()| self)
    }
}

/// Alignment of direct reads of every device in bytes; a multiple of all sector sizes.
const ALIGNMENT_BYTES: u64 = 4096;

fn offset(text: &str) -> Result<u64, String> {
    let bytes = size::parse(text, 1).map_err(|fault| fault.to_string())?;
    if bytes.is_multiple_of(ALIGNMENT_BYTES) {
        Ok(bytes)
    } else {
        Err(format!("{bytes} is not a multiple of {ALIGNMENT_BYTES} bytes"))
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
        let rest = VerifyRequest { targets: vec!["a".into()], from: Some(3 << 20), ..VerifyRequest::default() };
        assert_eq!(typed("verify", "a --from 3M"), Ok(Subcommand::Verify(rest)));
        for (line, expected) in [
            ("", "TARGET"),
            ("a --journal", "'--journal'"),
            ("a --jurnal=x", "'--jurnal'"),
            ("a --from 1000", "1000 is not a multiple of 4096 bytes"),
            ("a --from x", "--from"),
            ("a b --from 4K", "--from needs exactly one TARGET"),
        ] {
            let failure = typed("verify", line).expect_err(line);
            assert!(failure.contains(expected), "{line}: {failure}");
        }
    }
}
