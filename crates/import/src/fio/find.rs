//! Finds the documents in the output of fio: messages may be before, between and after them.

use std::ops::Range;

/// Whole documents, and a flag for a truncated last one.
pub(super) struct FoundDocuments {
    pub(super) documents: usize,
    pub(super) last: Option<Range<usize>>,
    pub(super) is_cut: bool,
}

/// Finds objects that begin with a name: messages of fio have none.
pub(super) fn find(text: &str) -> FoundDocuments {
    let mut found = FoundDocuments { documents: 0, last: None, is_cut: false };
    let mut at = 0;
    while let Some(start) = text[at..].find('{').map(|place| at + place) {
        if !text[start + 1..].trim_start().starts_with('"') {
            at = start + 1;
            continue;
        }
        let Some(length) = end(&text.as_bytes()[start..]) else {
            found.is_cut = true;
            break;
        };
        at = start + length;
        found.documents += 1;
        found.last = Some(start..at);
    }
    found
}

/// The length of the object that begins here; `None` if it has no end.
fn end(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// A document as valid JSON: C libraries print `nan`, `-nan` and `inf`, which become null, and fio does not escape all
/// control characters.
pub(super) fn mended(document: &str) -> String {
    let mut mended = String::with_capacity(document.len());
    let mut rest = document;
    while let Some(quote) = rest.find('"') {
        let (before, text) = rest.split_at(quote);
        without_words(before, &mut mended);
        let length = text_length(text.as_bytes());
        mended.extend(text[..length].chars().map(|character| if character < ' ' { ' ' } else { character }));
        rest = &text[length..];
    }
    without_words(rest, &mut mended);
    mended
}

/// The length of a text including its quotes.
fn text_length(bytes: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = bytes.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(bytes.len(), |end| end + 2)
}

/// Copies the parts outside of texts, with null in place of `nan` and `inf`.
fn without_words(part: &str, to: &mut String) {
    let is_of_word = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    let mut rest = part;
    while let Some(start) = rest.find(is_of_word) {
        to.push_str(&rest[..start]);
        let word = &rest[start..];
        let (word, behind) = word.split_at(word.find(|character| !is_of_word(character)).unwrap_or(word.len()));
        let name = word.trim_start_matches(['+', '-']);
        let is_no_number = ["nan", "inf", "infinity"].iter().any(|none| name.eq_ignore_ascii_case(none));
        to.push_str(if is_no_number { "null" } else { word });
        rest = behind;
    }
    to.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_document_is_found() {
        let text = "fio: a {brace}\nnote: x\n{ \"a\": \"}\\\"\" }\n{\"b\":[{}]}\nbye\n";
        let found = find(text);
        assert_eq!((found.documents, found.is_cut), (2, false));
        assert_eq!(found.last.map(|range| &text[range]), Some("{\"b\":[{}]}"));
        let cut = find("{\"a\": 1} {\"b\": [");
        assert_eq!((cut.documents, cut.is_cut, cut.last), (1, true, Some(0..8)));
        assert!(find("no { document }").last.is_none());
    }

    #[test]
    fn words_for_no_number_become_null() {
        let text = r#"{"nan": nan, "a": -nan, "b":[inf,-inf ,1e-5], "c": "inf \"nan", "d": true}"#;
        let expected = r#"{"nan": null, "a": null, "b":[null,null ,1e-5], "c": "inf \"nan", "d": true}"#;
        assert_eq!(mended(text), expected);
        assert_eq!(mended("\"a\tb\" \"open"), "\"a b\" \"open");
    }
}
