//! The page of two loads in pairs: whether one is better.

use super::answer::{Answer, Statement};
use super::block::{Block, Column, Page, Section, Table, Tone, charts};
use super::charts::{Shown, pairs};
use super::environment::{environment, subtitle};
use super::foreign_text::text;
use super::quantity::{grouped, latency};
use super::sweep::{command, verdicts};
use super::warnings::Explain;
use model::ab::{AbAnswer, AbVerdict};
use model::headline::Headline;
use model::result::RunResult;
use model::sweep::{Setting, Sweep, Visit};
use render::ab::{DETECTABLE, detectable};
use render::figure_words::label;
use render::load_line;
use std::io;

/// The page; `example` is the result of one of the runs.
pub(super) fn page(sweep: &Sweep, example: Option<&RunResult>, name: &str, explain: Explain) -> io::Result<Page> {
    let found = sweep.pairs();
    let names = sides(sweep);
    let runs = found.iter().flat_map(|(a, b)| [*a, *b]);
    let answer = Answer::resting_on(runs, statement(sweep.ab.as_ref(), found.len(), &names));
    let mut first = vec![Block::Answers { answers: vec![answer] }];
    first.extend(sweep.ab.as_ref().map(|answer| Block::Table(figures(answer, &names))));
    first.extend(verdicts(sweep, explain, name_of_run));
    let mut sections = vec![Section::new("", first)];
    if !found.is_empty() {
        let mut blocks = charts(&shown(sweep))?;
        blocks.push(Block::Table(table(&found, &names)));
        sections.push(Section::new("The pairs", blocks));
    }
    sections.extend(example.map(environment));
    sections.push(command("ab", sweep));
    let subtitle = example.map_or_else(|| text(sweep.program.as_bytes()), subtitle);
    Ok(Page::new(name.to_owned(), load_line::of_sweep(sweep), subtitle, sections).of_method("A against B"))
}

/// `pair 3 A`
fn name_of_run(_: &Sweep, visit: &Visit) -> String {
    format!("pair {} {}", visit.run + 1, if visit.point == 0 { "A" } else { "B" })
}

/// Options of a side, as typed; nothing if there are none.
fn word(sweep: &Sweep, option: &str) -> String {
    let own = sweep.words.iter().take_while(|word| *word != "--");
    own.filter_map(|word| word.strip_prefix(option)).last().unwrap_or_default().to_owned()
}

/// The chart of the pairs.
pub(super) fn shown(sweep: &Sweep) -> Vec<Shown> {
    let found = sweep.pairs();
    if found.is_empty() { Vec::new() } else { vec![Ok(pairs(&found, &sides(sweep)))] }
}

/// `A: -o4`; the letter alone if the options do not differ.
fn sides(sweep: &Sweep) -> [String; 2] {
    let typed = |point: usize| {
        let settings = sweep.points.get(point).map(|point| &point.settings[..]).unwrap_or_default();
        let typed = match settings {
            [Setting { name, .. }] if name == Setting::SIDE => word(sweep, ["--a=", "--b="][point]),
            settings => Setting::typed_all(settings),
        };
        text(typed.as_bytes())
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
    let tone = if found.is_decided() { Tone::Good } else { Tone::Warn };
    let headline = match first.verdict {
        AbVerdict::Better => format!("B is faster: {} {:+.1} %", label(first.figure), first.percent),
        AbVerdict::Worse => format!("B is slower: {} {:+.1} %", label(first.figure), first.percent),
        AbVerdict::Equivalent => format!("A and B are equally fast, within {} %", found.margin * 100.0),
        AbVerdict::CannotTell => format!(
            "Cannot tell which is faster: the difference of {:.1} % in {} is within the noise",
            first.percent.abs(),
            label(first.figure)
        ),
    };
    let sentences = vec![
        format!("{} pairs of runs, in random order within each pair; B is compared with A.", found.pairs),
        format!("The {DETECTABLE}: {}.", detectable(found)),
    ];
    Statement { tone, about, headline, sentences }
}

/// What the text says of each figure.
fn figures(answer: &AbAnswer, [a, b]: &[String; 2]) -> Table {
    let table = render::ab::table(answer);
    let name = |name: &String| match name.as_str() {
        "A" => a.clone(),
        "B" => b.clone(),
        _ => name.clone(),
    };
    let names: Vec<String> = table.header().iter().map(name).collect();
    Table { label: "B against A", ..Table::judged_first(&table, &names) }
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
        let change = stats::sweep::beside(b, a).map(|beside| format!("{:+.1} %", beside.iops_percent - 100.0));
        let change = change.unwrap_or_else(|| "-".to_owned());
        let mut cells = vec![(index + 1).to_string(), change, grouped(a.iops), grouped(b.iops)];
        if has_latency {
            cells.extend([a.mean_ns, b.mean_ns].map(|ns| ns.map(latency).unwrap_or_default()));
        }
        cells
    };
    Table { columns, rows: found.iter().enumerate().map(row).collect(), label: "Pairs", ..Table::default() }
}
