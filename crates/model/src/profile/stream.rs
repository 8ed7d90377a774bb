//! Names of streams.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest name of a stream, in characters.
const LENGTH_MAX: usize = 32;

/// The name of a stream: targets that results tell apart from the others, even of the same file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String", extend("pattern" = "^[A-Za-z0-9._-]{1,32}$")))]
#[serde(try_from = "String", into = "String")]
pub struct StreamName(String);

impl StreamName {
    /// Parses a name.
    ///
    /// # Errors
    ///
    /// A sentence with the text and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
        if (1..=LENGTH_MAX).contains(&text.len()) && text.chars().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "'{text}' is not a name of a stream (expected: 1 to {LENGTH_MAX} letters, digits, dots, underscores or hyphens)"
        ))
    }

    /// As typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StreamName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for StreamName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<StreamName> for String {
    fn from(name: StreamName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_safe_in_file_names() {
        for name in ["a", "oltp", "WAL-0.1_b", &"x".repeat(32)] {
            assert_eq!(StreamName::parse(name).map(|name| name.to_string()), Ok(name.to_owned()));
        }
        for name in ["", "a b", "a/b", "ä", "a:b", &"x".repeat(33)] {
            let fault = StreamName::parse(name).expect_err(name);
            assert!(fault.contains(&format!("'{name}'")) && fault.contains("1 to 32 letters"), "{fault}");
        }
    }
}
