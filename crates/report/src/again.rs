//! Command lines that follow from what was typed: the same again, longer, several times, in pairs.

use super::foreign_text::text;
use model::headline::Headline;
use model::printable::{command_line, words_of};
use model::result::RunResult;
use model::sweep::Sweep;

/// Options that only set the destination of results and live figures.
const OUTPUTS: [&str; 10] = [
    "--json",
    "--xml",
    "--text",
    "--csv",
    "--fio-json",
    "--trace",
    "--label",
    "--live-json",
    "--metrics",
    "--live-interval",
];

/// The output options without a value.
const OUTPUT_FLAGS: [&str; 4] = ["--replace-output", "--live", "--brief", "-Rxml"];

/// Shortest run length that is not reported as short.
const LONG: &str = "-d60";

/// The command line as typed, without its output options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedCommand {
    /// `repeat`, `preset run NAME`; empty for a plain load.
    command: Vec<String>,
    /// The options of a method.
    own: Vec<String>,
    /// Options and targets of the load.
    load: Vec<String>,
}

impl TypedCommand {
    /// `None` if the command line is not known, or another program was run.
    pub(crate) fn from_result(result: &RunResult) -> Option<Self> {
        if !result.tool.is_ours() {
            return None;
        }
        let words = words_of(&result.command_line)?;
        let (_, words) = words.split_first()?;
        let is_option = |at: usize| words.get(at).is_some_and(|word| word.starts_with('-'));
        let command = match words {
            [preset, run, _, ..] if preset == "preset" && run == "run" && !is_option(2) => 3,
            _ if is_option(0) => 0,
            _ => return None,
        };
        let (command, rest) = words.split_at(command);
        let mut load = Vec::new();
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            if OUTPUTS.contains(&word.as_str()) {
                rest.next();
            } else if !OUTPUT_FLAGS.contains(&word.as_str())
                && !word.split_once('=').is_some_and(|(option, _)| OUTPUTS.contains(&option))
            {
                load.push(word.clone());
            }
        }
        Some(Self { command: command.to_vec(), own: Vec::new(), load })
    }

    /// A method with its load.
    pub(crate) fn of_method(subcommand: &str, sweep: &Sweep) -> Self {
        let own: Vec<String> = sweep.own_words().map(str::to_owned).collect();
        let load = sweep.words.iter().skip(own.len() + 1).cloned().collect();
        Self { command: vec![subcommand.to_owned()], own, load }
    }

    /// The load of a method alone.
    pub(crate) fn of_load(sweep: &Sweep) -> Self {
        Self { command: Vec::new(), own: Vec::new(), ..Self::of_method("", sweep) }
    }

    /// The command line to type.
    pub(crate) fn command(&self) -> String {
        let is_method = !self.command.is_empty() && self.command[0] != "preset";
        let end = is_method.then(|| "--".to_owned());
        let words = self.command.iter().chain(&self.own).chain(&end).chain(&self.load);
        let words: Vec<String> = words.map(|word| text(word)).collect();
        command_line(std::iter::once("diskspd").chain(words.iter().map(String::as_str)))
    }

    /// With another value of one of the method's options, whose name ends with `=`.
    #[must_use]
    pub(crate) fn with_own(mut self, name: &str, value: &str) -> Self {
        let word = format!("{name}{value}");
        match self.own.iter_mut().find(|word| word.starts_with(name)) {
            Some(own) => *own = word,
            None => self.own.push(word),
        }
        self
    }

    /// With these options of the load, each replacing the one of the same name; `None` for a load with a profile or a
    /// fixed number of I/Os.
    pub(crate) fn with(mut self, options: &[&str]) -> Option<Self> {
        let is_fixed = |word: &String| word.starts_with("-X") || word.starts_with("--max-ios");
        if self.load.is_empty() || self.load.iter().any(is_fixed) {
            return None;
        }
        let mut new = Vec::new();
        for option in options {
            match self.load.iter_mut().find(|word| name_of(word) == name_of(option)) {
                Some(word) => (*option).clone_into(word),
                None => new.push((*option).to_owned()),
            }
        }
        self.load.splice(0..0, new);
        Some(self)
    }

    /// With runs of a minute if these were short and the load can be longer; true in the second field if it was made
    /// longer.
    pub(crate) fn of_a_minute<'a>(self, runs: impl IntoIterator<Item = &'a Headline>) -> (Self, bool) {
        let is_short = runs.into_iter().any(|run| run.finding_names().any(|name| name == "short-run"));
        let longer = if is_short { self.clone().with(&[LONG]) } else { None };
        longer.map_or((self, false), |longer| (longer, true))
    }

    /// True if the load can have runs of a minute.
    pub(crate) fn can_be_longer(&self) -> bool {
        self.clone().with(&[LONG]).is_some()
    }

    /// With runs of a minute, if the load can have them.
    pub(crate) fn longer(self) -> Self {
        self.clone().with(&[LONG]).unwrap_or(self)
    }

    /// `repeat` of a load with these options; `None` for a preset, which is not repeated.
    pub(crate) fn repeated(self, own: &[&str]) -> Option<Self> {
        let own = own.iter().map(|&word| word.to_owned()).collect();
        self.command.is_empty().then(|| Self { command: vec!["repeat".to_owned()], own, ..self })
    }

    /// Both loads in pairs, each run a minute long if possible; `None` if they differ in more than options of one
    /// argument each.
    pub(crate) fn in_pairs(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.only(other), other.only(self));
        let is_other = |word: &String| !word.starts_with('-');
        if !self.command.is_empty() || a.iter().chain(&b).any(is_other) || (a.is_empty() && b.is_empty()) {
            return None;
        }
        let side =
            |name: &str, words: &[String]| format!("--{name}={}", command_line(words.iter().map(String::as_str)));
        let own = vec![side("a", &a), side("b", &b)];
        let load = self.load.iter().filter(|word| other.load.contains(word)).cloned().collect();
        Some(Self { command: vec!["ab".to_owned()], own, load }.longer())
    }

    /// True if both are one load.
    pub(crate) fn is_same_load(&self, other: &Self) -> bool {
        self.command == other.command && self.only(other).is_empty() && other.only(self).is_empty()
    }

    /// The arguments of this load that the other one lacks, without the random seed (-z), which differs between runs of
    /// the same load.
    fn only(&self, other: &Self) -> Vec<String> {
        let is_own = |word: &&String| !other.load.contains(word) && !word.starts_with("-z");
        self.load.iter().filter(is_own).cloned().collect()
    }

    /// The options and targets of the load.
    pub(crate) fn load(&self) -> &[String] {
        &self.load
    }

    /// True if no option of the load has this prefix.
    pub(crate) fn lacks(&self, option: &str) -> bool {
        !self.load.iter().any(|word| word.starts_with(option))
    }
}

/// `-d` of `-d60`, `--rate=` of `--rate=5000`: two arguments with the same name set the same option.
fn name_of(word: &str) -> &str {
    let end = match word.strip_prefix("--") {
        Some(_) => word.find('=').map(|at| at + 1),
        None => word.find(|value: char| value.is_ascii_digit()),
    };
    &word[..end.unwrap_or(word.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::result::Tool;

    fn again(command_line: &str) -> Option<TypedCommand> {
        TypedCommand::from_result(&RunResult { command_line: command_line.to_owned(), ..RunResult::default() })
    }

    fn typed(again: Option<TypedCommand>) -> Option<String> {
        again.map(|again| again.command())
    }

    #[test]
    fn a_run_is_typed_again_without_its_outputs() {
        let outputs = "--label='a b' --csv=x --fio-json=f.json --brief -Rxml";
        let load = again(&format!("/usr/bin/diskspd -b4K -d10 --json r.json -L {outputs} 'a b.dat'")).expect("a load");
        assert_eq!(load.command(), "diskspd -b4K -d10 -L 'a b.dat'");
        let with = |again: &TypedCommand, options: &[&str]| typed(again.clone().with(options));
        assert_eq!(with(&load, &["-d60"]).as_deref(), Some("diskspd -b4K -d60 -L 'a b.dat'"));
        let probe = with(&load, &["-d60", "--probe-host-cache"]);
        assert_eq!(probe.as_deref(), Some("diskspd --probe-host-cache -b4K -d60 -L 'a b.dat'"));
        let repeated = typed(load.clone().repeated(&["--runs=6"]));
        assert_eq!(repeated.as_deref(), Some("diskspd repeat --runs=6 -- -b4K -d10 -L 'a b.dat'"));
        let preset = again("diskspd preset run sql-log -c1G --json=r.json l.dat").expect("a preset");
        assert_eq!(with(&preset, &["-d60"]).as_deref(), Some("diskspd preset run sql-log -d60 -c1G l.dat"));
        assert_eq!(preset.repeated(&[]), None);
        for fixed in ["diskspd -Xa.xml", "diskspd -b4K --max-ios=9 a"] {
            assert_eq!(again(fixed).and_then(|load| load.with(&["-d60"])), None, "{fixed}");
        }
        for other in ["diskspd run a.toml", "diskspd", "", "diskspd -b4K 'a", "diskspd preset run -d1 sql"] {
            assert!(again(other).is_none(), "{other}");
        }
        let tool = Tool { implementation: None, ..Tool::default() };
        let command_line = "diskspd.exe -b4K a".to_owned();
        let imported = RunResult { tool, command_line, ..RunResult::default() };
        assert!(TypedCommand::from_result(&imported).is_none());
    }

    #[test]
    fn a_method_is_typed_again_with_other_options() {
        let words = ["--runs=5", "--rest=1s", "--", "-b4K", "-d5", "a b.dat"].map(str::to_owned);
        let again = TypedCommand::of_method("repeat", &Sweep { words: words.to_vec(), ..Sweep::default() });
        assert_eq!(again.command(), "diskspd repeat --runs=5 --rest=1s -- -b4K -d5 'a b.dat'");
        let short = Headline { notes: vec!["short-run".to_owned()], ..Headline::default() };
        let (longer, is_longer) =
            again.clone().with_own("--runs=", "10").with_own("--seed=", "1").of_a_minute(&[short]);
        let expected = "diskspd repeat --runs=10 --rest=1s --seed=1 -- -b4K -d60 'a b.dat'";
        assert_eq!((longer.command().as_str(), is_longer), (expected, true));
        assert!(!again.of_a_minute(&[Headline::default()]).1, "they were long enough");
    }

    #[test]
    fn two_loads_are_compared_in_pairs() {
        let pairs = |a: &str, b: &str| {
            let load = |words: &str| again(&format!("./diskspd {words}")).expect("a load");
            typed(load(a).in_pairs(&load(b)))
        };
        assert_eq!(
            pairs("-b4K -o8 -d15 --json a.json a.dat", "-b4K -o32 -t2 -d15 --json b.json a.dat").as_deref(),
            Some("diskspd ab --a=-o8 '--b=-o32 -t2' -- -b4K -d60 a.dat")
        );
        assert_eq!((pairs("-b4K a.dat", "-b4K b.dat"), pairs("-b4K a.dat", "-b4K a.dat")), (None, None));
        // Runs of one load have seeds of their own.
        assert_eq!(pairs("-b4K a.dat", "-b4K -z1 a.dat"), None);
        let depths = pairs("-b4K -o8 a.dat", "-b4K -o32 -z1 a.dat");
        assert_eq!(depths.as_deref(), Some("diskspd ab --a=-o8 --b=-o32 -- -d60 -b4K a.dat"));
    }
}
