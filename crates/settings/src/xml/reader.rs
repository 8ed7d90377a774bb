//! Walks a document by the rows and collects every fault.

use super::fault::quoted;
use super::value;
use crate::suggest::near;
use model::limits::PROFILE_FAULTS_MAX;
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use roxmltree::Node;
use std::ops::RangeInclusive;

/// Attributes of this namespace show editors where the schema is; they are ignored here.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// How much a document is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is to be run: everything that is not understood is a fault.
    Strict,
    /// It is the profile in results of some version: unknown content is skipped, except invalid numbers.
    Lenient,
}

/// A document being read.
pub(crate) struct Reader {
    mode: Mode,
    /// The elements that may hold one of this name, for hints.
    holders_of: fn(&str) -> Vec<&'static str>,
    faults: Vec<Fault>,
}

/// Something wrong with an element.
pub(crate) struct Fault {
    /// Offset of the element in the document.
    pub(crate) offset: usize,
    /// Its name; empty for the last of too many faults.
    pub(crate) element: String,
    /// What is wrong and what would be right.
    pub(crate) message: String,
}

impl Reader {
    pub(crate) fn new(mode: Mode, holders_of: fn(&str) -> Vec<&'static str>) -> Self {
        Self { mode, holders_of, faults: Vec::new() }
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.mode == Mode::Strict
    }

    /// Everything that was wrong, in the order of the document.
    pub(crate) fn into_faults(mut self) -> Vec<Fault> {
        self.faults.sort_by_key(|fault| fault.offset);
        self.faults
    }

    /// True if enough faults are collected. The rest take time to find, so that it is
    /// better not to look for them.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() > PROFILE_FAULTS_MAX
    }

    /// Something is wrong with an element.
    pub(crate) fn fault(&mut self, node: Node<'_, '_>, message: impl Into<String>) {
        if self.is_full() {
            return;
        }
        if self.faults.len() == PROFILE_FAULTS_MAX {
            let message = format!("more than {PROFILE_FAULTS_MAX} errors; the rest are not listed");
            self.faults.push(Fault { offset: usize::MAX, element: String::new(), message });
            return;
        }
        let element = node.tag_name().name().to_owned();
        self.faults.push(Fault { offset: node.range().start, element, message: message.into() });
    }

    /// The items of a list: at least one of the elements in `allowed`, each with its attributes.
    pub(crate) fn items<'n, 'input>(
        &mut self,
        list: Node<'n, 'input>,
        allowed: &[(&'static str, &[&str])],
    ) -> Vec<Node<'n, 'input>> {
        if self.is_strict() {
            self.no_text(list);
        }
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
                None if self.is_strict() => self.unknown(child, list, &names),
                None => {}
            }
        }
        if self.is_strict() && !list.children().any(|child| child.is_element()) {
            self.fault(list, format!("empty; at least one {} is required", alternatives(&names)));
        }
        items
    }

    pub(crate) fn unknown(&mut self, child: Node<'_, '_>, parent: Node<'_, '_>, allowed: &[&'static str]) {
        let name = child.tag_name().name();
        let holder = parent.tag_name().name();
        if child.tag_name().namespace().is_some() {
            self.fault(child, "the element is in an XML namespace; profiles do not use namespaces");
            return;
        }
        let lower = name.to_ascii_lowercase();
        let is_near =
            |known: &&&'static str| !near(&lower, std::iter::once(known.to_ascii_lowercase().as_str())).is_empty();
        let nearest: Vec<&'static str> = allowed.iter().filter(is_near).copied().collect();
        let elsewhere = (self.holders_of)(name);
        let hint = if !elsewhere.is_empty() {
            format!("it belongs inside {}; ", alternatives(&elsewhere))
        } else if !nearest.is_empty() {
            format!("did you mean {}? ", alternatives(&nearest))
        } else {
            String::new()
        };
        let all: Vec<String> = allowed.iter().map(|name| format!("<{name}>")).collect();
        let all = if all.is_empty() { "nothing".to_owned() } else { all.join(" ") };
        self.fault(child, format!("unknown element in <{holder}>; {hint}allowed there: {all}"));
    }

    /// Refuses attributes other than these.
    pub(crate) fn attributes(&mut self, node: Node<'_, '_>, allowed: &[&str]) {
        if !self.is_strict() {
            return;
        }
        for attribute in node.attributes() {
            let is_known = attribute.namespace().is_none() && allowed.contains(&attribute.name());
            if is_known || attribute.namespace() == Some(SCHEMA_INSTANCE) {
                continue;
            }
            let here = if allowed.is_empty() {
                "no attributes are allowed here".to_owned()
            } else {
                format!("allowed: {}", allowed.join(", "))
            };
            self.fault(node, format!("unknown attribute {}; {here}", quoted(attribute.name())));
        }
    }

    /// Refuses text between child elements.
    pub(crate) fn no_text(&mut self, node: Node<'_, '_>) {
        let texts = node.children().filter(Node::is_text).filter_map(|child| child.text());
        if let Some(text) = texts.map(value::trimmed).find(|text| !text.is_empty()) {
            self.fault(node, format!("only elements are allowed here, not the text {}", quoted(text)));
        }
    }

    /// Refuses any content.
    pub(crate) fn nothing(&mut self, node: Node<'_, '_>) {
        if node.children().any(|child| child.is_element()) || !value::trimmed(&all_text(node)).is_empty() {
            self.fault(node, "must be empty");
        }
    }

    /// The text of an element that holds no others.
    pub(crate) fn text(&mut self, node: Node<'_, '_>) -> Option<String> {
        if let Some(child) = node.children().find(Node::is_element).filter(|_| self.is_strict()) {
            let inner = clipped(child.tag_name().name(), REPEATED_CHARACTERS_MAX);
            self.fault(node, format!("only a value is allowed here, not the element <{inner}>"));
            return None;
        }
        Some(all_text(node))
    }

    /// A switch; whatever is not true is off in a result.
    pub(crate) fn flag(&mut self, node: Node<'_, '_>, text: &str) -> Option<bool> {
        self.known(node, value::flag(text)).or((!self.is_strict()).then_some(false))
    }

    /// The text of an element as a number within bounds; results hold any.
    pub(crate) fn number(&mut self, node: Node<'_, '_>, range: &RangeInclusive<u64>) -> Option<u64> {
        let text = self.text(node)?;
        let most = if *range.end() > u64::from(u32::MAX) { u64::MAX } else { u64::from(u32::MAX) };
        let read = if self.is_strict() { value::number(&text, range) } else { value::number(&text, &(0..=most)) };
        self.read(node, read)
    }

    /// None of these words stands there.
    pub(crate) fn unknown_word(&mut self, node: Node<'_, '_>, found: &str, words: impl Iterator<Item = &'static str>) {
        if self.is_strict() {
            self.fault(node, value::expected_word(found, words));
        }
    }

    /// The text as one of these words.
    pub(crate) fn word<W: Copy>(&mut self, node: Node<'_, '_>, text: &str, words: &[(&'static str, W)]) -> Option<W> {
        self.known(node, value::word(text, words))
    }

    /// An attribute that is one of these words, if it is there.
    pub(crate) fn word_attribute<W: Copy>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        words: &[(&'static str, W)],
    ) -> Option<W> {
        let word = value::word(node.attribute(name)?, words);
        self.known(node, word.map_err(|message| format!("attribute {name}: {message}")))
    }

    /// An attribute, if it is there and what it should be.
    pub(crate) fn attribute<V>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<V> {
        let read = read(node.attribute(name)?).map_err(|message| format!("attribute {name}: {message}"));
        self.read(node, read)
    }

    /// An attribute that must be there.
    pub(crate) fn needed<V>(
        &mut self,
        node: Node<'_, '_>,
        name: &str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<V> {
        if !node.has_attribute(name) && self.is_strict() {
            self.fault(node, format!("the attribute {name} is missing"));
        }
        self.attribute(node, name, read)
    }

    /// What was read, or its fault at an element; results of other versions may have values that are not known here.
    pub(crate) fn known<V>(&mut self, node: Node<'_, '_>, read: Result<V, String>) -> Option<V> {
        if self.is_strict() { self.read(node, read) } else { read.ok() }
    }

    /// What was read, or its fault at an element.
    pub(crate) fn read<V>(&mut self, node: Node<'_, '_>, read: Result<V, String>) -> Option<V> {
        read.map_err(|message| self.fault(node, message)).ok()
    }
}

/// True if an element has this name and no namespace.
pub(crate) fn is_named(node: Node<'_, '_>, name: &str) -> bool {
    node.tag_name().name() == name && node.tag_name().namespace().is_none()
}

/// The first child element of a name.
pub(crate) fn child<'n, 'input>(node: Node<'n, 'input>, name: &str) -> Option<Node<'n, 'input>> {
    node.children().find(|child| child.is_element() && is_named(*child, name))
}

fn alternatives(names: &[&'static str]) -> String {
    names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" or ")
}

/// All text of an element, comments left out.
fn all_text(node: Node<'_, '_>) -> String {
    node.children().filter(Node::is_text).filter_map(|text| text.text()).collect()
}
