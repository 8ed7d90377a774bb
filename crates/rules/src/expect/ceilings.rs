//! Ceilings from the stated limits.

use model::expectation::{Ceiling, CeilingUnit, RaidLevel, StatedLimits};
use model::operation::Operation;
use model::plan::TimeSpanPlan;
use model::result::Measured;

/// The rates of a run, or the mix of a planned one at one I/O per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    pub(super) iops: f64,
    /// Share of reads among the I/Os, from 0 to 1.
    pub(super) read_share: f64,
    pub(super) read_bytes_per_s: f64,
    pub(super) write_bytes_per_s: f64,
}

impl Load {
    pub(super) fn from_measured(measured: &Measured) -> Self {
        let total = &measured.total;
        let iops = total.total.iops;
        Self {
            iops,
            read_share: if iops > 0.0 { total.read.iops / iops } else { 0.0 },
            read_bytes_per_s: total.read.bytes_per_s,
            write_bytes_per_s: total.write.bytes_per_s,
        }
    }

    /// The mix of the plan, if each thread issues equally many I/Os to each of its targets; rates are unknown.
    pub(super) fn planned(plan: &TimeSpanPlan) -> Self {
        let targets = || plan.workers.iter().flat_map(|worker| &worker.targets);
        let each = 1.0 / targets().count().max(1) as f64;
        let ios = |operation: Operation| targets().map(|of| of.shares().expected(operation) * each).sum::<f64>();
        let bytes = |operation: Operation| -> f64 {
            targets().map(|of| of.shares().expected(operation) * each * of.mean_bytes(operation)).sum()
        };
        Self {
            iops: 1.0,
            read_share: ios(Operation::Read),
            read_bytes_per_s: bytes(Operation::Read),
            write_bytes_per_s: bytes(Operation::Write),
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }
}

/// Drives and their RAID level.
#[derive(Clone, Copy)]
struct Array {
    level: RaidLevel,
    drives: f64,
}

impl Array {
    fn from_stated(stated: &StatedLimits) -> Self {
        Self { level: stated.raid.unwrap_or(RaidLevel::Zero), drives: f64::from(stated.drives.unwrap_or(1)) }
    }

    /// Number of drives' worth of data in a write to all drives, if stripes are written whole.
    fn data_drives(self) -> f64 {
        match self.level {
            RaidLevel::Zero => self.drives,
            RaidLevel::One => 1.0,
            RaidLevel::Five => self.drives - 1.0,
            RaidLevel::Six => self.drives - 2.0,
            RaidLevel::Ten => self.drives / 2.0,
        }
    }

    /// Drive I/Os per small random write, counted as in the guides: data and parity are read and written.
    fn write_penalty(self) -> f64 {
        match self.level {
            RaidLevel::Zero => 1.0,
            RaidLevel::One => self.drives,
            RaidLevel::Five => 4.0,
            RaidLevel::Six => 6.0,
            RaidLevel::Ten => 2.0,
        }
    }
}

/// All ceilings, from the host downwards.
pub(super) fn compute(stated: &StatedLimits, load: &Load) -> Vec<Ceiling> {
    let mut ceilings = Vec::new();
    let real = |stated: Option<u64>| stated.map(|stated| stated as f64);
    let ios =
        |name: &str, limit: Option<f64>| limit.map(|limit| ceiling(name, CeilingUnit::IosPerSecond, limit, load.iops));
    ceilings.extend(ios("vm-iops", real(stated.vm_iops)));
    let bytes = |name: &str, limit: Option<f64>, reached: f64| {
        limit.map(|limit| ceiling(name, CeilingUnit::BytesPerSecond, limit, reached))
    };
    ceilings.extend(bytes("vm-bytes", real(stated.vm_bytes_per_s), load.bytes_per_s()));
    let volumes = stated.volumes.unwrap_or(1);
    let of_all = |stated: Option<u64>| real(stated).map(|each| each * f64::from(volumes));
    let striped = |ceiling: Ceiling| Ceiling { parts: volumes, ..ceiling };
    ceilings.extend(ios("volume-iops", of_all(stated.volume_iops)).map(striped));
    ceilings.extend(bytes("volume-bytes", of_all(stated.volume_bytes_per_s), load.bytes_per_s()).map(striped));
    // The links are full duplex.
    ceilings.extend(bytes("hba", real(stated.hba_bytes_per_s), load.read_bytes_per_s.max(load.write_bytes_per_s)));
    let drives = stated.drives.unwrap_or(1);
    ceilings.extend(of_drives(stated, load).into_iter().map(|ceiling| Ceiling { parts: drives, ..ceiling }));
    ceilings
}

/// The ceilings of the drives and their RAID level.
fn of_drives(stated: &StatedLimits, load: &Load) -> Vec<Ceiling> {
    let mut ceilings = Vec::new();
    let real = |stated: Option<u64>| stated.map(|stated| stated as f64);
    let bytes = |name: &str, limit: Option<f64>, reached: f64| {
        limit.map(|limit| ceiling(name, CeilingUnit::BytesPerSecond, limit, reached))
    };
    let array = Array::from_stated(stated);
    let (reads, writes) = (load.read_bytes_per_s, load.write_bytes_per_s);
    let read_limit = real(stated.drive_read_bytes_per_s).map(|each| each * array.drives);
    let write_limit = real(stated.drive_write_bytes_per_s).map(|each| each * array.data_drives());
    if reads > 0.0 {
        ceilings.extend(bytes("drive-reads", read_limit, reads));
    }
    if writes > 0.0 {
        ceilings.extend(bytes("full-stripe-writes", write_limit, writes));
        if array.write_penalty() > 1.0 {
            let limit = real(stated.drive_write_bytes_per_s).map(|each| each * array.drives / array.write_penalty());
            let estimate = bytes("small-random-writes", limit, writes);
            ceilings.extend(estimate.map(|estimate| Ceiling { is_estimate: true, ..estimate }));
        }
    }
    if reads > 0.0
        && writes > 0.0
        && let (Some(read_limit), Some(write_limit)) = (read_limit, write_limit)
    {
        // Drives read or write, not both at once: the shares of their time add up.
        let busy = reads / read_limit + writes / write_limit;
        let limit = (reads + writes) / busy;
        ceilings.extend(bytes("drive-reads-and-writes", Some(limit), reads + writes));
    }
    let penalty = array.write_penalty();
    let each_read = real(stated.drive_read_iops.or(stated.drive_iops));
    let each_write = real(stated.drive_write_iops.or(stated.drive_iops));
    if let Some(busy_s) = busy_s_per_io(load.read_share, each_read, each_write.map(|each| each / penalty)) {
        let is_estimate = penalty > 1.0 && load.read_share < 1.0;
        let ceiling = ceiling("drive-iops", CeilingUnit::IosPerSecond, array.drives / busy_s, load.iops);
        ceilings.push(Ceiling { is_estimate, ..ceiling });
    }
    ceilings
}

/// Seconds that one drive is busy per I/O of the mix; `None` = the rate of reads or of writes is not stated.
fn busy_s_per_io(read_share: f64, reads_per_s: Option<f64>, writes_per_s: Option<f64>) -> Option<f64> {
    let busy = |share: f64, per_s: Option<f64>| if share > 0.0 { per_s.map(|per_s| share / per_s) } else { Some(0.0) };
    Some(busy(read_share, reads_per_s)? + busy(1.0 - read_share, writes_per_s)?)
}

fn ceiling(name: &str, unit: CeilingUnit, limit: f64, reached: f64) -> Ceiling {
    let share_percent = reached / limit * 100.0;
    Ceiling { name: name.to_owned(), unit, limit, reached, share_percent, is_estimate: false, parts: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(level: RaidLevel, drives: u32) -> StatedLimits {
        StatedLimits {
            raid: Some(level),
            drives: Some(drives),
            drive_read_bytes_per_s: Some(500_000_000),
            drive_write_bytes_per_s: Some(450_000_000),
            drive_iops: Some(1000),
            ..StatedLimits::default()
        }
    }

    fn limits(stated: &StatedLimits, load: &Load) -> Vec<(String, f64, bool)> {
        let shown = |ceiling: Ceiling| (ceiling.name, ceiling.limit, ceiling.is_estimate);
        compute(stated, load).into_iter().map(shown).collect()
    }

    fn limit(found: &[(String, f64, bool)], name: &str) -> Option<(f64, bool)> {
        found.iter().find(|(known, ..)| known == name).map(|(_, limit, is_estimate)| (*limit, *is_estimate))
    }

    /// Level, drives, full-stripe writes in MB/s, small random writes in MB/s, I/Os per second at 70 % reads.
    #[test]
    fn raids_are_counted_as_by_hand() {
        let load = Load { iops: 100.0, read_share: 0.7, read_bytes_per_s: 7e5, write_bytes_per_s: 3e5 };
        for (level, drives, stripes, small, mixed) in [
            // 3 x 450; no penalty; 3 x 1000 / 1.
            (RaidLevel::Zero, 3, 1350.0, None, 3000.0),
            // Both write the same; 2 x 450 / 2; 2 x 1000 / (0.7 + 0.3 x 2).
            (RaidLevel::One, 2, 450.0, Some(450.0), 2000.0 / 1.3),
            // 2 x 450; 3 x 450 / 4; 3 x 1000 / (0.7 + 0.3 x 4).
            (RaidLevel::Five, 3, 900.0, Some(337.5), 3000.0 / 1.9),
            // 4 x 450; 6 x 450 / 6; 6 x 1000 / (0.7 + 0.3 x 6).
            (RaidLevel::Six, 6, 1800.0, Some(450.0), 2400.0),
            // 2 x 450; 4 x 450 / 2; 4 x 1000 / (0.7 + 0.3 x 2).
            (RaidLevel::Ten, 4, 900.0, Some(900.0), 4000.0 / 1.3),
        ] {
            let found = limits(&stated(level, drives), &load);
            let near = |name: &str, expected: f64, scale: f64, is_estimate: bool| {
                let (limit, estimated) = limit(&found, name).unwrap_or_else(|| panic!("{name}: {found:?}"));
                assert!((limit / scale - expected).abs() < 1e-6, "{level:?} {name}: {limit}");
                assert_eq!(estimated, is_estimate, "{level:?} {name}");
            };
            near("full-stripe-writes", stripes, 1e6, false);
            near("drive-reads", 500.0 * f64::from(drives), 1e6, false);
            near("drive-iops", mixed, 1.0, level != RaidLevel::Zero);
            match small {
                Some(small) => near("small-random-writes", small, 1e6, true),
                None => assert_eq!(limit(&found, "small-random-writes"), None),
            }
        }
    }

    #[test]
    fn what_a_load_does_not_do_has_no_ceiling() {
        let reads = Load { iops: 100.0, read_share: 1.0, read_bytes_per_s: 1e6, write_bytes_per_s: 0.0 };
        let found = limits(&stated(RaidLevel::Five, 3), &reads);
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["drive-reads", "drive-iops"]);
        // Reads cost one I/O each, which is no estimate.
        assert_eq!(limit(&found, "drive-iops"), Some((3000.0, false)));
    }

    #[test]
    fn drives_that_read_and_write_share_their_time() {
        // 500 MB/s of 1500 and 450 of 900 take 1/3 + 1/2 = 5/6 of the time: 950 of 1140.
        let load = Load { iops: 1.0, read_share: 0.5, read_bytes_per_s: 500e6, write_bytes_per_s: 450e6 };
        let found = compute(&stated(RaidLevel::Five, 3), &load);
        let both = found.iter().find(|ceiling| ceiling.name == "drive-reads-and-writes").expect("both are stated");
        assert!((both.limit - 1140e6).abs() < 1.0 && (both.share_percent - 500.0 / 6.0).abs() < 1e-9, "{both:?}");
    }

    #[test]
    fn an_adapter_carries_both_ways_at_once() {
        let load = Load { iops: 1.0, read_share: 0.5, read_bytes_per_s: 600e6, write_bytes_per_s: 900e6 };
        let stated = StatedLimits {
            hba_bytes_per_s: Some(1_200_000_000),
            vm_bytes_per_s: Some(3_000_000_000),
            ..StatedLimits::default()
        };
        let shares: Vec<f64> = compute(&stated, &load).iter().map(|ceiling| ceiling.share_percent).collect();
        assert_eq!(shares, [50.0, 75.0]);
    }
}
