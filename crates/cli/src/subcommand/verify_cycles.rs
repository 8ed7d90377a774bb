//! Arguments of `diskspd verify --cycles`: repeated crashes of a load.

use crate::number;
use model::limits::RUNS_MAX;

/// A series of loads that are cut off and verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct CycleArguments {
    /// cut a load off N times, and verify after each: start the load with --verify and --journal=DIR/cycle-N, run --cut at a
    /// random time, wait until the load has ended, run --back, and compare the targets with the logs. Ends with the first
    /// cycle that finds corrupt data, so that the data stays as it is
    #[arg(long, value_name = "N", value_parser = number::count::<RUNS_MAX>, requires_all = ["cut", "journal"],
          conflicts_with = "targets")]
    pub cycles: Option<u32>,
    /// shell command that cuts the power of the storage, or ends the load ('kill -KILL $DISKSPD_PID'). It and --back find the
    /// process id of the load in DISKSPD_PID and the number of the cycle in DISKSPD_CYCLE
    #[arg(long, value_name = "COMMAND", requires = "cycles")]
    pub cut: Option<String>,
    /// shell command that brings the storage back. It is run after every cut, also if Ctrl+C ended the series
    #[arg(long, value_name = "COMMAND", requires = "cycles")]
    pub back: Option<String>,
    /// options and targets of the load, or preset run NAME TARGET, after --
    #[arg(value_name = "LOAD", last = true, requires = "cycles")]
    pub load: Vec<String>,
}

impl CycleArguments {
    /// The error if these cannot be used together.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.cycles.is_some() && self.load.is_empty() {
            return Err("the workload is missing; put its options and targets after --".to_owned());
        }
        let is_journal = |word: &&String| word.starts_with("--journal=") || *word == "--journal";
        if self.load.iter().any(|word| is_journal(&word)) {
            return Err("leave --journal out of the load: each cycle has a directory of its own in that of the series"
                .to_owned());
        }
        Ok(())
    }
}
