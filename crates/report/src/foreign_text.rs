//! Text that comes from outside, for a report: what is no text becomes visible, and markup is the template's
//! business.

use model::printable::printable_bytes;
use std::path::Path;

/// Bytes as text; control characters as `\xNN`.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&printable_bytes(bytes)).into_owned()
}

/// [`text`] of a path.
pub(crate) fn text_of_path(path: &Path) -> String {
    text(path.as_os_str().as_encoded_bytes())
}
