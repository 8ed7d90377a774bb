//! Locations of cases, and their removal.

use super::process;
use super::random::Random;
use crate::stop::Stop;
use crate::surroundings::installed;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Directories on several file systems, mounted for the duration of a session.
#[derive(Debug)]
pub(super) struct Places {
    folder: TempDir,
    /// Name of the file system, and a directory on it. The first is that of the build.
    pub(super) bases: Vec<(String, PathBuf)>,
    /// The file systems left out, with the reasons.
    pub(super) missing: Vec<String>,
}

impl Places {
    /// Creates them below `parent`; `program` becomes their `diskspd`.
    pub(super) fn new(parent: &Path, program: &Path, is_root: bool) -> Result<Self, Stop> {
        let failed = |error: std::io::Error| Stop::Failed(format!("cannot make a folder for cases: {error}"));
        fs::create_dir_all(parent).map_err(failed)?;
        let parent = fs::canonicalize(parent).map_err(failed)?;
        let folder = tempfile::Builder::new().prefix("torment-").tempdir_in(parent).map_err(failed)?;
        for name in ["bin", "out", "plain"] {
            fs::create_dir(folder.path().join(name)).map_err(failed)?;
        }
        let program = fs::canonicalize(program)
            .map_err(|error| Stop::Failed(format!("cannot find '{}': {error}", program.display())))?;
        std::os::unix::fs::symlink(program, folder.path().join("bin/diskspd")).map_err(failed)?;
        let plain = folder.path().join("plain");
        let mut places = Self { folder, bases: vec![("plain".to_owned(), plain)], missing: Vec::new() };
        if is_root {
            for (name, script) in [
                ("xfs", "truncate -s 300M xfs.img && mkfs.xfs -q xfs.img && mount -o loop xfs.img xfs"),
                ("btrfs", "truncate -s 128M btrfs.img && mkfs.btrfs -q btrfs.img && mount -o loop btrfs.img btrfs"),
                ("tmpfs", "mount -t tmpfs -o size=256M none tmpfs"),
            ] {
                places.mount(name, script).map_err(failed)?;
            }
        } else {
            places.missing.push("without root: loop devices, mounts, overlays, swap and other file systems".to_owned());
        }
        if installed("python3").is_none() {
            places.missing.push("python3 is not installed: mappings".to_owned());
        }
        Ok(places)
    }

    fn mount(&mut self, name: &str, script: &str) -> std::io::Result<()> {
        let path = self.folder.path().join(name);
        fs::create_dir(&path)?;
        let mut command = process::command(Path::new("sh"), self.folder.path(), &self.programs());
        command.arg("-c").arg(script);
        let ended = process::run(command, &self.scratch())?;
        if ended.is_good() {
            self.bases.push((name.to_owned(), path));
        } else {
            self.missing.push(format!("{name}: {}", ended.stderr.lines().last().unwrap_or_default()));
        }
        Ok(())
    }

    /// The directory with `diskspd`.
    pub(super) fn programs(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// The directory for output of programs.
    pub(super) fn scratch(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The file system of a case: mostly that of the build.
    pub(super) fn choose(&self, random: &mut Random) -> (String, PathBuf) {
        let others = &self.bases[1..];
        let other = if random.percent(45) { random.pick(others) } else { None };
        other.unwrap_or(&self.bases[0]).clone()
    }

    /// Removes everything still mounted, attached or swapped to below a directory; returns its description.
    pub(super) fn clean(&self, folder: &Path) -> Vec<String> {
        let mut left = Vec::new();
        // Loop devices may be stacked, with mounts on them: several rounds.
        for _ in 0..8 {
            let lines = leftovers(folder);
            if lines.is_empty() {
                break;
            }
            for (program, words, what) in lines {
                let mut command = process::command(Path::new(program), self.folder.path(), &self.programs());
                command.args(words).arg(&what);
                // Failures are retried in the next round.
                let _ = process::run(command, &self.scratch());
                left.push(format!("{program} {what}"));
            }
            // Devices are detached a moment after their last user has ended.
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        left
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        let folder = self.folder.path().to_owned();
        for (_, base) in self.bases.drain(1..) {
            let mut command = process::command(Path::new("umount"), &folder, &folder.join("bin"));
            command.arg(base);
            let _ = process::run(command, &folder.join("out"));
        }
        self.clean(&folder);
        if !leftovers(&folder).is_empty() {
            eprintln!("WARNING: something is still mounted or attached below '{}'; it is kept", folder.display());
            self.folder.disable_cleanup(true);
        }
    }
}

/// Commands that remove leftovers below a directory: program, options and operand.
fn leftovers(folder: &Path) -> Vec<(&'static str, &'static [&'static str], String)> {
    let mut found: Vec<(&'static str, &'static [&'static str], String)> = Vec::new();
    let is_below = |path: &str| path.trim_end_matches("\\040(deleted)").starts_with(&format!("{}/", folder.display()));
    let loops = loops_below(folder);
    let list = fs::read_to_string("/proc/swaps").unwrap_or_default();
    for path in list.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        if is_below(path) || loops.iter().any(|device| device == path) {
            found.push(("swapoff", &[], path.replace("\\040(deleted)", "")));
        }
    }
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut points: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().nth(4)).collect();
    points.reverse();
    found.extend(
        points
            .into_iter()
            .filter(|path| is_below(path))
            .map(|path| ("umount", &["--lazy"] as &[_], path.replace("//deleted", "").replace("\\040", " "))),
    );
    found.extend(loops.into_iter().map(|device| ("losetup", &["--detach"] as &[_], device)));
    found
}

/// Loop devices over files below a directory, and loop devices over those; the upper ones first.
pub(super) fn loops_below(folder: &Path) -> Vec<String> {
    let prefix = format!("{}/", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        if let Ok(backing) = fs::read_to_string(entry.path().join("loop/backing_file")) {
            all.push((format!("/dev/{}", entry.file_name().display()), backing.trim_end().to_owned()));
        }
    }
    let mut ours: Vec<String> = Vec::new();
    loop {
        let more = all
            .iter()
            .find(|(name, backing)| !ours.contains(name) && (backing.starts_with(&prefix) || ours.contains(backing)));
        let Some((name, _)) = more else { break };
        ours.push(name.clone());
    }
    ours.reverse();
    ours
}
