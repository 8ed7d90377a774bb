//! A document being written: two blanks per level, one element per line.

use model::printable::{is_unprintable, xml_escape};
use std::fmt::Display;
use std::io::{self, Write};

/// Names and values of attributes, in order.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// Writes elements, with a line feed between lines and none after the last.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    depth: usize,
    is_empty: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, depth: 0, is_empty: true }
    }

    /// An element with child elements.
    pub(super) fn inside(
        &mut self,
        name: &str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.open(name, attributes)?;
        write!(self.out, ">")?;
        self.depth += 1;
        content(self)?;
        self.depth -= 1;
        self.begin_line()?;
        write!(self.out, "</{name}>")
    }

    /// An element with text.
    pub(super) fn element(&mut self, name: &str, content: impl Display) -> io::Result<()> {
        self.element_with(name, &[], content)
    }

    pub(super) fn element_with(
        &mut self,
        name: &str,
        attributes: Attributes<'_>,
        content: impl Display,
    ) -> io::Result<()> {
        self.open(name, attributes)?;
        write!(self.out, ">")?;
        write_escaped(self.out, &content.to_string(), Place::Content)?;
        write!(self.out, "</{name}>")
    }

    /// An element without content.
    pub(super) fn empty(&mut self, name: &str, attributes: Attributes<'_>) -> io::Result<()> {
        self.open(name, attributes)?;
        write!(self.out, "/>")
    }

    /// Elements that were written elsewhere in the same form, at this place's indentation.
    ///
    /// Only a line feed between two tags is indented: one inside a text belongs to it.
    pub(super) fn elements(&mut self, xml: &str) -> io::Result<()> {
        self.begin_line()?;
        let xml = xml.trim_end_matches('\n');
        let mut rest = xml;
        while let Some(at) = rest.find('\n') {
            let (line, after) = (&rest[..at], &rest[at + 1..]);
            self.out.write_all(line.as_bytes())?;
            if line.ends_with('>') && after.trim_start_matches(' ').starts_with('<') {
                self.begin_line()?;
            } else {
                writeln!(self.out)?;
            }
            rest = after;
        }
        self.out.write_all(rest.as_bytes())
    }

    fn open(&mut self, name: &str, attributes: Attributes<'_>) -> io::Result<()> {
        self.begin_line()?;
        write!(self.out, "<{name}")?;
        for (attribute, value) in attributes {
            write!(self.out, " {attribute}=\"")?;
            write_escaped(self.out, &value.to_string(), Place::Attribute)?;
            write!(self.out, "\"")?;
        }
        Ok(())
    }

    fn begin_line(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_empty, false) {
            writeln!(self.out)?;
        }
        (0..self.depth).try_for_each(|_| write!(self.out, "  "))
    }
}

/// The position of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Content,
    Attribute,
}

/// A text as it stands in an attribute.
pub(crate) fn in_attribute(text: &str) -> String {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail.
    let _ = write_escaped(&mut bytes, text, Place::Attribute);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Text; characters that XML 1.0 cannot hold become the replacement character.
fn write_escaped(out: &mut dyn Write, text: &str, place: Place) -> io::Result<()> {
    let mut plain_from = 0;
    for (at, c) in text.char_indices() {
        let replacement = match (c, place) {
            ('&', _) => "&amp;",
            ('<', _) => "&lt;",
            ('>', _) => "&gt;",
            // A reader would turn it into a line feed or a blank.
            ('\r', _) => "&#13;",
            ('"', Place::Attribute) => "&quot;",
            ('\n', Place::Attribute) => "&#10;",
            ('\t', Place::Attribute) => "&#9;",
            ('\t' | '\n', Place::Content) => continue,
            ('\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}', _) => "\u{fffd}",
            _ if is_unprintable(c) => &xml_escape(c),
            _ => continue,
        };
        out.write_all(&text.as_bytes()[plain_from..at])?;
        out.write_all(replacement.as_bytes())?;
        plain_from = at + c.len_utf8();
    }
    out.write_all(&text.as_bytes()[plain_from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(content: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        content(&mut Writer::new(&mut out)).expect("a vector takes everything");
        String::from_utf8(out).expect("what is written is UTF-8")
    }

    #[test]
    fn elements_are_indented_and_the_last_line_does_not_end() {
        let text = written(|xml| {
            xml.inside("A", &[("N", &1)], |xml| {
                xml.element("B", "x")?;
                xml.empty("C", &[("D", &"0x3"), ("E", &true)])
            })
        });
        assert_eq!(text, "<A N=\"1\">\n  <B>x</B>\n  <C D=\"0x3\" E=\"true\"/>\n</A>");
    }

    #[test]
    fn texts_come_back_from_a_reader_as_they_were() {
        let nasty = "a & b <c> \"d\" 'e' ]]> \t\n\r \u{e9}";
        let text = written(|xml| xml.element_with("A", &[("N", &nasty)], nasty));
        let document = roxmltree::Document::parse(&text).expect("it is well-formed");
        let root = document.root_element();
        assert_eq!((root.text(), root.attribute("N")), (Some(nasty), Some(nasty)));
        assert_eq!(written(|xml| xml.element("A", "\u{1}\u{ffff}")), "<A>\u{fffd}\u{fffd}</A>");
    }

    #[test]
    fn foreign_elements_are_indented_but_not_their_texts() {
        let inner = "<P>\n  <Path>two\n  lines</Path>\n</P>\n";
        let text = written(|xml| xml.inside("A", &[], |xml| xml.elements(inner)));
        assert_eq!(text, "<A>\n  <P>\n    <Path>two\n  lines</Path>\n  </P>\n</A>");
    }
}
