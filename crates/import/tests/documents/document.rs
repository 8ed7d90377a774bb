//! The form of the result document, as far as its description specifies it.

use crate::captured::{TEXT, read};
use crate::older::DOCUMENTS;
use crate::{written, xml};
use model::facts::SystemFacts;
use model::note::Note;
use model::topology::CacheKind::{Data, Instruction, Unified};
use model::topology::{Cache, Cpu, Topology};
use model::units::UnixTime;

/// The lines from one to another, both included.
fn part(document: &str, from: &str, to: &str) -> String {
    let lines = document.lines().skip_while(|line| line.trim() != from);
    let mut lines: Vec<&str> = lines.collect();
    let end = lines.iter().position(|line| line.trim() == to).unwrap_or_else(|| panic!("no line {to} after {from}"));
    lines.truncate(end + 1);
    lines.join("\n")
}

#[test]
fn the_machine_of_the_description() {
    let cpu = |id, core, class| Cpu { id, core, socket: 0, node: 0, class, allowed: true };
    let cache = |level, kind, kib: u64, associativity, cpus: &[u32]| Cache {
        level,
        kind,
        size_bytes: kib << 10,
        line_bytes: 64,
        associativity,
        cpus: cpus.to_vec(),
    };
    let system = SystemFacts {
        computer_name: "lab-7".to_owned(),
        processor_name: Some("Example Hybrid 4".to_owned()),
        power_scheme: Some("performance".to_owned()),
        page_size_bytes: 4096,
        topology: Topology {
            cpus: vec![cpu(0, 0, 1), cpu(1, 0, 1), cpu(2, 1, 0), cpu(3, 2, 0)],
            possible_cpus: 4,
            caches: vec![
                cache(1, Data, 48, 12, &[0, 1]),
                cache(1, Instruction, 32, 8, &[0, 1]),
                cache(2, Unified, 1280, 10, &[0, 1]),
                cache(1, Data, 32, 8, &[2]),
                cache(1, Instruction, 64, 8, &[2]),
                cache(2, Unified, 2048, 16, &[2, 3]),
                cache(1, Data, 32, 8, &[3]),
                cache(1, Instruction, 64, 8, &[3]),
                cache(3, Unified, 12_288, 12, &[0, 1, 2, 3]),
            ],
        },
        ..SystemFacts::default()
    };
    // 2026/10/01 08:15:30 UTC
    let document = written(|out| render::system_xml(&system, UnixTime(1_790_842_530_000_000_000), out));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(document, include_str!("../data/system.xml").replace("@VERSION@", version));
}

#[test]
fn what_2_3_added_stands_where_it_belongs() {
    let document = xml(&read(DOCUMENTS[2]));
    insta::assert_snapshot!(part(&document, "<TestTimeSeconds>10.00</TestTimeSeconds>", "<CpuUtilization>"), @r#"
    <TestTimeSeconds>10.00</TestTimeSeconds>
    <ThreadCount>2</ThreadCount>
    <RequestCount>0</RequestCount>
    <ProcCount>4</ProcCount>
    <EffectiveBufferSeparation>16777216</EffectiveBufferSeparation>
    <EffectiveAffinity>
      <Group Group="0" Mask="0xd"/>
      <Group Group="0" Mask="0x2"/>
    </EffectiveAffinity>
    <HeterogeneousAffinityWarning>true</HeterogeneousAffinityWarning>
    <CpuUtilization>
    "#);
    insta::assert_snapshot!(part(&document, "<Thread>", "</Thread>"), @r"
    <Thread>
      <Id>0</Id>
      <SubmitCount>61250</SubmitCount>
      <Target>
        <Path>a.dat</Path>
        <BytesCount>4194304</BytesCount>
        <FileSize>1610612736</FileSize>
        <IOCount>64</IOCount>
        <ReadBytes>4194304</ReadBytes>
        <ReadCount>64</ReadCount>
        <WriteBytes>0</WriteBytes>
        <WriteCount>0</WriteCount>
        <AverageReadLatencyMilliseconds>0.310</AverageReadLatencyMilliseconds>
        <ReadLatencyStdev>0.100</ReadLatencyStdev>
        <AverageLatencyMilliseconds>0.310</AverageLatencyMilliseconds>
        <LatencyStdev>0.100</LatencyStdev>
      </Target>
      <WaitStatistics>
        <CompletionWait>40102</CompletionWait>
        <ThrottleWait>260</ThrottleWait>
        <ThrottleSleep>3911</ThrottleSleep>
        <Lookaside>10291</Lookaside>
        <WaitCompletion>12 40210 133 7 0 0 0 0</WaitCompletion>
        <LookasideCompletion>9000 1203 88 0 0 0 0 0</LookasideCompletion>
      </WaitStatistics>
    </Thread>
    ");
}

#[test]
fn a_result_of_another_program_names_its_source_beside_the_dialect() {
    let document = xml(&read(TEXT[0].1));
    let tool = part(&document, "<Tool>", "</Tool>").replace(env!("CARGO_PKG_VERSION"), "...");
    insta::assert_snapshot!(tool, @r#"
    <Tool>
      <Version>2.3.0</Version>
      <VersionDate>2026/06/15</VersionDate>
      <Implementation Name="diskspd for Linux" Version="..."/>
      <Source Version="2.2" VersionDate=""/>
    </Tool>
    "#);
    assert!(document.contains(r#"<PowerScheme Name="Balanced" Guid="381b4222-f694-41f0-9685-ff5bb260df2e"/>"#));
    assert_eq!(read(&document).tool, read(TEXT[0].1).tool, "and it is read back");
}

#[test]
fn a_timespan_without_figures_has_an_error_and_what_is_ours() {
    let mut result = read(TEXT[8].1);
    result.time_spans[0].errors = vec!["cannot open 'a<b>': no such file".to_owned()];
    result.time_spans[0].notes = vec![Note::CpuStolen { percent_hundredths: 123 }];
    result.notes = vec![Note::Verbatim { text: "of the run".to_owned() }];
    result.warnings = vec!["beware".to_owned()];
    result.labels = vec![("disk".to_owned(), "a & b".to_owned())];
    let document = xml(&result);
    let after_profile = document.split("</Profile>").nth(1).expect("there is a profile");
    insta::assert_snapshot!(part(after_profile, "<TimeSpan>", "</TimeSpan>"), @r#"
    <TimeSpan>
      <Error>The test was interrupted before the measurements began. No results are displayed.</Error>
      <Linux>
        <CommandLine>diskspd.exe -c8M -d5 -W20 -b64k -g2000 -ypSTOPEVT test.dat</CommandLine>
        <Label Name="disk">a &amp; b</Label>
        <Failure>cannot open 'a&lt;b&gt;': no such file</Failure>
        <Note>the hypervisor took 1.23% of the time of the CPUs that the run used; this steal time is not in the CPU table</Note>
        <RunWarning>beware</RunWarning>
        <RunNote>of the run</RunNote>
      </Linux>
    </TimeSpan>
    "#);
    let again = read(&document);
    assert_eq!((again.labels, again.warnings), (result.labels, result.warnings));
}

#[test]
fn gaps_of_a_distribution_are_ranges_without_ios() {
    let document = xml(&read(TEXT[2].1));
    let thread = part(&document, "<Thread>", "</Thread>");
    insta::assert_snapshot!(part(&thread, "<Distribution>", "</Distribution>"), @r#"
    <Distribution>
      <Absolute>
        <Range IO="90">835584</Range>
        <Range IO="0">842138</Range>
        <Range IO="5">1677721</Range>
        <Range IO="5">5033165</Range>
      </Absolute>
    </Distribution>
    "#);
}
