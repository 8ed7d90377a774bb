//! Faults of a profile, with their places.

use model::printable::{REPEATED_CHARACTERS_MAX, clipped};
use std::fmt;

/// One fault of an XML profile. Its text is `file:line:column: <Element>: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XmlFault {
    /// The file, as the user wrote it.
    pub file: String,
    /// Its position; `None` if the file as a whole is at fault.
    pub position: Option<Position>,
    /// The element at fault, if there is one.
    pub element: Option<String>,
    /// The fault and the valid form, without a full stop.
    pub message: String,
}

/// A place in a text; both numbers begin with 1 and count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

impl Position {
    /// The position after `text`.
    pub(crate) fn behind(text: &str) -> Self {
        let line = 1 + text.bytes().filter(|&byte| byte == b'\n').count();
        let last_line = text.rsplit('\n').next().unwrap_or_default();
        Self { line: line as u32, column: 1 + last_line.chars().count() as u32 }
    }
}

impl fmt::Display for XmlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if let Some(position) = self.position {
            write!(f, "{}:{}:", position.line, position.column)?;
        }
        if let Some(element) = &self.element {
            write!(f, " <{}>:", clipped(element, REPEATED_CHARACTERS_MAX))?;
        }
        write!(f, " {}", self.message)
    }
}

/// The reason why a document is not read at all.
#[derive(Debug)]
pub(crate) struct DocumentError {
    pub(crate) position: Option<Position>,
    pub(crate) message: String,
}

impl DocumentError {
    /// Refuses the file as a whole.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self { position: None, message: message.into() }
    }

    /// Refuses the text at a position.
    pub(crate) fn at(position: Position, message: impl Into<String>) -> Self {
        Self { position: Some(position), message: message.into() }
    }
}

/// Text of the user in a message: in quotes, short, on one line.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", clipped(text, 60).escape_debug())
}
