//! Walks a document by the tables and collects every fault.

use super::catalogue;
use super::element::{Content, Element};
use super::fault::{Position, Refused, XmlFault, quoted};
use super::value;
use crate::nearness::near;
use model::limits::PROFILE_FAULTS_MAX;
use roxmltree::Node;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Attributes of this namespace tell editors where the schema is; they say nothing to us.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// A document being read.
pub(super) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// Offset of the first byte of each line.
    line_starts: Vec<usize>,
    faults: Vec<XmlFault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        let behind_feeds = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { file, text, line_starts: std::iter::once(0).chain(behind_feeds).collect(), faults: Vec::new() }
    }

    /// Everything that was wrong.
    pub(super) fn into_faults(self) -> Vec<XmlFault> {
        self.faults
    }

    fn position(&self, offset: usize) -> Position {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |before| before.chars().count());
        Position { line: line as u32, column: 1 + column as u32 }
    }

    fn push(&mut self, position: Option<Position>, element: Option<String>, message: String) {
        self.faults.push(XmlFault { file: self.file.to_owned(), position, element, message });
    }

    /// The document cannot be read.
    pub(super) fn refuse(&mut self, refused: Refused) {
        self.push(refused.position, None, refused.message);
    }

    /// True if nobody would read more faults. Those that are left take time to find, so that it is
    /// better not to look for them.
    fn is_full(&self) -> bool {
        self.faults.len() > PROFILE_FAULTS_MAX
    }

    /// Something is wrong with an element.
    pub(super) fn fault(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        if self.is_full() {
            return;
        }
        if self.faults.len() == PROFILE_FAULTS_MAX {
            self.push(
                None,
                None,
                format!("there are more than {PROFILE_FAULTS_MAX} faults; the others are not listed"),
            );
            return;
        }
        let position = self.position(node.range().start);
        self.push(Some(position), Some(node.tag_name().name().to_owned()), message.into());
    }

    /// Reads all children of `parent` into `into`: in any order, each at most once.
    pub(super) fn children<T>(&mut self, parent: Node<'_, '_>, table: &[Element<T>], into: &mut T) {
        self.no_text(parent);
        let mut seen: Vec<Option<Node<'_, '_>>> = vec![None; table.len()];
        for child in parent.children().filter(Node::is_element) {
            if self.is_full() {
                return;
            }
            let Some(index) = table.iter().position(|element| is_named(child, element.name)) else {
                self.unknown(child, parent, &names(table));
                continue;
            };
            if let Some(first) = seen[index] {
                let line = self.position(first.range().start).line;
                let holder = parent.tag_name().name();
                self.fault(child, format!("given twice in this <{holder}>; the first is in line {line}"));
                continue;
            }
            seen[index] = Some(child);
            self.element(child, &table[index], into);
        }
        for (element, _) in table.iter().zip(&seen).filter(|(element, seen)| element.is_required && seen.is_none()) {
            self.fault(parent, format!("<{}> is missing in it", element.name));
        }
    }

    fn element<T>(&mut self, node: Node<'_, '_>, element: &Element<T>, into: &mut T) {
        self.attributes(node, element.attributes);
        match &element.content {
            Content::Flag(set) => {
                if let Some(flag) = self.flag(node) {
                    set(into, flag);
                }
            }
            Content::U32(range, set) => {
                if let Some(number) = self.number(node, range) {
                    set(into, number);
                }
            }
            Content::U64(range, set) => {
                if let Some(number) = self.number(node, range) {
                    set(into, number);
                }
            }
            Content::Word(words) => {
                let Some(text) = self.text(node) else { return };
                let word = value::trimmed(&text);
                match words.iter().find(|(known, _)| *known == word) {
                    Some((_, set)) => set(into),
                    None => self.fault(node, value::expected_word(word, words.iter().map(|(word, _)| *word))),
                }
            }
            Content::Text(set) => {
                if let Some(text) = self.text(node) {
                    set(into, text);
                }
            }
            Content::Own(read) => read(self, node, into),
        }
    }

    /// The items of a list: at least one of the elements in `allowed`, each with its attributes.
    pub(super) fn items<'n, 'input>(
        &mut self,
        list: Node<'n, 'input>,
        allowed: &[(&'static str, &[&str])],
    ) -> Vec<Node<'n, 'input>> {
        self.no_text(list);
        let names: Vec<&'static str> = allowed.iter().map(|(name, _)| *name).collect();
        let mut items = Vec::new();
        for child in list.children().filter(Node::is_element) {
            if self.is_full() {
                return items;
            }
            match allowed.iter().find(|(name, _)| is_named(child, name)) {
                Some((_, attributes)) => {
                    self.attributes(child, attributes);
                    items.push(child);
                }
                None => self.unknown(child, list, &names),
            }
        }
        if !list.children().any(|child| child.is_element()) {
            self.fault(list, format!("it is empty; at least one {} is needed", alternatives(&names)));
        }
        items
    }

    fn unknown(&mut self, child: Node<'_, '_>, parent: Node<'_, '_>, allowed: &[&'static str]) {
        let name = child.tag_name().name();
        let holder = parent.tag_name().name();
        if child.tag_name().namespace().is_some() {
            self.fault(child, "it is in an XML namespace; profiles use none");
            return;
        }
        let lower = name.to_ascii_lowercase();
        let is_near =
            |known: &&&'static str| !near(&lower, std::iter::once(known.to_ascii_lowercase().as_str())).is_empty();
        let nearest: Vec<&'static str> = allowed.iter().filter(is_near).copied().collect();
        let elsewhere = catalogue::holders_of(name);
        let hint = if !elsewhere.is_empty() {
            format!("it belongs into {}; ", alternatives(&elsewhere))
        } else if !nearest.is_empty() {
            format!("did you mean {}? ", alternatives(&nearest))
        } else {
            String::new()
        };
        let all: Vec<String> = allowed.iter().map(|name| format!("<{name}>")).collect();
        let all = if all.is_empty() { "nothing".to_owned() } else { all.join(" ") };
        self.fault(child, format!("there is no such element in <{holder}>; {hint}allowed there: {all}"));
    }

    /// Refuses attributes other than these.
    pub(super) fn attributes(&mut self, node: Node<'_, '_>, allowed: &[&str]) {
        for attribute in node.attributes() {
            let is_known = attribute.namespace().is_none() && allowed.contains(&attribute.name());
            if is_known || attribute.namespace() == Some(SCHEMA_INSTANCE) {
                continue;
            }
            let here =
                if allowed.is_empty() { "it has none".to_owned() } else { format!("it has {}", allowed.join(", ")) };
            self.fault(node, format!("there is no attribute {} here; {here}", quoted(attribute.name())));
        }
    }

    /// Refuses text between child elements.
    fn no_text(&mut self, node: Node<'_, '_>) {
        let texts = node.children().filter(Node::is_text).filter_map(|child| child.text());
        if let Some(text) = texts.map(value::trimmed).find(|text| !text.is_empty()) {
            self.fault(node, format!("it holds elements only, not the text {}", quoted(text)));
        }
    }

    /// Refuses any content.
    pub(super) fn nothing(&mut self, node: Node<'_, '_>) {
        if node.children().any(|child| child.is_element()) || !value::trimmed(&all_text(node)).is_empty() {
            self.fault(node, "it must be empty");
        }
    }

    /// The text of an element that holds no others.
    pub(super) fn text(&mut self, node: Node<'_, '_>) -> Option<String> {
        if let Some(child) = node.children().find(Node::is_element) {
            let inner = child.tag_name().name();
            self.fault(node, format!("it holds a value only, not the element <{inner}>"));
            return None;
        }
        Some(all_text(node))
    }

    fn flag(&mut self, node: Node<'_, '_>) -> Option<bool> {
        let text = self.text(node)?;
        self.read(node, value::flag(&text))
    }

    /// The text of an element as a number within bounds.
    pub(super) fn number<N>(&mut self, node: Node<'_, '_>, range: &RangeInclusive<N>) -> Option<N>
    where
        N: FromStr + PartialOrd + Display,
    {
        let text = self.text(node)?;
        self.read(node, value::number(&text, range))
    }

    /// An attribute, if it is there and what it should be.
    pub(super) fn attribute<V>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<V> {
        let read = read(node.attribute(name)?).map_err(|message| format!("attribute {name}: {message}"));
        self.read(node, read)
    }

    /// An attribute that must be there.
    pub(super) fn needed<V>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<V> {
        if !node.has_attribute(name) {
            self.fault(node, format!("its attribute {name} is missing"));
        }
        self.attribute(node, name, read)
    }

    /// What was read, or its fault at an element.
    pub(super) fn read<V>(&mut self, node: Node<'_, '_>, read: Result<V, String>) -> Option<V> {
        read.map_err(|message| self.fault(node, message)).ok()
    }
}

/// True if an element has this name and no namespace.
pub(super) fn is_named(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name && node.tag_name().namespace().is_none()
}

/// The first child element of a name.
pub(super) fn child<'n, 'input>(node: Node<'n, 'input>, name: &str) -> Option<Node<'n, 'input>> {
    node.children().find(|child| child.is_element() && is_named(*child, name))
}

/// Names of all rows.
pub(super) fn names<T>(table: &[Element<T>]) -> Vec<&'static str> {
    table.iter().map(|element| element.name).collect()
}

fn alternatives(names: &[&'static str]) -> String {
    names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" or ")
}

/// All text of an element, comments left out.
fn all_text(node: Node<'_, '_>) -> String {
    node.children().filter(Node::is_text).filter_map(|text| text.text()).collect()
}
