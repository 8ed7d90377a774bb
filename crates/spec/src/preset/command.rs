//! The words behind `diskspd preset`.

use crate::command::ParseFailure;
use std::ffi::OsString;

/// What `diskspd preset --help` prints.
pub const HELP: &str = "\
Usage: diskspd preset list
       diskspd preset show NAME [--xml|--toml] [--maxdop N]
       diskspd preset run NAME [--maxdop N] [options of a load] <target>...

Loads with a name: the patterns of SQL Server, of virtual machines and of desktop benchmarks.

  list      the names, a line each
  show      what a preset does, as command lines; --xml as a profile for -X; --toml as its file, to be copied and edited
  run       its loads, one after the other, on the targets; options given here win over those of the preset, as in
            diskspd preset run sql-log -c8G -d30 test.dat
            Several loads end with a table of them; -Rtext prints every report too
  NAME      one of the list, or the path of a TOML file (with a slash, or ending in .toml)
  --maxdop N
            threads of the loads that follow the number of CPUs
  -h, --help
            this text

A file called preset is measured as ./preset.
";

/// What follows `diskspd preset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresetCommand {
    /// Print [`HELP`].
    Help,
    /// Names and titles.
    List,
    /// What a preset does.
    Show(PresetRequest, Shown),
    /// Run it.
    Run(PresetRequest),
}

/// Which preset, and what the user says to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PresetRequest {
    /// Its name or path.
    pub name: String,
    /// `--maxdop`
    pub max_degree: Option<u32>,
    /// Options and targets of a load.
    pub words: Vec<String>,
}

/// Forms of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Command lines where they can say it.
    CommandLines,
    /// A profile for `-X`.
    Xml,
    /// Its own file.
    Toml,
}

/// Reads the words behind `diskspd preset`.
pub fn parse(args: &[OsString]) -> Result<PresetCommand, ParseFailure> {
    read(args).map_err(|reason| ParseFailure::because(format!("{reason}; diskspd preset --help tells more")))
}

fn read(args: &[OsString]) -> Result<PresetCommand, String> {
    let text =
        |word: &OsString| word.to_str().map(str::to_owned).ok_or_else(|| format!("'{}' is not UTF-8", word.display()));
    let words: Vec<String> = args.iter().map(text).collect::<Result<_, _>>()?;
    let mut words = words.into_iter();
    let verb = words.next().ok_or("list, show or run is missing")?;
    let rest: Vec<String> = words.collect();
    if verb == "-h" || verb == "--help" || rest.first().is_some_and(|word| word == "-h" || word == "--help") {
        return Ok(PresetCommand::Help);
    }
    match verb.as_str() {
        "list" if rest.is_empty() => Ok(PresetCommand::List),
        "list" => Err(format!("'{}' is too much: list stands alone", rest[0])),
        "show" => show(rest),
        "run" => {
            let request = request(rest)?;
            if request.words.is_empty() {
                return Err(format!("the target of '{}' is missing", request.name));
            }
            Ok(PresetCommand::Run(request))
        }
        other => Err(format!("'{other}' is neither list, show nor run")),
    }
}

fn show(mut words: Vec<String>) -> Result<PresetCommand, String> {
    let mut shown = Shown::CommandLines;
    words.retain(|word| {
        match word.as_str() {
            "--xml" => shown = Shown::Xml,
            "--toml" => shown = Shown::Toml,
            _ => return true,
        }
        false
    });
    let request = request(words)?;
    match request.words.first() {
        Some(word) => Err(format!("'{word}': a preset is shown as it is, without options and targets of a load")),
        None => Ok(PresetCommand::Show(request, shown)),
    }
}

/// The name, `--maxdop` wherever it stands before the targets, and the rest.
fn request(words: Vec<String>) -> Result<PresetRequest, String> {
    let mut request = PresetRequest::default();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            Some(("--maxdop", value)) => Some(value.to_owned()),
            None if word == "--maxdop" => Some(words.next().ok_or("--maxdop: the number is missing")?),
            _ => None,
        };
        match value {
            Some(value) => {
                let degree = value.parse().ok().filter(|&degree| degree > 0);
                request.max_degree = Some(degree.ok_or_else(|| format!("--maxdop '{value}' is no number from 1"))?);
            }
            None if request.name.is_empty() && !word.starts_with('-') => request.name = word,
            None if request.name.is_empty() => return Err(format!("'{word}' stands where a preset's name should")),
            None => request.words.push(word),
        }
    }
    if request.name.is_empty() { Err("the name of a preset is missing".to_owned()) } else { Ok(request) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<PresetCommand, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        parse(&args).map_err(|failure| failure.messages.join("\n"))
    }

    #[test]
    fn names_degrees_and_words_are_told_apart() {
        let request = |max_degree, words: &[&str]| PresetRequest {
            name: "oltp".into(),
            max_degree,
            words: words.iter().map(|&word| word.into()).collect(),
        };
        assert_eq!(parsed("list"), Ok(PresetCommand::List));
        assert_eq!(parsed("--help"), Ok(PresetCommand::Help));
        assert_eq!(parsed("run --help"), Ok(PresetCommand::Help));
        assert_eq!(parsed("run oltp -d3 a.dat"), Ok(PresetCommand::Run(request(None, &["-d3", "a.dat"]))));
        assert_eq!(parsed("run --maxdop 4 oltp a"), Ok(PresetCommand::Run(request(Some(4), &["a"]))));
        assert_eq!(parsed("run oltp --maxdop=4 a"), Ok(PresetCommand::Run(request(Some(4), &["a"]))));
        assert_eq!(parsed("show oltp --xml"), Ok(PresetCommand::Show(request(None, &[]), Shown::Xml)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, expected) in [
            ("", "list, show or run is missing"),
            ("fly", "'fly' is neither"),
            ("list oltp", "stands alone"),
            ("run", "the name of a preset is missing"),
            ("run -d3 oltp a", "'-d3' stands where"),
            ("run oltp", "the target of 'oltp' is missing"),
            ("run oltp --maxdop", "the number is missing"),
            ("run oltp --maxdop 0 a", "'0' is no number from 1"),
            ("show oltp a.dat", "'a.dat': a preset is shown as it is"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
