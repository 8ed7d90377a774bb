mod as_typed;

use super::LineCommand;
use crate::command::{Command, parse};
use crate::options;
use crate::request::{Environment, Events, Overrides, ParseFailure, RunOptions, RunRequest};
use model::affinity::AffinityEntry;
use model::profile::*;
use model::units::Bytes;
use model::validate::{Purpose, validate};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// A machine 4711 ms after boot, with these files.
#[derive(Default)]
struct Machine {
    files: BTreeSet<&'static str>,
}

impl Environment for Machine {
    fn milliseconds_since_boot(&self) -> u32 {
        4711
    }

    fn file_exists(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.files.contains(path))
    }
}

fn parse_line(line: &[&str]) -> Result<Command, ParseFailure> {
    let args: Vec<OsString> = line.iter().map(OsString::from).collect();
    parse(&args, &Machine::default())
}

/// Parses a line of arguments without blanks.
fn run(line: &str) -> RunRequest {
    let args: Vec<&str> = line.split_whitespace().collect();
    match parse_line(&args) {
        Ok(Command::Line(LineCommand::Run(request))) => request,
        other => panic!("{line}: {other:?}"),
    }
}

fn span(line: &str) -> TimeSpan {
    run(line).profile.time_spans.remove(0)
}

fn target(line: &str) -> Target {
    span(line).targets.remove(0)
}

fn failure(line: &str) -> String {
    let args: Vec<&str> = line.split_whitespace().collect();
    match parse_line(&args) {
        Err(failure) => {
            assert_eq!(failure.exit_status, 3);
            failure.messages.join("\n")
        }
        other => panic!("{line}: {other:?}"),
    }
}

/// Checks that each line fails, and that the message has the argument and these words.
fn assert_failures(cases: &[(&str, &str)]) {
    for (line, word) in cases {
        let message = failure(line);
        assert!(message.contains("ERROR: ") && message.contains(word), "{line}: {message:?} should say {word}");
    }
}

#[test]
fn no_option_gives_the_defaults() {
    let request = run("f");
    let expected = Profile {
        time_spans: vec![TimeSpan { targets: vec![Target::new("f")], ..TimeSpan::default() }],
        ..Profile::default()
    };
    assert_eq!(request.profile, expected);
    assert_eq!(request.events, Events::default());
    assert_eq!(request.options, RunOptions::default());
    assert_eq!(request.warnings, Vec::<String>::new());
}

#[test]
fn what_is_no_run() {
    assert_eq!(parse_line(&[]), Ok(Command::Line(LineCommand::UsageWithoutArguments)));
    assert_eq!(parse_line(&["-?"]), Ok(Command::Line(LineCommand::Usage)));
    assert_eq!(parse_line(&["/?"]), Ok(Command::Line(LineCommand::Usage)));
    assert_eq!(parse_line(&["-r", "-?", "-q", "f"]), Ok(Command::Line(LineCommand::Usage)));
    assert_eq!(parse_line(&["--version", "-q"]), Ok(Command::Line(LineCommand::Version)));
    assert_eq!(parse_line(&["-q", "--help"]), Ok(Command::Help(None)));
    for topic in [&["--help", "-rd"][..], &["--help=-rd"]] {
        assert_eq!(parse_line(topic), Ok(Command::Help(Some("-rd".to_owned()))));
    }
    assert_eq!(parse_line(&["-Rs"]), Ok(Command::Line(LineCommand::SystemInformation(ResultFormat::Text))));
    assert_eq!(parse_line(&["-Rstext"]), Ok(Command::Line(LineCommand::SystemInformation(ResultFormat::Text))));
    assert_eq!(parse_line(&["-Rsxml"]), Ok(Command::Line(LineCommand::SystemInformation(ResultFormat::Xml))));
    assert_eq!(
        parse_line(&["-yeA", "-yeB b"]),
        Ok(Command::Line(LineCommand::SignalEvents {
            names: vec!["A".to_owned(), "B b".to_owned()],
            warnings: vec![]
        }))
    );
}

#[test]
fn faults_before_a_question_mark_win_over_it() {
    assert_failures(&[("-t0 -?", "'-t0'"), ("-? -bx", "'-bx'"), ("-q -?", "invalid option: '-q'")]);
}

#[test]
fn the_first_pass_reports_before_the_second() {
    assert_failures(&[("-t0 -bx f", "'-bx'"), ("-q -W-1 f", "'-W-1'"), ("-t0 f -bx", "(-bx) must come before")]);
}

#[test]
fn published_command_lines_are_accepted_unchanged() {
    for line in [
        "-c1000G -d10 -r -w0 -t8 -o8 -b8K -h -L file",
        "-c1000G -d10 -w0 -t2 -o8 -b512K -h -L file",
        "-c1000G -w0 -b64K -F4 -T1b -s8b -o8 -d300 -h file",
        "-c100G -w40 -b64K -F4 -T1b -s8b -o8 -yrMyStartEvent -ypMyStopEvent file",
        "-d300 -F1 -w0 -r -b8k -o10 file",
        "-r -w30 -d600 -W300 -b8K -t8 -o15 -h -L -Z1M -c64G file",
        "-b4K -d30 -h -L -o32 -t2 -r -w30 -c100G file1 file2",
        "-t2 -o32 -b4k -r4k -w0 -d120 -Sh -D -L -c5G file",
        "-t4 -o32 -b4k -r4k -w0 -Sh -D -L file",
    ] {
        assert_eq!(validate(&run(line).profile, Purpose::Run).errors, Vec::<String>::new(), "{line}");
    }
    let request = run("-c100G -w40 -b64K -F4 -T1b -s8b -o8 -yrMyStartEvent -ypMyStopEvent file");
    assert_eq!(request.events.wait_start.as_deref(), Some("MyStartEvent"));
    assert_eq!(request.events.stop.as_deref(), Some("MyStopEvent"));
    let target = &request.profile.time_spans[0].targets[0];
    assert_eq!((target.alignment, target.thread_stride), (Some(Bytes::from_kib(512)), Bytes::from_kib(64)));
}

#[test]
fn sizes_use_the_final_block_size_wherever_it_stands() {
    assert_eq!(target("-f2b -b4k f").max_offset, Bytes(8192));
    assert_eq!(target("-b4k -b2b f").block_size, Bytes(8192));
    assert_eq!(target("-b2b f").block_size, Bytes(131_072));
}

#[test]
fn bounds() {
    let bounds = |line: &str| (target(line).base_offset.get(), target(line).max_offset.get());
    assert_eq!(bounds("-B5m f"), (5_242_880, 0));
    assert_eq!(bounds("-B5m:1m f"), (5_242_880, 6_291_456));
    assert_eq!(bounds("-B5m -f6m f"), (5_242_880, 6_291_456));
    assert_eq!(bounds("-B0:0 f"), (0, 0));
    assert_failures(&[
        ("-B5m:1m -f6m f", "'-f6m'"),
        ("-B5m -B5m f", "'-B5m'"),
        ("-f5m -f6m f", "'-f6m'"),
        ("-B5m: f", "'-B5m:'"),
        ("-B5mx f", "'-B5mx'"),
        ("-B5m:1x f", "'-B5m:1x'"),
        ("-B5m:1mx f", "'-B5m:1mx'"),
        ("-B f", "'-B'"),
        ("-B18446744073709551615:1 f", "64 bits"),
        ("-f f", "'-f'"),
        ("-fq f", "'-fq'"),
        ("-b0 f", "'-b0'"),
        ("-b4G f", "4294967294"),
        ("-b4294967295 f", "4294967294"),
        ("-T0 f", "above 0"),
        ("-r0 f", "above 0"),
    ]);
}

#[test]
fn random_sequential_and_mixed_io() {
    let pattern = |line: &str| (target(line).random_percent, target(line).effective_alignment().get());
    assert_eq!(pattern("f"), (0, 65_536));
    assert_eq!(pattern("-r f"), (100, 65_536));
    assert_eq!(pattern("-r4k f"), (100, 4096));
    assert_eq!(pattern("-rs50 f"), (50, 65_536));
    assert_eq!(pattern("-rs50 -r8k f"), (50, 8192));
    assert_eq!(pattern("-r8k -rs50 f"), (50, 8192));
    assert_eq!(pattern("-rs100 -r4k f"), (100, 4096));
    assert_eq!(pattern("-s8k f"), (0, 8192));
    assert_eq!(pattern("-s0 f"), (0, 65_536));
    assert!(target("-si f").interlocked && !target("-s f").interlocked);
    assert_failures(&[
        ("-r -r f", "once"),
        ("-rs50 -rs60 f", "'-rs60'"),
        ("-s -s f", "once"),
        ("-r -s f", "conflicts"),
        ("-s -r f", "conflicts"),
        ("-s0 -r f", "conflicts"),
        ("-rs50 -s f", "-r<align>"),
        ("-s -rs50 f", "-r<align>"),
        ("-rs0 f", "1 to 100"),
        ("-rs101 f", "1 to 100"),
        ("-rs f", "1 to 100"),
        ("-rd -r f", "'-rd'"),
        ("-rdfoo -r f", "'-rdfoo'"),
    ]);
}

#[test]
fn caching() {
    use BypassIo::{Full, Partial};
    use CacheMode::{Cached, NoLocalCache, Unbuffered};
    let state = |line: &str| {
        let target = target(line);
        (target.cache_mode, target.write_through, target.memory_mapped, target.bypass_io)
    };
    for line in ["-Suw f", "-Swu f", "-Su -Sw f", "-Sh f", "-h f", "-S -Sw f"] {
        assert_eq!(state(line), (Unbuffered, true, false, None), "{line}");
    }
    assert_eq!(state("-Sbw f"), (Cached, true, false, None));
    assert_eq!(state("-Srw f"), (NoLocalCache, true, false, None));
    assert_eq!(state("-Smw f"), (Cached, true, true, None));
    assert_eq!(state("-Sbm f"), (Cached, false, true, None));
    assert_eq!(state("-Srm f"), (NoLocalCache, false, true, None));
    assert_eq!(state("-Suy f"), (Unbuffered, false, false, Some(Partial)));
    assert_eq!(state("-ShY f"), (Unbuffered, true, false, Some(Full)));
    for line in [
        "-Sbu f",
        "-Sub f",
        "-Sru f",
        "-Sum f",
        "-Smu f",
        "-Shw f",
        "-S -Su f",
        "-Sb -Sb f",
        "-Sm -Sm f",
        "-h -Sb f",
        "-Sb -h f",
        "-h -Suw f",
        "-Suw -h f",
        "-h -S f",
        "-h -h f",
        "-h -Sm f",
        "-Syy f",
        "-SyY f",
        "-Su -Sy -SY f",
        "-SyU f",
        "-Sq f",
    ] {
        failure(line);
    }
    assert_eq!(validate(&run("-Sm -h f").profile, Purpose::Run).errors.len(), 1);
    for line in ["-Sy f", "-Sby f", "-Sry f", "-Smy f", "-Shy -w10 f"] {
        assert!(!validate(&run(line).profile, Purpose::Run).errors.is_empty(), "{line}");
    }
    assert_eq!(validate(&run("-Suy -w0 f").profile, Purpose::Run).errors, Vec::<String>::new());
}

#[test]
fn numbers() {
    assert_eq!(span("-d f").duration_s, 0);
    assert_eq!(span("-z f").random_seed, 4711);
    assert_eq!(span("-z7 f").random_seed, 7);
    assert_eq!(target("-w f").write_percent, 0);
    for line in ["-D f", "-D0 f", "-D-5 f"] {
        assert_eq!((span(line).calculate_iops_std_dev, span(line).interval_ms), (true, 1000), "{line}");
    }
    assert_eq!(span("-D250 -D f").interval_ms, 250);
    for (line, ios) in [("-P f", 65_536), ("-P0 f", 65_536), ("-P-1 f", 65_536), ("-P7 f", 7)] {
        assert_eq!(run(line).profile.progress_ios, ios, "{line}");
    }
    assert_eq!(target("-g1024 f").throughput, Throughput::BytesPerMs(1024));
    assert_eq!(target("-g10i f").throughput, Throughput::Iops(10));
    assert_eq!(target("-I1 f").io_priority, IoPriority::VeryLow);
    assert_failures(&[
        ("-d4294967296 f", "too large"),
        ("-o99999999999 f", "too large"),
        ("-C-1 f", "'-C-1'"),
        ("-g f", "'-g'"),
        ("-gi f", "'-gi'"),
        ("-gi100 f", "'-gi100'"),
        ("-g0 f", "'-g0'"),
        ("-g0i f", "'-g0i'"),
        ("-g100x f", "'-g100x'"),
        ("-I0 f", "1 to 3"),
        ("-I4 f", "1 to 3"),
        ("-z1x f", "'1x'"),
        ("-vx f", "-v and -vs"),
        ("-w-1 f", "0 to 100"),
    ]);
}

#[test]
fn completion_depth_leaves_the_queue_depth_alone() {
    for line in ["-oc4 -o32 f", "-o32 -oc4 f", "-oc9 -o32 -oc4x f"] {
        assert_eq!((span(line).completion_depth, target(line).outstanding), (Some(4), 32), "{line}");
    }
    for line in ["-oc f", "-oc0 f", "-oc17 f", "-oc-1 f"] {
        assert!(failure(line).contains("1 to 16"), "{line}");
    }
}

#[test]
fn io_ring() {
    use IoRingBatch::{Count, Percent};
    let ring = |line: &str| span(line).io_ring.map(|ring| (ring.batch, ring.registered_buffers));
    for (line, batch, registered) in [
        ("-u f", Percent(25), true),
        ("-un f", Percent(25), false),
        ("-u1 f", Count(1), true),
        ("-u65536 f", Count(65_536), true),
        ("-un8 f", Count(8), false),
        ("-u50p f", Percent(50), true),
        ("-un50p f", Percent(50), false),
        ("-u100p f", Percent(100), true),
        ("-u8 -un f", Count(8), false),
        ("-un -u8 f", Count(8), true),
    ] {
        assert_eq!(ring(line), Some((batch, registered)), "{line}");
    }
    assert_eq!(ring("f"), None);
    for word in [
        "0",
        "0p",
        "n0",
        "x",
        "p",
        "np",
        "nn",
        "8x",
        "8pp",
        "8P",
        "N",
        "101p",
        "65537",
        "99999999999999999999",
        "-5",
        "+5",
    ] {
        assert!(failure(&format!("-u{word} f")).contains(&format!("'-u{word}'")), "{word}");
    }
}

#[test]
fn buffer_separation() {
    assert_eq!(span("-bsn -b4K f").buffer_separation, BufferSeparation::SystemDefault);
    assert_eq!(span("-b4K -bsn -bsp f").buffer_separation, BufferSeparation::ThreadOptimized);
    for line in ["-bs f", "-bsx f", "-bspp f"] {
        failure(line);
    }
    let warnings = |line: &str| run(line).warnings.len();
    assert_eq!((warnings("-bsp -l f"), warnings("-l f"), warnings("-bsn -l f"), warnings("-bsp f")), (1, 0, 0, 0));
}

#[test]
fn affinity() {
    let listed = |line: &str| span(line).affinity.listed;
    let entries =
        |list: &[(u16, u64)]| list.iter().map(|&(group, mask)| AffinityEntry { group, mask }).collect::<Vec<_>>();
    assert_eq!(listed("-a f"), []);
    assert_eq!(listed("-ag f"), []);
    assert_eq!(listed("-ag0,0,1,2 -ag1,0,1,2 f"), entries(&[(0, 7), (1, 7)]));
    assert_eq!(listed("-a0 -a1 -a1 f"), entries(&[(0, 3), (0, 2)]));
    assert_eq!(listed("-ag1 -ag0 f"), entries(&[(1, 0), (0, 0)]));
    assert_eq!(listed("-ag0 -a1 f"), entries(&[(0, 0), (0, 2)]));
    assert_eq!(run("-ag0,g1,2 f").warnings.len(), 1);
    let order = |line: &str| {
        let affinity = span(line).affinity;
        (affinity.traversal, affinity.group_span, affinity.efficiency)
    };
    let all = (Some(Traversal::CoreAware), Some(GroupSpan::Span), Some(EfficiencyOrder::FillEfficiencyFirst));
    for line in ["-acsE f", "-aEsc f", "-ac -as -aE f", "-accss -aE f"] {
        assert_eq!(order(line), all, "{line}");
    }
    assert_eq!(order("-aup f"), (None, None, Some(EfficiencyOrder::Unordered)));
    for line in
        ["-ap -ap f", "-aPE f", "-aup -aup f", "-aup -ae f", "-ae -aup f", "-au f", "-aux f", "-aupc f", "-ac0 f"]
    {
        failure(line);
    }
    assert_failures(&[("-aup -ae f", "cannot be combined"), ("-ae -aup f", "cannot be combined")]);
    for (line, conflicts) in
        [("-a", 0), ("-ag", 0), ("-a0", 1), ("-ag0", 1), ("-ac", 1), ("-as", 1), ("-ap", 1), ("-aup", 1)]
    {
        let request = run(&format!("-n {line} f"));
        assert_eq!(validate(&request.profile, Purpose::Run).errors.len(), conflicts, "-n {line}");
    }
}

#[test]
fn results_and_profiles() {
    let show = |line: &str| {
        let args: Vec<&str> = line.split_whitespace().collect();
        match parse_line(&args) {
            Ok(Command::Line(LineCommand::ShowProfile(request))) => request.format,
            other => panic!("{line}: {other:?}"),
        }
    };
    assert_eq!(show("-Rp f"), ResultFormat::Text);
    assert_eq!(show("-Rptext *1"), ResultFormat::Text);
    assert_eq!(show("-Rpxml #1 D:"), ResultFormat::Xml);
    assert_eq!(show("-Rxml -Rp f"), ResultFormat::Xml);
    assert_eq!(show("-Rpxml -Rtext f"), ResultFormat::Text);
    assert_eq!(run("-Rxml f").profile.result_format, ResultFormat::Xml);
    for line in ["-R f", "-Rfoo f", "-Rpfoo f", "-Rsp", "-Rps", "-Rsfoo", "-Rs f", "-v -Rs", "-Rs -Rs"] {
        failure(line);
    }
}

#[test]
fn profiles_from_files() {
    let load = |line: &str| {
        let args: Vec<&str> = line.split_whitespace().collect();
        match parse_line(&args) {
            Ok(Command::Line(LineCommand::LoadProfile(request))) => request,
            other => panic!("{line}: {other:?}"),
        }
    };
    let request = load("-d60 -Xp.xml -v --overwrite a b");
    assert_eq!(request.path, Path::new("p.xml"));
    assert_eq!(request.targets, [Path::new("a"), Path::new("b")]);
    assert!(request.options.overwrite && !request.show);
    let settings = TimeSpan { duration_s: 60, ..TimeSpan::default() };
    let given = std::collections::BTreeSet::from(["Duration"]);
    assert_eq!(request.overrides, Overrides { settings, given, verbose: true, ..Overrides::default() });
    assert!(load("-Xp -Rpxml").show);
    assert_failures(&[
        ("-b8k -Xp", "'-b8k'"),
        ("-Xp -b8k", "'-b8k'"),
        ("-Xp -Xq", "only one"),
        ("-X", "path"),
        ("-Xp -q", "invalid option: '-q'"),
        ("-Xp f -d5", "must come before"),
    ]);
}

#[test]
fn overrides_reach_every_timespan() {
    // Settings that are not given remain.
    let own = settings::LINUX_IN_TIME_SPAN.iter().filter(|setting| setting.element != "MaxWriteBytes");
    let examples: Vec<&str> = own.clone().filter_map(|setting| Some(setting.own?.example)).collect();
    let line = format!("-Xp.xml -d1 -W2 -C3 -z4 -v -Rxml --metrics=1 --skew=zipf:1.1 {}", examples.join(" "));
    let overrides = match parse_line(&line.split_whitespace().collect::<Vec<_>>()) {
        Ok(Command::Line(LineCommand::LoadProfile(request))) => request.overrides,
        other => panic!("{other:?}"),
    };
    let before = TimeSpan {
        end_after: EndAfter { written_bytes: Some(9), ..EndAfter::default() },
        targets: vec![Target::new("f")],
        ..TimeSpan::default()
    };
    let mut profile = Profile { time_spans: vec![before; 2], verbose_stats: true, ..Profile::default() };
    overrides.apply(&mut profile);
    for span in &profile.time_spans {
        assert_eq!((span.duration_s, span.warm_up_s, span.cool_down_s, span.random_seed), (1, 2, 3, 4));
        assert!(span.measure_latency);
        let shown: Vec<Option<String>> = own.clone().map(|setting| setting.shown(span)).collect();
        assert_eq!(shown.iter().flatten().collect::<Vec<_>>(), examples.iter().collect::<Vec<_>>());
        assert_eq!(span.end_after.written_bytes, Some(9));
        assert_eq!(span.targets[0].skew, Skew::parse("zipf:1.1").ok());
    }
    assert_eq!(profile.result_format, ResultFormat::Xml);
    assert!(profile.verbose && profile.verbose_stats, "options switch on, never off");
}

#[test]
fn events_tracing_and_content() {
    let request = run("-ysA -yfB -yrC -ypD -eDISK_IO -ep -Z4K,p.bin -b4K f");
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(
        request.events,
        Events { on_started: some("A"), on_finished: some("B"), wait_start: some("C"), stop: some("D") }
    );
    let tracing = Tracing { disk_io: true, use_paged_memory: true, ..Tracing::default() };
    assert_eq!(request.profile.tracing, Some(tracing));
    let source = WriteSource { size: Bytes(4096), file: Some("p.bin".into()) };
    assert_eq!(request.profile.time_spans[0].targets[0].write_source, Some(source));
    assert!(span("-Zr f").random_write_data && target("-Z f").zero_write_buffers);
    assert_failures(&[
        ("-Zrx f", "'-Zrx'"),
        ("-Z0 f", "above 0"),
        ("-Z1M, f", "file name"),
        ("-e f", "'-e'"),
        ("-eprocess2 f -r", "-r"),
        ("-ePROCESSX f", "'-ePROCESSX'"),
        ("-yq f", "'-yq'"),
        ("-Nx f", "'-Nx'"),
        ("-N f", "'-N'"),
        ("-Nvv f", "'-Nvv'"),
    ]);
}

#[test]
fn our_own_options() {
    let options = run("--overwrite --recreate --plan f").options;
    assert_eq!(options, RunOptions { overwrite: true, recreate: true, plan_only: true, ..RunOptions::default() });
    assert_failures(&[
        ("--overwrite=yes f", "takes no value"),
        ("f --overwrite", "must come before"),
        ("--help xyzzy", "'xyzzy'"),
        ("--help=-q", "'-q'"),
        ("--nothing f", "'--nothing'"),
    ]);
}

#[test]
fn two_dashes_end_the_options() {
    let paths = |line: &str| {
        let targets = run(line).profile.time_spans.remove(0).targets;
        targets.into_iter().map(|target| target.path.display().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(paths("-b4K -- -r f"), ["-r", "f"]);
    assert_eq!(paths("-- f"), ["f"]);
    assert_failures(&[("-b4K --", "at least one target")]);
}

/// Arguments similar enough to real ones to reach every parser.
fn argument() -> impl Strategy<Value = OsString> {
    let names: Vec<&'static str> = options::all().map(|row| row.name).collect();
    prop_oneof![
        any::<Vec<u8>>().prop_map(OsString::from_vec),
        (prop::sample::select(names.clone()), "[-a-zA-Z0-9,:/. =%é]{0,8}")
            .prop_map(|(name, value)| format!("{name}{value}").into()),
        (prop::sample::select(names), any::<String>()).prop_map(|(name, value)| format!("{name}{value}").into()),
        "[\u{2013}#*/a-z:]{0,4}".prop_map(OsString::from),
    ]
}

proptest! {
    #[test]
    fn no_command_line_is_too_strange(args in prop::collection::vec(argument(), 0..6)) {
        match parse(&args, &Machine::default()) {
            Ok(Command::Line(LineCommand::Run(request))) => {
                let _ = validate(&request.profile, Purpose::Run);
                let _ = crate::write_profile(&request.profile, ResultFormat::Xml);
            }
            Ok(_) => {}
            Err(failure) => {
                prop_assert_eq!(failure.exit_status, 3);
                prop_assert!(!failure.messages.is_empty());
                for message in failure.messages {
                    prop_assert!(message.starts_with("ERROR: ") || message.starts_with("WARNING: "), "{}", message);
                }
            }
        }
    }
}
