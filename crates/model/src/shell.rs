//! Words of a command line that can be pasted into a shell.

use std::borrow::Cow;

/// The word, in quotes if a shell would not take it as it is.
pub fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/+@%,=-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_need_quotes_get_them() {
        for (word, expected) in [
            ("/data/disk.img-part1", "/data/disk.img-part1"),
            ("eui.0025", "eui.0025"),
            ("two words", "'two words'"),
            ("it's;rm", r"'it'\''s;rm'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
