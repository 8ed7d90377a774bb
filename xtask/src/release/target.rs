//! Targets that the program is built for.

use super::run;
use crate::stop::Stop;
use crate::surroundings::installed;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kind of CPU, by its names in other projects.
#[derive(Debug)]
pub(super) struct Cpu {
    /// Rust's name, which is the kernel's.
    pub(super) name: &'static str,
    /// Debian's name.
    pub(super) debian: &'static str,
    /// RPM's name.
    pub(super) rpm: &'static str,
}

const CPUS: [Cpu; 2] =
    [Cpu { name: "x86_64", debian: "amd64", rpm: "x86_64" }, Cpu { name: "aarch64", debian: "arm64", rpm: "aarch64" }];

/// The C libraries that the program may be linked with.
const LIBRARIES: [&str; 2] = ["unknown-linux-musl", "unknown-linux-gnu"];

/// A target of rustc.
#[derive(Debug)]
pub(super) struct Target {
    /// Its name.
    pub(super) triple: String,
    /// Its CPU.
    pub(super) cpu: &'static Cpu,
    /// The reason why it is not for musl, if that was not requested otherwise.
    pub(super) instead_of_musl: Option<String>,
}

impl Target {
    /// The requested target; without one, one for each CPU, this machine's first: for musl if that is installed.
    pub(super) fn choose(asked: Option<&str>) -> Result<Vec<Self>, Stop> {
        if let Some(triple) = asked {
            return Ok(vec![Self::parse(triple)?]);
        }
        let mut targets: Vec<Self> = CPUS.iter().map(Self::installed_for).collect();
        targets.sort_by_key(Self::is_foreign);
        Ok(targets)
    }

    fn installed_for(cpu: &'static Cpu) -> Self {
        let [musl, gnu] = LIBRARIES.map(|library| format!("{}-{library}", cpu.name));
        match missing(&musl) {
            Some(reason) if missing(&gnu).is_none() => Self { triple: gnu, cpu, instead_of_musl: Some(reason) },
            _ => Self { triple: musl, cpu, instead_of_musl: None },
        }
    }

    /// An error if this machine lacks something to build for it.
    pub(super) fn ready(&self) -> Result<(), String> {
        if let Some(reason) = missing(&self.triple) {
            return Err(reason);
        }
        for (name, program) in self.compilers() {
            if installed(&program).is_none() {
                return Err(format!(
                    "{program} is not installed, and {name} names no other (Debian: {})",
                    self.debian_compiler()
                ));
            }
        }
        // Its man pages and completions are printed by the program itself.
        self.emulator().map(|_| ())
    }

    fn parse(triple: &str) -> Result<Self, Stop> {
        let parts = triple.split_once('-').filter(|(_, library)| LIBRARIES.contains(library));
        let cpu = parts.and_then(|(cpu, _)| CPUS.iter().find(|known| known.name == cpu));
        let cpu = cpu.ok_or_else(|| {
            let names = CPUS.map(|cpu| LIBRARIES.map(|library| format!("{}-{library}", cpu.name)).join(", "));
            Stop::Failed(format!("no packages are made for '{triple}', only for {}", names.join(", ")))
        })?;
        Ok(Self { triple: triple.to_owned(), cpu, instead_of_musl: None })
    }

    /// True if this machine has another CPU.
    pub(super) fn is_foreign(&self) -> bool {
        self.cpu.name != std::env::consts::ARCH
    }

    /// The settings that name a compiler, which some crates need, and for another CPU the linker; none that is already
    /// set. The same compiler whatever else is installed, as another one would make a different program.
    pub(super) fn compilers(&self) -> Vec<(String, String)> {
        let words = self.triple.replace('-', "_");
        let linker = format!("CARGO_TARGET_{}_LINKER", words.to_uppercase());
        let program = if self.is_foreign() { format!("{}-linux-gnu-gcc", self.cpu.name) } else { "cc".to_owned() };
        let names = std::iter::once(format!("CC_{words}")).chain(self.is_foreign().then_some(linker));
        names.filter(|name| std::env::var_os(name).is_none()).map(|name| (name, program.clone())).collect()
    }

    fn debian_compiler(&self) -> String {
        if self.is_foreign() {
            format!("gcc-{}-linux-gnu libc6-dev-{}-cross", self.cpu.name.replace('_', "-"), self.cpu.debian)
        } else {
            "gcc".to_owned()
        }
    }

    /// The emulator for this CPU; `None` if none is needed.
    pub(super) fn emulator(&self) -> Result<Option<PathBuf>, String> {
        if !self.is_foreign() {
            return Ok(None);
        }
        let names = [format!("qemu-{}-static", self.cpu.name), format!("qemu-{}", self.cpu.name)];
        let found = names.iter().find_map(|name| installed(name));
        found.map(Some).ok_or_else(|| format!("{} is not installed (Debian: qemu-user or qemu-user-static)", names[1]))
    }

    /// The command that runs a program for this target.
    pub(super) fn command(&self, program: &Path) -> Result<Command, Stop> {
        let Some(emulator) = self.emulator().map_err(Stop::Failed)? else { return Ok(Command::new(program)) };
        let mut command = Command::new(emulator);
        command.arg(program);
        Ok(command)
    }
}

/// The reason why nothing can be built for a target; `None` if its standard library is installed.
fn missing(triple: &str) -> Option<String> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", triple]);
    let Ok(folder) = run(&mut rustc) else { return Some(format!("rustc does not know {triple}")) };
    (!Path::new(folder.trim()).is_dir()).then(|| format!("rustup target add {triple} was not done"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_after_the_cpu_as_each_system_names_it() {
        let names = |triple| Target::parse(triple).map(|target| [target.cpu.name, target.cpu.debian, target.cpu.rpm]);
        let arm = names("aarch64-unknown-linux-gnu").expect("known");
        assert_eq!(arm, ["aarch64", "arm64", "aarch64"]);
        assert_eq!(names("x86_64-unknown-linux-musl").expect("known"), ["x86_64", "amd64", "x86_64"]);
        for unknown in ["aarch64", "aarch64-apple-darwin", "riscv64gc-unknown-linux-gnu", ""] {
            let Err(Stop::Failed(reason)) = names(unknown) else { panic!("{unknown} is taken") };
            assert!(reason.contains("aarch64-unknown-linux-musl"), "{reason}");
        }
    }

    #[test]
    fn a_linker_and_an_emulator_are_for_other_cpus() {
        let triple = |cpu: &str| format!("{cpu}-unknown-linux-gnu");
        let linkers = |target: &Target| target.compilers().into_iter().filter(|(name, _)| name.ends_with("_LINKER"));
        let own = Target::parse(&triple(std::env::consts::ARCH)).expect("known");
        assert!(linkers(&own).count() == 0 && matches!(own.emulator(), Ok(None)));
        let other = CPUS.iter().find(|cpu| cpu.name != std::env::consts::ARCH).expect("there are two");
        let other = Target::parse(&triple(other.name)).expect("known");
        assert!(other.is_foreign());
        assert!(linkers(&other).all(|(_, linker)| linker == format!("{}-linux-gnu-gcc", other.cpu.name)));
    }

    #[test]
    fn without_a_target_there_is_one_for_each_cpu() {
        let all = Target::choose(None).expect("none is asked for");
        let foreign: Vec<bool> = all.iter().map(Target::is_foreign).collect();
        assert_eq!(foreign, [false, true]);
        let [asked] = &Target::choose(Some("aarch64-unknown-linux-gnu")).expect("known")[..] else { panic!("one") };
        assert_eq!(asked.triple, "aarch64-unknown-linux-gnu");
        // A missing standard library, compiler or emulator is named.
        for target in all {
            if let Err(reason) = target.ready() {
                assert!(reason.contains("install") || reason.contains("rustup"), "{reason}");
            }
        }
    }
}
