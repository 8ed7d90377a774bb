//! Numbers of threads in a preset's options, which depend on the machine or on options of the user.

use super::{Load, Preset, Series};

/// Microsoft's guides advise against a higher degree of parallelism on most machines.
const MAX_DEGREE_MAX: u32 = 8;

/// The properties of the machine that determine numbers of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Logical processors that are online.
    pub cpus: u32,
    /// Processor sockets.
    pub sockets: u32,
    /// NUMA nodes.
    pub nodes: u32,
}

/// Numbers given by the user in place of those of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenCounts {
    /// `--maxdop`
    pub max_degree: Option<u32>,
    /// `--sockets`
    pub sockets: Option<u32>,
    /// `--numa`
    pub nodes: Option<u32>,
}

/// The number of each placeholder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts([(&'static str, u32); 4]);

const THREADS: &str = "threads";
const SOCKETS: &str = "sockets";
const NODES: &str = "numa";
const MAX_DEGREE: &str = "maxdop";

impl Counts {
    pub(crate) fn new(preset: &Preset, given: GivenCounts, machine: Machine) -> Self {
        // A preset that uses both has threads that the degree of parallelism does not limit.
        let of_threads = given.max_degree.filter(|_| !uses(preset, MAX_DEGREE));
        let threads = of_threads.unwrap_or_else(|| machine.cpus.min(preset.threads_max.unwrap_or(u32::MAX)));
        Self([
            (THREADS, threads),
            (SOCKETS, given.sockets.unwrap_or(machine.sockets)),
            (NODES, given.nodes.unwrap_or(machine.nodes)),
            (MAX_DEGREE, given.max_degree.unwrap_or_else(|| machine.cpus.min(MAX_DEGREE_MAX))),
        ])
    }

    /// Options as arguments, with numbers in place of `{sockets}` and `{numa<=4}`.
    pub(crate) fn typed(&self, options: &str) -> Vec<String> {
        let mut filled = String::new();
        let mut rest = options;
        while let Some((before, after)) = rest.split_once('{') {
            filled += before;
            let number = after.split_once('}').and_then(|(inside, behind)| Some((self.number(inside)?, behind)));
            if let Some((number, behind)) = number {
                filled += &number.to_string();
                rest = behind;
            } else {
                filled.push('{');
                rest = after;
            }
        }
        filled += rest;
        // A number that depends on the machine may be one; a single thread does not share its position.
        let is_alone = filled.split_whitespace().any(|word| word == "-t1");
        let word = |word: &str| if is_alone && word == "-si" { "-s".to_owned() } else { word.to_owned() };
        filled.split_whitespace().map(word).collect()
    }

    fn number(&self, inside: &str) -> Option<u32> {
        let (name, at_most) = match inside.split_once(AT_MOST) {
            Some((name, limit)) => (name, limit.parse().ok()?),
            None => (inside, u32::MAX),
        };
        let (_, number) = self.0.iter().find(|(known, _)| *known == name)?;
        Some((*number).min(at_most).max(1))
    }
}

/// Precedes the maximum of a placeholder.
const AT_MOST: &str = "<=";

/// True if a number of threads in the preset's options is this placeholder.
fn uses(preset: &Preset, name: &str) -> bool {
    let of_loads = preset.loads.iter().flat_map(Load::all_options);
    let all =
        of_loads.chain(preset.series.iter().flat_map(|Series { options, command, .. }| [&options[..], &command[..]]));
    let (whole, limited) = (format!("{{{name}}}"), format!("{{{name}{AT_MOST}"));
    all.chain([&preset.options[..]]).any(|options| options.contains(&whole) || options.contains(&limited))
}

/// Refuses numbers that would have no effect.
pub(crate) fn check(preset: &Preset, name: &str, given: GivenCounts) -> Result<(), String> {
    for (option, number, placeholders) in [
        ("--sockets", given.sockets, &[SOCKETS][..]),
        ("--numa", given.nodes, &[NODES]),
        ("--maxdop", given.max_degree, &[MAX_DEGREE, THREADS]),
    ] {
        if number.is_some() && !placeholders.iter().any(|placeholder| uses(preset, placeholder)) {
            let names: Vec<String> = placeholders.iter().map(|placeholder| format!("{{{placeholder}}}")).collect();
            return Err(format!(
                "{option} has no effect: no load of the preset '{name}' has {}; leave out {option}",
                names.join(" or ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { cpus: 64, sockets: 2, nodes: 6 };

    fn preset(options: &str) -> Preset {
        let load = format!("load = [{{ name = \"one\", options = \"{options}\" }}]");
        Preset::read(&format!("form = \"diskspd-preset/1\"\ntitle = \"t\"\nthreads_max = 48\n{load}")).unwrap()
    }

    #[test]
    fn numbers_follow_the_machine_or_the_user() {
        let options = "-t{threads} -o{sockets} -g{numa} -g{numa<=4} -F{maxdop} {target:1} {other}";
        let typed_with = |given| Counts::new(&preset(options), given, MACHINE).typed(options).join(" ");
        assert_eq!(typed_with(GivenCounts::default()), "-t48 -o2 -g6 -g4 -F8 {target:1} {other}");
        let given = GivenCounts { max_degree: Some(12), sockets: Some(3), nodes: Some(2) };
        assert_eq!(typed_with(given), "-t48 -o3 -g2 -g2 -F12 {target:1} {other}");
        assert_eq!(Counts::new(&preset(options), given, MACHINE).typed("-si -t{numa<=1}"), ["-s", "-t1"]);
        assert_eq!(Counts::new(&preset(options), given, MACHINE).typed("-si -t{numa}"), ["-si", "-t2"]);
        let alone = preset("-t{threads}");
        assert_eq!(Counts::new(&alone, given, MACHINE).typed("-t{threads}"), ["-t12"]);
    }

    #[test]
    fn numbers_without_effect_are_refused() {
        let degree = GivenCounts { max_degree: Some(1), ..GivenCounts::default() };
        let sockets = GivenCounts { sockets: Some(1), ..GivenCounts::default() };
        let nodes = GivenCounts { nodes: Some(1), ..GivenCounts::default() };
        for (options, given, refused) in [
            ("-t{threads}", degree, ""),
            ("-t{maxdop<=2}", degree, ""),
            ("-t4", degree, "--maxdop has no effect: no load of the preset 'p' has {maxdop} or {threads}"),
            ("-t{maxdop}", sockets, "--sockets has no effect: no load of the preset 'p' has {sockets}"),
            ("-t{sockets}", sockets, ""),
            ("-t{sockets}", nodes, "--numa has no effect: no load of the preset 'p' has {numa}"),
            ("-t{numa<=4}", nodes, ""),
        ] {
            let reason = check(&preset(options), "p", given).err().unwrap_or_default();
            assert!(reason.starts_with(refused) && reason.is_empty() == refused.is_empty(), "{options}: {reason}");
        }
    }
}
