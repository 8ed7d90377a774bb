//! `diskspd devices`: the block devices of this machine, as a table or as JSON; the devices below a path; and the list
//! of scratch disks.

use crate::output::{print, say_each, write_json};
use crate::scratch;
use crate::show;
use crate::status::{Status, printed};
use cli::subcommand::devices::DevicesRequest;
use host::Root;
use jiff::Timestamp;
use model::block_device::{DeviceRow, DeviceUse};
use model::mark;
use model::placement::Placement;
use model::targets_found::TargetsFound;
use model::units::Bytes;
use report::{Column, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Placeholder for unknown values.
const UNKNOWN: &str = "-";

/// Runs `diskspd devices`.
pub(crate) fn run(request: &DevicesRequest) -> Status {
    if !request.mark_scratch.is_empty() {
        return scratch::mark(&request.mark_scratch);
    }
    if !request.paths.is_empty() {
        return under(&request.paths, request.json);
    }
    let mut devices = host::devices(&Root::machine());
    devices.retain(|device| request.all || device.size_bytes != Some(0));
    if request.json { print_json(&devices) } else { show::text(&table(&devices)) }
}

/// The devices below each path.
fn under(paths: &[PathBuf], as_json: bool) -> Status {
    let root = Root::machine();
    // A mistyped name has no devices below it.
    let missing = paths.iter().filter_map(|path| {
        let error = path.metadata().err()?;
        Some(format!("'{}': {error}", path.display()))
    });
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        say_each("ERROR", &missing);
        return Status::Failed;
    }
    let environments = host::target_environment(&root, paths);
    let placements = environments
        .iter()
        .filter_map(|(path, environment)| Some((path.clone(), host::placement(&root, path, environment)?)));
    let placements: BTreeMap<PathBuf, Placement> = placements.collect();
    if as_json {
        return print_json(&TargetsFound { environments, placements, ..TargetsFound::default() });
    }
    let texts = paths.iter().filter_map(|path| {
        Some(render::placement::text(path, environments.get(path)?, placements.get(path)) + &date(path))
    });
    show::text(&texts.collect::<Vec<_>>().join("\n"))
}

/// Explains the timestamp of a file that a run wrote to, which `ls` shows as decades old.
fn date(path: &Path) -> String {
    let modified_s = path.metadata().ok().filter(std::fs::Metadata::is_file).map(|found| found.mtime());
    let Some(modified_s) = modified_s.filter(|at| mark::MODIFIED_SECONDS.contains(at)) else { return String::new() };
    let is_marked = File::open(path).and_then(|file| sys::xattr::get(&file, mark::ATTRIBUTE));
    match Timestamp::from_second(modified_s) {
        Ok(modified) if is_marked.is_ok_and(|mark| mark.is_some()) => {
            let date = modified.strftime("%Y-%m-%d");
            format!("  date {date} set by diskspd: any later write to the file changes it\n")
        }
        _ => String::new(),
    }
}

fn print_json(devices: &impl Serialize) -> Status {
    let mut text = Vec::new();
    printed(write_json(devices, &mut text).and_then(|()| print(&text)), Status::Done)
}

fn table(devices: &[DeviceRow]) -> String {
    let words = ["KIND", "MODEL", "IDENTITY", "ROTA", "SCHEDULER", "MOUNTED", "USED BY"].map(Column::text);
    let columns = [Column::text("NAME"), Column::number("SIZE")].into_iter().chain(words);
    let table =
        Table { rows: devices.iter().map(|device| cells(device).into()).collect(), ..Table::with_columns(columns) };
    render::wide_table_lines(&table).iter().fold(String::new(), |text, line| text + line.trim_start() + "\n")
}

fn cells(device: &DeviceRow) -> [String; 9] {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let joined = |items: Vec<String>| if items.is_empty() { UNKNOWN.to_owned() } else { items.join(", ") };
    let rotates = match device.rotational {
        Some(true) => "yes",
        Some(false) => "no",
        None => UNKNOWN,
    };
    [
        device.name.clone(),
        device.size_bytes.map_or_else(|| UNKNOWN.to_owned(), |bytes| Bytes(bytes).to_string()),
        device.kind.word(),
        known(&device.model),
        known(&device.identity),
        rotates.to_owned(),
        known(&device.scheduler),
        joined(device.mounted.iter().map(|path| path.display().to_string()).collect()),
        joined(device.used_by.iter().map(user).collect()),
    ]
}

fn user(user: &DeviceUse) -> String {
    match user {
        DeviceUse::Device { name, kind } => format!("{kind} {name}"),
        DeviceUse::Swap => "swap".to_owned(),
        DeviceUse::ZfsPool { pool } => format!("ZFS pool {pool}"),
        DeviceUse::Btrfs { uuid } => format!("btrfs {uuid}"),
        DeviceUse::BcacheSet { uuid } => format!("bcache set {uuid}"),
    }
}
