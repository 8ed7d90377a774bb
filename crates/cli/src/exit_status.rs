//! Exit status of the program, with the same meaning for the command and all of its subcommands.

/// An exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0
    Done,
    /// 1
    Failed,
    /// 3
    Refused,
    /// 4
    No,
    /// 5
    Corrupt,
    /// 6
    CannotTell,
    /// 128 and the number of the signal.
    Signal(u8),
}

impl ExitStatus {
    /// The worst answer of several judgements: corrupt data, then a failed requirement, then an undetermined one.
    pub fn worst(answers: impl IntoIterator<Item = Self>) -> Self {
        let answers: Vec<Self> = answers.into_iter().collect();
        let ranked = [Self::Corrupt, Self::No, Self::CannotTell];
        ranked.into_iter().find(|worst| answers.contains(worst)).unwrap_or(Self::Done)
    }

    /// Each status with its meaning.
    pub const TABLE: [(&str, &str); 7] = [
        ("0", "Success. This includes a measurement that was ended by Ctrl+C or by a stop event (-yp)."),
        (
            "1",
            "The run failed, a target does not exist or cannot be opened, or this machine lacks something that the \
          run needs.",
        ),
        ("3", "The command line, the profile or a target was refused; nothing was changed."),
        (
            "4",
            "The results are invalid (--strict) or miss a requirement (--require, or of a preset), a metric changed by more than the \
             limit (compare and ab --fail-if), a load is worse than its history (gate), or a check failed (check).",
        ),
        ("5", "Data that was read back is not what was written (--verify)."),
        (
            "6",
            "The results cannot tell whether a requirement is met (--require), the limit is exceeded (compare and ab \
             --fail-if), the sides of ab differ, a load is worse than its history (gate) or data is right (verify), or a \
             load of a preset passes with a WARN verdict (--strict).",
        ),
        (
            "129, 130, 143",
            "SIGHUP, SIGINT (Ctrl+C) or SIGTERM ended the program before anything was measured, or a series of runs \
             before it had its answer.",
        ),
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Refused => 3,
            Self::No => 4,
            Self::Corrupt => 5,
            Self::CannotTell => 6,
            Self::Signal(number) => 128 + number,
        }
    }
}
