//! fio's job files and command lines, as sections of settings.

use super::Surroundings;
use std::rc::Rc;

/// The largest job file, including its includes, in bytes.
pub const JOB_BYTES_MAX: usize = 1 << 20;
/// Maximum number of jobs.
const SECTIONS_MAX: usize = 1_024;
/// Maximum number of settings in all sections together, with those of `[global]` counted in each.
const SETTINGS_MAX: usize = 65_536;
/// Maximum size of these settings in bytes.
const SETTINGS_BYTES_MAX: usize = 16 << 20;
/// Maximum nesting depth of includes.
const DEPTH_MAX: usize = 8;

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// A job: the settings of `[global]` before it, then its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) settings: Vec<Rc<Setting>>,
}

/// Sections during parsing.
#[derive(Default)]
struct Reader {
    sections: Vec<Section>,
    global: Vec<Rc<Setting>>,
    /// False in `[global]` and before any section.
    is_in_job: bool,
    has_section: bool,
    bytes: usize,
    settings: usize,
    setting_bytes: usize,
    /// Bytes of the settings in `global`.
    global_bytes: usize,
}

/// The jobs of a job file; `name` is for messages.
pub(super) fn read_file(text: &str, name: &str, surroundings: &Surroundings<'_>) -> Result<Vec<Section>, String> {
    let mut reader = Reader::default();
    reader.file(text, name, 0, surroundings)?;
    reader.finish()
}

/// The jobs of a command line: `--name=t --rw=randread ...`.
pub(super) fn read_words(words: &[String], surroundings: &Surroundings<'_>) -> Result<Vec<Section>, String> {
    let mut reader = Reader::default();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let Some(option) = word.strip_prefix("--") else {
            return Err(format!("'{word}' is no option of fio; write --OPTION=VALUE, or name a job file before --"));
        };
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, rest.next_if(|next| !next.starts_with("--")).cloned()),
        };
        let value = value.map(|value| surroundings.expanded(&value)).transpose()?;
        match (name, value) {
            ("name", Some(name)) => reader.section(&name)?,
            (name, value) => reader.setting(Setting { name: name.to_owned(), value })?,
        }
    }
    reader.finish()
}

impl Reader {
    fn file(&mut self, text: &str, name: &str, depth: usize, surroundings: &Surroundings<'_>) -> Result<(), String> {
        self.bytes += text.len();
        if self.bytes > JOB_BYTES_MAX {
            return Err(format!("{name}: the job is larger than {JOB_BYTES_MAX} bytes"));
        }
        for (index, line) in text.lines().enumerate() {
            let at = |reason: String| format!("{name}:{}: {reason}", index + 1);
            // fio ends a line at the first of either, regardless of its position.
            let line = line.split([';', '#']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let title = rest.strip_suffix(']').filter(|title| !title.is_empty());
                let title = title.ok_or_else(|| at(format!("'{line}' is no section; write [NAME]")))?;
                self.section(title).map_err(at)?;
            } else if let Some(path) = line.strip_prefix("include ") {
                if depth == DEPTH_MAX {
                    return Err(at(format!("files include each other more than {DEPTH_MAX} deep")));
                }
                let included = (surroundings.include)(path.trim()).map_err(&at)?;
                self.file(&included, path.trim(), depth + 1, surroundings)?;
            } else if !self.has_section {
                return Err(at(format!("'{line}' is before any section; write [global] before it")));
            } else {
                let (key, value) =
                    line.split_once('=').map_or((line, None), |(key, value)| (key, Some(value.trim().to_owned())));
                let value = value.map(|value| surroundings.expanded(&value)).transpose().map_err(&at)?;
                self.setting(Setting { name: key.trim().to_owned(), value }).map_err(at)?;
            }
        }
        Ok(())
    }

    fn section(&mut self, name: &str) -> Result<(), String> {
        self.is_in_job = name != "global";
        self.has_section = true;
        if self.is_in_job {
            if self.sections.len() == SECTIONS_MAX {
                return Err(format!("more than {SECTIONS_MAX} jobs"));
            }
            self.count(self.global.len(), self.global_bytes)?;
            self.sections.push(Section { name: name.to_owned(), settings: self.global.clone() });
        }
        Ok(())
    }

    fn setting(&mut self, setting: Setting) -> Result<(), String> {
        let bytes = setting.name.len() + setting.value.as_ref().map_or(0, String::len);
        self.count(1, bytes)?;
        let of_job = if self.is_in_job { self.sections.last_mut() } else { None };
        if of_job.is_none() {
            self.global_bytes += bytes;
        }
        of_job.map_or(&mut self.global, |section| &mut section.settings).push(Rc::new(setting));
        Ok(())
    }

    fn count(&mut self, more: usize, bytes: usize) -> Result<(), String> {
        self.settings += more;
        self.setting_bytes += bytes;
        if self.settings > SETTINGS_MAX {
            return Err(format!("more than {SETTINGS_MAX} settings"));
        }
        if self.setting_bytes > SETTINGS_BYTES_MAX {
            return Err(format!("the settings of all jobs are more than {SETTINGS_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    fn finish(self) -> Result<Vec<Section>, String> {
        if self.sections.is_empty() {
            return Err("there is no job: a job file needs a section [NAME], a command line --name=NAME".to_owned());
        }
        Ok(self.sections)
    }
}

impl Surroundings<'_> {
    /// A value with its variables: `${HOME}`, `$ncpus`.
    fn expanded(&self, value: &str) -> Result<String, String> {
        let mut expanded = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}').ok_or_else(|| format!("'{value}': '}}' is missing"))?;
            expanded.push_str(before);
            expanded.push_str(&(self.variable)(name)?);
            rest = behind;
        }
        expanded.push_str(rest);
        Ok(expanded.replace("$ncpus", &self.cpus.to_string()))
    }
}
