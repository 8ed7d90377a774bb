//! Requests made by a command line.

use crate::fleet::FleetOption;
use crate::outputs::Outputs;
use model::expectation::StatedLimits;
use model::latency_band::BandKind;
use model::live::LiveOptions;
use model::preset::PresetRun;
use model::profile::{OfferedRate, Profile, ResultFormat, Target, TimeSpan};
use model::requirement::Requirement;
use settings::{LINUX_IN_TARGET, LINUX_IN_TIME_SPAN, TIME_SPAN, short_size};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Facts about the system that parsing depends on.
pub trait Environment {
    /// Milliseconds since boot, low 32 bits: the seed of a bare `-z`.
    fn milliseconds_since_boot(&self) -> u32;
    /// True if `path` exists.
    fn file_exists(&self, path: &Path) -> bool;
    /// Content of a small text file named by an option.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be read, for a message that names the file.
    fn text_file(&self, path: &Path) -> Result<String, String> {
        Err(format!("no file {} here", path.display()))
    }
    /// Content of a regular file of at most the size limit of a job file; `None` if there is none.
    fn small_file(&self, _path: &Path) -> Option<Vec<u8>> {
        None
    }
}

/// A system without files: for command lines that are only parsed.
pub(crate) struct NoFiles;

impl Environment for NoFiles {
    fn milliseconds_since_boot(&self) -> u32 {
        0
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

/// A system without files, seconds after boot.
#[cfg(test)]
pub(crate) struct FakeEnv;

#[cfg(test)]
impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        4711
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

/// `-Rp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShowRequest {
    /// The profile to show.
    pub profile: Profile,
    /// Its form, unless it is a job file.
    pub format: ResultFormat,
    /// `-Rptoml`: the requirements of the job, as typed.
    pub job: Option<Vec<String>>,
    /// Warnings for the user: sentences without a prefix.
    pub warnings: Vec<String>,
}

/// A profile to be run, and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRequest {
    /// The profile to run.
    pub profile: Profile,
    /// `-yr -yp -ys -yf`.
    pub events: Events,
    /// Our own options.
    pub options: RunOptions,
    /// Warnings for the user: sentences without a prefix.
    pub warnings: Vec<String>,
}

/// `-X` or `diskspd run`, with the options permitted with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    /// The profile to read.
    pub path: PathBuf,
    /// Settings of the command line that override the profile.
    pub overrides: Overrides,
    /// `-Rp`: show the profile instead of running it.
    pub show: bool,
    /// `-Rptoml`: show it as a job file.
    pub show_job: bool,
    /// True if it was given to `diskspd run`, not with `-X`.
    pub is_job: bool,
    /// Substitutes for `*1`, `*2` ...
    pub targets: Vec<PathBuf>,
    /// Our own options.
    pub options: RunOptions,
    /// Warnings for the user: sentences without a prefix.
    pub warnings: Vec<String>,
}

impl RunOptions {
    /// The bands by which each of this number of timespans passes or fails.
    pub fn judging_bands(&self, time_spans: usize) -> Vec<Option<BandKind>> {
        let of_preset = |index| self.preset.as_ref().filter(|preset| preset.is_judged)?.band(index);
        (0..time_spans).map(|index| self.criteria.bands.or_else(|| of_preset(index))).collect()
    }

    /// The requirements, as typed.
    pub(crate) fn requirements_typed(&self) -> Vec<String> {
        self.criteria.requirements.iter().map(|requirement| requirement.typed.clone()).collect()
    }
}

/// The purpose of a profile from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadedProfile {
    /// To be shown.
    Show(ShowRequest),
    /// To be run.
    Run(Box<RunRequest>),
}

/// Options that apply to typed profiles and to those from `-X`; `None` and `false` = not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `-R`
    pub result_format: Option<ResultFormat>,
    /// `-v`
    pub verbose: bool,
    /// `-vs`
    pub verbose_stats: bool,
    /// `-:`
    pub experiment_flags: Option<u32>,
    /// Values of options for every timespan.
    pub settings: TimeSpan,
    /// Values of options for every target.
    pub target_settings: Target,
    /// `--rate` in bytes per second, at the start and at the end of the measured time, in place of I/Os per second.
    pub rate_bytes_per_s: Option<[u64; 2]>,
    /// The elements of the given settings.
    pub given: BTreeSet<&'static str>,
}

impl Overrides {
    /// Enables latencies as `-L` does: for `--live`, `--live-json` and `--metrics`, which show them, and `--require`,
    /// which judges them.
    pub(crate) fn measure_latency(&mut self) {
        self.settings.measure_latency = true;
        self.given.insert("MeasureLatency");
    }

    /// Applies the given options to the profile and all its timespans and targets.
    pub fn apply(&self, profile: &mut Profile) {
        self.apply_to_run(profile);
        profile
            .time_spans
            .iter_mut()
            .flat_map(|span| &mut span.targets)
            .for_each(|target| self.apply_to_target(target));
    }

    /// The same without its targets.
    pub(crate) fn apply_to_run(&self, profile: &mut Profile) {
        profile.verbose |= self.verbose;
        profile.verbose_stats |= self.verbose_stats;
        if let Some(format) = self.result_format {
            profile.result_format = format;
        }
        if let Some(flags) = self.experiment_flags {
            profile.experiment_flags = flags;
        }
        for span in &mut profile.time_spans {
            let rows = TIME_SPAN.iter().chain(LINUX_IN_TIME_SPAN);
            for setting in rows.filter(|setting| self.given.contains(setting.element)) {
                setting.copy(&self.settings, span);
            }
        }
    }

    /// Sets the I/Os per second of a `--rate` in bytes, after all other options were applied; returns a warning if it
    /// was rounded by more than 0.1 %.
    ///
    /// # Errors
    ///
    /// The reason why bytes per second cannot be converted to I/Os per second in this profile.
    pub(crate) fn apply_rate(&self, profile: &mut Profile) -> Result<Option<String>, String> {
        let Some(rate) = self.rate_bytes_per_s else { return Ok(None) };
        let mut warning = None;
        for span in &mut profile.time_spans {
            let mut sizes: Vec<u64> = span.targets.iter().flat_map(Target::io_sizes).collect();
            sizes.sort_unstable();
            sizes.dedup();
            let [size] = sizes[..] else {
                return Err(
                    "--rate in bytes per second needs one size for all I/Os (-b); give I/Os per second".to_owned()
                );
            };
            let iops = |bytes_per_s: u64| {
                let iops = bytes_per_s.saturating_add(size / 2) / size.max(1);
                u32::try_from(iops).ok().filter(|iops| *iops > 0).ok_or_else(|| {
                    let size = short_size(size);
                    format!(
                        "--rate of {}/s is no rate with I/Os of {size} (expected: 1 to {} I/Os per second)",
                        short_size(bytes_per_s),
                        u32::MAX
                    )
                })
            };
            let [from_iops, to_iops] = [iops(rate[0])?, iops(rate[1])?];
            let is_off =
                |bytes_per_s: u64, iops: u32| (u64::from(iops) * size).abs_diff(bytes_per_s) > bytes_per_s / 1000;
            let used = if from_iops == to_iops {
                OfferedRate::Steady(from_iops)
            } else {
                OfferedRate::Ramp { from_iops, to_iops }
            };
            if is_off(rate[0], from_iops) || is_off(rate[1], to_iops) {
                warning = Some(format!("--rate is rounded to {used} I/Os per second of {}", short_size(size)));
            }
            span.rate_iops = Some(used);
        }
        Ok(warning)
    }

    /// Applies the values of options for every target.
    pub(crate) fn apply_to_target(&self, target: &mut Target) {
        let had_sizes = target.sizes_option().is_some();
        for setting in LINUX_IN_TARGET.iter().filter(|setting| self.given.contains(setting.element)) {
            setting.copy(&self.target_settings, target);
        }
        // A profile states the block size as the alignment if none was given.
        let is_stated = target.alignment == Some(target.block_size);
        if is_stated && !had_sizes && target.sizes_option().is_some() {
            target.alignment = None;
        }
    }
}

/// Names of the synchronisation events of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// `-yr`: waited for before the warm-up.
    pub wait_start: Option<String>,
    /// `-yp`: ends the run when set.
    pub stop: Option<String>,
    /// `-ys`: set when measuring starts.
    pub on_started: Option<String>,
    /// `-yf`: set when measuring ends.
    pub on_finished: Option<String>,
}

/// Our own options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// `--overwrite`: write to files that this tool did not create.
    pub overwrite: bool,
    /// `--replace-output`: results may replace files that are not results of their kind.
    pub replace_output: bool,
    /// `--recreate`: create target files again instead of reusing them.
    pub recreate: bool,
    /// `--delete-after`: delete the target files that this tool created once the run is over.
    pub delete_after: bool,
    /// `--destroy`: names of block devices that may be written to.
    pub destroy: Vec<String>,
    /// `--hold-latency`: keep CPUs out of idle states.
    pub hold_latency: bool,
    /// `--probe-host-cache`: probe for a cache below the targets first.
    pub probe_host_cache: bool,
    /// `--on --key --creds --tls-ca --no-tls --anonymous --inbox`: the hosts that run the load.
    pub fleet: Option<Box<FleetOption>>,
    /// `--journal --journal-here`: directory for the map of verified units.
    pub journal: Option<JournalOption>,
    /// `--expect --require`: criteria for the results.
    pub criteria: Box<Criteria>,
    /// `--strict`: invalid results are a failure.
    pub strict: bool,
    /// `--plan`: print the plan and stop.
    pub plan_only: bool,
    /// `--json --xml --text --csv`: results beside, or instead of, those of `-R`.
    pub outputs: Outputs,
    /// `--trace`: file for the I/Os of the run.
    pub trace: Option<PathBuf>,
    /// `--live --live-json --metrics --live-interval`
    pub live: Box<LiveOptions>,
    /// `--label`: name and value, in the order given, each name once.
    pub labels: Vec<(String, String)>,
    /// The file that the profile was read from.
    pub source: Option<PathBuf>,
    /// The preset that the profile was made from, if any.
    pub preset: Option<Box<PresetRun>>,
    /// The shorter report on stdout instead of the whole one, unless a document was requested there.
    pub short_report: Option<ShortReport>,
}

/// A shorter report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortReport {
    /// `--brief`: figures, findings and the closing line.
    Brief,
    /// The table of a preset's loads.
    Loads,
}

/// `--journal`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalOption {
    /// The directory; `None` = only `--journal-here` was given.
    pub dir: Option<PathBuf>,
    /// `--journal-here`: it may be on the storage of the targets.
    pub may_be_here: bool,
}

/// Criteria for the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criteria {
    /// `--expect`: the rated limits of the storage.
    pub stated: Option<StatedLimits>,
    /// `--require`: requirements on every timespan.
    pub requirements: Vec<Requirement>,
    /// `--bands`: the bands by which every timespan is judged.
    pub bands: Option<BandKind>,
}

/// A command line that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFailure {
    /// For stderr, each beginning with `ERROR: ` or `WARNING: `; some have several lines.
    pub messages: Vec<String>,
    /// Always 3.
    pub exit_status: u8,
}

impl ParseFailure {
    /// A failure with one reason.
    pub(crate) fn because(reason: impl AsRef<str>) -> Self {
        Self { messages: vec![format!("ERROR: {}", reason.as_ref())], exit_status: 3 }
    }
}
