//! Packages of one suite of Debian, fetched by apt with lists of their own and unpacked, not installed: what this machine
//! runs and has installed does not matter.

use super::{Step, Stop, failed, output_of};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A suite, with its lists fetched.
#[derive(Debug)]
pub(super) struct Suite {
    name: String,
    /// For apt's lists and the packages; removed when this is dropped.
    folder: PathBuf,
}

impl Suite {
    /// `bookworm`, `sid` ..., of the archive that this machine's apt uses.
    pub(super) fn fetched(cache: &Path, name: &str) -> Step<Self> {
        let suite = Self { name: name.to_owned(), folder: cache.join(format!("apt-{name}")) };
        for folder in ["lists/partial", "cache/archives/partial"] {
            let folder = suite.folder.join(folder);
            std::fs::create_dir_all(&folder).map_err(|error| failed("make", &folder, &error))?;
        }
        let archive = archive().map_err(|reason| suite.unavailable(&reason))?;
        let sources = suite.folder.join("sources.list");
        std::fs::write(&sources, format!("deb {archive} {name} main\n"))
            .map_err(|error| failed("write", &sources, &error))?;
        println!("fetching the lists of {name}");
        suite.output_of(suite.apt("apt-get").arg("update"))?;
        Ok(suite)
    }

    /// The names of the packages that a package depends on first, in order.
    pub(super) fn depends(&self, package: &str) -> Step<Vec<String>> {
        let text = self.output_of(self.apt("apt-cache").args(["depends", package]))?;
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(names.map(str::to_owned).collect())
    }

    /// Unpacks these packages below `tree`.
    pub(super) fn unpack(&self, packages: &[String], tree: &Path) -> Step<()> {
        println!("fetching {}", packages.join(" "));
        let archives = self.folder.join("cache/archives");
        self.output_of(self.apt("apt-get").arg("download").args(packages).current_dir(&archives))?;
        self.unpack_all(tree)
    }

    /// Unpacks these packages and all that they depend on below `tree`.
    pub(super) fn unpack_with_all_needed(&self, packages: &[&str], tree: &Path) -> Step<()> {
        println!("fetching {} and all that they need", packages.join(" "));
        let words = ["install", "--yes", "--no-install-recommends", "--download-only"];
        self.output_of(self.apt("apt-get").args(words).args(packages))?;
        self.unpack_all(tree)
    }

    fn unpack_all(&self, tree: &Path) -> Step<()> {
        let archives = self.folder.join("cache/archives");
        let files = std::fs::read_dir(&archives).map_err(|error| failed("read", &archives, &error))?;
        for file in
            files.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "deb"))
        {
            self.output_of(Command::new("dpkg-deb").arg("-x").arg(&file).arg(tree))?;
        }
        Ok(())
    }

    fn apt(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let at = |name: &str| self.folder.join(name).display().to_string();
        for option in [
            format!("Dir::Etc::SourceList={}", at("sources.list")),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            format!("Dir::State::Lists={}", at("lists")),
            format!("Dir::Cache={}", at("cache")),
            // As if nothing were installed.
            "Dir::State::status=/dev/null".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::Check-Valid-Until=false".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
            "Debug::NoLocking=1".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        command
    }

    fn output_of(&self, command: &mut Command) -> Step<String> {
        output_of(command).map_err(|reason| self.unavailable(&reason))
    }

    fn unavailable(&self, reason: &str) -> Stop {
        Stop::Skipped(format!("packages of Debian's suite {} cannot be had: {reason}", self.name))
    }
}

impl Drop for Suite {
    fn drop(&mut self) {
        // Only what was unpacked is kept.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Address of the archive of Debian's main packages in this machine's sources.
fn archive() -> Result<String, String> {
    let format = "$(REPO_URI)|$(ORIGIN)|$(LABEL)|$(COMPONENT)";
    let targets =
        output_of(Command::new("apt-get").args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let address = targets.lines().find_map(|line| line.strip_suffix("|Debian|Debian|main"));
    address.map(str::to_owned).ok_or_else(|| "apt's sources have no archive of Debian".to_owned())
}
