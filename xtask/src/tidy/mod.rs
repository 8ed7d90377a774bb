//! `cargo xtask tidy`: rules for the project's own files that no compiler checks.
//!
//! Each rule is a module that reads the tree and finds violations; nothing is changed. The tests of `app` run the same
//! rules.

mod cycles;
mod dependencies;
mod edges;
pub(crate) mod markdown;
pub(crate) mod pages;
mod reach;
mod sizes;
mod snapshots;
mod text;
pub(crate) mod tree;
mod words;
mod writes;

use crate::stop::Stop;
use std::fmt;
use std::path::Path;
use tree::Tree;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path below the root of the project.
    pub path: String,
    /// Counted from one; 0 = the file as a whole.
    pub line: usize,
    /// The error and its correction.
    pub what: String,
}

impl Finding {
    fn of_file(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: 0, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// A rule: its name, and the function that finds violations.
type Rule = (&'static str, fn(&Tree) -> Result<Vec<Finding>, Stop>);

/// All rules.
const RULES: [Rule; 10] = [
    ("crates import what the architecture allows", edges::imports),
    ("modules have no import cycles", |tree| Ok(cycles::check(tree))),
    ("unsafe stands in sys and engine alone", edges::lints),
    ("files are written where the architecture says", |tree| Ok(writes::check(tree))),
    ("dependencies have reasons, licences and one version", dependencies::check),
    ("every Rust file is part of a program", reach::check),
    ("every snapshot has a test", |tree| Ok(snapshots::check(tree))),
    ("pages have a title, and links lead somewhere", |tree| Ok(pages::check(tree))),
    ("lines end where their text ends", |tree| Ok(text::check(tree))),
    ("functions are named by verbs, and doc comments begin with nouns or verbs", |tree| Ok(words::check(tree))),
];

/// The fragments (after `#`) that link to the headings of a page.
pub fn anchors(page: &str) -> Vec<String> {
    markdown::read(page).anchors
}

/// Applies all rules to the project at `root`.
///
/// # Errors
///
/// [`Stop::Failed`] if the project cannot be read.
pub fn findings(root: &Path) -> Result<Vec<Finding>, Stop> {
    let tree = Tree::read(root).map_err(|error| Stop::Failed(format!("cannot read the project: {error}")))?;
    let mut findings = Vec::new();
    for (_, rule) in RULES {
        findings.extend(rule(&tree)?);
    }
    findings.sort();
    Ok(findings)
}

/// Applies all rules, and prints those that are met, violations of the others, and hints, which violate nothing.
///
/// # Errors
///
/// [`Stop::Failed`] if a rule is violated or the project cannot be read.
pub fn check(root: &Path) -> Result<(), Stop> {
    let tree = Tree::read(root).map_err(|error| Stop::Failed(format!("cannot read the project: {error}")))?;
    let mut broken = 0;
    for (name, rule) in RULES {
        let findings = rule(&tree)?;
        println!("{} {name}", if findings.is_empty() { "ok    " } else { "BROKEN" });
        for finding in &findings {
            println!("       {finding}");
        }
        broken += usize::from(!findings.is_empty());
    }
    for hint in sizes::hints(&tree) {
        println!("hint   {hint}");
    }
    if broken == 0 { Ok(()) } else { Err(Stop::Failed(format!("{broken} of {} rules are broken", RULES.len()))) }
}
