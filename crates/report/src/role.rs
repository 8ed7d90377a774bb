//! Meanings of the marks of a chart; `pages` chooses their colours.

/// The meaning of a mark in a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Text.
    Ink,
    /// Text of axes.
    Muted,
    /// Lines of axes.
    Grid,
    /// The background.
    Paper,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes together.
    Total,
    /// The median; the percentiles below are ever further out.
    Half,
    /// The 90th.
    Tenth,
    /// The 99th.
    Hundredth,
    /// The 99.9th.
    Thousandth,
    /// Counts in the cells of a grid.
    Heat,
    /// Time of the kernel.
    Kernel,
    /// Time of programs.
    User,
    /// The efficient depth; an improvement.
    Good,
    /// The saturation depth.
    Edge,
    /// A regression.
    Bad,
}

/// The least colour strength of a cell that is not empty: visible on the background of either theme.
pub const HEAT_MIN: f64 = 0.16;

impl Role {
    /// The colour of one of several lines that differ in a setting; repeats from the first after the last.
    pub const fn of_line(index: usize) -> Self {
        const LINES: [Role; 8] = [
            Role::Read,
            Role::Write,
            Role::Good,
            Role::Hundredth,
            Role::Total,
            Role::Thousandth,
            Role::Edge,
            Role::Half,
        ];
        LINES[index % LINES.len()]
    }

    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Ink,
        Self::Muted,
        Self::Grid,
        Self::Paper,
        Self::Read,
        Self::Write,
        Self::Total,
        Self::Half,
        Self::Tenth,
        Self::Hundredth,
        Self::Thousandth,
        Self::Heat,
        Self::Kernel,
        Self::User,
        Self::Good,
        Self::Edge,
        Self::Bad,
    ];
}
