//! Jobs of fio as loads of ours: a command line for each of its groups, and what becomes of every option.
//!
//! A job file is data of somebody else. Nothing is opened here, nothing is run, and what is read is bounded; a load comes
//! from the same parser as what a user types, so that the same checks hold for it.

mod access;
mod files;
mod group;
mod ini;
mod job;
mod medium;
pub(crate) mod options;
mod timing;

pub use ini::JOB_BYTES_MAX;
pub use job::{Level, Row};

use crate::request::{Environment, NoFiles};
use crate::words::run_of;
use group::Group;
use ini::Section;
use model::printable::{clipped, command_line, wrapped};
use model::profile::Profile;
use model::requirement::Requirement;
use settings::job::Job;

/// Facts that a job may ask for.
pub struct Surroundings<'a> {
    /// A variable of the environment (`${HOME}`), or why it is not read.
    pub variable: &'a dyn Fn(&str) -> Result<String, String>,
    /// The text of a file that the job includes, or why it is not read.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
    /// Size of a file or device that exists, in bytes; `None` = not known.
    pub bytes_of: &'a dyn Fn(&str) -> Option<u64>,
    /// `$ncpus`
    pub cpus: u32,
}

/// A job of fio in our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The options with what becomes of each, those of the first job first.
    pub rows: Vec<Row>,
    /// Words of a command line for each timespan: options, then targets.
    pub spans: Vec<Vec<String>>,
    /// `--require`
    pub requirements: Vec<String>,
    /// Options of `diskspd sweep`, if a job looks for a rate.
    pub search: Option<String>,
}

/// Reads a job file; `name` is for messages. Only the sections that are named are taken, if any are.
///
/// # Errors
///
/// The mistake in the file, with its place.
pub fn read_file(
    text: &str,
    name: &str,
    sections: &[String],
    surroundings: &Surroundings<'_>,
) -> Result<Import, String> {
    import(&ini::read_file(text, name, surroundings)?, sections, surroundings)
}

/// Reads options as typed behind `fio`.
///
/// # Errors
///
/// The mistake in them.
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
    /// True if something of the load has no counterpart.
    pub fn is_refused(&self) -> bool {
        self.rows.iter().any(|row| row.level == Level::Refused)
    }

    /// Adds a row for whatever our own parser refuses, as it would in a command typed by hand.
    fn check(&mut self) {
        if let Err(reason) = self.job(&NoFiles) {
            self.rows.push(Row { level: Level::Refused, option: "the command".to_owned(), says: reason });
        }
    }

    /// The load with what it must achieve.
    ///
    /// # Errors
    ///
    /// The refusal of our own parser.
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

    /// How many options are met how well: `9 options: 7 exact, 2 approximate`.
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

/// Columns of the option in the table.
const OPTION_COLUMNS: usize = 24;
/// Characters of what is said of it.
const SAYS_MAX: usize = 400;
/// Columns of a line.
const COLUMNS: usize = 80;

#[cfg(test)]
mod tests;
