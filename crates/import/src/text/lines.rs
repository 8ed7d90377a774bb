//! A text, line by line, with positions for messages.

use crate::ReadError;

/// The rest of a text.
pub(super) struct Lines<'a> {
    rest: &'a str,
    /// Number of lines taken.
    taken: u32,
}

/// One line without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// From 1.
    number: u32,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, taken: 0 }
    }

    /// The next line, without taking it.
    pub(super) fn peek(&self) -> Option<Line<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let text = self.rest.split('\n').next().unwrap_or_default();
        Some(Line { text, number: self.taken.saturating_add(1) })
    }

    /// Takes the next line.
    pub(super) fn take(&mut self) -> Option<Line<'a>> {
        let line = self.peek()?;
        self.rest = self.rest.get(line.text.len() + 1..).unwrap_or_default();
        self.taken = line.number;
        Some(line)
    }

    /// An error at the end of the lines taken.
    pub(super) fn error_here(&self, reason: &str) -> ReadError {
        ReadError::Malformed { line: self.taken.max(1), column: 1, reason: reason.to_owned() }
    }
}

impl<'a> Line<'a> {
    pub(super) fn content(self) -> &'a str {
        self.text.trim()
    }

    /// The cells of a table, without the blanks around them.
    pub(super) fn cells(self) -> Vec<&'a str> {
        self.text.split('|').map(str::trim).collect()
    }

    /// True for the rules of tables.
    pub(super) fn is_rule(self) -> bool {
        let content = self.content();
        content.len() > 1 && content.bytes().all(|byte| byte == b'-')
    }

    /// An error at a part of the line.
    pub(super) fn error(self, part: &str, reason: impl Into<String>) -> ReadError {
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        let before = offset.and_then(|offset| self.text.get(..offset)).unwrap_or_default();
        let column = u32::try_from(before.chars().count()).map_or(u32::MAX, |characters| characters.saturating_add(1));
        ReadError::Malformed { line: self.number, column, reason: reason.into() }
    }

    /// A part of the line, parsed or refused.
    pub(super) fn parse<T>(self, part: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, ReadError> {
        parse(part).map_err(|reason| self.error(part, reason))
    }
}

/// The text between a prefix and a suffix.
pub(super) fn between<'a>(text: &'a str, beginning: &str, end: &str) -> Option<&'a str> {
    text.strip_prefix(beginning)?.strip_suffix(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_places() {
        let mut lines = Lines::new("a\n\n  é | 12x |\nlast");
        assert_eq!(lines.take().map(|line| line.text), Some("a"));
        assert_eq!(lines.take().map(|line| line.text), Some(""));
        let line = lines.take().expect("there is a third line");
        let cells = line.cells();
        assert_eq!(cells, ["é", "12x", ""]);
        let expected = ReadError::Malformed { line: 3, column: 7, reason: "no".to_owned() };
        assert_eq!(line.error(cells[1], "no"), expected);
        assert_eq!(lines.peek().map(Line::content), Some("last"));
        assert!(lines.take().is_some() && lines.take().is_none());
    }

    #[test]
    fn rules_are_dashes() {
        let line = |text| Line { text, number: 1 };
        assert!(line("  ------ ").is_rule());
        assert!(!line("-").is_rule() && !line("").is_rule() && !line("- -").is_rule());
    }
}
