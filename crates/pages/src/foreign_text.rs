//! Text that comes from outside, for a page: what is no text becomes visible, and markup is the template's
//! business.

use std::path::Path;

/// Bytes as text; control characters as `\xNN`.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut shown = Vec::new();
    // Writing to a vector cannot fail.
    let _ = render::foreign::write_bytes(&mut shown, bytes);
    String::from_utf8_lossy(&shown).into_owned()
}

/// [`text`] of a path.
pub(super) fn text_of_path(path: &Path) -> String {
    text(path.as_os_str().as_encoded_bytes())
}

/// A word quoted for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, shown) in [("-o8", "-o8"), ("a b", "'a b'"), ("", "''"), ("it's", r"'it'\''s'"), ("$x", "'$x'")] {
            assert_eq!(quoted(word), shown);
        }
    }
}
