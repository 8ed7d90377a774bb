//! Named events: those of a run, and `-ye`.

use crate::output::{print, say};
use crate::status::{Status, printed};
use model::printable::printable;
use run::event::Events;
use std::io;
use sys::event::{EventFolder, NamedEvent};

/// Creates or opens the events of a run.
///
/// # Errors
///
/// A sentence that names the event.
pub(crate) fn hold(names: &cli::Events) -> Result<Events, String> {
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
    event.map(Some).map_err(|error| format!("Error creating event '{name}': {error}"))
}

/// Sets events held by other processes.
pub(crate) fn set(names: &[String], warnings: &[String]) -> Status {
    for warning in warnings {
        say(&format!("WARNING: {warning}"));
    }
    let mut status = Status::Done;
    for name in names {
        match set_one(name) {
            Ok(true) => {
                let line = format!("Successfully set event: '{}'\n", printable(name));
                status = printed(print(line.as_bytes()), status);
            }
            Ok(false) => {
                say(&format!("Error opening event '{name}': no running process of this user uses it"));
                status = Status::Failed;
            }
            Err(error) => {
                say(&format!("Error opening event '{name}': {error}"));
                status = Status::Failed;
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
