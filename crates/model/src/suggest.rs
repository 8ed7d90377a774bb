//! Suggestions for misspelt names.

/// Names at an edit distance of at most 2 from `word`, or that begin with it.
pub fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // Of another length, no name is near: words may be of any length.
    let length = word.chars().count();
    let is_as_long = |name: &str| name.chars().count().abs_diff(length) <= 2;
    let is_near = |name: &str| is_as_long(name) && distance(word, name) <= 2;
    names.filter(|name| is_near(name) || (word.len() > 1 && name.starts_with(word))).collect()
}

/// The `count` names at the smallest edit distance from `word`, the nearest first, each once.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    /// Longer words are no slips of a name.
    const LENGTH_MAX: usize = 100;
    let word: String = word.chars().take(LENGTH_MAX).collect();
    let mut found: Vec<(usize, &str)> = names.map(|name| (distance(&word, name), name)).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, name)| name).take(count).collect()
}

/// `did you mean gp3? `, with the first of the names that are near; nothing if none is.
pub fn hint<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    near(word, names).first().map(|meant| format!("did you mean {meant}? ")).unwrap_or_default()
}

/// Number of characters to insert, remove or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn one_or_two_slips_are_near() {
        let names = ["overwrite", "recreate", "plan"];
        assert_eq!(near("overwirte", names.into_iter()), ["overwrite"]);
        assert_eq!(near("over", names.into_iter()), ["overwrite"]);
        assert_eq!(near("x", names.into_iter()), Vec::<&str>::new());
        assert_eq!(nearest("plna", names.into_iter(), 1), ["plan"]);
        assert_eq!(hint("overwirte", names.into_iter()), "did you mean overwrite? ");
        assert_eq!(hint("x", names.into_iter()), "");
    }
}
