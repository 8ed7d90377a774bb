//! Compares output with that on a page: words exactly, numbers with any value.
//!
//! trycmd and snapbox compare pages with wildcards written into them. A guide should show numbers, so here those of
//! both sides are removed first.

/// Matches any number of lines.
const ANY_LINES: &str = "...";

/// Words of a judgement, which depend on the numbers.
const JUDGEMENTS: [&str; 8] =
    ["equivalent within 5 %", "cannot tell", "better", "worse", "INVALID", "WARN", "NOTE", "above "];

/// Index of the output line that each expected line matches; none if they do not match.
///
/// `...` on a separate line matches any lines and has no line of the output. A line that begins with one of `varying`
/// matches any line with that beginning.
pub(crate) fn aligned(expected: &[String], printed: &[String], varying: &[String]) -> Option<Vec<Option<usize>>> {
    let fits = |from: usize, part: &[String]| {
        part.len() <= printed.len().saturating_sub(from)
            && part.iter().zip(&printed[from..]).all(|(line, other)| line_fits(line, other, varying))
    };
    let mut places = Vec::new();
    let mut at = 0;
    let parts: Vec<&[String]> = expected.split(|line| line.trim() == ANY_LINES).collect();
    for (index, part) in parts.iter().enumerate() {
        let is_last = index + 1 == parts.len();
        let found = if index == 0 {
            (fits(0, part) && (!is_last || part.len() == printed.len())).then_some(0)
        } else if is_last {
            printed.len().checked_sub(part.len()).filter(|from| *from >= at && fits(*from, part))
        } else {
            (at..=printed.len()).find(|from| fits(*from, part))
        }?;
        if index > 0 {
            places.push(None);
        }
        places.extend((found..found + part.len()).map(Some));
        at = found + part.len();
    }
    Some(places)
}

fn line_fits(expected: &str, printed: &str, varying: &[String]) -> bool {
    let (expected, printed) = (shape(expected), shape(printed));
    let begins = |start: String| expected.starts_with(&start) && printed.starts_with(&start);
    expected == printed || varying.iter().any(|start| begins(shape(start)))
}

/// A line without its numbers and without anything that depends on them: signs, judgements, runs of blanks and of
/// dashes.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut rest = line.trim_end();
    while let Some(next) = rest.chars().next() {
        let is_apart = shape.is_empty() || shape.ends_with([' ', '(']);
        let unsigned = if is_apart { rest.trim_start_matches(['+', '-']) } else { rest };
        let has_figure = unsigned.len() + 1 >= rest.len() && unsigned.starts_with(|first: char| first.is_ascii_digit());
        let judgement = JUDGEMENTS.iter().find_map(|word| rest.strip_prefix(word));
        let (token, behind) = if let Some(behind) = judgement.filter(|_| is_apart) {
            // Values "above 1000 %" are too large to be stated.
            (if behind.starts_with(['+', '-']) { "" } else { "!" }, behind)
        } else if let Some(behind) = rest.strip_prefix("N/A").filter(|_| is_apart) {
            // A thread that did no I/O on a busy machine has no value.
            ("#", behind)
        } else if has_figure {
            ("#", unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
        } else if next == ' ' {
            (" ", rest.trim_start_matches(' '))
        } else if rest.starts_with("---") {
            ("---", rest.trim_start_matches('-'))
        } else {
            rest.split_at(next.len_utf8())
        };
        shape.push_str(token);
        rest = behind;
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn figures_and_what_follows_from_them_do_not_count_and_words_do() {
        for (expected, printed, is_same) in [
            ("total:  1.5 MiB/s", "total: 10234.75 MiB/s", true),
            ("total: 1 MiB/s", "total: 1 KiB/s", false),
            ("change +20.1 %", "change -3 %", true),
            ("| 0.394 | 0.271", "| 0.000 |   N/A", true),
            ("a-b", "a-1", false),
            ("-----", "--------", true),
            ("iops  1 better", "iops 22   equivalent within 5 %", true),
            ("1 % to above +1000 %", "1 % to +20.5 %", true),
            ("efficient depth: 4", "efficient depth: unknown", true),
            ("efficient depth: 4", "saturation depth: 4", false),
            ("  1 read", "  20.5 write", true),
        ] {
            assert_eq!(
                line_fits(expected, printed, &["efficient".to_owned(), "  0".to_owned()]),
                is_same,
                "'{expected}' and '{printed}'"
            );
        }
    }

    #[test]
    fn dots_stand_for_any_lines() {
        let printed = lines("a 1|b 2|c 3|d 4");
        for (expected, places) in [
            ("a 9|b 9|c 9|d 9", Some(vec![Some(0), Some(1), Some(2), Some(3)])),
            ("a 9|...|d 9", Some(vec![Some(0), None, Some(3)])),
            ("...|b 1|...", Some(vec![None, Some(1), None])),
            ("...|d 1", Some(vec![None, Some(3)])),
            ("...", Some(vec![None])),
            ("a 1|b 1", None),
            ("...|c 1", None),
            ("c 1|...", None),
            ("...|c 1|...|b 1|...", None),
        ] {
            assert_eq!(aligned(&lines(expected), &printed, &[]), places, "{expected}");
        }
    }
}
