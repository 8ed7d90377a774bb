//! The mark that a file made by this tool carries, as text:
//! `v2 state=closed size=1073741824 fill=ramp modified=631152000123456789 file=inode=12,birth=1763851942.012345678`
//! (one line).
//!
//! It is stored in the extended attribute [`ATTRIBUTE`]. A file whose mark fits holds nobody's data: it is the very
//! file that was marked, and nothing has written to it since.

use crate::facts::Fill;
use crate::units::counted;
use std::fmt;
use std::str::FromStr;

/// Name of the extended attribute.
pub const ATTRIBUTE: &str = "user.diskspd";

/// Name of the extended attribute with the run of several hosts that the file was made ready for (`--shared`).
pub const RUN_ATTRIBUTE: &str = "user.diskspd.run";

/// Modification times that are set on files, in seconds since 1970: 1985 to 1999. No clock of a machine that writes to
/// a file gives such a time, so that any later write changes it.
pub const MODIFIED_SECONDS: std::ops::Range<i64> = 473_385_600..946_684_800;

/// Properties of a file that was made by this tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// In use by a run, or closed.
    pub state: MarkState,
    /// Its length.
    pub size_bytes: u64,
    /// Its content.
    pub fill: Fill,
    /// Its modification time in nanoseconds since 1970: chosen when the run ended.
    pub modified_ns: i64,
    /// Its identity, which no other file has, copies of this one included.
    pub file: String,
}

/// State of a marked file: in use by a run, or closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkState {
    /// A run began to write to it and has not closed it: it goes on, or was killed.
    Open,
    /// The run has ended; any change since then shows.
    Closed,
}

/// Present state of a marked file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedFileState<'a> {
    /// Its length.
    pub size_bytes: u64,
    /// Its modification time in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Its identity, which no other file has.
    pub file: &'a str,
}

/// Why a mark does not prove that a file holds nobody's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkRejection {
    /// The text is not a mark of a known version.
    NotAMark,
    /// The file was marked by a version that recorded too little.
    OldVersion,
    /// The mark is that of another file.
    Copied,
    /// A run began to write to it and has not closed it.
    Open,
    /// It has another length.
    Resized {
        /// The length in the mark.
        size_bytes: u64,
    },
    /// It was written to.
    Changed,
}

impl fmt::Display for MarkRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAMark => f.write_str("its diskspd mark (extended attribute user.diskspd) is not valid"),
            Self::OldVersion => f.write_str(
                "its mark is from an older version of diskspd, whose marks do not show whether the file was changed later",
            ),
            Self::Copied => f.write_str("its diskspd mark names another file, so this file seems to be a copy"),
            Self::Open => f.write_str(
                "a diskspd run that wrote to the file is still active or was killed, so later changes cannot be \
                 detected",
            ),
            Self::Resized { size_bytes } => {
                write!(f, "the file has been resized (from {}) since diskspd last wrote to it", counted(*size_bytes, "byte"))
            }
            Self::Changed => f.write_str("another program has written to the file since diskspd did"),
        }
    }
}

impl Mark {
    /// The mark of a file, if it proves that this is the file that was marked, and that nothing has written to it
    /// since.
    ///
    /// # Errors
    ///
    /// Why it does not.
    pub fn fitting(value: &[u8], seen: MarkedFileState<'_>) -> Result<Self, MarkRejection> {
        let text = std::str::from_utf8(value).map_err(|_| MarkRejection::NotAMark)?;
        if text.starts_with("v1 ") {
            return Err(MarkRejection::OldVersion);
        }
        let mark: Self = text.parse()?;
        if mark.file != seen.file {
            return Err(MarkRejection::Copied);
        }
        if mark.state == MarkState::Open {
            return Err(MarkRejection::Open);
        }
        if mark.size_bytes != seen.size_bytes {
            return Err(MarkRejection::Resized { size_bytes: mark.size_bytes });
        }
        if mark.modified_ns != seen.modified_ns {
            return Err(MarkRejection::Changed);
        }
        Ok(mark)
    }

    /// The mark of a file that was marked as open for several hosts before they use it, if this is that file. Only its
    /// modification time ([`Mark::modified_ns`]) shows if it was written to since then.
    pub fn open(value: &[u8], seen: MarkedFileState<'_>) -> Option<Self> {
        let mark: Self = std::str::from_utf8(value).ok()?.parse().ok()?;
        let is_it = mark.state == MarkState::Open && mark.file == seen.file && mark.size_bytes == seen.size_bytes;
        is_it.then_some(mark)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, size_bytes, fill, modified_ns, file } = self;
        let state = match state {
            MarkState::Open => "open",
            MarkState::Closed => "closed",
        };
        let fill = fill.name();
        write!(f, "v2 state={state} size={size_bytes} fill={fill} modified={modified_ns} file={file}")
    }
}

impl FromStr for Mark {
    type Err = MarkRejection;

    /// Strict: a text that is not exactly one written by diskspd is foreign.
    fn from_str(text: &str) -> Result<Self, MarkRejection> {
        let mut parts = text.split(' ');
        if parts.next() != Some("v2") {
            return Err(MarkRejection::NotAMark);
        }
        let mut value = |key: &str| {
            let (found, value) = parts.next()?.split_once('=')?;
            (found == key).then_some(value)
        };
        let state = match value("state") {
            Some("open") => Some(MarkState::Open),
            Some("closed") => Some(MarkState::Closed),
            _ => None,
        };
        let mark = state.and_then(|state| {
            Some(Self {
                state,
                size_bytes: value("size")
                    .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
                    .parse()
                    .ok()?,
                fill: Fill::from_name(value("fill")?)?,
                modified_ns: value("modified")?.parse().ok()?,
                file: value("file").filter(|file| !file.is_empty())?.to_owned(),
            })
        });
        mark.filter(|mark| mark.to_string() == text).ok_or(MarkRejection::NotAMark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "inode=12,birth=1763851942.012345678";

    fn mark() -> Mark {
        let file = FILE.to_owned();
        Mark { state: MarkState::Closed, size_bytes: 1 << 30, fill: Fill::Ramp, modified_ns: 631_152_000_123, file }
    }

    #[test]
    fn a_mark_reads_back() {
        for fill in
            [Fill::Ramp, Fill::Zero, Fill::Random, Fill::Mixed, Fill::Reducible(crate::profile::Reduction::NONE)]
        {
            for size_bytes in [0, 1 << 30, u64::MAX] {
                for modified_ns in [0, -1, i64::MAX, i64::MIN] {
                    for state in [MarkState::Open, MarkState::Closed] {
                        let mark = Mark { state, size_bytes, fill, modified_ns, ..mark() };
                        assert_eq!(mark.to_string().parse(), Ok(mark));
                    }
                }
            }
        }
        let text = "v2 state=closed size=1073741824 fill=ramp modified=631152000123 \
                    file=inode=12,birth=1763851942.012345678";
        assert_eq!(mark().to_string(), text);
    }

    #[test]
    fn anything_else_is_no_mark() {
        for text in [
            "",
            "v2",
            "v3 state=closed size=1 fill=ramp modified=1 file=inode=1",
            "v2 state=closed size=1 fill=ramp modified=1 file=",
            "v2 state=closed size=1 fill=ramp modified=1 file=inode=1 ",
            "v2 state=closed size=1  fill=ramp modified=1 file=inode=1",
            "v2 state=shut size=1 fill=ramp modified=1 file=inode=1",
            "v2 state=closed size=+1 fill=ramp modified=1 file=inode=1",
            "v2 state=closed size=01 fill=ramp modified=1 file=inode=1",
            "v2 state=closed size= fill=ramp modified=1 file=inode=1",
            "v2 state=closed size=18446744073709551616 fill=ramp modified=1 file=inode=1",
            "v2 state=closed size=1 fill=Ramp modified=1 file=inode=1",
            "v2 state=closed fill=ramp size=1 modified=1 file=inode=1",
            "v2 state=closed size=1 fill=ramp modified=9223372036854775808 file=inode=1",
        ] {
            assert_eq!(text.parse::<Mark>(), Err(MarkRejection::NotAMark), "{text:?}");
        }
    }

    #[test]
    fn a_mark_fits_only_the_file_that_was_marked_and_not_changed_since() {
        let seen = MarkedFileState { size_bytes: 1 << 30, modified_ns: 631_152_000_123, file: FILE };
        let fitting = |mark: &Mark, seen| Mark::fitting(mark.to_string().as_bytes(), seen);
        assert_eq!(fitting(&mark(), seen), Ok(mark()));
        let resized = MarkRejection::Resized { size_bytes: 1 << 30 };
        for (other, expected) in [
            (MarkedFileState { size_bytes: 1, ..seen }, resized),
            (MarkedFileState { modified_ns: 631_152_000_124, ..seen }, MarkRejection::Changed),
            (MarkedFileState { file: "inode=13,birth=1763851942.012345678", ..seen }, MarkRejection::Copied),
        ] {
            assert_eq!(fitting(&mark(), other), Err(expected));
        }
        assert_eq!(fitting(&Mark { state: MarkState::Open, ..mark() }, seen), Err(MarkRejection::Open));
        let open = Mark { state: MarkState::Open, ..mark() };
        let shared = |mark: &Mark, seen| Mark::open(mark.to_string().as_bytes(), seen);
        assert_eq!(shared(&open, MarkedFileState { modified_ns: 5, ..seen }), Some(open.clone()));
        assert_eq!(shared(&mark(), seen), None, "closed");
        assert_eq!(shared(&open, MarkedFileState { size_bytes: 1, ..seen }), None);
        assert_eq!(shared(&open, MarkedFileState { file: "inode=13,birth=1763851942.012345678", ..seen }), None);
        assert_eq!(Mark::fitting(b"v1 size=1073741824 fill=ramp", seen), Err(MarkRejection::OldVersion));
        assert_eq!(Mark::fitting(b"\xff", seen), Err(MarkRejection::NotAMark));
    }
}
