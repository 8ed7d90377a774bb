//! The static binary: for musl where its target is installed, else with glibc linked in.

use super::target::Target;
use super::{Workspace, failed, mebibytes};
use crate::stop::Stop;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Maximum size in bytes.
const BYTES_MAX: u64 = 18 << 20;

/// A built program.
pub(super) struct Binary {
    /// Its path.
    pub(super) path: PathBuf,
    /// Its target.
    pub(super) target: Target,
}

/// Builds it with the profile `dist`. It contains no path of this machine, so that it is the same from any directory.
pub(super) fn build(workspace: &Workspace, target: Target) -> Result<Binary, Stop> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default();
    // musl's start files are static by default; glibc's are not.
    let mut flags = OsString::from("-Ctarget-feature=+crt-static");
    for (path, name) in [(&workspace.root, "/diskspd"), (&workspace.build, "/target"), (&home, "/cargo")] {
        flags.push("\x1f--remap-path-prefix=");
        flags.push(path);
        flags.push(format!("={name}"));
    }
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&workspace.root).args(["build", "--profile", "dist", "--locked", "--package", "app", "--target"]);
    cargo.arg(&target.triple).envs(target.compilers()).env("CARGO_TARGET_DIR", &workspace.build);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
    let status = cargo.status().map_err(|error| Stop::Failed(format!("cannot run cargo: {error}")))?;
    if !status.success() {
        return Err(Stop::Failed(format!("{cargo:?}: {status}")));
    }
    let path = workspace.build.join(&target.triple).join("dist/diskspd");
    Ok(Binary { path, target })
}

impl Binary {
    /// Its size; an error if it is too large or not static.
    pub(super) fn describe(&self) -> Result<String, Stop> {
        let bytes = std::fs::read(&self.path).map_err(failed("read", &self.path))?;
        if has_interpreter(&bytes) {
            return Err(Stop::Failed(format!("{} asks for a dynamic loader", self.path.display())));
        }
        let size = bytes.len() as u64;
        if size > BYTES_MAX {
            return Err(Stop::Failed(format!("{} are more than {}", mebibytes(size), mebibytes(BYTES_MAX))));
        }
        let reason =
            self.target.instead_of_musl.as_ref().map_or(String::new(), |reason| format!("; not musl: {reason}"));
        Ok(format!("{}, {}{reason}", mebibytes(size), self.target.triple))
    }
}

/// True if an ELF file of 64 bits, little-endian, has a program header that names an interpreter.
pub(super) fn has_interpreter(elf: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let word = |at: usize, bytes: usize| -> Option<u64> {
        let field = elf.get(at..at + bytes)?;
        Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    let header = || Some((word(32, 8)? as usize, word(54, 2)? as usize, word(56, 2)? as usize));
    let Some((start, size, count)) = header() else { return false };
    (0..count).any(|index| word(start + index * size, 4) == Some(u64::from(PT_INTERP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_asks_for_a_loader_unless_it_is_static() {
        let this = std::fs::read("/proc/self/exe").expect("it runs");
        assert_eq!(has_interpreter(&this), !cfg!(target_feature = "crt-static"));
        assert!(!has_interpreter(b"no ELF file"));
    }
}
