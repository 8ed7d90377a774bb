//! Destinations of results: beside the document of `-R` on stdout, or instead of it.

use model::profile::ResultFormat;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The forms of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// `DiskSpd`'s text report.
    Text,
    /// `DiskSpd`'s XML results.
    Xml,
    /// Our own document.
    Json,
    /// One row per thread, target and direction.
    Csv,
    /// fio's JSON.
    Fio,
}

impl Form {
    pub const ALL: [Self; 5] = [Self::Text, Self::Xml, Self::Json, Self::Csv, Self::Fio];

    /// The option that selects it.
    pub const fn option(self) -> &'static str {
        match self {
            Self::Text => "--text",
            Self::Xml => "--xml",
            Self::Json => "--json",
            Self::Csv => "--csv",
            Self::Fio => "--fio-json",
        }
    }

    /// The suffix of its files, without the dot.
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Xml => "xml",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Fio => "fio.json",
        }
    }

    /// The form whose suffix a file has, in either letter case; of several, the longest.
    pub fn of_file(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let forms = Self::ALL.into_iter().filter(|form| {
            name.strip_suffix(form.suffix())
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|stem| !stem.is_empty())
        });
        forms.max_by_key(|form| form.suffix().len())
    }
}

impl From<ResultFormat> for Form {
    fn from(format: ResultFormat) -> Self {
        match format {
            ResultFormat::Text => Self::Text,
            ResultFormat::Xml => Self::Xml,
        }
    }
}

/// Destination of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// `-`: stdout, in place of the document of `-R`.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// The documents requested beside that of `-R`, each form at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs(BTreeMap<Form, Destination>);

impl Outputs {
    /// Adds a document; returns an error if it is invalid.
    pub(crate) fn add(&mut self, form: Form, value: &str) -> Result<(), String> {
        let destination = match value {
            "" => return Err("a file name is missing (- for stdout)".to_owned()),
            "-" => Destination::Stdout,
            path => Destination::File(PathBuf::from(path)),
        };
        if let Some(other) = self.on_stdout()
            && destination == Destination::Stdout
            && other != form
        {
            return Err(format!("'{} -' already uses stdout; send one output to a file", other.option()));
        }
        match self.0.insert(form, destination) {
            None => Ok(()),
            Some(_) => Err(format!("{} was already given", form.option())),
        }
    }

    /// The form written to stdout, if any.
    pub fn on_stdout(&self) -> Option<Form> {
        self.0.iter().find(|(_, destination)| **destination == Destination::Stdout).map(|(form, _)| *form)
    }

    /// The files, each with its form.
    pub fn files(&self) -> impl Iterator<Item = (Form, &PathBuf)> {
        self.0.iter().filter_map(|(form, destination)| match destination {
            Destination::Stdout => None,
            Destination::File(path) => Some((*form, path)),
        })
    }

    /// The options that were given.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().map(|form| form.option())
    }

    /// Error if `-R` was typed and conflicts with these.
    pub(crate) fn conflict_with(&self, typed: Option<ResultFormat>) -> Option<String> {
        let (on_stdout, typed) = (self.on_stdout()?, typed?);
        (on_stdout != Form::from(typed)).then(|| {
            let name = if typed == ResultFormat::Xml { "-Rxml" } else { "-Rtext" };
            format!("{name} and '{} -' both go to stdout; give one of them a file", on_stdout.option())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::LineCommand;
    use crate::command::Command;
    use crate::request::{FakeEnv, RunRequest};
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn parse(line: &str) -> Result<Command, String> {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        crate::parse(&args, &FakeEnv).map_err(|failure| failure.messages.join("\n"))
    }

    fn run(line: &str) -> RunRequest {
        match parse(line) {
            Ok(Command::Line(LineCommand::Run(request))) => request,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn files_and_stdout_are_told_apart() {
        let outputs = run("--json=a.json --xml - --csv ./- f").options.outputs;
        assert_eq!(outputs.on_stdout(), Some(Form::Xml));
        let files: Vec<_> = outputs.files().collect();
        assert_eq!(files, [(Form::Json, &PathBuf::from("a.json")), (Form::Csv, &PathBuf::from("./-"))]);
        assert_eq!(run("f").options.outputs, Outputs::default());
    }

    #[test]
    fn stdout_takes_one_document() {
        for (line, expected) in [
            ("--json - --csv - f", "'--json -' already uses stdout"),
            ("--json - -Rxml f", "-Rxml and '--json -' both go to stdout"),
            ("-Rtext --json=- f", "-Rtext and '--json -' both go to stdout"),
            ("--xml - -Rtext -Xprofile.xml", "-Rtext and '--xml -' both go to stdout"),
            ("--json a --json b f", "--json was already given"),
            ("--json - --json - f", "--json was already given"),
            ("--json= f", "a file name is missing"),
            ("--json -d1 f", "ERROR: --json '-d1': looks like an option; for a file of that name, write './-d1'"),
            ("--csv=-d1 f", "ERROR: --csv '-d1': looks like an option"),
            ("--json", "the value is missing"),
        ] {
            let failure = parse(line).expect_err(line);
            assert!(failure.contains(expected), "{line}: {failure}");
        }
        assert_eq!(run("--xml - -Rxml f").options.outputs.on_stdout(), Some(Form::Xml));
    }

    #[test]
    fn nothing_is_written_where_nothing_is_run() {
        assert_eq!(run("--plan --json a f").warnings, ["--json has no effect with --plan"]);
        let Ok(Command::Line(LineCommand::ShowProfile(request))) = parse("--csv a -Rp f") else { panic!("-Rp shows") };
        assert_eq!(request.warnings, ["--csv has no effect with -Rp"]);
    }

    #[test]
    fn labels_keep_their_order_and_have_names() {
        let labels = run("--label b=1 --label=a=x=y --label c= f").options.labels;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(labels, [pair("b", "1"), pair("a", "x=y"), pair("c", "")]);
        for (line, expected) in [
            ("--label a f", "have the form KEY=VALUE, not 'a'"),
            ("--label =a f", "have the form KEY=VALUE, not '=a'"),
            ("--label a=1 --label a=1 f", "label 'a' is already set"),
        ] {
            let failure = parse(line).expect_err(line);
            assert!(failure.contains(expected), "{line}: {failure}");
        }
    }

    #[test]
    fn a_name_that_is_no_text_is_refused() {
        let args = ["--json".into(), OsString::from_vec(b"caf\xe9.json".to_vec()), "f".into()];
        let failure = crate::parse(&args, &FakeEnv).expect_err("it would be another name");
        assert!(failure.messages[0].contains("is not valid UTF-8"), "{failure:?}");
    }
}
