//! The help text of a subcommand, taken apart: what its man page and its completions are made of.

/// Columns by which lines of a list stand out: before a short option, and before a long one alone.
const ITEM_INDENTS: [usize; 2] = [2, 6];

/// A part of a help text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Lines that say how it is called, without `Usage:`.
    Usage(Vec<String>),
    /// Sentences.
    Paragraph(String),
    /// An argument, or an option with its other names: `-o, --output OUT`, and what it does.
    Item {
        /// As it is typed.
        term: String,
        /// One paragraph.
        text: String,
    },
}

/// Takes a help text apart.
pub(crate) fn parts(help: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut is_after_blank = true;
    for line in help.lines() {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() {
            is_after_blank = true;
            continue;
        }
        let is_item = ITEM_INDENTS.contains(&indent);
        match parts.last_mut() {
            _ if text.starts_with("Usage: ") => parts.push(Part::Usage(vec![text["Usage: ".len()..].to_owned()])),
            Some(Part::Usage(lines)) if !is_after_blank => lines.push(text.to_owned()),
            Some(Part::Paragraph(sentences)) if !is_after_blank && !is_item => append(sentences, text),
            Some(Part::Item { text: sentences, .. }) if !is_after_blank && indent > 0 && !is_item => {
                append(sentences, text);
            }
            _ if is_item => {
                let (term, text) = text.split_once("  ").unwrap_or((text, ""));
                parts.push(Part::Item { term: term.to_owned(), text: text.trim_start().to_owned() });
            }
            _ => parts.push(Part::Paragraph(text.to_owned())),
        }
        is_after_blank = false;
    }
    parts
}

fn append(sentences: &mut String, text: &str) {
    if !sentences.is_empty() {
        sentences.push(' ');
    }
    sentences.push_str(text);
}

/// The options in an item's term: `-o, --output OUT` is `-o` and `--output`.
pub(crate) fn options_of(term: &str) -> impl Iterator<Item = &str> {
    let words = term.split([' ', '=', '[', '<', ',']).filter(|word| word.len() > 1 && word.starts_with('-'));
    words.filter(|word| *word != "--")
}

/// True if an option of this term takes a value: `--output OUT`, `-c<size>`.
pub(crate) fn takes_value(term: &str) -> bool {
    let last = term.split(", ").last().unwrap_or_default();
    last.contains([' ', '=', '<'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_help_text_is_taken_apart() {
        let help = "\
Usage: diskspd x A
       diskspd x --b

Does this
and that.

What:
  A            a file
  -b, --b=N    so
               many
      --long VALUE
               wide

A file called x.
";
        let item = |term: &str, text: &str| Part::Item { term: term.to_owned(), text: text.to_owned() };
        assert_eq!(
            parts(help),
            [
                Part::Usage(vec!["diskspd x A".to_owned(), "diskspd x --b".to_owned()]),
                Part::Paragraph("Does this and that.".to_owned()),
                Part::Paragraph("What:".to_owned()),
                item("A", "a file"),
                item("-b, --b=N", "so many"),
                item("--long VALUE", "wide"),
                Part::Paragraph("A file called x.".to_owned()),
            ]
        );
    }

    #[test]
    fn options_are_found_in_terms() {
        let options = |term| options_of(term).collect::<Vec<_>>();
        assert_eq!(options("-o, --output OUT"), ["-o", "--output"]);
        assert_eq!(options("-c<size>[KMGT]"), ["-c"]);
        assert_eq!(options("--ssds N, --copies M"), ["--ssds", "--copies"]);
        assert_eq!(options("FILE"), [""; 0]);
        for (term, expected) in
            [("-a, --all", false), ("-o, --output OUT", true), ("--x=<y>", true), ("-c<size>", true)]
        {
            assert_eq!(takes_value(term), expected, "{term}");
        }
    }
}
