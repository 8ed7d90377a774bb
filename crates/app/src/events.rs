//! Named events: those of a run, and `-ye`.

use crate::output::{print, say};
use crate::status::{Status, printed};
use run::event::Events;
use std::fmt::Write as _;
use std::io;
use sys::event::{EventFolder, NamedEvent};

/// Makes or opens the events of a run.
///
/// # Errors
///
/// A sentence that names the event.
pub(crate) fn hold(names: &spec::Events) -> Result<Events, String> {
    Ok(Events {
        start: create(names.wait_start.as_deref())?,
        stop: create(names.stop.as_deref())?,
        on_started: create(names.on_started.as_deref())?,
        on_finished: create(names.on_finished.as_deref())?,
    })
}

fn create(name: Option<&str>) -> Result<Option<NamedEvent>, String> {
    let Some(name) = name else { return Ok(None) };
    let event = EventFolder::of_this_user().and_then(|folder| folder.create(name.as_bytes()));
    event.map(Some).map_err(|error| format!("Error creating event '{}': {error}", shown(name)))
}

/// Sets events that others hold.
pub(crate) fn set(names: &[String], warnings: &[String]) -> Status {
    for warning in warnings {
        say(&format!("WARNING: {warning}"));
    }
    let mut status = Status::Success;
    for name in names {
        match set_one(name) {
            Ok(true) => {
                let line = format!("Successfully set event: '{}'\n", shown(name));
                status = printed(print(line.as_bytes()), status);
            }
            Ok(false) => {
                say(&format!("Error opening event '{}': no running process of this user holds it", shown(name)));
                status = Status::Failure;
            }
            Err(error) => {
                say(&format!("Error opening event '{}': {error}", shown(name)));
                status = Status::Failure;
            }
        }
    }
    status
}

/// False if there is no such event.
fn set_one(name: &str) -> io::Result<bool> {
    let event = EventFolder::of_this_user()?.open(name.as_bytes())?;
    Ok(event.is_some_and(|event| {
        event.set();
        true
    }))
}

/// A name with control characters as `\xNN`, so that it cannot forge a line.
fn shown(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_ascii_control() {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\x{:02x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_on_one_line() {
        assert_eq!(shown("a b/ä\n\x1b[2J\x7f"), "a b/ä\\x0a\\x1b[2J\\x7f");
    }
}
