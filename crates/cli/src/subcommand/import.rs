//! Arguments of `diskspd import`.

use super::{Arguments, TypedArguments};
use crate::file_name;
use crate::request::Environment;
use std::path::PathBuf;

/// Translate a job of fio
///
/// Prints the diskspd command for a job file or a command line of fio, one for each group of jobs, and a table: each option
/// is exact, approximate (what differs), without effect here, or refused. Nothing is run. diskspd run JOB.fio runs the job
/// if nothing is refused.
#[derive(clap::Args)]
#[command(
    override_usage = "diskspd import fio JOB.fio [--section NAME]... [--output job.toml|profile.xml] [--env]
       diskspd import fio [options] -- --name=NAME --rw=randread ...",
    after_help = "Exit status: 0; 3 if an option is refused or the job cannot be read."
)]
pub(super) struct ImportArguments {
    /// the tool that the job is for: fio
    #[arg(value_name = "TOOL", value_parser = ["fio"])]
    tool: String,
    /// the job file
    #[arg(value_name = "JOB")]
    job: Option<PathBuf>,
    /// take only this section of the job file; may be given again
    #[arg(long, value_name = "NAME")]
    section: Vec<String>,
    /// write a job file (.toml) or, for DiskSpd on Windows as well, an XML profile (.xml). An existing file is replaced only
    /// if it is empty
    #[arg(short, long, value_name = "FILE", value_parser = file_name::path_alone())]
    output: Option<PathBuf>,
    /// replace any regular file
    #[arg(long)]
    replace_output: bool,
    /// let the job read variables of the environment, as in ${HOME}
    #[arg(long)]
    env: bool,
    /// options as typed behind fio
    #[arg(value_name = "OPTIONS", last = true)]
    options: Vec<String>,
}

/// Arguments of `diskspd import`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRequest {
    /// The job to translate.
    pub source: ImportSource,
    /// Only these sections; none = all.
    pub sections: Vec<String>,
    /// The file to be written, in this form.
    pub output: Option<(PathBuf, ImportForm)>,
    /// True if any regular file may be replaced.
    pub replace: bool,
    /// True if variables of the environment are read.
    pub env: bool,
}

/// A job to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportSource {
    /// A job file.
    File(PathBuf),
    /// Options as typed.
    Words(Vec<String>),
}

/// Form of the file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportForm {
    /// A job file of ours.
    Job,
    /// A profile.
    Profile,
}

impl Arguments for ImportArguments {
    type Request = ImportRequest;

    fn request(self, _: &TypedArguments<'_>, _: &dyn Environment) -> Result<ImportRequest, String> {
        let source = match (self.job, self.options.is_empty()) {
            (Some(_), false) => return Err("either a job file or options after --, not both".to_owned()),
            (Some(job), true) => ImportSource::File(job),
            (None, false) => ImportSource::Words(self.options),
            (None, true) => return Err("JOB is missing: a job file of fio, or its options after --".to_owned()),
        };
        let form = |path: PathBuf| match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("toml") => Ok((path, ImportForm::Job)),
            Some("xml") => Ok((path, ImportForm::Profile)),
            _ => Err(format!("--output '{}': its name must end in .toml or .xml", path.display())),
        };
        Ok(ImportRequest {
            source,
            sections: self.section,
            output: self.output.map(form).transpose()?,
            replace: self.replace_output,
            env: self.env,
        })
    }
}
