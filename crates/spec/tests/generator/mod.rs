//! Random profiles: everything that XML can say, sensible or not, in the form in which it comes back
//! from a file.

use model::affinity::AffinityEntry;
use model::limits::{BLOCK_SIZE_BYTES_MAX, COMPLETION_DEPTH_MAX, IO_RING_BATCH_MAX};
use model::plan::EngineKind;
use model::profile::{
    Affinity, BufferSeparation, BypassIo, CacheMode, Distribution, DistributionRange, EfficiencyOrder, EndAfter,
    FlushMode, GroupSpan, IoPriority, IoRing, IoRingBatch, PrecreateFiles, Profile, RateProcess, ResultFormat, Target,
    ThreadTarget, Throughput, TimeSpan, Tracing, Traversal, WriteSource,
};
use model::units::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Any profile.
pub(crate) fn profiles() -> impl Strategy<Value = Profile> {
    let precreate = select(vec![
        PrecreateFiles::UseMaxSize,
        PrecreateFiles::OnlyConstantSizes,
        PrecreateFiles::OnlyConstantOrZeroSizes,
    ]);
    let format = select(vec![ResultFormat::Text, ResultFormat::Xml]);
    let flags = (any::<bool>(), any::<bool>(), any::<u32>(), any::<u32>());
    (vec(time_spans(), 1..4), flags, format, option::of(precreate), option::of(tracing())).prop_map(
        |(time_spans, (verbose, verbose_stats, progress_ios, experiment_flags), result_format, precreate, tracing)| {
            Profile {
                time_spans,
                verbose,
                verbose_stats,
                progress_ios,
                experiment_flags,
                result_format,
                precreate_files: precreate,
                tracing,
            }
        },
    )
}

fn tracing() -> impl Strategy<Value = Tracing> {
    any::<[bool; 12]>().prop_map(|on| Tracing {
        process: on[0],
        thread: on[1],
        image_load: on[2],
        disk_io: on[3],
        memory_page_faults: on[4],
        memory_hard_faults: on[5],
        network: on[6],
        registry: on[7],
        use_paged_memory: on[8],
        use_perf_timer: on[9],
        use_system_timer: on[10],
        use_cycles_counter: on[11],
    })
}

fn time_spans() -> impl Strategy<Value = TimeSpan> {
    let separation = select(vec![BufferSeparation::SystemDefault, BufferSeparation::ThreadOptimized]);
    let issue = (option::of(io_rings()), option::of(1..=COMPLETION_DEPTH_MAX), separation, affinities());
    let limits = [(); 3].map(|()| option::of(1..=u64::MAX));
    let process = select(RateProcess::ALL.to_vec());
    let rate = (option::of(1..=u32::MAX), option::of(process), option::of(1..=u32::MAX));
    (any::<[u32; 7]>(), any::<[bool; 8]>(), option::of(engines()), (limits, rate), issue, vec(targets(), 1..4))
        .prop_map(
            |(
                numbers,
                on,
                engine,
                ([ios, bytes, written_bytes], (rate_iops, rate_process, flush_after_writes)),
                (io_ring, completion_depth, buffer_separation, affinity),
                targets,
            )| TimeSpan {
                duration_s: numbers[0],
                warm_up_s: numbers[1],
                cool_down_s: numbers[2],
                random_seed: numbers[3],
                random_write_data: on[0],
                thread_count: numbers[4],
                request_count: numbers[5],
                affinity,
                completion_routines: on[1],
                io_ring,
                completion_depth,
                measure_latency: on[2],
                calculate_iops_std_dev: on[3],
                interval_ms: numbers[6],
                buffer_separation,
                engine,
                submission_polling: on[4],
                completion_polling: on[5],
                cold: on[6],
                near_device: on[7],
                end_after: EndAfter { ios, bytes, written_bytes },
                rate_iops,
                rate_process,
                flush_after_writes,
                targets,
            },
        )
}

fn engines() -> impl Strategy<Value = EngineKind> {
    select(vec![
        EngineKind::IoUring,
        EngineKind::LinuxAio,
        EngineKind::Synchronous,
        EngineKind::MemoryMapped,
        EngineKind::Null,
    ])
}

fn io_rings() -> impl Strategy<Value = IoRing> {
    let batch =
        prop_oneof![(1..=100_u32).prop_map(IoRingBatch::Percent), (1..=IO_RING_BATCH_MAX).prop_map(IoRingBatch::Count)];
    (batch, any::<bool>()).prop_map(|(batch, registered_buffers)| IoRing { batch, registered_buffers })
}

/// Where affinity is not disabled its order is always written.
fn affinities() -> impl Strategy<Value = Affinity> {
    let traversal = select(vec![Traversal::Cpu, Traversal::CoreAware]);
    let span = select(vec![GroupSpan::Fill, GroupSpan::Span]);
    let efficiency = select(vec![
        EfficiencyOrder::Unordered,
        EfficiencyOrder::PerformanceFirst,
        EfficiencyOrder::EfficiencyFirst,
        EfficiencyOrder::FillPerformanceFirst,
        EfficiencyOrder::FillEfficiencyFirst,
    ]);
    let entry = (any::<u16>(), any::<u64>()).prop_map(|(group, mask)| AffinityEntry { group, mask });
    let ordered =
        (traversal, span, efficiency, vec(entry, 0..4)).prop_map(|(traversal, span, efficiency, listed)| Affinity {
            disabled: false,
            traversal: Some(traversal),
            group_span: Some(span),
            efficiency: Some(efficiency),
            listed,
        });
    prop_oneof![Just(Affinity { disabled: true, ..Affinity::default() }), ordered]
}

fn targets() -> impl Strategy<Value = Target> {
    let path = prop_oneof![
        8 => "[^*\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\u{fffe}\\u{ffff}][^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\u{fffe}\\u{ffff}]{0,20}",
        1 => (1..=u32::MAX).prop_map(|number| format!("*{number}")),
        1 => Just(String::new()),
    ];
    (path, any::<[bool; 7]>(), any::<[u64; 3]>(), counts(), pattern(), caching(), content(), pool()).prop_map(
        |(path, on, sizes, counts, pattern, caching, content, (weight, thread_targets))| {
            let mut target = Target {
                base_offset: Bytes(sizes[0]),
                max_offset: Bytes(sizes[1]),
                thread_stride: Bytes(sizes[2]),
                interlocked: on[0],
                parallel: on[1],
                sequential_scan_hint: on[2],
                random_access_hint: on[3],
                temporary_hint: on[4],
                large_pages: on[5],
                write_through: on[6],
                weight,
                thread_targets,
                ..Target::new(path)
            };
            counts.apply(&mut target);
            (target.random_percent, target.alignment, target.distribution) = pattern;
            (target.cache_mode, target.memory_mapped, target.flush, target.bypass_io) = caching;
            (target.zero_write_buffers, target.write_source) = content;
            // What random I/O has no element for.
            target.interlocked &= target.random_percent == 0;
            target
        },
    )
}

#[derive(Clone, Debug)]
struct Counts {
    block_bytes: u64,
    at_least_one: (u32, u32),
    write_percent: u32,
    optional: (Option<u64>, Option<u32>, Option<u32>),
    throughput: Throughput,
    priority: IoPriority,
}

impl Counts {
    fn apply(&self, target: &mut Target) {
        target.block_size = Bytes(self.block_bytes);
        (target.outstanding, target.threads) = self.at_least_one;
        target.write_percent = self.write_percent;
        target.create_size = self.optional.0.map(Bytes);
        (target.burst_ios, target.think_time_ms) = (self.optional.1, self.optional.2);
        target.throughput = self.throughput;
        target.io_priority = self.priority;
    }
}

fn counts() -> impl Strategy<Value = Counts> {
    let throughput = prop_oneof![
        Just(Throughput::Unlimited),
        (1..=u32::MAX).prop_map(Throughput::BytesPerMs),
        (1..=u32::MAX).prop_map(Throughput::Iops),
    ];
    let priority = select(vec![IoPriority::VeryLow, IoPriority::Low, IoPriority::Normal]);
    let at_least_one = (1..=u32::MAX, 1..=u32::MAX);
    let optional = any::<(Option<u64>, Option<u32>, Option<u32>)>();
    (1..=BLOCK_SIZE_BYTES_MAX, at_least_one, 0..=100_u32, optional, throughput, priority).prop_map(
        |(block_bytes, at_least_one, write_percent, optional, throughput, priority)| Counts {
            block_bytes,
            at_least_one,
            write_percent,
            optional,
            throughput,
            priority,
        },
    )
}

/// A stride or alignment is always written; ranges only of random I/O.
fn pattern() -> impl Strategy<Value = (u32, Option<Bytes>, Option<Distribution>)> {
    let random = (1..=100_u32, 1..=u64::MAX, option::of(distributions()))
        .prop_map(|(percent, alignment, distribution)| (percent, Some(Bytes(alignment)), distribution));
    prop_oneof![(1..=u64::MAX).prop_map(|stride| (0, Some(Bytes(stride)), None)), random]
}

/// Lists that are complete: one that is not gets another range.
fn distributions() -> impl Strategy<Value = Distribution> {
    let range = |(io_percent, length)| DistributionRange { io_percent, length };
    let percent = vec((0..=100_u32, 1..=100_u64).prop_map(range), 0..5).prop_map(|mut ranges| {
        ranges.push(DistributionRange { io_percent: 100, length: 100 });
        Distribution::Percent(ranges)
    });
    let absolute = vec((0..=100_u32, any::<u64>()).prop_map(range), 0..5).prop_map(|mut ranges| {
        ranges.push(DistributionRange { io_percent: 100, length: 0 });
        Distribution::Absolute(ranges)
    });
    prop_oneof![percent, absolute]
}

type Caching = (CacheMode, bool, Option<FlushMode>, Option<BypassIo>);

fn caching() -> impl Strategy<Value = Caching> {
    let mode = select(vec![CacheMode::Cached, CacheMode::NoLocalCache, CacheMode::Unbuffered]);
    let flush = select(vec![FlushMode::ViewOfFile, FlushMode::NonVolatileMemory, FlushMode::NonVolatileMemoryNoDrain]);
    let bypass = select(vec![BypassIo::Partial, BypassIo::Full]);
    (mode, any::<bool>(), option::of(flush), option::of(bypass))
}

/// Zeros and a source exclude each other in XML.
fn content() -> impl Strategy<Value = (bool, Option<WriteSource>)> {
    let source = (any::<u64>(), option::of("[a-z&<> ]{0,8}"))
        .prop_map(|(size, file)| WriteSource { size: Bytes(size), file: file.map(Into::into) });
    prop_oneof![Just((false, None)), Just((true, None)), source.prop_map(|source| (false, Some(source)))]
}

fn pool() -> impl Strategy<Value = (u32, Vec<ThreadTarget>)> {
    let listed = btree_map(any::<u32>(), any::<u32>(), 0..4)
        .prop_map(|weights| weights.into_iter().map(|(thread, weight)| ThreadTarget { thread, weight }).collect());
    (any::<u32>(), listed)
}
