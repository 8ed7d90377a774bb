//! `DiskSpd`'s XML documents, and ours.

mod element;
mod events;
mod linux;
mod statistics;
mod system;
mod thread;
mod time_span;

use super::{ReadError, finish};
use element::Element;
use model::result::{RunResult, Tool};
use roxmltree::{Document, ParsingOptions};
use std::borrow::Cow;

/// More nodes than the largest valid document has; bounds memory.
const NODES_MAX: u32 = 16_000_000;

/// Reads the document that begins at `starts_at`.
pub(super) fn read(text: &str, starts_at: usize) -> Result<RunResult, ReadError> {
    let (before, source) = text.split_at(starts_at);
    let lines_before = before.bytes().filter(|&byte| byte == b'\n').count() as u32;
    let options = || ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let malformed = |error: roxmltree::Error| {
        let at = error.pos();
        ReadError::Malformed { line: at.row.saturating_add(lines_before), column: at.col, reason: reason(&error) }
    };
    let repaired;
    let document = match Document::parse_with_options(source, options()) {
        Ok(document) => document,
        // Errors are reported for the original, not for the repaired text.
        Err(error) => {
            repaired = repair(source);
            match &repaired {
                Cow::Borrowed(_) => return Err(malformed(error)),
                Cow::Owned(text) => Document::parse_with_options(text, options()).map_err(|_| malformed(error))?,
            }
        }
    };
    results(Element::root(&document, lines_before))
}

/// The reason why a document is not well-formed.
fn reason(error: &roxmltree::Error) -> String {
    match error {
        roxmltree::Error::DtdDetected => "a result must not have a document type (<!DOCTYPE>)".to_owned(),
        roxmltree::Error::NodesLimitReached => format!("a result may have at most {NODES_MAX} XML nodes"),
        error => {
            // The message includes the position, which is reported separately.
            let text = error.to_string();
            text.rsplit_once(" at ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
        }
    }
}

/// Escapes the text that `DiskSpd` writes without escaping: names with a plain ampersand, and the word for an unknown
/// power scheme.
fn repair(source: &str) -> Cow<'_, str> {
    const UNKNOWN: &str = "Name=\"<unknown>\"";
    let mut repaired = String::with_capacity(source.len());
    let mut copied = 0;
    for (at, _) in source.match_indices(['&', 'N']) {
        let rest = &source[at..];
        let (original, replacement) = if rest.starts_with(UNKNOWN) {
            (UNKNOWN.len(), "Name=\"&lt;unknown&gt;\"")
        } else if rest.starts_with('&') && !is_reference(rest) {
            (1, "&amp;")
        } else {
            continue;
        };
        repaired.push_str(&source[copied..at]);
        repaired.push_str(replacement);
        copied = at + original;
    }
    if copied == 0 {
        return Cow::Borrowed(source);
    }
    repaired.push_str(&source[copied..]);
    Cow::Owned(repaired)
}

/// True for `&amp;`, `&#13;` and their kind.
fn is_reference(text: &str) -> bool {
    const NAME_MAX: usize = 10;
    let name = text.bytes().skip(1).take(NAME_MAX).take_while(|&byte| byte != b';');
    let mut length = 0;
    for byte in name {
        if !(byte.is_ascii_alphanumeric() || byte == b'#') {
            return false;
        }
        length += 1;
    }
    length > 0 && text.as_bytes().get(1 + length) == Some(&b';')
}

fn results(root: Element<'_, '_>) -> Result<RunResult, ReadError> {
    if root.name() != "Results" {
        return Err(root.error(format!("the root element is '{}', not 'Results'", root.name())));
    }
    let mut result = RunResult { tool: Tool { implementation: None, ..Tool::default() }, ..RunResult::default() };
    result.tool.version.clear();
    result.tool.version_date.clear();
    system::read(root.child("System"), &mut result)?;
    if let Some(profile) = root.child("Profile") {
        result.profile = profile.profile()?;
    }
    for (index, element) in root.children("TimeSpan").enumerate() {
        time_span::read(element, index, &mut result)?;
    }
    if result.time_spans.is_empty() {
        return Err(root.error("no timespan result found (element 'TimeSpan')".to_owned()));
    }
    finish::align(&mut result.profile, &mut result.time_spans);
    finish::totals(&mut result);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_escaped_is_repaired() {
        assert_eq!(repair("<a b=\"&lt;\">x &amp; y&#13;</a>"), Cow::Borrowed("<a b=\"&lt;\">x &amp; y&#13;</a>"));
        assert_eq!(repair("<Path>R&D & x;&</Path>"), "<Path>R&amp;D &amp; x;&amp;</Path>");
        assert_eq!(repair("<PowerScheme Name=\"<unknown>\"/>"), "<PowerScheme Name=\"&lt;unknown&gt;\"/>");
    }

    #[test]
    fn errors_name_the_place_in_the_whole_file() {
        let text = "progress ...\n\n<Results>\n  <System>\n  </Sys>\n</Results>";
        let Err(ReadError::Malformed { line, column, reason }) = read(text, 14) else { panic!("it is malformed") };
        assert_eq!((line, column), (5, 3), "{reason}");
        let text = "\n<Results>\n  <TimeSpan>\n    <TestTimeSeconds>x</TestTimeSeconds></TimeSpan></Results>";
        assert_eq!(
            read(text, 1).expect_err("x is no number").to_string(),
            "line 4, column 5: TestTimeSeconds: 'x' is not a number"
        );
    }
}
