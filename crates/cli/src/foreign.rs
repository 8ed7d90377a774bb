//! Options of other tools (fio, vdbench, elbencho), and our equivalents: for errors and for help.

pub(crate) mod fio;

use crate::options::Repeat;
use crate::request::{Environment, NoFiles, ParseFailure};
use crate::{argv, decimal, words};
use fio::OPTIONS;
use model::shell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// A storage tool whose options are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Fio,
    Vdbench,
    Elbencho,
}

impl Tool {
    pub(crate) const ALL: [Self; 3] = [Self::Fio, Self::Vdbench, Self::Elbencho];

    /// Its name as typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fio => "fio",
            Self::Vdbench => "vdbench",
            Self::Elbencho => "elbencho",
        }
    }
}

/// An option of another tool.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub(crate) tool: Tool,
    pub(crate) name: &'static str,
    /// Our equivalent argument, as an example; empty if none is needed.
    pub(crate) example: &'static str,
    says: ValueTranslation,
}

/// The translation of a value.
#[derive(Clone, Copy)]
pub(crate) enum ValueTranslation {
    /// None: it is always so, or has no meaning here.
    Nothing,
    /// Our option, followed by the value.
    Number(&'static str),
    /// The same with a size or a time in our format.
    Size(&'static str),
    Seconds(&'static str),
    /// The same with 100 minus the value.
    Rest(&'static str),
    /// This argument, unless the value is 0.
    Fixed(&'static str),
    /// Our name for one of theirs.
    Engine,
    /// A distribution with hot positions.
    Skew,
    /// Bytes per second per thread.
    BytesPerSecond,
    /// I/Os per second per thread.
    IosPerSecond,
    /// Kinds of I/Os: `randread`.
    Pattern,
    /// The share of random I/Os, in percent or as a word.
    Seek,
    /// A target.
    Target,
}

const fn vdbench(name: &'static str, example: &'static str, says: ValueTranslation) -> Word {
    Word { tool: Tool::Vdbench, name, example, says }
}

const fn elbencho(name: &'static str, example: &'static str, says: ValueTranslation) -> Word {
    Word { tool: Tool::Elbencho, name, example, says }
}

/// A command line of another tool.
pub(crate) struct ForeignCommand {
    /// The argument that identifies the tool.
    pub(crate) argument: String,
    pub(crate) tool: Tool,
    /// Our closest command, if there is any.
    pub(crate) command: Option<String>,
}

impl From<ForeignCommand> for ParseFailure {
    fn from(found: ForeignCommand) -> Self {
        let ForeignCommand { argument, tool, command } = found;
        let name = tool.name();
        let what = if argument == name { "another program".to_owned() } else { format!("an option of {name}") };
        Self::because(match command {
            Some(command) => format!("'{argument}' is {what}; the nearest command here: {command}"),
            None => format!("'{argument}' is {what}; --help WORD finds the option for a word of {name}"),
        })
    }
}

/// All words, the more common tool first.
pub(crate) fn words_of_tools() -> impl Iterator<Item = Word> {
    let of_fio = OPTIONS.iter().filter_map(|option| Some((option, option.nearest?)));
    let of_fio = of_fio.flat_map(|(option, (example, says))| {
        option.names.iter().map(move |name| Word { tool: Tool::Fio, name, example, says })
    });
    of_fio.chain(WORDS.iter().copied())
}

/// Words of the other tools.
const WORDS: &[Word] = &[
    vdbench("sd", "", ValueTranslation::Nothing),
    vdbench("wd", "", ValueTranslation::Nothing),
    vdbench("rd", "", ValueTranslation::Nothing),
    vdbench("fsd", "", ValueTranslation::Nothing),
    vdbench("fwd", "", ValueTranslation::Nothing),
    vdbench("lun", "", ValueTranslation::Target),
    vdbench("xfersize", "-b4K", ValueTranslation::Size("-b")),
    vdbench("rdpct", "-w30", ValueTranslation::Rest("-w")),
    vdbench("seekpct", "-rs80", ValueTranslation::Seek),
    vdbench("threads", "-o32", ValueTranslation::Number("-o")),
    vdbench("iorate", "--rate=5000", ValueTranslation::Number("--rate=")),
    vdbench("elapsed", "-d60", ValueTranslation::Seconds("-d")),
    vdbench("warmup", "-W10", ValueTranslation::Seconds("-W")),
    vdbench("openflags", "-Su", ValueTranslation::Fixed("-Su")),
    elbencho("threads", "-t4", ValueTranslation::Number("-t")),
    elbencho("block", "-b4K", ValueTranslation::Size("-b")),
    elbencho("size", "-c1G", ValueTranslation::Size("-c")),
    elbencho("iodepth", "-o32", ValueTranslation::Number("-o")),
    elbencho("direct", "-Su", ValueTranslation::Fixed("-Su")),
    elbencho("rand", "-r", ValueTranslation::Fixed("-r")),
    elbencho("timelimit", "-d60", ValueTranslation::Seconds("-d")),
    elbencho("rwmixpct", "-w30", ValueTranslation::Rest("-w")),
    elbencho("hosts", "--on=host1,host2", ValueTranslation::Nothing),
    elbencho("write", "-w100", ValueTranslation::Fixed("-w100")),
    elbencho("lat", "-L", ValueTranslation::Fixed("-L")),
];

/// Defaults of a tool in the absence of these words, where ours differ.
const DEFAULTS: &[(Tool, &[&str], &str)] = &[
    (Tool::Fio, &["bs", "blocksize", "bssplit"], "-b4K"),
    (Tool::Fio, &["iodepth"], "-o1"),
    (Tool::Vdbench, &["xfersize"], "-b4K"),
    (Tool::Vdbench, &["threads"], "-o8"),
    (Tool::Vdbench, &["seekpct"], "-r"),
    (Tool::Elbencho, &["block"], "-b1M"),
    (Tool::Elbencho, &["iodepth"], "-o1"),
];

fn find(tool: Tool, name: &str) -> Option<Word> {
    words_of_tools().find(|word| word.tool == tool && word.name == name)
}

/// Options of another tool with their values.
pub type Settings = Vec<(String, String)>;

/// Our closest command; options without a counterpart are left out.
pub fn command(tool: Tool, settings: &[(String, String)]) -> String {
    nearest(tool, settings, &[], &[])
}

/// The same with options of ours, each with its value, and with targets, unless a setting names others. Options that
/// the parser would refuse are left out.
fn nearest(tool: Tool, settings: &[(String, String)], options: &[Vec<String>], targets: &[String]) -> String {
    let last: BTreeMap<&str, &str> = settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut targets = targets.to_vec();
    let mut wanted = options.to_vec();
    let mut seen: Vec<&str> = Vec::new();
    for (name, _) in settings {
        let Some(word) = find(tool, name).filter(|word| !seen.contains(&word.name)) else { continue };
        seen.push(word.name);
        let value = last.get(word.name).copied().unwrap_or_default();
        match word.says {
            ValueTranslation::Target if !value.is_empty() => targets = value.split(':').map(str::to_owned).collect(),
            ValueTranslation::Pattern => {
                wanted.extend(pattern(value, last.keys().any(|name| name.starts_with("rwmix"))));
            }
            _ => wanted.extend(word.argument(value).map(|argument| vec![argument])),
        }
    }
    // With options of ours, the defaults are ours, and loads of files have others.
    let is_ours = options.iter().any(|option| words::row_of(&option[0]).is_some());
    if !is_ours && !last.contains_key("fsd") && !last.contains_key("fwd") {
        let silent =
            DEFAULTS.iter().filter(|(of, names, _)| *of == tool && !names.iter().any(|name| seen.contains(name)));
        wanted.extend(silent.map(|(_, _, argument)| vec![(*argument).to_owned()]));
    }
    if !is_accepted(&[], &targets) {
        targets = vec!["test.dat".to_owned()];
    }
    let mut kept: Vec<String> = Vec::new();
    let mut given: Vec<&str> = Vec::new();
    for option in wanted {
        let Some(row) = words::row_of(&option[0]) else { continue };
        let is_again = row.repeat != Repeat::Accumulates && given.contains(&row.name);
        let more = [kept.as_slice(), option.as_slice()].concat();
        if !is_again && is_accepted(&more, &targets) {
            given.push(row.name);
            kept = more;
        }
    }
    let words = std::iter::once("diskspd".to_owned()).chain(kept).chain(targets);
    words.map(|word| shell::quoted(&word).to_string()).collect::<Vec<_>>().join(" ")
}

/// True if the parser accepts these as a load.
fn is_accepted(options: &[String], targets: &[String]) -> bool {
    let words: Vec<OsString> = options.iter().chain(targets).map(OsString::from).collect();
    argv::is_load(&words, &NoFiles)
}

/// `randrw` of fio; another option may set the share of writes.
fn pattern(value: &str, has_share: bool) -> Vec<Vec<String>> {
    let kind = value.split(':').next().unwrap_or_default();
    let order = kind.starts_with("rand").then_some("-r");
    let share = match kind.trim_start_matches("rand") {
        "write" => Some("-w100"),
        "rw" | "readwrite" if !has_share => Some("-w50"),
        "trim" => Some("--discard=100"),
        _ => None,
    };
    order.into_iter().chain(share).map(|option| vec![option.to_owned()]).collect()
}

impl Word {
    /// Our argument for a value.
    fn argument(&self, value: &str) -> Option<String> {
        let is_off = ["", "0", "none", "off", "false"].contains(&value);
        match self.says {
            ValueTranslation::Nothing | ValueTranslation::Target | ValueTranslation::Pattern => None,
            ValueTranslation::Number(option) => {
                (!is_off && value.starts_with(|c: char| c.is_ascii_digit())).then(|| format!("{option}{value}"))
            }
            ValueTranslation::Size(option) => size(value).map(|size| format!("{option}{size}")),
            ValueTranslation::Seconds(option) => {
                decimal::whole_seconds(value).ok().map(|seconds| format!("{option}{seconds}"))
            }
            ValueTranslation::Rest(option) => {
                let share = value.parse::<u32>().ok().filter(|share| *share <= 100)?;
                Some(format!("{option}{}", 100 - share))
            }
            ValueTranslation::Fixed(argument) => (value.is_empty() || !is_off).then(|| argument.to_owned()),
            ValueTranslation::Seek => match value {
                "random" | "rand" | "100" => Some("-r".to_owned()),
                _ => (!is_off && value.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("-rs{value}")),
            },
            ValueTranslation::Engine => Some(match value {
                "libaio" | "posixaio" => "--engine=aio".to_owned(),
                "io_uring" | "io_uring_cmd" => "--engine=io_uring".to_owned(),
                "sync" | "psync" | "pvsync" | "pvsync2" => "--engine=sync".to_owned(),
                "mmap" => "--engine=mmap".to_owned(),
                _ => return None,
            }),
            ValueTranslation::Skew => {
                ["zipf:", "pareto:"].iter().any(|law| value.starts_with(law)).then(|| format!("--skew={value}"))
            }
            ValueTranslation::BytesPerSecond => size(value).map(|size| format!("-g{size}/s")),
            ValueTranslation::IosPerSecond => {
                (!is_off && value.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("-g{value}i"))
            }
        }
    }
}

/// A size in our format: `4k`, `1GiB`, `128kb`.
fn size(value: &str) -> Option<String> {
    let value = value.trim().to_ascii_uppercase();
    let (digits, unit) = value.split_at(value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len()));
    let letter = match unit {
        "" => "",
        "K" | "KB" | "KIB" => "K",
        "M" | "MB" | "MIB" => "M",
        "G" | "GB" | "GIB" => "G",
        "T" | "TB" | "TIB" => "T",
        _ => return None,
    };
    (!digits.is_empty()).then(|| format!("{digits}{letter}"))
}

/// A command line that may be one of another tool.
#[derive(Default)]
struct Line {
    settings: Settings,
    /// The arguments that define the settings, each with its name.
    typed: Vec<(String, String)>,
    /// Options of ours, each with its value.
    options: Vec<Vec<String>>,
    targets: Vec<String>,
}

impl Line {
    fn read(args: &[&str]) -> Self {
        let mut line = Self::default();
        let mut rest = args.iter().copied().peekable();
        while let Some(arg) = rest.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (arg, None),
            };
            let bare = name.trim_start_matches('-');
            let is_long = name.starts_with("--");
            let Some(word) = words_of_tools().find(|word| word.name == bare && (is_long || value.is_some())) else {
                if arg.starts_with('-') {
                    let value = rest.next_if(|_| words::has_value_behind(arg));
                    line.options.push(std::iter::once(arg).chain(value).map(str::to_owned).collect());
                } else {
                    line.targets.push(arg.to_owned());
                }
                continue;
            };
            line.typed.push((arg.to_owned(), bare.to_owned()));
            if !name.starts_with('-') && word.tool == Tool::Vdbench {
                line.settings.append(&mut parameters(std::iter::once(arg)));
                continue;
            }
            // Switches are followed by other options.
            let takes = value.is_none() && !matches!(word.says, ValueTranslation::Fixed(_));
            let behind = rest.next_if(|next| takes && !next.starts_with('-'));
            line.settings.push((bare.to_owned(), value.or(behind).unwrap_or_default().to_owned()));
        }
        line
    }
}

/// Translates a command line of another tool; `None` if it cannot be identified as one. It begins with the tool's name,
/// or contains words of it that are not ours. The name may be followed by a job file.
pub(crate) fn recognise(args: &[OsString], environment: &dyn Environment) -> Option<ForeignCommand> {
    let args: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    let first = *args.first()?;
    let is_name = |tool: &Tool| tool.name() == first && !environment.file_exists(Path::new(first));
    if let Some(tool) = Tool::ALL.into_iter().find(is_name) {
        let Line { settings, mut targets, .. } = Line::read(&args[1..]);
        // Those before the last may be values of short options.
        let target = targets.pop().filter(|_| tool == Tool::Elbencho);
        let is_any = settings.iter().any(|(name, _)| find(tool, name).is_some());
        let typed = || is_any.then(|| nearest(tool, &settings, &[], target.as_slice()));
        // `-f FILE` and `-fFILE` of vdbench.
        let files = args[1..].iter().map(|arg| Path::new(arg.strip_prefix("-f").unwrap_or(arg)));
        let job = files.filter_map(|path| environment.small_file(path)).find_map(|bytes| of_job_file(&bytes));
        let command = job.map(|(_, command)| command).or_else(typed);
        return Some(ForeignCommand { argument: first.to_owned(), tool, command });
    }
    let line = Line::read(&args);
    // Words of several tools are attributed to the tool that has more of the others.
    let known = |tool: Tool| line.settings.iter().filter(|(name, _)| find(tool, name).is_some()).count();
    let tool = Tool::ALL.into_iter().reduce(|best, next| if known(next) > known(best) { next } else { best })?;
    let is_ours = |arg: &str| arg.starts_with("--") && words::row_of(arg).is_some();
    let tells = |(arg, name): &&(String, String)| find(tool, name).is_some() && !is_ours(arg);
    let (argument, _) = line.typed.iter().find(tells)?;
    let command = nearest(tool, &line.settings, &line.options, &line.targets);
    Some(ForeignCommand { argument: argument.clone(), tool, command: Some(command) })
}

/// The parameters of vdbench in lines of `key=value,key=value`.
fn parameters<'a>(lines: impl Iterator<Item = &'a str>) -> Settings {
    let parts = lines.flat_map(|line| line.split([',', ' ']));
    parts
        .filter_map(|part| part.split_once('='))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// Identifies a job of another tool given as a job or profile: returns the tool and the closest command.
pub fn of_job_file(bytes: &[u8]) -> Option<(Tool, String)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';', '*']));
    if ["sd=", "wd=", "rd=", "fsd=", "fwd=", "hd=", "general="]
        .iter()
        .any(|key| lines().next().is_some_and(|line| line.starts_with(key)))
    {
        return Some((Tool::Vdbench, command(Tool::Vdbench, &parameters(lines()))));
    }
    let settings = settings_of_fio(text)?;
    Some((Tool::Fio, command(Tool::Fio, &settings)))
}

/// True if a text is a job file of fio.
pub(crate) fn is_job_of_fio(text: &str) -> bool {
    settings_of_fio(text).is_some()
}

/// The options of all jobs of a job file of fio, and those of the first.
fn settings_of_fio(text: &str) -> Option<Settings> {
    let mut settings = Settings::new();
    let (mut jobs, mut has_section) = (0, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';', '*'])) {
        if line.starts_with('[') {
            jobs += u32::from(line != "[global]");
            has_section = true;
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "1"));
        if jobs <= 1 {
            settings.push((key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    let is_fio =
        |key: &str| ["rw", "readwrite", "bs", "blocksize", "ioengine", "iodepth", "numjobs", "filename"].contains(&key);
    // In our job files, texts have quotation marks.
    let is_job = has_section && settings.iter().any(|(key, value)| is_fio(key) && !value.starts_with(['"', '\'']));
    is_job.then_some(settings)
}

#[cfg(test)]
mod tests;
