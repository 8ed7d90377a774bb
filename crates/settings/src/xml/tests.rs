use super::*;
use model::affinity::AffinityEntry;
use model::profile::*;
use model::units::Bytes;

mod faults;
mod schema;

/// A document with these children of its one target, its one timespan and itself.
fn document(target: &str, span: &str, outside: &str) -> String {
    format!(
        "<Profile>{outside}<TimeSpans><TimeSpan>{span}<Targets><Target><Path>f</Path>{target}</Target></Targets>\
         </TimeSpan></TimeSpans></Profile>"
    )
}

fn read(text: &str) -> Profile {
    read_profile(text.as_bytes(), "p.xml").unwrap_or_else(|faults| panic!("{faults:#?}\n{text}"))
}

fn target(inside: &str) -> Target {
    read(&document(inside, "", "")).time_spans.remove(0).targets.remove(0)
}

fn span(inside: &str) -> TimeSpan {
    read(&document("", inside, "")).time_spans.remove(0)
}

fn profile(inside: &str) -> Profile {
    read(&document("", "", inside))
}

#[test]
fn what_is_not_said_is_as_on_a_command_line() {
    let span = TimeSpan { targets: vec![Target::new("f")], ..TimeSpan::default() };
    assert_eq!(read(&document("", "", "")), Profile { time_spans: vec![span], ..Profile::default() });
}

#[test]
fn every_setting_of_the_profile_is_read() {
    let said = profile(
        "<Verbose>1</Verbose><VerboseStats>true</VerboseStats><Progress>7</Progress>\
         <ExperimentFlags>4294967295</ExperimentFlags><ResultFormat> xml </ResultFormat>\
         <PrecreateFiles>UseMaxSize</PrecreateFiles>\
         <ETW><Process>true</Process><DiskIO>false</DiskIO><UsePerfTimer>true</UsePerfTimer></ETW>",
    );
    let expected = Profile {
        time_spans: said.time_spans.clone(),
        verbose: true,
        verbose_stats: true,
        progress_ios: 7,
        experiment_flags: u32::MAX,
        result_format: ResultFormat::Xml,
        precreate_files: Some(PrecreateFiles::UseMaxSize),
        tracing: Some(Tracing { process: true, use_perf_timer: true, ..Tracing::default() }),
    };
    assert_eq!(said, expected);
    for (word, mode) in [
        ("CreateOnlyFilesWithConstantSizes", PrecreateFiles::OnlyConstantSizes),
        ("CreateOnlyFilesWithConstantOrZeroSizes", PrecreateFiles::OnlyConstantOrZeroSizes),
    ] {
        let text = format!("<PrecreateFiles>{word}</PrecreateFiles>");
        assert_eq!(profile(&text).precreate_files, Some(mode));
    }
}

#[test]
fn tracing_is_on_with_any_child_and_off_without() {
    assert_eq!(profile("<ETW/>").tracing, None);
    assert_eq!(profile("<ETW><Registry>false</Registry></ETW>").tracing, Some(Tracing::default()));
    let all = [
        "Process",
        "Thread",
        "ImageLoad",
        "DiskIO",
        "MemoryPageFaults",
        "MemoryHardFaults",
        "Network",
        "Registry",
        "UsePagedMemory",
        "UsePerfTimer",
        "UseSystemTimer",
        "UseCyclesCounter",
    ];
    let said = all.map(|name| format!("<{name}>true</{name}>")).concat();
    let expected = Tracing {
        process: true,
        thread: true,
        image_load: true,
        disk_io: true,
        memory_page_faults: true,
        memory_hard_faults: true,
        network: true,
        registry: true,
        use_paged_memory: true,
        use_perf_timer: true,
        use_system_timer: true,
        use_cycles_counter: true,
    };
    assert_eq!(profile(&format!("<ETW>{said}</ETW>")).tracing, Some(expected));
}

#[test]
fn every_setting_of_a_timespan_is_read() {
    let said = span(
        "<Duration>0</Duration><Warmup>2</Warmup><Cooldown>3</Cooldown><RandSeed>4294967295</RandSeed>\
         <RandomWriteData>true</RandomWriteData><ThreadCount>5</ThreadCount><RequestCount>6</RequestCount>\
         <DisableAffinity>true</DisableAffinity><CompletionRoutines>true</CompletionRoutines>\
         <CompletionDepth>16</CompletionDepth><BufferSeparation>SystemDefault</BufferSeparation>\
         <MeasureLatency>true</MeasureLatency><CalculateIopsStdDev>true</CalculateIopsStdDev>\
         <IoBucketDuration>250</IoBucketDuration><GroupAffinity>true</GroupAffinity><Linux/>",
    );
    let expected = TimeSpan {
        duration_s: 0,
        warm_up_s: 2,
        cool_down_s: 3,
        random_seed: u32::MAX,
        random_write_data: true,
        thread_count: 5,
        request_count: 6,
        affinity: Affinity { disabled: true, ..Affinity::default() },
        completion_routines: true,
        completion_depth: Some(16),
        measure_latency: true,
        calculate_iops_std_dev: true,
        interval_ms: 250,
        buffer_separation: BufferSeparation::SystemDefault,
        targets: said.targets.clone(),
        ..TimeSpan::default()
    };
    assert_eq!(said, expected);
}

#[test]
fn io_ring_has_defaults_for_what_it_leaves_out() {
    let ring = |inside: &str| span(&format!("<IoRing>{inside}</IoRing>")).io_ring.unwrap();
    assert_eq!(ring(""), IoRing { batch: IoRingBatch::Percent(25), registered_buffers: true });
    assert_eq!(ring("<IoRingBatchSize>65536</IoRingBatchSize>").batch, IoRingBatch::Count(65_536));
    assert_eq!(ring("<IoRingBatchSize Percent='0'>8</IoRingBatchSize>").batch, IoRingBatch::Count(8));
    for percent in ["true", "True", "1"] {
        let text =
            format!("<UseRegBuffer>false</UseRegBuffer><IoRingBatchSize Percent='{percent}'>100</IoRingBatchSize>");
        assert_eq!(ring(&text), IoRing { batch: IoRingBatch::Percent(100), registered_buffers: false });
    }
}

#[test]
fn an_order_of_cpus_is_what_its_attributes_and_its_word_say() {
    let affinity = |text: &str| span(text).affinity;
    let said = affinity("<AffinityTraversal Group='Span' Efficiency='FillEFirst'>CoreAware</AffinityTraversal>");
    assert_eq!(said.traversal, Some(Traversal::CoreAware));
    assert_eq!(said.group_span, Some(GroupSpan::Span));
    assert_eq!(said.efficiency, Some(EfficiencyOrder::FillEfficiencyFirst));
    let unsaid = affinity("<AffinityTraversal>Cpu</AffinityTraversal>");
    assert_eq!((unsaid.traversal, unsaid.group_span, unsaid.efficiency), (Some(Traversal::Cpu), None, None));
    for (word, order) in [
        ("Unordered", EfficiencyOrder::Unordered),
        ("PFirst", EfficiencyOrder::PerformanceFirst),
        ("EFirst", EfficiencyOrder::EfficiencyFirst),
        ("FillPFirst", EfficiencyOrder::FillPerformanceFirst),
    ] {
        let text = format!("<AffinityTraversal Group='Fill' Efficiency='{word}'>Cpu</AffinityTraversal>");
        assert_eq!((affinity(&text).efficiency, affinity(&text).group_span), (Some(order), Some(GroupSpan::Fill)));
    }
}

#[test]
fn lists_of_cpus_have_three_forms() {
    let listed = |inside: &str| {
        let entries = span(&format!("<Affinity>{inside}</Affinity>")).affinity.listed;
        entries.into_iter().map(|AffinityEntry { group, mask }| (group, mask)).collect::<Vec<_>>()
    };
    assert_eq!(
        listed("<Group Group='0' Mask='0xf'/><Group Group='65535' Mask='010'/><Group Group='1' Mask='0'></Group>"),
        [(0, 15), (65_535, 8), (1, 0)]
    );
    assert_eq!(
        listed(
            "<AffinityGroupAssignment Group='0' Processor='1'/><AffinityGroupAssignment Processor='3'/>\
             <AffinityGroupAssignment Group='0' Processor='0'/><AffinityGroupAssignment Group='1'/>"
        ),
        [(0, 0b1010), (0, 1), (1, 1)],
        "CPUs join while they ascend in one group"
    );
    assert_eq!(
        listed("<AffinityAssignment>0</AffinityAssignment><AffinityAssignment> 63 </AffinityAssignment>"),
        [(0, 1 | 1 << 63)]
    );
}

#[test]
fn every_setting_of_a_target_is_read() {
    let said = target(
        "<BlockSize>4096</BlockSize><StrideSize>8192</StrideSize><InterlockedSequential>true</InterlockedSequential>\
         <BaseFileOffset>1</BaseFileOffset><MaxFileSize>18446744073709551615</MaxFileSize><FileSize>0</FileSize>\
         <RequestCount>5</RequestCount><ThreadsPerFile>6</ThreadsPerFile><ThreadStride>7</ThreadStride>\
         <ParallelAsyncIO>true</ParallelAsyncIO><WriteRatio>100</WriteRatio><BurstSize>8</BurstSize>\
         <ThinkTime>9</ThinkTime><MemoryMappedIo>true</MemoryMappedIo><BypassIO>Full</BypassIO>\
         <SequentialScan>true</SequentialScan><RandomAccess>true</RandomAccess><TemporaryFile>true</TemporaryFile>\
         <UseLargePages>true</UseLargePages><IOPriority>1</IOPriority><Weight>0</Weight><Linux></Linux>",
    );
    let expected = Target {
        block_size: Bytes(4096),
        base_offset: Bytes(1),
        max_offset: Bytes(u64::MAX),
        create_size: Some(Bytes(0)),
        alignment: Some(Bytes(8192)),
        interlocked: true,
        parallel: true,
        outstanding: 5,
        threads: 6,
        thread_stride: Bytes(7),
        write_percent: 100,
        burst_ios: Some(8),
        think_time_ms: Some(9),
        memory_mapped: true,
        bypass_io: Some(BypassIo::Full),
        sequential_scan_hint: true,
        random_access_hint: true,
        temporary_hint: true,
        large_pages: true,
        io_priority: IoPriority::VeryLow,
        weight: 0,
        ..Target::new("f")
    };
    assert_eq!(said, expected);
    assert_eq!(target("<BypassIO>Partial</BypassIO>").bypass_io, Some(BypassIo::Partial));
    for (number, priority) in [(0, IoPriority::Normal), (2, IoPriority::Low), (3, IoPriority::Normal)] {
        assert_eq!(target(&format!("<IOPriority>{number}</IOPriority>")).io_priority, priority);
    }
    for (word, flush) in [
        ("ViewOfFile", FlushMode::ViewOfFile),
        ("NonVolatileMemory", FlushMode::NonVolatileMemory),
        ("NonVolatileMemoryNoDrain", FlushMode::NonVolatileMemoryNoDrain),
    ] {
        assert_eq!(target(&format!("<FlushType>{word}</FlushType>")).flush, Some(flush));
    }
}

#[test]
fn random_and_its_share_make_a_target_random() {
    let pattern = |text: &str| {
        let target = target(text);
        (target.random_percent, target.alignment.map(Bytes::get))
    };
    assert_eq!(pattern("<Random>4096</Random>"), (100, Some(4096)));
    assert_eq!(pattern("<Random>0</Random>"), (100, Some(0)));
    assert_eq!(pattern("<RandomRatio>30</RandomRatio><Random>512</Random>"), (30, Some(512)));
    assert_eq!(pattern("<RandomRatio>99</RandomRatio>"), (99, None));
    assert_eq!(pattern("<StrideSize>3</StrideSize>"), (0, Some(3)));
}

#[test]
fn cache_elements_count_in_one_order_wherever_they_stand() {
    let caching = |names: &[&str]| {
        let text: Vec<String> = names.iter().map(|name| format!("<{name}>true</{name}>")).collect();
        let target = target(&text.concat());
        (target.cache_mode, target.write_through)
    };
    assert_eq!(caching(&[]), (CacheMode::Cached, false));
    assert_eq!(caching(&["DisableOSCache"]), (CacheMode::Unbuffered, false));
    assert_eq!(caching(&["DisableAllCache"]), (CacheMode::Unbuffered, true));
    assert_eq!(caching(&["WriteThrough"]), (CacheMode::Cached, true));
    assert_eq!(caching(&["DisableLocalCache", "DisableOSCache"]), (CacheMode::NoLocalCache, false));
    assert_eq!(caching(&["DisableLocalCache", "DisableAllCache"]), (CacheMode::NoLocalCache, true));
    let off = target("<DisableAllCache>false</DisableAllCache><DisableOSCache>0</DisableOSCache>");
    assert_eq!((off.cache_mode, off.write_through), (CacheMode::Cached, false));
}

#[test]
fn rates_have_units() {
    let rate = |text: &str| target(text).throughput;
    assert_eq!(rate("<Throughput>250</Throughput>"), Throughput::BytesPerMs(250));
    assert_eq!(rate("<Throughput unit='BPMS'>250</Throughput>"), Throughput::BytesPerMs(250));
    assert_eq!(rate("<Throughput unit='IOPS'>4294967295</Throughput>"), Throughput::Iops(u32::MAX));
    assert_eq!(rate("<Throughput unit='IOPS'>0</Throughput>"), Throughput::Unlimited);
}

#[test]
fn distributions_are_completed_as_on_a_command_line() {
    let ranges = |kind: &str, inside: &str| {
        let text = format!("<Random>0</Random><Distribution><{kind}>{inside}</{kind}></Distribution>");
        let distribution = target(&text).distribution.unwrap();
        assert_eq!(matches!(distribution, Distribution::Percent(_)), kind == "Percent");
        distribution.ranges().iter().map(|range| (range.io_percent, range.length)).collect::<Vec<_>>()
    };
    assert_eq!(
        ranges("Percent", "<Range IO='80'>5</Range><Range IO='0'>15</Range><Range IO='15'>30</Range>"),
        [(80, 5), (0, 15), (15, 30), (5, 50)]
    );
    assert_eq!(ranges("Percent", "<Range IO='100'>100</Range>"), [(100, 100)]);
    assert_eq!(
        ranges("Absolute", "<Range IO='50'>1073741824</Range><Range IO='50'>0</Range>"),
        [(50, 1 << 30), (50, 0)]
    );
    assert_eq!(ranges("Absolute", "<Range IO='10'>50000</Range>"), [(10, 50_000), (90, 0)]);
}

#[test]
fn write_buffers_hold_a_pattern() {
    let content = |inside: &str| {
        let target = target(&format!("<WriteBufferContent>{inside}</WriteBufferContent>"));
        (target.zero_write_buffers, target.write_source)
    };
    let source = "<RandomDataSource><SizeInBytes>131072</SizeInBytes></RandomDataSource>";
    let named = "<RandomDataSource><FilePath> a&amp;b </FilePath><SizeInBytes>1</SizeInBytes></RandomDataSource>";
    assert_eq!(content("<Pattern>sequential</Pattern>"), (false, None));
    assert_eq!(content("<Pattern>zero</Pattern>"), (true, None));
    assert_eq!(content(&format!("<Pattern>zero</Pattern>{source}")), (true, None));
    let random =
        |size: u64, file: Option<&str>| (false, Some(WriteSource { size: Bytes(size), file: file.map(Into::into) }));
    assert_eq!(content(&format!("{source}<Pattern>random</Pattern>")), random(131_072, None));
    assert_eq!(content(&format!("<Pattern>random</Pattern>{named}")), random(1, Some(" a&b ")));
}

#[test]
fn thread_targets_are_threads_with_weights() {
    let said = target(
        "<ThreadTargets><ThreadTarget><Thread>3</Thread><Weight>60</Weight></ThreadTarget>\
         <ThreadTarget><Thread>1</Thread></ThreadTarget></ThreadTargets>",
    );
    let expected = [ThreadTarget { thread: 3, weight: 60 }, ThreadTarget { thread: 1, weight: 0 }];
    assert_eq!(said.thread_targets, expected);
}

#[test]
fn paths_are_taken_as_they_are() {
    let path = |text: &str| {
        let text = document("", "", "").replace("<Path>f</Path>", &format!("<Path>{text}</Path>"));
        read(&text).time_spans[0].targets[0].path.display().to_string()
    };
    assert_eq!(path(" a b\t"), " a b\t");
    assert_eq!(path("&lt;&amp;&gt;&#xe4;&#13;"), "<&>\u{e4}\r");
    assert_eq!(path("<![CDATA[a<b]]>&amp;c"), "a<b&c");
    assert_eq!(path("a<!-- not this -->b<?nor this?>"), "ab");
    assert_eq!(path("*12"), "*12");
    assert_eq!(path(r"C:\diskspd\a.dat"), r"C:\diskspd\a.dat");
}

#[test]
fn timespans_and_targets_keep_their_order() {
    let text = "<?xml version='1.0' encoding='utf-8'?>\n<!-- two -->\n<Profile><TimeSpans>\
                <TimeSpan><Targets><Target><Path>b</Path></Target><Target><Path>a</Path></Target></Targets></TimeSpan>\
                <TimeSpan><Targets><Target><Path>c</Path></Target></Targets><Duration>1</Duration></TimeSpan>\
                </TimeSpans></Profile>\n";
    let profile = read(text);
    let spans: Vec<(u32, Vec<String>)> = profile
        .time_spans
        .iter()
        .map(|span| (span.duration_s, span.targets.iter().map(|t| t.path.display().to_string()).collect()))
        .collect();
    assert_eq!(spans, [(10, vec!["b".to_owned(), "a".to_owned()]), (1, vec!["c".to_owned()])]);
}

#[test]
fn the_profile_inside_results_is_read() {
    let inside = document("<BlockSize>512</BlockSize>", "", "");
    let text = format!("<Results><System><Tool>x</Tool></System>{inside}<TimeSpan/></Results>");
    assert_eq!(read(&text), read(&inside));
}

#[test]
fn a_note_for_editors_where_the_schema_is_does_not_count() {
    let text = document("", "", "").replacen(
        "<Profile>",
        "<Profile xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:noNamespaceSchemaLocation='diskspd-profile.xsd'>",
        1,
    );
    assert_eq!(read(&text), read(&document("", "", "")));
}
