//! Text from outside, such as names of files, arguments and foreign results, without characters that a terminal or an
//! editor would obey instead of showing them.

use crate::shell::quoted;
use std::borrow::Cow;
use std::fmt::Display;

/// True for control characters (C0, DEL, C1), line and paragraph separators, and characters that change the direction
/// of text.
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// A text within a line: unprintable characters as `\xNN` or `\u{NNNN}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unprintable(character) {
            shown.push_str(&as_text(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Most characters of a text from outside that a message repeats.
pub const REPEATED_CHARACTERS_MAX: usize = 200;

/// A text with `…` in place of its middle if it has more than `characters_max` characters. The end of an error of a
/// parser states what is expected, and where.
pub fn clipped(text: &str, characters_max: usize) -> Cow<'_, str> {
    if text.char_indices().nth(characters_max).is_none() {
        return Cow::Borrowed(text);
    }
    let tail = characters_max / 3;
    let start = text.char_indices().nth(characters_max - tail).map_or(text.len(), |(index, _)| index);
    let end = text.char_indices().rev().take(tail).last().map_or(text.len(), |(index, _)| index);
    Cow::Owned(format!("{}…{}", &text[..start], &text[end..]))
}

/// Breaks a text at blanks into lines of at most `columns` characters; a longer word has a line to itself. Blanks
/// within a line stay: they may be those of a name.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.trim_end().split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + length <= columns => line.push_str(word),
            _ => lines.push(word.to_owned()),
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// An error whose text repeats a document, as those of parsers do.
pub fn clipped_error(error: &impl Display) -> String {
    clipped(&error.to_string(), REPEATED_CHARACTERS_MAX).into_owned()
}

/// Words of a command line as they would be typed.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// The words of a [`command_line`]; `None` if a quotation does not end.
pub fn words_of(command_line: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_quoted, mut is_within) = (false, false);
    let mut characters = command_line.chars();
    while let Some(character) = characters.next() {
        if character == ' ' && !is_quoted {
            is_within = false;
            continue;
        }
        if !is_within {
            words.push(String::new());
            is_within = true;
        }
        let word = words.last_mut()?;
        match character {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(characters.next()),
            other => word.push(other),
        }
    }
    (!is_quoted).then_some(words)
}

/// The value of a label in `OpenMetrics` text, within its quotation marks: `prometheus-client` writes it as it is.
pub fn metric_label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// [`printable`] of bytes, of which those that are not UTF-8 stay as they are.
pub fn printable_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    escaped(bytes, is_unprintable, as_text)
}

/// A text of many lines: line feeds and tabs stay.
pub fn printable_lines(bytes: &[u8]) -> Cow<'_, [u8]> {
    escaped(bytes, |character| is_unprintable(character) && !matches!(character, '\n' | '\t'), as_text)
}

/// A JSON document: its strings have escapes in place of unprintable characters, and so the same value.
pub fn printable_json(bytes: &[u8]) -> Cow<'_, [u8]> {
    // Those below U+0020 are escaped by every writer, or stand between values.
    escaped(bytes, |character| character >= '\u{7f}' && is_unprintable(character), json_escape)
}

/// Escape of an unprintable character in a JSON string.
pub fn json_escape(character: char) -> String {
    format!("\\u{:04x}", u32::from(character))
}

/// Escape of an unprintable character in content of XML.
pub fn xml_escape(character: char) -> String {
    format!("&#x{:x};", u32::from(character))
}

fn as_text(character: char) -> String {
    match u32::from(character) {
        code @ 0..=0xff => format!("\\x{code:02x}"),
        code => format!("\\u{{{code:x}}}"),
    }
}

fn escaped(bytes: &[u8], is_escaped: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> Cow<'_, [u8]> {
    // ASCII, or the first byte of what else is unprintable.
    let may_be =
        |&byte: &u8| if byte < 0x80 { is_escaped(char::from(byte)) } else { matches!(byte, 0xc2 | 0xd8 | 0xe2) };
    if !bytes.iter().any(may_be) {
        return Cow::Borrowed(bytes);
    }
    let mut shown = Vec::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(&is_escaped) {
            let (before, from) = rest.split_at(at);
            shown.extend_from_slice(before.as_bytes());
            let mut characters = from.chars();
            shown.extend(characters.next().map(&escape).unwrap_or_default().bytes());
            rest = characters.as_str();
        }
        shown.extend_from_slice(rest.as_bytes());
        shown.extend_from_slice(chunk.invalid());
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_wrapped_between_words() {
        assert_eq!(wrapped("aa bb cc", 5), ["aa bb", "cc"]);
        assert_eq!(wrapped("aaaaaaa b", 3), ["aaaaaaa", "b"]);
        assert_eq!(wrapped("", 3), Vec::<String>::new());
        assert_eq!(wrapped("ERROR: one two three", 10), ["ERROR: one", "two three"]);
        assert_eq!(wrapped("to allow: --destroy=/a/long/name; x", 12), ["to allow:", "--destroy=/a/long/name;", "x"]);
        assert_eq!(wrapped("'a  b'  c", 80), ["'a  b'  c"]);
    }

    #[test]
    fn what_a_terminal_obeys_becomes_visible() {
        for (text, shown) in [
            ("größe 1 µs … ±", "größe 1 µs … ±"),
            ("a\nb\tc\r", r"a\x0ab\x09c\x0d"),
            ("\u{1b}[2J\u{7f}\u{0}", r"\x1b[2J\x7f\x00"),
            ("\u{80}\u{9b}31m\u{9f}\u{a0}", "\\x80\\x9b31m\\x9f\u{a0}"),
            ("a\u{2028}b\u{2029}c", r"a\u{2028}b\u{2029}c"),
            ("abc\u{202e}txt.exe\u{2069}\u{200f}\u{61c}", r"abc\u{202e}txt.exe\u{2069}\u{200f}\u{61c}"),
        ] {
            assert_eq!(printable(text), shown);
            assert_eq!(printable_bytes(text.as_bytes()), shown.as_bytes());
        }
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(clipped("größe: 123", 10), "größe: 123");
        assert_eq!(clipped("größe: 1234567ü", 9), "größe:…67ü");
        assert_eq!(clipped("abc", 2), "ab…");
        assert_eq!(clipped("abc", 0), "…");
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, shown) in [("-o8", "-o8"), ("a b", "'a b'"), ("", "''"), ("it's", r"'it'\''s'"), ("$x", "'$x'")] {
            assert_eq!(quoted(word), shown);
        }
        assert_eq!(command_line(["diskspd", "--stream", "a: -b4K", "a.dat"]), "diskspd --stream 'a: -b4K' a.dat");
    }

    #[test]
    fn a_quotation_that_does_not_end_is_no_command_line() {
        assert_eq!(words_of("  a  'b"), None);
        assert_eq!(words_of("  a  b"), Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn bytes_that_are_not_text_stay() {
        assert_eq!(printable_bytes(b"caf\xe9 \xff\x1b.dat"), b"caf\xe9 \xff\\x1b.dat".as_slice());
        assert_eq!(printable_lines(b"a\tb\r\n\x1b\xc2\x9b\n"), b"a\tb\\x0d\n\\x1b\\x9b\n".as_slice());
    }

    proptest! {
        #[test]
        fn a_command_line_has_the_words_it_was_made_of(words: Vec<String>) {
            let line = command_line(words.iter().map(String::as_str));
            prop_assert_eq!(words_of(&line), Some(words));
        }

        #[test]
        fn nothing_unprintable_is_left(text: String) {
            prop_assert!(!printable(&text).contains(is_unprintable));
            let lines = printable_lines(text.as_bytes()).into_owned();
            let left = String::from_utf8(lines).unwrap();
            prop_assert!(!left.contains(|c| is_unprintable(c) && !matches!(c, '\n' | '\t')));
        }
    }
}
