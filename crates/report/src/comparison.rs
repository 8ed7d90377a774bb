//! The report of results side by side.

use super::again::TypedCommand;
use super::answer::{Statement, capitalised, sentence};
use super::block::{Block, Column, Fact, Report, Section, Table, Tone, charts, dash};
use super::brief::{self, place, remedy_of_runs};
use super::chart::Chart;
use super::charts::{differences, overlays};
use super::engines::engines;
use super::environment::{command, facts, place_time_tool};
use super::figures::{name_in_words, shown};
use super::foreign_text::text;
use super::quantity::{change, interval_of_change, size};
use super::rpcs;
use super::warnings::{Explain, NamedRun, banner, warnings_of_repeats};
use crate::block::{Answer, Brief, Trust};
use crate::chart::ChartResult;
use crate::words::compare::{
    AVAILABLE_MEMORY, FREE_MEMORY, NOT_COMPARED, SEED, SameRuns, VARYING, averages, compared_in_part, drift,
    equivalent, incomplete, load_differences, measured, nothing_differs, one_run, system_differences, unlike_waits,
    why_without_intervals, word,
};
use crate::words::figure_words::name;
use crate::words::load_line;
use crate::words::time::utc;
use model::finding::Severity;
use model::headline::Headline;
use model::metric::{Metric, Scope, ScopedMetric};
use model::result::RunResult;
use model::units::counted;
use stats::compare::{
    Basis, ComparisonVerdict, Difference, EQUAL_PERCENT, compare_with, left_out, median, without_ios,
};

/// The headline of sides without differences, if a rate of their own limits both.
pub(crate) const LIMITED_HEADLINE: &str = "Throughput is limited by the rate of both sides, not by the storage";
/// Prefix of the metrics that a rate limits.
pub(crate) const LIMITED: &str = "Limited by their rate";

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side {
    /// The name of its file or directory.
    pub name: String,
    /// Its runs.
    pub results: Vec<RunResult>,
}

/// The sides, and their differences from the first.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub(crate) sides: Vec<Side>,
    /// The differences of each side but the first.
    pub(crate) found: Vec<Vec<Difference>>,
}

impl Comparison {
    /// Compares two sides or more; `more` are metrics in addition to the usual ones.
    pub fn new(sides: Vec<Side>, more: &[ScopedMetric]) -> Self {
        let against = |first: &Side| {
            let others = sides.iter().skip(1);
            others.map(|other| compare_with(&first.results, &other.results, more)).collect()
        };
        let found = sides.first().map(against).unwrap_or_default();
        Self { sides, found }
    }

    /// The differences of the second side.
    pub fn differences(&self) -> &[Difference] {
        self.found.first().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Each side beside the first.
pub(crate) fn report(Comparison { sides, found }: &Comparison, explain: Explain) -> Report {
    let Some((first, others)) = sides.split_first() else {
        return Report { title: "Nothing to compare".to_owned(), ..Report::default() };
    };
    let environments = environments(sides);
    let differing = varied(&environments, sides);
    let found: Vec<(&Side, &[Difference])> = others.iter().zip(found.iter().map(Vec::as_slice)).collect();
    let headlines: Vec<(String, Headline)> = sides.iter().flat_map(named_headlines).collect();
    let all_runs: Vec<NamedRun<'_>> = headlines.iter().map(|(name, headline)| (name.clone(), headline)).collect();
    let names_both = others.len() > 1;
    let answers = found.iter().map(|(other, found)| answer((first, other), found, names_both)).collect();
    let mut blocks = vec![Block::Answers { answers }];
    blocks.extend(banner(warnings_of_repeats(&all_runs, explain)));
    let mut sections = vec![Section::new("", blocks)];
    for (other, found) in &found {
        sections.extend(comparison((first, other), found, names_both));
    }
    let shown = overlaid(sides);
    if !shown.is_empty() {
        sections.push(Section::new("All on the same axes", charts(shown)));
    }
    sections.push(Section::of_details("The runs", vec![Block::Table(runs(sides))]));
    sections.push(Section::of_details("Environment", vec![Block::Table(environments)]));
    for side in sides {
        let Some(result) = side.results.first() else { continue };
        let mut section = Section { is_detail: true, ..command(result) };
        section.heading = format!("{}: {}", side.name, section.heading.to_lowercase());
        sections.push(section);
    }
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    let brief = brief(sides, &found, &differing, explain);
    Report::new(names.join(" / "), load(sides).join(" / "), subtitle(sides), brief, sections).of_method("Comparison")
}

/// Sides whose changes are stated at the head of the report.
const OTHERS_MAX: usize = 2;

fn brief(sides: &[Side], found: &[(&Side, &[Difference])], differing: &str, explain: Explain) -> Brief {
    let Some(first) = sides.first() else { return Brief::default() };
    let counts = sides.iter().map(|side| format!("{} ({})", side.name, counted(side.results.len(), "run")));
    let engines: Vec<String> =
        sides.iter().filter_map(|side| engines(side.results.first()?.time_spans.first()?)).collect();
    let engines = if engines.is_empty() || engines.iter().any(|engine| *engine != engines[0]) {
        String::new()
    } else {
        format!("{}.", engines[0])
    };
    let changes = found.iter().take(OTHERS_MAX).filter_map(|(other, found)| {
        let told = found.iter().filter(|found| [Metric::Iops, Metric::Mean, Metric::P99].contains(&found.figure));
        let told: Vec<String> = told
            .map(|found| format!("{} {}", found.scope.label(&name_in_words(found.figure)), change(found.percent)))
            .collect();
        let has_several = first.results.len() > 1 || other.results.len() > 1;
        let means = if has_several { ", by geometric means" } else { "" };
        (!told.is_empty()).then(|| format!("{} relative to {}{means}: {}.", other.name, first.name, told.join(", ")))
    });
    let head = format!("{} compared.", counts.collect::<Vec<_>>().join(" and "));
    let in_part = sides.iter().skip(1).find_map(|other| compared_in_part(&first.results, &other.results));
    let parts = [head, lengths(sides), engines].into_iter().chain(changes).chain(in_part);
    let parts = parts.chain([format!("What differs: {differing}.")]);
    let measured = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let places: Vec<(&str, String)> =
        sides.iter().filter_map(|side| Some((side.name.as_str(), place(side.results.first()?)))).collect();
    let on = match &places[..] {
        [] => "Not known: no result could be read.".to_owned(),
        [(_, first), others @ ..] if others.iter().all(|(_, place)| place == first) => first.clone(),
        each => each.iter().map(|(name, place)| format!("{name}: {place}")).collect::<Vec<_>>().join(" "),
    };
    let headlines: Vec<(String, Headline)> = sides.iter().flat_map(named_headlines).collect();
    let runs: Vec<&Headline> = headlines.iter().map(|(_, run)| run).collect();
    let doubts = doubts(first, found);
    let counts: Vec<String> = sides.iter().map(|side| side.results.len().to_string()).collect();
    let basis = match &doubts[..] {
        [] => format!("95 % confidence intervals over {} runs", counts.join(" and ")),
        doubts => doubts.join("; "),
    };
    let trust = Trust::in_answer(runs.iter().copied(), doubts.is_empty(), &basis);
    let (next, command) = next(first, found, doubts.is_empty());
    let next = brief::after(remedy_of_runs(&runs, explain).as_deref(), &next);
    Brief { measured: text(&measured), on: text(&on), trust, next: text(&next), command }
}

/// Reasons why the results of the sides are inconclusive.
fn doubts(first: &Side, found: &[(&Side, &[Difference])]) -> Vec<String> {
    let mut doubts = Vec::new();
    let sides: Vec<&Side> = std::iter::once(first).chain(found.iter().map(|(other, _)| *other)).collect();
    for (other, found) in found {
        if let Some(same) = SameRuns::between(&first.results, &other.results) {
            doubts.push(same.words());
        } else if let Some(stalled) = crate::words::compare::without_ios(named(first, other)) {
            doubts.push(stalled);
        } else if single_runs(&sides).is_none()
            && let Some(open) = found.iter().find(|found| found.verdict == ComparisonVerdict::CannotTell)
        {
            doubts.push(format!(
                "the runs of {} and {} cannot tell whether {} differs",
                first.name,
                other.name,
                named_of(open)
            ));
        }
    }
    if found
        .iter()
        .any(|(other, _)| matches!(SameRuns::between(&first.results, &other.results), Some(SameRuns::All { .. })))
    {
        return doubts;
    }
    doubts.extend(
        single_runs(&sides)
            .map(|single| format!("{single}, which shows only the variation within a run, not between runs")),
    );
    if found.iter().any(|(other, _)| drift(&first.results, &other.results).is_some()) {
        doubts.push("measured one after the other, so drift can look like a difference".to_owned());
    }
    doubts.dedup();
    doubts
}

/// `one run on each side`; `None` if all have several.
fn single_runs(sides: &[&Side]) -> Option<String> {
    let names: Vec<&str> = sides.iter().filter(|side| side.results.len() == 1).map(|side| side.name.as_str()).collect();
    match names.len() {
        0 => None,
        count if count == sides.len() => Some("one run on each side".to_owned()),
        _ => Some(format!("one run of {}", names.join(" and of "))),
    }
}

/// The next step, and the command for it.
fn next(first: &Side, found: &[(&Side, &[Difference])], is_sure: bool) -> (String, String) {
    let Some((second, differences)) = found.first() else { return Default::default() };
    if matches!(SameRuns::between(&first.results, &second.results), Some(SameRuns::All { .. })) {
        return ("Give the results of two different runs.".to_owned(), String::new());
    }
    if is_sure {
        return (choice(first, second, differences), String::new());
    }
    let loads = [first, second].map(|side| side.results.first().and_then(TypedCommand::from_result));
    let pairs = match &loads {
        [Some(a), Some(b)] if found.len() == 1 => a.in_pairs(b),
        _ => None,
    };
    if let Some(pairs) = pairs {
        let next = format!("Run both loads in pairs: A is that of {}, B that of {}.", first.name, second.name);
        return (next, pairs.command());
    }
    let repeated = |load: &Option<TypedCommand>, dir: &str| {
        Some(load.clone()?.longer().repeated(&["--runs=10", &format!("--dir={dir}")])?.command())
    };
    let [a, b] = &loads;
    let b = if a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.is_same_load(b)) { a } else { b };
    // The directories of the sides may have these names.
    let pause = |what: &str| format!("echo '{what}, then press Enter' && read -r _");
    let (one, two, again) = ("first-x10", "second-x10", "first-again-x10");
    let command = match (repeated(a, one), repeated(b, two), repeated(a, again)) {
        (Some(first), Some(second), Some(third)) => format!(
            "{} && {first} && {} && {second} && {} && {third} && diskspd compare {one} {two} && diskspd compare {one} {again}",
            pause("Set up the first side"),
            pause("Make the change"),
            pause("Undo the change")
        ),
        _ => String::new(),
    };
    let each = if loads.iter().flatten().all(TypedCommand::can_be_longer) { " for 60 s each" } else { "" };
    let next = format!(
        "Measure each side 10 times{each}, then the first one 10 times again ({one}, {two}, {again}): it shows how large drift \
         is. If a command makes the change, diskspd ab --before-a and --before-b measure both sides in pairs instead."
    );
    (next, command)
}

/// The recommended side.
fn choice(first: &Side, second: &Side, found: &[Difference]) -> String {
    let list_with =
        |verdict: ComparisonVerdict| listed(&found.iter().filter(|found| found.verdict == verdict).collect::<Vec<_>>());
    brief::choice(
        [&first.name, &second.name],
        &list_with(ComparisonVerdict::Better),
        &list_with(ComparisonVerdict::Worse),
    )
}

/// Machine, times and program of all sides: each once if it is the same.
pub(crate) fn subtitle(sides: &[Side]) -> String {
    let known: Vec<[String; 3]> =
        sides.iter().filter_map(|side| Some(place_time_tool(side.results.first()?, measured(&side.results)))).collect();
    let of_all = |part: usize| {
        let mut values: Vec<&str> = known.iter().map(|parts| parts[part].as_str()).collect();
        values.dedup();
        values.join(" / ")
    };
    [0, 1, 2].map(of_all).into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Facts that differ between sides: what was varied, as far as results show it.
fn varied(environments: &Table, sides: &[Side]) -> String {
    let loads = load(sides);
    let mut found = if loads.len() > 1 { vec!["the load, as above".to_owned()] } else { Vec::new() };
    for row in &environments.rows {
        let [name, mark, values @ ..] = &row[..] else { continue };
        if mark == DIFFERS {
            found.push(format!("{name} ({})", values.join(" / ")));
        }
    }
    let more = found.len().saturating_sub(VARIED_MAX);
    found.truncate(VARIED_MAX);
    let more = if more == 0 { String::new() } else { format!("; {more} more under Environment") };
    let varying = environments.rows.iter().filter(|row| row[1] == VARIES).map(|row| row[0].as_str());
    if found.is_empty() { nothing_differs(varying) } else { found.join("; ") + &more }
}

/// Differences that are named at the head.
const VARIED_MAX: usize = 4;

/// The mark of a fact that differs.
const DIFFERS: &str = "differs";
/// The mark of a fact that rarely is the same, so that its difference means little.
const VARIES: &str = "varies";

/// A row for each run, and one for the median of a side with several.
fn runs(sides: &[Side]) -> Table {
    const FIGURES: [Metric; 6] = [Metric::Iops, Metric::MibPerS, Metric::Mean, Metric::P50, Metric::P99, Metric::Cpu];
    let mut rows = Vec::new();
    let cell = |value: Option<f64>, figure| value.map_or_else(dash, |value| shown(figure, value));
    for side in sides {
        for (number, result) in (1..).zip(&side.results) {
            let headline = result.time_spans.first().and_then(stats::headline);
            let word = match &headline {
                None => "not measured",
                Some(headline) if headline.iops <= 0.0 => "no I/Os",
                Some(headline) => headline.severity.map_or("", Severity::word),
            };
            let mut row = vec![run_name(side, number), utc(result.started_at), word.to_owned()];
            let value = |figure| headline.as_ref().and_then(|headline| headline.value(figure));
            row.extend(FIGURES.map(|figure| cell(value(figure), figure)));
            rows.push(row);
        }
        if side.results.len() > 1 {
            let mut row =
                vec![format!("{}, median of {}", side.name, side.results.len()), String::new(), String::new()];
            row.extend(FIGURES.map(|figure| cell(median(&side.results, (Scope::All, figure)), figure)));
            rows.push(row);
        }
    }
    let has_several = sides.iter().flat_map(|side| &side.results).any(|result| result.time_spans.len() > 1);
    let first = if has_several { "Figures of the first timespans." } else { "" };
    let columns = ["run", "started", "verdict"].map(Column::text);
    Table {
        label: "Runs",
        columns: columns.into_iter().chain(FIGURES.map(|figure| Column::number(name(figure)))).collect(),
        rows,
        note: first.to_owned(),
        ..Table::default()
    }
}

/// The name of a run.
fn run_name(side: &Side, number: usize) -> String {
    if side.results.len() == 1 { side.name.clone() } else { format!("{}, run {number}", side.name) }
}

/// The load, or that of each side.
pub(crate) fn load(sides: &[Side]) -> Vec<String> {
    load_line::of_sides(sides.iter().map(|side| (side.name.as_str(), side.results.first())))
}

/// The answer of two sides; `names_both` = there are more sides.
fn answer((first, second): (&Side, &Side), found: &[Difference], names_both: bool) -> Answer {
    let headlines: Vec<(String, Headline)> = [first, second].into_iter().flat_map(named_headlines).collect();
    let about = if names_both { against(first, second) } else { String::new() };
    Answer::resting_on(headlines.iter().map(|(_, run)| run), Statement { about, ..statement(found, first, second) })
}

/// `b.json against a.json`
fn against(first: &Side, second: &Side) -> String {
    format!("{} against {}", second.name, first.name)
}

fn comparison((first, second): (&Side, &Side), found: &[Difference], names_both: bool) -> Vec<Section> {
    let mut sections = Vec::new();
    if let [a, b] = [first, second].map(|side| side.results.first())
        && let Some((a, b)) = a.zip(b)
    {
        let load = load_differences(a, b);
        if !load.is_empty() {
            let sentences = load.iter().map(|words| text(words));
            sections.push(Section::new("The loads differ", vec![Block::notes(sentences)]));
        }
    }
    // Without IOPS only the CPU usage is left, which makes no chart.
    let chart = if lacks_iops(found, first, second) { None } else { differences(found) };
    let mut blocks = chart.map_or_else(Vec::new, |chart| charts(vec![Ok(chart)]));
    let table = table(found, first, second);
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
        let rpcs: Vec<String> =
            [first, second].into_iter().filter_map(|side| rpcs::of_latency(&side.name, &side.results)).collect();
        blocks.extend((!rpcs.is_empty()).then(|| Block::notes(rpcs)));
        let heading = if names_both { against(first, second) } else { "Differences".to_owned() };
        sections.push(Section::new(&heading, blocks));
    }
    sections
}

/// True if runs without I/Os leave nothing to compare.
fn lacks_iops(found: &[Difference], first: &Side, second: &Side) -> bool {
    left_out(&first.results, &second.results).contains(&(Scope::All, Metric::Iops))
        && found.iter().all(|difference| difference.figure != Metric::Iops)
}

/// Both sides with their names.
fn named<'a>(first: &'a Side, second: &'a Side) -> [(&'a str, &'a [RunResult]); 2] {
    [first, second].map(|side| (side.name.as_str(), &side.results[..]))
}

/// The figures of a side's runs: those of their first timespans, which are compared.
fn named_headlines(side: &Side) -> Vec<(String, Headline)> {
    let headline = |result: &RunResult| stats::headline(result.time_spans.first()?);
    let runs = (1..).zip(&side.results);
    runs.filter_map(|(number, result)| Some((run_name(side, number), headline(result)?))).collect()
}

/// The run of a side that its charts show, and its number: that whose IOPS are nearest to the median.
fn shown_run(side: &Side) -> Option<(usize, &RunResult)> {
    let median = median(&side.results, (Scope::All, Metric::Iops)).unwrap_or_default();
    let distance = |result: &RunResult| {
        let headline = result.time_spans.first().and_then(stats::headline);
        headline.map_or(f64::INFINITY, |headline| (headline.iops - median).abs())
    };
    (1..).zip(&side.results).min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))
}

/// Rates over time and percentiles of one run of each side.
pub(crate) fn overlaid(sides: &[Side]) -> Vec<ChartResult> {
    let measured = |side: &'_ Side| -> Option<_> { shown_run(side)?.1.time_spans.first()?.measured.clone() };
    let known: Vec<_> = sides.iter().filter_map(|side| Some((side.name.as_str(), measured(side)?))).collect();
    let known: Vec<_> = known.iter().map(|(name, measured)| (*name, measured)).collect();
    let caption = one_run_of_each(sides);
    let with_caption = |chart: Chart| Chart { caption: format!("{caption} {}", chart.caption), ..chart };
    overlays(&known).into_iter().map(with_caption).map(Ok).collect()
}

/// The runs that the lines of a chart show.
fn one_run_of_each(sides: &[Side]) -> String {
    let several: Vec<String> = sides
        .iter()
        .filter(|side| side.results.len() > 1)
        .filter_map(|side| Some(format!("run {} of {} of {}", shown_run(side)?.0, side.results.len(), side.name)))
        .collect();
    let several = if several.is_empty() {
        String::new()
    } else {
        format!(", of several the one nearest to the median IOPS: {}", several.join(", "))
    };
    let stalled = |side: &&Side| shown_run(side).is_some_and(|(_, run)| without_ios(std::slice::from_ref(run)) > 0);
    let stalled: Vec<String> = sides.iter().filter(stalled).map(|side| format!(" {}: no I/Os.", side.name)).collect();
    format!("Each line is a single run{several}.{}", stalled.concat())
}

/// One table of machines, storage, programs and settings that do not change the load: first what differs.
fn environments(sides: &[Side]) -> Table {
    let of_sides: Vec<Vec<Fact>> =
        sides.iter().map(|side| side.results.first().map(facts).unwrap_or_default()).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (name, number) in of_sides.iter().flat_map(|facts| numbered(facts)).map(|(name, number, _)| (name, number)) {
        let value = |facts: &Vec<Fact>| {
            let found = numbered(facts).find(|known| (known.0, known.1) == (name, number));
            found.map_or_else(dash, |(.., value)| value.to_owned())
        };
        let label = if number == 0 { name.trim().to_owned() } else { format!("{} {}", name.trim(), number + 1) };
        if rows.iter().all(|row| row[0] != label) {
            rows.push(std::iter::once(label).chain(of_sides.iter().map(value)).collect());
        }
    }
    rows.extend(other_differences(sides));
    for row in &mut rows {
        let mark = match row[1..].windows(2).all(|pair| pair[0] == pair[1]) {
            true => "",
            false if VARYING.contains(&row[0].as_str()) => VARIES,
            false => DIFFERS,
        };
        // Values are long: the mark is visible without scrolling.
        row.insert(1, mark.to_owned());
    }
    rows.sort_by_key(|row| [DIFFERS, VARIES, ""].iter().position(|mark| *mark == row[1]));
    let names = sides.iter().map(|side| Column::words(&side.name));
    let columns = ["", "same?"].map(Column::text).into_iter().chain(names).collect();
    Table { label: "Environment", columns, rows, ..Table::default() }
}

/// Each fact with the number of earlier facts of the same name.
fn numbered(facts: &[Fact]) -> impl Iterator<Item = (&'static str, usize, &str)> {
    facts.iter().enumerate().map(|(index, fact)| {
        (fact.name, facts[..index].iter().filter(|other| other.name == fact.name).count(), fact.value.as_str())
    })
}

/// Other differences from the first side: settings that do not change the load, and details of machine and program.
fn other_differences(sides: &[Side]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let Some(first) = sides.first().and_then(|side| side.results.first()) else { return rows };
    for (number, side) in sides.iter().enumerate().skip(1) {
        let Some(other) = side.results.first() else { continue };
        let settings = settings::difference::differences(&first.profile, &other.profile);
        let settings = settings.iter().filter(|difference| !difference.is_load).filter_map(|difference| {
            let (a, b) = difference.text.split_once(" against ")?;
            let name = if difference.is_seed { SEED } else { "setting" };
            Some([name.to_owned(), a.to_owned(), b.to_owned()])
        });
        for [name, a, b] in settings.chain(system_differences(first, other)) {
            let mut row = vec![String::new(); sides.len() + 1];
            let (name, [a, b]) = readable(&name, [&a, &b]);
            (row[0], row[1], row[number + 1]) = (text(&name), text(&a), text(&b));
            rows.push(row);
        }
    }
    rows
}

/// A place in a result and its values, in words and units for places that often differ.
fn readable(name: &str, values: [&str; 2]) -> (String, [String; 2]) {
    if name != AVAILABLE_MEMORY {
        return (name.to_owned(), values.map(str::to_owned));
    }
    (FREE_MEMORY.to_owned(), values.map(|value| value.parse().map_or_else(|_| value.to_owned(), size)))
}

/// The metrics that are better, worse, equivalent or inconclusive.
fn statement(found: &[Difference], first: &Side, second: &Side) -> Statement {
    let with_verdict = |wanted: ComparisonVerdict| -> Vec<&Difference> {
        found.iter().filter(|difference| difference.verdict == wanted).collect()
    };
    let (better, worse) = (with_verdict(ComparisonVerdict::Better), with_verdict(ComparisonVerdict::Worse));
    let (equivalent, open) =
        (with_verdict(ComparisonVerdict::NoDifference), with_verdict(ComparisonVerdict::CannotTell));
    let limited = with_verdict(ComparisonVerdict::LimitedByRate);
    let alike = || if limited.is_empty() { equal() } else { LIMITED_HEADLINE.to_owned() };
    let same = SameRuns::between(&first.results, &second.results);
    let told = same.map(|same| sentence(&same.words()));
    let incomplete = incomplete(named(first, second));
    let lacks_iops = lacks_iops(found, first, second);
    let stalled = crate::words::compare::without_ios(named(first, second));
    let single = single_runs(&[first, second]);
    let by_single = single.as_ref().map(|single| format!(", as far as {single} shows")).unwrap_or_default();
    let headline = match (better.is_empty(), worse.is_empty()) {
        _ if matches!(same, Some(SameRuns::All { .. })) => {
            return Statement::new(
                Tone::Warn,
                told.unwrap_or_default().trim_end_matches('.'),
                ["Nothing is compared: give the results of two different runs.".to_owned()],
            );
        }
        _ if found.is_empty() => "No metrics in common".to_owned(),
        _ if lacks_iops => match &stalled {
            Some(stalled) => format!("Cannot tell: {}", text(stalled)),
            None => "Cannot tell: IOPS cannot be compared".to_owned(),
        },
        (false, true) => format!("{} is better in {}{by_single}", second.name, listed(&better)),
        (true, false) => format!("{} is worse in {}{by_single}", second.name, listed(&worse)),
        (false, false) => {
            format!("{} is better in {}, worse in {}{by_single}", second.name, listed(&better), listed(&worse))
        }
        (true, true) => open.first().map_or_else(alike, |open| cannot_tell(open, single.clone())),
    };
    let tone = match (better.is_empty(), worse.is_empty()) {
        _ if lacks_iops => Tone::Warn,
        _ if found.is_empty() => Tone::Plain,
        _ if single.is_some() => Tone::Warn,
        (false, true) => Tone::Good,
        (true, false) => Tone::Bad,
        (true, true) if open.is_empty() => Tone::Plain,
        (false, false) | (true, true) => Tone::Warn,
    };
    let with_interval = |found: &Difference| {
        let interval = found.interval.map(|ends| format!(" (95 % interval {})", interval_of_change(ends)));
        format!("{} {}{}", named_of(found), change(found.percent), interval.unwrap_or_default())
    };
    let named_change = |found: &Difference| format!("{} {}", named_of(found), change(found.percent));
    let mut sentences: Vec<String> = incomplete.iter().map(|words| sentence(words)).collect();
    let mut add = |heading: &str, of: &[&Difference], words: &dyn Fn(&Difference) -> String| {
        if !of.is_empty() {
            let words: Vec<String> = of.iter().map(|found| words(found)).collect();
            sentences.push(format!("{heading}: {}.", words.join(", ")));
        }
    };
    add("Better", &better, &named_change);
    add("Worse", &worse, &named_change);
    add(&equal(), &equivalent, &named_of);
    add(LIMITED, &limited, &named_of);
    let (noisy, unknown): (Vec<_>, Vec<_>) = open.iter().partition(|found| found.interval.is_some());
    add("Cannot tell, within the noise", &noisy, &with_interval);
    add("Cannot tell, no 95 % interval", &unknown, &with_interval);
    sentences.extend(told);
    Statement::new(tone, headline, sentences)
}

/// `IOPS, mean and p99`; MiB/s goes with IOPS.
fn listed(found: &[&Difference]) -> String {
    let has_iops = found.iter().any(|found| found.figure == Metric::Iops);
    let told = found.iter().filter(|found| !has_iops || found.figure != Metric::MibPerS);
    let names: Vec<String> = told.map(|found| named_of(found)).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// The name of a metric, with its scope.
fn named_of(found: &Difference) -> String {
    found.scope.label(name(found.figure))
}

/// [`equivalent`] at the start of a sentence.
fn equal() -> String {
    equivalent(EQUAL_PERCENT).replacen('e', "E", 1)
}

/// A difference that was not found may still exist.
fn cannot_tell(open: &Difference, single_runs: Option<String>) -> String {
    let figure = named_of(open);
    let is_single = open.interval.is_none() || open.basis == Basis::OneRun;
    match (open.interval, single_runs.filter(|_| is_single)) {
        (_, Some(single)) => {
            format!(
                "{}: cannot tell a difference in {figure} ({}) from the variation between runs",
                capitalised(&single),
                change(open.percent)
            )
        }
        (Some(_), None) => {
            format!("Cannot tell: the difference of {:.1} % in {figure} is within the noise", open.percent.abs())
        }
        (None, None) => format!("Cannot tell: no 95 % interval of {figure}"),
    }
}

fn table(found: &[Difference], first: &Side, second: &Side) -> Table {
    let row = |difference: &Difference| {
        let Difference { figure, scope: _, first, second, percent, interval, verdict, basis: _ } = *difference;
        vec![
            named_of(difference),
            word(verdict),
            change(percent),
            interval.map_or_else(dash, interval_of_change),
            shown(figure, first),
            shown(figure, second),
        ]
    };
    let left_out = left_out(&first.results, &second.results).into_iter().map(|(scope, metric)| {
        let [a, b] = [first, second]
            .map(|side| median(&side.results, (scope, metric)).map_or_else(dash, |value| shown(metric, value)));
        vec![scope.label(name(metric)), NOT_COMPARED.to_owned(), dash(), dash(), a, b]
    });
    let rows = found.iter().map(row).chain(left_out).collect();
    let runs = |side: &Side| match side.results.len() {
        1 => side.name.clone(),
        runs => format!("{} ({runs} runs)", side.name),
    };
    let columns = vec![
        Column::text(""),
        Column::text("verdict"),
        Column::number("change"),
        Column::number("95 % interval"),
        Column::number(&runs(first)),
        Column::number(&runs(second)),
    ];
    let averages = averages(found, &first.results, &second.results);
    let waits = unlike_waits(&first.results, &second.results).map(|words| format!("latencies not compared: {words}"));
    let notes = waits.into_iter().chain(averages).chain(why_without_intervals(found, named(first, second)));
    let notes = notes.chain(one_run(found, &first.results, &second.results));
    let note = notes.map(|words| sentence(&words)).collect::<Vec<_>>().join(" ");
    Table { columns, rows, label: "Differences", note, ..Table::default() }
}

/// The run lengths of the sides.
fn lengths(sides: &[Side]) -> String {
    let length = |side: &Side| Some(load_line::length(side.results.first()?.profile.time_spans.first()?));
    let known: Vec<(&str, String)> =
        sides.iter().filter_map(|side| Some((side.name.as_str(), length(side)?))).collect();
    match &known[..] {
        [] => String::new(),
        [(_, first), others @ ..] if others.iter().all(|(_, length)| length == first) => format!("Each run: {first}."),
        _ => known.iter().map(|(name, length)| format!("Each run of {name}: {length}.")).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::figures::{Directions, Figures};
    use model::profile::TimeSpan;
    use model::result::{Measured, TimeSpanResult};
    use model::units::UnixTime;

    fn side(name: &str) -> Side {
        Side { name: name.to_owned(), results: Vec::new() }
    }

    fn difference(figure: Metric, percent: f64, half: Option<f64>, verdict: ComparisonVerdict) -> Difference {
        let interval = half.map(|half| (percent - half, percent + half));
        let basis = Basis::Test;
        Difference {
            figure,
            scope: Scope::All,
            first: 100.0,
            second: 100.0 + percent,
            percent,
            interval,
            verdict,
            basis,
        }
    }

    fn statement_parts(found: &[Difference]) -> (Tone, String, Vec<String>) {
        let Statement { tone, headline, sentences, .. } = statement(found, &side("old"), &side("new"));
        (tone, headline, sentences)
    }

    #[test]
    fn available_memory_is_shown_in_words_and_units() {
        let found = readable("machine.memory.available_bytes", ["1073741824", "null"]);
        assert_eq!(found, ("free memory".to_owned(), ["1 GiB", "null"].map(str::to_owned)));
        assert_eq!(readable("machine.kernel", ["5", "6"]).0, "machine.kernel");
    }

    #[test]
    fn charts_show_the_run_nearest_to_the_median() {
        let run = |iops: f64| {
            let total = Figures { ios: 1000, iops, ..Figures::default() };
            let measured = Measured { total: Directions { total, ..Directions::default() }, ..Measured::default() };
            let time_spans = vec![TimeSpanResult { measured: Some(measured), ..TimeSpanResult::default() }];
            RunResult { time_spans, ..RunResult::default() }
        };
        let side_with =
            |all: &[f64]| Side { name: "a".to_owned(), results: all.iter().map(|iops| run(*iops)).collect() };
        let shown = |all: &[f64]| shown_run(&side_with(all)).map(|(number, _)| number);
        assert_eq!([shown(&[3.0, 1.0, 2.0]), shown(&[7.0]), shown(&[])], [Some(3), Some(1), None]);
        let caption = one_run_of_each(&[side_with(&[3.0, 1.0, 2.0])]);
        assert_eq!(
            caption,
            "Each line is a single run, of several the one nearest to the median IOPS: run 3 of 3 of a."
        );
    }

    #[test]
    fn what_cannot_be_told_is_not_equal() {
        let open = difference(Metric::Iops, 1.2, Some(6.0), ComparisonVerdict::CannotTell);
        let equal = difference(Metric::MibPerS, 0.1, Some(1.0), ComparisonVerdict::NoDifference);
        let (tone, headline, sentences) = statement_parts(&[open, equal]);
        assert_eq!(
            (tone, headline.as_str()),
            (Tone::Warn, "Cannot tell: the difference of 1.2 % in IOPS is within the noise")
        );
        assert_eq!(
            sentences,
            [
                "Equivalent within 5 %: MiB/s.",
                "Cannot tell, within the noise: IOPS +1.2 % (95 % interval -4.8 % to +7.2 %)."
            ]
        );
        let unknown = difference(Metric::P99, -3.0, None, ComparisonVerdict::CannotTell);
        let (_, headline, sentences) = statement_parts(&[unknown]);
        assert_eq!(headline, "Cannot tell: no 95 % interval of p99");
        assert_eq!(sentences[0], "Cannot tell, no 95 % interval: p99 -3.0 %.");
        assert_eq!(sentences.len(), 1, "{sentences:?}");
    }

    #[test]
    fn what_single_runs_tell_is_not_more_than_that() {
        let single = |name: &str, second: i128| {
            let started_at = UnixTime(second * 1_000_000_000);
            Side { results: vec![RunResult { started_at, ..RunResult::default() }], ..side(name) }
        };
        let better = difference(Metric::Iops, 9.0, Some(1.0), ComparisonVerdict::Better);
        let Statement { tone, headline, .. } = statement(&[better], &single("old", 1), &single("new", 2));
        assert_eq!(
            (tone, headline.as_str()),
            (Tone::Warn, "new is better in IOPS, as far as one run on each side shows")
        );
        let Statement { headline, .. } = statement(&[better], &single("old", 1), &side("new"));
        assert_eq!(headline, "new is better in IOPS, as far as one run of old shows");
    }

    /// A page advised to compare two seeds of one load in pairs.
    #[test]
    fn seeds_are_no_difference_of_loads() {
        let with = |name: &str, change: fn(&mut RunResult)| {
            let mut result = RunResult { command_line: "diskspd -b4K a.dat".to_owned(), ..RunResult::default() };
            result.profile.time_spans.push(TimeSpan::default());
            change(&mut result);
            Side { results: vec![result], ..side(name) }
        };
        let sides = |change| [with("old", |_| {}), with("new", change)];
        let words = |sides: &[Side]| varied(&environments(sides), sides);
        let seeds = sides(|result| {
            result.profile.time_spans[0].random_seed = 1;
            result.command_line = "diskspd -b4K -z1 a.dat".to_owned();
        });
        assert!(words(&seeds).contains("only the random seed (-z): load, other settings,"), "{}", words(&seeds));
        let (next, command) = next(&seeds[0], &[(&seeds[1], &[])], false);
        assert!(next.starts_with("Measure each side 10 times") && !command.contains("-z"), "{next}: {command}");
        let lengths = sides(|result| result.profile.time_spans[0].duration_s = 60);
        assert_eq!(words(&lengths), "setting (-d10 / -d60)");
    }

    #[test]
    fn equivalence_is_said_only_where_all_of_it_was_tested() {
        let equal = |figure| difference(figure, 0.1, Some(1.0), ComparisonVerdict::NoDifference);
        let (tone, headline, _) = statement_parts(&[equal(Metric::Iops), equal(Metric::Mean)]);
        assert_eq!((tone, headline.as_str()), (Tone::Plain, "Equivalent within 5 %"));
        let better = difference(Metric::Iops, 9.0, Some(1.0), ComparisonVerdict::Better);
        let (tone, headline, sentences) = statement_parts(&[better, equal(Metric::Mean)]);
        assert_eq!((tone, headline.as_str()), (Tone::Good, "new is better in IOPS"));
        let p50 = difference(Metric::P50, 9.0, Some(1.0), ComparisonVerdict::Worse);
        let p99 = difference(Metric::P99, 9.0, Some(1.0), ComparisonVerdict::Worse);
        let bytes = difference(Metric::MibPerS, 9.0, Some(1.0), ComparisonVerdict::Better);
        assert_eq!(statement_parts(&[better, bytes, p50, p99]).1, "new is better in IOPS, worse in p50 and p99");
        assert_eq!(sentences, ["Better: IOPS +9.0 %.", "Equivalent within 5 %: mean."]);
        assert_eq!(word(ComparisonVerdict::NoDifference), "equivalent within 5 %");
    }
}
