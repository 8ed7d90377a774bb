//! Sequential requests: a request is one if it begins where one of the last streams of its process on its device ended.

use crate::event::Event;
use std::collections::HashMap;

/// Streams of a process on a device that are remembered.
const STREAMS: usize = 16;

/// Pairs of process and device that are remembered; then all are forgotten.
const OWNERS_MAX: usize = 65_536;

/// Ends of the last streams.
#[derive(Debug, Default)]
pub(super) struct Streams(HashMap<(u32, u32), Ends>);

#[derive(Debug, Default)]
struct Ends {
    /// The latest last.
    ends: Vec<u64>,
}

impl Streams {
    /// True if the request continues a stream; either way it is the end of one now.
    pub(super) fn continues(&mut self, event: &Event) -> bool {
        if self.0.len() > OWNERS_MAX {
            self.0.clear();
        }
        let ends = &mut self.0.entry((event.device, event.process)).or_default().ends;
        let place = ends.iter().position(|&end| end == event.offset);
        if place.is_some() || ends.len() == STREAMS {
            ends.remove(place.unwrap_or(0));
        }
        ends.push(event.offset.saturating_add(event.length));
        place.is_some()
    }
}
