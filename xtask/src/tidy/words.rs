//! Names of functions and first words of doc comments that say nothing.

use super::Finding;
use super::tree::Tree;

/// Names that need a verb and its object.
const FUNCTIONS: [&str; 7] = ["of", "told", "said", "made", "look", "leaves", "turn"];

/// Words in the place of a noun.
const PRONOUNS: [&str; 3] = ["What", "Who", "Whether"];

/// Words that may stand before `fn`.
const QUALIFIERS: [&str; 6] = ["async", "const", "default", "extern", "pub", "unsafe"];

/// Functions with these names, closures included, and doc comments that begin with these words.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs").flat_map(|(path, text)| judge(path, text)).collect()
}

fn judge(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut before = "";
    for (index, line) in text.lines().map(str::trim).enumerate() {
        let name = function(line).or_else(|| closure(before, line)).filter(|name| FUNCTIONS.contains(name));
        let word = first_word(before, line).filter(|word| PRONOUNS.contains(word));
        let name = name.map(|name| format!("name function '{name}' by a verb, like from_..., to_... or parse"));
        let word = word.map(|word| format!("begin the doc comment with a noun or a verb, not with '{word}'"));
        let found = name.or(word).map(|what| Finding { path: path.to_owned(), line: index + 1, what });
        findings.extend(found);
        before = line;
    }
    findings
}

/// The name of the function that a line declares.
fn function(line: &str) -> Option<&str> {
    let (qualifiers, rest) = line.split_once("fn ").filter(|(before, _)| before.is_empty() || before.ends_with(' '))?;
    let is_qualifier = |word: &str| {
        word.starts_with(['(', '"'])
            || word.ends_with(')')
            || QUALIFIERS.contains(&word.split('(').next().unwrap_or(word))
    };
    qualifiers.split_whitespace().all(is_qualifier).then(|| identifier(rest))
}

/// The name of the closure that a line declares, perhaps with the one before it.
fn closure<'a>(before: &'a str, line: &'a str) -> Option<&'a str> {
    let is_closure = |value: &str| value.trim_start_matches("move ").starts_with('|');
    let whole = line.split_once(" = ").or_else(|| Some((before.strip_suffix(" =")?, line)));
    let (name, _) = whole.filter(|(_, value)| is_closure(value))?;
    Some(name.strip_prefix("let ")?.trim_start_matches("mut "))
}

/// The first word of a doc comment that begins with a line, or of a paragraph in it.
fn first_word<'a>(before: &str, line: &'a str) -> Option<&'a str> {
    let (marker, text) = line.split_at_checked(3).filter(|(marker, _)| ["///", "//!"].contains(marker))?;
    let is_first = !before.starts_with(marker) || before == marker;
    is_first.then(|| identifier(text.trim_start()))
}

fn identifier(text: &str) -> &str {
    text.split(|character: char| !character.is_alphanumeric() && character != '_').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        judge("a.rs", text).into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn functions_without_a_verb_are_found() {
        assert_eq!(lines("fn of() {}\nimpl A {\n    pub(crate) const fn told<'a>(&'a self) {}\n}\n"), [1, 3]);
        assert_eq!(lines("pub(in crate::a) unsafe extern \"C\" fn turn()\nlet mut look = move |a| a;\n"), [1, 2]);
        assert_eq!(lines("let of =\n    |a| a;\nlet made =\n    1;\n"), [2]);
        let others = "fn of_row() {}\nlet f: fn(u8) = of;\nlet of = 1;\n// a fn of a\n\"fn of()\"\n";
        assert_eq!(lines(others), Vec::<usize>::new());
    }

    #[test]
    fn doc_comments_that_begin_with_a_pronoun_are_found() {
        assert_eq!(lines("//! What it is.\n\n/// Who does it.\n///\n/// Whether it does.\n"), [1, 3, 5]);
        assert_eq!(lines("/// A row, and\n/// What follows.\n// What else\n/// Whatever.\n"), Vec::<usize>::new());
    }
}
