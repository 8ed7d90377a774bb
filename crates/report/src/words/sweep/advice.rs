//! Recommended points of a sweep, and the reasons, as lines.

use crate::numbers::grouped;
use model::doubt::RunWarnings;
use model::headline::Headline;
use model::sweep::{BlockSeries, DepthEstimate, DepthSeries, Setting, Sweep, Visit};
use model::units::mib;
use stats::sweep::{AcrossBlocks, ComparedFigures, Growth, Leaders};

/// The reason why depths of runs that all have warnings are not firm and have no interval: it would come from the
/// points alone.
pub const NOT_FIRM: &str = "not firm, and no 95 % confidence interval: every run has a warning; remove the causes and run \
                            the sweep again before you rely on it";

/// The rule by which the efficient depth is chosen.
pub const RULE: &str = "best ratio of throughput to latency (IOPS / mean latency)";

/// The note on figures of different block sizes.
pub const ACROSS_BLOCKS: &str = "IOPS of different block sizes do not compare: a larger I/O transfers more bytes. Use the block \
                                 size of your application; where it can be chosen, as for backups and copies, use the one \
                                 with the most MiB/s at a latency that you accept";

/// Points within the noise that are named at most.
const POINTS_MAX: usize = 4;

/// The basis of all conclusions where some points were confirmed.
pub const OF_PROBES: &str = "judged by the probes; 'confirmed' rows show the longer runs";

/// The point with the most throughput: `most IOPS: -t4 -o2`, or the note that noise leaves it open, and the highest;
/// `None` if none has figures.
pub fn most(sweep: &Sweep, points: &[usize]) -> Option<(String, usize)> {
    let leaders = stats::sweep::leaders(sweep, points)?;
    let which = match &leaders {
        Leaders::One(point) => typed(sweep, *point),
        Leaders::Single(point) => {
            format!("{}; one run each does not show the noise (--runs)", typed(sweep, *point))
        }
        Leaders::Several(equal) if equal.len() == measured(sweep, points) => none_better(sweep, equal),
        Leaders::Several(equal) => {
            format!("{}; they differ by no more than the noise", few_typed(sweep, equal, " or "))
        }
    };
    Some((format!("most {}: {which}", unit(sweep)), leaders.first()))
}

/// `no setting is better than the noise (34,592 to 37,069 IOPS)`
fn none_better(sweep: &Sweep, points: &[usize]) -> String {
    let unit = unit(sweep);
    let rate = |figures: &Headline| if unit == "IOPS" { figures.iops } else { mib(figures.bytes_per_s) };
    let rates = points.iter().filter_map(|point| stats::sweep::figures(sweep, *point)).map(rate);
    let rates: Vec<f64> = rates.collect();
    let ends = rates.iter().copied().reduce(f64::min).zip(rates.iter().copied().reduce(f64::max));
    let range = ends.map(|(least, most)| format!(" ({} to {} {unit})", grouped(least), grouped(most)));
    format!("no setting is better than the noise{}", range.unwrap_or_default())
}

/// Settings of points, of many the first.
fn few_typed(sweep: &Sweep, points: &[usize], separator: &str) -> String {
    let named: Vec<String> = points.iter().take(POINTS_MAX).map(|point| typed(sweep, *point)).collect();
    let more = if points.len() > POINTS_MAX { " ..." } else { "" };
    format!("{}{more}", named.join(separator))
}

/// The unit in which throughput is compared: `IOPS`, or `MiB/s` for large blocks and blocks of several sizes.
pub fn unit(sweep: &Sweep) -> &'static str {
    if stats::sweep::compared(sweep).by_bytes { "MiB/s" } else { "IOPS" }
}

/// The number of these points with figures.
fn measured(sweep: &Sweep, points: &[usize]) -> usize {
    points.iter().filter(|point| stats::sweep::figures(sweep, **point).is_some()).count()
}

/// The figures by which points are compared: `IOPS, mean latency and CPU usage`.
pub fn compared(sweep: &Sweep) -> String {
    let ComparedFigures { has_latency, .. } = stats::sweep::compared(sweep);
    let rate = unit(sweep);
    if has_latency { format!("{rate}, mean latency and CPU usage") } else { format!("{rate} and CPU usage") }
}

/// The note in place of the Pareto front if it has all points; `None` otherwise.
pub fn none_beaten(sweep: &Sweep) -> Option<String> {
    let measured = measured(sweep, &(0..sweep.points.len()).collect::<Vec<_>>());
    let is_none = measured > 1 && sweep.front.len() == measured;
    is_none.then(|| format!("no setting is beaten by another in {}", compared(sweep)))
}

/// `measured in runs with warnings (steal)`; `None` if a run of these points is sound.
fn doubt(sweep: &Sweep, points: &[usize]) -> Option<String> {
    let runs = points.iter().flat_map(|point| stats::sweep::runs(sweep, *point)).filter_map(Visit::headline);
    RunWarnings::from_runs(runs)?.of_all()
}

/// The range where throughput still rises: `from -o16 to -o32: +24 % (78,108 to 97,000 IOPS)`, as measured.
pub fn growth_of_depths(sweep: &Sweep, series: &DepthSeries) -> Option<String> {
    let depth = |figures: &Headline| figures.depth.map(f64::from);
    if stats::sweep::are_blocks_large(sweep, &series.points) {
        return growth(sweep, &series.points, depth, |figures| mib(figures.bytes_per_s), "MiB/s");
    }
    growth(sweep, &series.points, depth, |figures| figures.iops, "IOPS")
}

/// I/Os per second of a series of depths in the unit of its throughput: `37,886 IOPS`, `1,204 MiB/s`.
pub fn rate_of_series(sweep: &Sweep, series: &DepthSeries, iops: f64) -> String {
    let figures = series.points.iter().find_map(|point| stats::sweep::figures(sweep, *point));
    match figures.filter(|_| stats::sweep::are_blocks_large(sweep, &series.points)) {
        Some(figures) => format!("{} MiB/s", grouped(mib(figures.bytes_per_s / figures.iops * iops))),
        None => format!("{} IOPS", grouped(iops)),
    }
}

/// The same of block sizes, in MiB/s.
pub fn growth_of_blocks(sweep: &Sweep, series: &BlockSeries) -> Option<String> {
    let size = |figures: &Headline| (figures.iops > 0.0).then(|| figures.bytes_per_s / figures.iops);
    growth(sweep, &series.points, size, |figures| mib(figures.bytes_per_s), "MiB/s")
}

fn growth(
    sweep: &Sweep,
    points: &[usize],
    size: fn(&Headline) -> Option<f64>,
    rate: fn(&Headline) -> f64,
    unit: &str,
) -> Option<String> {
    let Growth { from, to, percent } = stats::sweep::growth(sweep, points, size, rate)?;
    let basis = stats::sweep::basis(sweep, points);
    let rate_of = |point: usize| stats::sweep::figures_on(sweep, point, basis).map(|figures| grouped(rate(figures)));
    let (before, after) = (rate_of(from)?, rate_of(to)?);
    Some(format!("from {} to {}: {percent:+.0} % ({before} to {after} {unit})", typed(sweep, from), typed(sweep, to)))
}

/// The basis of the intervals of the depths.
pub fn interval_basis(sweep: &Sweep, series: &DepthSeries) -> &'static str {
    if stats::sweep::is_repeated(sweep, &series.points) {
        "judged by how much runs of the same depth differ"
    } else {
        "judged by how far single runs lie off a smooth curve: a rough guide, because no depth was measured several times (--runs)"
    }
}

/// The settings with the most MiB/s and the most IOPS where block sizes and depths vary together; `None` otherwise.
pub fn across_blocks(sweep: &Sweep) -> Option<String> {
    let AcrossBlocks { most_bytes, most_iops } = stats::sweep::across_blocks(sweep)?;
    let points = [most_bytes, most_iops];
    // A doubt on both is stated after them.
    let is_of_both = points.iter().all(|point| doubt(sweep, &[*point]).is_some());
    let doubts = points.map(|point| doubt(sweep, &[point]).filter(|_| !is_of_both));
    let [of_bytes, of_iops] = doubts.map(|doubt| doubt.map(|words| format!(", {words}")).unwrap_or_default());
    let [most_bytes, most_iops] = points.map(|point| typed(sweep, point));
    let separator = if of_bytes.is_empty() { "," } else { ";" };
    Some(format!(
        "of all block sizes: most MiB/s with {most_bytes}{of_bytes}{separator} most IOPS with {most_iops}{of_iops}"
    ))
}

/// Loss and gain of the efficient depth against the depth with the most throughput: `32 % less throughput than depth
/// 32, which has the most, for 81 % less mean latency`; `None` if it has the most itself.
pub fn given_up(sweep: &Sweep, series: &DepthSeries, efficient: &DepthEstimate) -> Option<String> {
    let basis = stats::sweep::basis(sweep, &series.points);
    let of_point = |point: usize| stats::sweep::figures_on(sweep, point, basis);
    let figures = of_point(stats::sweep::point_at(sweep, series, efficient.depth)?)?;
    let known = series.points.iter().filter_map(|point| of_point(*point));
    let fastest = known.max_by(|a, b| a.iops.total_cmp(&b.iops)).filter(|fastest| fastest.depth != figures.depth)?;
    let beside = stats::sweep::beside(figures, fastest)?;
    let latency = beside.mean_percent.map(|percent| {
        let word = if percent > 100.0 { "more" } else { "less" };
        format!(", for {:.0} % {word} mean latency", (100.0 - percent).abs())
    });
    Some(format!(
        "{:.0} % less throughput than depth {}, which has the most{}",
        100.0 - beside.iops_percent,
        fastest.depth.unwrap_or_default(),
        latency.unwrap_or_default()
    ))
}

fn typed(sweep: &Sweep, point: usize) -> String {
    Setting::typed_all(&sweep.points[point].settings)
}

/// Throughput over options that make the load.
pub struct Range {
    /// The options.
    pub options: String,
    /// `12000 (-w100)`
    pub least: String,
    /// The same of the most throughput.
    pub most: String,
    /// The unit of both: IOPS or MiB/s.
    pub unit: &'static str,
}

/// `None` if no such option varies.
pub fn range_of_load(sweep: &Sweep) -> Option<Range> {
    let options: Vec<String> = stats::sweep::varied_load(sweep).into_iter().map(super::dashed).collect();
    let (least, most) = stats::sweep::range(sweep).filter(|_| !options.is_empty())?;
    let unit = unit(sweep);
    let at = |point: usize| {
        let rate = |figures: &Headline| if unit == "IOPS" { figures.iops } else { mib(figures.bytes_per_s) };
        let basis = stats::sweep::basis(sweep, &(0..sweep.points.len()).collect::<Vec<_>>());
        let rate = stats::sweep::figures_on(sweep, point, basis).map_or(0.0, rate);
        format!("{} ({})", grouped(rate), typed(sweep, point))
    };
    Some(Range { options: options.join(" and "), least: at(least), most: at(most), unit })
}

/// Other points of this depth that noise may have put below the named one: `same depth: ...`; `None` if there are none.
pub fn splits(sweep: &Sweep, series: &DepthSeries, depth: u32) -> Option<String> {
    let named = stats::sweep::point_at(sweep, series, depth)?;
    let of_depth =
        |point: &usize| stats::sweep::figures(sweep, *point).is_some_and(|figures| figures.depth == Some(depth));
    let points: Vec<usize> = series.points.iter().copied().filter(of_depth).collect();
    let others = |points: &[usize]| -> Vec<usize> { points.iter().copied().filter(|point| *point != named).collect() };
    match stats::sweep::leaders(sweep, &points)? {
        Leaders::Several(points) => {
            Some(format!("same depth: {}: not worse by more than the noise", few_typed(sweep, &others(&points), "; ")))
        }
        Leaders::Single(_) => Some(format!(
            "same depth: {}: one run each does not show the noise",
            few_typed(sweep, &others(&points), "; ")
        )),
        Leaders::One(_) => None,
    }
}

/// The note that all points of a series have the same throughput, within the noise of their runs.
pub fn nothing_better(sweep: &Sweep, series: &DepthSeries) -> Option<String> {
    match stats::sweep::leaders(sweep, &series.points)? {
        Leaders::Several(points) if points.len() == measured(sweep, &series.points) => {
            Some(none_better(sweep, &points))
        }
        _ => None,
    }
}
