//! Corrupt units one by one: in reports of runs and of verifications.

use crate::block::{Block, Fact};
use crate::foreign_text::text;
use model::corruption::CorruptionClass;
use model::placement::DevicePlace;
use model::verification::{NearMessage, places_words};

/// A corrupt unit, as far as it is known.
#[derive(Debug)]
pub struct CorruptUnitText<'a> {
    pub class: CorruptionClass,
    pub offset_bytes: u64,
    /// The file and the read, shown after the offset; may be empty.
    pub place: String,
    /// The read error, if it could not be read; nothing else is then known of its bytes.
    pub error: Option<&'a str>,
    /// The name and the value of its expected content.
    pub expected: Option<(&'static str, String)>,
    /// Its header.
    pub found: Option<String>,
    /// In hexadecimal.
    pub first_bytes: Option<&'a str>,
    /// The outcome of a second read.
    pub second_read: Option<&'static str>,
    pub places: &'a [DevicePlace],
    pub kernel_messages: &'a [NearMessage],
}

impl CorruptUnitText<'_> {
    /// A heading and facts.
    pub fn blocks(self) -> [Block; 2] {
        let heading = format!("{} at offset {}{}", self.class.name(), self.offset_bytes, self.place);
        let of_bytes = match self.error {
            Some(error) => vec![("error", error.to_owned())],
            None => [
                self.expected,
                Some(("found", self.found.unwrap_or_else(|| "no header".to_owned()))),
                self.first_bytes.map(|bytes| ("first 64", bytes.to_owned())),
                self.second_read.map(|words| ("read again", words.to_owned())),
            ]
            .into_iter()
            .flatten()
            .collect(),
        };
        let places = (!self.places.is_empty()).then(|| ("on", format!("{} (bytes)", places_words(self.places))));
        let messages = self.kernel_messages.iter().map(|message| ("log", message.words()));
        let facts = of_bytes.into_iter().chain(places).chain(messages);
        let facts = facts.map(|(name, value)| Fact { name, value: text(&value) }).collect();
        [Block::Notes { heading: text(&heading), sentences: Vec::new() }, Block::Facts { facts }]
    }
}
