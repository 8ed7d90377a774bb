//! Devices and shares over the measurement: tables of their own below those of `DiskSpd`.

use model::result::Measured;
use report::words::storage::{of_devices, of_shares};
use std::io::{self, Write};

/// Devices that the table of the text has room for. The others are in JSON.
const DEVICES_MAX: usize = 8;

/// Both, each beginning with an empty line and its heading; nothing without devices and shares.
pub(crate) fn tables(out: &mut dyn Write, measured: &Measured) -> io::Result<()> {
    let Measured { devices, shares, .. } = measured;
    if let Some(first) = devices.first() {
        let others = devices.len().saturating_sub(DEVICES_MAX);
        let left_out =
            if others > 0 { format!("; {others} less busy devices only in JSON results") } else { String::new() };
        writeln!(out, "\ndevices: requests of all programs, {}{left_out}", steps(first.steps.len()))?;
        of_devices(&devices[..devices.len() - others]).write(out)?;
    }
    if let Some(first) = shares.first() {
        writeln!(out, "\nshares: requests of all programs of this machine, {}", steps(first.steps.len()))?;
        of_shares(shares).write(out)?;
    }
    Ok(())
}

fn steps(count: usize) -> String {
    if count == 1 { "one step".to_owned() } else { format!("mean and highest of {count} steps") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::storage_course::{DeviceCourse, DeviceFigures, RpcFigures, ShareCourse, ShareFigures};
    use model::storage_course::{DeviceRequests, DeviceStep, ShareStep, ShareTransfers};

    fn text(devices: &[DeviceCourse], shares: &[ShareCourse]) -> String {
        let mut out = Vec::new();
        let measured = Measured { devices: devices.to_vec(), shares: shares.to_vec(), ..Measured::default() };
        tables(&mut out, &measured).expect("memory takes all");
        String::from_utf8(out).expect("text")
    }

    fn device(name: &str, iops: f64) -> DeviceCourse {
        let read = DeviceRequests { iops, bytes_per_s: iops * 8192.0, latency_mean_ns: Some(1.25e6) };
        let mean =
            DeviceFigures { read, total: read, queue_depth: 7.96, busy_percent: 99.5, ..DeviceFigures::default() };
        DeviceCourse { device: name.to_owned(), mean, max: mean, steps: vec![DeviceStep::default(); 60] }
    }

    #[test]
    fn devices_have_mean_and_highest() {
        insta::assert_snapshot!(text(&[device("nvme0n1", 6400.0), device("sda", 0.25)], &[]), @r"

        devices: requests of all programs, mean and highest of 60 steps
         device   figure  reads/s  writes/s  MiB/s  read (ms)  write (ms)  queue depth  busy (%)
         nvme0n1  mean    6400.00      0.00  50.00      1.250           -          8.0      99.5
         nvme0n1  max     6400.00      0.00  50.00      1.250           -          8.0      99.5
         sda      mean       0.25      0.00   0.00      1.250           -          8.0      99.5
         sda      max        0.25      0.00   0.00      1.250           -          8.0      99.5
        ");
        assert_eq!(text(&[], &[]), "");
    }

    #[test]
    fn of_many_devices_the_busiest_are_shown() {
        let many: Vec<DeviceCourse> = (0..20).map(|index| device(&format!("sd{index}"), 1.0)).collect();
        let shown = text(&many, &[]);
        assert_eq!(shown.lines().count(), 3 + 16);
        assert!(shown.contains("; 12 less busy devices only in JSON results\n") && !shown.contains("sd8 "), "{shown}");
    }

    #[test]
    fn shares_have_times_if_they_are_counted() {
        let share = |source: &str, rpc| {
            let read = ShareTransfers { iops: 512.0, bytes_per_s: 4_194_304.0, rpc };
            let mean = ShareFigures { read, total: read, ..ShareFigures::default() };
            let steps = vec![ShareStep::default()];
            ShareCourse { source: source.to_owned(), mean, max: mean, steps, ..ShareCourse::default() }
        };
        let rpc = RpcFigures {
            execute_mean_ns: Some(3.5e6),
            queue_mean_ns: Some(1e6),
            round_trip_mean_ns: Some(2.5e6),
            retransmissions_per_s: 0.5,
        };
        let smb = share("//filer/bench", None);
        insta::assert_snapshot!(text(&[], &[share("nas:/a", Some(rpc)), smb.clone()]), @r"

        shares: requests of all programs of this machine, one step
         share          figure  reads/s  writes/s  MiB/s  RTT (ms)  queue (ms)  execute (ms)  retransmits/s
         nas:/a         mean     512.00      0.00   4.00     2.500       1.000         3.500           0.50
         nas:/a         max      512.00      0.00   4.00     2.500       1.000         3.500           0.50
         //filer/bench  mean     512.00      0.00   4.00         -           -             -              -
         //filer/bench  max      512.00      0.00   4.00         -           -             -              -
        ");
        insta::assert_snapshot!(text(&[], &[smb]), @r"

        shares: requests of all programs of this machine, one step
         share          figure  reads/s  writes/s  MiB/s
         //filer/bench  mean     512.00      0.00   4.00
         //filer/bench  max      512.00      0.00   4.00
        ");
    }
}
