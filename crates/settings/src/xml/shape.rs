//! Limits on a document before it is parsed: nesting of elements, and attributes of one element. The parser checks that
//! it is well-formed.

use crate::element::fault::{DocumentError, Position};
use model::limits::{PROFILE_ATTRIBUTES_MAX, PROFILE_DEPTH_MAX};

/// Refuses a document that costs the parser more than any profile does.
pub(super) fn check(text: &str) -> Result<(), DocumentError> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        let end = if let Some(comment) = rest.strip_prefix("<!--") {
            comment.find("-->").map(|end| end + 7)
        } else if let Some(data) = rest.strip_prefix("<![CDATA[") {
            data.find("]]>").map(|end| end + 12)
        } else if let Some(instruction) = rest.strip_prefix("<?") {
            instruction.find("?>").map(|end| end + 4)
        } else if rest.starts_with("<!") {
            // A document type: the parser stops here too.
            return Ok(());
        } else {
            let tag = Tag::parse(rest);
            if tag.attributes > PROFILE_ATTRIBUTES_MAX {
                let message = format!("an element has more than {PROFILE_ATTRIBUTES_MAX} attributes");
                return Err(DocumentError::at(Position::behind(&text[..start]), message));
            }
            if rest.starts_with("</") {
                depth = depth.saturating_sub(1);
            } else if depth == PROFILE_DEPTH_MAX {
                let message = format!("elements are nested deeper than {PROFILE_DEPTH_MAX}");
                return Err(DocumentError::at(Position::behind(&text[..start]), message));
            } else if !tag.is_empty_element {
                depth += 1;
            }
            tag.length
        };
        let Some(end) = end else { return Ok(()) };
        at = start + end;
    }
    Ok(())
}

/// Text between `<` and `>`.
struct Tag {
    /// Bytes up to and including `>`; `None` if there is none.
    length: Option<usize>,
    attributes: usize,
    is_empty_element: bool,
}

impl Tag {
    /// The tag at the beginning of `text`.
    fn parse(text: &str) -> Self {
        let mut tag = Self { length: None, attributes: 0, is_empty_element: false };
        let mut quote = None;
        let mut before = b'<';
        for (index, byte) in text.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) => {
                    if byte == open {
                        quote = None;
                    }
                }
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => tag.attributes += 1,
                (None, b'>') => {
                    tag.length = Some(index + 1);
                    tag.is_empty_element = before == b'/';
                    return tag;
                }
                (None, _) => {}
            }
            before = byte;
        }
        tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth))
    }

    #[test]
    fn elements_nest_32_deep_and_no_deeper() {
        assert!(check(&nested(32)).is_ok());
        let refused = check(&nested(33)).unwrap_err();
        assert_eq!(refused.position, Some(Position { line: 1, column: 97 }));
        assert!(check(&nested(100_000)).is_err());
        assert!(check(&nested(31).replacen("</a>", "<b/></a>", 1)).is_ok());
        assert!(check(&nested(32).replacen("</a>", "<b/></a>", 1)).is_err());
    }

    #[test]
    fn only_open_elements_count() {
        let siblings = "<a x='>' y=\"<\"/><!-- <a> --><![CDATA[<a>]]><?p <a>?><b></b>".repeat(100);
        assert!(check(&format!("<r>{siblings}</r>")).is_ok());
        for unfinished in ["<", "<a", "<!--", "<![CDATA[", "<?", "<!DOCTYPE", "<a '", "</a></a>"] {
            assert!(check(unfinished).is_ok(), "{unfinished}");
        }
    }

    #[test]
    fn an_element_has_few_attributes() {
        let with = |count: usize| format!("<a {}/>", "x='=' ".repeat(count));
        assert!(check(&with(16)).is_ok());
        assert!(check(&with(17)).is_err());
    }
}
