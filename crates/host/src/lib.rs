//! Facts about the machine, read from a root directory it is given.
//!
//! [`system`] reads CPUs, caches, memory and kernel features, [`targets`] looks at the files and
//! devices of a profile. Nothing here decides anything, and nothing here changes anything but
//! this process's own limit of open files: who reads the facts decides.

mod caches;
mod classes;
mod cpus;
mod file_system;
mod kernel;
mod memory;
mod mounts;
mod openers;
mod origin;
mod processor;
mod resolve;
mod root;
mod syntax;
mod system;
mod target;

pub use model::facts::TargetQuestion;
pub use root::Root;
pub use system::system;
pub use target::targets;
