//! Arguments of `diskspd explain`.

use super::{Arguments, TypedArguments};
use crate::request::Environment;

/// Explain findings: when a rule reports one, and what to do
///
/// Prints the documentation of findings of the verdict, of check, of --expect and of --require: what the rule looks at,
/// when it reports a finding, and what to do about it. A finding of the verdict is not reported beside one that explains
/// it: Suppresses and Suppressed by list both directions. Without a name, lists all rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(override_usage = "diskspd explain [FINDING...]")]
pub struct ExplainRequest {
    /// name of a finding as in reports, such as served-from-cache
    #[arg(value_name = "FINDING")]
    pub names: Vec<String>,
}

impl Arguments for ExplainRequest {
    type Request = Self;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<Self, String> {
        Ok(self)
    }
}
