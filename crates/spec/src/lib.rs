//! Words to nouns and back: the one table of options ([`options`]), the command line ([`argv`]),
//! help ([`help`]) and profiles as XML ([`xml_write`]).
//!
//! Nothing is opened, printed or read from the environment here; what parsing must know of its
//! [`Surroundings`] is an argument.

mod affinity;
pub mod argv;
mod builder;
mod command;
mod distribution;
pub mod help;
mod nearness;
mod number;
pub mod options;
pub mod size;
mod targets;
pub mod xml_write;

pub use argv::parse;
pub use command::{
    Command, Events, LoadRequest, Overrides, ParseFailure, RunOptions, RunRequest, ShowRequest, Subcommand,
    Surroundings,
};
pub use xml_write::write_profile;
