//! The parts that the tests are run in.

use super::rows::Name;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A share of the tests that takes at most a quarter of an hour on an emulated CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The program on each series of Debian's kernels.
    Kernels,
    /// Directories of another machine: NFS, SMB, 9p.
    Shares,
    /// Block devices of all kinds, and stacks of them.
    Stacks,
    /// Power cuts.
    Cuts,
}

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kernels, Self::Shares, Self::Stacks, Self::Cuts];

    /// The part with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.to_string() == name)
    }

    /// The part of today: each has its turn every fourth day, UTC.
    pub fn of_today() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::of_day(since_epoch.as_secs() / SECONDS_PER_DAY)
    }

    fn of_day(day: u64) -> Self {
        Self::ALL[(day % 4) as usize]
    }

    /// True for the tests of this part, by the first word of their names.
    pub(super) fn has(self, row: &Name) -> bool {
        let module = row.test.split("::").next().unwrap_or_default();
        let part = match module {
            "kernels" => Self::Kernels,
            "shares" => Self::Shares,
            "cuts" | "power_cut" => Self::Cuts,
            _ => Self::Stacks,
        };
        part == self
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernels => "kernels",
            Self::Shares => "shares",
            Self::Stacks => "stacks",
            Self::Cuts => "cuts",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_turn_within_four_days_and_each_test_its_part() {
        let mut turns: Vec<String> = (20_000..20_004).map(|day| Part::of_day(day).to_string()).collect();
        turns.sort();
        assert_eq!(turns, ["cuts", "kernels", "shares", "stacks"]);
        let name = |test: &str| Name { program: "vm".to_owned(), test: test.to_owned() };
        for (test, part) in [("kernels::a", Part::Kernels), ("guard::swap", Part::Stacks), ("power_cut::a", Part::Cuts)]
        {
            let of: Vec<Part> = Part::ALL.into_iter().filter(|part| part.has(&name(test))).collect();
            assert_eq!(of, [part]);
        }
    }
}
