//! The page of a sweep: which setting to use, and why.

use super::answer::{Answer, Statement, sentence};
use super::block::{Block, Column, Found, Page, Section, Table, Tone, charts};
use super::charts::{Shown, grids, over_depth, over_settings};
use super::environment::{environment, subtitle_of_runs};
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant};
use super::repeat::{MACHINE_CPU, name};
use super::run::time_span;
use super::warnings::{Explain, NamedRun, banner, plain, warnings};
use super::weak;
use model::doubt::Doubt;
use model::headline::Headline;
use model::limit::{Limit, LimitFound};
use model::metric::Metric;
use model::printable::command_line;
use model::result::RunResult;
use model::sweep::{
    BlockKnee, BlockSeries, DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep, Visit, VisitOutcome,
};
use model::units::mib;
use render::limit::DECIDING;
use render::load_line;
use render::sweep::{
    ACROSS_BLOCKS, NOT_FIRM, RULE, Range, across_blocks, best_of_blocks, compared, dashed, edge, given_up, names,
    range_of_load,
};
use stats::sweep::{AcrossBlocks, Shown as Why};
use std::io;

/// The page; `chosen` is the result of the [recommended](stats::sweep::recommended) point.
pub(super) fn page(sweep: &Sweep, chosen: Option<&RunResult>, name: &str, explain: Explain) -> io::Result<Page> {
    let mut first = vec![Block::Answers { answers: answers(sweep, explain) }];
    first.extend(verdicts(sweep, explain, settings_of));
    let mut sections = vec![Section::new("", first)];
    sections.push(Section::new("The points", charts(&shown(sweep))?));
    let points = table(sweep);
    if points.rows.is_empty() {
        sections.pop();
    } else if let Some(block) = sections.last_mut() {
        block.blocks.push(Block::Table(points));
    }
    if let (Some(result), Some((point, why))) = (chosen, stats::sweep::shown(sweep)) {
        let settings = Setting::typed_all(&sweep.points[point].settings);
        let mut why = Some(Block::Notes { heading: String::new(), sentences: vec![why_shown(sweep, point, why)] });
        for (index, span_result) in result.time_spans.iter().enumerate() {
            let heading = format!("The run with {}", text(settings.as_bytes()));
            let mut of_span = time_span(result.profile.time_spans.get(index), span_result, &heading)?;
            if let Some(first) = of_span.first_mut() {
                first.blocks.splice(0..0, why.take());
            }
            sections.extend(of_span.into_iter().map(|section| section.of_time(index)));
        }
        sections.push(environment(result));
    }
    sections.push(command("sweep", sweep));
    let subtitle = chosen.map_or_else(|| text(sweep.program.as_bytes()), subtitle_of_runs);
    Ok(Page::new(name.to_owned(), load_line::of_runs(sweep, chosen), subtitle, sections).of_method("Sweep"))
}

/// Why this point has a section, and which of its runs is shown.
fn why_shown(sweep: &Sweep, point: usize, why: Why) -> String {
    let why = match why {
        Why::Together => "these are all streams together",
        Why::MeetsLimits => "it is the highest rate within the limit",
        Why::MissesLimits => "it is the lowest rate tried, and not within the limit",
        Why::Recommended => "it is the point of the answer above",
        Why::Best => "it has the most throughput of all points",
    };
    let count = stats::sweep::runs(sweep, point).len();
    let which = match count {
        0 | 1 => "It was run once".to_owned(),
        _ => {
            let number = stats::sweep::median_run(sweep, point).map_or(0, |visit| visit.run + 1);
            format!("Run {number}, the one with the median IOPS of its {count} runs")
        }
    };
    format!("Shown because {why}. {which}.")
}

/// The charts of the points.
pub(super) fn shown(sweep: &Sweep) -> Vec<Shown> {
    let mut found = Vec::new();
    found.extend(over_depth(sweep).into_iter().map(Ok));
    found.extend(grids(sweep).into_iter().map(Ok));
    if found.is_empty() {
        found.extend(over_settings(sweep).into_iter().map(Ok));
    }
    found
}

/// What was typed.
pub(super) fn command(subcommand: &str, sweep: &Sweep) -> Section {
    let words: Vec<String> = sweep.words.iter().map(|word| text(word.as_bytes())).collect();
    let words = format!("diskspd {subcommand} {}", command_line(words.iter().map(String::as_str)));
    let hint = format!("Measured with {}.", text(sweep.program.as_bytes()));
    Section::new("Command line", vec![Block::Command { words, hint }])
}

/// The answer for each series of depths or of block sizes, or the best point.
fn answers(sweep: &Sweep, explain: Explain) -> Vec<Answer> {
    if let Some(found) = &sweep.limit {
        let runs = render::limit::decisive(sweep, found);
        let statement = of_limits(sweep, found, &how_to_remove(&runs, explain));
        return vec![Answer::resting_on_some(runs, DECIDING, statement)];
    }
    let of_points = |points: &[usize], statement: Statement| {
        let runs = points.iter().flat_map(|point| stats::sweep::runs(sweep, *point)).filter_map(Visit::headline);
        Answer::resting_on(runs, statement)
    };
    if !sweep.depths.is_empty() {
        let across = of_all_blocks(sweep).map(|statement| Answer::resting_on(sweep.measured(), statement));
        let of_series = sweep.depths.iter().map(|series| of_points(&series.points, of_depths(sweep, series)));
        return across.into_iter().chain(of_series).collect();
    }
    if !sweep.block_sizes.is_empty() {
        return sweep.block_sizes.iter().map(|series| of_points(&series.points, of_blocks(sweep, series))).collect();
    }
    let statement = range_of_load(sweep).map(of_load).or_else(|| best(sweep)).unwrap_or_else(nothing);
    Some(statement).map(|statement| Answer::resting_on(sweep.measured(), statement)).into_iter().collect()
}

/// The sweep ended before its first point.
fn nothing() -> Statement {
    Statement {
        tone: Tone::Warn,
        about: String::new(),
        headline: "No point was measured".to_owned(),
        sentences: vec!["Run the command again: its error message says why it ended.".to_owned()],
    }
}

/// What was measured, where no value is better than another.
fn of_load(range: Range) -> Statement {
    let Range { options, least, most } = range;
    let [options, least, most] = [options, least, most].map(|words| text(words.as_bytes()));
    Statement {
        tone: Tone::Plain,
        about: String::new(),
        headline: format!("IOPS: {least} to {most}"),
        sentences: vec![format!("{options} is part of the load, so no value of it is recommended.")],
    }
}

/// Where block sizes and depths vary together: which block size to use.
fn of_all_blocks(sweep: &Sweep) -> Option<Statement> {
    let headline = across_blocks(sweep)?;
    let AcrossBlocks { most_bytes, most_iops } = stats::sweep::across_blocks(sweep)?;
    let figures = |point: usize| {
        let figures = stats::sweep::figures(sweep, point)?;
        let typed = text(Setting::typed_all(&sweep.points[point].settings).as_bytes());
        let bytes = Quantity::MibPerS.value(mib(figures.bytes_per_s));
        Some(format!("{typed}: {bytes}, {}.", rate_and_latency(figures)))
    };
    let mut points = vec![most_bytes, most_iops];
    points.dedup();
    let sentences = points.into_iter().filter_map(figures).chain([sentence(ACROSS_BLOCKS)]).collect();
    let headline = sentence(&headline).trim_end_matches('.').to_owned();
    Some(Statement { tone: Tone::Plain, about: String::new(), headline, sentences })
}

fn of_blocks(sweep: &Sweep, series: &BlockSeries) -> Statement {
    let about = text(Setting::typed_all(&series.settings).as_bytes());
    let typed = |point: usize| text(Setting::typed_all(&sweep.points[point].settings).as_bytes());
    let is_doubtful = series.knee.is_some() && stats::sweep::is_doubtful(sweep, &series.points);
    let (tone, headline, why) = match series.knee {
        Some(BlockKnee::At { point, plateau_bytes_per_s }) => (
            Tone::Good,
            if is_doubtful { not_firm(&typed(point)) } else { format!("Use {}", typed(point)) },
            format!(
                "Throughput there is within 5 % of its plateau of {}; larger blocks only add latency.",
                Quantity::MibPerS.value(mib(plateau_bytes_per_s))
            ),
        ),
        Some(BlockKnee::StillRising { doubling_percent }) => (
            Tone::Plain,
            "Throughput still rises at the largest block size tried".to_owned(),
            format!("Twice the block size would give about {doubling_percent:.0} % more. Sweep larger blocks."),
        ),
        None => (
            Tone::Plain,
            format!("Most MiB/s with {}", best_of_blocks(sweep, series).map(typed).unwrap_or_default()),
            format!("To find where throughput stops growing, at least {} block sizes are needed.", stats::DEPTHS_MIN),
        ),
    };
    let mut sentences = vec![why];
    if let Some(BlockKnee::At { plateau_bytes_per_s, .. }) = series.knee {
        let highest =
            stats::sweep::above_plateau(sweep, &series.points, plateau_bytes_per_s, |figures| figures.bytes_per_s);
        sentences
            .extend(highest.map(|(point, bytes)| highest_measured(sweep, point, &Quantity::MibPerS.value(mib(bytes)))));
    }
    sentences.extend(is_doubtful.then(|| sentence(NOT_FIRM)));
    Statement { tone, about, headline, sentences }
}

/// Causes of doubt whose remedy is named in the answer.
const REMEDIES_MAX: usize = 2;

/// What to do about the most frequent causes of doubt.
fn how_to_remove(runs: &[&Headline], explain: Explain) -> Vec<String> {
    let causes = Doubt::of(runs.iter().copied()).map(|doubt| doubt.causes).unwrap_or_default();
    let remedy = |(name, _): &(String, usize)| {
        let advice = plain(explain(name)?.advice);
        Some(format!("To remove {}: {advice}.", text(name.as_bytes())))
    };
    causes.iter().filter_map(remedy).take(REMEDIES_MAX).collect()
}

/// The answer in short, then what the text says.
fn of_limits(sweep: &Sweep, found: &LimitFound, remedies: &[String]) -> Statement {
    let mut written = Vec::new();
    // Writing to a vector cannot fail.
    let _ = render::limit::decision(sweep, found, &mut written);
    let mut sentences = text_of_lines(&written);
    sentences.extend_from_slice(remedies);
    let limits = text(render::limit::limits(found).as_bytes());
    let rate = |point: usize| text(sweep.points[point].settings.first().map_or("?", |rate| &rate.value).as_bytes());
    let (tone, headline) = match (found.noise, found.holds) {
        (Some(_), _) => (Tone::Warn, format!("No answer: runs at the same rate vary across the limit ({limits})")),
        (None, Some(point)) => (Tone::Good, format!("Up to {} I/Os per second with {limits}", rate(point))),
        (None, None) => (Tone::Bad, format!("No rate with {limits}")),
    };
    let doubt = Doubt::of(render::limit::decisive(sweep, found)).and_then(|doubt| doubt.of_all());
    let (tone, headline) = match doubt {
        // What disturbed all runs may be why a limit is met by no rate, or by low ones only.
        Some(_) if found.noise.is_none() => (Tone::Warn, format!("No firm answer: {}", lower_first(&headline))),
        _ => (tone, headline),
    };
    Statement { tone, about: String::new(), headline, sentences }
}

/// The same words inside a sentence.
fn lower_first(words: &str) -> String {
    let mut characters = words.chars();
    characters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(characters).collect()
}

fn text_of_lines(written: &[u8]) -> Vec<String> {
    let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| sentence(&String::from_utf8_lossy(line.trim_ascii()))).collect()
}

fn of_depths(sweep: &Sweep, series: &DepthSeries) -> Statement {
    let about = text(Setting::typed_all(&series.settings).as_bytes());
    let Some(Knee { efficient, saturation }) = &series.knee else {
        return of_few_depths(sweep, series, about);
    };
    let mut sentences = vec![why_efficient(sweep, series, efficient)];
    match saturation {
        Saturation::At { depth, .. } if depth.depth == efficient.depth => {
            sentences.push("This depth also saturates the target: throughput is within 5 % of its plateau.".to_owned());
        }
        Saturation::At { depth, plateau_iops } => sentences.push(format!(
            "If only throughput matters: {}, {}. At this depth, throughput is within 5 % of its plateau of {}; a \
             larger depth only adds latency.",
            named(sweep, series, depth),
            figures_at(sweep, series, depth.depth),
            Quantity::Iops.value(*plateau_iops),
        )),
        Saturation::StillRising { doubling_percent } => sentences.push(format!(
            "If only throughput matters, use a larger depth: throughput still rises at the largest depth tried, and \
             twice that depth would give about {doubling_percent:.0} % more. Sweep larger depths to find the saturation \
             point."
        )),
    }
    if let Saturation::At { plateau_iops, .. } = saturation {
        let highest = stats::sweep::above_plateau(sweep, &series.points, *plateau_iops, |figures| figures.iops);
        sentences.extend(highest.map(|(point, iops)| highest_measured(sweep, point, &Quantity::Iops.value(iops))));
    }
    sentences.extend(instead(sweep, series, efficient));
    let used = series.recommended.and_then(|point| stats::sweep::figures(sweep, point)?.depth);
    let named = depth_named(sweep, used.unwrap_or(efficient.depth), series.recommended);
    let headline = if stats::sweep::is_doubtful(sweep, &series.points) {
        sentences.push(sentence(NOT_FIRM));
        not_firm(&named)
    } else {
        sentences.extend(how_sure(efficient, saturation));
        format!("Use {named}")
    };
    Statement { tone: Tone::Good, about, headline, sentences }
}

/// What is not recommended, because every run has a warning.
fn not_firm(named: &str) -> String {
    format!("No firm answer: {named} looks best")
}

/// Too few depths for a best one: what was measured.
fn of_few_depths(sweep: &Sweep, series: &DepthSeries, about: String) -> Statement {
    let needed = format!("Too few queue depths to find the best one: at least {} are needed.", stats::DEPTHS_MIN);
    let figures = |point: &usize| Some((*point, stats::sweep::figures(sweep, *point)?));
    let fastest = series.points.iter().filter_map(figures).max_by(|(_, a), (_, b)| a.iops.total_cmp(&b.iops));
    let Some((point, figures)) = fastest.filter(|_| series.points.len() > 1) else {
        return Statement {
            tone: Tone::Plain,
            about,
            headline: needed.trim_end_matches('.').to_owned(),
            sentences: vec![],
        };
    };
    let depth = depth_named(sweep, figures.depth.unwrap_or_default(), Some(point));
    let sentences = vec![format!("{}.", rate_and_latency(figures)), needed];
    Statement { tone: Tone::Plain, about, headline: format!("Highest IOPS at {depth}"), sentences }
}

/// A plateau is a mean: single points may lie above it.
fn highest_measured(sweep: &Sweep, point: usize, rate: &str) -> String {
    let typed = text(Setting::typed_all(&sweep.points[point].settings).as_bytes());
    format!("Highest measured: {rate} with {typed}, above the plateau, which is the mean of several points.")
}

/// Why another point is to be used than that of the efficient depth.
fn instead(sweep: &Sweep, series: &DepthSeries, efficient: &DepthEstimate) -> Option<String> {
    let beaten = stats::sweep::point_at(sweep, series, efficient.depth)?;
    let point = series.recommended.filter(|point| *point != beaten)?;
    let typed = |point: usize| text(Setting::typed_all(&sweep.points[point].settings).as_bytes());
    Some(format!(
        "{} had no less throughput, no higher mean latency and no more CPU usage than {}.",
        typed(point),
        typed(beaten)
    ))
}

/// `depth 8 (-o8)`
fn named(sweep: &Sweep, series: &DepthSeries, estimate: &DepthEstimate) -> String {
    depth_named(sweep, estimate.depth, stats::sweep::point_at(sweep, series, estimate.depth))
}

fn depth_named(sweep: &Sweep, depth: u32, point: Option<usize>) -> String {
    let typed = |point: usize| {
        let settings: Vec<Setting> = sweep.points[point].settings.iter().filter(|s| s.is_depth()).cloned().collect();
        format!(" ({})", text(Setting::typed_all(&settings).as_bytes()))
    };
    format!("depth {depth}{}", point.map(typed).unwrap_or_default())
}

/// `30,943 IOPS at 258 µs`
fn figures_at(sweep: &Sweep, series: &DepthSeries, depth: u32) -> String {
    let point = stats::sweep::point_at(sweep, series, depth);
    let figures = point.and_then(|point| stats::sweep::figures(sweep, point));
    figures.map(rate_and_latency).unwrap_or_default()
}

fn rate_and_latency(figures: &Headline) -> String {
    let latency = figures.mean_ns.map(|ns| format!(" at a mean latency of {}", latency(ns))).unwrap_or_default();
    format!("{}{latency}", Quantity::Iops.value(figures.iops))
}

fn why_efficient(sweep: &Sweep, series: &DepthSeries, efficient: &DepthEstimate) -> String {
    let point = stats::sweep::point_at(sweep, series, efficient.depth);
    let figures = point.and_then(|point| stats::sweep::figures(sweep, point)).map(rate_and_latency);
    let given_up = given_up(sweep, series, efficient).map(|given_up| format!(", {given_up}"));
    format!(
        "Depth {} has the {RULE}: {}{}{}.",
        efficient.depth,
        figures.unwrap_or_default(),
        given_up.unwrap_or_default(),
        edge(sweep, series, efficient)
    )
}

fn how_sure(efficient: &DepthEstimate, saturation: &Saturation) -> Option<String> {
    let range = |name: &str, DepthEstimate { low, high, .. }: &DepthEstimate| {
        (low != high).then(|| format!("{name} lies between {low} and {high}"))
    };
    let saturated = match saturation {
        Saturation::At { depth, .. } => range("the saturation depth", depth),
        Saturation::StillRising { .. } => None,
    };
    let ranges: Vec<String> = [range("the efficient depth", efficient), saturated].into_iter().flatten().collect();
    (!ranges.is_empty()).then(|| format!("With 95 % confidence {}.", ranges.join(", and ")))
}

fn best(sweep: &Sweep) -> Option<Statement> {
    let point = stats::sweep::best(sweep)?;
    let figures = stats::sweep::figures(sweep, point)?;
    Some(Statement {
        tone: Tone::Good,
        about: String::new(),
        headline: format!("Highest IOPS with {}", text(Setting::typed_all(&sweep.points[point].settings).as_bytes())),
        sentences: vec![format!("{}.", rate_and_latency(figures))],
    })
}

/// What a run of a point was made with.
fn settings_of(sweep: &Sweep, visit: &Visit) -> String {
    let typed = sweep.points.get(visit.point).map(|point| Setting::typed_all(&point.settings)).unwrap_or_default();
    if typed.is_empty() { format!("run {}", visit.run + 1) } else { text(typed.as_bytes()) }
}

/// Runs that failed, the warnings of the others, and what they say together; `name` is that of a run.
pub(super) fn verdicts(sweep: &Sweep, explain: Explain, name: fn(&Sweep, &Visit) -> String) -> Option<Block> {
    let mut findings = Vec::new();
    for visit in &sweep.visits {
        if let VisitOutcome::Failed { reasons } = &visit.outcome {
            findings.push(Found {
                tone: Tone::Bad,
                word: "FAILED".to_owned(),
                name: name(sweep, visit),
                figure: text(reasons.join("; ").as_bytes()),
                ..Found::default()
            });
        }
    }
    let of_points = sweep.visits.iter().filter(|visit| visit.is_of_point());
    let runs: Vec<NamedRun<'_>> = of_points.filter_map(|visit| Some((name(sweep, visit), visit.headline()?))).collect();
    let each = warnings(&runs, explain);
    // What says that there are warnings is needed only where older documents do not name them.
    let others = sweep.findings.iter().filter(|finding| each.is_empty() || finding.name != "warned-runs");
    let others = others.map(|finding| Found {
        tone: Tone::of(Some(finding.severity)),
        word: finding.severity.word().to_owned(),
        name: text(finding.name.as_bytes()),
        figure: text(finding.figure.as_bytes()),
        advice: text(finding.advice.as_bytes()),
        ..Found::default()
    });
    let others: Vec<Found> = others.collect();
    findings.extend(each);
    findings.extend(others);
    banner(findings)
}

/// What the column of this name means.
fn of_front(sweep: &Sweep) -> String {
    format!("Pareto front: no other point beats this one in {}.", compared(sweep))
}

/// In which order the rows are, and which of several runs they show.
const ORDER: &str = "Rows are in the order in which the values were given.";
const MEDIANS: &str = "Each row is one run: of several runs with the same settings, the one with the median IOPS.";

/// Which runs a row of a search has.
const SEARCHED: &str = "Response times count from the intended start of an I/O, other latencies from its actual start. \
                        Where a rate has confirmed runs, these decide, else all that it has. Response times are those of all \
                        runs that decide, other figures those of the one of them with the median IOPS.";

/// How many runs a search made, and of what.
fn made(sweep: &Sweep) -> String {
    let measured = || sweep.visits.iter().filter(|visit| visit.headline().is_some());
    let (of_rates, all) = (measured().filter(|visit| visit.is_of_point()).count(), measured().count());
    let capacity = if all > of_rates { ", after one without a rate that measured the capacity" } else { "" };
    format!("The search made {of_rates} runs at these rates{capacity}.")
}

/// The limits of a search that are response times; CPU usage has a column of its own.
fn response_limits(found: &LimitFound) -> impl Iterator<Item = &Limit> {
    found.limits.iter().filter(|limit| limit.figure != Metric::Cpu)
}

/// `p99 response`
fn response(figure: Metric) -> String {
    format!("{} response", name(figure))
}

/// Whether the runs at a rate meet the limits, how many they are, and their response times.
fn of_search(sweep: &Sweep, found: &LimitFound, point: usize) -> (String, Vec<String>) {
    let runs: Vec<&Headline> = stats::sweep::runs(sweep, point).into_iter().filter_map(Visit::headline).collect();
    let meets = |run: &&&Headline| {
        found.limits.iter().all(|limit| run.response_value(limit.figure).is_some_and(|value| value <= limit.at_most))
    };
    let met = runs.iter().filter(meets).count();
    let word = match met {
        0 => "no".to_owned(),
        all if all == runs.len() => "yes".to_owned(),
        met => format!("in {met} of {} runs", runs.len()),
    };
    let times = |limit: &Limit| {
        let values = || runs.iter().filter_map(|run| run.response_value(limit.figure));
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        match (latency(low), latency(high)) {
            _ if low > high => "-".to_owned(),
            (low, high) if low == high => low,
            (low, high) => format!("{low} to {high}"),
        }
    };
    let of_rate = sweep.visits.iter().filter(|visit| visit.point == point && visit.is_of_point());
    let all = of_rate.filter(|visit| visit.headline().is_some()).count();
    (word, response_limits(found).map(times).chain([all.to_string(), runs.len().to_string()]).collect())
}

fn table(sweep: &Sweep) -> Table {
    let settings = names(sweep).into_iter().map(|name| Column::number(&text(dashed(&name).as_bytes())));
    // What decides stands where small screens show it.
    let mut figures = vec!["IOPS", "mean", "p99", "MiB/s", "depth", MACHINE_CPU];
    if sweep.devices.is_some() {
        figures.extend(["amplification", "depth/SSD", "IOPS/SSD", "MiB/s/SSD"]);
    }
    let mut judged = vec![Column::text("verdict")];
    if !sweep.front.is_empty() {
        judged.push(Column::text("Pareto front"));
    }
    // What a search decides by.
    let mut searched = Vec::new();
    if let Some(found) = &sweep.limit {
        judged.push(Column::text("within the limit"));
        searched.extend(response_limits(found).map(|limit| Column::number(&response(limit.figure))));
        searched.extend(["runs", "runs that decide"].map(Column::number));
    }
    let figures = searched.into_iter().chain(figures.into_iter().map(Column::number));
    let columns = settings.chain(judged).chain(figures).collect();
    let tried = |point: &usize| sweep.visits.iter().any(|visit| visit.is_of_point() && visit.point == *point);
    let points: Vec<usize> = (0..sweep.points.len()).filter(tried).collect();
    let mut figures = points.iter().filter_map(|point| stats::sweep::figures(sweep, *point));
    let weak = weak::note(figures.any(|figures| weak::p99(figures).is_weak));
    let is_repeated = points.iter().any(|point| stats::sweep::runs(sweep, *point).len() > 1);
    let mut notes = match (&sweep.limit, is_repeated) {
        (Some(_), _) => vec![made(sweep), SEARCHED.to_owned()],
        (None, false) => vec![ORDER.to_owned()],
        (None, true) => vec![ORDER.to_owned(), MEDIANS.to_owned()],
    };
    notes.extend((sweep.limit.is_none() && !sweep.front.is_empty()).then(|| of_front(sweep)));
    notes.extend(Some(weak).filter(|weak| !weak.is_empty()));
    let note = notes.join(" ");
    let rows = points.iter().map(|point| row(sweep, *point)).collect();
    Table { columns, rows, note, label: "Points", ..Table::default() }
}

fn row(sweep: &Sweep, point: usize) -> Vec<String> {
    let mut cells: Vec<String> =
        sweep.points[point].settings.iter().map(|setting| text(setting.value.as_bytes())).collect();
    let Some(figures) = stats::sweep::figures(sweep, point) else {
        cells.push("failed".to_owned());
        return cells;
    };
    let known = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    cells.push(figures.severity.map_or("", |severity| severity.word()).to_owned());
    if !sweep.front.is_empty() {
        cells.push(if sweep.front.contains(&point) { "yes" } else { "" }.to_owned());
    }
    if let Some(found) = &sweep.limit {
        let (word, searched) = of_search(sweep, found, point);
        cells.push(word);
        cells.extend(searched);
    }
    cells.extend([
        grouped(figures.iops),
        known(figures.mean_ns.map(latency)),
        weak::p99(figures).text,
        significant(mib(figures.bytes_per_s)),
        known(figures.depth.map(|depth| depth.to_string())),
        Quantity::Percent.value(figures.cpu_percent),
    ]);
    if let Some(devices) = sweep.devices {
        let each = stats::sweep::per_device(figures, devices);
        cells.extend([significant(each.amplification), known(each.depth.map(significant)), grouped(each.iops)]);
        cells.push(significant(mib(each.bytes_per_s)));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::finding::Severity;
    use model::sweep::{Point, Purpose};

    /// A run of a point with these settings, of blocks of so many bytes, so many of them outstanding.
    fn add(sweep: &mut Sweep, settings: &[(&str, &str)], (bytes, depth, iops): (f64, u32, f64), severity: Severity) {
        let headline = Headline {
            iops,
            bytes_per_s: iops * bytes,
            mean_ns: Some(f64::from(depth) / iops * 1e9),
            depth: Some(depth),
            threads: 1,
            severity: Some(severity),
            warnings: if severity >= Severity::Warn { vec!["cpu-contention".to_owned()] } else { Vec::new() },
            ..Headline::default()
        };
        let setting = |(name, value): &(&str, &str)| Setting { name: (*name).to_owned(), value: (*value).to_owned() };
        let settings: Vec<Setting> = settings.iter().map(setting).collect();
        let known = sweep.points.iter().position(|point| point.settings == settings);
        let point = known.unwrap_or(sweep.points.len());
        if known.is_none() {
            sweep.points.push(Point { settings });
        }
        let run = sweep.visits.iter().filter(|visit| visit.point == point).count() as u32;
        sweep.visits.push(Visit {
            point,
            run,
            purpose: Purpose::Measure,
            outcome: VisitOutcome::Measured { file: String::new(), headline },
            limit: None,
            sustained_iops: None,
            streams: Vec::new(),
        });
    }

    fn of_depths(severity: Severity) -> Sweep {
        let mut sweep = Sweep::default();
        let rates = [(1, 10e3), (2, 19e3), (4, 30e3), (8, 33e3), (16, 34e3), (32, 36e3)];
        for (depth, iops) in rates {
            add(&mut sweep, &[("o", &depth.to_string())], (4096.0, depth, iops), severity);
        }
        stats::sweep::conclude(&mut sweep);
        sweep
    }

    #[test]
    fn a_depth_is_recommended_with_what_it_gives_up_and_firmly_only_if_a_run_is_sound() {
        let statement = |severity| {
            let sweep = of_depths(severity);
            let [series] = &sweep.depths[..] else { panic!("one series: {:?}", sweep.depths) };
            super::of_depths(&sweep, series)
        };
        let sound = statement(Severity::Note);
        assert_eq!(sound.headline, "Use depth 4 (-o4)");
        let why = "Depth 4 has the best ratio of throughput to latency (IOPS / mean latency): 30,000 IOPS at a mean latency of \
                   133 µs, 17 % fewer IOPS than depth 32, which has the most, for 85 % less mean latency.";
        assert_eq!(sound.sentences[0], why);
        let doubtful = statement(Severity::Warn);
        assert_eq!(doubtful.headline, "No firm answer: depth 4 (-o4) looks best");
        assert!(doubtful.sentences.contains(&sentence(NOT_FIRM)), "{:?}", doubtful.sentences);
        assert!(!sound.sentences.contains(&sentence(NOT_FIRM)));
    }

    #[test]
    fn a_grid_says_which_block_size_and_which_run() {
        let mut sweep = Sweep::default();
        for (block, bytes, rate) in [("4K", 4096.0, 40e3), ("64K", 65536.0, 9e3)] {
            for depth in [1, 2] {
                for iops in [rate * f64::from(depth), rate * f64::from(depth) * 1.1] {
                    let settings = [("b", block), ("o", &*depth.to_string())];
                    add(&mut sweep, &settings, (bytes, depth, iops), Severity::Note);
                }
            }
        }
        stats::sweep::conclude(&mut sweep);
        let statement = of_all_blocks(&sweep).expect("there are several block sizes");
        assert_eq!(statement.headline, "Of all block sizes: most MiB/s with -b64K -o2, most IOPS with -b4K -o2");
        let (point, why) = stats::sweep::shown(&sweep).expect("a point");
        assert_eq!(
            why_shown(&sweep, point, why),
            "Shown because it has the most throughput of all points. Run 1, the one with the median IOPS of its 2 runs."
        );
        let note = table(&sweep).note;
        assert!(note.starts_with(&format!("{ORDER} {MEDIANS} Pareto front: ")), "{note}");
        assert!(note.contains("beats this one in MiB/s, mean latency and CPU usage."), "{note}");
        assert!(of_all_blocks(&of_depths(Severity::Note)).is_none(), "one block size");
    }

    #[test]
    fn where_no_rate_meets_the_limit_the_page_says_what_to_do() {
        let limit = Limit { figure: Metric::P99, at_most: 5e6 };
        let found = LimitFound { limits: vec![limit], ..LimitFound::default() };
        let Statement { tone, headline, sentences, .. } = of_limits(&Sweep::default(), &found, &[]);
        assert_eq!(
            (tone, headline.as_str()),
            (Tone::Bad, "No rate with 99th percentile of the response time <= 5.000 ms")
        );
        assert!(sentences.iter().any(|sentence| sentence.ends_with("and search again.")), "{sentences:?}");
    }
}
