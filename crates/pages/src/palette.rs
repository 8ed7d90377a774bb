//! Colours by meaning.
//!
//! Charts are drawn in the colours of the light theme; a page swaps them by rules on these exact colours, so each must
//! occur only once. Reads and writes are Okabe and Ito's blue and vermilion, which are distinguishable with every
//! colour vision ("Color Universal Design", 2008), the latter dark enough for text; lines also have their names beside
//! them. Throughput and percentiles of one chart are chosen to be distinguishable without red or green cones, by
//! lightness if not by hue.

use report::role::Role;
use serde::Serialize;

/// Red, green and blue.
pub(crate) type Rgb = (u8, u8, u8);

/// The colour in the light theme.
pub(crate) const fn light(role: Role) -> Rgb {
    match role {
        Role::Ink => (0x1c, 0x23, 0x2b),
        Role::Muted => (0x5b, 0x66, 0x73),
        Role::Grid => (0xdd, 0xe2, 0xe8),
        Role::Paper => (0xff, 0xff, 0xff),
        Role::Read => (0x00, 0x72, 0xb2),
        Role::Write => (0xc2, 0x54, 0x00),
        Role::Total => (0x4a, 0x4f, 0x57),
        Role::Half => (0x2f, 0x7d, 0x80),
        Role::Tenth => (0x20, 0x70, 0xc0),
        Role::Hundredth => (0x4a, 0x1a, 0x5e),
        Role::Thousandth => (0xb0, 0x10, 0x30),
        Role::Heat => (0x0b, 0x5c, 0xab),
        Role::Kernel => (0x12, 0x3a, 0x5e),
        Role::User => (0x3f, 0x78, 0xa8),
        Role::Good => (0x00, 0x7f, 0x5f),
        Role::Edge => (0x9a, 0x5b, 0x00),
        Role::Bad => (0xb4, 0x23, 0x18),
    }
}

/// The colour in the dark theme.
pub(crate) const fn dark(role: Role) -> Rgb {
    match role {
        Role::Ink => (0xe8, 0xed, 0xf2),
        Role::Muted => (0x9a, 0xa7, 0xb5),
        Role::Grid => (0x2e, 0x37, 0x42),
        Role::Paper => (0x16, 0x1b, 0x22),
        Role::Read => (0x5c, 0xb8, 0xee),
        Role::Write => (0xff, 0x95, 0x4a),
        Role::Total => (0xb4, 0xbc, 0xc6),
        Role::Half => (0x95, 0xf3, 0xea),
        Role::Tenth => (0x3c, 0xc3, 0xf5),
        Role::Hundredth => (0xb0, 0x6a, 0xa8),
        Role::Thousandth => (0xff, 0x8f, 0xa0),
        Role::Heat => (0x63, 0xb3, 0xff),
        Role::Kernel => (0x4a, 0x8f, 0xd0),
        Role::User => (0xa9, 0xcf, 0xf0),
        Role::Good => (0x3f, 0xc9, 0xa1),
        Role::Edge => (0xf0, 0xb4, 0x4c),
        Role::Bad => (0xff, 0x7b, 0x72),
    }
}

/// The name in style sheets: `--read`.
pub(crate) const fn variable(role: Role) -> &'static str {
    match role {
        Role::Ink => "ink",
        Role::Muted => "muted",
        Role::Grid => "grid",
        Role::Paper => "paper",
        Role::Read => "read",
        Role::Write => "write",
        Role::Total => "total",
        Role::Half => "half",
        Role::Tenth => "tenth",
        Role::Hundredth => "hundredth",
        Role::Thousandth => "thousandth",
        Role::Heat => "heat",
        Role::Kernel => "kernel",
        Role::User => "user",
        Role::Good => "good",
        Role::Edge => "edge",
        Role::Bad => "bad",
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
    let swatch = |role: Role| Swatch { variable: variable(role), light: hex(light(role)), dark: hex(dark(role)) };
    Role::ALL.into_iter().map(swatch).collect()
}

/// As SVG back ends write it: `#0072B2`.
fn hex((red, green, blue): Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::role::HEAT_MIN;
    use std::collections::BTreeSet;

    #[test]
    fn colours_tell_their_roles() {
        let colours: BTreeSet<Rgb> = Role::ALL.into_iter().map(light).collect();
        let names: BTreeSet<&str> = Role::ALL.into_iter().map(variable).collect();
        assert_eq!((colours.len(), names.len()), (Role::ALL.len(), Role::ALL.len()));
    }

    fn linear(channel: u8) -> f64 {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    }

    /// Matrix from linear red, green and blue to the perceived ones.
    type Vision = [[f64; 3]; 3];

    const USUAL: Vision = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// Without cones for red: Machado, Oliveira and Fernandes, 2009, at severity 1.
    const PROTANOPIA: Vision =
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]];
    /// Without cones for green: the same.
    const DEUTERANOPIA: Vision =
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]];

    fn product(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// CIELAB, D65.
    fn lab((red, green, blue): Rgb, vision: &Vision) -> [f64; 3] {
        const XYZ_OF_WHITE: [[f64; 3]; 3] = [
            [0.412_456 / 0.950_47, 0.357_576 / 0.950_47, 0.180_438 / 0.950_47],
            [0.212_673, 0.715_152, 0.072_175],
            [0.019_334 / 1.088_83, 0.119_192 / 1.088_83, 0.950_304 / 1.088_83],
        ];
        let seen = product(vision, [red, green, blue].map(linear)).map(|part| part.clamp(0.0, 1.0));
        let [x, y, z] = product(&XYZ_OF_WHITE, seen)
            .map(|part| if part > 216.0 / 24389.0 { part.cbrt() } else { (24389.0 / 27.0 * part + 16.0) / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// CIE 1976; 2.3 is just noticeable.
    fn distance(a: Rgb, b: Rgb, vision: &Vision) -> f64 {
        lab(a, vision).iter().zip(lab(b, vision)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// IOPS and the 99th percentile of one chart were 7 apart without cones for green, the 90th and the 99th 4.
    #[test]
    fn colours_of_one_chart_are_told_apart_by_every_colour_vision() {
        const LEAST: f64 = 22.0;
        let charts: [&[Role]; 4] = [
            // Throughput, its plateau, and latencies over depth.
            &[Role::Read, Role::Edge, Role::Half, Role::Hundredth],
            // Percentiles over time.
            &[Role::Half, Role::Tenth, Role::Hundredth, Role::Thousandth],
            &[Role::Total, Role::Read, Role::Write],
            // The first of many lines.
            &[Role::of_line(0), Role::of_line(1), Role::of_line(2), Role::of_line(3)],
        ];
        let themes: [fn(Role) -> Rgb; 2] = [light, dark];
        for (theme, vision) in
            themes.iter().flat_map(|theme| [USUAL, PROTANOPIA, DEUTERANOPIA].map(|seen| (theme, seen)))
        {
            for roles in charts {
                for (index, a) in roles.iter().enumerate() {
                    for b in &roles[index + 1..] {
                        let apart = distance(theme(*a), theme(*b), &vision);
                        assert!(apart >= LEAST, "{a:?} and {b:?} are {apart:.1} apart: {vision:?}");
                    }
                }
            }
        }
    }

    /// The weakest cells of heat maps were 4 from the background.
    #[test]
    fn the_weakest_cell_is_seen_on_the_ground_of_both_themes() {
        for (heat, (red, green, blue)) in
            [(light(Role::Heat), light(Role::Paper)), (dark(Role::Heat), dark(Role::Paper))]
        {
            let over = |above: u8, below: u8| {
                (f64::from(above) * HEAT_MIN + f64::from(below) * (1.0 - HEAT_MIN)).round() as u8
            };
            let cell = (over(heat.0, red), over(heat.1, green), over(heat.2, blue));
            let apart = distance(cell, (red, green, blue), &USUAL);
            assert!(apart >= 12.0, "{apart:.1}");
        }
    }

    /// WCAG 2.1, 1.4.3: marks have their names beside them in their colour, so each is one of text.
    #[test]
    fn text_and_lines_stand_out() {
        let luminance = |(red, green, blue): Rgb| 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
        let contrast = |a: Rgb, b: Rgb| {
            let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
            a.max(b) / a.min(b)
        };
        for role in Role::ALL {
            if matches!(role, Role::Grid | Role::Paper) {
                continue;
            }
            let light = contrast(light(role), light(Role::Paper));
            let dark = contrast(dark(role), dark(Role::Paper));
            assert!(light >= 4.5 && dark >= 4.5, "{role:?}: {light:.2} {dark:.2}");
        }
    }
}
