//! The I/O engines of runs, in words.

use model::engine_kind::EngineKind;
use model::headline::Headline;
use model::result::TimeSpanResult;
use model::sweep::{Setting, Sweep};

/// Settings that distinguish points with another engine from the others; more are not listed.
const SETTINGS_MAX: usize = 3;

/// `I/O by io_uring`, `synchronous I/O`
pub(crate) fn engines(span_result: &TimeSpanResult) -> Option<String> {
    named(&span_result.engines)
}

fn named(engines: &[EngineKind]) -> Option<String> {
    let mut names: Vec<&str> = engines.iter().map(|engine| engine.name()).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| match &names[..] {
        [name] if name.ends_with("I/O") => (*name).to_owned(),
        _ => format!("I/O by {}", names.join(" and ")),
    })
}

/// Engines of the points of a sweep.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PointEngines {
    /// Older documents do not have them.
    Unknown,
    /// All points have the same.
    Same(String),
    /// `I/O by io_uring (synchronous I/O with -o1)`
    Mixed(String),
}

/// The engines of points with figures; points that differ from most are named by the distinguishing setting.
pub(crate) fn of_points(sweep: &Sweep, points: &[usize]) -> PointEngines {
    let mut kinds: Vec<(String, Vec<usize>)> = Vec::new();
    let known = points.iter().filter_map(|point| Some((*point, stats::sweep::figures(sweep, *point)?)));
    for (point, Headline { engines, .. }) in known {
        let Some(words) = named(engines) else { return PointEngines::Unknown };
        match kinds.iter_mut().find(|(kind, _)| *kind == words) {
            Some((_, points)) => points.push(point),
            None => kinds.push((words, vec![point])),
        }
    }
    // On a tie, the last kind, which is that of the larger depths.
    let Some(most) = (0..kinds.len()).max_by_key(|kind| kinds[*kind].1.len()) else { return PointEngines::Unknown };
    let (words, of_most) = kinds.remove(most);
    if kinds.is_empty() {
        return PointEngines::Same(words);
    }
    let others = kinds.iter().map(|(words, points)| {
        let all_others = points_beside(&kinds, points).chain(of_most.iter().copied());
        let with = told_by(sweep, points, &all_others.collect::<Vec<_>>());
        with.map_or_else(|| format!("{words} at some points"), |with| format!("{words} with {with}"))
    });
    PointEngines::Mixed(format!("{words} ({})", others.collect::<Vec<_>>().join(", ")))
}

fn points_beside<'a>(kinds: &'a [(String, Vec<usize>)], points: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
    kinds.iter().map(|(_, others)| others).filter(move |others| *others != points).flatten().copied()
}

/// The settings that all of some points have, and none of the others: `-o1`, `-o1 or -o2`; `None` if no option
/// distinguishes them.
fn told_by(sweep: &Sweep, points: &[usize], others: &[usize]) -> Option<String> {
    let settings = |point: usize| &sweep.points[point].settings;
    let by = |index: usize| {
        let mut own: Vec<&Setting> = Vec::new();
        for setting in points.iter().filter_map(|point| settings(*point).get(index)) {
            if !own.contains(&setting) {
                own.push(setting);
            }
        }
        let is_shared = |point: &usize| settings(*point).get(index).is_some_and(|setting| own.contains(&setting));
        let tells = !own.is_empty() && own.len() <= SETTINGS_MAX && !others.iter().any(is_shared);
        tells.then(|| own.iter().map(|setting| setting.typed()).collect::<Vec<_>>().join(" or "))
    };
    (0..settings(*points.first()?).len()).find_map(by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::sweep::{Point, Purpose, Visit, VisitOutcome};

    /// A point for each value, with its engine.
    fn sweep(points: &[(&str, u32, Option<EngineKind>)]) -> Sweep {
        let mut sweep = Sweep::default();
        for (point, (threads, each, engine)) in points.iter().enumerate() {
            let setting = |name: &str, value: String| Setting { name: name.to_owned(), value };
            let settings = vec![setting("t", (*threads).to_owned()), setting("o", each.to_string())];
            sweep.points.push(Point { settings });
            let headline = Headline { engines: engine.iter().copied().collect(), ..Headline::default() };
            let outcome = VisitOutcome::Measured { file: String::new(), headline };
            let (purpose, streams) = (Purpose::Measure, Vec::new());
            sweep.visits.push(Visit { point, run: 0, purpose, outcome, limit: None, sustained_iops: None, streams });
        }
        sweep
    }

    #[test]
    fn points_with_another_engine_are_named_by_what_tells_them() {
        let (sync, ring) = (Some(EngineKind::Synchronous), Some(EngineKind::IoUring));
        let engines_of = |points: &[(&str, u32, Option<EngineKind>)]| {
            of_points(&sweep(points), &(0..points.len()).collect::<Vec<_>>())
        };
        let grid = engines_of(&[("1", 1, sync), ("1", 4, ring), ("2", 1, sync), ("2", 4, ring)]);
        assert_eq!(grid, PointEngines::Mixed("I/O by io_uring (synchronous I/O with -o1)".to_owned()));
        let by_threads = engines_of(&[("1", 1, sync), ("1", 4, sync), ("2", 1, ring), ("2", 4, ring)]);
        assert_eq!(by_threads, PointEngines::Mixed("I/O by io_uring (synchronous I/O with -t1)".to_owned()));
        let by_neither = engines_of(&[("1", 1, sync), ("1", 4, ring), ("2", 1, ring), ("2", 4, ring)]);
        assert_eq!(by_neither, PointEngines::Mixed("I/O by io_uring (synchronous I/O at some points)".to_owned()));
        assert_eq!(engines_of(&[("1", 1, sync), ("2", 1, sync)]), PointEngines::Same("synchronous I/O".to_owned()));
        assert_eq!(engines_of(&[("1", 1, sync), ("2", 1, None)]), PointEngines::Unknown);
        assert_eq!(engines_of(&[]), PointEngines::Unknown);
    }
}
