//! Loads that end with their machine: qemu is killed while a guest writes, and the next guest verifies what is left.

use super::machine::Guest;
use super::rows::{Count, KILL, VERIFIED};
use super::{Step, disks, failed};
use std::path::Path;
use std::time::Instant;

/// The name of these rows.
pub(super) const NAME: &str = "vm::kills::what_was_flushed_is_there_after_the_machine_was_killed";

/// The word for the guest's kernel by which it runs `xtask/vm/killed`.
pub(super) const WORDS: &str = "diskspd.killed";

/// How often the machine is killed.
const KILLS: usize = 10;

/// A disk for the journal, which survives, and the one that the load writes to.
pub(super) fn disks(cache: &Path) -> Step<Vec<String>> {
    let folder = cache.join("kills");
    std::fs::create_dir_all(&folder).map_err(|error| failed("make", &folder, &error))?;
    let mut arguments = Vec::new();
    for (name, serial) in [("work", "diskspd-work"), ("victim", "victim")] {
        let image = disks::formatted(&folder.join(format!("{name}.img")), 128 << 20)?;
        let drive = format!("if=none,id={name},format=raw,cache=writeback,file={image}");
        arguments.extend(["-drive".to_owned(), drive]);
        arguments.extend(["-device".to_owned(), format!("virtio-blk-pci,drive={name},serial={serial}")]);
    }
    Ok(arguments)
}

/// Boots again and again: each guest verifies the load of the one before, and is killed during its own.
pub(super) fn run(guest: &Guest<'_>, until: Instant) -> Step<Count> {
    let mut count = Count::default();
    for round in 0..=KILLS {
        let output = guest.run(KILL, until)?;
        if round == 0 {
            continue;
        }
        let status = output.text.lines().find_map(|line| line.strip_prefix(VERIFIED));
        if status == Some("0") && output.is_whole {
            count.passed += 1;
            println!("ok       {NAME} {round}");
        } else {
            count.failed += 1;
            println!("FAILED   {NAME} {round}\n{}", output.text);
        }
    }
    Ok(count)
}
