//! fio's options and their translation. Those that have a counterpart are translated by the module of their subject.

use super::ValueTranslation;

/// Kinds of options by their translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// It has a counterpart, determined by `translate`.
    Translated,
    /// The same option with the opposite value.
    Inverse(&'static str),
    /// The same option with 100 minus the value.
    Rest(&'static str),
    /// It does not change the load.
    WithoutEffect(&'static str),
    /// It is left out, with this difference.
    LeftOut(&'static str),
    /// A load without it would differ.
    Refused(&'static str),
}

use Class::{Inverse, LeftOut, Refused, Rest, Translated, WithoutEffect};

/// An option, the first name being the usual one.
pub(crate) struct FioOption {
    pub(crate) names: &'static [&'static str],
    pub(crate) class: Class,
    /// For errors and help: our equivalent argument, as an example, and the translation of a value.
    pub(crate) nearest: Option<(&'static str, ValueTranslation)>,
}

impl FioOption {
    const fn near(mut self, example: &'static str, says: ValueTranslation) -> Self {
        self.nearest = Some((example, says));
        self
    }
}

const fn row(names: &'static [&'static str], class: Class) -> FioOption {
    FioOption { names, class, nearest: None }
}

const LOGS: &str = "-D and --json have the course of a run";
const HOSTS: &str = "use --on=host1,host2";
const JSON: &str = "see --json and --live-json";
const FIGURES: &str = "the report has its own figures";
const COMMANDS: &str = "a job file must not run commands";
const TRACES: &str = "diskspd does not record or replay traces";
const ZONES: &str = "diskspd does not know zones";
const ONE_START: &str = "jobs of a timespan start and end together";
const OWN_METHOD: &str = "--verify has a method of its own";
const OWN_SEED: &str = "the seed is -z, and the same in each run";
const NO_PRIORITIES: &str = "I/O has no priority of its own here";
const STEADY: &str = "a run does not end by itself when steady; diskspd repeat --steady does";
const OTHER_ENGINE: &str = "an option of an engine that diskspd has not";
const PROCESS: &str = "diskspd runs as the user and in the group that started it";

/// Every option of fio 3.33, and common later ones.
pub(crate) const OPTIONS: &[FioOption] = &[
    // Amount and place of transfers.
    row(&["rw", "readwrite"], Translated).near("-r -w30", ValueTranslation::Pattern),
    row(&["rwmixread"], Translated).near("-w30", ValueTranslation::Rest("-w")),
    row(&["rwmixwrite"], Rest("rwmixread")).near("-w30", ValueTranslation::Number("-w")),
    row(&["bs", "blocksize"], Translated).near("-b4K", ValueTranslation::Size("-b")),
    row(&["bsrange", "blocksize_range"], Translated),
    row(&["bssplit"], Translated).near("--sizes=4K/60:64K/40", ValueTranslation::Nothing),
    row(&["ba", "blockalign"], Translated),
    row(&["size"], Translated).near("-c1G", ValueTranslation::Size("-c")),
    row(&["io_size", "io_limit"], Translated),
    row(&["filesize"], Translated).near("-c1G", ValueTranslation::Size("-c")),
    row(&["offset"], Translated),
    row(&["offset_increment"], Translated),
    row(&["number_ios"], Translated),
    row(&["loops"], Translated),
    row(&["percentage_random"], Translated).near("-rs80", ValueTranslation::Number("-rs")),
    row(&["random_distribution"], Translated).near("--skew=zipf:1.1", ValueTranslation::Skew),
    row(&["norandommap"], Translated).near("", ValueTranslation::Nothing),
    row(&["filename"], Translated).near("", ValueTranslation::Target),
    row(&["directory"], Translated),
    row(&["nrfiles", "nr_files"], Translated),
    row(&["file_append"], Refused("its start is the end of the file; see --append for logs")),
    row(&["bs_unaligned", "blocksize_unaligned"], Refused("I/O is aligned to sectors here")),
    row(&["offset_align"], Refused("offsets are given in bytes here")),
    row(&["rw_sequencer"], Refused("its order of offsets has no counterpart")),
    row(&["fill_device", "fill_fs"], Refused("diskspd does not fill a file system")),
    row(&["filename_format"], Translated),
    row(&["opendir"], Refused("name the files with filename=")),
    row(&["unique_filename"], WithoutEffect("it is about fio's clients")),
    row(&["openfiles"], WithoutEffect("all files are open")),
    row(&["file_service_type"], Translated),
    row(&["trim_percentage"], Refused("trims of --verify have no counterpart; see --discard")),
    row(&["trim_verify_zero", "trim_backlog", "trim_backlog_batch"], Refused("it needs trim_percentage")),
    // Method of transfer.
    row(&["ioengine"], Translated).near("--engine=io_uring", ValueTranslation::Engine),
    row(&["iodepth"], Translated).near("-o32", ValueTranslation::Number("-o")),
    row(&["iodepth_batch_complete_max"], Translated),
    row(&["direct"], Translated).near("-Su", ValueTranslation::Fixed("-Su")),
    row(&["buffered"], Inverse("direct")).near("-Sb", ValueTranslation::Nothing),
    row(&["sync"], Translated).near("-Sw", ValueTranslation::Fixed("-Sw")),
    row(&["fsync"], Translated).near("--fsync-every=1", ValueTranslation::Number("--fsync-every=")),
    row(&["fdatasync"], Translated).near("--fdatasync-every=1", ValueTranslation::Number("--fdatasync-every=")),
    row(&["numjobs"], Translated).near("-t4", ValueTranslation::Number("-t")),
    row(&["invalidate"], Translated).near("--cold", ValueTranslation::Nothing),
    row(&["hipri"], Translated),
    row(&["sqthread_poll"], Translated),
    row(&["fixedbufs"], Translated),
    row(&["mem", "iomem"], Translated),
    row(&["sync_file_range"], Refused("its flushes have no counterpart; see fdatasync=N")),
    row(&["write_barrier", "barrier"], Refused("fio ignores it, too")),
    row(&["atomic"], Refused("it is --atomic here: leave it out of the job and add the option")),
    row(&["end_fsync", "fsync_on_close"], LeftOut("nothing is flushed after the last I/O")),
    row(
        &["iodepth_batch", "iodepth_batch_submit"],
        LeftOut("I/O is submitted as the queue has room; -u<count> sets a batch"),
    ),
    row(&["iodepth_batch_complete_min", "iodepth_batch_complete"], LeftOut("each completion is taken at once")),
    row(&["iodepth_low"], LeftOut("the queue is refilled at once")),
    row(&["io_submit_mode"], LeftOut("I/O is submitted by the thread that completes it; --rate is an open loop")),
    row(&["serialize_overlap"], LeftOut("I/Os that overlap are not kept apart")),
    row(&["registerfiles", "userspace_reap", "thp"], WithoutEffect("a matter of fio's engine")),
    row(&["nonvectored"], WithoutEffect("the kernel sees the same request")),
    row(&["force_async", "nowait", "sqthread_poll_cpu"], LeftOut("I/O is submitted without this flag")),
    row(&["uncached"], Refused("it is --dontcache here: leave it out of the job and add the option")),
    row(&["cmd_type"], Refused("commands passed through (io_uring_cmd) have no counterpart")),
    row(&["fadvise_hint"], LeftOut("no hint is given; -fr and -fs give one")),
    row(&["write_hint"], LeftOut("no lifetime hint is given")),
    row(&["cmdprio_percentage", "cmdprio_class", "cmdprio", "cmdprio_bssplit", "cmdprio_hint"], LeftOut(NO_PRIORITIES)),
    row(&["prio", "prioclass", "priohint"], LeftOut(NO_PRIORITIES)),
    row(&["hugepage-size", "lockmem"], WithoutEffect("a matter of memory, not of the load")),
    row(&["read_beyond_wp", "zonesize", "zonecapacity", "zonerange", "zoneskip", "max_open_zones"], Refused(ZONES)),
    row(&["job_max_open_zones", "ignore_zone_limits", "zone_reset_threshold", "zone_reset_frequency"], Refused(ZONES)),
    row(&["zonemode"], Refused(ZONES)),
    // Timing.
    row(&["runtime", "timeout"], Translated).near("-d60", ValueTranslation::Seconds("-d")),
    row(&["time_based"], Translated).near("", ValueTranslation::Nothing),
    row(&["ramp_time"], Translated).near("-W10", ValueTranslation::Seconds("-W")),
    row(&["stonewall", "wait_for_previous"], Translated),
    row(&["rate"], Translated).near("-g100M/s", ValueTranslation::BytesPerSecond),
    row(&["rate_iops"], Translated).near("-g1000i", ValueTranslation::IosPerSecond),
    row(&["rate_process"], Translated),
    row(&["rate_min", "ratemin"], Translated),
    row(&["rate_iops_min"], Translated),
    row(&["rate_cycle", "ratecycle"], LeftOut("rates are held from one I/O to the next")),
    row(&["rate_ignore_thinktime"], LeftOut("a rate takes the place of pauses")),
    row(&["thinktime"], Translated).near("-i1", ValueTranslation::Nothing),
    row(&["thinktime_blocks"], Translated),
    row(&["thinktime_blocks_type"], WithoutEffect("pauses begin when the I/Os of a burst are complete")),
    row(&["thinktime_spin"], LeftOut("threads sleep in the pause")),
    row(&["thinktime_iotime"], Refused("pauses follow a number of I/Os here, not a time")),
    row(&["startdelay"], Translated),
    row(&["wait_for"], Translated),
    row(&["exitall", "exit_what"], LeftOut(ONE_START)),
    row(&["exitall_on_error"], WithoutEffect("an error ends the whole run")),
    row(&["flow", "flow_id", "flow_sleep", "flow_watermark"], Refused("jobs do not wait for each other here")),
    row(&["latency_target"], Translated),
    row(&["latency_percentile"], Translated),
    row(&["latency_window", "latency_run"], LeftOut("the search makes a run for each rate")),
    row(&["max_latency"], Translated),
    row(&["steadystate", "ss", "steadystate_duration", "ss_dur", "steadystate_ramp_time", "ss_ramp"], LeftOut(STEADY)),
    row(&["steadystate_check_interval", "ss_interval"], LeftOut(STEADY)),
    row(&["continue_on_error", "ignore_error"], LeftOut("an I/O error ends the run")),
    row(&["error_dump"], WithoutEffect("errors are always shown")),
    // Contents of writes.
    row(&["zero_buffers"], Translated),
    row(&["refill_buffers"], Translated).near("-Zr", ValueTranslation::Fixed("-Zr")),
    row(&["buffer_compress_percentage"], Translated).near("--compress=2", ValueTranslation::Nothing),
    row(&["dedupe_percentage"], Translated).near("--dedupe=30", ValueTranslation::Number("--dedupe=")),
    row(&["buffer_compress_chunk"], LeftOut("--compress works on each 4 KiB")),
    row(
        &["dedupe_mode", "dedupe_working_set_percentage", "dedupe_global"],
        LeftOut("--dedupe repeats one of 256 blocks"),
    ),
    row(&["scramble_buffers"], LeftOut("buffers are not changed between I/Os unless -Zr is given")),
    row(&["buffer_pattern"], LeftOut("a buffer of random data is written; -Z<size>,<file> writes that of a file")),
    row(&["verify"], Translated).near("--verify", ValueTranslation::Fixed("--verify")),
    row(&["do_verify", "verify_interval", "verify_offset", "verify_pattern", "verify_dump"], LeftOut(OWN_METHOD)),
    row(&["verify_async", "verify_backlog", "verify_backlog_batch", "experimental_verify"], LeftOut(OWN_METHOD)),
    row(&["verify_pattern_interval", "verify_write_sequence", "verify_header_seed"], LeftOut(OWN_METHOD)),
    row(&["verify_async_cpus"], LeftOut(OWN_METHOD)),
    row(&["verify_fatal"], LeftOut("--verify-stop=1 ends the run at the first")),
    row(&["verify_only"], Refused("diskspd verify reads back what a run with --journal wrote")),
    row(&["verify_state_load"], Refused("states of fio are not read; see --journal")),
    row(&["verify_state_save"], WithoutEffect("see --journal")),
    // Files.
    row(&["unlink", "unlink_each_loop"], LeftOut("files stay; --delete-after is typed with the run")),
    row(&["overwrite"], WithoutEffect("a file is written whole before the run")),
    row(&["fallocate", "create_serialize", "create_fsync"], WithoutEffect("a file is written whole before the run")),
    row(&["create_on_open"], LeftOut("a file is written whole before the run")),
    row(&["create_only"], Refused("diskspd does not stop after it has created the files")),
    row(&["allow_file_create", "allow_mounted_write"], WithoutEffect("the checks of diskspd apply")),
    row(&["pre_read"], LeftOut("files are not read before the run")),
    row(&["lockfile"], LeftOut("files are not locked between jobs")),
    // Threads.
    row(&["thread"], WithoutEffect("there are threads, no processes")).near("", ValueTranslation::Nothing),
    row(&["cpus_allowed"], Translated).near("-a0,1", ValueTranslation::Number("-a")),
    row(&["cpus_allowed_policy"], Translated),
    row(&["cpumask"], LeftOut("threads are not bound; start diskspd below taskset")),
    row(&["numa_cpu_nodes", "numa_mem_policy"], LeftOut("threads are not bound; start diskspd below numactl")),
    row(&["nice"], LeftOut("start diskspd below nice")),
    row(&["randseed"], Translated).near("-z1", ValueTranslation::Number("-z")),
    row(&["randrepeat", "allrandrepeat"], WithoutEffect(OWN_SEED)),
    row(&["random_generator"], WithoutEffect("diskspd has a generator of its own")),
    row(&["uid", "gid", "cgroup", "cgroup_nodelete", "cgroup_weight"], Refused(PROCESS)),
    // Not permitted.
    row(&["exec_prerun", "exec_postrun"], Refused(COMMANDS)),
    row(&["program", "arguments", "grace_time", "std_redirect"], Refused(COMMANDS)),
    row(&["trigger", "trigger-file", "trigger-remote", "trigger-timeout"], Refused(COMMANDS)),
    row(&["ioscheduler"], Refused("a job file must not change the scheduler of a device")),
    row(&["read_iolog", "write_iolog", "read_iolog_chunked", "replay_no_stall", "replay_redirect"], Refused(TRACES)),
    row(&["replay_scale", "replay_align", "replay_time_scale", "replay_skip"], Refused(TRACES)),
    row(&["merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters"], Refused(TRACES)),
    row(&["profile"], Refused("fio's profiles have no counterpart")),
    row(&["client"], Refused(HOSTS)).near("--on=host1,host2", ValueTranslation::Nothing),
    row(&["server", "remote-config", "daemonize"], Refused(HOSTS)),
    // Reports.
    row(&["name"], WithoutEffect("a name")).near("", ValueTranslation::Nothing),
    row(&["description"], WithoutEffect("a name")),
    row(&["group_reporting"], WithoutEffect("there are figures of each stream and of all"))
        .near("", ValueTranslation::Nothing),
    row(&["new_group", "stats"], WithoutEffect("there are figures of each stream and of all")),
    row(&["kb_base"], Translated),
    row(&["unit_base", "significant_figures", "unified_rw_reporting"], WithoutEffect(FIGURES)),
    row(&["clat_percentiles", "slat_percentiles"], WithoutEffect(FIGURES)),
    row(&["lat_percentiles", "percentile_list"], WithoutEffect(FIGURES)).near("-L", ValueTranslation::Fixed("-L")),
    row(&["disk_util", "block_error_percentiles"], WithoutEffect(FIGURES)),
    row(&["write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "per_job_logs"], WithoutEffect(LOGS)),
    row(&["log_avg_msec", "log_hist_msec", "log_hist_coarseness", "log_max_value", "log_offset"], WithoutEffect(LOGS)),
    row(&["log_prio", "log_compression", "log_compression_cpus", "log_store_compressed"], WithoutEffect(LOGS)),
    row(&["log_unix_epoch", "log_alternate_epoch", "log_alternate_epoch_clock_id", "log_entries"], WithoutEffect(LOGS)),
    row(&["log_window_value", "log_issue_time"], WithoutEffect(LOGS)),
    row(&["bwavgtime", "iopsavgtime", "bandwidth-log"], WithoutEffect(LOGS)),
    row(
        &["gtod_reduce", "disable_lat", "disable_clat", "disable_slat"],
        WithoutEffect("latencies are always measured"),
    ),
    row(
        &["disable_bw_measurement", "disable_bw", "gtod_cpu", "clocksource"],
        WithoutEffect("diskspd has a clock of its own"),
    ),
    row(&["output-format"], WithoutEffect(JSON))
        .near("--json=result.json", ValueTranslation::Fixed("--json=result.json")),
    row(&["output", "minimal", "append-terse", "status-interval"], WithoutEffect(JSON)),
    row(&["eta", "eta-newline", "eta-interval", "warnings-fatal", "max-jobs"], WithoutEffect(FIGURES)),
    row(&["alloc-size", "debug", "terse-version", "aux-path", "inflate-log"], WithoutEffect("a matter of fio itself")),
    row(&["idle-prof", "parse-only", "showcmd"], WithoutEffect("a matter of fio itself")),
    row(&["threads"], WithoutEffect("fio does not know it either")),
    // Engines that do not exist here.
    row(&["cpuload", "cpumode", "cpuchunks", "exit_on_io_done"], Refused(OTHER_ENGINE)),
    row(&["hostname", "port", "protocol", "listen", "verb", "pingpong", "ttl", "nodelay"], Refused(OTHER_ENGINE)),
    row(&["clientname", "pool", "rbdname", "conf", "busy_poll", "volume", "brick", "uri"], Refused(OTHER_ENGINE)),
    row(&["donorname", "inplace", "sg_write_mode", "readfua", "writefua", "skip_bad"], Refused(OTHER_ENGINE)),
];

/// The option with this name.
pub(crate) fn find(name: &str) -> Option<&'static FioOption> {
    OPTIONS.iter().find(|option| option.names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_for_one_option() {
        let mut names: Vec<&str> = OPTIONS.iter().flat_map(|option| option.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        for option in OPTIONS {
            if let Inverse(other) | Rest(other) = option.class {
                assert_eq!(find(other).map(|found| found.class), Some(Translated), "{other}");
            }
        }
    }
}
