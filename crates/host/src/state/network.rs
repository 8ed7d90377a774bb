//! The network interfaces on the routes to the servers of shares and network disks.

use crate::root::Root;
use model::block_device::{BlockDevice, DeviceKind};
use model::check::{KnownFact, NetworkPath};
use model::environment::{Backing, TargetEnvironment};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A route that rejects (`RTF_REJECT`).
const REJECTS: u32 = 0x200;
/// File systems whose server is the host of this virtual machine, not on a network.
const OF_THE_HOST: [&str; 3] = ["9p", "virtiofs", "vboxsf"];

/// The network paths to the servers of a target's data; each server once.
pub fn network_paths(root: &Root, environment: &TargetEnvironment) -> Vec<NetworkPath> {
    let mut servers: Vec<Result<IpAddr, String>> = Vec::new();
    if let (Backing::Remote { address }, Some(mount)) = (&environment.backing, &environment.mount)
        && !OF_THE_HOST.contains(&mount.file_system.as_str())
    {
        let option = mount.file_system_options.iter().find_map(|option| option.strip_prefix("addr=")?.parse().ok());
        servers.push(option.or_else(|| address_in(address)).ok_or_else(|| address.clone()));
    }
    let devices = environment.devices().into_iter().flat_map(BlockDevice::walk);
    servers.extend(devices.filter_map(nvme_server).map(Ok));
    servers.dedup();
    let path = |server: Result<IpAddr, String>| match server {
        Ok(address) => NetworkPath { server: address.to_string(), interface: interface(root, address) },
        Err(source) => NetworkPath {
            interface: Err("the mount's options do not have the server's address".to_owned()),
            server: source,
        },
    };
    servers.into_iter().map(path).collect()
}

/// The address of the server in the source of a mount: `10.0.0.5:/export`, `//10.0.0.5/share`, `[fd00::5]:/export`.
fn address_in(source: &str) -> Option<IpAddr> {
    let source = source.trim_start_matches('/');
    if let Some(rest) = source.strip_prefix('[') {
        return rest.split_once(']')?.0.parse().ok();
    }
    source.split([':', '/', ',', '@']).next()?.parse().ok()
}

/// The address of an `NVMe` controller on a network: `traddr=10.0.0.5,trsvcid=4420`.
fn nvme_server(device: &BlockDevice) -> Option<IpAddr> {
    let DeviceKind::NvmePath { address: Some(address), .. } = &device.kind else { return None };
    address.split(',').find_map(|part| part.strip_prefix("traddr=")?.parse().ok())
}

fn interface(root: &Root, server: IpAddr) -> KnownFact<String> {
    let found = match server {
        address if address.is_loopback() => Some("lo".to_owned()),
        IpAddr::V4(address) => ipv4_interface(&root.text("/proc/net/route").unwrap_or_default(), address),
        IpAddr::V6(address) => ipv6_interface(&root.text("/proc/net/ipv6_route").unwrap_or_default(), address),
    };
    found.ok_or_else(|| "the kernel has no route to it".to_owned())
}

/// A heading, then: interface, destination, gateway, flags, references, uses, metric, mask. Addresses are eight
/// hexadecimal digits of a number in memory order.
fn ipv4_interface(table: &str, server: Ipv4Addr) -> Option<String> {
    let number = |word: &str| u32::from_str_radix(word, 16).ok();
    let address = |word: &str| Some(u32::from_be_bytes(number(word)?.to_ne_bytes()));
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [interface, destination, _, flags, _, _, metric, mask, ..] = words[..] else { return None };
        let (destination, mask) = (address(destination)?, address(mask)?);
        let fits = u32::from(server) & mask == destination && number(flags)? & REJECTS == 0;
        fits.then_some((mask.count_ones(), metric.parse().ok()?, interface.to_owned()))
    };
    best(table.lines().skip(1).filter_map(route))
}

/// Destination and length of its prefix, source and length, next hop, metric, references, uses, flags, interface; all
/// numbers are hexadecimal.
fn ipv6_interface(table: &str, server: Ipv6Addr) -> Option<String> {
    let route = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [destination, length, _, _, _, metric, _, _, flags, interface] = words[..] else { return None };
        let destination = u128::from_str_radix(destination, 16).ok()?;
        let length = u32::from_str_radix(length, 16).ok().filter(|length| *length <= 128)?;
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        let is_usable = u32::from_str_radix(flags, 16).ok()? & REJECTS == 0;
        let fits = u128::from(server) & mask == destination & mask && is_usable;
        fits.then_some((length, u32::from_str_radix(metric, 16).ok()?, interface.to_owned()))
    };
    best(table.lines().filter_map(route))
}

/// The interface of the longest prefix; of several, of the one with the lowest metric.
fn best(routes: impl Iterator<Item = (u32, u32, String)>) -> Option<String> {
    let order = |(prefix, metric, _): &(u32, u32, String)| (std::cmp::Reverse(*prefix), *metric);
    routes.min_by_key(order).map(|(.., interface)| interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_prefix_wins_and_then_the_least_metric() {
        let table = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                     eth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0\n\
                     eth1 0000000A 00000000 0001 0 0 200 000000FF 0 0 0\n\
                     eth2 0000000A 00000000 0001 0 0 50 000000FF 0 0 0\n\
                     eth3 0005000A 00000000 0001 0 0 900 00FFFFFF 0 0 0\n\
                     eth4 0006000A 00000000 0201 0 0 0 00FFFFFF 0 0 0\n";
        let found = |address: [u8; 4]| ipv4_interface(table, Ipv4Addr::from(address));
        for (address, interface) in
            [([10, 0, 5, 9], "eth3"), ([10, 1, 0, 1], "eth2"), ([10, 0, 6, 1], "eth2"), ([1, 1, 1, 1], "eth0")]
        {
            assert_eq!(found(address).as_deref(), Some(interface), "{address:?}");
        }
        assert_eq!(ipv4_interface("", Ipv4Addr::LOCALHOST), None);
    }

    #[test]
    fn routes_of_ipv6_have_prefixes_of_their_own() {
        let zero = "00000000000000000000000000000000";
        let route = |destination: &str, length: &str, flags: &str, interface: &str| {
            format!("{destination} {length} {zero} 00 {zero} 00000400 00000001 00000000 {flags} {interface}\n")
        };
        let table = route("fd000000000000000000000000000000", "40", "00000001", "eth1")
            + &route(zero, "00", "00000003", "eth0")
            + &route("fd000000000000000000000000000001", "80", "80200001", "lo")
            + &route(zero, "00", "00200200", "lo");
        for (address, interface) in [("fd00::5", "eth1"), ("fd00::1", "lo"), ("2001:db8::1", "eth0")] {
            let address = address.parse().expect("an address");
            assert_eq!(ipv6_interface(&table, address).as_deref(), Some(interface), "{address}");
        }
    }

    #[test]
    fn servers_are_in_the_sources_of_mounts() {
        for (source, address) in [
            ("10.0.0.5:/export", Some("10.0.0.5")),
            ("//10.0.0.5/share", Some("10.0.0.5")),
            ("[fd00::5]:/export", Some("fd00::5")),
            ("10.0.0.5:6789,10.0.0.6:6789:/", Some("10.0.0.5")),
            ("server:/export", None),
        ] {
            assert_eq!(address_in(source), address.map(|text| text.parse().expect("an address")), "{source}");
        }
    }
}
