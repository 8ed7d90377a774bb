//! Checks that the program accepts commands that are not run here, because they need a cluster, a share or an hour.

use super::page::{Block, Page};
use cli::subcommand::preset::PresetCommand;
use cli::{Command, Environment, LineCommand, Subcommand, preset};
use std::ffi::OsString;
use std::path::Path;
use testkit::Workplace;
use yaml_rust2::{Yaml, YamlLoader};

/// An environment in which no file exists.
struct FakeEnv;

impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        1
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }

    fn text_file(&self, _: &Path) -> Result<String, String> {
        Ok(table_of_volumes())
    }
}

/// The one file that a command of a page reads, as shown on that page.
pub(crate) fn table_of_volumes() -> String {
    let page = Page::read("docs/guide/clouds.md");
    let block = &page.blocks("toml")[0];
    page.lines[block.first..block.first + block.count].join("\n")
}

/// The words of each `diskspd` command in a block for the shell, or after `$ ` in any other.
pub(crate) fn commands(page: &Page, language: &str) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for block in page.blocks(language) {
        let mut line = String::new();
        for index in block.first..block.first + block.count {
            line.push_str(&page.lines[index]);
            if line.ends_with('\\') {
                line.pop();
                continue;
            }
            let script = std::mem::take(&mut line);
            let is_typed = language == "sh" || script.starts_with("$ ");
            if is_typed {
                found.extend(of_script(script.trim_start_matches("$ ")).into_iter().map(|words| (index, words)));
            }
        }
    }
    found
}

/// The documents of the page's manifests and playbooks, each with the line at which its block begins.
pub(crate) fn manifests(page: &Page) -> Vec<(usize, Yaml)> {
    let blocks = page.blocks("yaml").into_iter().flat_map(|block| {
        let text = page.lines[block.first..block.first + block.count].join("\n");
        let documents = YamlLoader::load_from_str(&text);
        let documents = documents.unwrap_or_else(|error| panic!("{}: {error}", page.place(block.first)));
        documents.into_iter().map(move |document| (block.first, document))
    });
    blocks.collect()
}

/// The words after `diskspd` in manifests and playbooks: arguments of containers, and options of the agent's service.
pub(crate) fn arguments_in_manifests(page: &Page) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (index, document) in manifests(page) {
        let mut words = Vec::new();
        collect_arguments(&document, &mut words);
        found.extend(words.into_iter().map(|words| (index, words)));
    }
    found
}

/// Path of the installed program.
pub(crate) const INSTALLED: &str = "/usr/bin/diskspd";

/// The words after the program of each command that a unit of systemd starts.
pub(crate) fn commands_in_unit(page: &Page, block: &Block) -> Vec<Vec<String>> {
    let lines = page.lines[block.first..block.first + block.count].iter();
    let commands = lines.filter_map(|line| line.strip_prefix("ExecStart=")?.strip_prefix(INSTALLED));
    commands.map(|command| shlex::split(command).unwrap_or_else(|| panic!("quotes do not match: {command}"))).collect()
}

fn collect_arguments(yaml: &Yaml, found: &mut Vec<Vec<String>>) {
    match yaml {
        Yaml::Hash(map) => {
            if yaml["image"].as_str().is_some_and(|image| image.contains("diskspd"))
                && let Some(args) = yaml["args"].as_vec()
            {
                // Kubernetes accepts only strings.
                let text = |arg: &Yaml| filled_in(arg.as_str().unwrap_or_else(|| panic!("{arg:?} is not a string")));
                found.push(args.iter().map(text).collect());
            }
            map.values().for_each(|value| collect_arguments(value, found));
        }
        Yaml::Array(list) => list.iter().for_each(|value| collect_arguments(value, found)),
        Yaml::String(text) => {
            let options = text.trim().strip_prefix("AGENT_OPTIONS=\"").and_then(|text| text.strip_suffix('"'));
            found.extend(options.map(|options| {
                let words =
                    shlex::split(&filled_in(options)).unwrap_or_else(|| panic!("quotes do not match: {options}"));
                ["agent".to_owned()].into_iter().chain(words).collect()
            }));
        }
        _ => {}
    }
}

/// A text with `$(NAME)` and `{{ name }}` replaced by values; by a path for the names of directories.
fn filled_in(text: &str) -> String {
    let mut filled = text.to_owned();
    for (begin, end) in [("$(", ")"), ("{{ ", " }}")] {
        while let Some((before, rest)) = filled.split_once(begin) {
            let (name, after) = rest.split_once(end).unwrap_or_else(|| panic!("{begin} has no end: {text}"));
            filled = format!("{before}{}{after}", if name.contains("directory") { "/x" } else { "x" });
        }
    }
    filled
}

/// Errors in a manifest for Kubernetes: references to missing parts.
pub(crate) fn faults(document: &Yaml) -> Vec<String> {
    let mut faults = Vec::new();
    if document["kind"].is_badvalue() {
        return faults;
    }
    for (key, value) in [("apiVersion", &document["apiVersion"]), ("metadata.name", &document["metadata"]["name"])] {
        faults.extend(value.as_str().is_none().then(|| format!("has no {key}")));
    }
    let spec = &document["spec"];
    let template = if document["kind"].as_str() == Some("Pod") { document } else { &spec["template"] };
    for (label, value) in spec["selector"]["matchLabels"].as_hash().into_iter().flatten() {
        let has = template["metadata"]["labels"][label.as_str().unwrap_or_default()] == *value;
        faults.extend((!has).then(|| format!("selects {label:?}, which its pods do not have")));
    }
    let items = |yaml: &Yaml, key: &str| yaml[key].as_vec().cloned().unwrap_or_default();
    let volumes: Vec<Yaml> = items(&template["spec"], "volumes").iter().map(|volume| volume["name"].clone()).collect();
    for container in items(&template["spec"], "containers") {
        let used = [items(&container, "volumeMounts"), items(&container, "volumeDevices")].concat();
        let missing = used.into_iter().map(|mount| mount["name"].clone()).filter(|name| !volumes.contains(name));
        faults.extend(missing.map(|name| format!("mounts {name:?}, which is no volume")));
    }
    faults
}

/// The commands between backquotes in the page's tables.
pub(crate) fn commands_in_tables(page: &Page) -> Vec<(usize, Vec<String>)> {
    let rows = page.lines.iter().enumerate().filter(|(_, line)| line.starts_with("| "));
    let quoted = rows.flat_map(|(index, line)| line.split('`').skip(1).step_by(2).map(move |code| (index, code)));
    let scripts = quoted.filter(|(_, code)| code.starts_with("diskspd "));
    scripts.flat_map(|(index, code)| of_script(code).into_iter().map(move |words| (index, words))).collect()
}

/// The words after `diskspd` of each such command in a line.
fn of_script(script: &str) -> Vec<Vec<String>> {
    let words = shlex::split(script).unwrap_or_else(|| panic!("quotes do not match: {script}"));
    let ends = |word: &String| ["|", "&&", "||", "&", ";"].contains(&word.as_str());
    let commands = words.split(ends).map(|command| {
        let is_before =
            |word: &String| word == "sudo" || word == "exec" || (word.contains('=') && !word.starts_with('-'));
        let from = command.iter().position(|word| !is_before(word)).unwrap_or(command.len());
        // The rest is output to a file, not an argument of the program.
        let is_redirection = |word: &String| word.starts_with('>') || word.starts_with("2>") || word.starts_with('<');
        let to = command.iter().position(is_redirection).unwrap_or(command.len());
        command.get(from..to).unwrap_or_default().to_vec()
    });
    let ours = commands.filter_map(|command| {
        let launchers = ["docker", "podman", "srun", "mpirun", "mpiexec"];
        let is_launched = command.first().is_some_and(|first| launchers.contains(&first.as_str()));
        let is_program = |word: &String| word == "diskspd" || word.starts_with("localhost/diskspd:");
        let at = command.iter().take(if is_launched { usize::MAX } else { 1 }).position(is_program)?;
        Some(command[at + 1..].to_vec())
    });
    ours.collect()
}

/// The reason why the program would refuse these words.
pub(crate) fn refusal(place: &Workplace, words: &[String]) -> Option<String> {
    let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    let command = match cli::parse(&arguments, &FakeEnv) {
        Ok(command) => command,
        Err(failure) => return Some(failure.messages.join("; ")),
    };
    match command {
        Command::Subcommand(Subcommand::Preset(command)) => of_preset(&command).err(),
        // A command with a warning is not a good example.
        Command::Line(LineCommand::Run(request)) if !request.warnings.is_empty() => Some(request.warnings.join("; ")),
        Command::Line(LineCommand::Run(_)) => {
            let shown = words.iter().fold(place.diskspd("-Rp"), testkit::Program::arg).run();
            (!shown.status.success()).then_some(shown.stderr)
        }
        // Other subcommands are accepted once they are parsed. Help needs nothing more; the file of a profile (-X) is
        // the reader's own.
        _ => None,
    }
}

fn of_preset(command: &PresetCommand) -> Result<(), String> {
    let (PresetCommand::Run(request) | PresetCommand::Show(request, _)) = command else {
        return Ok(());
    };
    // Files are the reader's own.
    let is_file = request.name.contains(['/', '.']);
    let Some(builtin) = preset::Builtin::find(&request.name) else {
        return if is_file { Ok(()) } else { Err(format!("there is no preset '{}'", request.name)) };
    };
    let machine = preset::Machine { cpus: 4, sockets: 1, nodes: 1 };
    let lines = preset::command_lines(&builtin.preset()?, request, machine)?;
    if lines.is_empty() { Err(format!("'{}' has no loads", request.name)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_among_others() {
        let found = |script| of_script(script).into_iter().map(|words| words.join(" ")).collect::<Vec<_>>();
        assert_eq!(found("sudo diskspd -c1G 'a b' > r.txt  # why"), ["-c1G a b"]);
        assert_eq!(found("A=1 diskspd --man | man -l - && diskspd x"), ["--man", "x"]);
        assert_eq!(found("docker run --rm diskspd -c1G a.dat"), ["-c1G a.dat"]);
        assert_eq!(found("podman run --volume diskspd:/data localhost/diskspd:1.0 -c1G a.dat"), ["-c1G a.dat"]);
        assert_eq!(found("srun -N2 diskspd agent --server x &"), ["agent --server x"]);
        assert_eq!(found("mount /dev/x /mnt/diskspd"), Vec::<String>::new());
    }

    #[test]
    fn arguments_are_found_in_manifests() {
        let found = |text: &str| {
            let mut found = Vec::new();
            for document in YamlLoader::load_from_str(text).expect("YAML") {
                collect_arguments(&document, &mut found);
            }
            found.into_iter().map(|words| words.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(
            found("c:\n  - {image: x/diskspd, args: [-d1, --name=$(A)]}\n  - {image: y, args: [z]}"),
            ["-d1 --name=x"]
        );
        assert_eq!(
            found("content: |\n  AGENT_OPTIONS=\"--server {{ a }} --trust 'b c'\""),
            ["agent --server x --trust b c"]
        );
    }

    #[test]
    fn faults_of_manifests_are_found() {
        let faults = |text: &str| faults(&YamlLoader::load_from_str(text).expect("YAML")[0]).join("; ");
        let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec: {containers: [{volumeMounts: [{name: b}]}]";
        assert!(faults(&format!("{pod}}}")).contains("mounts"), "{}", faults(&format!("{pod}}}")));
        assert_eq!(faults(&format!("{pod}, volumes: [{{name: b}}]}}")), "");
        let set = "kind: DaemonSet\napiVersion: v1\nspec: {selector: {matchLabels: {a: b}}}";
        assert!(faults(set).contains("has no metadata.name") && faults(set).contains("selects"));
        assert_eq!(faults("- hosts: all"), "");
    }

    #[test]
    fn what_the_program_would_refuse_is_refused() {
        let place = testkit::workplace!();
        let refused = |line: &str| refusal(&place, &shlex::split(line).expect("words")).is_some();
        assert!(
            !refused("-c1M -d1 a.dat") && refused("-c1M --no-such a.dat") && refused("-c1M") && refused("-d1m a.dat")
        );
        assert!(!refused("preset run oltp a.dat") && refused("preset run no-such a.dat"));
        assert!(!refused("sweep --vary o=1..4 -- -c1M a.dat") && refused("sweep --vary o=1..4 -- -q a.dat"));
    }
}
