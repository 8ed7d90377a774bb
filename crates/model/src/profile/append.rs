//! `--append`: threads that write at the end of files of their own, as databases write their logs.

use super::{Profile, Target};
use crate::limits::TARGETS_MAX;
use crate::units::{Bytes, short_size};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// `--append`: each thread appends to a file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Append {
    /// Length at which a file is full.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// The action when a file is full.
    pub rotation: Rotation,
    /// The target itself is the file of its only thread; otherwise its path followed by `.0`, `.1`, ..., one for each
    /// thread.
    pub is_single: bool,
}

/// The action when a file that a thread appends to is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rotation {
    /// It is truncated to nothing, and grows again.
    #[default]
    Truncate,
    /// It is truncated, and blocks for its whole length are reserved at once.
    Preallocate,
    /// It is overwritten from its start.
    Recycle,
}

impl Rotation {
    /// True if the file is changed by other means than writes.
    pub const fn empties_file(self) -> bool {
        !matches!(self, Self::Recycle)
    }

    /// The word after the size.
    const fn word(self) -> Option<&'static str> {
        match self {
            Self::Truncate => None,
            Self::Preallocate => Some("preallocate"),
            Self::Recycle => Some("recycle"),
        }
    }
}

/// The word for [`Append::is_single`].
const SINGLE: &str = "single";

/// Values of `--append`.
const EXPECTED: &str = "a size such as 64M (units: K, M, G, T), which may be followed by ',preallocate' or ',recycle', \
                        and by ',single'";

impl Default for Append {
    /// A bare `--append`.
    fn default() -> Self {
        Self { size: Bytes::from_gib(1), rotation: Rotation::default(), is_single: false }
    }
}

impl Append {
    /// Parses the value of the option: nothing, `64M`, `64M,preallocate`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut append = Self::default();
        if text.is_empty() {
            return Ok(append);
        }
        let wrong = || format!("'{text}' is not a length of a log file (expected: {EXPECTED})");
        let mut words = text.split(',');
        append.size = words.next().and_then(size).ok_or_else(wrong)?;
        for word in words {
            let rotation =
                [Rotation::Preallocate, Rotation::Recycle].into_iter().find(|known| known.word() == Some(word));
            match rotation {
                Some(rotation) if append.rotation == Rotation::Truncate => append.rotation = rotation,
                None if word == SINGLE && !append.is_single => append.is_single = true,
                _ => return Err(wrong()),
            }
        }
        Ok(append)
    }
}

fn size(text: &str) -> Option<Bytes> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(digits_end);
    let shift = match unit {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        "T" | "t" => 40,
        _ => return None,
    };
    // File offsets have a sign.
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (1..=i64::MAX.unsigned_abs()).contains(&bytes).then_some(Bytes(bytes))
}

impl fmt::Display for Append {
    /// As the option takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&short_size(self.size.get()))?;
        let single = self.is_single.then_some(SINGLE);
        self.rotation.word().into_iter().chain(single).try_for_each(|word| write!(f, ",{word}"))
    }
}

impl Profile {
    /// The profile as it is run: with a target for each file that a thread appends to.
    #[must_use]
    pub fn with_log_files(mut self) -> Self {
        for span in &mut self.time_spans {
            // Threads that serve all targets are refused.
            if span.thread_count == 0 && span.targets.iter().any(Target::is_split) {
                span.targets = std::mem::take(&mut span.targets).into_iter().flat_map(log_files).collect();
            }
        }
        self
    }
}

impl Target {
    /// True if it stands for a file of each of its threads.
    fn is_split(&self) -> bool {
        // If there are more threads, none is started.
        let is_possible = (1..=TARGETS_MAX).contains(&(self.threads as usize)) && !self.is_template();
        is_possible && self.append.is_some_and(|append| !append.is_single)
    }

    /// The file of a thread that appends.
    pub fn log_file(&self, thread: u32) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{thread}"));
        path.into()
    }
}

/// The targets that a target stands for.
fn log_files(target: Target) -> Vec<Target> {
    if !target.is_split() {
        return vec![target];
    }
    let append = target.append.map(|append| Append { is_single: true, ..append });
    let file = |thread| Target { path: target.log_file(thread), threads: 1, append, ..target.clone() };
    (0..target.threads).map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::TimeSpan;

    #[test]
    fn what_the_option_takes_is_read_and_written_alike() {
        for (text, size, rotation, is_single, written) in [
            ("", 1 << 30, Rotation::Truncate, false, "1G"),
            ("64m", 64 << 20, Rotation::Truncate, false, "64M"),
            ("16M,preallocate", 16 << 20, Rotation::Preallocate, false, "16M,preallocate"),
            ("1,recycle", 1, Rotation::Recycle, false, "1,recycle"),
            ("2048K,single", 2 << 20, Rotation::Truncate, true, "2M,single"),
            ("1T,single,recycle", 1 << 40, Rotation::Recycle, true, "1T,recycle,single"),
        ] {
            let append = Append::parse(text).expect(text);
            assert_eq!(append, Append { size: Bytes(size), rotation, is_single }, "{text}");
            assert_eq!(append.to_string(), written);
            assert_eq!(Append::parse(written), Ok(append));
        }
        for text in [
            "0",
            "x",
            ",",
            "1G,",
            "recycle",
            "1G,preallocate,recycle",
            "1G,single,single",
            "8b",
            "-1",
            "9223372036854775808",
        ] {
            let reason = Append::parse(text).expect_err(text);
            assert!(reason.contains(&format!("'{text}'")) && reason.contains("64M"), "{reason}");
        }
    }

    #[test]
    fn each_thread_has_a_target_of_its_own() {
        let append = Append { size: Bytes(4096), ..Append::default() };
        let log = Target { threads: 3, append: Some(append), ..Target::new("log") };
        let data = Target { threads: 2, ..Target::new("data") };
        let span = TimeSpan { targets: vec![data.clone(), log], ..TimeSpan::default() };
        let profile = Profile { time_spans: vec![span], ..Profile::default() }.with_log_files();
        let targets = &profile.time_spans[0].targets;
        let named: Vec<(&str, u32)> = targets.iter().map(|t| (t.path.to_str().expect("text"), t.threads)).collect();
        assert_eq!(named, [("data", 2), ("log.0", 1), ("log.1", 1), ("log.2", 1)]);
        assert_eq!((&targets[0], targets[1].append), (&data, Some(Append { is_single: true, ..append })));
        assert_eq!(profile.clone().with_log_files(), profile, "files stay as they are");
    }
}
