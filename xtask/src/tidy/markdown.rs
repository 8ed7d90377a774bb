//! Headings and links of a page.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;

/// Extensions of Markdown that pages use.
pub(crate) const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_FOOTNOTES);

/// The properties of a page that rules check.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Lines of its headings of the first level.
    pub(crate) titles: Vec<usize>,
    /// Fragments (after `#`) that link to its headings.
    pub(crate) anchors: Vec<String>,
    /// Line and destination of each link and image.
    pub(crate) links: Vec<(usize, String)>,
}

/// Reads a page.
pub(crate) fn read(text: &str) -> Page {
    let mut page = Page::default();
    let mut seen = BTreeMap::<String, usize>::new();
    // The text of the current heading.
    let mut heading: Option<String> = None;
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let line = text[..range.start].matches('\n').count() + 1;
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some(String::new());
                if level == HeadingLevel::H1 {
                    page.titles.push(line);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let count = seen.entry(anchor.clone()).or_default();
                page.anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
                *count += 1;
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push((line, dest_url.into_string()));
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    page
}

/// The fragment of a heading on the sites that show these pages.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_anchors_and_links_are_read() {
        let page = read(
            "# One `-x`, two\n\n[a](b.md#c) and ![d](e.png)\n\n## Part\n\n```\n# no title [f](g.md)\n```\n\n## Part\n\n\
             | h |\n|---|\n| [i](j.md) |\n",
        );
        assert_eq!(page.titles, [1]);
        assert_eq!(page.anchors, ["one--x-two", "part", "part-1"]);
        assert_eq!(page.links, [(3, "b.md#c".to_owned()), (3, "e.png".to_owned()), (15, "j.md".to_owned())]);
    }
}
