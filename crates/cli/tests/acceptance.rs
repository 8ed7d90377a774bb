//! Command lines with their outcome in DiskSpd.

use cli::{Command, Environment, LineCommand, parse};
use model::validate::{Purpose, validate};
use std::ffi::OsString;
use std::path::Path;

struct FakeEnv;

impl Environment for FakeEnv {
    fn milliseconds_since_boot(&self) -> u32 {
        0
    }

    fn file_exists(&self, _: &Path) -> bool {
        false
    }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// Runs; the number of validation warnings.
    Runs(usize),
    Shows,
    /// Rejected by the parser.
    Unparsed,
    /// Parsed, but contradictory: the number of errors.
    Invalid(usize),
}
use Outcome::{Invalid, Runs, Shows, Unparsed};

fn outcome(line: &str) -> Outcome {
    let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    let (profile, purpose, good) = match parse(&args, &FakeEnv) {
        Err(_) => return Unparsed,
        Ok(Command::Line(LineCommand::Run(request))) => (request.profile, Purpose::Run, Runs(0)),
        Ok(Command::Line(LineCommand::ShowProfile(request))) => (request.profile, Purpose::Show, Shows),
        other => panic!("{line}: {other:?}"),
    };
    let findings = validate(&profile, purpose);
    match (findings.errors.len(), good) {
        (0, Runs(_)) => Runs(findings.warnings.len()),
        (0, good) => good,
        (errors, _) => Invalid(errors),
    }
}

const CASES: &[(&str, Outcome)] = &[
    ("f", Runs(0)),
    ("-r f", Runs(0)),
    ("f -r", Unparsed),
    ("-r f g", Runs(0)),
    ("-b4K -w84 -a1,4,6 f g", Runs(0)),
    ("-t4 f", Runs(1)),
    ("-t4 -si f", Runs(0)),
    ("-si f", Runs(1)),
    ("-T1m f", Invalid(1)),
    ("-t2 -T1m -r f", Invalid(1)),
    ("-p -o1 f", Runs(1)),
    ("-rdpct10/10:10/10:0/10 -r f", Runs(0)),
    ("-rdpct90/10 f", Invalid(1)),
    ("-rdpct90/10 -s f", Invalid(1)),
    ("-rdpct10/50:10/50 -r f", Invalid(1)),
    ("-rdpct10/50:10/60 -r f", Invalid(1)),
    ("-rdpct60/10:60/10 -r f", Invalid(1)),
    ("-rdpct101/10 -r f", Unparsed),
    ("-rdpct10/0 -r f", Unparsed),
    ("-rdpct100/50 -r f", Invalid(1)),
    ("-rdpct100/50:0/50 -r f", Runs(0)),
    ("-rdabs10/0 -r f", Unparsed),
    ("-rdabs10/10 -r f", Invalid(1)),
    ("-rdabs10/1G:10/1G:0/100G -r f", Runs(0)),
    ("-rd -r f", Unparsed),
    ("-rdpct10 -r f", Unparsed),
    ("-rdpct10/10: -r f", Unparsed),
    ("-F4 -O8 -g100 f", Invalid(1)),
    ("-F4 -t1 -r f", Runs(0)),
    ("-F4 -t2 -r f", Invalid(1)),
    ("-g100 -x f", Invalid(1)),
    ("-i10 f", Invalid(1)),
    ("-j10 f", Invalid(1)),
    ("-i10 -j10 f", Runs(0)),
    ("-n -a0 f", Invalid(1)),
    ("-n -a f", Runs(0)),
    ("-Nv f", Invalid(1)),
    ("-Sm -Nv f", Runs(0)),
    ("-Sm -h f", Invalid(1)),
    ("-Z4k f", Invalid(1)),
    ("-Z4k -b4k f", Runs(0)),
    ("-w f", Runs(0)),
    ("-d0 f", Invalid(1)),
    ("-d0 -Rp f", Shows),
    ("-B5m:0 f", Invalid(1)),
    ("-B0:0 f", Runs(0)),
    ("-f0 f", Runs(0)),
    ("-Rp f", Shows),
    ("-Rpxml f", Shows),
    ("-Rptext *1", Shows),
    ("*1", Invalid(1)),
    ("-Rp *1 -r", Unparsed),
    ("-R f", Unparsed),
    // New in 2.3.
    ("-u -x f", Invalid(1)),
    ("-u -Sm f", Invalid(1)),
    ("-u -oc4 f", Runs(0)),
    ("-u -F2 -O8 -r f", Runs(0)),
    ("-oc4 -x f", Invalid(1)),
    ("-oc4 -Sm f", Invalid(1)),
    ("-o65536 f", Runs(0)),
    ("-o65537 f", Invalid(1)),
    ("-o65537 -r f", Invalid(1)),
    ("-F2 -O65536 -r f", Runs(0)),
    ("-F2 -O65537 -r f", Invalid(1)),
    ("-Suy f", Runs(0)),
    ("-Sy f", Invalid(1)),
    ("-Suy -w1 f", Invalid(1)),
    ("-Smy -w1 f", Invalid(3)),
    ("-n -ac f", Invalid(1)),
];

#[test]
fn every_case_has_the_outcome_demanded() {
    for (line, expected) in CASES {
        assert_eq!(outcome(line), *expected, "{line}");
    }
}
