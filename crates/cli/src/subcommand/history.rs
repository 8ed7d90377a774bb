//! Arguments of `diskspd history`.

use super::{Arguments, TypedArguments};
use crate::file_name;
use crate::request::Environment;
use std::path::PathBuf;

/// Show the results that diskspd gate has kept
///
/// Prints a table of the results in FOLDER, those of each load, machine and version by themselves: IOPS, mean and 99th
/// percentile, the verdict of each run and the answer of its gate. Change points are marked.
#[derive(Clone, Debug, PartialEq, Eq, clap::Args)]
#[command(override_usage = "diskspd history FOLDER [--output FILE.html]")]
pub struct HistoryRequest {
    /// directory of diskspd gate
    #[arg(value_name = "FOLDER", required = true, value_parser = file_name::path_alone())]
    pub folder: PathBuf,
    /// also write an HTML page with charts
    #[arg(long, value_name = "FILE", value_parser = file_name::path_alone())]
    pub output: Option<PathBuf>,
    /// replace FILE, whatever it is
    #[arg(long)]
    pub replace_output: bool,
}

impl Arguments for HistoryRequest {
    type Request = Self;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<Self, String> {
        Ok(self)
    }
}
