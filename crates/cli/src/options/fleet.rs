//! Options that run one load on several hosts.

use super::own::OWN;
use super::row::{Group, Kind, OptionRow, Repeat};
use crate::builder::{Builder, GivenOption};
use crate::fleet::FleetOption;
use std::path::PathBuf;

pub(super) const ROWS: &[OptionRow] = &[
    OptionRow {
        name: "--on",
        group: Group::Hosts,
        value: "=<[user@]host,...|nats://server/host,...>",
        kind: Kind::Value,
        repeat: Repeat::Error,
        short: "experimental: run the load on these hosts at the same time, and merge the results",
        long: "Hosts are reached by ssh and need nothing but diskspd; this machine needs nats-server. Or they are \
               those that run 'diskspd agent' and are connected to a NATS server; then --key is needed, and * in names \
               stands for any characters. All hosts check the load before anything is written, and start at the same \
               moment. In paths of targets, {host} becomes the name of the host (without the user) and {index} its \
               number from 0; hosts write to files of their own, unless --shared is given. Paths are absolute. \
               docs/guide/many-hosts.md shows how to set up hosts.",
        example: "--on=nats://bus:4222/web*,db1",
        apply: |builder, given| option(builder).on(given.value),
        ..OWN
    },
    OptionRow {
        name: "--shared",
        group: Group::Hosts,
        short: "with --on: hosts write to one file where the path is the same on all",
        long: "For files of a cluster or network file system. The first host creates the file (-c) or checks it; then the others check that \
               they see this very file. All hosts write to it, and the first one closes it when all have ended. The file system must keep \
               extended attributes. --verify and --delete-after cannot be used with it.",
        example: "--shared",
        apply: |builder, _| {
            option(builder).shared = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--key",
        group: Group::Hosts,
        value: "=<file>",
        kind: Kind::Value,
        repeat: Repeat::Error,
        short: "with --on: sign orders to the hosts with this key",
        long: "A file that 'diskspd fleet key' made; for hosts on a NATS server. The hosts must trust its public half (agent --trust).",
        example: "--key=fleet.key",
        apply: |builder, given| file(given).map(|path| option(builder).key = Some(path)),
        ..OWN
    },
    OptionRow {
        name: "--creds",
        group: Group::Hosts,
        value: "=<file>",
        kind: Kind::Value,
        repeat: Repeat::Error,
        short: "with --on: NATS credentials for the server",
        long: "A .creds file, as the NATS tools make it, or a file with one line, USER:PASSWORD. A server on another machine needs it unless --anonymous is given.",
        example: "--creds=controller.creds",
        apply: |builder, given| file(given).map(|path| option(builder).access.creds = Some(path)),
        ..OWN
    },
    OptionRow {
        name: "--tls-ca",
        group: Group::Hosts,
        value: "=<file>",
        kind: Kind::Value,
        repeat: Repeat::Error,
        short: "with --on: certificates of the authority that signed the server's; turns TLS on",
        long: "A PEM file. The certificates of the system are trusted, too. A server on another machine needs TLS unless \
               --no-tls is given.",
        example: "--tls-ca=ca.pem",
        apply: |builder, given| file(given).map(|path| option(builder).access.tls_ca = Some(path)),
        ..OWN
    },
    OptionRow {
        name: "--no-tls",
        group: Group::Hosts,
        short: "with --on: allow a server on another machine without TLS",
        long: "Everybody on the network can then read and delay messages, but not sign orders.",
        example: "--no-tls",
        apply: |builder, _| {
            option(builder).access.no_tls = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--anonymous",
        group: Group::Hosts,
        short: "with --on: allow a server on another machine without credentials",
        long: "Everybody who reaches the server can then send messages to agents. Agents act on none that is not signed with a key \
               that they trust.",
        example: "--anonymous",
        apply: |builder, _| {
            option(builder).access.anonymous = true;
            Ok(())
        },
        ..OWN
    },
    OptionRow {
        name: "--inbox",
        group: Group::Hosts,
        value: "=<prefix>",
        kind: Kind::Value,
        repeat: Repeat::Error,
        short: "with --on: first part of the subjects on which answers come, instead of _INBOX",
        long: "Permissions of the server can then keep other users from reading the answers of agents (docs/guide/many-hosts.md).",
        example: "--inbox=_INBOX_controller",
        apply: |builder, given| {
            option(builder).access.inbox = Some(given.value.to_owned());
            Ok(())
        },
        ..OWN
    },
];

fn option(builder: &mut Builder) -> &mut FleetOption {
    builder.options.fleet.get_or_insert_default()
}

fn file(given: &GivenOption<'_>) -> Result<PathBuf, String> {
    crate::file_name::not_an_option(given.value.as_ref())?;
    if given.value.is_empty() { Err("a file name is missing".to_owned()) } else { Ok(given.value.into()) }
}
