//! The report of a sweep: the recommended setting, and the reason.

mod in_brief;

use super::answer::{Statement, sentence};
use super::block::{Block, Column, Report, Section, Table, Tone, charts, dash};
use super::charts::{grids, over_depth, over_settings};
use super::environment::environment;
use super::foreign_text::text;
use super::quantity::{Quantity, grouped, latency, significant, significant_grouped};
use super::run::time_span;
use super::series::{advise, command, report_of_runs, verdicts};
use super::warnings::Explain;
use super::weak;
use crate::block::Answer;
use crate::chart::ChartResult;
use crate::words::figure_words::{name, name_of};
use crate::words::limit::without_overload;
use crate::words::sweep::{
    ACROSS_BLOCKS, NOT_FIRM, OF_PROBES, RULE, Range, across_blocks, compared, dashed, edge, given_up, growth_of_blocks,
    growth_of_depths, has_confirmed, interval_basis, kind_of_row, most, names, none_beaten, nothing_better,
    range_of_load, rate_of_series, splits, unit,
};
use in_brief::{in_brief, is_at_edge};
use model::doubt::RunWarnings;
use model::headline::Headline;
use model::limit::{Limit, LimitFound};
use model::metric::{Metric, Scope, ScopedMetric};
use model::result::RunResult;
use model::sweep::{BlockKnee, BlockSeries, DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep, Visit};
use model::units::{counted, mib};
use stats::limit::{LimitsMet, met};
use stats::sweep::{AcrossBlocks, SectionReason as Why};

/// The report; `chosen` is the result of the [recommended](stats::sweep::recommended) point.
pub(crate) fn report(sweep: &Sweep, chosen: Option<&RunResult>, name: &str, explain: Explain) -> Report {
    let mut first = vec![Block::Answers { answers: answers(sweep) }];
    first.extend(verdicts(sweep, explain, settings_of));
    let mut sections = vec![Section::new("", first)];
    sections.push(Section::new("The points", charts(shown(sweep))));
    let points = table(sweep);
    if points.rows.is_empty() {
        sections.pop();
    } else if let Some(block) = sections.last_mut() {
        block.blocks.push(Block::Table(points));
    }
    let shown = stats::sweep::shown(sweep).filter(|_| !crate::words::limit::is_unfinished(sweep));
    if let (Some(result), Some((point, why))) = (chosen, shown) {
        let settings = Setting::typed_all(&sweep.points[point].settings);
        let mut why = Some(Block::notes([why_shown(sweep, point, why)]));
        for (index, span_result) in result.time_spans.iter().enumerate() {
            let heading = format!("The run with {}", text(&settings));
            let mut of_span = time_span(result.profile.time_spans.get(index), span_result, &heading);
            if sweep.limit.is_some() {
                let blocks = of_span.iter_mut().flat_map(|section| &mut section.blocks);
                let verdicts = blocks.filter_map(|block| match block {
                    Block::Verdict(banner) => Some(&mut banner.findings),
                    _ => None,
                });
                verdicts.flatten().for_each(advise);
            }
            if let Some(first) = of_span.first_mut() {
                first.blocks.splice(0..0, why.take());
            }
            sections.extend(of_span.into_iter().map(|section| Section { is_detail: true, ..section.of_time(index) }));
        }
        sections.push(environment(result));
    }
    sections.push(command("sweep", sweep));
    report_of_runs("Sweep", name, sweep, chosen, in_brief(sweep, chosen, (name, explain)), sections)
}

/// The reason why this point has a section, and the run that is shown.
fn why_shown(sweep: &Sweep, point: usize, why: Why) -> String {
    let why = match why {
        Why::Together => "these are all streams together",
        Why::MeetsLimits => "it is the highest rate within the limit",
        Why::Estimate => "it is the estimate of the highest rate within the limit, which is not confirmed",
        Why::Noise => "noise decides at its rate whether a run meets the limit",
        Why::MissesLimits => "it is the lowest rate tried, and not within the limit",
        Why::Recommended => "it is the point of the answer above",
        Why::Best if stats::sweep::loads(sweep).len() > 1 => "it has the most throughput of the points of its load",
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
pub(crate) fn shown(sweep: &Sweep) -> Vec<ChartResult> {
    let mut found = Vec::new();
    found.extend(over_depth(sweep).into_iter().map(Ok));
    found.extend(grids(sweep).into_iter().map(Ok));
    if found.is_empty() {
        found.extend(over_settings(sweep).into_iter().map(Ok));
    }
    found
}

/// The answer for each series of depths or of block sizes, or the best point.
fn answers(sweep: &Sweep) -> Vec<Answer> {
    if let Some(found) = &sweep.limit {
        let runs = crate::words::limit::decisive(sweep, found);
        let statement = of_limits(sweep, found);
        return vec![Answer::resting_on_some(&runs, &crate::words::limit::which_runs(sweep, found), statement)];
    }
    if crate::words::limit::is_unfinished(sweep) && sweep.measured().next().is_some() {
        let headline = headline_of(crate::words::limit::UNFINISHED);
        let statement = Statement::new(Tone::Warn, headline, []);
        return vec![Answer::resting_on(sweep.measured(), statement)];
    }
    let of_points = |points: &[usize], named: Option<usize>, statement: Statement| {
        let runs = |points: &[usize]| runs_of(sweep, points);
        Answer::naming(runs(named.as_slice()), runs(points), statement)
    };
    if !sweep.depths.is_empty() {
        let across = of_all_blocks(sweep)
            .map(|(named, statement)| Answer::naming(runs_of(sweep, &named), sweep.measured(), statement));
        let of_series = sweep.depths.iter().map(|series| {
            let (named, statement) = of_depths(sweep, series);
            of_points(&series.points, named, statement)
        });
        return across.into_iter().chain(of_series).collect();
    }
    if !sweep.block_sizes.is_empty() {
        let of_series = |series: &BlockSeries| {
            let (named, statement) = of_blocks(sweep, series);
            of_points(&series.points, named, statement)
        };
        return sweep.block_sizes.iter().map(of_series).collect();
    }
    let answer = |statement| Answer::resting_on(sweep.measured(), statement);
    if let Some(range) = range_of_load(sweep) {
        return vec![answer(of_load(range))];
    }
    match best(sweep) {
        Some((named, statement)) => vec![Answer::naming(runs_of(sweep, &[named]), sweep.measured(), statement)],
        None => vec![answer(nothing())],
    }
}

/// The runs that represent some points.
fn runs_of<'a>(sweep: &'a Sweep, points: &[usize]) -> Vec<&'a Headline> {
    points.iter().flat_map(|point| stats::sweep::runs(sweep, *point)).filter_map(Visit::headline).collect()
}

/// For a sweep that ended before its first point.
fn nothing() -> Statement {
    Statement::new(Tone::Warn, "No point was measured", [])
}

/// The measured range, for options where no value is better than another.
fn of_load(range: Range) -> Statement {
    let Range { options, least, most, unit } = range;
    let [options, least, most] = [options, least, most].map(|words| text(&words));
    let why = format!("{options} is part of the load, so no value of it is recommended.");
    Statement::new(Tone::Plain, format!("{unit}: {least} to {most}"), [why])
}

/// The recommended block size where block sizes and depths vary together, and the points that the headline names.
fn of_all_blocks(sweep: &Sweep) -> Option<(Vec<usize>, Statement)> {
    let headline = across_blocks(sweep)?;
    let AcrossBlocks { most_bytes, most_iops } = stats::sweep::across_blocks(sweep)?;
    let figures = |point: usize| {
        let figures = stats::sweep::figures(sweep, point)?;
        let typed = text(&Setting::typed_all(&sweep.points[point].settings));
        let bytes = Quantity::MibPerS.value(mib(figures.bytes_per_s));
        Some(format!("{typed}: {bytes}, {}.", rate_and_latency(figures)))
    };
    let mut points = vec![most_bytes, most_iops];
    points.dedup();
    let edge = edge_of_depths(sweep, &points);
    let sentences = points.iter().copied().filter_map(figures).chain(edge).chain([sentence(ACROSS_BLOCKS)]);
    let statement = Statement::new(Tone::Plain, headline_of(&headline), sentences);
    Some((points, statement))
}

/// The note that points are at the end of the range of depths tried.
fn edge_of_depths(sweep: &Sweep, points: &[usize]) -> Option<String> {
    let is_last = |point: &&usize| sweep.depths.iter().any(|series| series.points.last() == Some(*point));
    let largest =
        points.iter().filter(is_last).filter_map(|point| stats::sweep::figures(sweep, *point)?.depth).max()?;
    Some(format!("Depth {largest} is the largest one tried: throughput may still rise."))
}

/// `with -b4K`; empty if nothing else varies.
fn about(settings: &[Setting]) -> String {
    let typed = text(&Setting::typed_all(settings));
    if typed.is_empty() { typed } else { format!("with {typed}") }
}

/// The point that the headline names, and the statement.
fn of_blocks(sweep: &Sweep, series: &BlockSeries) -> (Option<usize>, Statement) {
    let about = about(&series.settings);
    let typed = |point: usize| text(&Setting::typed_all(&sweep.points[point].settings));
    let is_doubtful = series.knee.is_some() && stats::sweep::is_doubtful(sweep, &series.points);
    let most = most(sweep, &series.points);
    let best = most.as_ref().map(|(_, best)| *best);
    let named = match series.knee {
        Some(BlockKnee::At { point, .. }) => Some(point),
        Some(BlockKnee::StillRising { .. }) => None,
        None => best,
    };
    let (tone, headline, why) = match series.knee {
        Some(BlockKnee::At { point, plateau_bytes_per_s }) => (
            Tone::Good,
            if is_doubtful {
                not_firm(&typed(point))
            } else {
                format!("Nearly all throughput from {} on", typed(point))
            },
            format!(
                "Throughput there is within 5 % (and noise) of its plateau of {}; larger blocks only add latency.",
                Quantity::MibPerS.value(mib(plateau_bytes_per_s))
            ),
        ),
        Some(BlockKnee::StillRising { .. }) => (
            Tone::Plain,
            "Throughput still rises at the largest block size tried".to_owned(),
            growth_of_blocks(sweep, series).as_deref().map(sentence).unwrap_or_default(),
        ),
        None => (
            Tone::Plain,
            most.map(|(words, _)| headline_of(&text(&words))).unwrap_or_default(),
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
    sentences.retain(|sentence| !sentence.is_empty());
    (named, Statement { tone, about, headline, sentences })
}

/// The same statement as in text.
fn of_limits(sweep: &Sweep, found: &LimitFound) -> Statement {
    let headline = crate::words::limit::headline(sweep, found);
    let details = crate::words::limit::details(sweep, found);
    let doubt = RunWarnings::from_runs(&crate::words::limit::decisive(sweep, found)).and_then(|doubt| doubt.of_all());
    let tone = match (found.is_confirmed && found.noise.is_none() && doubt.is_none(), found.holds) {
        (false, _) => Tone::Warn,
        (true, Some(_)) => Tone::Good,
        (true, None) => Tone::Bad,
    };
    let sentences = details.iter().map(|line| sentence(line));
    Statement::new(tone, headline_of(&headline), sentences)
}

/// The words of a line as a headline.
fn headline_of(words: &str) -> String {
    sentence(words).trim_end_matches('.').to_owned()
}

/// The point that the headline names, and the statement.
fn of_depths(sweep: &Sweep, series: &DepthSeries) -> (Option<usize>, Statement) {
    let about = about(&series.settings);
    let Some(Knee { efficient, saturation }) = &series.knee else {
        return of_few_depths(sweep, series, about);
    };
    let mut sentences = vec![why_efficient(sweep, series, efficient)];
    match saturation {
        Saturation::At { depth, .. } if depth.depth == efficient.depth => {
            sentences.push("This depth also saturates the target: throughput is within 5 % (and noise) of its plateau.".to_owned());
        }
        Saturation::At { depth, plateau_iops } => sentences.push(format!(
            "If only throughput matters: {}, {}. At this depth, throughput is within 5 % (and noise) of its plateau of {}; a \
             larger depth only adds latency.",
            named(sweep, series, depth),
            figures_at(sweep, series, depth.depth),
            rate_of_series(sweep, series, *plateau_iops),
        )),
        Saturation::StillRising { .. } => sentences.push(format!(
            "If only throughput matters, use a larger depth: throughput still rises at the largest depth tried{}.",
            growth_of_depths(sweep, series).map(|growth| format!(", {growth}")).unwrap_or_default()
        )),
    }
    if let Saturation::At { plateau_iops, .. } = saturation {
        let highest = stats::sweep::above_plateau(sweep, &series.points, *plateau_iops, |figures| figures.iops);
        sentences
            .extend(highest.map(|(point, iops)| highest_measured(sweep, point, &rate_of_series(sweep, series, iops))));
    }
    let of_noise = [splits(sweep, series, efficient.depth), nothing_better(sweep, series)];
    sentences.extend(of_noise.into_iter().flatten().map(|line| sentence(&line)));
    sentences.extend(instead(sweep, series, efficient));
    let used = series.recommended.and_then(|point| stats::sweep::figures(sweep, point)?.depth);
    let named = depth_named(sweep, used.unwrap_or(efficient.depth), series.recommended);
    let headline = if stats::sweep::is_doubtful(sweep, &series.points) {
        sentences.push(sentence(NOT_FIRM));
        not_firm(&named)
    } else {
        // For a single series, trust has its certainty.
        let is_only = sweep.depths.len() == 1;
        sentences.extend(how_sure(sweep, series, efficient, saturation).filter(|_| !is_only));
        let DepthEstimate { low, high, .. } = efficient;
        let is_range = low != high && used.is_none_or(|used| used == efficient.depth);
        let are_single = series.points.iter().all(|point| stats::sweep::runs(sweep, *point).len() < 2);
        let range = match (is_range, are_single) {
            (false, _) => String::new(),
            (true, true) => format!("; depths {low} to {high} cannot be told apart by single runs"),
            (true, false) => format!("; {low} to {high} with 95 % confidence"),
        };
        format!("Best ratio of throughput to latency at {named}{range}")
    };
    (series.recommended, Statement { tone: Tone::Good, about, headline, sentences })
}

/// The headline without a recommendation, because every run has a warning.
fn not_firm(named: &str) -> String {
    format!("No firm answer: {named} looks best")
}

/// The measured figures, where there are too few depths for a best one.
fn of_few_depths(sweep: &Sweep, series: &DepthSeries, about: String) -> (Option<usize>, Statement) {
    let needed = format!("Too few queue depths to find the best one: at least {} are needed.", stats::DEPTHS_MIN);
    let figures = |point: &usize| Some((*point, stats::sweep::figures(sweep, *point)?));
    let fastest = series.points.iter().filter_map(figures).max_by(|(_, a), (_, b)| a.iops.total_cmp(&b.iops));
    let Some((point, figures)) = fastest.filter(|_| series.points.len() > 1) else {
        let headline = needed.trim_end_matches('.').to_owned();
        return (None, Statement { tone: Tone::Plain, about, headline, sentences: vec![] });
    };
    let depth = depth_named(sweep, figures.depth.unwrap_or_default(), Some(point));
    let is_last = is_at_edge(sweep, &series.points);
    let edge = is_last.then(|| "No larger depth was tried: throughput may still rise.".to_owned());
    let sentences = [format!("{}.", rate_and_latency(figures))].into_iter().chain(edge).chain([needed]).collect();
    if let Some(words) = nothing_better(sweep, series) {
        return (Some(point), Statement { tone: Tone::Plain, about, headline: headline_of(&words), sentences });
    }
    let headline =
        format!("Highest {} at {}{depth}", unit(sweep), if is_last { "the largest depth tried: " } else { "" });
    (Some(point), Statement { tone: Tone::Plain, about, headline, sentences })
}

/// The highest single point above a plateau, which is a mean.
fn highest_measured(sweep: &Sweep, point: usize, rate: &str) -> String {
    let typed = text(&Setting::typed_all(&sweep.points[point].settings));
    format!("Highest measured: {rate} with {typed}, above the plateau, which is the mean of several points.")
}

/// The reason to use another point than that of the efficient depth.
fn instead(sweep: &Sweep, series: &DepthSeries, efficient: &DepthEstimate) -> Option<String> {
    let beaten = stats::sweep::point_at(sweep, series, efficient.depth)?;
    let point = series.recommended.filter(|point| *point != beaten)?;
    let typed = |point: usize| text(&Setting::typed_all(&sweep.points[point].settings));
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
        format!(" ({})", text(&Setting::typed_all(&settings)))
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
    let means = Headline::shown_metrics(&[Metric::Mean], [figures]).into_iter().filter_map(|metric| {
        let ns = figures.scoped_value(metric)?;
        Some(format!(" at a {} of {}", metric.0.label("mean latency"), latency(ns)))
    });
    let rate = if figures.has_large_blocks() {
        Quantity::MibPerS.value(mib(figures.bytes_per_s))
    } else {
        Quantity::Iops.value(figures.iops)
    };
    format!("{rate}{}", means.collect::<Vec<_>>().join(" and"))
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

fn how_sure(sweep: &Sweep, series: &DepthSeries, efficient: &DepthEstimate, saturation: &Saturation) -> Option<String> {
    let range = |name: &str, DepthEstimate { low, high, .. }: &DepthEstimate| {
        (low != high).then(|| format!("{name} lies between {low} and {high}"))
    };
    let saturated = match saturation {
        Saturation::At { depth, .. } => range("the saturation depth", depth),
        Saturation::StillRising { .. } => None,
    };
    let ranges: Vec<String> = [range("the efficient depth", efficient), saturated].into_iter().flatten().collect();
    let basis = interval_basis(sweep, series);
    (!ranges.is_empty()).then(|| format!("With 95 % confidence {}, {basis}.", ranges.join(", and ")))
}

/// The point with the most throughput, and the statement.
fn best(sweep: &Sweep) -> Option<(usize, Statement)> {
    let (words, point) = most(sweep, &stats::sweep::compared_points(sweep))?;
    let figures = stats::sweep::figures(sweep, point)?;
    let headline = headline_of(&text(&words));
    let typed = text(&Setting::typed_all(&sweep.points[point].settings));
    let sentences = vec![format!("{typed}: {}.", rate_and_latency(figures))];
    Some((point, Statement::new(Tone::Plain, headline, sentences)))
}

/// The settings of a run.
fn settings_of(sweep: &Sweep, visit: &Visit) -> String {
    let typed = sweep.points.get(visit.point).map(|point| Setting::typed_all(&point.settings)).unwrap_or_default();
    if typed.is_empty() { format!("run {}", visit.run + 1) } else { text(&typed) }
}

/// The meaning of the column of the Pareto front, or the reason why there is none.
fn of_front(sweep: &Sweep) -> String {
    if let Some(words) = none_beaten(sweep) {
        return sentence(&words);
    }
    let which = if stats::sweep::loads(sweep).len() > 1 { " of its load" } else { "" };
    format!("Pareto front: no other point{which} beats this one in {}.", compared(sweep))
}

/// True if the table marks the points on the Pareto front: not where all are.
fn has_front(sweep: &Sweep) -> bool {
    !sweep.front.is_empty() && none_beaten(sweep).is_none()
}
const MEDIANS: &str = "Each row is one run: of several runs with the same settings, the one with the median IOPS.";

/// The runs behind a row of a search.
const SEARCHED: &str = "Response times count from the intended start of an I/O, other latencies from its actual start. \
                        Where a rate has confirming runs, only these count, else all of its runs. A run also misses the limit \
                        if too many of its I/Os had not started at its end. Response times are those of all runs that count, \
                        other figures those of the one of them with the median IOPS.";

/// The number of runs of a search, and their kind.
fn describe_search_runs(sweep: &Sweep) -> String {
    let measured = || sweep.visits.iter().filter(|visit| visit.headline().is_some());
    let (of_rates, all) = (measured().filter(|visit| visit.is_of_point()).count(), measured().count());
    let capacity = if all > of_rates { ", after one without a rate that measured the capacity" } else { "" };
    format!("The search made {} at these rates{capacity}.", counted(of_rates, "run"))
}

/// The limits of a search without a column of their own: latencies, and the CPU usage without other programs.
fn response_limits(found: &LimitFound) -> impl Iterator<Item = &Limit> {
    found.limits.iter().filter(|limit| limit.figure != Metric::Cpu)
}

/// `p99 response`, `p99 (commit)`
fn response(limit: &Limit) -> String {
    match limit.metric() {
        (Scope::Response, figure) => format!("{} response", name(figure)),
        metric => name_of(metric),
    }
}

/// For the runs at a rate: met or missed limits, response times, and their number.
fn of_search(sweep: &Sweep, found: &LimitFound, point: usize) -> (String, Vec<String>) {
    let LimitsMet { met, runs } = met(sweep, found, point);
    let word = match (met, runs) {
        (0, _) => "no".to_owned(),
        (met, runs) if met == runs => "yes".to_owned(),
        (met, runs) => format!("in {met} of {runs} runs"),
    };
    let runs = runs_of(sweep, &[point]);
    let times = |limit: &Limit| crate::words::limit::range(limit, &runs).unwrap_or_else(dash);
    let of_rate = sweep.visits.iter().filter(|visit| visit.point == point && visit.is_of_point());
    let all = of_rate.filter(|visit| visit.headline().is_some()).count();
    (word, response_limits(found).map(times).chain([all.to_string()]).collect())
}

/// Latencies of the table.
const LATENCIES: [Metric; 2] = [Metric::Mean, Metric::P99];

fn table(sweep: &Sweep) -> Table {
    let settings = names(sweep).into_iter().map(|name| Column::number(&text(&dashed(&name))));
    // Deciding columns come first: small screens show them.
    let latencies = Headline::shown_metrics(&LATENCIES, sweep.measured());
    let mut figures = vec!["IOPS".to_owned()];
    figures.extend(latencies.iter().copied().map(name_of));
    figures.push("MiB/s".to_owned());
    // In an open loop it is only a bound, the same at every rate.
    figures.extend(sweep.limit.is_none().then(|| "depth".to_owned()));
    figures.push(name(Metric::Cpu).to_owned());
    if sweep.devices.is_some() {
        figures.extend(["amplification", "depth/SSD", "IOPS/SSD", "MiB/s/SSD"].map(str::to_owned));
    }
    let mut judged = vec![Column::text("verdict")];
    judged.extend(has_confirmed(sweep).then(|| Column::text("run")));
    if has_front(sweep) {
        judged.push(Column::text("Pareto front"));
    }
    // The metrics that decide a search.
    let mut searched = Vec::new();
    if let Some(found) = &sweep.limit {
        judged.push(Column::text("within the limit"));
        searched.extend(response_limits(found).map(|limit| Column::number(&response(limit))));
        searched.push(Column::number("runs"));
    }
    let figures = searched.into_iter().chain(figures.iter().map(|name| Column::number(name)));
    let mut columns: Vec<Column> = settings.chain(judged).chain(figures).collect();
    for column in &mut columns {
        column.spare = spare(&column.name);
    }
    let tried = |point: &usize| sweep.visits.iter().any(|visit| visit.is_of_point() && visit.point == *point);
    let points: Vec<usize> = (0..sweep.points.len()).filter(tried).collect();
    let mut figures = points.iter().filter_map(|point| stats::sweep::figures(sweep, *point));
    let weak = weak::note(figures.any(|figures| latencies.iter().any(|metric| weak::marked(figures, *metric).is_weak)));
    let is_repeated = points.iter().any(|point| stats::sweep::runs(sweep, *point).len() > 1);
    let mut notes = match (&sweep.limit, is_repeated) {
        (Some(_), _) => vec![describe_search_runs(sweep), SEARCHED.to_owned()],
        (None, false) => Vec::new(),
        (None, true) => vec![MEDIANS.to_owned()],
    };
    notes.extend(has_confirmed(sweep).then(|| sentence(OF_PROBES)));
    notes.extend((sweep.limit.is_none() && !sweep.front.is_empty()).then(|| of_front(sweep)));
    notes.extend(Some(weak).filter(|weak| !weak.is_empty()));
    let note = notes.join(" ");
    let rows = points.iter().map(|point| row(sweep, *point, &latencies)).collect();
    Table { columns, rows, note, label: "Points", ..Table::default() }
}

/// Columns to leave out first: derived ones, then figures that are not the basis of the answer.
fn spare(name: &str) -> Option<usize> {
    const LEAST_FIRST: [&str; 7] = ["MiB/s/SSD", "depth/SSD", "IOPS/SSD", "amplification", "CPU", "MiB/s", "depth"];
    let of_parts = ["p99 (response)", "mean (response)", "p99 (commit)", "mean (commit)"];
    LEAST_FIRST.into_iter().chain(of_parts).position(|known| known == name)
}

fn row(sweep: &Sweep, point: usize, latencies: &[ScopedMetric]) -> Vec<String> {
    let mut cells: Vec<String> = match &sweep.limit {
        Some(_) => vec![text(&crate::words::limit::rate(sweep, point))],
        None => sweep.points[point].settings.iter().map(|setting| text(&setting.value)).collect(),
    };
    let Some(figures) = stats::sweep::figures(sweep, point) else {
        cells.push("failed".to_owned());
        return cells;
    };
    let known = |value: Option<String>| value.unwrap_or_else(dash);
    // Counted like the findings above.
    let severity = match &sweep.limit {
        Some(found) => without_overload(found, point, figures).severity,
        None => figures.severity,
    };
    cells.push(severity.map_or("", |severity| severity.word()).to_owned());
    cells.extend(has_confirmed(sweep).then(|| kind_of_row(sweep, point).to_owned()));
    if has_front(sweep) {
        cells.push(if sweep.front.contains(&point) { "yes" } else { "" }.to_owned());
    }
    if let Some(found) = &sweep.limit {
        let (word, searched) = of_search(sweep, found, point);
        cells.push(word);
        cells.extend(searched);
    }
    cells.push(grouped(figures.iops));
    cells.extend(latencies.iter().map(|metric| weak::marked(figures, *metric).text));
    cells.push(significant_grouped(mib(figures.bytes_per_s)));
    if sweep.limit.is_none() {
        cells.push(known(figures.depth.map(|depth| depth.to_string())));
    }
    cells.push(Quantity::Percent.value(figures.cpu_percent));
    if let Some(devices) = sweep.devices {
        let each = stats::sweep::per_device(figures, devices);
        cells.extend([significant(each.amplification), known(each.depth.map(significant)), grouped(each.iops)]);
        cells.push(significant_grouped(mib(each.bytes_per_s)));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Chart, Marks};
    use super::*;
    use model::finding::Severity;
    use model::limit::NoiseRange;
    use model::sweep::VisitOutcome;
    use model::sweep::{Point, Purpose};

    /// A run of a point with these settings, with this block size in bytes and this number of outstanding I/Os.
    pub(crate) fn add(
        sweep: &mut Sweep,
        settings: &[(&str, &str)],
        (bytes, depth, iops): (f64, u32, f64),
        severity: Severity,
    ) {
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

    pub(crate) fn of_depths(severity: Severity) -> Sweep {
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
            super::of_depths(&sweep, series).1
        };
        let sound = statement(Severity::Note);
        let best =
            "Best ratio of throughput to latency at depth 4 (-o4); depths 2 to 4 cannot be told apart by single runs";
        assert_eq!(sound.headline, best);
        let why = "Depth 4 has the best ratio of throughput to latency (IOPS / mean latency): 30,000 IOPS at a mean latency of \
                   133 µs, 17 % less throughput than depth 32, which has the most, for 85 % less mean latency.";
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
        let (_, statement) = of_all_blocks(&sweep).expect("there are several block sizes");
        assert_eq!(statement.headline, "Of all block sizes: most MiB/s with -b64K -o2, most IOPS with -b4K -o2");
        let (point, why) = stats::sweep::shown(&sweep).expect("a point");
        assert_eq!(
            why_shown(&sweep, point, why),
            "Shown because it has the most throughput of all points. Run 1, the one with the median IOPS of its 2 runs."
        );
        let note = table(&sweep).note;
        assert!(note.starts_with(&format!("{MEDIANS} Pareto front: ")), "{note}");
        assert!(note.contains("beats this one in MiB/s, mean latency and CPU usage."), "{note}");
        assert!(of_all_blocks(&of_depths(Severity::Note)).is_none(), "one block size");
    }

    #[test]
    fn a_grid_marks_points_with_warnings_among_others() {
        let labels = |warned: &[u32]| -> Vec<(String, Vec<String>)> {
            let mut sweep = Sweep::default();
            for (block, bytes) in [("4K", 4096.0), ("64K", 65536.0)] {
                for depth in [1, 2] {
                    let severity = if warned.contains(&depth) { Severity::Warn } else { Severity::Note };
                    let settings = [("b", block), ("o", &*depth.to_string())];
                    add(&mut sweep, &settings, (bytes, depth, 10e3 * f64::from(depth)), severity);
                }
            }
            stats::sweep::conclude(&mut sweep);
            let cells_of = |chart: Chart| {
                let Marks::Cells(cells) = &chart.series[0].marks else { panic!("no heat map") };
                (chart.caption.clone(), cells.iter().map(|cell| cell.label.clone()).collect())
            };
            grids(&sweep).into_iter().map(cells_of).collect()
        };
        let (caption, iops) = &labels(&[2])[0];
        assert_eq!(caption, "! = measured with warnings");
        assert_eq!(iops.iter().map(|label| label.ends_with(" !")).collect::<Vec<_>>(), [false, true, false, true]);
        for all_alike in [&[][..], &[1, 2]] {
            let charts = labels(all_alike);
            assert!(charts.iter().all(|(caption, labels)| caption.is_empty() && !labels.concat().contains('!')));
        }
    }

    #[test]
    fn the_headline_speaks_of_the_runs_of_what_it_names() {
        let mut sweep = of_depths(Severity::Note);
        let headline = |sweep: &Sweep| answers(sweep).remove(0).headline().to_owned();
        let sound =
            "Best ratio of throughput to latency at depth 4 (-o4); depths 2 to 4 cannot be told apart by single runs";
        assert_eq!(headline(&sweep), sound);
        for (depth, doubt) in [(0, ""), (2, ", measured in a run with warnings (cpu-contention)")] {
            let VisitOutcome::Measured { headline: run, .. } = &mut sweep.visits[depth].outcome else {
                panic!("a run")
            };
            (run.severity, run.warnings) = (Some(Severity::Warn), vec!["cpu-contention".to_owned()]);
            assert_eq!(headline(&sweep), format!("{sound}{doubt}"), "other depths are sound");
        }
    }

    #[test]
    fn growth_is_what_was_measured_and_a_front_of_all_points_has_no_column() {
        let mut sweep = Sweep::default();
        for (depth, iops) in [(1, 22220.0), (2, 34462.0), (4, 50121.0), (8, 63104.0), (16, 78108.0), (32, 97000.0)] {
            add(&mut sweep, &[("o", &depth.to_string())], (4096.0, depth, iops), Severity::Note);
        }
        stats::sweep::conclude(&mut sweep);
        let (_, statement) = super::of_depths(&sweep, &sweep.depths[0]);
        let rises =
            "throughput still rises at the largest depth tried, from -o16 to -o32: +24 % (78,108 to 97,000 IOPS).";
        assert!(statement.sentences.iter().any(|words| words.contains(rises)), "{:?}", statement.sentences);
        let sure = "judged by how far single runs lie off a smooth curve: a rough guide, because no depth was measured \
                    several times (--runs).";
        let interval = statement.sentences.iter().find(|words| words.starts_with("With 95 % confidence"));
        assert!(interval.is_none_or(|words| words.ends_with(sure)), "{interval:?}");
        let columns =
            |sweep: &Sweep| table(sweep).columns.into_iter().map(|column| column.name().to_owned()).collect::<Vec<_>>();
        let note = "No setting is beaten by another in IOPS, mean latency and CPU usage.";
        assert!(table(&sweep).note.ends_with(note) && !columns(&sweep).contains(&"Pareto front".to_owned()));
        // More CPU usage for fewer IOPS.
        add(&mut sweep, &[("o", "64")], (4096.0, 64, 60e3), Severity::Note);
        stats::sweep::conclude(&mut sweep);
        assert!(columns(&sweep).contains(&"Pareto front".to_owned()), "{:?}", columns(&sweep));
    }

    /// The page named a rate as the highest within the limit that met it in 1 of 4 runs, and the table and the sentence
    /// above it counted different runs.
    #[test]
    fn a_rate_that_is_not_confirmed_is_an_estimate() {
        let mut sweep = Sweep::default();
        let runs: [(&str, &[f64]); 3] = [("1000", &[5e6]), ("2000", &[30e6, 6e6, 39e6]), ("2500", &[8e6, 143e6])];
        for (rate, times) in runs {
            for time in times {
                add(&mut sweep, &[("rate", rate)], (4096.0, 32, rate.parse().expect("a rate")), Severity::Warn);
                let visit = sweep.visits.last_mut().expect("a run");
                visit.purpose = if times.len() > 1 { Purpose::Confirm } else { Purpose::Probe };
                let VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!("a run") };
                headline.response_p99_ns = Some(*time as u64);
            }
        }
        let limits = vec![Limit { figure: Metric::P99, scope: Scope::Response, at_most: 20e6 }];
        sweep.limit = Some(LimitFound { limits, holds: Some(1), fails: Some(2), ..LimitFound::default() });
        let of_sweep = |sweep: &Sweep| {
            let found = sweep.limit.clone().expect("a limit");
            of_limits(sweep, &found)
        };
        let Statement { tone, headline, sentences, .. } = of_sweep(&sweep);
        let estimate = "No rate above 1,000 I/Os per second met the limit in all of its runs; 2,000 is an estimate, met in 1 of 3 runs";
        assert_eq!((tone, headline.as_str()), (Tone::Warn, estimate));
        let at = "At 2,000: 2,000 I/Os per second in the median run, 99th percentile of the response time 6 ms to 39 ms, limit \
                  met in 1 of 3 runs.";
        let limit = "Limit: 99th percentile of the response time <= 20 ms.";
        assert_eq!([sentences[0].as_str(), sentences[2].as_str()], [limit, at], "{sentences:?}");
        let answer = answers(&sweep).remove(0);
        let which = "All 5 runs at 2,000 and 2,500 I/Os per second have warnings: cpu-contention in 5.";
        assert_eq!(answer.sentences()[0], which);
        let shown = table(&sweep);
        let names: Vec<&str> = shown.columns.iter().map(Column::name).collect();
        assert_eq!(names[..5], ["rate", "verdict", "within the limit", "p99 response", "runs"]);
        assert!(!names.contains(&"depth"), "in an open loop it is a bound: {names:?}");
        assert_eq!(shown.rows[1][..5], ["2,000", "WARN", "in 1 of 3 runs", "6 ms to 39 ms", "3"]);
        assert!(shown.rows.iter().all(|row| row.len() == names.len()));
        let why = why_shown(&sweep, 1, Why::Estimate);
        assert!(why.contains("estimate of the highest rate"), "{why}");
        // A confirmed rate is no estimate, but has runs with warnings.
        sweep.limit.as_mut().expect("a limit").is_confirmed = true;
        let confirmed = "No firm answer: highest rate that meets 99th percentile of the response time <= 20 ms: 2,000 I/Os per \
                         second";
        assert_eq!(of_sweep(&sweep).headline, confirmed);
        // Starts that were not made at the rate above show that it is too high.
        for visit in &mut sweep.visits {
            let VisitOutcome::Measured { headline, .. } = &mut visit.outcome else { panic!("a run") };
            let names: &[&str] = if visit.point == 2 { &["starts-not-made"] } else { &[] };
            headline.severity = (visit.point == 2).then_some(Severity::Warn);
            headline.warnings = names.iter().map(|name| (*name).to_owned()).collect();
        }
        let Statement { tone, headline, .. } = of_sweep(&sweep);
        let firm = confirmed.replacen("No firm answer: h", "H", 1);
        assert_eq!((tone, headline), (Tone::Good, firm));
    }

    /// The page began the range at a rate that all runs met, ended it below rates that some met, and named an estimate
    /// within it.
    #[test]
    fn where_noise_decides_the_page_names_the_range_and_what_is_below_and_above() {
        let mut sweep = Sweep::default();
        let runs: [(&str, &[f64]); 4] =
            [("1000", &[5e6, 6e6]), ("2000", &[30e6, 6e6, 39e6]), ("4000", &[8e6, 143e6]), ("5000", &[50e6])];
        for (rate, times) in runs {
            for time in times {
                add(&mut sweep, &[("rate", rate)], (4096.0, 32, rate.parse().expect("a rate")), Severity::Warn);
                let VisitOutcome::Measured { headline, .. } = &mut sweep.visits.last_mut().expect("a run").outcome
                else {
                    panic!("a run")
                };
                (headline.response_p99_ns, headline.warnings) = (Some(*time as u64), vec!["depth-limited".to_owned()]);
            }
        }
        let limits = vec![Limit { figure: Metric::P99, scope: Scope::Response, at_most: 20e6 }];
        let noise = Some(NoiseRange { first: 1, last: 2 });
        sweep.limit = Some(LimitFound { limits, holds: Some(0), fails: Some(3), noise, ..LimitFound::default() });
        let Statement { tone, headline, sentences, .. } = of_limits(&sweep, sweep.limit.as_ref().expect("a limit"));
        let expected = "No answer from 2,000 to 4,000 I/Os per second: noise decides whether a run meets 99th percentile of the \
                        response time <= 20 ms";
        assert_eq!((tone, headline.as_str()), (Tone::Warn, expected));
        assert_eq!(sentences[0], "There: 99th percentile of the response time 6 ms to 143 ms in 5 runs.");
        assert_eq!(sentences[2], "At lower rates, up to 1,000 I/Os per second, every run met the limit (2 runs).");
        assert_eq!(sentences[3], "At higher rates no run met the limit (1 run).");
        let Some((point, why)) = stats::sweep::shown(&sweep) else { panic!("a run is shown") };
        assert_eq!(point, 1, "that at which the search ended is not in the range");
        assert!(why_shown(&sweep, point, why).contains("noise decides"), "{why:?}");
        let verdicts: Vec<String> = table(&sweep).rows.into_iter().map(|mut row| row.remove(1)).collect();
        assert_eq!(verdicts[1..], ["WARN", "WARN", "NOTE"], "above the range, overload is no warning");
        let [times, throughput] = &shown(&sweep)[..] else { panic!("two charts") };
        let names = [times, throughput].map(|chart| chart.as_ref().expect("a chart").name);
        assert_eq!(names, ["settings-latency", "settings-throughput"], "what decides comes first");
        let dots = |chart: &ChartResult| match &chart.as_ref().expect("a chart").series[0].marks {
            Marks::Dots(dots) => dots.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!([dots(throughput), dots(times)], [8, 8], "one for each run");
    }

    #[test]
    fn where_no_rate_meets_the_limit_the_page_says_what_to_do() {
        let limit = Limit { figure: Metric::P99, scope: Scope::Response, at_most: 5e6 };
        let found = LimitFound { limits: vec![limit], ..LimitFound::default() };
        let found = LimitFound { is_confirmed: true, ..found };
        let sweep = Sweep { limit: Some(found.clone()), ..Sweep::default() };
        let Statement { tone, headline, .. } = of_limits(&sweep, &found);
        assert_eq!(
            (tone, headline.as_str()),
            (Tone::Bad, "No rate meets 99th percentile of the response time <= 5 ms")
        );
        let next = in_brief(&sweep, None, ("limit", |_| None)).next;
        assert!(next.ends_with("or search with a larger --limit."), "{next}");
    }
}
