//! Text that is XML: two blanks per level, one element per line.

use model::printable::{is_unprintable, xml_escape};
use std::fmt::{Display, Write as _};

/// A document being written: two blanks per level, one element per line.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) text: String,
    depth: usize,
}

pub(crate) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

impl Writer {
    pub(crate) fn indent(&mut self) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
    }

    pub(crate) fn inside(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.indent();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(self.text, "<{name}>");
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.indent();
        let _ = writeln!(self.text, "</{name}>");
    }

    pub(crate) fn element(&mut self, name: &str, content: impl Display) {
        self.element_with(name, &[], content);
    }

    pub(crate) fn element_with(&mut self, name: &str, attributes: Attributes<'_>, content: impl Display) {
        self.open(name, attributes);
        let content = escaped(&content.to_string());
        let _ = writeln!(self.text, ">{content}</{name}>");
    }

    pub(crate) fn empty_with(&mut self, name: &str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.text.push_str("/>\n");
    }

    pub(crate) fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.indent();
        let _ = write!(self.text, "<{name}");
        for (attribute, value) in attributes {
            let _ = write!(self.text, " {attribute}=\"{value}\"");
        }
    }
}

/// True for characters that XML 1.0 has no way to write.
pub(crate) fn is_unsayable(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Text content; characters that XML 1.0 cannot hold become the replacement character.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A parser would make a line feed of it.
            '\r' => escaped.push_str("&#13;"),
            c if is_unsayable(c) => escaped.push(char::REPLACEMENT_CHARACTER),
            '\n' | '\t' => escaped.push(c),
            c if is_unprintable(c) => escaped.push_str(&xml_escape(c)),
            c => escaped.push(c),
        }
    }
    escaped
}
