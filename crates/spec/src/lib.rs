//! Words to nouns and back: the one table of options ([`options`]), the command line ([`argv`]),
//! help ([`help`], [`man`], [`completions`]) and profiles as XML ([`xml_read`], [`xml_write`]).
//!
//! Nothing is opened, printed or read from the environment here; what parsing must know of its
//! [`Surroundings`] is an argument.

mod affinity;
pub mod argv;
mod builder;
pub mod check_command;
mod command;
pub mod compare_command;
pub mod completions;
mod decimal;
pub mod devices_command;
mod distribution;
mod duration;
mod expect;
mod file_name;
pub mod help;
mod loaded;
pub mod man;
pub mod monitor_command;
mod nearness;
mod number;
pub mod options;
mod outputs;
mod performance_counter;
pub mod preset;
pub mod report_command;
pub mod size;
pub mod sweep;
mod targets;
mod templates;
mod words;
pub mod xml_read;
pub mod xml_write;

pub use argv::parse;
pub use command::{
    Command, Events, LoadRequest, Loaded, Overrides, ParseFailure, RunOptions, RunRequest, ShowRequest, Subcommand,
    Surroundings,
};
pub use outputs::{Destination, Form, Outputs};
pub use xml_read::{XmlFault, read_profile};
pub use xml_write::write_profile;
