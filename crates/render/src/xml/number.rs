//! Numbers as the document prints them. NaN and infinities print as 0: readers know no other.

/// Percent, seconds: two decimals.
pub(super) fn two_decimals(value: f64) -> String {
    format!("{:.2}", finite(value))
}

/// Milliseconds and deviations: three decimals.
pub(super) fn three_decimals(value: f64) -> String {
    format!("{:.3}", finite(value))
}

/// Nanoseconds as milliseconds with three decimals.
pub(super) fn ms(ns: f64) -> String {
    three_decimals(report::numbers::ms(ns))
}

/// A rate without decimals.
pub(super) fn whole(value: f64) -> String {
    format!("{:.0}", finite(value))
}

/// A mask of CPUs.
pub(super) fn mask(mask: u64) -> String {
    format!("{mask:#x}")
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// A rank as percent without trailing zeros: readers look it up as text.
pub(super) fn percent(rank_ppb: u64) -> String {
    const PPB_PER_PERCENT: u64 = 10_000_000;
    let text = format!("{}.{:07}", rank_ppb / PPB_PER_PERCENT, rank_ppb % PPB_PER_PERCENT);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_print_as_readers_look_them_up() {
        let texts: Vec<String> = report::PERCENTILE_RANKS_PPB.iter().map(|&rank| percent(rank)).collect();
        assert_eq!(texts[..2], ["0", "1"]);
        assert_eq!((texts[25].as_str(), texts[50].as_str()), ("25", "50"));
        let nines = ["99", "99.9", "99.99", "99.999", "99.9999", "99.99999", "99.999999", "99.9999999", "100"];
        assert_eq!(texts[99..], nines);
    }

    #[test]
    fn what_is_no_number_is_zero() {
        assert_eq!((two_decimals(f64::NAN), whole(f64::INFINITY)), ("0.00".to_owned(), "0".to_owned()));
        assert_eq!((ms(404_400.0), mask(15)), ("0.404".to_owned(), "0xf".to_owned()));
    }
}
