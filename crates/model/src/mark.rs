//! The mark that a file made by this tool carries, as text: `v1 size=1073741824 fill=ramp`.
//!
//! It is stored in the extended attribute [`ATTRIBUTE`]. Who finds it knows that the file's
//! content is nobody's data.

use crate::facts::Fill;
use std::fmt;
use std::str::FromStr;

/// Name of the extended attribute.
pub const ATTRIBUTE: &str = "user.diskspd";

/// What the file was made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its length.
    pub size_bytes: u64,
    /// Its content.
    pub fill: Fill,
}

/// The text is no mark of a version that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAMark;

impl fmt::Display for NotAMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is not of the form 'v1 size=<bytes> fill=<ramp|zero|random|mixed>'")
    }
}

impl std::error::Error for NotAMark {}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v1 size={} fill={}", self.size_bytes, self.fill.name())
    }
}

impl FromStr for Mark {
    type Err = NotAMark;

    /// Strict: a text that is not exactly one of ours is somebody else's, and its file is not
    /// touched.
    fn from_str(text: &str) -> Result<Self, NotAMark> {
        let mut words = text.split(' ');
        let (Some("v1"), Some(size), Some(fill), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(NotAMark);
        };
        let digits = size.strip_prefix("size=").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let size_bytes = digits.and_then(|digits| digits.parse().ok()).ok_or(NotAMark)?;
        let fill = fill.strip_prefix("fill=").and_then(Fill::from_name).ok_or(NotAMark)?;
        Ok(Self { size_bytes, fill })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back() {
        for fill in [Fill::Ramp, Fill::Zero, Fill::Random] {
            for size_bytes in [0, 1 << 30, u64::MAX] {
                let mark = Mark { size_bytes, fill };
                assert_eq!(mark.to_string().parse(), Ok(mark));
            }
        }
        assert_eq!(Mark { size_bytes: 1 << 30, fill: Fill::Ramp }.to_string(), "v1 size=1073741824 fill=ramp");
    }

    #[test]
    fn anything_else_is_no_mark() {
        for text in [
            "",
            "v1",
            "v2 size=1 fill=ramp",
            "v1 size=1 fill=ramp ",
            "v1 size=1  fill=ramp",
            "v1 size=+1 fill=ramp",
            "v1 size= fill=ramp",
            "v1 size=18446744073709551616 fill=ramp",
            "v1 size=1 fill=Ramp",
            "v1 fill=ramp size=1",
        ] {
            assert_eq!(text.parse::<Mark>(), Err(NotAMark), "{text:?}");
        }
    }
}
