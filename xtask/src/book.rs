//! `cargo xtask docs --book DIR`: all pages below `docs` as one HTML file, with contents, search and checked links.

use crate::stop::Stop;
use crate::tidy::markdown::{self, OPTIONS, Page};
use crate::tidy::pages::{destination, is_elsewhere};
use crate::tidy::tree::Tree;
use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd, html};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The frame of the book, with places for contents and pages.
const FRAME: &str = include_str!("book.html");

/// The page whose links, in their order, begin the book.
const GUIDE: &str = "docs/guide/README.md";

/// A book and the files that it needs beside it.
struct Book {
    html: String,
    /// Paths below the root of the project, and below the directory of the book.
    files: BTreeSet<String>,
}

/// Writes the book, and the files that it links, to a directory.
///
/// # Errors
///
/// [`Stop::Failed`] if a link leads nowhere, or a file cannot be read or written.
pub fn write(root: &Path, folder: &Path) -> Result<(), Stop> {
    let failed = |error: std::io::Error| Stop::Failed(format!("--book {}: {error}", folder.display()));
    let book = bind(&Tree::read(root).map_err(failed)?).map_err(|links| Stop::Failed(links.join("\n")))?;
    for path in &book.files {
        let copy = folder.join(path);
        std::fs::create_dir_all(copy.parent().unwrap_or(folder)).map_err(failed)?;
        std::fs::copy(root.join(path), copy).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(folder.join("index.html"), book.html).map_err(failed)
}

/// The book, or its broken links.
fn bind(tree: &Tree) -> Result<Book, Vec<String>> {
    let pages: BTreeMap<&str, Page> = tree.ending(".md").map(|(path, text)| (path, markdown::read(text))).collect();
    let (mut contents, mut sections) = (String::new(), String::new());
    let (mut files, mut broken) = (BTreeSet::new(), Vec::new());
    for (part, paths) in parts(tree, &pages) {
        let _ = writeln!(contents, "<h2>{part}</h2>");
        for path in paths {
            let text = tree.text(&path).unwrap_or_default();
            let title = text.lines().next().unwrap_or_default().trim_start_matches("# ").replace('`', "");
            let id = id(&path);
            let _ = writeln!(contents, "<a href=\"#{id}\">{}</a>", escaped(&title));
            let _ = writeln!(sections, "<section id=\"{id}\">");
            let mut link = |link: &str| match rewritten(tree, &pages, &path, link) {
                Ok((link, file)) => {
                    files.extend(file);
                    link
                }
                Err(reason) => {
                    broken.push(format!("{path}: {reason}"));
                    String::new()
                }
            };
            html::push_html(&mut sections, events(text, &id, &pages[path.as_str()].anchors, &mut link).into_iter());
            sections += "</section>\n";
        }
    }
    let html = FRAME.replace("{{contents}}", &contents).replace("{{pages}}", &sections);
    if broken.is_empty() { Ok(Book { html, files }) } else { Err(broken) }
}

/// The parts of the book, each with the paths of its pages: the guide in its order, the rest by path.
fn parts(tree: &Tree, pages: &BTreeMap<&str, Page>) -> [(&'static str, Vec<String>); 3] {
    let linked = pages.get(GUIDE).into_iter().flat_map(|page| &page.links);
    let linked = linked.filter_map(|(_, link)| destination(tree, pages, GUIDE, link).ok());
    let others = |of_guide: &'static str| pages.keys().filter(move |path| path.starts_with(of_guide));
    let guide =
        [GUIDE.to_owned()].into_iter().chain(linked).chain(others("docs/guide/").map(|path| (*path).to_owned()));
    let mut seen = BTreeSet::new();
    let is_of_guide = |path: &String| path.starts_with("docs/guide/") || path.starts_with("docs/concepts/");
    let guide: Vec<String> = guide.filter(is_of_guide).filter(|path| seen.insert(path.clone())).collect();
    let rest = others("docs/").map(|path| (*path).to_owned()).filter(|path| !seen.contains(path));
    let (decisions, reference) = rest.partition(|path| path.starts_with("docs/decisions/"));
    [("Guide", guide), ("Reference", reference), ("Decisions", decisions)]
}

/// The events of a page: headings have their fragments, links are rewritten, wide tables scroll, comments are left out.
fn events<'a>(text: &'a str, page: &str, anchors: &[String], link: &mut impl FnMut(&str) -> String) -> Vec<Event<'a>> {
    let mut anchors = anchors.iter();
    let mut events = Vec::new();
    for event in Parser::new_ext(text, OPTIONS) {
        match event {
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = anchors.next().map(|anchor| CowStr::from(format!("{page}/{anchor}")));
                events.push(Event::Start(Tag::Heading { level, id, classes, attrs }));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let dest_url = link(&dest_url).into();
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = link(&dest_url).into();
                events.push(Event::Start(Tag::Image { link_type, dest_url, title, id }));
            }
            Event::Start(Tag::Table(_)) => events.extend([Event::Html("<div class=wide>".into()), event]),
            Event::End(TagEnd::Table) => events.extend([event, Event::Html("</div>".into())]),
            Event::Html(html) if html.starts_with("<!--") => {}
            event => events.push(event),
        }
    }
    events
}

/// A link as it is in the book, and the file beside the book that it needs.
fn rewritten(
    tree: &Tree,
    pages: &BTreeMap<&str, Page>,
    from: &str,
    link: &str,
) -> Result<(String, Option<String>), String> {
    if is_elsewhere(link) {
        return Ok((link.to_owned(), None));
    }
    let path = destination(tree, pages, from, link)?;
    let anchor = link.split_once('#').map(|(_, anchor)| format!("/{anchor}")).unwrap_or_default();
    let first = pages.keys().find(|page| page.starts_with(&format!("{path}/")));
    match (pages.contains_key(path.as_str()), first) {
        (true, _) if path.starts_with("docs/") => Ok((format!("#{}{anchor}", id(&path)), None)),
        (false, Some(first)) => Ok((format!("#{}", id(first)), None)),
        _ if tree.files.contains_key(&path) => Ok((path.clone(), Some(path))),
        _ => Err(format!("the link {link} leads out of the book")),
    }
}

/// The fragment of a page.
fn id(path: &str) -> String {
    path.trim_start_matches("docs/").trim_end_matches(".md").to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_the_book_and_every_link_leads_to_a_place_in_it() {
        let tree = Tree::read(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
        let Book { html, files } = bind(&tree).unwrap_or_else(|broken| panic!("{}", broken.join("\n")));
        let pages = tree
            .files
            .keys()
            .filter(|path| path.starts_with("docs/") && Path::new(path).extension().is_some_and(|ext| ext == "md"));
        let missing: Vec<_> = pages.filter(|path| !html.contains(&format!("<section id=\"{}\">", id(path)))).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let ids: BTreeSet<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let links: Vec<&str> = html.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(links.len() > 300, "{} links", links.len());
        for link in links.iter().map(|link| link.replace("&amp;", "&")).filter(|link| !is_elsewhere(link)) {
            let is_there = link.strip_prefix('#').map_or(files.contains(&link), |id| ids.contains(id));
            assert!(is_there, "{link} leads nowhere");
        }
    }

    #[test]
    fn broken_links_are_named() {
        let files = [("docs/guide/README.md", "# G\n\n[a](../a.md#b) [c](c.md)\n"), ("docs/a.md", "# A\n")];
        let files = files.map(|(path, text)| (path.to_owned(), Some(text.to_owned()))).into();
        let broken = bind(&Tree { root: "".into(), files }).err().unwrap();
        assert_eq!(broken.len(), 2, "{broken:?}");
    }
}
