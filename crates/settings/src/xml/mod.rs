//! Profiles as XML. All output of `DiskSpd` 2.2 and 2.3 and their predecessors is read; what they would refuse or
//! misread is refused with its position.

pub(crate) mod catalogue;
mod decode;
pub mod schema;
mod shape;

pub use crate::element::fault::{Position, XmlFault};
pub use crate::element::value::template;
pub use catalogue::knows;

use crate::element::fault::{DocumentError, quoted};
use crate::element::reader::{Fault, Mode, Reader};
use crate::element::tree::{Element, Place, is_unsayable};
use crate::profile::{PROFILE, document};
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use model::profile::{Profile, ResultFormat, Target};
use roxmltree::{Document, ParsingOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The profile as a document; `format` becomes its `ResultFormat`.
pub fn write_profile(profile: &Profile, format: ResultFormat) -> String {
    document(profile, format).to_xml()
}

/// Reads a profile, or the profile inside a document of results, to run it; `file_name` is for messages.
///
/// The profile is not validated here but by [`model::validate`].
///
/// # Errors
///
/// All faults of the document.
pub fn read_profile(bytes: &[u8], file_name: &str) -> Result<Profile, Vec<XmlFault>> {
    let file = || file_name.to_owned();
    let refused =
        |DocumentError { position, message }| vec![XmlFault { file: file(), position, element: None, message }];
    let text = decode::decode(bytes).map_err(refused)?;
    let document = shape::check(&text).and_then(|()| parse(&text)).map_err(refused)?;
    let mut profile = Profile::default();
    let root = Element::from_xml(document.root_element());
    let mut reader = Reader::new(Mode::Strict, catalogue::holders_of);
    if let Some(node) = profile_element(&mut reader, &root) {
        reader.attributes(node, &[]);
        reader.children(node, PROFILE, &mut profile);
    }
    let located = |fault: Fault| {
        let position = fault.place.as_ref().map(|place| position(&document, place.offset));
        XmlFault { file: file(), position, element: fault.place.map(|place| place.path), message: fault.message }
    };
    let faults: Vec<XmlFault> = reader.into_faults().into_iter().map(located).collect();
    if faults.is_empty() { Ok(profile) } else { Err(faults) }
}

/// Reads the profile in results (`node` is `Profile`), of any version: unknown content is skipped.
///
/// # Errors
///
/// The first invalid number: position, and the expected form.
pub fn read_profile_of_results(node: roxmltree::Node<'_, '_>) -> Result<Profile, (Position, String)> {
    let root = Element::from_xml(node);
    let mut reader = Reader::new(Mode::Lenient, catalogue::holders_of);
    let mut profile = Profile { result_format: ResultFormat::Xml, ..Profile::default() };
    reader.children(&root, PROFILE, &mut profile);
    match reader.into_faults().into_iter().next() {
        None => Ok(profile),
        Some(Fault { place, message }) => {
            let Place { offset, path, .. } = place.unwrap_or_default();
            Err((position(node.document(), offset), format!("{path}: {message}")))
        }
    }
}

fn position(document: &Document<'_>, offset: usize) -> Position {
    let at = document.text_pos_at(offset);
    Position { line: at.row, column: at.col }
}

/// The document as a tree.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, DocumentError> {
    Document::parse_with_options(text, ParsingOptions { allow_dtd: false, ..ParsingOptions::default() }).map_err(
        |error| {
            let place = error.pos();
            let described = error.to_string();
            let described = described.strip_suffix(&format!(" at {place}")).unwrap_or(&described);
            let position = Position { line: place.row, column: place.col };
            DocumentError::at(position, format!("not well-formed XML: {}", clipped(described, REPEATED_CHARACTERS_MAX)))
        },
    )
}

fn profile_element<'n>(reader: &mut Reader<'_>, root: &'n Element) -> Option<&'n Element> {
    if root.is_named("Profile") {
        return Some(root);
    }
    if root.is_named("Results") {
        let profile = root.child("Profile");
        if profile.is_none() {
            reader.fault(root, "these results contain no <Profile>");
        }
        return profile;
    }
    match &root.namespace {
        Some(namespace) => {
            reader.fault(
                root,
                format!("the element is in the XML namespace {}; profiles do not use namespaces", quoted(namespace)),
            );
        }
        None => reader.fault(root, "not a profile; the root element must be <Profile>"),
    }
    None
}

/// A warning for each path that the document cannot represent: it would name another file.
pub fn unsayable_paths(profile: &Profile) -> Vec<String> {
    paths_that(profile, |path| format!("XML cannot represent the path '{path}'; the profile contains a different path"))
}

/// A message for each path that XML cannot represent, made from its printable form.
pub(crate) fn paths_that(profile: &Profile, say: impl Fn(String) -> String) -> Vec<String> {
    let targets = profile.time_spans.iter().flat_map(|span| &span.targets);
    let sources = |target: &Target| target.write_source.as_ref().and_then(|source| source.file.clone());
    let paths: BTreeSet<PathBuf> =
        targets.flat_map(|target| std::iter::once(target.path.clone()).chain(sources(target))).collect();
    let is_sayable = |path: &&PathBuf| path.to_str().is_some_and(|text| !text.contains(is_unsayable));
    let unsayable = paths.iter().filter(|path| !is_sayable(path));
    unsayable.map(|path| say(path.as_os_str().as_encoded_bytes().escape_ascii().to_string())).collect()
}

#[cfg(test)]
mod tests;
