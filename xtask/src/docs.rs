//! Documents that are made from the program. Tests compare what is committed with what would be
//! made.

use crate::schema_page;
use std::io;
use std::path::Path;

/// Above this line a page is written by hand, below it by [`write()`].
const MARKER: &str = "<!-- From here on made by: cargo xtask docs -->\n";

/// A document and what it should hold.
#[derive(Debug)]
pub struct Document {
    /// Below the root of the project.
    pub path: &'static str,
    /// What it holds now.
    pub committed: String,
    /// What the program makes it hold.
    pub made: String,
}

/// Every document that is made from the program.
///
/// # Errors
///
/// If one cannot be read, or a page lacks the line from which on it is made.
pub fn all(root: &Path) -> io::Result<Vec<Document>> {
    let committed = |path: &str| std::fs::read_to_string(root.join(path));
    let schema_path = "docs/formats/diskspd-result.schema.json";
    let page_path = "docs/formats/json.md";
    let page = committed(page_path)?;
    let by_hand = page
        .split_once(MARKER)
        .map(|(by_hand, _)| by_hand)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{page_path} lacks the line {MARKER}")))?;
    let fields = schema_page::page(&report::json::schema_of_written());
    let schema = serde_json::to_string_pretty(&report::json::schema())? + "\n";
    Ok(vec![
        Document { path: page_path, made: format!("{by_hand}{MARKER}{fields}"), committed: page },
        // Before it is made for the first time there is none.
        Document { path: schema_path, committed: committed(schema_path).unwrap_or_default(), made: schema },
    ])
}

/// Writes every document that is not what it should be.
///
/// # Errors
///
/// Those of [`all`], and if a document cannot be written.
pub fn write(root: &Path) -> io::Result<()> {
    for document in all(root)? {
        if document.made != document.committed {
            std::fs::write(root.join(document.path), document.made)?;
        }
    }
    Ok(())
}
