//! Which points of a sweep to use, and why, as lines.

use super::edge;
use crate::limit;
use model::sweep::{BlockKnee, BlockSeries, DepthEstimate, DepthSeries, Knee, Saturation, Setting, Sweep};
use model::units::mib;
use std::io::{self, Write};

/// Why depths of runs that all have warnings have no interval: it comes from the points alone.
pub const NO_INTERVAL: &str = "no 95 % confidence interval: every run has a warning";

/// Points of the front that are named at most.
const FRONT_MAX: usize = 12;

/// Under the table.
pub(super) fn write(sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
    if let [first, others @ ..] = &sweep.front[..] {
        let named = others.iter().take(FRONT_MAX - 1);
        let named = named.fold(typed(sweep, *first), |named, point| format!("{named}; {}", typed(sweep, *point)));
        let more = if sweep.front.len() > FRONT_MAX { "; ..." } else { "" };
        writeln!(
            out,
            "\nPareto front: {named}{more}: no other point beats these in throughput, latency and CPU usage"
        )?;
    }
    for series in &sweep.depths {
        writeln!(out)?;
        depths(sweep, series, out)?;
    }
    if let Some(found) = &sweep.limit {
        writeln!(out)?;
        return limit::answer(sweep, found, out);
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
        Some(best) => writeln!(out, "\nmost I/Os per second with {}", typed(sweep, best)),
        None => Ok(()),
    }
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
        format!("{iops:.0} ({})", typed(sweep, point))
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
    writeln!(
        out,
        "efficient depth:  {}: best ratio of throughput to latency{}",
        estimate(sweep, series, efficient),
        edge(sweep, series, efficient)
    )?;
    match saturation {
        Saturation::At { depth, plateau_iops } => writeln!(
            out,
            "saturation depth: {}: within 5 % of the plateau of {plateau_iops:.0} IOPS{}; more depth only adds latency",
            estimate(sweep, series, depth),
            highest(sweep, series, *plateau_iops)
        ),
        Saturation::StillRising { doubling_percent } => writeln!(
            out,
            "saturation depth: above the tested range; throughput still rises: doubling the depth would add about \
             {doubling_percent:.0} %"
        ),
    }?;
    let efficient = stats::sweep::point_at(sweep, series, efficient.depth);
    if let (Some(beaten), Some(point)) = (efficient, series.recommended.filter(|point| Some(*point) != efficient)) {
        writeln!(
            out,
            "use instead:      {}: no less throughput, no higher latency and no more CPU usage than {}",
            typed(sweep, point),
            typed(sweep, beaten)
        )?;
    }
    if stats::sweep::is_doubtful(sweep, &series.points) {
        writeln!(out, "{NO_INTERVAL}")?;
    }
    Ok(())
}

/// That a plateau is a mean, where points were measured above it.
fn highest(sweep: &Sweep, series: &DepthSeries, plateau_iops: f64) -> String {
    let highest = stats::sweep::above_plateau(sweep, &series.points, plateau_iops, |figures| figures.iops);
    let words = |(point, iops)| format!(" (a mean; highest measured: {iops:.0} with {})", typed(sweep, point));
    highest.map(words).unwrap_or_default()
}

/// `24 (-o3), 95 % confidence interval 16 to 32`
fn estimate(sweep: &Sweep, series: &DepthSeries, estimate: &DepthEstimate) -> String {
    let DepthEstimate { depth, low, high, .. } = *estimate;
    let at = stats::sweep::point_at(sweep, series, depth);
    let settings = at.map(|point| typed(sweep, point)).unwrap_or_default();
    if low == high || stats::sweep::is_doubtful(sweep, &series.points) {
        format!("{depth} ({settings})")
    } else {
        format!("{depth} ({settings}), 95 % confidence interval {low} to {high}")
    }
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
    match series.knee {
        Some(BlockKnee::At { point, plateau_bytes_per_s }) => writeln!(
            out,
            "throughput knee: {}: within 5 % of the plateau of {:.0} MiB/s; larger blocks only add latency",
            typed(sweep, point),
            mib(plateau_bytes_per_s)
        ),
        Some(BlockKnee::StillRising { doubling_percent }) => writeln!(
            out,
            "throughput knee: above the tested range; throughput still rises: doubling the block size would add about \
             {doubling_percent:.0} %"
        ),
        None => {
            let best = best_of_blocks(sweep, series).map(|point| typed(sweep, point)).unwrap_or_default();
            writeln!(
                out,
                "most MiB/s with {best}; to find where throughput stops growing, at least {} block sizes are needed",
                stats::DEPTHS_MIN
            )
        }
    }
}
