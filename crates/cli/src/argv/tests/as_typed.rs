//! Typical input: typing errors, forms from published scripts, habits from Windows.

use super::*;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

#[test]
fn arguments_are_named_as_typed_with_what_would_be_right() {
    insta::assert_snapshot!(failure("-o0 f"), @"ERROR: incorrectly provided option: '-o0': the number of outstanding I/Os must be a whole number of at least 1, not '0'");
    insta::assert_snapshot!(failure("-b4P f"), @"ERROR: incorrectly provided option: '-b4P': invalid block size: 'P' is not a size unit (expected: K (KiB), M (MiB), G (GiB), T (TiB) or B (blocks of -b))");
    insta::assert_snapshot!(failure("-a0,x f"), @r"
    ERROR: incorrectly provided option: '-a0,x': syntax error in the affinity list at the mark; expected a CPU number, or 'g' followed by a group number
    -a0,x
        ^
    ");
    insta::assert_snapshot!(failure("-acx f"), @r"
    ERROR: incorrectly provided option: '-acx': unexpected character; expected the letters c, s, p, P, e, E (list CPUs in a separate -a)
    -acx
       ^
    ");
    insta::assert_snapshot!(failure("-E f"), @"ERROR: invalid option: '-E'; did you mean -e? --help lists all options");
    insta::assert_snapshot!(failure("--overwirte f"), @"ERROR: invalid option: '--overwirte'; did you mean --overwrite? --help lists all options");
    insta::assert_snapshot!(failure("-overwrite f"), @"ERROR: incorrectly provided option: '-overwrite': the number of outstanding I/Os must be a whole number of at least 1, not 'verwrite'; did you mean --overwrite?");
    insta::assert_snapshot!(failure("-w101 f"), @"ERROR: incorrectly provided option: '-w101': the percentage of writes must be 0 to 100, not '101'");
    insta::assert_snapshot!(failure("f -r"), @"ERROR: parameters (-r) must come before targets on the command line; the first target is 'f'");
    insta::assert_snapshot!(failure("/b4K -r f"), @"ERROR: parameters (-r) must come before targets on the command line; '/b4K' is read as a target because options begin with '-'; did you mean -b4K?");
    insta::assert_snapshot!(failure("#1 D: f"), @r"
    ERROR: target '#1' is a Windows physical drive; give a device, such as /dev/sda or /dev/nvme0n1 (for a file of that name, write ./#1)
    ERROR: target 'D:' is a Windows volume; give a device, such as /dev/sda1, or a file on it (for a new file of that name, write ./D:)
    ");
    insta::assert_snapshot!(failure(r"C:\f"), @r"ERROR: target 'C:\f' is a Windows path; give a file (/mnt/test.dat) or a device (/dev/sdb, /dev/nvme0n1p1; lsblk lists them), or write ./C:\f for a file of that name");
    insta::assert_snapshot!(failure("-help"), @r"
    WARNING: '-help': the text 'elp' after -h is ignored; did you mean --help?
    ERROR: need to provide at least one target: the path of a file or device
    ");
    insta::assert_snapshot!(failure("-Xp -b8k"), @"ERROR: '-b8k' cannot be combined with an XML profile (-X); only -d -W -C -z -R -Rp -v -vs -: and options that begin with -- may be used with it");
}

#[test]
fn a_blank_inside_an_argument_is_accepted() {
    let args = ["-o 8", "-b 4K", "-S u", "-t 2 ", "-rdpct 90/10", "-a 0,1", "-h ", "-r", "f"].map(OsString::from);
    // -h conflicts with -S u, but its blank is not the reason.
    assert!(parse(&args, &Machine::default()).unwrap_err().messages[0].contains("'-h '"));
    let args: Vec<OsString> = args.into_iter().filter(|arg| arg != "-h ").collect();
    let Ok(Command::Line(LineCommand::Run(request))) = parse(&args, &Machine::default()) else { panic!() };
    let target = &request.profile.time_spans[0].targets[0];
    assert_eq!((target.outstanding, target.block_size, target.threads), (8, Bytes(4096), 2));
    assert_eq!(target.cache_mode, CacheMode::Unbuffered);
    assert_eq!(request.warnings, Vec::<String>::new());
    assert!(parse_line(&["-b", "8K", "f"]).is_err(), "a value in an argument of its own is none");
}

#[test]
fn ignored_text_is_warned_of() {
    for (line, value) in
        [("-n953 f", "'953'"), ("-Lfoo f", "'foo'"), ("-W10sec f", "'sec'"), ("-t4threads f", "'threads'")]
    {
        let warnings = run(line).warnings;
        assert_eq!(warnings.len(), 1, "{line}: {warnings:?}");
        assert!(warnings[0].contains(value), "{line}: {warnings:?}");
    }
    assert!(span("-n953 f").affinity.disabled);
    assert_eq!(span("-W10s f").warm_up_s, 10);
}

#[test]
fn typographic_dashes_are_dashes_unless_a_file_has_the_name() {
    for dash in ['\u{2013}', '\u{2014}', '\u{2212}'] {
        let request = run(&format!("-r {dash}W300 {dash}overwrite f"));
        assert_eq!(request.profile.time_spans[0].warm_up_s, 300);
        assert_eq!(request.profile.time_spans[0].targets.len(), 1);
        assert!(request.options.overwrite);
        assert_eq!(request.warnings.len(), 2, "{:?}", request.warnings);
    }
    let machine = Machine { files: BTreeSet::from(["\u{2013}W300"]) };
    let Ok(Command::Line(LineCommand::Run(request))) = parse(&["\u{2013}W300".into()], &machine) else { panic!() };
    assert_eq!(request.profile.time_spans[0].targets[0].path, Path::new("\u{2013}W300"));
    assert_failures(&[("\u{2013}o0 f", "'\u{2013}o0'"), ("\u{2013}o0 f", "WARNING")]);
}

#[test]
fn targets_may_be_any_bytes_and_options_must_be_text() {
    let odd = OsString::from_vec(b"f\xff".to_vec());
    let Ok(Command::Line(LineCommand::Run(request))) = parse(&["-r".into(), odd.clone()], &Machine::default()) else {
        panic!()
    };
    assert_eq!(request.profile.time_spans[0].targets[0].path, Path::new(&odd));
    let option = OsStr::from_bytes(b"-Z1M,\xff").to_owned();
    assert!(parse(&[option, "f".into()], &Machine::default()).unwrap_err().messages[0].contains("UTF-8"));
}

#[test]
fn drives_of_windows_are_files_where_such_files_exist() {
    let machine = Machine { files: BTreeSet::from(["D:"]) };
    assert!(matches!(parse(&["D:".into()], &machine), Ok(Command::Line(LineCommand::Run(_)))));
    assert!(matches!(parse(&["#".into()], &machine), Ok(Command::Line(LineCommand::Run(_)))));
    assert!(matches!(parse(&["./#1".into()], &machine), Ok(Command::Line(LineCommand::Run(_)))));
}

#[test]
fn targets_that_look_like_something_else_are_warned_of() {
    for (line, warnings) in [("/b4K", 1), ("/Suw", 1), ("/data", 0), ("/home", 0), ("/tmp/f", 0), ("/t", 0)] {
        assert_eq!(run(line).warnings.len(), warnings, "{line}: {:?}", run(line).warnings);
    }
    let machine = Machine { files: BTreeSet::from(["/b4K"]) };
    let Ok(Command::Line(LineCommand::Run(request))) = parse(&["/b4K".into()], &machine) else { panic!() };
    assert_eq!(request.warnings, Vec::<String>::new());
}

#[test]
fn options_that_do_nothing_alone_are_warned_of() {
    assert_eq!(run("-O8 f").warnings, ["-O has no effect without -F"]);
    assert_eq!(run("-O8 -F2 f").warnings, Vec::<String>::new());
}
