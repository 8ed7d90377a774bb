//! In a build without pages there are no HTML pages and charts.

use crate::feature::Feature;
use crate::output::say;
use crate::status::Status;
use cli::subcommand::report::{OutputAsked, PictureForm};
use std::path::{Path, PathBuf};

/// Refuses to make one.
pub(crate) fn make(_: &[PathBuf], output: &OutputAsked, _: &PictureForm, _: Option<&Path>) -> Status {
    say(&format!("ERROR: --output '{}': {}", output.path.display(), Feature::Pages.refusal()));
    Status::Refused
}
