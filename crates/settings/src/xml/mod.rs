//! Profiles as XML. All that `DiskSpd` 2.2 and 2.3 and their forerunners write is understood; what
//! they would refuse or misread is refused with its place.

pub(crate) mod catalogue;
mod decode;
pub(crate) mod fault;
pub(crate) mod reader;
pub mod schema;
mod shape;
pub(crate) mod value;
pub(crate) mod writer;

pub use catalogue::knows;
pub use fault::{Position, XmlFault};
pub use value::template;

use crate::profile::PROFILE;
use fault::{Refused, quoted};
use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use model::profile::{Profile, ResultFormat, Target};
use reader::{Fault, Mode, Reader, child, is_named};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;
use std::path::PathBuf;
use writer::{Writer, is_unsayable};

/// The profile as a document; `format` is what its `ResultFormat` says.
pub fn write_profile(profile: &Profile, format: ResultFormat) -> String {
    let mut xml = Writer::default();
    crate::profile::write(&mut xml, profile, format);
    xml.text
}

/// Reads a profile, or the profile inside a document of results, to run it; `file_name` is for messages.
///
/// Whether the profile makes sense is for [`model::validate`] to say.
///
/// # Errors
///
/// Everything that is wrong with the document.
pub fn read_profile(bytes: &[u8], file_name: &str) -> Result<Profile, Vec<XmlFault>> {
    let file = || file_name.to_owned();
    let refused = |Refused { position, message }| vec![XmlFault { file: file(), position, element: None, message }];
    let text = decode::decode(bytes).map_err(refused)?;
    let document = shape::check(&text).and_then(|()| parse(&text)).map_err(refused)?;
    let mut reader = Reader::new(Mode::Strict, catalogue::holders_of);
    let mut profile = Profile::default();
    if let Some(node) = profile_element(&mut reader, document.root_element()) {
        reader.attributes(node, &[]);
        reader.children(node, PROFILE, &mut profile);
    }
    let located = |fault: Fault| {
        let is_of_element = !fault.element.is_empty();
        let position = is_of_element.then(|| position(&document, fault.offset));
        let element = is_of_element.then_some(fault.element);
        XmlFault { file: file(), position, element, message: fault.message }
    };
    let faults: Vec<XmlFault> = reader.into_faults().into_iter().map(located).collect();
    if faults.is_empty() { Ok(profile) } else { Err(faults) }
}

/// Reads the profile that results hold (`node` is `Profile`), of any version: what is not understood is left out.
///
/// # Errors
///
/// The first number that is none: where, and what was expected.
pub fn read_profile_of_results(node: Node<'_, '_>) -> Result<Profile, (Position, String)> {
    let mut reader = Reader::new(Mode::Lenient, catalogue::holders_of);
    let mut profile = Profile { result_format: ResultFormat::Xml, ..Profile::default() };
    reader.children(node, PROFILE, &mut profile);
    match reader.into_faults().into_iter().next() {
        None => Ok(profile),
        Some(fault) => Err((position(node.document(), fault.offset), format!("{}: {}", fault.element, fault.message))),
    }
}

fn position(document: &Document<'_>, offset: usize) -> Position {
    let at = document.text_pos_at(offset);
    Position { line: at.row, column: at.col }
}

/// The document as a tree.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Refused> {
    Document::parse_with_options(text, ParsingOptions { allow_dtd: false, ..ParsingOptions::default() }).map_err(
        |error| {
            let place = error.pos();
            let described = error.to_string();
            let described = described.strip_suffix(&format!(" at {place}")).unwrap_or(&described);
            let position = Position { line: place.row, column: place.col };
            Refused::at(position, format!("not well-formed XML: {}", clipped(described, REPEATED_CHARACTERS_MAX)))
        },
    )
}

fn profile_element<'n, 'input>(reader: &mut Reader, root: Node<'n, 'input>) -> Option<Node<'n, 'input>> {
    if is_named(root, "Profile") {
        return Some(root);
    }
    if is_named(root, "Results") {
        let profile = child(root, "Profile");
        if profile.is_none() {
            reader.fault(root, "these results contain no <Profile>");
        }
        return profile;
    }
    match root.tag_name().namespace() {
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

/// A warning for each path that the document cannot name: it would be another file's.
pub fn unsayable_paths(profile: &Profile) -> Vec<String> {
    paths_that(profile, |path| format!("XML cannot represent the path '{path}'; the profile contains a different path"))
}

/// What there is to say about each path that XML cannot represent, which is given in its printable form.
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
