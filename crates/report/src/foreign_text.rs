//! Text that comes from outside, for a report: what is no text becomes visible, and markup is the template's
//! business.

use std::path::Path;

/// Bytes as text; control characters as `\xNN`.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut shown = Vec::new();
    // Writing to a vector cannot fail.
    let _ = crate::words::foreign::write_bytes(&mut shown, bytes);
    String::from_utf8_lossy(&shown).into_owned()
}

/// [`text`] of a path.
pub(crate) fn text_of_path(path: &Path) -> String {
    text(path.as_os_str().as_encoded_bytes())
}
