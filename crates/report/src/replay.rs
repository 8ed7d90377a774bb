//! Replays of traces: recorded against replayed latency, lateness, changes to the requests.

use crate::block::{Block, Column, Table, dash};
use crate::foreign_text::text_of_path;
use crate::quantity::{grouped, latency, significant};
use model::figures::LatencyDistribution;
use model::operation::Operation;
use model::profile::TimeSpan;
use model::replay::{RecordedRequests, Replay, ReplayChanges};
use model::replay_figures::ReplayFigures;
use model::result::Measured;
use model::units::counted;
use stats::ranks::{P50_PPB, P99_PPB, P999_PPB};

/// The tables and notes of a replay; none if I/Os were generated.
pub(crate) fn blocks(span: Option<&TimeSpan>, measured: &Measured) -> Vec<Block> {
    let Some((replay, figures)) = span.and_then(|span| span.replay.as_ref()).zip(measured.replay.as_ref()) else {
        return Vec::new();
    };
    let tables = [Some(latencies(replay, figures, measured)), lateness(figures)];
    let notes = notes(replay, figures);
    let notes = (!notes.is_empty()).then(|| Block::notes(notes));
    tables.into_iter().flatten().map(Block::Table).chain(notes).collect()
}

/// Recorded and replayed latencies, kind by kind.
fn latencies(replay: &Replay, figures: &ReplayFigures, measured: &Measured) -> Table {
    let load = &replay.recorded;
    let total = measured.total_latency.as_ref();
    let other = |operation: Operation| {
        let found = measured.operations.iter().find(|figures| figures.operation == operation);
        found.and_then(|figures| figures.latency.as_ref())
    };
    let kinds = [
        ("read", &load.read, total.and_then(|total| total.read.as_ref())),
        ("write", &load.write, total.and_then(|total| total.write.as_ref())),
        ("discard", &load.discard, other(Operation::Discard)),
        ("write zeroes", &load.write_zeroes, other(Operation::WriteZeroes)),
        ("flush", &load.flush, figures.flush_latency.as_ref()),
    ];
    let rows = kinds.into_iter().filter(|(_, recorded, replayed)| recorded.count > 0 || replayed.is_some());
    Table {
        heading: format!("Replay of {}: recorded and replayed latency", text_of_path(&replay.trace)),
        columns: [Column::text("kind"), Column::text("")]
            .into_iter()
            .chain(["requests", "mean", "p50", "p99", "p99.9", "maximum"].map(Column::number))
            .collect(),
        rows: rows
            .flat_map(|(kind, recorded, replayed)| [recorded_row(kind, recorded), replayed_row(replayed)])
            .collect(),
        ..Table::default()
    }
}

fn recorded_row(kind: &str, recorded: &RecordedRequests) -> Vec<String> {
    let cells = recorded.latency.map(|of| [of.mean_ns, of.p50_ns, of.p99_ns, of.p999_ns, of.max_ns]);
    let cells = cells.map_or_else(|| [(); 5].map(|()| dash()), |cells| cells.map(|ns| latency(ns as f64)));
    [kind.to_owned(), "recorded".to_owned(), grouped(recorded.count as f64)].into_iter().chain(cells).collect()
}

fn replayed_row(replayed: Option<&LatencyDistribution>) -> Vec<String> {
    let count = replayed.map_or(0, |of| of.count);
    [String::new(), "replayed".to_owned(), grouped(count as f64)].into_iter().chain(times(replayed)).collect()
}

/// Mean, percentiles and maximum.
fn times(of: Option<&LatencyDistribution>) -> [String; 5] {
    let at = |rank_ppb| of.and_then(|of| of.at(rank_ppb)).map(|ns| ns as f64);
    let (mean, max) = (of.map(|of| of.figures.mean_ns), of.and_then(|of| of.figures.max_ns).map(|ns| ns as f64));
    [mean, at(P50_PPB), at(P99_PPB), at(P999_PPB), max].map(|ns| ns.map_or_else(dash, latency))
}

/// Lateness of the starts; `None` in a closed replay.
fn lateness(figures: &ReplayFigures) -> Option<Table> {
    let ReplayFigures { issued, late_percent, very_late_percent, lateness, .. } = figures;
    let lateness = lateness.as_ref()?;
    let names = ["issued", "mean", "p50", "p99", "p99.9", "maximum", "> 100 us", "> 1 ms"];
    let shares = [late_percent, very_late_percent].map(|percent| format!("{} %", significant(*percent)));
    Some(Table {
        heading: "Lateness of the requests: from their time in the trace to their start".to_owned(),
        columns: names.map(Column::number).into(),
        rows: vec![[grouped(*issued as f64)].into_iter().chain(times(Some(lateness))).chain(shares).collect()],
        ..Table::default()
    })
}

/// Differences between the requests issued and those of the trace.
fn notes(replay: &Replay, figures: &ReplayFigures) -> Vec<String> {
    let ReplayChanges {
        folded,
        scaled,
        aligned,
        split,
        flushes_before_writes,
        discards_left_out,
        empty_left_out,
        losses,
        ..
    } = figures.changes;
    let waits =
        if replay.closed { "waits for the trace to be read" } else { "late because the trace was read too slowly" };
    let counts = [
        (figures.planned.saturating_sub(figures.issued), "not issued when the run ended"),
        (figures.delayed_by_reading, waits),
        (folded, "beyond the end of the target, moved inside it"),
        (scaled, "moved in proportion to the size of the target (--scale-offsets)"),
        (aligned, "extended to the alignment that the target needs"),
        (split, "larger than the largest I/O, issued in pieces"),
        (flushes_before_writes, "writes with a flush before them, which was issued too"),
        (discards_left_out, "discards, not issued (--discards issues them)"),
        (empty_left_out, "without bytes, not issued"),
    ];
    let mut notes: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{}: {words}", counted(count, "request")))
        .collect();
    if losses > 0 {
        notes.push(format!("{} of the trace could not be read", counted(losses, "part")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::replay::RecordedLoad;

    #[test]
    fn changes_are_counted_one_line_each() {
        let changes = ReplayChanges { folded: 3, discards_left_out: 1, losses: 1, ..ReplayChanges::default() };
        let figures = ReplayFigures { planned: 9, issued: 7, changes, ..ReplayFigures::default() };
        let replay = Replay { recorded: RecordedLoad::default(), ..Replay::default() };
        let expected = [
            "2 requests: not issued when the run ended",
            "3 requests: beyond the end of the target, moved inside it",
            "1 request: discards, not issued (--discards issues them)",
            "1 part of the trace could not be read",
        ];
        assert_eq!(notes(&replay, &figures), expected);
        let none = ReplayFigures { planned: 5, issued: 5, ..ReplayFigures::default() };
        assert_eq!(notes(&replay, &none), [""; 0]);
    }
}
