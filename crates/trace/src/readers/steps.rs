//! Steps that the kernel reports while they are made.

use super::State;
use super::blkparse::kind;
use super::requests::{Record, Records, Requests};
use crate::event::{Action, Flags};
use model::block_step::BlockStep;
use model::operation::Operation;

pub(super) struct Steps<I>(I);

impl<I: Iterator<Item = BlockStep>> Steps<I> {
    pub(super) fn new(steps: I) -> Requests<Self> {
        Requests::new(Self(steps))
    }
}

impl<I: Iterator<Item = BlockStep>> Records for Steps<I> {
    fn next(&mut self, state: &mut State) -> Option<Record> {
        loop {
            let BlockStep { kind, time_ns, device: (major, minor), sector, bytes, letters, pid, name } =
                self.0.next()?;
            // Commands to the driver and to zones; kernels without a letter for write-zeroes report these as such, too.
            if letters.starts_with(['N', 'Z']) {
                state.account.not_block_io += 1;
                continue;
            }
            let device = format!("{major},{minor}");
            let source = (&*device, pid, &*name);
            let letters = kind_of_letters(&letters, bytes);
            return Some(Record::new((kind, time_ns), source, (sector, bytes), letters, &mut state.names));
        }
    }
}

/// As blkparse reads them, and write-zeroes of kernels that have letters for them.
fn kind_of_letters(letters: &str, bytes: u64) -> (Action, Flags) {
    let (action, flags) = kind(letters, bytes);
    if letters.starts_with("WZ") {
        return (Action::Operation(Operation::WriteZeroes), flags);
    }
    (action, flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::TraceReader;
    use model::block_step::StepKind;

    #[test]
    fn steps_become_requests_of_the_process_that_queued_them() {
        let step = |kind, time_ns, pid, name: &str| BlockStep {
            kind,
            time_ns,
            device: (254, 0),
            sector: 8,
            bytes: 4096,
            letters: "WFS".to_owned(),
            pid,
            name: name.to_owned(),
        };
        let steps = [
            step(StepKind::Queued, 1_000, 7, "app"),
            step(StepKind::Issued, 1_200, 3, "kworker"),
            step(StepKind::Completed, 1_900, 0, ""),
        ];
        let mut reader = TraceReader::from_steps(steps.into_iter(), 5);
        let events: Vec<_> = reader.by_ref().collect();
        let [only] = events[..] else { panic!("{events:?}") };
        assert_eq!((only.latency_ns, only.offset, only.length), (Some(700), 4096, 4096));
        assert!(only.flags.contains(Flags::FUA) && only.flags.contains(Flags::SYNC));
        let names = reader.names();
        assert_eq!(names.processes()[only.process as usize].name, "app");
        assert_eq!((names.devices()[0].name.as_str(), reader.begin_unix_ns()), ("254,0", Some(1_205)));
    }

    #[test]
    fn requests_at_the_same_place_at_the_same_time_are_all_complete() {
        let step = |kind, time_ns| BlockStep {
            kind,
            time_ns,
            device: (254, 0),
            sector: 8,
            bytes: 4096,
            letters: "R".to_owned(),
            pid: 7,
            name: String::new(),
        };
        let [issued, completed] = [StepKind::Issued, StepKind::Completed];
        let steps = [step(issued, 1_000), step(issued, 1_200), step(completed, 1_900), step(completed, 2_100)];
        let mut reader = TraceReader::from_steps(steps.into_iter(), 0);
        let mut latencies: Vec<_> = reader.by_ref().map(|event| event.latency_ns).collect();
        latencies.sort_unstable();
        // Which completed first cannot be known; their sum is.
        assert_eq!(latencies, [Some(700), Some(1_100)]);
        assert_eq!(reader.account().issues_without_completion, 0);

        let steps = [step(issued, 1_000), step(issued, 5_000), step(completed, 5_100)];
        let mut reader = TraceReader::from_steps(steps.into_iter(), 0);
        let mut latencies: Vec<_> = reader.by_ref().map(|event| event.latency_ns).collect();
        latencies.sort_unstable();
        assert_eq!(latencies, [None, Some(100)], "a lost completion takes none of a later request");
    }
}
