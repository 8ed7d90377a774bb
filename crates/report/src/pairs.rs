//! The report of two loads in pairs: which one is better, if any.

use super::again::TypedCommand;
use super::answer::{Statement, sentence};
use super::block::{Block, Column, Report, Section, Table, Tone, charts, dash};
use super::brief::{self, each, remedy_of_runs};
use super::charts::pairs;
use super::comparison::{LIMITED, LIMITED_HEADLINE};
use super::environment::environment;
use super::figures::{name_in_words, shown as value};
use super::foreign_text::text;
use super::quantity::{change, grouped, latency};
use super::series::{command, report_of_runs, verdicts};
use super::warnings::Explain;
use crate::block::{Answer, Brief, Trust};
use crate::chart::ChartResult;
use crate::series::EVERY_RUN_WARNED;
use crate::words::ab::{
    DETECTABLE, JOINT_ERROR, averages, detectable, found_below_detectable, is_doubtful, unlike_waits, verdict,
};
use crate::words::compare::end;
use crate::words::figure_words::name_of;
use model::ab::{AbAnswer, AbFigure, AbVerdict};
use model::headline::Headline;
use model::metric::Metric;
use model::result::RunResult;
use model::sweep::{Setting, Sweep, Visit};
use model::units::counted;

/// The report; `example` is the result of one of the runs.
pub(crate) fn report(sweep: &Sweep, example: Option<&RunResult>, title: &str, explain: Explain) -> Report {
    let found = sweep.pairs();
    let names = sides(sweep);
    let runs = found.iter().flat_map(|(a, b)| [*a, *b]);
    let answer = Answer::resting_on(runs, statement(sweep.ab.as_ref(), found.len(), &names));
    let mut first = vec![Block::Answers { answers: vec![answer] }];
    let unlike = unlike_waits(&found).map(|words| sentence(&words));
    first.extend(sweep.ab.as_ref().map(|answer| {
        let table = figures(answer, &names);
        let note = [table.note].into_iter().chain(unlike).collect::<Vec<_>>().join(" ");
        Block::Table(Table { note, ..table })
    }));
    first.extend(verdicts(sweep, explain, name_of_run));
    let mut sections = vec![Section::new("", first)];
    if !found.is_empty() {
        let mut blocks = charts(shown(sweep));
        blocks.push(Block::Table(table(&found, &names)));
        sections.push(Section::of_details("The pairs", blocks));
    }
    sections.extend(example.map(environment));
    sections.push(command("ab", sweep));
    let brief = brief(sweep, example, explain);
    report_of_runs("A against B", title, sweep, example, brief, sections)
}

/// `pair 3 A`
fn name_of_run(_: &Sweep, visit: &Visit) -> String {
    format!("pair {} {}", visit.run + 1, if visit.point == 0 { "A" } else { "B" })
}

/// The value of an option of the series, as typed.
fn word<'a>(sweep: &'a Sweep, option: &str) -> Option<&'a str> {
    sweep.own_words().filter_map(|word| word.strip_prefix(option)).last()
}

/// The chart of the pairs.
pub(crate) fn shown(sweep: &Sweep) -> Vec<ChartResult> {
    let found = sweep.pairs();
    if found.is_empty() { Vec::new() } else { vec![Ok(pairs(&found, &sides(sweep)))] }
}

/// `A: -o4`; the letter alone if the options do not differ.
fn sides(sweep: &Sweep) -> [String; 2] {
    let typed = |point: usize| {
        let settings = sweep.points.get(point).map(|point| &point.settings[..]).unwrap_or_default();
        let typed = match settings {
            [Setting { name, .. }] if name == Setting::SIDE => {
                let side_of = |option: &str| word(sweep, &format!("--{option}{}=", ["a", "b"][point]));
                Setting::typed_side(side_of("on-"), side_of(""), side_of("target-"))
            }
            settings => Setting::typed_all(settings),
        };
        text(&typed)
    };
    let (a, b) = (typed(0), typed(1));
    if a == b {
        return ["A", "B"].map(str::to_owned);
    }
    [("A", a), ("B", b)]
        .map(|(side, typed)| if typed.is_empty() { side.to_owned() } else { format!("{side}: {typed}") })
}

fn statement(found: Option<&AbAnswer>, pairs: usize, names: &[String; 2]) -> Statement {
    let about = names.join(" and ");
    let Some((found, first)) = found.and_then(|found| Some((found, found.figures.first()?))) else {
        return Statement {
            tone: Tone::Warn,
            about,
            headline: "Too few pairs for an answer".to_owned(),
            sentences: vec![format!("Complete pairs: {pairs}.")],
        };
    };
    let figures_with = |verdict: AbVerdict| found.figures.iter().filter(move |figure| figure.verdict == verdict);
    let listed = |verdict: AbVerdict| {
        let figures =
            figures_with(verdict).map(|figure| format!("{} ({})", name_of(figure.metric()), change(figure.percent)));
        figures.collect::<Vec<_>>().join(" and ")
    };
    let (better, worse) = (listed(AbVerdict::Better), listed(AbVerdict::Worse));
    let is_limited = figures_with(AbVerdict::LimitedByRate).next().is_some();
    let margin = found.margin * 100.0;
    let headline = match (better.is_empty(), worse.is_empty()) {
        (false, false) => format!("B is better in {better}, worse in {worse}"),
        (false, true) => format!("B is better in {better}"),
        (true, false) => format!("B is worse in {worse}"),
        (true, true) if found.is_decided() && is_limited => LIMITED_HEADLINE.to_owned(),
        (true, true) if found.is_decided() => format!("A and B are equally fast, within {margin} %"),
        (true, true) => {
            let open = figures_with(AbVerdict::CannotTell).next().unwrap_or(first);
            let percent = open.percent.abs();
            let figure = name_of(open.metric());
            format!("Cannot tell which is better: the difference of {percent:.1} % in {figure} is within the noise")
        }
    };
    let tone = if found.is_decided() && (better.is_empty() || worse.is_empty()) { Tone::Good } else { Tone::Warn };
    let others = |heading: &str, verdict: AbVerdict| {
        let names: Vec<String> = figures_with(verdict).map(|figure| name_of(figure.metric())).collect();
        (!names.is_empty()).then(|| format!("{heading}: {}.", names.join(", ")))
    };
    let rest = [
        others(&format!("Equivalent within {margin} %"), AbVerdict::Equivalent),
        others(LIMITED, AbVerdict::LimitedByRate),
        others("Cannot tell, within the noise", AbVerdict::CannotTell),
    ];
    let is_any = !better.is_empty() || !worse.is_empty() || is_limited;
    let mut sentences: Vec<String> = rest.into_iter().flatten().filter(|_| is_any).collect();
    sentences.push(format!("The {DETECTABLE}: {}.", detectable(found)));
    sentences.extend(found_below_detectable(found).map(|words| sentence(&words)));
    Statement { tone, about, headline, sentences }
}

/// Pairs from which there is an answer.
const PAIRS_MIN: usize = 3;

/// Advice for pairs of the same load.
const ALIKE: &str = "Both sides are the same load: these pairs show the noise floor. Compare two loads (--a, --b) with as many \
                     pairs or more";

/// Default of the maximum number of pairs of `ab`.
const PAIRS_MAX: usize = 20;

fn brief(sweep: &Sweep, example: Option<&RunResult>, explain: Explain) -> Brief {
    let pairs = sweep.pairs();
    let runs: Vec<&Headline> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let sides = sides_in_words(sweep);
    let [a, b] = &sides;
    let head = format!("{} of runs of {a} and {b}, in random order within each pair", counted(pairs.len(), "pair"));
    let answer = sweep.ab.as_ref().filter(|answer| !answer.figures.is_empty());
    let changes = answer.map(|answer| {
        let change = |found: &AbFigure| {
            let AbFigure { percent, low_percent, high_percent, .. } = found;
            let figure = found.scope.label(&name_in_words(found.figure));
            format!("{figure} {} (95 % interval {} to {})", change(*percent), end(*low_percent), end(*high_percent))
        };
        format!(". B relative to A: {}", answer.figures.iter().map(change).collect::<Vec<_>>().join(", "))
    });
    let measured = format!("{head}{}{}.", each(example), changes.unwrap_or_default());
    let (is_enough, basis) = basis(answer, &pairs);
    let trust = Trust::in_answer(runs.iter().copied(), is_enough, &basis);
    let again = TypedCommand::of_method("ab", sweep);
    let more = (pairs.len() * 2).max(PAIRS_MAX).to_string();
    let asked = if is_enough { again } else { again.with_own("--pairs=", &more) };
    let (again, is_longer) = asked.of_a_minute(runs.iter().copied());
    let remedy = remedy_of_runs(&runs, explain);
    let is_better = remedy.is_some() || is_longer || !is_enough;
    let are_alike = sides == ["A", "B"];
    let choice = answer.filter(|_| is_enough && !are_alike).map(|answer| choice(answer, &sides));
    let length = if is_longer { ", with runs of 60 s each" } else { "" };
    let repeat = match (is_enough, is_better) {
        _ if are_alike => Some(format!("{ALIKE}{length}.")),
        (false, _) => Some(format!("For an answer, run more pairs{length}.")),
        (true, true) => Some(format!("Confirm it in another series{length}.")),
        (true, false) => None,
    };
    let advice = match (remedy, repeat) {
        (remedy, Some(repeat)) if !are_alike => vec![brief::after(remedy.as_deref(), &repeat)],
        (remedy, repeat) => remedy.into_iter().chain(repeat).collect(),
    };
    let next: Vec<String> = choice.into_iter().chain(advice).collect();
    let command = if is_better { again.command() } else { String::new() };
    Brief { measured, trust, next: next.join(" "), command, ..Brief::of_runs(sweep, example) }
}

/// True if the pairs decide all figures, and the basis of that.
fn basis(answer: Option<&AbAnswer>, pairs: &[(&Headline, &Headline)]) -> (bool, String) {
    let count = counted(pairs.len(), "complete pair");
    let Some(answer) = answer else {
        return (false, format!("{count}, too few for an answer; {PAIRS_MIN} are needed"));
    };
    let open: Vec<String> = answer
        .figures
        .iter()
        .filter(|found| found.verdict == AbVerdict::CannotTell)
        .map(|found| {
            let percent = found.detectable_percent;
            let least = if percent <= 100.0 { format!("{percent:.1} %") } else { "100 %".to_owned() };
            format!("{} (differences below {least} do not show)", name_of(found.metric()))
        })
        .collect();
    match (open.is_empty(), is_doubtful(pairs)) {
        (false, _) => (false, format!("{count} cannot tell which side is better in {}", open.join(" and "))),
        (true, true) => (true, EVERY_RUN_WARNED.to_owned()),
        (true, false) => (true, format!("{count} decide each figure; {JOINT_ERROR}")),
    }
}

/// The recommended side for each figure.
fn choice(answer: &AbAnswer, [a, b]: &[String; 2]) -> String {
    let scopes_with = |verdict: AbVerdict| {
        let figures = answer.figures.iter().filter(|found| found.verdict == verdict);
        let figures = figures.map(|found| found.scope.label(&name_in_words(found.figure)));
        figures.collect::<Vec<_>>().join(" and ")
    };
    brief::choice([a, b], &scopes_with(AbVerdict::Better), &scopes_with(AbVerdict::Worse))
}

/// `A (-o4)` and `B (-o16)`
fn sides_in_words(sweep: &Sweep) -> [String; 2] {
    let sides = sides(sweep);
    let before = ["--before-a=", "--before-b="].map(|option| text(word(sweep, option).unwrap_or_default()));
    let mut words = sides.iter().zip(before).map(|(side, before)| match side.split_once(": ") {
        Some((letter, typed)) => format!("{letter} ({typed})"),
        None if !before.is_empty() => format!("{side} (after {before})"),
        None => side.clone(),
    });
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

/// A row for each figure.
pub(crate) fn figures(answer: &AbAnswer, [a, b]: &[String; 2]) -> Table {
    let row = |found: &AbFigure| {
        vec![
            name_of(found.metric()),
            verdict(found, answer.margin),
            value(found.figure, found.a),
            value(found.figure, found.b),
            change(found.percent),
            format!("{} to {}", end(found.low_percent), end(found.high_percent)),
        ]
    };
    let (cpu_a, cpu_b) = answer.cpu_percent;
    let cpu = ["CPU".to_owned(), "not judged".to_owned(), value(Metric::Cpu, cpu_a), value(Metric::Cpu, cpu_b)];
    let numbers = [a, b, "change", "95 % interval"].map(Column::number);
    Table {
        label: "B against A",
        columns: [Column::text(""), Column::words("verdict")].into_iter().chain(numbers).collect(),
        rows: answer.figures.iter().map(row).chain([cpu.into()]).collect(),
        note: sentence(&averages(answer)),
        ..Table::default()
    }
}

/// Each pair.
fn table(found: &[(&Headline, &Headline)], [a, b]: &[String; 2]) -> Table {
    let has_latency = found.iter().all(|(a, b)| a.mean_ns.is_some() && b.mean_ns.is_some());
    let mut columns = vec![Column::number("pair"), Column::number("change of IOPS")];
    let figures: &[&str] = if has_latency { &["IOPS", "mean"] } else { &["IOPS"] };
    for figure in figures {
        columns.extend([a, b].map(|side| Column::number(&format!("{side}, {figure}"))));
    }
    let row = |(index, (a, b)): (usize, &(&Headline, &Headline))| {
        let change = stats::sweep::beside(b, a).map(|beside| change(beside.iops_percent - 100.0));
        let change = change.unwrap_or_else(dash);
        let mut cells = vec![(index + 1).to_string(), change, grouped(a.iops), grouped(b.iops)];
        if has_latency {
            cells.extend([a.mean_ns, b.mean_ns].map(|ns| ns.map(latency).unwrap_or_default()));
        }
        cells
    };
    Table { columns, rows: found.iter().enumerate().map(row).collect(), label: "Pairs", ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::metric::Scope;

    fn statement_parts(verdicts: &[(Metric, f64, AbVerdict)]) -> (Tone, String, Vec<String>) {
        let figure = |(figure, percent, verdict): &(Metric, f64, AbVerdict)| AbFigure {
            figure: *figure,
            scope: Scope::All,
            a: 1.0,
            b: 1.0,
            percent: *percent,
            low_percent: percent - 1.0,
            high_percent: percent + 1.0,
            verdict: *verdict,
            is_within_margin: false,
            detectable_percent: 1.0,
            decided_after: None,
        };
        let figures = verdicts.iter().map(figure).collect();
        let answer = AbAnswer { pairs: 6, looks: vec![6], margin: 0.02, figures, cpu_percent: (1.0, 1.0) };
        let Statement { tone, headline, sentences, .. } = statement(Some(&answer), 6, &["A", "B"].map(str::to_owned));
        (tone, headline, sentences)
    }

    /// "B is faster" stood above a table in which its latencies were worse.
    #[test]
    fn the_headline_does_not_contradict_the_table() {
        use AbVerdict::{Better, CannotTell, Equivalent, LimitedByRate, Worse};
        let (tone, headline, _) =
            statement_parts(&[(Metric::Iops, 21.9, Better), (Metric::Mean, 56.8, Worse), (Metric::P99, 45.1, Worse)]);
        let mixed = "B is better in IOPS (+21.9 %), worse in mean (+56.8 %) and p99 (+45.1 %)";
        assert_eq!((tone, headline.as_str()), (Tone::Warn, mixed));
        let (tone, headline, sentences) =
            statement_parts(&[(Metric::Iops, 5.0, Better), (Metric::Mean, 0.1, Equivalent)]);
        assert_eq!((tone, headline.as_str()), (Tone::Good, "B is better in IOPS (+5.0 %)"));
        assert_eq!(sentences[0], "Equivalent within 2 %: mean.");
        let (tone, headline, sentences) =
            statement_parts(&[(Metric::Iops, -5.0, Worse), (Metric::P99, 3.0, CannotTell)]);
        assert_eq!((tone, headline.as_str()), (Tone::Warn, "B is worse in IOPS (-5.0 %)"));
        assert_eq!(sentences[0], "Cannot tell, within the noise: p99.");
        let (tone, headline, _) = statement_parts(&[(Metric::Iops, 0.1, Equivalent)]);
        assert_eq!((tone, headline.as_str()), (Tone::Good, "A and B are equally fast, within 2 %"));
        let (_, headline, sentences) =
            statement_parts(&[(Metric::Iops, 0.0, LimitedByRate), (Metric::Mean, 0.1, Equivalent)]);
        assert_eq!(headline, "Throughput is limited by the rate of both sides, not by the storage");
        assert_eq!(sentences[..2], ["Equivalent within 2 %: mean.", "Limited by their rate: IOPS."]);
        let (_, headline, sentences) =
            statement_parts(&[(Metric::Iops, 0.1, Equivalent), (Metric::P99, -3.0, CannotTell)]);
        assert_eq!(headline, "Cannot tell which is better: the difference of 3.0 % in p99 is within the noise");
        assert!(sentences.iter().all(|sentence| sentence.matches(':').count() < 2), "{sentences:?}");
    }
}
