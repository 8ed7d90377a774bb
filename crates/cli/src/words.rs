//! Command lines derived from others.

use crate::options::{self, Kind, OptionRow, Repeat};

/// Options combined with others: where both set a value, the others take precedence.
pub(crate) fn with_all(options: &[String], over: &[String]) -> Vec<String> {
    let is_over = |row: &OptionRow| {
        let same = |word: &String| row_of(word).is_some_and(|other| other.name == row.name);
        row.repeat != Repeat::Accumulates && over.iter().any(same)
    };
    [over.to_vec(), without(options, is_over)].concat()
}

/// Options without those that `is_left_out` selects.
pub(crate) fn without(options: &[String], is_left_out: impl Fn(&OptionRow) -> bool) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let value = if has_value_behind(word) { words.next() } else { None };
        if !row_of(word).is_some_and(&is_left_out) {
            kept.push(word.clone());
            kept.extend(value.cloned());
        }
    }
    kept
}

/// The options and the targets of the command line of a run.
pub(crate) fn split(words: &[String]) -> (&[String], &[String]) {
    let mut rest = words.iter().enumerate();
    while let Some((index, word)) = rest.next() {
        if word == "--" {
            return words.split_at(index);
        }
        // Some dashes are inserted by word processors.
        if !word.starts_with(['-', '\u{2013}', '\u{2014}', '\u{2212}']) {
            return words.split_at(index);
        }
        if has_value_behind(word) {
            rest.next();
        }
    }
    (words, &[])
}

/// The options that one of `others` also sets.
pub(crate) fn given_too(options: &[String], others: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let value = if has_value_behind(word) { words.next() } else { None };
        let name = row_of(word).map(|row| row.name);
        if name.is_some() && others.iter().any(|other| row_of(other).map(|row| row.name) == name) {
            found.push(word.clone());
            found.extend(value.cloned());
        }
    }
    found
}

/// True if the value of a long option is the next word.
pub(crate) fn has_value_behind(word: &str) -> bool {
    word.starts_with("--") && !word.contains('=') && row_of(word).is_some_and(|row| row.kind == Kind::Value)
}

/// The row of an option as it is typed.
pub(crate) fn row_of(word: &str) -> Option<&'static OptionRow> {
    if word.starts_with("--") {
        options::find_long(word.split('=').next().unwrap_or_default())
    } else {
        options::find_short(word).map(|(row, _)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_long_options_are_no_targets() {
        for (line, options) in
            [("-b4K --rate 500 --cold a b", 4), ("--rate=500 a", 1), ("-b4K --stream x:-r", 3), ("a", 0), ("", 0)]
        {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(split(&words), words.split_at(options), "{line}");
        }
    }
}
