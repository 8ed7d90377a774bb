//! The state of devices, file systems and processors: whether they are fit for a measurement is for others
//! to say.

mod device;
mod drive_log;
mod file_system;
mod housekeeping;
mod processors;

pub use device::device_state;
pub use file_system::file_system_state;
pub use housekeeping::housekeeping;
pub use processors::processor_state;
