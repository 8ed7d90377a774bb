//! Colours by meaning.
//!
//! Charts are drawn in the colours of light surroundings; a page swaps them by rules on these very colours, so
//! each must be there once. Reads and writes are Okabe and Ito's blue and vermilion, which people of every
//! colour vision tell apart ("Color Universal Design", 2008), the latter dark enough for text; lines have their
//! names beside them all the same.

use serde::Serialize;

/// The meaning of a mark in a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
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
    /// The median, and percentiles that are ever further out.
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
    /// The efficient depth; something better.
    Good,
    /// The saturation depth.
    Edge,
    /// Something worse.
    Bad,
}

/// Red, green and blue.
pub(crate) type Rgb = (u8, u8, u8);

impl Role {
    /// The colour of one of several lines that differ in a setting; the first comes again after the last.
    pub(crate) const fn of_line(index: usize) -> Self {
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

    pub(crate) const ALL: [Self; 17] = [
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

    /// On a light ground.
    pub(crate) const fn light(self) -> Rgb {
        match self {
            Self::Ink => (0x1c, 0x23, 0x2b),
            Self::Muted => (0x5b, 0x66, 0x73),
            Self::Grid => (0xdd, 0xe2, 0xe8),
            Self::Paper => (0xff, 0xff, 0xff),
            Self::Read => (0x00, 0x72, 0xb2),
            Self::Write => (0xc2, 0x54, 0x00),
            Self::Total => (0x4a, 0x4f, 0x57),
            Self::Half => (0x0a, 0x7f, 0x96),
            Self::Tenth => (0x22, 0x6a, 0xa8),
            Self::Hundredth => (0x7a, 0x3e, 0x9d),
            Self::Thousandth => (0xb8, 0x1d, 0x5b),
            Self::Heat => (0x0b, 0x5c, 0xab),
            Self::Kernel => (0x12, 0x3a, 0x5e),
            Self::User => (0x3f, 0x78, 0xa8),
            Self::Good => (0x00, 0x7f, 0x5f),
            Self::Edge => (0x9a, 0x5b, 0x00),
            Self::Bad => (0xb4, 0x23, 0x18),
        }
    }

    /// On a dark ground.
    pub(crate) const fn dark(self) -> Rgb {
        match self {
            Self::Ink => (0xe8, 0xed, 0xf2),
            Self::Muted => (0x9a, 0xa7, 0xb5),
            Self::Grid => (0x2e, 0x37, 0x42),
            Self::Paper => (0x16, 0x1b, 0x22),
            Self::Read => (0x5c, 0xb8, 0xee),
            Self::Write => (0xff, 0x95, 0x4a),
            Self::Total => (0xb4, 0xbc, 0xc6),
            Self::Half => (0x5f, 0xd0, 0xdd),
            Self::Tenth => (0x4f, 0x9f, 0xe0),
            Self::Hundredth => (0xc0, 0x8c, 0xe0),
            Self::Thousandth => (0xf2, 0x6d, 0x9e),
            Self::Heat => (0x63, 0xb3, 0xff),
            Self::Kernel => (0x4a, 0x8f, 0xd0),
            Self::User => (0xa9, 0xcf, 0xf0),
            Self::Good => (0x3f, 0xc9, 0xa1),
            Self::Edge => (0xf0, 0xb4, 0x4c),
            Self::Bad => (0xff, 0x7b, 0x72),
        }
    }

    /// In style sheets: `--read`.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Ink => "ink",
            Self::Muted => "muted",
            Self::Grid => "grid",
            Self::Paper => "paper",
            Self::Read => "read",
            Self::Write => "write",
            Self::Total => "total",
            Self::Half => "half",
            Self::Tenth => "tenth",
            Self::Hundredth => "hundredth",
            Self::Thousandth => "thousandth",
            Self::Heat => "heat",
            Self::Kernel => "kernel",
            Self::User => "user",
            Self::Good => "good",
            Self::Edge => "edge",
            Self::Bad => "bad",
        }
    }
}

/// A colour in a style sheet.
#[derive(Debug, Serialize)]
pub(crate) struct Swatch {
    variable: &'static str,
    light: String,
    dark: String,
}

/// All colours.
pub(crate) fn swatches() -> Vec<Swatch> {
    let swatch = |role: Role| Swatch { variable: role.variable(), light: hex(role.light()), dark: hex(role.dark()) };
    Role::ALL.into_iter().map(swatch).collect()
}

/// As SVG back ends write it: `#0072B2`.
fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn colours_tell_their_roles() {
        let colours: BTreeSet<Rgb> = Role::ALL.into_iter().map(Role::light).collect();
        let names: BTreeSet<&str> = Role::ALL.into_iter().map(Role::variable).collect();
        assert_eq!((colours.len(), names.len()), (Role::ALL.len(), Role::ALL.len()));
    }

    /// WCAG 2.1, 1.4.3: marks have their names beside them in their colour, so each is one of text.
    #[test]
    fn text_and_lines_stand_out() {
        let luminance = |(red, green, blue): Rgb| {
            let linear = |channel: u8| {
                let value = f64::from(channel) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let contrast = |a: Rgb, b: Rgb| {
            let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
            a.max(b) / a.min(b)
        };
        for role in Role::ALL {
            if matches!(role, Role::Grid | Role::Paper) {
                continue;
            }
            let light = contrast(role.light(), Role::Paper.light());
            let dark = contrast(role.dark(), Role::Paper.dark());
            assert!(light >= 4.5 && dark >= 4.5, "{role:?}: {light:.2} {dark:.2}");
        }
    }
}
