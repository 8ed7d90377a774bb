//! Where skewed I/Os fell: lines below the tables, where no reader of `DiskSpd`'s tables looks any more.

use crate::foreign;
use model::result::{HottestShare, SkewFigures};
use model::units::{Bytes, counted, percent_rounded_down};
use std::io::{self, Write};

/// What each target's hottest positions received.
pub(crate) fn lines(out: &mut dyn Write, skews: &[SkewFigures]) -> io::Result<()> {
    for SkewFigures { path, skew, positions, alignment_bytes, draws, hottest, touched_positions, .. } in skews {
        write!(out, "\nskew {}:{} ({}) of '", skew.law.option(), skew.parameter, skew.placement())?;
        foreign::write_path(out, path)?;
        writeln!(
            out,
            "': {} on {} of {}",
            counted(*draws, "random I/O"),
            counted(*positions, "position"),
            Bytes(*alignment_bytes)
        )?;
        for HottestShare { positions_percent, law_percent, drawn_percent, .. } in hottest {
            let drawn = drawn_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.2}%"));
            let label = format!("hottest {positions_percent}%:");
            writeln!(out, "{label:<24}{drawn} of the I/Os (expected {law_percent:.2}%)")?;
        }
        let share = percent_rounded_down(*touched_positions as f64 * 100.0 / (*positions).max(1) as f64, 2);
        writeln!(out, "{:<24}about {touched_positions} ({share}%)", "positions touched:")?;
    }
    Ok(())
}
