//! When systemd timers are due, from `systemctl`.

use model::check::{Known, Timer};
use serde_json::Value;
use std::process::{Command, Stdio};

/// Asks `systemctl`; `now_ns` is the time since the Unix epoch.
pub(super) fn read(now_ns: i128) -> Known<Vec<Timer>> {
    let words = ["list-timers", "--all", "--output=json", "--no-pager"];
    let asked = Command::new("systemctl").args(words).stdin(Stdio::null()).output();
    let output = asked.map_err(|error| format!("systemctl cannot be run: {error}; check cron for scheduled jobs"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().next().unwrap_or("no reason given").trim();
        return Err(format!("systemctl lists no timers: {reason}"));
    }
    parse(&output.stdout, now_ns)
}

/// An array with an object for each timer; `next` is in microseconds since the Unix epoch, 0 or null if it is not
/// planned.
fn parse(json: &[u8], now_ns: i128) -> Known<Vec<Timer>> {
    // Before systemd 247 the option is ignored, and a table comes.
    let listed: Vec<Value> =
        serde_json::from_slice(json).map_err(|_| "the installed systemctl cannot list timers as JSON".to_owned())?;
    let timer = |value: &Value| {
        let next_us = value["next"].as_u64().filter(|next_us| *next_us > 0);
        let due_in_s = next_us.map(|next_us| (i128::from(next_us) * 1000 - now_ns).max(0) / 1_000_000_000);
        Some(Timer { unit: value["unit"].as_str()?.to_owned(), due_in_s: due_in_s.map(|seconds| seconds as u64) })
    };
    Ok(listed.iter().filter_map(timer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Shows check: timers
    #[test]
    fn timers_are_told_by_the_time_that_is_left() {
        let json = br#"[{"next":1763800090000000,"left":90000000,"last":0,"passed":0,"unit":"fstrim.timer","activates":"fstrim.service"},
            {"next":0,"left":0,"last":null,"passed":null,"unit":"mdcheck_start.timer","activates":"mdcheck_start.service"}]"#;
        let timers = parse(json, 1_763_800_000_000_000_000).unwrap();
        let found: Vec<_> = timers.iter().map(|timer| (timer.unit.as_str(), timer.due_in_s)).collect();
        assert_eq!(found, [("fstrim.timer", Some(90)), ("mdcheck_start.timer", None)]);
        assert!(parse(b"NEXT LEFT LAST", 0).unwrap_err().contains("cannot list timers as JSON"));
    }
}
