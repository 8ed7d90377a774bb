//! Jobs of fio as our loads: a command line for each of its groups, and the translation of every option.
//!
//! A job file is untrusted. Nothing is opened or run here, and its size is bounded; a load is parsed by the same parser
//! as typed arguments, so that the same checks apply.

mod access;
mod files;
mod group;
mod ini;
mod job;
mod medium;
mod timing;

pub use ini::JOB_BYTES_MAX;
pub use job::{Level, Row};

use crate::command_line::run_of;
use crate::request::{Environment, NoFiles};
use group::Group;
use ini::Section;
use model::printable::{clipped, command_line, wrapped};
use model::profile::Profile;
use model::requirement::Requirement;
use settings::job::Job;

/// Facts that a job may depend on.
pub struct Surroundings<'a> {
    /// A variable of the environment (`${HOME}`), or the reason why it is not read.
    pub variable: &'a dyn Fn(&str) -> Result<String, String>,
    /// The text of a file included by the job, or the reason why it is not read.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
    /// Size of an existing file or device in bytes; `None` = unknown.
    pub bytes_of: &'a dyn Fn(&str) -> Option<u64>,
    /// `$ncpus`
    pub cpus: u32,
}

/// A job of fio, translated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The options with their translations, those of the first job first.
    pub rows: Vec<Row>,
    /// Arguments for each timespan: options, then targets.
    pub spans: Vec<Vec<String>>,
    /// `--require`
    pub requirements: Vec<String>,
    /// Options of `diskspd sweep`, if a job searches for a rate.
    pub search: Option<String>,
}

/// Reads a job file; `name` is for messages. If any sections are named, only these are used.
///
/// # Errors
///
/// The error in the file, with its position.
pub fn read_file(
    text: &str,
    name: &str,
    sections: &[String],
    surroundings: &Surroundings<'_>,
) -> Result<Import, String> {
    import(&ini::read_file(text, name, surroundings)?, sections, surroundings)
}

/// Reads options as typed after `fio`.
///
/// # Errors
///
/// The error in them.
pub fn read_words(words: &[String], sections: &[String], surroundings: &Surroundings<'_>) -> Result<Import, String> {
    import(&ini::read_words(words, surroundings)?, sections, surroundings)
}

/// True if a file is a job file of fio: it has sections, and an option of a load.
pub fn is_job_file(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(crate::foreign::is_job_of_fio)
}

fn import(sections: &[Section], wanted: &[String], surroundings: &Surroundings<'_>) -> Result<Import, String> {
    if let Some(missing) = wanted.iter().find(|name| !sections.iter().any(|section| section.name == **name)) {
        let known: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        return Err(format!("there is no section '{missing}'; there are: {}", known.join(", ")));
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    for section in sections.iter().filter(|section| wanted.is_empty() || wanted.contains(&section.name)) {
        group::add(&mut groups, section, surroundings, &mut rows);
    }
    let sizes = group::file_sizes(&groups, surroundings);
    let spans = groups.iter().map(|group| group.words(&sizes, &mut rows)).collect();
    let loads = || groups.iter().flat_map(|group| &group.loads);
    let mut requirements: Vec<String> = loads().flat_map(group::Load::requirements).cloned().collect();
    requirements.dedup();
    let search = loads().find_map(group::Load::search).map(str::to_owned);
    let mut import = Import { rows, spans, requirements, search };
    if !import.is_refused() {
        import.check();
    }
    Ok(import)
}

impl Import {
    /// True if a part of the load has no counterpart.
    pub fn is_refused(&self) -> bool {
        self.rows.iter().any(|row| row.level == Level::Refused)
    }

    /// Adds a row for everything that our parser refuses, as in a command typed by hand.
    fn check(&mut self) {
        if let Err(reason) = self.job(&NoFiles) {
            self.rows.push(Row { level: Level::Refused, option: "the command".to_owned(), says: reason });
        }
    }

    /// The load with its requirements.
    ///
    /// # Errors
    ///
    /// The error of our parser.
    pub fn job(&self, environment: &dyn Environment) -> Result<Job<Requirement>, String> {
        let mut profile = Profile::default();
        for words in &self.spans {
            let run = run_of(words, environment)?;
            profile.time_spans.extend(run.profile.time_spans);
        }
        let requirements = self.requirements.iter().map(|text| crate::requirement::parse(text));
        Ok(Job { profile, requirements: requirements.collect::<Result<_, _>>()? })
    }

    /// The commands, one for each timespan.
    pub fn commands(&self) -> Vec<String> {
        let requirements = self.requirements.iter().flat_map(|text| ["--require", text]);
        let start: Vec<&str> = match &self.search {
            Some(search) => ["diskspd", "sweep"].into_iter().chain(search.split(' ')).chain(["--"]).collect(),
            None => std::iter::once("diskspd").chain(requirements).collect(),
        };
        let line = |words: &Vec<String>| command_line(start.iter().copied().chain(words.iter().map(String::as_str)));
        self.spans.iter().map(line).collect()
    }

    /// The table: the worst first, 80 columns wide.
    pub fn table(&self) -> String {
        let width = self.rows.iter().map(|row| row.option.chars().count()).max().unwrap_or(0).min(OPTION_COLUMNS);
        let mut text = String::new();
        for level in Level::ALL {
            for row in self.rows.iter().filter(|row| row.level == level && !row.says.is_empty()) {
                let option = clipped(&row.option, OPTION_COLUMNS);
                let start = format!("{:<14}  {option:<width$}  ", level.word());
                let indent = start.chars().count();
                let lines = wrapped(&clipped(&row.says, SAYS_MAX), COLUMNS.saturating_sub(indent));
                text.push_str(&start);
                text.push_str(&lines.join(&format!("\n{:indent$}", "")));
                text.push('\n');
            }
        }
        text
    }

    /// Number of options by quality of the translation: `9 options: 7 exact, 2 approximate`.
    pub fn summary(&self) -> String {
        let shown = || self.rows.iter().filter(|row| !row.says.is_empty());
        let part = |level: Level| {
            let count = shown().filter(|row| row.level == level).count();
            (count > 0).then(|| format!("{count} {}", level.word()))
        };
        let parts: Vec<String> = Level::ALL.into_iter().rev().filter_map(part).collect();
        format!("{} options: {}", shown().count(), parts.join(", "))
    }
}

/// Width of the option in the table, in columns.
const OPTION_COLUMNS: usize = 24;
/// Maximum length of its description, in characters.
const SAYS_MAX: usize = 400;
/// Width of a line in columns.
const COLUMNS: usize = 80;

#[cfg(test)]
mod tests;
