//! Typical job files of fio: those that become loads, and those that are refused, with the option responsible.

use cli::fio::{Import, Level, Surroundings, read_file};
use cli::{Command, Environment, LineCommand, parse, read_job, write_job, write_profile};
use model::profile::ResultFormat;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

struct NoFiles;

impl Environment for NoFiles {
    fn milliseconds_since_boot(&self) -> u32 {
        0
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/fio");

/// Size of `/dev/nvme1n1`.
const DISK_BYTES: u64 = 100 << 30;

/// Each file, and the option for which it is refused; empty if it is a load.
const FILES: [(&str, &str); 36] = [
    ("backup-window", ""),
    ("block-range", ""),
    ("cloud-disk-colons", ""),
    ("cloud-disk-latency", ""),
    ("cloud-disk-mixed", ""),
    ("cloud-volume-iops", ""),
    ("cloud-volume-throughput", ""),
    ("etcd-log", ""),
    ("hook-before", "exec_prerun=sync"),
    ("hot-set-pareto", ""),
    ("hot-set-zones", ""),
    ("hypervisor-disk", ""),
    ("k8s-noisy-neighbours", ""),
    ("k8s-volume-claim", ""),
    ("latency-target", "latency_target=2ms"),
    ("mixed-sizes", ""),
    ("nfs-homes", ""),
    ("object-store-drive", ""),
    ("odd-spelling", ""),
    ("oracle-oltp", "filename"),
    ("osd-journal", ""),
    ("paced-requests", ""),
    ("postgres-wal", ""),
    ("raw-zones", "zonemode=zbd"),
    ("regions-in-percent", ""),
    ("remote-image", "ioengine=rbd"),
    ("replicated-volume", ""),
    ("sequential-mix", "rw=readwrite"),
    ("snia-precondition", ""),
    ("staggered-start", "startdelay"),
    ("trim-ssd", ""),
    ("trim-then-write", "rw=trimwrite"),
    ("vdi-boot-storm", ""),
    ("vdi-steady", ""),
    ("verify-after-write", ""),
    ("with-includes", ""),
];

/// Options that define a load: they are translated exactly, or refused.
const EXACT: [&str; 16] = [
    "rw",
    "readwrite",
    "bs",
    "blocksize",
    "bssplit",
    "rwmixread",
    "rwmixwrite",
    "iodepth",
    "numjobs",
    "direct",
    "fdatasync",
    "rate",
    "rate_iops",
    "size",
    "runtime",
    "random_distribution",
];

fn import_of(name: &str) -> Import {
    let path = format!("{FOLDER}/{name}.fio");
    let text = std::fs::read_to_string(&path).expect(&path);
    let surroundings = Surroundings {
        variable: &|name| Err(format!("no variable {name}")),
        include: &|part| std::fs::read_to_string(format!("{FOLDER}/{part}")).map_err(|error| error.to_string()),
        bytes_of: &|path| (path == "/dev/nvme1n1").then_some(DISK_BYTES),
        cpus: 4,
    };
    read_file(&text, name, &[], &surroundings).unwrap_or_else(|reason| panic!("{name}: {reason}"))
}

#[test]
fn a_job_is_a_load_or_refused_by_the_name_of_an_option() {
    for (name, refused) in FILES {
        let import = import_of(name);
        let mut of_refusals = import.rows.iter().filter(|row| row.level == Level::Refused).map(|row| &row.option);
        let shown = || format!("{name}: {:#?}", import.rows);
        assert_eq!(import.is_refused(), !refused.is_empty(), "{}", shown());
        assert!(refused.is_empty() || of_refusals.any(|option| option == refused), "{}", shown());
        for row in import.rows.iter().filter(|row| matches!(row.level, Level::Approximate | Level::WithoutEffect)) {
            let option = row.option.split('=').next().unwrap_or_default();
            assert!(!EXACT.contains(&option), "{}", shown());
        }
    }
    let loads = FILES.iter().filter(|(_, refused)| refused.is_empty()).count();
    assert!(loads * 100 >= FILES.len() * 70, "{loads} of {}", FILES.len());
}

/// The printed command and the written file are the load that `run` would run.
#[test]
fn an_imported_job_is_read_again_in_both_forms() {
    for (name, _) in FILES.iter().filter(|(_, refused)| refused.is_empty()) {
        let import = import_of(name);
        let job = import.job(&NoFiles).unwrap_or_else(|reason| panic!("{name}: {reason}"));
        let text = write_job(&job.profile, &import.requirements);
        let again = read_job(text.as_bytes(), "job.toml").unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let xml = |profile| write_profile(profile, ResultFormat::Xml);
        assert_eq!(xml(&again.profile), xml(&job.profile), "{name}");
        assert_eq!(again.requirements, job.requirements, "{name}");
        let mut spans = Vec::new();
        for (words, command) in import.spans.iter().zip(import.commands()) {
            let requirements = import.requirements.iter().flat_map(|text| ["--require", text]);
            let args: Vec<OsString> =
                requirements.chain(words.iter().map(String::as_str)).map(OsString::from).collect();
            match parse(&args, &NoFiles) {
                Ok(Command::Line(LineCommand::Run(request))) => spans.extend(request.profile.time_spans),
                other => panic!("{command}: {other:?}"),
            }
        }
        assert_eq!(spans, job.profile.time_spans, "{name}");
    }
}

#[test]
fn each_file_has_an_expectation() {
    let files = std::fs::read_dir(FOLDER).expect("the folder").map(|entry| entry.expect("an entry").path());
    let names = files
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
    let names: BTreeSet<String> = names.flatten().collect();
    assert_eq!(names, FILES.iter().map(|(name, _)| (*name).to_owned()).collect());
}
