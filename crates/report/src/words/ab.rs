//! Pairs of runs of two sides: a line for each run, and the conclusions.

use crate::words::compare::{LIMITED_BY_RATE, equivalent};
use crate::words::figure_words::name_of;
use crate::words::waits;
use model::ab::{AbAnswer, AbFigure, AbVerdict};
use model::headline::Headline;
use model::units::counted;

/// The kind of averages in the table.
pub fn averages(answer: &AbAnswer) -> String {
    let runs = counted(answer.pairs, "run");
    let earlier = if answer.figures.iter().any(|found| found.decided_after.is_some()) {
        ", of figures decided earlier those until then"
    } else {
        ""
    };
    format!(
        "A and B: geometric means of {runs} each{earlier} (CPU: arithmetic); change: geometric mean of B / A over the pairs"
    )
}

/// The reason why latencies are not compared; `None` if they are.
pub fn unlike_waits(pairs: &[(&Headline, &Headline)]) -> Option<String> {
    let a = Headline::scopes(pairs.iter().map(|(a, _)| *a));
    let b = Headline::scopes(pairs.iter().map(|(_, b)| *b));
    waits::unlike([("A", &a), ("B", &b)]).map(|words| format!("latencies not compared: {words}"))
}

/// True if every run has a warning.
pub fn is_doubtful(pairs: &[(&Headline, &Headline)]) -> bool {
    stats::repeats::is_doubtful(pairs.iter().flat_map(|(a, b)| [*a, *b]))
}

/// The joint error rate of the tests and intervals of all figures (Holm, 1979).
pub const JOINT_ERROR: &str = "the tests of all figures together find a difference by chance in at most 5 % of series, so each interval covers 95 % or more";

/// The heading of [`detectable`].
pub const DETECTABLE: &str = "smallest difference that this number of pairs detects with 90 % probability";

/// The largest difference listed; larger ones are shown as above it.
const DETECTABLE_PERCENT_MAX: f64 = 100.0;

/// `IOPS 1.2 %, mean 2.3 %, p99 above 100 %`
pub fn detectable(answer: &AbAnswer) -> String {
    let detectable_change = |found: &AbFigure| match found.detectable_percent {
        percent if percent <= DETECTABLE_PERCENT_MAX => format!("{} {percent:.1} %", name_of(found.metric())),
        _ => format!("{} above {DETECTABLE_PERCENT_MAX} %", name_of(found.metric())),
    };
    answer.figures.iter().map(detectable_change).collect::<Vec<_>>().join(", ")
}

/// The note that found differences are smaller than the detectable ones; `None` if none is.
pub fn found_below_detectable(answer: &AbAnswer) -> Option<String> {
    let is_found = |found: &&AbFigure| matches!(found.verdict, AbVerdict::Better | AbVerdict::Worse);
    // A fall to 1 / (1 + d) is as large as a rise by d.
    let size = |percent: f64| (percent / 100.0).ln_1p().abs();
    let is_smaller = |found: &&AbFigure| size(found.percent) < size(found.detectable_percent);
    let names = answer.figures.iter().filter(is_found).filter(is_smaller).map(|found| name_of(found.metric()));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| {
        format!(
            "the difference found in {} is smaller than that and significant all the same: another series of so many pairs \
             might miss it",
            names.join(" and ")
        )
    })
}

/// The verdict on a figure, with its margin.
pub fn verdict(found: &AbFigure, margin: f64) -> String {
    let percent = margin * 100.0;
    let within = if found.is_within_margin { format!(" by less than {percent} %") } else { String::new() };
    let after = found.decided_after.map(|pairs| format!(" after {}", counted(pairs, "pair"))).unwrap_or_default();
    match found.verdict {
        AbVerdict::Better => format!("better{within}{after}"),
        AbVerdict::Worse => format!("worse{within}{after}"),
        AbVerdict::Equivalent => equivalent(percent),
        AbVerdict::LimitedByRate => LIMITED_BY_RATE.to_owned(),
        AbVerdict::CannotTell => "cannot tell".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;
    use model::metric::{Metric, Scope};

    #[test]
    fn pairs_of_which_every_run_has_a_warning_are_doubtful() {
        let run = |severity| Headline { severity, ..Headline::default() };
        let (warned, sound) = (run(Some(Severity::Warn)), run(Some(Severity::Note)));
        assert!(is_doubtful(&[(&warned, &warned), (&warned, &warned)]));
        assert!(!is_doubtful(&[(&warned, &warned), (&warned, &sound)]) && !is_doubtful(&[]));
    }

    /// "Of p99, these pairs cannot tell" stood below "worse in p99".
    #[test]
    fn a_found_difference_may_be_smaller_than_the_detectable_one() {
        let found = |figure, percent, detectable_percent, verdict| AbFigure {
            figure,
            scope: Scope::All,
            a: 1.0,
            b: 1.0,
            percent,
            low_percent: percent,
            high_percent: percent,
            verdict,
            is_within_margin: false,
            detectable_percent,
            decided_after: None,
        };
        let figures = vec![
            found(Metric::Iops, -12.0, 11.0, AbVerdict::Worse),
            found(Metric::Mean, 5.0, 40.0, AbVerdict::CannotTell),
            found(Metric::P99, 80.0, 130.0, AbVerdict::Worse),
        ];
        let answer = AbAnswer { pairs: 6, looks: vec![6], margin: 0.02, figures, cpu_percent: (1.0, 1.0) };
        let words = found_below_detectable(&answer).expect("p99 is one");
        assert!(words.starts_with("the difference found in p99 is smaller than that and significant"), "{words}");
        assert!(averages(&answer).starts_with("A and B: geometric means of 6 runs each"));
    }

    #[test]
    fn pairs_that_vary_too_much_detect_nothing() {
        let figure = |figure, detectable_percent| AbFigure {
            figure,
            scope: Scope::All,
            a: 1.0,
            b: 1.0,
            percent: 0.0,
            low_percent: -5.0,
            high_percent: 1331.0,
            verdict: AbVerdict::CannotTell,
            is_within_margin: false,
            detectable_percent,
            decided_after: None,
        };
        let answer = |figures| AbAnswer { pairs: 3, looks: vec![3], margin: 0.02, figures, cpu_percent: (1.0, 1.0) };
        let (iops, p99) = (figure(Metric::Iops, 1.24), figure(Metric::P99, 1331.0));
        assert_eq!(detectable(&answer(vec![iops])), "IOPS 1.2 %");
        assert_eq!(detectable(&answer(vec![iops, p99])), "IOPS 1.2 %, p99 above 100 %");
        assert_eq!(detectable(&answer(vec![p99])), "p99 above 100 %");
        assert_eq!(found_below_detectable(&answer(vec![iops, p99])), None, "nothing was found");
        let interval = crate::pairs::figures(&answer(vec![p99]), &["A", "B"].map(str::to_owned)).rows[0][5].clone();
        assert_eq!(interval, "-5.0 % to above +1000 %");
    }
}
