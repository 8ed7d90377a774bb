//! Version of `DiskSpd` that this program behaves like. Its own version is the package's.

/// Version of `DiskSpd` whose behaviour is the model.
pub const DISKSPD_VERSION: &str = "2.3.0";

/// Date that this version of `DiskSpd` prints.
pub const DISKSPD_VERSION_DATE: &str = "2026/06/15";

/// Name of this implementation of it in results.
pub const IMPLEMENTATION: &str = "diskspd for Linux";

/// This implementation's own version.
pub const IMPLEMENTATION_VERSION: &str = env!("CARGO_PKG_VERSION");
