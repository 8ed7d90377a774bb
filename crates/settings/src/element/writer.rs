//! Elements as XML: two blanks per level, one element per line.

use super::tree::Element;
use model::printable::{is_unprintable, xml_escape};
use std::fmt::Write as _;

impl Element {
    /// The element with its content.
    pub(crate) fn to_xml(&self) -> String {
        let mut text = String::new();
        self.write_xml(&mut text, 0);
        text
    }

    fn write_xml(&self, text: &mut String, depth: usize) {
        let (name, indent) = (&self.name, "  ".repeat(depth));
        // Writing to a String cannot fail, here and below.
        let _ = write!(text, "{indent}<{name}");
        for (attribute, value) in &self.attributes {
            let _ = write!(text, " {attribute}=\"{value}\"");
        }
        if !self.texts.is_empty() {
            let _ = writeln!(text, ">{}</{name}>", escaped(&self.text()));
        } else if !self.attributes.is_empty() {
            text.push_str("/>\n");
        } else {
            text.push_str(">\n");
            self.children.iter().for_each(|child| child.write_xml(text, depth + 1));
            let _ = writeln!(text, "{indent}</{name}>");
        }
    }
}

/// Text content without characters that XML cannot hold.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // A parser would convert it to a line feed.
            '\r' => escaped.push_str("&#13;"),
            '\n' | '\t' => escaped.push(c),
            c if is_unprintable(c) => escaped.push_str(&xml_escape(c)),
            c => escaped.push(c),
        }
    }
    escaped
}
