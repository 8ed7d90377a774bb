//! What `diskspd --plan` prints.
use model::facts::Facts;
use model::plan::Plan;
use std::io;

/// Writes the plan for people.
pub fn explain(_plan: &Plan, _facts: &Facts, _out: &mut dyn io::Write) -> io::Result<()> {
    Ok(())
}
