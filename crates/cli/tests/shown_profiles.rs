//! Output of `-Rpxml`.

use cli::{Command, Environment, LineCommand, write_profile};
use model::profile::{PrecreateFiles, Profile, ResultFormat, Target, ThreadTarget, TimeSpan};
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

fn shown(line: &str) -> String {
    let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    match cli::parse(&args, &FakeEnv) {
        Ok(Command::Line(LineCommand::ShowProfile(request))) => write_profile(&request.profile, request.format),
        other => panic!("{line}: {other:?}"),
    }
}

/// The example of DiskSpd 2.3's documentation of its profile.
#[test]
fn everything_new_in_2_3_is_written_in_its_place() {
    insta::assert_snapshot!(shown("-b8K -o16 -t4 -Suy -un30p -acsE -ag0,0-3 -ag1 -bsn -d30 -Rpxml data.bin"), @r#"
    <Profile>
      <Progress>0</Progress>
      <ResultFormat>xml</ResultFormat>
      <Verbose>false</Verbose>
      <TimeSpans>
        <TimeSpan>
          <CompletionRoutines>false</CompletionRoutines>
          <MeasureLatency>false</MeasureLatency>
          <CalculateIopsStdDev>false</CalculateIopsStdDev>
          <Duration>30</Duration>
          <Warmup>5</Warmup>
          <Cooldown>0</Cooldown>
          <ThreadCount>0</ThreadCount>
          <RequestCount>0</RequestCount>
          <IoBucketDuration>1000</IoBucketDuration>
          <RandSeed>0</RandSeed>
          <IoRing>
            <IoRingBatchSize Percent="true">30</IoRingBatchSize>
            <UseRegBuffer>false</UseRegBuffer>
          </IoRing>
          <DisableAffinity>false</DisableAffinity>
          <AffinityTraversal Group="Span" Efficiency="FillEFirst">CoreAware</AffinityTraversal>
          <Affinity>
            <Group Group="0" Mask="0xf"/>
            <Group Group="1" Mask="0x0"/>
          </Affinity>
          <BufferSeparation>SystemDefault</BufferSeparation>
          <Targets>
            <Target>
              <Path>data.bin</Path>
              <BlockSize>8192</BlockSize>
              <BaseFileOffset>0</BaseFileOffset>
              <SequentialScan>false</SequentialScan>
              <RandomAccess>false</RandomAccess>
              <TemporaryFile>false</TemporaryFile>
              <UseLargePages>false</UseLargePages>
              <DisableOSCache>true</DisableOSCache>
              <BypassIO>Partial</BypassIO>
              <WriteBufferContent>
                <Pattern>sequential</Pattern>
              </WriteBufferContent>
              <ParallelAsyncIO>false</ParallelAsyncIO>
              <StrideSize>8192</StrideSize>
              <InterlockedSequential>false</InterlockedSequential>
              <ThreadStride>0</ThreadStride>
              <MaxFileSize>0</MaxFileSize>
              <RequestCount>16</RequestCount>
              <WriteRatio>0</WriteRatio>
              <Throughput>0</Throughput>
              <ThreadsPerFile>4</ThreadsPerFile>
              <IOPriority>3</IOPriority>
              <Weight>1</Weight>
            </Target>
          </Targets>
        </TimeSpan>
      </TimeSpans>
    </Profile>
    "#);
}

#[test]
fn optional_elements_appear_where_something_was_said() {
    let plain = shown("-Rpxml f");
    for (options, element) in [
        ("-:5", "  <ExperimentFlags>5</ExperimentFlags>\n  <ResultFormat>"),
        ("-vs", "<Verbose>false</Verbose>\n  <VerboseStats>true</VerboseStats>\n"),
        ("-Zr", "<RandSeed>0</RandSeed>\n      <RandomWriteData>true</RandomWriteData>\n"),
        ("-oc8", "</BufferSeparation>\n      <CompletionDepth>8</CompletionDepth>\n      <Targets>"),
        ("-c0", "<FileSize>0</FileSize>\n          <StrideSize>"),
        ("-u8", "<IoRingBatchSize Percent=\"false\">8</IoRingBatchSize>\n"),
        (
            "-Sm -Ni",
            "<MemoryMappedIo>true</MemoryMappedIo>\n          <FlushType>NonVolatileMemoryNoDrain</FlushType>\n",
        ),
        ("-r -rdabs50/1M", "<Range IO=\"50\">1048576</Range>\n              <Range IO=\"50\">0</Range>\n"),
        ("-g7i", "<Throughput unit=\"IOPS\">7</Throughput>\n"),
        ("-Z1M,p", "<SizeInBytes>1048576</SizeInBytes>\n              <FilePath>p</FilePath>\n"),
    ] {
        let said = shown(&format!("{options} -Rpxml f"));
        assert!(said.contains(element), "{options}: {element:?} is not in\n{said}");
        assert!(!plain.contains(element), "{options}");
    }
}

#[test]
fn a_disabled_affinity_says_nothing_else() {
    let text = shown("-n -Rpxml f");
    assert!(text.contains("<DisableAffinity>true</DisableAffinity>\n      <BufferSeparation>"), "{text}");
}

#[test]
fn what_only_profiles_can_say_is_written() {
    let mut target = Target::new("f");
    target.weight = 30;
    target.thread_targets = vec![ThreadTarget { thread: 0, weight: 60 }, ThreadTarget { thread: 1, weight: 0 }];
    let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
    let profile = Profile {
        time_spans: vec![span],
        precreate_files: Some(PrecreateFiles::OnlyConstantOrZeroSizes),
        ..Profile::default()
    };
    let text = write_profile(&profile, ResultFormat::Text);
    assert!(text.contains("  <PrecreateFiles>CreateOnlyFilesWithConstantOrZeroSizes</PrecreateFiles>\n"));
    let flat: String = text.split_whitespace().collect();
    assert!(flat.contains(
        "<Weight>30</Weight><ThreadTargets><ThreadTarget><Thread>0</Thread><Weight>60</Weight></ThreadTarget>\
         <ThreadTarget><Thread>1</Thread></ThreadTarget></ThreadTargets>"
    ));
}

#[test]
fn paths_that_xml_cannot_hold_are_warned_of_where_xml_is_shown() {
    use std::os::unix::ffi::OsStrExt;
    let strange = std::ffi::OsStr::from_bytes(b"a\xff");
    let warnings = |format: &str| {
        let args = [OsString::from(format), "-w1".into(), "-Z1M,b\u{1}".into(), "good\u{e4}\t".into(), strange.into()];
        match cli::parse(&args, &FakeEnv) {
            Ok(Command::Line(LineCommand::ShowProfile(request))) => request.warnings,
            other => panic!("{other:?}"),
        }
    };
    let found = warnings("-Rpxml");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(r"'a\xff'") && found[1].contains(r"'b\x01'"), "{found:?}");
    assert_eq!(warnings("-Rptext"), Vec::<String>::new());
}
