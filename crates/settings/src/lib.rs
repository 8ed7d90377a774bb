//! Everything that can be set in a profile: one [`Setting`] per XML element, in `DiskSpd`'s order.
//!
//! Profile XML in and out, the profiles inside results, the XML schema, the options of our own that
//! set one field, and the comparison of two loads are views of these rows.

pub mod arbitrary;
pub mod difference;
mod element;
pub mod fio;
mod group;
pub mod job;
mod linux;
mod profile;
mod setting;
mod target;
mod target_parts;
mod time_span;
pub mod xml;

pub use group::Group;
pub use linux::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN};
pub use model::suggest;
pub use profile::PROFILE;
pub use setting::{OwnOption, Setting, ValueKind, short_size};
pub use target::TARGET;
pub use time_span::TIME_SPAN;
