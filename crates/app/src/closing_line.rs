//! The last line of a run on a terminal: what came out, at a glance.

use crate::output::{can_draw, say_as_it_is, wants_colours};
use model::finding::Severity;
use model::printable::printable;
use model::result::RunResult;
use render::ClosingLine;
use std::io::{self, IsTerminal as _};
use sys::terminal::columns;

/// Says it, if stderr is a terminal and something was measured.
pub(crate) fn say(result: &RunResult) {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return;
    }
    if let Some(line) = render::closing_line(result) {
        say_as_it_is(&written(&line, columns(&stderr), wants_colours() && can_draw(&stderr)));
    }
}

/// On one line, or with the load on a line of its own if the terminal is not wide enough.
fn written(line: &ClosingLine, columns: Option<usize>, has_colours: bool) -> String {
    let [figures, verdict, load] = [&line.figures, &line.verdict, &line.load].map(|part| printable(part));
    let length = [&figures, &verdict, &load].into_iter().map(|part| part.chars().count()).sum::<usize>() + 4;
    let before_load = if columns.is_some_and(|columns| length > columns) { "\n" } else { "  " };
    let coloured = |text: &str, code: &str| {
        if has_colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let code = match line.severity {
        Some(Severity::Invalid | Severity::Fail) => "1;31",
        Some(Severity::Warn | Severity::Unknown) => "1;33",
        Some(Severity::Note | Severity::Pass) | None => "32",
    };
    let (figures, verdict, load) = (coloured(&figures, "1"), coloured(&verdict, code), coloured(&load, "2"));
    format!("{figures}  {verdict}{before_load}{load}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_widths() {
        let line = ClosingLine {
            figures: "1 IOPS".to_owned(),
            severity: Some(Severity::Warn),
            verdict: "WARN steal".to_owned(),
            load: "a\x1b load".to_owned(),
        };
        assert_eq!(written(&line, None, false), "1 IOPS  WARN steal  a\\x1b load\n");
        assert_eq!(written(&line, Some(30), false), "1 IOPS  WARN steal  a\\x1b load\n");
        assert_eq!(written(&line, Some(29), false), "1 IOPS  WARN steal\na\\x1b load\n");
        assert_eq!(
            written(&line, None, true),
            "\x1b[1m1 IOPS\x1b[0m  \x1b[1;33mWARN steal\x1b[0m  \x1b[2ma\\x1b load\x1b[0m\n"
        );
        let sound = ClosingLine { severity: None, verdict: "sound".to_owned(), ..line };
        assert!(written(&sound, None, true).contains("\x1b[32msound\x1b[0m"));
    }
}
