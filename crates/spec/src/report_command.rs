//! `diskspd report`: the words behind it.

use crate::command::ParseFailure;
use crate::outputs::Form;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What `diskspd report --help` prints.
pub const HELP: &str = "\
Usage: diskspd report FILE... [--output OUT]

Prints the report of a saved result. From a file that --json wrote it is, byte for byte, the report
that the run printed.

  FILE            a result: JSON of --json, or what DiskSpd printed on Windows (-Rxml or text, of
                  versions 2.0 to 2.3, also in UTF-16); - = stdin. Of several files every report
                  follows a line with the file's name.
  -o, --output OUT
                  write it to this file instead. Its suffix says in which form: .txt, .xml, .csv or
                  .json. Only with one FILE.
  -h, --help      this text

A file called report is measured as ./report.
";

/// What follows `diskspd report`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportCommand {
    /// Print [`HELP`].
    Help,
    /// Print results to stdout, in this order.
    Print {
        /// `-` = stdin.
        files: Vec<PathBuf>,
    },
    /// Bring one result into another form.
    Convert {
        /// `-` = stdin.
        file: PathBuf,
        /// Where to.
        output: PathBuf,
        /// Its form.
        form: Form,
    },
}

/// Reads the words behind `diskspd report`.
pub fn parse(args: &[OsString]) -> Result<ReportCommand, ParseFailure> {
    read(args).map_err(|reason| ParseFailure::because(format!("{reason}; diskspd report --help tells more")))
}

fn read(args: &[OsString]) -> Result<ReportCommand, String> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut files: Vec<PathBuf> = Vec::new();
    let mut output: Option<PathBuf> = None;
    while let Some(word) = parser.next().map_err(|error| error.to_string())? {
        match word {
            Short('h') | Long("help") => return Ok(ReportCommand::Help),
            Short('o') | Long("output") => {
                let path = parser.value().map_err(|error| error.to_string())?;
                if output.replace(PathBuf::from(path)).is_some() {
                    return Err("--output was given before".to_owned());
                }
            }
            Value(path) => files.push(PathBuf::from(path)),
            other => return Err(other.unexpected().to_string()),
        }
    }
    if files.is_empty() {
        return Err("there is no file to report".to_owned());
    }
    let Some(output) = output else {
        return Ok(ReportCommand::Print { files });
    };
    let form = form_of(&output)?;
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(ReportCommand::Convert { file, output, form }),
        Err(files) => Err(format!("--output takes one result, not {}", files.len())),
    }
}

fn form_of(output: &Path) -> Result<Form, String> {
    let form = output.extension().and_then(|suffix| suffix.to_str()).and_then(Form::from_suffix);
    form.ok_or_else(|| {
        let suffixes = Form::ALL.map(|form| format!(".{}", form.suffix())).join(", ");
        format!("the suffix of --output says the form, and '{}' has none of {suffixes}", output.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<ReportCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args).map_err(|failure| failure.messages.join("\n"))
    }

    fn files(names: &[&str]) -> ReportCommand {
        ReportCommand::Print { files: names.iter().map(PathBuf::from).collect() }
    }

    #[test]
    fn files_are_printed_and_one_is_converted() {
        assert_eq!(parsed("a.json b.xml -"), Ok(files(&["a.json", "b.xml", "-"])));
        assert_eq!(parsed("-- -a"), Ok(files(&["-a"])));
        assert_eq!(parsed("a --help"), Ok(ReportCommand::Help));
        let convert =
            |output: &str, form| Ok(ReportCommand::Convert { file: "a.json".into(), output: output.into(), form });
        assert_eq!(parsed("a.json --output b.TXT"), convert("b.TXT", Form::Text));
        assert_eq!(parsed("--output=b.xml a.json"), convert("b.xml", Form::Xml));
        assert_eq!(parsed("-o c/d.csv a.json"), convert("c/d.csv", Form::Csv));
        assert_eq!(parsed("-ob.x.json a.json"), convert("b.x.json", Form::Json));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "there is no file to report"),
            ("--output a.txt", "there is no file to report"),
            ("a --output", "missing argument for option '--output'"),
            ("a --output b", "'b' has none of .txt, .xml, .json, .csv"),
            ("a --output json", "'json' has none of"),
            ("a b --output c.txt", "takes one result, not 2"),
            ("a --output c.txt -o d.txt", "--output was given before"),
            ("a --outptu c.txt", "invalid option '--outptu'"),
            ("a -x", "invalid option '-x'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
            assert!(failure.ends_with("; diskspd report --help tells more"), "{line}: {failure}");
        }
    }
}
