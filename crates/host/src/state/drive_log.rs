//! The SMART log of a drive.

use crate::root::Root;
use model::check::{DriveHealth, KnownFact};
use std::io::ErrorKind;

/// The log of an `NVMe` drive. That of others needs commands for which no kernel has an interface.
pub(super) fn health(root: &Root, name: &str) -> KnownFact<DriveHealth> {
    if !name.starts_with("nvme") {
        return Err("health log supported only for NVMe drives; use smartctl -a for SATA and SAS drives".to_owned());
    }
    let place = format!("/dev/{name}");
    let asked = sys::file::open_to_look(&root.path(&place)).and_then(|device| sys::nvme::smart_log(&device));
    match asked {
        Ok(log) => Ok(parse(&log)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err("querying the drive needs root".to_owned()),
        Err(error) => Err(format!("{place}: {error}")),
    }
}

/// `NVMe` Base Specification 2.0, figure 207.
fn parse(log: &[u8; sys::nvme::SMART_LOG_BYTES]) -> DriveHealth {
    // Sixteen bytes; an error count that needs more than eight is not expected.
    let errors = |at: usize| log[at..at + 8].iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    DriveHealth {
        critical_warning: log[0],
        spare_percent: log[3],
        spare_percent_min: log[4],
        worn_percent: log[5],
        media_error_count: errors(160),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_by_the_standard() {
        let mut log = [0; sys::nvme::SMART_LOG_BYTES];
        (log[0], log[3], log[4], log[5]) = (0b101, 8, 10, 112);
        log[160..168].copy_from_slice(&258_u64.to_le_bytes());
        let expected = DriveHealth {
            critical_warning: 5,
            spare_percent: 8,
            spare_percent_min: 10,
            worn_percent: 112,
            media_error_count: 258,
        };
        assert_eq!(parse(&log), expected);
    }
}
