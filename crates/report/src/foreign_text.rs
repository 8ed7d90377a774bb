//! Text from outside, for a report: unprintable characters become visible; markup is left to the template.

use model::printable::{printable, printable_bytes};
use std::path::Path;

/// A text with control characters as `\xNN`.
pub(crate) fn text(text: &str) -> String {
    printable(text).into_owned()
}

/// [`text`] of a path.
pub(crate) fn text_of_path(path: &Path) -> String {
    String::from_utf8_lossy(&printable_bytes(path.as_os_str().as_encoded_bytes())).into_owned()
}
