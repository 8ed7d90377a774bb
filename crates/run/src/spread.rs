//! How many operations one system call hands over.
//!
//! Where operations complete inside the submission (page cache, holes, memory), all at once costs least. Where they
//! complete later, handing over all that came back makes a convoy: the block layer sends them as one burst, the
//! device answers with one burst, and in between its queue runs empty. There, a sixteenth of the depth at a time, with
//! a look at completions in between, keeps the queue full.

use model::plan::WorkerPlan;

/// One turn in this many is watched.
const WATCHED_TURNS: u32 = 64;

/// The part of the depth that is handed over at a time.
const PARTS: u32 = 16;

/// More at a time keep no queue fuller, and fewer system calls make no difference then.
const MOST: u32 = 8;

/// How many operations are handed over at a time, adapted to what is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Operations that a turn may start; `u32::MAX` = all.
    pub(crate) most: u32,
    /// The latest turn started as many as it may, and more could start.
    pub(crate) has_more: bool,
    /// The limit where operations complete later.
    part: u32,
    /// Turns to the next that is watched; 0 = none is.
    turns_left: u32,
}

impl Spread {
    /// Everything at once, always.
    pub(crate) const fn off() -> Self {
        Self { most: u32::MAX, has_more: false, part: u32::MAX, turns_left: 0 }
    }

    /// Adapts where the kernel takes many operations at a time, and the user has not chosen how many (`-u`, `-oc`,
    /// `-g`).
    pub(crate) fn new(plan: &WorkerPlan, paced: bool) -> Self {
        let takes_many = plan.engine.kind.takes_batches();
        let is_chosen =
            plan.engine.completions_max.is_some() || plan.engine.ring.is_some_and(|ring| ring.batch.is_some());
        if takes_many && !is_chosen && !paced { Self::of_depth(plan.slots) } else { Self::off() }
    }

    /// For this many requests.
    pub(crate) fn of_depth(slots: u32) -> Self {
        let part = (slots / PARTS).clamp(1, MOST);
        // The first turn is watched.
        if part < slots { Self { most: u32::MAX, has_more: false, part, turns_left: 1 } } else { Self::off() }
    }

    /// Counts a turn that starts operations; true if it is watched, so that it must not wait.
    #[inline]
    pub(crate) fn is_watched(&mut self) -> bool {
        let is_due = self.turns_left == 1;
        self.turns_left -= u32::from(self.turns_left > 1);
        is_due
    }

    /// Adapts to a watched turn: `before` operations were in flight, `started` were handed over, and right after that
    /// `completed` had come back.
    #[cold]
    pub(crate) fn saw(&mut self, before: u32, started: u32, completed: u32) {
        let is_inside = before == 0 && completed >= started.div_ceil(2);
        self.most = if is_inside { u32::MAX } else { self.part };
        self.turns_left = WATCHED_TURNS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_of_the_depth_is_handed_over_where_operations_complete_later() {
        for (slots, part) in [(2, 1), (8, 1), (16, 1), (32, 2), (128, 8), (4096, 8)] {
            let mut spread = Spread::of_depth(slots);
            assert_eq!(spread.most, u32::MAX, "until something is known");
            assert!(spread.is_watched());
            spread.saw(0, slots, 0);
            assert_eq!(spread.most, part);
        }
        assert_eq!(Spread::of_depth(1), Spread::off());
        assert!(!Spread::off().is_watched());
    }

    #[test]
    fn one_turn_in_64_is_watched_and_changes_what_the_others_do() {
        let mut spread = Spread::of_depth(32);
        spread.saw(0, 32, 32);
        assert_eq!(spread.most, u32::MAX);
        assert_eq!((1..=64).filter(|_| spread.is_watched()).collect::<Vec<_>>(), [64]);
        // Some were in flight, so they do not complete inside the submission, however many came back.
        spread.saw(28, 2, 30);
        assert_eq!(spread.most, 2);
    }
}
