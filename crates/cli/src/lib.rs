//! Parsing and documentation of arguments: the table of options ([`options`]), the command line ([`parse`]), help
//! ([`help`], [`man`], [`completions`]), presets and templates of targets. XML profiles are in `settings`.
//!
//! Nothing is opened, printed or read from the environment here; parsing receives its [`Environment`] as an argument.

mod affinity;
pub mod argv;
mod builder;
mod command;
mod command_line;
pub mod completions;
mod decimal;
mod distribution;
pub mod exit_status;
mod expect;
mod file_name;
pub mod fio;
mod fleet;
pub mod foreign;
pub mod help;
mod loaded;
pub mod man;
mod number;
pub mod options;
mod outputs;
mod performance_counter;
pub mod planned_series;
pub mod preset;
mod replay;
mod request;
mod requirement;
pub mod shell;
pub mod size;
pub mod subcommand;
mod subcommand_names;
pub mod sweep;
mod targets;
mod templates;
mod typed_stream;
pub mod volumes;
mod words;

pub use argv::LineCommand;
pub use command::{Command, parse};
pub use command_line::parse_job;
pub use fleet::{FleetOption, ServerAccess};
pub use loaded::read_job;
pub use outputs::{Destination, Form, Outputs};
pub use replay::replay_request;
pub use request::{
    Criteria, Environment, Events, JournalOption, LoadRequest, LoadedProfile, Overrides, ParseFailure, RunOptions,
    RunRequest, ShortReport, ShowRequest,
};
pub use settings::job::{FORM as JOB_FORM, Job, is_job, write_job};
pub use settings::xml::{XmlFault, read_profile, write_profile};
pub use subcommand::Subcommand;
