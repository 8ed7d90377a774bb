//! Which points of a sweep to use, and why, as lines.

use super::edge;
use crate::limit;
use crate::numbers::grouped;
use model::doubt::Doubt;
use model::headline::Headline;
use model::sweep::{BlockKnee, BlockSeries, DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep, Visit};
use model::units::mib;
use stats::sweep::{AcrossBlocks, Compared, Growth};
use std::io::{self, Write};

/// Why depths of runs that all have warnings are not firm and have no interval: it comes from the points alone.
pub const NOT_FIRM: &str = "not firm, and no 95 % confidence interval: every run has a warning; remove the causes and run \
                            the sweep again before you rely on it";

/// By which rule the efficient depth is chosen.
pub const RULE: &str = "best ratio of throughput to latency (IOPS / mean latency)";

/// What figures of different block sizes say to each other.
pub const ACROSS_BLOCKS: &str = "IOPS of different block sizes do not compare: a larger I/O transfers more bytes. Use the block \
                                 size of your application; where it can be chosen, as for backups and copies, use the one \
                                 with the most MiB/s at a latency that you accept";

/// Points of the front that are named at most.
const FRONT_MAX: usize = 12;

/// Under the table.
pub(super) fn write(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    if let Some(words) = none_beaten(sweep) {
        writeln!(out, "\nPareto front: all points: {words}")?;
    } else if let [first, others @ ..] = &sweep.front[..] {
        let named = others.iter().take(FRONT_MAX - 1);
        let named = named.fold(typed(sweep, *first), |named, point| format!("{named}; {}", typed(sweep, *point)));
        let more = if sweep.front.len() > FRONT_MAX { "; ..." } else { "" };
        writeln!(out, "\nPareto front: {named}{more}: no other point beats these in {}", compared(sweep))?;
    }
    for series in &sweep.depths {
        writeln!(out)?;
        depths(sweep, series, out)?;
    }
    if let (Some(across), Some(points)) = (across_blocks(sweep), stats::sweep::across_blocks(sweep)) {
        let doubt = with_doubt(sweep, &[points.most_bytes, points.most_iops]);
        writeln!(out, "\n{across}{doubt}\n{ACROSS_BLOCKS}")?;
    }
    if let Some(found) = &sweep.limit {
        writeln!(out)?;
        return limit::answer(sweep, found, out);
    }
    if limit::is_unfinished(sweep) {
        return writeln!(out, "\n{}", limit::UNFINISHED);
    }
    for series in &sweep.block_sizes {
        writeln!(out)?;
        blocks(sweep, series, out)?;
    }
    if !sweep.depths.is_empty() || !sweep.block_sizes.is_empty() {
        return Ok(());
    }
    if let Some(Range { options, least, most }) = range_of_load(sweep) {
        return writeln!(
            out,
            "\nIOPS: {least} to {most}\n{options} is part of the load, so no value of it is recommended"
        );
    }
    match stats::sweep::best(sweep) {
        Some(best) => {
            writeln!(out, "\nmost I/Os per second with {}", typed(sweep, best))?;
            doubt(sweep, &[best]).map_or(Ok(()), |doubt| writeln!(out, "{doubt}"))
        }
        None => Ok(()),
    }
}

/// The figures by which points are compared: `IOPS, mean latency and CPU usage`.
pub fn compared(sweep: &Sweep) -> String {
    let Compared { by_bytes, has_latency } = stats::sweep::compared(sweep);
    let rate = if by_bytes { "MiB/s" } else { "IOPS" };
    if has_latency { format!("{rate}, mean latency and CPU usage") } else { format!("{rate} and CPU usage") }
}

/// What is said in place of the front where it has all points; `None` elsewhere.
pub fn none_beaten(sweep: &Sweep) -> Option<String> {
    let measured = (0..sweep.points.len()).filter(|point| stats::sweep::figures(sweep, *point).is_some()).count();
    let is_none = measured > 1 && sweep.front.len() == measured;
    is_none.then(|| format!("no setting is beaten by another in {}", compared(sweep)))
}

/// `measured in runs with warnings (steal)`; `None` if a run of these points is sound.
fn doubt(sweep: &Sweep, points: &[usize]) -> Option<String> {
    let runs = points.iter().flat_map(|point| stats::sweep::runs(sweep, *point)).filter_map(Visit::headline);
    Doubt::of(runs)?.of_all()
}

/// The same behind what names the points.
fn with_doubt(sweep: &Sweep, points: &[usize]) -> String {
    doubt(sweep, points).map(|words| format!(", {words}")).unwrap_or_default()
}

/// Where throughput still rises: `from -o16 to -o32 by 5 % (78,108 to 81,800 IOPS)`, as measured.
pub fn growth_of_depths(sweep: &Sweep, series: &DepthSeries) -> Option<String> {
    let depth = |figures: &Headline| figures.depth.map(f64::from);
    growth(sweep, &series.points, depth, |figures| figures.iops, "IOPS")
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
    let rate_of = |point: usize| stats::sweep::figures(sweep, point).map(|figures| grouped(rate(figures)));
    let (before, after) = (rate_of(from)?, rate_of(to)?);
    Some(format!("from {} to {}: {percent:+.0} % ({before} to {after} {unit})", typed(sweep, from), typed(sweep, to)))
}

/// What the intervals of the depths are made of.
pub fn interval_basis(sweep: &Sweep, series: &DepthSeries) -> &'static str {
    if stats::sweep::is_repeated(sweep, &series.points) {
        "judged by how much runs of the same depth differ"
    } else {
        "judged by how far single runs lie off a smooth curve: a rough guide, because no depth was measured several times (--runs)"
    }
}

/// What has the most of each kind of throughput where block sizes and depths vary together; `None` elsewhere.
pub fn across_blocks(sweep: &Sweep) -> Option<String> {
    let AcrossBlocks { most_bytes, most_iops } = stats::sweep::across_blocks(sweep)?;
    let points = [most_bytes, most_iops];
    // Of both it is said behind them.
    let is_of_both = points.iter().all(|point| doubt(sweep, &[*point]).is_some());
    let doubts = points.map(|point| doubt(sweep, &[point]).filter(|_| !is_of_both));
    let [of_bytes, of_iops] = doubts.map(|doubt| doubt.map(|words| format!(", {words}")).unwrap_or_default());
    let [most_bytes, most_iops] = points.map(|point| typed(sweep, point));
    let separator = if of_bytes.is_empty() { "," } else { ";" };
    Some(format!(
        "of all block sizes: most MiB/s with {most_bytes}{of_bytes}{separator} most IOPS with {most_iops}{of_iops}"
    ))
}

/// What the depth costs and brings beside the one with the most throughput: `32 % fewer IOPS than depth 32, which has the
/// most, for 81 % less mean latency`; `None` if it has the most itself.
pub fn given_up(sweep: &Sweep, series: &DepthSeries, efficient: &DepthEstimate) -> Option<String> {
    let of_point = |point: usize| stats::sweep::figures(sweep, point);
    let figures = of_point(stats::sweep::point_at(sweep, series, efficient.depth)?)?;
    let known = series.points.iter().filter_map(|point| of_point(*point));
    let fastest = known.max_by(|a, b| a.iops.total_cmp(&b.iops)).filter(|fastest| fastest.depth != figures.depth)?;
    let beside = stats::sweep::beside(figures, fastest)?;
    let latency = beside.mean_percent.map(|percent| {
        let word = if percent > 100.0 { "more" } else { "less" };
        format!(", for {:.0} % {word} mean latency", (100.0 - percent).abs())
    });
    Some(format!(
        "{:.0} % fewer IOPS than depth {}, which has the most{}",
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
}

/// `None` if no such option varies.
pub fn range_of_load(sweep: &Sweep) -> Option<Range> {
    let options: Vec<String> = stats::sweep::varied_load(sweep).into_iter().map(super::dashed).collect();
    let (least, most) = stats::sweep::range(sweep).filter(|_| !options.is_empty())?;
    let at = |point: usize| {
        let iops = stats::sweep::figures(sweep, point).map_or(0.0, |figures| figures.iops);
        format!("{} ({})", grouped(iops), typed(sweep, point))
    };
    Some(Range { options: options.join(" and "), least: at(least), most: at(most) })
}

/// Which depth to use, and why.
fn depths(sweep: &Sweep, series: &DepthSeries, out: &mut dyn Write) -> io::Result<()> {
    if !series.settings.is_empty() {
        writeln!(out, "with {}:", Setting::typed_all(&series.settings))?;
    }
    let Some(Knee { efficient, saturation }) = &series.knee else {
        return writeln!(out, "too few queue depths to find the best one: at least {} are needed", stats::DEPTHS_MIN);
    };
    let at = stats::sweep::point_at(sweep, series, efficient.depth);
    writeln!(
        out,
        "efficient depth:  {}{}: {RULE}{}{}",
        estimate(sweep, series, efficient),
        with_doubt(sweep, at.as_slice()),
        given_up(sweep, series, efficient).map(|given_up| format!("; {given_up}")).unwrap_or_default(),
        edge(sweep, series, efficient)
    )?;
    let saturated = match saturation {
        Saturation::At { depth, plateau_iops } => {
            writeln!(
                out,
                "saturation depth: {}: within 5 % of the plateau of {} IOPS{}; more depth only adds latency",
                estimate(sweep, series, depth),
                grouped(*plateau_iops),
                highest(sweep, series, *plateau_iops)
            )?;
            Some(depth)
        }
        Saturation::StillRising { .. } => {
            let growth = growth_of_depths(sweep, series).map(|growth| format!(", {growth}")).unwrap_or_default();
            writeln!(out, "saturation depth: above the tested range; throughput still rises{growth}")?;
            None
        }
    };
    if [Some(efficient), saturated].into_iter().flatten().any(|estimate| has_interval(sweep, series, estimate)) {
        writeln!(out, "intervals:        {}", interval_basis(sweep, series))?;
    }
    if let (Some(beaten), Some(point)) = (at, series.recommended.filter(|point| Some(*point) != at)) {
        writeln!(
            out,
            "use instead:      {}: no less throughput, no higher mean latency and no more CPU usage than {}",
            typed(sweep, point),
            typed(sweep, beaten)
        )?;
    }
    if stats::sweep::is_doubtful(sweep, &series.points) {
        writeln!(out, "{NOT_FIRM}")?;
    }
    Ok(())
}

/// That a plateau is a mean, where points were measured above it.
fn highest(sweep: &Sweep, series: &DepthSeries, plateau_iops: f64) -> String {
    let highest = stats::sweep::above_plateau(sweep, &series.points, plateau_iops, |figures| figures.iops);
    let words = |(point, iops)| format!(" (a mean; highest measured: {} with {})", grouped(iops), typed(sweep, point));
    highest.map(words).unwrap_or_default()
}

/// `24 (-o3), 95 % confidence interval 16 to 32`
fn estimate(sweep: &Sweep, series: &DepthSeries, estimate: &DepthEstimate) -> String {
    let DepthEstimate { depth, low, high, .. } = *estimate;
    let at = stats::sweep::point_at(sweep, series, depth);
    let settings = at.map(|point| typed(sweep, point)).unwrap_or_default();
    if has_interval(sweep, series, estimate) {
        format!("{depth} ({settings}), 95 % confidence interval {low} to {high}")
    } else {
        format!("{depth} ({settings})")
    }
}

fn has_interval(sweep: &Sweep, series: &DepthSeries, DepthEstimate { low, high, .. }: &DepthEstimate) -> bool {
    low != high && !stats::sweep::is_doubtful(sweep, &series.points)
}

/// The point of a series of block sizes with the most throughput.
pub fn best_of_blocks(sweep: &Sweep, series: &BlockSeries) -> Option<usize> {
    let rate = |point: usize| stats::sweep::figures(sweep, point).map_or(0.0, |figures| figures.bytes_per_s);
    series.points.iter().copied().max_by(|a, b| rate(*a).total_cmp(&rate(*b)))
}

/// Which block size to use, and why.
fn blocks(sweep: &Sweep, series: &BlockSeries, out: &mut dyn Write) -> io::Result<()> {
    if !series.settings.is_empty() {
        writeln!(out, "with {}:", Setting::typed_all(&series.settings))?;
    }
    let is_doubtful = stats::sweep::is_doubtful(sweep, &series.points) && series.knee.is_some();
    match series.knee {
        Some(BlockKnee::At { point, plateau_bytes_per_s }) => writeln!(
            out,
            "throughput knee: {}{}: within 5 % of the plateau of {} MiB/s; larger blocks only add latency",
            typed(sweep, point),
            with_doubt(sweep, &[point]),
            grouped(mib(plateau_bytes_per_s))
        ),
        Some(BlockKnee::StillRising { .. }) => {
            let growth = growth_of_blocks(sweep, series).map(|growth| format!(", {growth}")).unwrap_or_default();
            writeln!(out, "throughput knee: above the tested range; throughput still rises{growth}")
        }
        None => {
            let best = best_of_blocks(sweep, series).map(|point| typed(sweep, point)).unwrap_or_default();
            writeln!(
                out,
                "most MiB/s with {best}; to find where throughput stops growing, at least {} block sizes are needed",
                stats::DEPTHS_MIN
            )
        }
    }?;
    if is_doubtful { writeln!(out, "{NOT_FIRM}") } else { Ok(()) }
}
