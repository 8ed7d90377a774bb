//! The machine.

use crate::cache_table;
use crate::foreign;
use model::facts::SystemFacts;
use model::fleet::Fleet;
use model::units::{Bytes, UnixTime};
use report::words::time::{known, utc};
use std::io::{self, Write};

/// The block from `System information:` to the caches; it begins and ends without an empty line.
pub(crate) fn block(out: &mut dyn Write, system: &SystemFacts, started_at: UnixTime) -> io::Result<()> {
    let topology = &system.topology;
    head(out, system, started_at)?;
    line(out, "cpu count:", &topology.cpus.len().to_string())?;
    line(out, "core count:", &topology.core_count().to_string())?;
    line(out, "group count:", &topology.group_count().to_string())?;
    line(out, "node count:", &topology.node_count().to_string())?;
    line(out, "socket count:", &topology.socket_count().to_string())?;
    line(out, "heterogeneous cores:", if topology.highest_class() > 0 { "y" } else { "n" })?;
    cache_table::block(out, topology)
}

/// The block of several hosts: their common facts, and their total number of CPUs.
pub(crate) fn fleet_block(
    out: &mut dyn Write,
    system: &SystemFacts,
    fleet: &Fleet,
    started_at: UnixTime,
) -> io::Result<()> {
    head(out, system, started_at)?;
    let cpus: usize = fleet.hosts.iter().filter_map(|host| host.system.as_ref()).map(|host| host.cpu_count).sum();
    line(out, "host count:", &fleet.hosts.len().to_string())?;
    line(out, "cpu count:", &cpus.to_string())
}

fn head(out: &mut dyn Write, system: &SystemFacts, started_at: UnixTime) -> io::Result<()> {
    writeln!(out, "System information:\n")?;
    line(out, "computer name:", known(Some(&system.computer_name)))?;
    line(out, "processor name:", known(system.processor_name.as_deref()))?;
    line(out, "start time:", &utc(started_at))?;
    line(out, "active power scheme:", known(system.power_scheme.as_deref()))?;
    let page_size = (system.page_size_bytes > 0).then(|| Bytes(system.page_size_bytes).to_string());
    line(out, "page size:", known(page_size.as_deref()))?;
    writeln!(out)
}

fn line(out: &mut dyn Write, label: &str, value: &str) -> io::Result<()> {
    write!(out, "  {label:<22}")?;
    foreign::write_bytes(out, value.as_bytes())?;
    writeln!(out)
}

/// Name and number of a power scheme of Windows: `Balanced (381b4222-f694-41f0-9685-ff5bb260df2e)`.
pub(crate) fn scheme_id(scheme: &str) -> Option<(&str, &str)> {
    const GUID_BYTES: usize = 36;
    let (name, guid) = scheme.strip_suffix(')')?.rsplit_once(" (")?;
    let is_guid = guid.len() == GUID_BYTES && guid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_guid.then_some((name, guid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        assert_eq!(utc(UnixTime(0)), "1970/01/01 00:00:00 UTC");
        assert_eq!(utc(UnixTime(1_741_944_413_999_999_999)), "2025/03/14 09:26:53 UTC");
        assert_eq!(utc(UnixTime(i128::MAX)), "<unknown>");
    }
}
