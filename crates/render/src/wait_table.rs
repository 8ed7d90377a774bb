//! Submissions and waits of the threads.

use model::result::{Submissions, ThreadSubmissions, ThreadWaits};
use std::io::{self, Write};

/// Submissions per second (`-u`), beginning with two empty lines; the header ends with a blank.
pub(crate) fn submissions(out: &mut dyn Write, submissions: &Submissions) -> io::Result<()> {
    let rule = "-".repeat(20);
    writeln!(out, "\n\nIoRing Statistics\nthread |  Submits/s \n{rule}")?;
    for ThreadSubmissions { thread, per_s, .. } in &submissions.threads {
        writeln!(out, "{thread:6} | {per_s:11.2}")?;
    }
    writeln!(out, "{rule}\ntotal: | {:11.2}", submissions.total_per_s)
}

/// Wait statistics (`-vs`), beginning with an empty line. Only runs that measure latencies or intervals poll for
/// completions without waiting.
pub(crate) fn waits(out: &mut dyn Write, threads: &[ThreadWaits], is_latency_run: bool) -> io::Result<()> {
    let throttled = threads.iter().any(|thread| thread.throttled);
    let (throttle_header, dashes) = if throttled { (" throttle wait  -  sleep |", 74) } else { ("", 48) };
    writeln!(out, "\nWait Statistics - Completion Wait")?;
    writeln!(out, "thread |         wait |{throttle_header} 0 - 7+ complete per wait")?;
    writeln!(out, "{}", "-".repeat(dashes))?;
    for ThreadWaits { thread, throttled: is_throttled, counts } in threads {
        let throttle = match (throttled, is_throttled) {
            (false, _) => String::new(),
            (true, false) => "               ---       |".to_owned(),
            (true, true) => format!(" {:13}  - {:6} |", counts.throttle_wait, counts.throttle_sleep),
        };
        let histogram = histogram(&counts.wait_completions);
        writeln!(out, "{thread:6} | {:12} |{throttle} {histogram}", counts.wait)?;
    }
    if !is_latency_run {
        return Ok(());
    }
    writeln!(out, "\nWait Statistics - Lookaside")?;
    writeln!(out, "thread |    lookaside | 0 - 7+ complete per lookaside")?;
    writeln!(out, "{}", "-".repeat(53))?;
    for ThreadWaits { thread, counts, .. } in threads {
        let histogram = histogram(&counts.lookaside_completions);
        writeln!(out, "{thread:6} | {:12} | {histogram}", counts.lookaside)?;
    }
    Ok(())
}

fn histogram(counts: &[u64; 8]) -> String {
    counts.map(|count| count.to_string()).join(" ")
}
