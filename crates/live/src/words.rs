//! Numbers for narrow columns.

/// A rate, in seven characters: with decimals while they are significant, then in thousands (`k`), millions (`M`) and
/// billions (`G`).
pub(crate) fn amount(value: f64) -> String {
    match value {
        v if v < 0.05 => "0".to_owned(),
        v if v < 1_000.0 => format!("{v:.1}"),
        v if v < 99_999.5 => format!("{v:.0}"),
        v if v < 9_999_950.0 => format!("{:.1}k", v / 1e3),
        v if v < 9_999_950_000.0 => format!("{:.1}M", v / 1e6),
        v => format!("{:.1}G", v / 1e9),
    }
}

/// Milliseconds with microseconds, in eight characters.
pub(crate) fn milliseconds(ms: f64) -> String {
    match ms {
        v if v < 1_000.0 => format!("{v:.3}"),
        v if v < 99_999.0 => format!("{v:.1}"),
        v => format!("{:.0}s", v / 1e3),
    }
}

/// A small number, in seven characters.
pub(crate) fn with_two_decimals(value: f64) -> String {
    if value < 1_000.0 { format!("{value:.2}") } else { amount(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stay_narrow() {
        for (value, expected) in [
            (0.0, "0"),
            (0.06, "0.1"),
            (999.94, "999.9"),
            (12_345.6, "12346"),
            (1_234_567.0, "1234.6k"),
            (12_345_678.0, "12.3M"),
            (5e12, "5000.0G"),
        ] {
            assert_eq!(amount(value), expected);
        }
        assert_eq!(["0.012", "123.457", "1234.6", "100s"], [0.012, 123.456_7, 1234.56, 100_000.0].map(milliseconds));
        assert_eq!(["0.03", "1024"], [0.031, 1024.3].map(with_two_decimals));
    }
}
