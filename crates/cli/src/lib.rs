//! Words to nouns and back: the one table of options ([`options`]), the command line ([`argv`]),
//! help ([`help`], [`man`], [`completions`]), presets and templates of targets. Profiles as XML are
//! of `settings`.
//!
//! Nothing is opened, printed or read from the environment here; what parsing must know of its
//! [`Environment`] is an argument.

mod affinity;
pub mod argv;
mod builder;
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
pub mod preset;
mod request;
mod requirement;
pub mod size;
pub mod subcommand;
pub mod sweep;
mod targets;
mod templates;
pub mod volumes;
mod words;

pub use argv::{Command, parse, parse_job};
pub use fleet::{FleetOption, ServerAccess};
pub use loaded::read_job;
pub use outputs::{Destination, Form, Outputs};
pub use request::{
    Criteria, Environment, Events, JournalOption, LoadRequest, Loaded, Overrides, ParseFailure, RunOptions, RunRequest,
    ShortReport, ShowRequest,
};
pub use settings::job::{FORM as JOB_FORM, Job, is_job, write_job};
pub use settings::xml::{XmlFault, read_profile, write_profile};
pub use subcommand::Subcommand;
