//! An element of a document, read from XML or TOML, or made from a profile.

use std::fmt::Display;

/// An element with its content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Element {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// Those in a namespace are named `{namespace}name`.
    pub(crate) attributes: Vec<(String, String)>,
    /// Before, between and after the children.
    pub(crate) texts: Vec<String>,
    pub(crate) children: Vec<Self>,
    pub(crate) place: Place,
}

/// Place of an element in the text that it was read from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// Bytes from the start of the text.
    pub(crate) offset: usize,
    /// From 1.
    pub(crate) line: u32,
    /// Its name in messages: in XML its name, in TOML its key and the tables that contain it.
    pub(crate) path: String,
}

impl Element {
    pub(crate) fn new(name: &str, place: Place) -> Self {
        Self { name: name.to_owned(), place, ..Self::default() }
    }

    pub(crate) fn from_xml(node: roxmltree::Node<'_, '_>) -> Self {
        Self::from_xml_behind(node, &mut (0, 1))
    }

    /// `before` is an offset not after the element, and its line.
    fn from_xml_behind(node: roxmltree::Node<'_, '_>, before: &mut (usize, u32)) -> Self {
        let (offset, name) = (node.range().start, node.tag_name());
        let between = node.document().input_text().as_bytes().get(before.0..offset).unwrap_or_default();
        let lines = between.split(|byte| *byte == b'\n').count() - 1;
        *before = (offset, before.1 + lines as u32);
        let mut element = Self::new(name.name(), Place { offset, line: before.1, path: name.name().to_owned() });
        element.namespace = name.namespace().map(str::to_owned);
        element.attributes.extend(node.attributes().map(|attribute| {
            let name = attribute.name();
            let name = attribute.namespace().map_or_else(|| name.to_owned(), |space| format!("{{{space}}}{name}"));
            (name, attribute.value().to_owned())
        }));
        for child in node.children() {
            if child.is_element() {
                element.children.push(Self::from_xml_behind(child, before));
            } else if child.is_text() {
                element.texts.extend(child.text().map(str::to_owned));
            }
        }
        element
    }

    /// Adds an element without attributes or text.
    pub(crate) fn inside(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        let mut child = Self::new(name, Place::default());
        content(&mut child);
        self.children.push(child);
    }

    pub(crate) fn element(&mut self, name: &str, content: impl Display) {
        self.element_with(name, &[], content);
    }

    /// Characters that XML cannot hold become the replacement character.
    pub(crate) fn element_with(&mut self, name: &str, attributes: &[(&str, &dyn Display)], content: impl Display) {
        self.add(name, attributes, vec![content.to_string().replace(is_unsayable, "\u{fffd}")]);
    }

    pub(crate) fn empty_with(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.add(name, attributes, Vec::new());
    }

    fn add(&mut self, name: &str, attributes: &[(&str, &dyn Display)], texts: Vec<String>) {
        let attributes = attributes.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        self.children.push(Self { attributes, texts, ..Self::new(name, Place::default()) });
    }

    /// The first child of a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.is_named(name))
    }

    /// True if it has this name and no namespace.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name == name && self.namespace.is_none()
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All of its texts.
    pub(crate) fn text(&self) -> String {
        self.texts.concat()
    }
}

/// True for characters that XML 1.0 cannot represent.
pub(crate) fn is_unsayable(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}
