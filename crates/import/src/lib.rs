//! Saved results: `DiskSpd`'s XML documents and text reports of versions 2.0.12 to 2.3, our own documents ([`json`],
//! XML, recordings of the monitor), JSON of fio ([`fio`]). Our own text reports have only some of the figures, rounded:
//! [`read`] refuses them, [`read_rounded`] reads them for tables that mark them as rounded.
//!
//! Data missing from a form stays unknown and is noted; existing data is taken unchanged, never recomputed from rounded
//! figures. No input can make this panic, and its size is limited.

mod decode;
mod distributions;
mod error;
mod finish;
pub mod fio;
pub mod json;
mod number;
pub mod recording;
mod text;
mod xml;

pub use error::ReadError;

use model::result::RunResult;

/// Largest XML document or text report that is read.
pub const BYTES_MAX: usize = 256 << 20;

/// More CPUs than any machine has; bounds the work on a forged document.
const CPUS_MAX: usize = 8192;

/// Reads a result: an XML document or a text report, in UTF-8 or with a byte order mark in UTF-16,
/// with either kind of line ends. Lines before it (progress, messages) are skipped.
pub fn read(bytes: &[u8]) -> Result<RunResult, ReadError> {
    read_with(bytes, text::read)
}

/// The same, and text reports of this program. Their verdict has names and severities only, and settings and figures
/// that `DiskSpd` does not print are unknown.
pub fn read_rounded(bytes: &[u8]) -> Result<RunResult, ReadError> {
    read_with(bytes, text::read_any)
}

/// True if it is a text report, whose figures are rounded.
pub fn is_text_report(bytes: &[u8]) -> bool {
    bytes.len() <= BYTES_MAX && form(&decode::decode(bytes).text) == Some(Form::Text)
}

fn read_with(bytes: &[u8], read_text: fn(&str) -> Result<RunResult, ReadError>) -> Result<RunResult, ReadError> {
    if bytes.len() > BYTES_MAX {
        return Err(ReadError::TooLarge { bytes: bytes.len() });
    }
    let decoded = decode::decode(bytes);
    let mut result = match form(&decoded.text) {
        Some(Form::Xml { starts_at }) => xml::read(&decoded.text, starts_at)?,
        Some(Form::Text) => read_text(&decoded.text)?,
        None => return Err(ReadError::NotAResult),
    };
    result.notes.extend(decoded.note);
    Ok(result)
}

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Xml {
        /// Offset of the document.
        starts_at: usize,
    },
    Text,
}

fn form(text: &str) -> Option<Form> {
    // A report may show a path that contains the other form's beginning, so the first one decides.
    let mut starts_at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        if content.starts_with("<Results>") || content.starts_with("<?xml") {
            return Some(Form::Xml { starts_at: starts_at + (line.len() - line.trim_start().len()) });
        }
        if content.starts_with("Command Line:") || content == "Input parameters:" {
            return Some(Form::Text);
        }
        starts_at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_beginning_decides() {
        assert_eq!(form("progress\n\n  <Results>\n"), Some(Form::Xml { starts_at: 12 }));
        assert_eq!(form("\nCommand Line: diskspd <Results>\n<Results>"), Some(Form::Text));
        assert_eq!(form("Results\n"), None);
        assert_eq!(read(b"{}"), Err(ReadError::NotAResult));
    }

    #[test]
    fn a_file_that_is_too_large_is_not_looked_at() {
        let bytes = vec![0; BYTES_MAX + 1];
        assert_eq!(read(&bytes), Err(ReadError::TooLarge { bytes: BYTES_MAX + 1 }));
    }
}
