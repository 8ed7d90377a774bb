//! Runs of the same load: a line for each, and what they say together.

/// What the intervals of runs that all have warnings say.
pub const EVERY_RUN_WARNED: &str = "every run has a warning: the 95 % confidence intervals cover the variation between the \
                                    runs, not errors that all of them share";

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;
    use model::sweep::VisitOutcome;

    /// There was no interval of such runs, while `ab` printed its own without a word.
    #[test]
    fn runs_that_all_have_warnings_have_intervals_that_say_what_they_cover() {
        let told = |sound: usize| {
            let visit = |run: u32| {
                let severity = (run as usize >= sound).then_some(Severity::Warn);
                let headline = Headline { iops: 100.0 + f64::from(run * 7 % 5), severity, ..Headline::default() };
                let outcome = VisitOutcome::Measured { file: String::new(), headline };
                let purpose = Purpose::Measure;
                Visit { point: 0, run, purpose, outcome, limit: None, sustained_iops: None, streams: Vec::new() }
            };
            let sweep = Sweep { visits: (0..8).map(visit).collect(), ..Sweep::default() };
            crate::Subject::Repeat { name: "d", sweep: &sweep, example: None }.report(|_| None).words()
        };
        let (warned, mixed) = (told(0), told(1));
        for text in [&warned, &mixed] {
            assert!(text.contains(" 100 to 104 IOPS "), "{text}");
        }
        // A sentence begins with a capital letter.
        let words = &EVERY_RUN_WARNED[1..];
        assert!(warned.contains(words) && !mixed.contains(words), "{warned}{mixed}");
    }
}
