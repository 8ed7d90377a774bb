//! XML profiles: what `-X` reads. All that `DiskSpd` 2.2 and 2.3 and their forerunners write is
//! understood; what they would refuse or misread is refused with its place.
//!
//! What may stand where, what it may hold and what it sets are tables, one per element that holds
//! others; [`reader`] walks them.

mod catalogue;
mod decode;
mod element;
mod fault;
mod linux;
mod nested;
mod profile;
mod reader;
mod shape;
mod target;
mod time_span;
mod value;

pub use fault::{Position, XmlFault};
pub(crate) use value::template;

use fault::{Refused, quoted};
use model::profile::Profile;
use reader::{Reader, child, is_named};
use roxmltree::{Document, Node, ParsingOptions};

/// Reads a profile, or the profile inside a document of results; `file_name` is for messages.
///
/// Whether the profile makes sense is for [`model::validate`] to say.
///
/// # Errors
///
/// Everything that is wrong with the document.
pub fn read_profile(bytes: &[u8], file_name: &str) -> Result<Profile, Vec<XmlFault>> {
    let refused = |refused: Refused, text: &str| {
        let mut reader = Reader::new(file_name, text);
        reader.refuse(refused);
        reader.into_faults()
    };
    let text = decode::decode(bytes).map_err(|reason| refused(reason, ""))?;
    let document = shape::check(&text).and_then(|()| parse(&text)).map_err(|reason| refused(reason, &text))?;
    let mut reader = Reader::new(file_name, &text);
    let mut profile = Profile::default();
    if let Some(node) = profile_element(&mut reader, document.root_element()) {
        reader.attributes(node, &[]);
        reader.children(node, profile::PROFILE, &mut profile);
    }
    let faults = reader.into_faults();
    if faults.is_empty() { Ok(profile) } else { Err(faults) }
}

fn parse(text: &str) -> Result<Document<'_>, Refused> {
    Document::parse_with_options(text, ParsingOptions { allow_dtd: false, ..ParsingOptions::default() }).map_err(
        |error| {
            let place = error.pos();
            let described = error.to_string();
            let described = described.strip_suffix(&format!(" at {place}")).unwrap_or(&described);
            let position = Position { line: place.row, column: place.col };
            Refused::at(position, format!("this is no well-formed XML: {described}"))
        },
    )
}

fn profile_element<'n, 'input>(reader: &mut Reader<'_>, root: Node<'n, 'input>) -> Option<Node<'n, 'input>> {
    if is_named(root, "Profile") {
        return Some(root);
    }
    if is_named(root, "Results") {
        let profile = child(root, "Profile");
        if profile.is_none() {
            reader.fault(root, "these results hold no <Profile>");
        }
        return profile;
    }
    match root.tag_name().namespace() {
        Some(namespace) => {
            reader.fault(root, format!("it is in the XML namespace {}; profiles use none", quoted(namespace)));
        }
        None => reader.fault(root, "this is no profile; the outermost element must be <Profile>"),
    }
    None
}

#[cfg(test)]
mod tests;
