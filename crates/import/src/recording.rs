//! Recordings of `diskspd monitor`: JSON lines.

use model::device_interval::{Recording, WATCH_SCHEMA, WATCH_SCHEMA_VERSION, WatchBegin, WatchLine};
use model::printable::clipped_error;
use thiserror::Error;

/// The reason why a text is not a recording.
#[derive(Debug, Error)]
pub enum NoRecording {
    /// A line does not belong to a recording.
    #[error("line {line}: not a line of a diskspd monitor recording: {}", clipped_error(reason))]
    Malformed {
        /// Its number, from 1.
        line: usize,
        /// The error.
        reason: String,
    },
    /// A newer program wrote it.
    #[error("recording version {version} is not supported (newest supported: {WATCH_SCHEMA_VERSION})")]
    TooNew {
        /// Its version.
        version: u32,
    },
    /// It is output of `--jsonl`, or empty.
    #[error("not a recording: diskspd monitor --record makes one")]
    NoBeginning,
}

/// True if a text begins like output of the monitor, even if not all of it is a recording.
pub fn is_recording(text: &[u8]) -> bool {
    let first = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    // As in [`read`]: a line with a duplicate field counts, too.
    let Some(Ok(marks)) = first.map(serde_json::from_slice::<serde_json::Value>) else { return false };
    match marks["schema"].as_str() {
        Some(schema) => schema == WATCH_SCHEMA,
        // The output of --jsonl has only a kind; reading it gives the specific error. Live streams of version 1 have a
        // form.
        None => marks["kind"].is_string() && marks["form"].is_null(),
    }
}

/// Reads a recording. A truncated last line, as after a crash, is left out.
pub fn read(text: &[u8]) -> Result<Recording, NoRecording> {
    let mut lines = text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let (_, first) = lines.next().ok_or(NoRecording::NoBeginning)?;
    let begin = beginning(first)?;
    let (mut intervals, mut end) = (Vec::new(), None);
    for (index, line) in lines {
        match serde_json::from_slice(line) {
            Ok(WatchLine::Interval(interval)) => intervals.push(interval),
            Ok(WatchLine::End(told)) => end = Some(told),
            Ok(WatchLine::Begin(_)) => {
                return Err(NoRecording::Malformed {
                    line: index + 1,
                    reason: "another recording begins here".to_owned(),
                });
            }
            Err(error) if error.is_eof() && !text.ends_with(b"\n") && text.ends_with(line) => break,
            Err(error) => return Err(NoRecording::Malformed { line: index + 1, reason: error.to_string() }),
        }
    }
    Ok(Recording { begin, intervals, end })
}

fn beginning(first: &[u8]) -> Result<WatchBegin, NoRecording> {
    let value: serde_json::Value =
        serde_json::from_slice(first).map_err(|error| NoRecording::Malformed { line: 1, reason: error.to_string() })?;
    let version = value.get("schema_version").and_then(serde_json::Value::as_u64);
    if let Some(version) = version.filter(|version| *version > WATCH_SCHEMA_VERSION.into()) {
        return Err(NoRecording::TooNew { version: u32::try_from(version).unwrap_or(u32::MAX) });
    }
    // Of duplicate fields the last counts, as in `is_recording`.
    match serde_json::from_str(&value.to_string()) {
        Ok(WatchLine::Begin(begin)) if begin.schema == WATCH_SCHEMA => Ok(begin),
        Ok(_) => Err(NoRecording::NoBeginning),
        Err(error) => Err(NoRecording::Malformed { line: 1, reason: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BEGIN: &str = r#"{"kind":"begin","schema":"diskspd-monitor","schema_version":1,"tool_version":"0.1.0","host":"h","started_at_unix_ns":5,"interval_ns":1000000000,"devices":[]}"#;
    const INTERVAL: &str =
        r#"{"kind":"interval","number":1,"ended_at_unix_ns":6,"end_ns":1,"interval_ns":1,"devices":{}}"#;
    const END: &str = r#"{"kind":"end","interval_count":1,"missed_count":0}"#;

    fn read_lines(lines: &[&str]) -> Result<Recording, String> {
        read((lines.join("\n") + "\n").as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn whole_and_cut_recordings_are_read() {
        let whole = read_lines(&[BEGIN, INTERVAL, INTERVAL, END]).expect("whole");
        assert_eq!((whole.intervals.len(), whole.end.map(|end| end.interval_count)), (2, Some(1)));
        let text = format!("{BEGIN}\n{INTERVAL}\n{}", &INTERVAL[..40]);
        let cut = read(text.as_bytes()).expect("as far as it goes");
        assert_eq!((cut.intervals.len(), cut.end), (1, None));
        assert!(is_recording(text.as_bytes()) && !is_recording(b"{\"schema\":\"diskspd-result\"}"));
        assert!(!is_recording(b"{\"kind\":\"begin\",\"form\":\"diskspd-live/1\"}\n"));
    }

    /// Found by fuzzing: such a line was read as a beginning, but the file not recognised as a recording, so that
    /// `report` refused it as no result.
    #[test]
    fn whatever_can_be_read_is_known_as_a_recording() {
        for more in [r#","schema":"diskspd-monitor"}"#, r#","form":"x"}"#] {
            let text = format!("{}{more}\n{INTERVAL}\n", BEGIN.trim_end_matches('}'));
            assert!(read(text.as_bytes()).is_ok() && is_recording(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn what_is_none_says_why() {
        for (lines, expected) in [
            (&[INTERVAL][..], "not a recording: diskspd monitor --record"),
            (&[""], "not a recording"),
            (&[BEGIN, "{}", END], "line 2: not a line of a diskspd monitor recording"),
            (&[BEGIN, "x"], "line 2: "),
            (&[BEGIN, INTERVAL, BEGIN], "line 3: not a line of a diskspd monitor recording: another recording"),
            (&[&BEGIN.replace("version\":1", "version\":9")], "recording version 9 is not supported"),
        ] {
            let failure = read_lines(lines).expect_err(expected);
            assert!(failure.contains(expected), "{failure}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(
            cut in 0usize..400, bytes in prop::collection::vec(any::<u8>(), 0..60), at in 0usize..400,
        ) {
            let mut text = format!("{BEGIN}\n{INTERVAL}\n{END}\n").into_bytes();
            let at = at.min(text.len());
            text.splice(at..at, bytes);
            text.truncate(cut.max(1));
            let _ = (is_recording(&text), read(&text));
        }
    }
}
