//! Origin of the data of a case: loads, and changes to files between and after them.

use super::damage::{Materials, Promise};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use testkit::{Finished, Random, Workplace, no_child};

/// Number of times a history is damaged; it is restored after each.
const DAMAGES: u64 = 6;

/// A load on one or two files.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// Without targets.
    pub(super) words: String,
    /// Bytes of each file.
    pub(super) size_bytes: u64,
    /// True if it writes each byte of its files at least once.
    pub(super) fills: bool,
    /// True if each write is durable once it has completed.
    pub(super) is_write_through: bool,
    /// Maximum bytes in flight.
    pub(super) in_flight_bytes: u64,
    pub(super) has_discards: bool,
    pub(super) is_mapped: bool,
}

/// A case, in its own directory.
pub(super) struct Case {
    pub(super) place: Rc<Workplace>,
    pub(super) random: Random,
    /// The directory, below the workplace's.
    name: String,
    /// Log of the actions.
    pub(super) lines: Vec<String>,
    /// Kinds of its verifications, to be counted.
    pub(super) kinds: Vec<&'static str>,
    pub(super) skipped: Option<String>,
    /// Number of verifications so far.
    pub(super) verified: u64,
}

impl Drop for Case {
    fn drop(&mut self) {
        // Only frees disk space.
        let _ = fs::remove_dir_all(self.place.path(&self.name));
    }
}

/// Reads a file while no test starts a program.
pub(super) fn read(path: &Path) -> Vec<u8> {
    let _no_child = no_child();
    fs::read(path).expect("a file of the case")
}

/// Writes bytes at the beginning of an existing file, and truncates it to their length.
pub(super) fn put(path: &Path, bytes: &[u8]) {
    let _no_child = no_child();
    let file = File::options().write(true).open(path).expect("a file of the case");
    file.write_all_at(bytes, 0).expect("room");
    file.set_len(bytes.len() as u64).expect("room");
}

impl Case {
    pub(super) fn new(place: Rc<Workplace>, seed: u64) -> Self {
        let name = format!("case-{seed}");
        let _ = fs::remove_dir_all(place.path(&name));
        fs::create_dir(place.path(&name)).expect("a new folder");
        // Adjacent seeds begin alike.
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.draw();
        Self { place, random, name, lines: Vec::new(), kinds: Vec::new(), skipped: None, verified: 0 }
    }

    pub(super) fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.random.below(100) < percent
    }

    /// A file of the case, as passed to the program.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.path(&self.file(name))
    }

    pub(super) fn make_folder(&self, name: &str) {
        fs::create_dir(self.path(name)).expect("a new folder");
    }

    pub(super) fn run(&mut self, words: &str) -> Finished {
        let run = self.place.diskspd(words).run();
        self.lines.push(format!("diskspd {words}   # {:?}", run.code()));
        run
    }

    /// Runs a load to its end. Sound storage is also read by loads.
    pub(super) fn load(&mut self, load: &Load, rest: &str) -> Result<(), String> {
        let run = self.run(&format!("{} -d60 -W0 --verify --overwrite {rest}", load.words));
        if run.code() == Some(0) { Ok(()) } else { Err(format!("a load on sound files failed\n{run}")) }
    }

    /// `diskspd verify`; an error unless it ends with one of these statuses, and its JSON agrees.
    pub(super) fn verify(&mut self, words: &str, allowed: &[i32]) -> Result<Value, String> {
        self.verified += 1;
        let run = self.run(&format!("verify --json {words}"));
        let code = run.code().unwrap_or(-1);
        if !allowed.contains(&code) {
            return Err(format!("exit status {code} is not among {allowed:?}\n{run}"));
        }
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let outcome = report["outcome"].as_str().unwrap_or("none");
        let fits = match code {
            0 => outcome == "good",
            5 => outcome == "corrupt",
            6 => outcome == "cannot_tell",
            _ => outcome != "good" && outcome != "corrupt",
        };
        if fits { Ok(report) } else { Err(format!("outcome '{outcome}' with exit status {code}\n{run}")) }
    }

    /// Any load on files of this size. `fills`: it writes all of them.
    pub(super) fn any_load(&mut self, size_bytes: u64, fills: bool) -> Load {
        let caches = ["", "-Su", "-Suw", "-Sh", "-Sw", "-Sb", "-Sm -Nv", "-Sm -Nn", "-Sm"];
        let cache = self.one_of(&caches);
        let is_mapped = cache.starts_with("-Sm");
        let engine = if is_mapped {
            ""
        } else if cache == "-Su" || cache == "-Suw" || cache == "-Sh" {
            self.one_of(&["", "--engine=aio", "--engine=sync", "--engine=io_uring"])
        } else {
            self.one_of(&["", "--engine=sync", "--engine=io_uring"])
        };
        let (block, block_bytes) = self.one_of(&[
            ("512", 512),
            ("1K", 1 << 10),
            ("2K", 2 << 10),
            ("4K", 4 << 10),
            ("4K", 4 << 10),
            ("8K", 8 << 10),
            ("16K", 16 << 10),
            ("64K", 64 << 10),
        ]);
        let (threads, depth) = (1 + self.random.below(3), 1 + self.random.below(8));
        let mut words = format!("-c{size_bytes} -b{block} -t{threads} -o{depth} {cache} {engine}");
        let mut has_discards = false;
        if fills {
            // Each block in turn, by any free thread, and a part of them again: only a later write contains the number
            // of those that were in flight together.
            let more = threads * depth + self.random.below(1 + size_bytes / block_bytes);
            let _ = write!(words, " -si -w100 --max-ios={}", size_bytes / block_bytes + more);
        } else {
            words += self.one_of(&[" -r", " -r", " -s", " -si", " -rs50"]);
            words += self.one_of(&[" -w100", " -w100", " -w80", " -w50", " -w10"]);
            if block_bytes == 4096 && !is_mapped && self.percent(30) {
                words += self.one_of(&[" --write-sizes=4K/50:16K/50", " --write-sizes=512/20:8K/80"]);
            }
            if !is_mapped && !engine.ends_with("aio") && self.percent(20) {
                words += self.one_of(&[" --discard=10 --write-zeroes=10", " --write-zeroes=20"]);
                has_discards = true;
            }
            let _ = write!(words, " --max-ios={}", 1 + self.random.below(300));
        }
        if !is_mapped && self.percent(20) {
            words += self.one_of(&[" --fdatasync-every=16", " --fsync-every=50"]);
        }
        let is_write_through = matches!(cache, "-Suw" | "-Sh" | "-Sw" | "-Sm -Nv");
        let in_flight_bytes = threads * depth * block_bytes.max(16 << 10);
        Load { words, size_bytes, fills, is_write_through, in_flight_bytes, has_discards, is_mapped }
    }

    pub(super) fn any_size(&mut self) -> u64 {
        self.one_of(&[64, 64, 128, 192, 256, 512, 1024]) << 10
    }

    /// Sound histories of files, with and without a map.
    pub(super) fn sound(&mut self) -> Result<(), String> {
        let (size_bytes, fills) = (self.any_size(), self.percent(40));
        let (a, b, journal) = (self.file("a.dat"), self.file("b.dat"), self.file("journal"));
        if self.percent(30) {
            // Data of an earlier run.
            let earlier = self.any_load(size_bytes, true);
            self.load(&earlier, &a)?;
        }
        self.make_folder("journal");
        let load = self.any_load(size_bytes, fills);
        // I/Os of both files are counted together.
        let has_two = !fills && self.percent(40);
        let targets = if has_two { format!("{a} {b}") } else { a.clone() };
        let with_journal = format!("--journal={journal} --journal-here {targets}");
        self.load(&load, &with_journal)?;
        // With few I/Os, none may be a write.
        self.verify(&format!("--journal {journal} {targets}"), &[0, 6])?;
        self.verify(&targets, &[0, 6])?;
        if load.fills && !load.has_discards {
            self.verify(&format!("--journal {journal} {a}"), &[0])?;
            self.verify(&a, &[0])?;
        }
        self.later(&a, &b, has_two, &load)
    }

    /// Possible changes to a sound file afterwards.
    fn later(&mut self, a: &str, b: &str, has_two: bool, load: &Load) -> Result<(), String> {
        let journal = self.file("journal");
        let (c, moved) = (self.file("c.dat"), self.file("moved.dat"));
        match self.random.below(6) {
            0 => {
                self.kinds.push("a copy");
                fs::copy(self.place.path(a), self.place.path(&c)).expect("room");
                self.verify(&c, &[0, 6])?;
                // In its place, like a restored backup.
                fs::rename(self.place.path(&c), self.place.path(a)).expect("the same folder");
                self.lines.push(format!("cp {a} {c}; mv {c} {a}"));
                self.verify(&format!("--journal {journal} {a}"), &[0, 3, 6])?;
            }
            1 => {
                self.kinds.push("another name");
                fs::rename(self.place.path(a), self.place.path(&moved)).expect("the same folder");
                self.lines.push(format!("mv {a} {moved}"));
                self.verify(&moved, &[0, 6])?;
                self.verify(&format!("--journal {journal} {moved}"), &[0, 3, 6])?;
            }
            2 if has_two => {
                self.kinds.push("names exchanged");
                for (from, to) in [(a, moved.as_str()), (b, a), (moved.as_str(), b)] {
                    fs::rename(self.place.path(from), self.place.path(to)).expect("the same folder");
                    self.lines.push(format!("mv {from} {to}"));
                }
                self.verify(&format!("{a} {b}"), &[0, 6])?;
                self.verify(&format!("--journal {journal} {a} {b}"), &[0, 6])?;
            }
            _ => return self.later_loads(a, load),
        }
        Ok(())
    }

    /// Later loads to this and other files, and other data beside that of the run.
    fn later_loads(&mut self, a: &str, load: &Load) -> Result<(), String> {
        let (journal, c) = (self.file("journal"), self.file("c.dat"));
        match self.random.below(5) {
            0 => {
                self.kinds.push("a load elsewhere");
                let elsewhere = self.any_load(load.size_bytes, true);
                self.load(&elsewhere, &c)?;
                let expected = if load.fills { &[0][..] } else { &[0, 6] };
                self.verify(&format!("--journal {journal} {a}"), expected)?;
                self.verify(&format!("{a} {c}"), expected)?;
            }
            1 | 2 => {
                self.kinds.push("a later load");
                let (fills, size_bytes) = (self.percent(30), load.size_bytes);
                let later = self.any_load(size_bytes, fills);
                self.make_folder("later");
                self.load(&later, &format!("--journal={} --journal-here {a}", self.file("later")))?;
                let alone = self.verify(a, &[0, 6])?;
                // One that recreated the file and wrote no unit leaves no trace (docs/integrity.md).
                let left_no_trace = alone["targets"][0]["found_units"] == 0;
                self.verify(&format!("--journal {journal} {a}"), if left_no_trace { &[0, 5, 6] } else { &[0, 6] })?;
                self.verify(&format!("--journal {} {a}", self.file("later")), &[0, 6])?;
            }
            3 => {
                self.kinds.push("a longer file");
                let bytes = load.size_bytes + self.random.below(1 << 20);
                let file = File::options().write(true).open(self.place.path(a)).expect("a file of the case");
                file.set_len(bytes).expect("a sparse file");
                drop(file);
                self.lines.push(format!("truncate -s {bytes} {a}"));
                self.verify(&format!("--journal {journal} {a}"), &[0, 6])?;
                self.verify(a, &[0, 6])?;
            }
            _ => {
                self.kinds.push("a part of another file");
                let before = self.random.below(64) * 4096;
                let content = [vec![0; before as usize], read(&self.place.path(a))].concat();
                self.place.file(&c, &content);
                self.lines.push(format!("(head -c {before} /dev/zero; cat {a}) >{c}"));
                self.verify(&c, &[0, 6])?;
            }
        }
        Ok(())
    }

    /// All materials for damage, from a run with a journal.
    fn materials(&mut self, fills: bool) -> Result<Materials, String> {
        let size_bytes = self.any_size();
        let (a, b, other) = (self.file("a.dat"), self.file("b.dat"), self.file("other.dat"));
        let earlier = if self.percent(50) {
            let load = self.any_load(size_bytes, true);
            self.load(&load, &a)?;
            Some(read(&self.place.path(&a)))
        } else {
            None
        };
        let other_load = self.any_load(size_bytes, true);
        let other_is_later = self.percent(50);
        if !other_is_later {
            self.load(&other_load, &other)?;
        }
        self.make_folder("journal");
        let load = self.any_load(size_bytes, fills);
        let has_two = !fills && self.percent(30);
        let targets = if has_two { format!("{a} {b}") } else { a.clone() };
        let with_journal = format!("--journal={} --journal-here {targets}", self.file("journal"));
        self.load(&load, &with_journal)?;
        if other_is_later {
            self.load(&other_load, &other)?;
        }
        let content = read(&self.place.path(&a));
        Ok(Materials {
            is_of_run: Materials::units_that_differ(earlier.as_deref(), &content),
            earlier,
            sibling: has_two.then(|| read(&self.place.path(&b))),
            other: read(&self.place.path(&other)),
            other_is_later,
            unit_bytes: 0,
            is_mapped: load.is_mapped,
            content,
        })
    }

    /// Verifies the sound file, and then damages it in several ways, one after another.
    pub(super) fn damaged_with_map(&mut self) -> Result<(), String> {
        let fills = self.percent(60);
        let mut materials = self.materials(fills)?;
        let a = self.file("a.dat");
        let words = format!("--journal {} {a}", self.file("journal"));
        let report = self.verify(&words, &[0, 6])?;
        materials.unit_bytes = report["targets"][0]["unit_bytes"].as_u64().expect("with a map") as usize;
        for _ in 0..DAMAGES {
            let Some(damage) = materials.damage_with_map(&mut self.random) else { continue };
            self.check_damage(&words, &materials, damage)?;
        }
        Ok(())
    }

    /// The same without a map, for a file filled by a run.
    pub(super) fn damaged_alone(&mut self) -> Result<(), String> {
        let mut materials = self.materials(true)?;
        let a = self.file("a.dat");
        self.verify(&a, &[0])?;
        materials.unit_bytes = materials.smallest_unit();
        for _ in 0..DAMAGES {
            let Some(damage) = materials.damage_alone(&mut self.random) else { continue };
            self.check_damage(&a, &materials, damage)?;
        }
        Ok(())
    }

    fn check_damage(
        &mut self,
        words: &str,
        materials: &Materials,
        (name, promise, bytes): (&'static str, Promise, Vec<u8>),
    ) -> Result<(), String> {
        self.kinds.push(name);
        let path = self.path("a.dat");
        put(&path, &bytes);
        let first = bytes.iter().zip(&materials.content).position(|(now, was)| now != was);
        self.lines.push(format!("# {name}: the first byte that differs is {first:?}"));
        self.verify(words, promise.statuses())?;
        put(&path, &materials.content);
        Ok(())
    }

    /// A load with a journal that is killed at any time.
    pub(super) fn killed(&mut self) -> Result<(), String> {
        let size_bytes = self.any_size();
        let (a, journal) = (self.file("a.dat"), self.file("journal"));
        let mut load = self.any_load(size_bytes, false);
        // So that it does not end before.
        load.words = load.words.rsplit_once(" --max-ios=").map_or(load.words.clone(), |(words, _)| words.to_owned());
        self.make_folder("journal");
        let rest = format!("-d600 -W0 -v --verify --overwrite --journal={journal} --journal-here {a}");
        let words = format!("{} {rest}", load.words);
        let mut run = self.place.diskspd(&words).start();
        let waits = self.percent(80);
        if waits {
            run.wait_for_stderr("starting measurements");
        }
        std::thread::sleep(Duration::from_micros(self.random.below(60_000)));
        run.kill_hard();
        self.lines.push(format!("diskspd {words}   # killed"));
        // A load that had not begun has no logs, and perhaps no file.
        let with_journal = format!("--journal {journal} {a}");
        let allowed = if waits { &[0, 6][..] } else { &[0, 1, 3, 6] };
        let report = self.verify(&with_journal, allowed)?;
        if !self.path("a.dat").exists() {
            return Ok(());
        }
        self.verify(&a, &[0, 6])?;
        let durable = report["targets"][0]["durable_units"].as_u64().unwrap_or(0);
        if self.percent(60) && load.is_write_through && durable > 0 {
            return self.damage_after_kill(&load, &report, &with_journal);
        }
        self.after_kill(size_bytes, &with_journal, allowed)
    }

    /// Possible changes to the file of a killed load.
    fn after_kill(&mut self, size_bytes: u64, with_journal: &str, allowed: &[i32]) -> Result<(), String> {
        let (a, journal) = (self.file("a.dat"), self.file("journal"));
        match self.random.below(4) {
            0 => {
                self.kinds.push("killed, another name");
                let moved = self.file("moved.dat");
                fs::rename(self.place.path(&a), self.place.path(&moved)).expect("the same folder");
                self.lines.push(format!("mv {a} {moved}"));
                self.verify(&format!("--journal {journal} {moved}"), &[0, 3, 6])?;
            }
            1 => {
                self.kinds.push("killed, a later load");
                let later = self.any_load(size_bytes, false);
                self.load(&later, &a)?;
                self.verify(&a, &[0, 6])?;
            }
            2 => {
                self.kinds.push("killed, a load elsewhere");
                let later = self.any_load(size_bytes, false);
                let elsewhere = self.file("b.dat");
                self.load(&later, &elsewhere)?;
                self.verify(with_journal, allowed)?;
            }
            _ => {
                self.kinds.push("killed, a load with the same journal");
                let next = self.any_load(size_bytes, true);
                self.load(&next, &format!("--journal={journal} --journal-here {a}"))?;
                self.verify(with_journal, &[0])?;
            }
        }
        Ok(())
    }

    /// More units are damaged than can have been in flight, and all that had completed are durable.
    fn damage_after_kill(&mut self, load: &Load, report: &Value, words: &str) -> Result<(), String> {
        let unit_bytes = report["targets"][0]["unit_bytes"].as_u64().expect("of the logs") as usize;
        let content = read(&self.path("a.dat"));
        let mut materials = Materials {
            is_of_run: Materials::units_that_differ(None, &content),
            earlier: None,
            sibling: None,
            other: Vec::new(),
            other_is_later: false,
            unit_bytes,
            is_mapped: false,
            content,
        };
        let units = materials.units();
        let wanted = load.in_flight_bytes as usize / unit_bytes + 1;
        if units.len() < wanted {
            return Ok(());
        }
        let Some(damage) = materials.damage_many(&mut self.random, wanted) else { return Ok(()) };
        materials.is_of_run.clear();
        self.check_damage(words, &materials, damage)
    }
}
