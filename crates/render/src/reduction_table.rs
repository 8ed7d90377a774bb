//! How far what was written reduces: lines below the tables, where no reader of `DiskSpd`'s tables looks any more.

use crate::foreign;
use model::result::ReductionFigures;
use model::units::{Bytes, counted};
use std::io::{self, Write};

/// What was measured of each target's data.
pub(crate) fn lines(out: &mut dyn Write, reductions: &[ReductionFigures]) -> io::Result<()> {
    for figures in reductions {
        let ReductionFigures { path, asked, sample_bytes, compared_blocks, .. } = figures;
        write!(out, "\nwritten data of '")?;
        foreign::write_path(out, path)?;
        writeln!(out, "', compression {}:1, {}% repeated blocks:", asked.compress_ratio, asked.dedupe_percent)?;
        let ratios = [("zstd", figures.zstd_ratio), ("lz4", figures.lz4_ratio)];
        for (name, ratio) in ratios.into_iter().filter_map(|(name, ratio)| Some((name, ratio?))) {
            writeln!(out, "{:<24}{ratio:.2}:1 on a sample of {}", format!("{name}:"), Bytes(*sample_bytes))?;
        }
        if let Some(percent) = figures.equal_blocks_percent {
            writeln!(out, "{:<24}{percent:.2}% of {} of 4KiB", "equal blocks:", counted(*compared_blocks, "block"))?;
        }
    }
    Ok(())
}
