//! The files for archive and packages, in one directory.

use super::binary::Binary;
use super::{Workspace, empty, failed, licences, run};
use crate::stop::Stop;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Below the root of the project, where the manifests of packages look for it.
pub(super) const FOLDER: &str = "target/release-stage";

/// Completions printed by the binary, and the names that the shells expect.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "diskspd.bash"), ("zsh", "_diskspd"), ("fish", "diskspd.fish")];

/// Files of the agent's service, below `packaging`, which the archive has below `systemd`.
const SERVICE: [&str; 3] = ["diskspd-agent.service", "agent.conf", "sysusers.conf"];

/// Empties and fills the directory.
pub(super) fn fill(workspace: &Workspace, binary: &Binary) -> Result<PathBuf, Stop> {
    let Workspace { root, source, .. } = workspace;
    let stage = root.join(FOLDER);
    empty(&stage)?;
    for folder in ["man", "completions", "systemd"] {
        empty(&stage.join(folder))?;
    }
    let program = stage.join("diskspd");
    let ask = |argument: &str| run(binary.target.command(&program)?.arg(argument));
    std::fs::copy(&binary.path, &program).map_err(failed("copy", &binary.path))?;
    for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        let from = root.join(name);
        std::fs::copy(&from, stage.join(name)).map_err(failed("copy", &from))?;
    }
    for name in SERVICE {
        let from = root.join("packaging").join(name);
        std::fs::copy(&from, stage.join("systemd").join(name)).map_err(failed("copy", &from))?;
    }
    write(&stage.join("THIRD-PARTY.md"), &licences::page(root, &binary.target.triple)?)?;
    for (shell, name) in COMPLETIONS {
        let text = ask(&format!("--completions={shell}"))?;
        write(&stage.join("completions").join(name), &text)?;
    }
    write(&stage.join("man/diskspd.1"), &ask("--man")?)?;
    for subcommand in subcommands(&ask("--help")?)? {
        let text = ask(&format!("--man={subcommand}"))?;
        write(&stage.join(format!("man/diskspd-{subcommand}.1")), &text)?;
    }
    set_times(&stage, source.time)?;
    Ok(stage)
}

/// Sets the times of all files to that of the source, which packages show.
fn set_times(folder: &Path, seconds: u64) -> Result<(), Stop> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    for entry in std::fs::read_dir(folder).map_err(failed("read", folder))? {
        let path = entry.map_err(failed("read", folder))?.path();
        if path.is_dir() {
            set_times(&path, seconds)?;
        }
        File::open(&path).and_then(|file| file.set_modified(time)).map_err(failed("set the time of", &path))?;
    }
    Ok(())
}

/// The names of the subcommands, as `--help` lists them.
fn subcommands(help: &str) -> Result<Vec<String>, Stop> {
    let list = help.split_once("\nSubcommands").map_or("", |(_, list)| list);
    let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
    let names: Vec<String> = lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    if names.is_empty() { Err(Stop::Failed("--help lists no subcommands".to_owned())) } else { Ok(names) }
}

fn write(path: &Path, text: &str) -> Result<(), Stop> {
    std::fs::write(path, text).map_err(failed("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_and_both_packages_have_the_service() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let read = |path| std::fs::read_to_string(root.join(path)).expect("it is there");
        let (debian, rpm) = (read("crates/app/Cargo.toml"), read("packaging/diskspd.spec"));
        for name in SERVICE {
            assert!(root.join("packaging").join(name).is_file(), "{name}");
            assert_eq!(debian.matches(&format!("{FOLDER}/systemd/{name}")).count(), 1, "{name}");
            assert_eq!(rpm.matches(&format!(" systemd/{name} ")).count(), 1, "{name}");
        }
    }
}
