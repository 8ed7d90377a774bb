//! Arguments of `diskspd preset`.

use crate::command::ParseFailure;
use std::ffi::OsString;

/// Output of `diskspd preset --help`.
pub const HELP: &str = "\
Usage: diskspd preset list
       diskspd preset show NAME [--xml|--toml] [--maxdop N]
       diskspd preset run NAME [--maxdop N] [options of a load] <target>...

Named loads: the I/O patterns of SQL Server, virtual machines and desktop benchmarks.

  list      list the presets, one per line
  show      show a preset as command lines; --xml as a profile for -X; --toml as a preset file to edit
  run       run its loads one after another on the targets; options given here override the preset, as in
            diskspd preset run sql-log -c8G -d30 test.dat
            Several loads end with a summary table; -Rtext prints every report too
  NAME      a preset from the list, or the path of a TOML file (with a slash, or ending in .toml)
  --maxdop N
            number of threads, for loads whose thread count follows the number of CPUs
  -h, --help
            print this help

To measure a file named preset, write ./preset.
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

/// A preset and the user's options for it.
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

/// Parses the arguments of `diskspd preset`.
pub fn parse(args: &[OsString]) -> Result<PresetCommand, ParseFailure> {
    read(args).map_err(|reason| ParseFailure::because(format!("{reason}; see diskspd preset --help")))
}

fn read(args: &[OsString]) -> Result<PresetCommand, String> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| format!("'{}' is not valid UTF-8", word.display()))
    };
    let words: Vec<String> = args.iter().map(text).collect::<Result<_, _>>()?;
    let mut words = words.into_iter();
    let verb = words.next().ok_or("subcommand missing (expected: list, show, run)")?;
    let rest: Vec<String> = words.collect();
    if verb == "-h" || verb == "--help" || rest.first().is_some_and(|word| word == "-h" || word == "--help") {
        return Ok(PresetCommand::Help);
    }
    match verb.as_str() {
        "list" if rest.is_empty() => Ok(PresetCommand::List),
        "list" => Err(format!("unexpected '{}': list takes no arguments", rest[0])),
        "show" => show(rest),
        "run" => {
            let request = request(rest)?;
            if request.words.is_empty() {
                return Err(format!("preset '{}': no target given", request.name));
            }
            Ok(PresetCommand::Run(request))
        }
        other => Err(format!("unknown subcommand '{other}' (expected: list, show, run)")),
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
        Some(word) => Err(format!("unexpected '{word}': show takes no workload options or targets")),
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
                request.max_degree =
                    Some(degree.ok_or_else(|| format!("--maxdop '{value}' is not a positive integer"))?);
            }
            None if request.name.is_empty() && !word.starts_with('-') => request.name = word,
            None if request.name.is_empty() => return Err(format!("found '{word}' instead of a preset name")),
            None => request.words.push(word),
        }
    }
    if request.name.is_empty() { Err("the preset name is missing".to_owned()) } else { Ok(request) }
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
            ("", "subcommand missing (expected: list, show, run)"),
            ("fly", "unknown subcommand 'fly'"),
            ("list oltp", "takes no arguments"),
            ("run", "the preset name is missing"),
            ("run -d3 oltp a", "found '-d3' instead"),
            ("run oltp", "preset 'oltp': no target given"),
            ("run oltp --maxdop", "the number is missing"),
            ("run oltp --maxdop 0 a", "'0' is not a positive integer"),
            ("show oltp a.dat", "unexpected 'a.dat'"),
        ] {
            let failure = parsed(line).expect_err(line);
            assert!(failure.starts_with("ERROR: ") && failure.contains(expected), "{line}: {failure}");
        }
    }
}
