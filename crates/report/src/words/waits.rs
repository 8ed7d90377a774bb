//! The latencies that an application waits for, where tables have others.

use model::metric::Scope;
use model::profile::TimeSpan;

/// The latencies that each side waits for, if they differ: `the application waits for p99 in A, p99 (commit) in B`.
pub fn unlike([(first, of_first), (second, of_second)]: [(&str, &[Scope]); 2]) -> Option<String> {
    (of_first != of_second)
        .then(|| format!("the application waits for {} in {first}, {} in {second}", words(of_first), words(of_second)))
}

/// The note that latencies are those of reads and writes alone, if the application waits for others.
pub fn beside(span: &TimeSpan) -> Option<String> {
    let waited_for = Scope::waited_for(span);
    (waited_for != [Scope::All]).then(|| {
        format!("latencies are those of reads and writes alone; the application waits for {}", words(&waited_for))
    })
}

/// `p99 (read) and p99 (commit)`
fn words(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.label("p99")).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::profile::Target;

    #[test]
    fn sides_that_wait_for_different_things_are_named() {
        let (copied, flushed) = ([Scope::All], [Scope::Read, Scope::Commit]);
        assert_eq!(
            unlike([("A", &copied), ("B", &flushed)]).as_deref(),
            Some("the application waits for p99 in A, p99 (read) and p99 (commit) in B")
        );
        assert_eq!(unlike([("A", &copied), ("B", &copied)]), None);
    }

    #[test]
    fn what_is_waited_for_is_named_beside_other_latencies() {
        let mut span = TimeSpan { targets: vec![Target::new("a")], ..TimeSpan::default() };
        span.targets[0].write_percent = 100;
        assert_eq!(beside(&span), None);
        span.fsync_after_writes = Some(1);
        assert_eq!(
            beside(&span).as_deref(),
            Some("latencies are those of reads and writes alone; the application waits for p99 (commit)")
        );
    }
}
