//! Confidence intervals: lines of ours after `DiskSpd`'s tables.

use crate::numbers::ms;
use model::confidence::HalfWidths;
use model::figures::{Figures, LatencyDistribution};
use model::result::Measured;
use model::units::mib;
use stats::NAMED_PERCENTILES;
use std::io::{self, Write};

/// What each line begins with.
pub(crate) const HEAD: &str = "95 % confidence";
/// Instead of figures.
pub(crate) const NONE: &str = "none, the run has fewer than 10 full intervals of 100 ms";

/// Two lines for all I/Os, and for reads and writes if there were both.
pub(crate) fn lines(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    let Some(confidence) = &measured.confidence else { return Ok(()) };
    if measured.load_loop.is_none() {
        writeln!(out)?;
    }
    let Some(total) = &confidence.total else { return writeln!(out, "{HEAD}: {NONE}") };
    let latencies = measured.total_latency.as_ref();
    direction(out, "all", &measured.total.total, total, latencies.and_then(|latencies| latencies.total.as_ref()))?;
    if let (Some(read), Some(write)) = (&confidence.read, &confidence.write) {
        let latencies = latencies.map(|latencies| (latencies.read.as_ref(), latencies.write.as_ref()));
        let (of_reads, of_writes) = latencies.unwrap_or_default();
        direction(out, "read", &measured.total.read, read, of_reads)?;
        direction(out, "write", &measured.total.write, write, of_writes)?;
    }
    Ok(())
}

fn direction(
    out: &mut dyn Write,
    name: &str,
    figures: &Figures,
    half_widths: &HalfWidths,
    latencies: Option<&LatencyDistribution>,
) -> io::Result<()> {
    let HalfWidths { iops, bytes_per_s, latency_mean_ns, percentiles } = half_widths;
    write!(out, "{HEAD}, {name}: {:.2} ± {iops:.2} I/O per s", figures.iops)?;
    write!(out, ", {:.2} ± {:.2} MiB/s", mib(figures.bytes_per_s), mib(*bytes_per_s))?;
    if let (Some(latency), Some(half_width_ns)) = (&figures.latency, latency_mean_ns) {
        write!(out, ", mean latency {:.3} ± {:.3} ms", ms(latency.mean_ns), ms(*half_width_ns))?;
    }
    writeln!(out)?;
    let Some(latencies) = latencies else { return Ok(()) };
    let mut separator = "";
    write!(out, "{HEAD}, {name}: ")?;
    for (name, rank_ppb) in NAMED_PERCENTILES {
        let value = latencies.percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
        let half_width = percentiles.iter().find(|percentile| percentile.rank_ppb == rank_ppb);
        let (Some(value), Some(half_width)) = (value, half_width) else {
            return writeln!(out, "{separator}none at or above the {name} (too few I/Os)");
        };
        write!(out, "{separator}{name} {:.3} ± {:.3} ms", ms(value.value_ns as f64), ms(half_width.half_width_ns))?;
        separator = ", ";
    }
    writeln!(out)
}
