//! Pages: each has one title and is linked from another page, and all links are valid.

use super::Finding;
use super::markdown::{self, Page};
use super::tree::{Tree, folder_of, joined};
use std::collections::{BTreeMap, BTreeSet};

/// Pages that readers find without a link.
const FOUND: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// Directory of pages and images that must be linked.
const DOCUMENTATION: &str = "docs/";

/// Titles, links, and pages and images that are unreachable.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let pages: BTreeMap<&str, Page> = tree
        .ending(".md")
        .filter(|(path, _)| !path.contains("/tests/"))
        .map(|(path, text)| (path, markdown::read(text)))
        .collect();
    let mut findings: Vec<Finding> = pages.iter().filter_map(|(path, page)| title(path, page)).collect();
    let mut leads_to = BTreeMap::<&str, BTreeSet<String>>::new();
    for (path, page) in &pages {
        for (line, link) in page.links.iter().filter(|(_, link)| !is_elsewhere(link)) {
            match destination(tree, &pages, path, link) {
                Ok(destination) => {
                    leads_to.entry(path).or_default().insert(destination);
                }
                Err(what) => findings.push(Finding { path: (*path).to_owned(), line: *line, what }),
            }
        }
    }
    findings.extend(lost(tree, &leads_to));
    findings
}

fn title(path: &str, page: &Page) -> Option<Finding> {
    match page.titles[..] {
        [1] => None,
        [] => Some(Finding::of_file(path, "has no title: # ...")),
        [line] => Some(Finding { path: path.to_owned(), line, what: "the title is not the first line".to_owned() }),
        [_, line, ..] => Some(Finding { path: path.to_owned(), line, what: "is a second title".to_owned() }),
    }
}

pub(crate) fn is_elsewhere(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// The file or directory below the root that a link refers to, or the reason why it is invalid.
pub(crate) fn destination(tree: &Tree, pages: &BTreeMap<&str, Page>, from: &str, link: &str) -> Result<String, String> {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { Some(from.to_owned()) } else { joined(folder_of(from), file) };
    let path = path.ok_or_else(|| format!("the link {link} leaves the project"))?;
    let is_folder = || tree.files.keys().any(|other| other.starts_with(&format!("{path}/")));
    if !tree.files.contains_key(&path) && !is_folder() {
        return Err(format!("the link {link} leads to nothing"));
    }
    let has = |anchor| pages.get(path.as_str()).is_none_or(|page| page.anchors.iter().any(|other| other == anchor));
    match anchor {
        Some(anchor) if !has(anchor) => Err(format!("the link {link} leads to no heading")),
        _ => Ok(path),
    }
}

/// Pages and images that cannot be reached from the pages that readers find without a link. A link to a directory
/// covers all files in it.
fn lost(tree: &Tree, leads_to: &BTreeMap<&str, BTreeSet<String>>) -> Vec<Finding> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<String> = FOUND.map(str::to_owned).into();
    while let Some(path) = open.pop() {
        if reached.insert(path.clone()) {
            open.extend(leads_to.get(path.as_str()).into_iter().flatten().cloned());
            open.extend(tree.files.keys().filter(|other| folder_of(other) == path && !path.is_empty()).cloned());
        }
    }
    let documents = tree.files.keys().filter(|path| path.starts_with(DOCUMENTATION));
    let lost = documents.filter(|path| !reached.contains(*path));
    lost.map(|path| Finding::of_file(path, "no page leads to it")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect();
        let mut found = check(&Tree { root: PathBuf::new(), files });
        found.sort();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pages_that_hang_together_are_fine() {
        let readme = "# R\n\n[a](docs/a.md#part-two) [d](docs/decisions) [w](https://example.com)\n";
        let a = "# A\n\n## Part two\n\n![i](images/i.svg) [up](../README.md) [here](#part-two)\n";
        let files =
            [("README.md", readme), ("docs/a.md", a), ("docs/decisions/1.md", "# D\n"), ("docs/images/i.svg", "")];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn what_leads_nowhere_or_is_led_to_from_nowhere_is_found() {
        let readme = "# R\n\n[a](docs/a.md#no) [b](b.md) [c](../c.md)\n";
        let files = [("README.md", readme), ("docs/a.md", "# A\n\n# B\n"), ("docs/lost.md", "text\n")];
        assert_eq!(
            found(&files),
            [
                "README.md:3: the link ../c.md leaves the project",
                "README.md:3: the link b.md leads to nothing",
                "README.md:3: the link docs/a.md#no leads to no heading",
                "docs/a.md: no page leads to it",
                "docs/a.md:3: is a second title",
                "docs/lost.md: has no title: # ...",
                "docs/lost.md: no page leads to it",
            ]
        );
    }
}
