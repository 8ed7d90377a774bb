//! Reads a document by the rows and collects every fault.

use super::fault::quoted;
use super::tree::{Element, Place};
use super::value;
use crate::suggest::near;
use model::limits::PROFILE_FAULTS_MAX;
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use std::ops::RangeInclusive;

/// Attributes of this namespace locate the schema for editors; they are ignored here.
const SCHEMA_INSTANCE: &str = "{http://www.w3.org/2001/XMLSchema-instance}";

/// Strictness of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A profile to be run: any unknown content is a fault.
    Strict,
    /// The profile in results of some version: unknown content is skipped, except invalid numbers.
    Lenient,
}

/// A document being read.
pub(crate) struct Reader<'n> {
    mode: Mode,
    /// The elements that may contain one of this name, for hints.
    holders_of: fn(&str) -> Vec<&'static str>,
    faults: Vec<Fault>,
    /// Elements being read, each inside the one before.
    pub(crate) holders: Vec<&'n Element>,
}

/// A fault of an element.
pub(crate) struct Fault {
    /// The element; `None` for the last of too many faults.
    pub(crate) place: Option<Place>,
    /// The fault and the valid form.
    pub(crate) message: String,
}

impl<'n> Reader<'n> {
    pub(crate) fn new(mode: Mode, holders_of: fn(&str) -> Vec<&'static str>) -> Self {
        Self { mode, holders_of, faults: Vec::new(), holders: Vec::new() }
    }

    pub(crate) fn is_strict(&self) -> bool {
        self.mode == Mode::Strict
    }

    /// All faults, in the order of the document.
    pub(crate) fn into_faults(mut self) -> Vec<Fault> {
        self.faults.sort_by_key(|fault| fault.place.as_ref().map_or(usize::MAX, |place| place.offset));
        self.faults
    }

    /// True if enough faults are collected. The rest take time to find, so that it is better not to search for them.
    pub(crate) fn is_full(&self) -> bool {
        self.faults.len() > PROFILE_FAULTS_MAX
    }

    /// Adds a fault of an element.
    pub(crate) fn fault(&mut self, node: &Element, message: impl Into<String>) {
        if self.is_full() {
            return;
        }
        if self.faults.len() == PROFILE_FAULTS_MAX {
            let message = format!("more than {PROFILE_FAULTS_MAX} errors; the rest are not listed");
            self.faults.push(Fault { place: None, message });
            return;
        }
        self.faults.push(Fault { place: Some(node.place.clone()), message: message.into() });
    }

    /// The items of a list: at least one of the elements in `allowed`, each with its attributes.
    pub(crate) fn items(&mut self, list: &'n Element, allowed: &[(&'static str, &[&str])]) -> Vec<&'n Element> {
        if self.is_strict() {
            self.no_text(list);
        }
        let names: Vec<&'static str> = allowed.iter().map(|(name, _)| *name).collect();
        let mut items = Vec::new();
        for child in &list.children {
            if self.is_full() {
                return items;
            }
            match allowed.iter().find(|(name, _)| child.is_named(name)) {
                Some((_, attributes)) => {
                    self.attributes(child, attributes);
                    items.push(child);
                }
                None if self.is_strict() => self.unknown(child, list, &names),
                None => {}
            }
        }
        if self.is_strict() && list.children.is_empty() {
            self.fault(list, format!("empty; at least one {} is required", alternatives(&names)));
        }
        items
    }

    pub(crate) fn unknown(&mut self, child: &Element, parent: &Element, allowed: &[&'static str]) {
        let name = child.name.as_str();
        let holder = &parent.name;
        if child.namespace.is_some() {
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
    pub(crate) fn attributes(&mut self, node: &Element, allowed: &[&str]) {
        if !self.is_strict() {
            return;
        }
        for (attribute, _) in &node.attributes {
            if allowed.contains(&attribute.as_str()) || attribute.starts_with(SCHEMA_INSTANCE) {
                continue;
            }
            let here = if allowed.is_empty() {
                "no attributes are allowed here".to_owned()
            } else {
                format!("allowed: {}", allowed.join(", "))
            };
            self.fault(node, format!("unknown attribute {}; {here}", quoted(attribute)));
        }
    }

    /// Refuses text between child elements.
    pub(crate) fn no_text(&mut self, node: &Element) {
        if let Some(text) = node.texts.iter().map(|text| value::trimmed(text)).find(|text| !text.is_empty()) {
            self.fault(node, format!("only elements are allowed here, not the text {}", quoted(text)));
        }
    }

    /// Refuses any content.
    pub(crate) fn nothing(&mut self, node: &Element) {
        if !node.children.is_empty() || !value::trimmed(&node.text()).is_empty() {
            self.fault(node, "must be empty");
        }
    }

    /// The text of an element without children.
    pub(crate) fn text(&mut self, node: &Element) -> Option<String> {
        if let Some(child) = node.children.first().filter(|_| self.is_strict()) {
            let inner = clipped(&child.name, REPEATED_CHARACTERS_MAX);
            self.fault(node, format!("only a value is allowed here, not the element <{inner}>"));
            return None;
        }
        Some(node.text())
    }

    /// A switch; in a result any value but true is off.
    pub(crate) fn flag(&mut self, node: &Element, text: &str) -> Option<bool> {
        self.known(node, value::flag(text)).or((!self.is_strict()).then_some(false))
    }

    /// The text of an element as a number within bounds; in results any number is accepted.
    pub(crate) fn number(&mut self, node: &Element, range: &RangeInclusive<u64>) -> Option<u64> {
        let text = self.text(node)?;
        let most = if *range.end() > u64::from(u32::MAX) { u64::MAX } else { u64::from(u32::MAX) };
        let read = if self.is_strict() { value::number(&text, range) } else { value::number(&text, &(0..=most)) };
        self.read(node, read)
    }

    /// Adds the fault of a text that is none of these words.
    pub(crate) fn unknown_word(&mut self, node: &Element, found: &str, words: impl Iterator<Item = &'static str>) {
        if self.is_strict() {
            self.fault(node, value::expected_word(found, words));
        }
    }

    /// The text as one of these words.
    pub(crate) fn word<W: Copy>(&mut self, node: &Element, text: &str, words: &[(&'static str, W)]) -> Option<W> {
        self.known(node, value::word(text, words))
    }

    /// An attribute that is one of these words, if present.
    pub(crate) fn word_attribute<W: Copy>(
        &mut self,
        node: &Element,
        name: &str,
        words: &[(&'static str, W)],
    ) -> Option<W> {
        let word = value::word(node.attribute(name)?, words);
        self.known(node, word.map_err(|message| format!("attribute {name}: {message}")))
    }

    /// An attribute, if present and valid.
    pub(crate) fn attribute<V>(
        &mut self,
        node: &Element,
        name: &str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<V> {
        let read = read(node.attribute(name)?).map_err(|message| format!("attribute {name}: {message}"));
        self.read(node, read)
    }

    /// A required attribute.
    pub(crate) fn needed<V>(
        &mut self,
        node: &Element,
        name: &str,
        read: impl FnOnce(&str) -> Result<V, String>,
    ) -> Option<V> {
        if node.attribute(name).is_none() && self.is_strict() {
            self.fault(node, format!("the attribute {name} is missing"));
        }
        self.attribute(node, name, read)
    }

    /// The value read, or its fault at an element; results of other versions may contain values that are unknown here.
    pub(crate) fn known<V>(&mut self, node: &Element, read: Result<V, String>) -> Option<V> {
        if self.is_strict() { self.read(node, read) } else { read.ok() }
    }

    /// The value read, or its fault at an element.
    pub(crate) fn read<V>(&mut self, node: &Element, read: Result<V, String>) -> Option<V> {
        read.map_err(|message| self.fault(node, message)).ok()
    }
}

fn alternatives(names: &[&'static str]) -> String {
    names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" or ")
}
