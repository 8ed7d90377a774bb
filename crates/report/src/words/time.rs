//! Dates, and words for unknown values.

use jiff::Timestamp;
use model::units::UnixTime;

const UNKNOWN: &str = "<unknown>";

/// The name, or a word for none.
pub fn known(name: Option<&str>) -> &str {
    name.filter(|name| !name.is_empty()).unwrap_or(UNKNOWN)
}

/// Date and time as results show them.
pub fn utc(time: UnixTime) -> String {
    // Outside the years -9999 to 9999 there is no calendar to print.
    Timestamp::from_nanosecond(time.0)
        .map_or_else(|_| UNKNOWN.to_owned(), |time| time.strftime("%Y/%m/%d %H:%M:%S UTC").to_string())
}
