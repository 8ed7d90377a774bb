//! An element and its accessors.

use crate::{ReadError, number};
use model::profile::Profile;
use roxmltree::{Document, Node};
use std::str::FromStr;

/// An element of the document.
#[derive(Clone, Copy)]
pub(super) struct Element<'a, 'input> {
    node: Node<'a, 'input>,
    /// Lines of the file before the document.
    lines_before: u32,
}

impl<'a, 'input> Element<'a, 'input> {
    pub(super) fn root(document: &'a Document<'input>, lines_before: u32) -> Self {
        Self { node: document.root_element(), lines_before }
    }

    pub(super) fn name(self) -> &'a str {
        self.node.tag_name().name()
    }

    /// All children, in order.
    pub(super) fn all_children(self) -> impl Iterator<Item = Self> {
        let lines_before = self.lines_before;
        self.node.children().filter(Node::is_element).map(move |node| Self { node, lines_before })
    }

    /// All children with this name.
    pub(super) fn children(self, name: &'static str) -> impl Iterator<Item = Self> {
        self.all_children().filter(move |child| child.name() == name)
    }

    pub(super) fn child(self, name: &'static str) -> Option<Self> {
        self.children(name).next()
    }

    pub(super) fn text(self) -> &'a str {
        self.node.text().unwrap_or_default()
    }

    /// The text of a child.
    pub(super) fn child_text(self, name: &'static str) -> Option<&'a str> {
        self.child(name).map(Self::text)
    }

    /// The text of a child, if it is not empty or unknown.
    pub(super) fn known_text(self, name: &'static str) -> Option<String> {
        self.child_text(name).filter(|text| !text.is_empty() && *text != "<unknown>").map(str::to_owned)
    }

    pub(super) fn is_true(self, name: &'static str) -> bool {
        self.child_text(name).is_some_and(is_true)
    }

    /// A whole number in a child.
    pub(super) fn whole<T: FromStr>(self, name: &'static str) -> Result<Option<T>, ReadError> {
        self.child(name).map(Self::whole_text).transpose()
    }

    /// The text as a whole number.
    pub(super) fn whole_text<T: FromStr>(self) -> Result<T, ReadError> {
        number::whole(self.text()).map_err(|reason| self.error_at_name(&reason))
    }

    /// A number in a child; `None` also for NaN and infinities.
    pub(super) fn real(self, name: &'static str) -> Result<Option<f64>, ReadError> {
        let Some(child) = self.child(name) else { return Ok(None) };
        number::real(child.text()).map_err(|reason| child.error_at_name(&reason))
    }

    pub(super) fn attribute(self, name: &str) -> Option<&'a str> {
        self.node.attribute(name)
    }

    /// A whole number in an attribute.
    pub(super) fn whole_attribute<T: FromStr>(self, name: &str) -> Result<Option<T>, ReadError> {
        let parsed = self.attribute(name).map(number::whole).transpose();
        parsed.map_err(|reason| self.error_at_attribute(name, &reason))
    }

    /// A number in an attribute.
    pub(super) fn real_attribute(self, name: &str) -> Result<Option<f64>, ReadError> {
        let parsed = self.attribute(name).map(number::real).transpose();
        parsed.map(Option::flatten).map_err(|reason| self.error_at_attribute(name, &reason))
    }

    /// A mask of CPUs: `0x3`.
    pub(super) fn mask(self, name: &str) -> Result<Option<u64>, ReadError> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).unwrap_or(text);
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mask = is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten();
        let wrong = || self.error_at_attribute(name, &format!("'{}' is not a hexadecimal mask", number::shown(text)));
        mask.ok_or_else(wrong).map(Some)
    }

    /// This element as a profile.
    pub(super) fn profile(self) -> Result<Profile, ReadError> {
        settings::xml::read_profile_of_results(self.node).map_err(|(at, reason)| ReadError::Malformed {
            line: at.line.saturating_add(self.lines_before),
            column: at.column,
            reason,
        })
    }

    /// An error at this element.
    pub(super) fn error(self, reason: String) -> ReadError {
        let at = self.node.document().text_pos_at(self.node.range().start);
        ReadError::Malformed { line: at.row.saturating_add(self.lines_before), column: at.col, reason }
    }

    pub(super) fn error_at_name(self, reason: &str) -> ReadError {
        self.error(format!("{}: {reason}", self.name()))
    }

    fn error_at_attribute(self, attribute: &str, reason: &str) -> ReadError {
        self.error(format!("{}, {attribute}: {reason}", self.name()))
    }
}

/// True for a flag as in XML Schema and `DiskSpd`.
pub(super) fn is_true(text: &str) -> bool {
    let text = text.trim();
    text == "1" || text.eq_ignore_ascii_case("true")
}
