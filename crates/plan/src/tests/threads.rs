//! Threads, their targets, CPUs and engines.

use crate::Choices;
use crate::fixture::{facts, planned, profile, refusals, span, target, theirs};
use model::engine_kind::EngineKind;
use model::facts::{Availability, Facts, TargetKind};
use model::plan::{Assignment, TimeSpanPlan, WorkerPlan};
use model::profile::{IoRing, Target, ThreadTarget, TimeSpan};
use model::units::Bytes;

fn machine() -> Facts {
    facts(["a", "b", "c"].map(|path| (path, TargetKind::Regular(theirs(1, 1 << 30)))))
}

fn plan_of(time_span: TimeSpan) -> TimeSpanPlan {
    planned(&profile(time_span), &machine()).time_spans.remove(0)
}

fn with(path: &str, threads: u32, outstanding: u32) -> Target {
    target(path, |target| (target.threads, target.outstanding) = (threads, outstanding))
}

/// Thread number, target and relative number, target by target.
fn assignments_of(workers: &[WorkerPlan]) -> Vec<(u32, usize, u32)> {
    let assignments = |worker: &WorkerPlan| {
        let thread = worker.thread;
        worker.targets.iter().map(move |target| (thread, target.target, target.relative_thread)).collect::<Vec<_>>()
    };
    workers.iter().flat_map(assignments).collect()
}

#[test]
fn threads_per_target_are_numbered_in_target_order() {
    let plan = plan_of(span([with("a", 2, 1), with("b", 1, 1), with("c", 2, 8)]));
    assert_eq!(assignments_of(&plan.workers), [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 2, 0), (4, 2, 1)]);
    assert_eq!(plan.workers.iter().map(|worker| worker.slots).collect::<Vec<_>>(), [1, 1, 1, 8, 8]);
    assert!(plan.workers.iter().all(|worker| worker.assignment == Assignment::Fixed));
    assert_eq!(
        plan.workers.iter().map(|worker| (worker.seed, worker.stream)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]
    );
}

#[test]
fn threads_take_cpus_in_turn_unless_they_are_not_bound() {
    let cpus = |time_span| plan_of(time_span).workers.iter().map(|worker| worker.cpu).collect::<Vec<_>>();
    let six = span([with("a", 6, 1)]);
    assert_eq!(cpus(six.clone()), [0, 1, 2, 3, 0, 1].map(Some));
    let mut free = six;
    free.affinity.disabled = true;
    assert_eq!(cpus(free.clone()), [None; 6]);
    assert_eq!(plan_of(free).effective_affinity, None);
}

#[test]
fn buffers_are_counted_and_separated_in_pages_of_the_machine() {
    let plan_with = |page_kib: u64, block_kib: u32| {
        let mut machine = machine();
        machine.system.page_size_bytes = page_kib << 10;
        let change =
            |target: &mut Target| (target.block_size, target.write_percent) = (Bytes(u64::from(block_kib) << 10), 50);
        let overwrite = Choices { overwrite: true, ..Choices::default() };
        let plan = crate::plan(&profile(span([target("a", change)])), &machine, &overwrite).expect("a plan");
        let plan = &plan.time_spans[0];
        (plan.memory.buffers >> 10, plan.buffer_separation_bytes >> 20)
    };
    // A half for reads and one for writes, and a page of page-table entries.
    assert_eq!([4, 16, 64].map(|page| plan_with(page, 4)), [(8 + 4, 16), (16 + 16, 256), (64 + 64, 4096)]);
    assert_eq!([4, 16, 64].map(|page| plan_with(page, 64).0), [128 + 4, 128 + 16, 128 + 64]);
}

#[test]
fn a_pool_serves_every_target_from_every_thread() {
    let time_span = TimeSpan { thread_count: 2, ..span([with("a", 1, 3), with("b", 1, 4)]) };
    let plan = plan_of(time_span);
    assert_eq!(assignments_of(&plan.workers), [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]);
    for worker in &plan.workers {
        assert_eq!((worker.slots, &worker.assignment), (7, &Assignment::Fixed));
        assert_eq!(worker.targets.iter().map(|target| target.slots).collect::<Vec<_>>(), [3, 4]);
    }
}

#[test]
fn a_pool_with_requests_chooses_by_weight_among_the_targets_of_each_thread() {
    let mut a = with("a", 1, 3);
    a.weight = 5;
    let mut b = with("b", 1, 4);
    b.weight = 2;
    b.thread_targets = vec![ThreadTarget { thread: 1, weight: 9 }, ThreadTarget { thread: 2, weight: 0 }];
    let plan = plan_of(TimeSpan { thread_count: 3, request_count: 8, ..span([a, b]) });
    let weights =
        |worker: &WorkerPlan| worker.targets.iter().map(|t| (t.target, t.weight, t.slots)).collect::<Vec<_>>();
    assert_eq!(
        plan.workers.iter().map(weights).collect::<Vec<_>>(),
        [vec![(0, 5, 8)], vec![(0, 5, 8), (1, 9, 8)], vec![(0, 5, 8), (1, 2, 8)]]
    );
    assert!(plan.workers.iter().all(|worker| worker.slots == 8 && worker.assignment == Assignment::Weighted));
}

#[test]
fn a_thread_without_a_target_is_refused() {
    let mut only = with("a", 1, 1);
    only.thread_targets = vec![ThreadTarget { thread: 1, weight: 0 }];
    let time_span = TimeSpan { thread_count: 2, request_count: 1, ..span([only]) };
    let refused = refusals(&profile(time_span), &machine(), &Choices::default());
    assert_eq!(refused, [(3, "thread 0 of -F2 has no target: no ThreadTarget names it".to_owned())]);
}

#[test]
fn more_requests_than_a_ring_holds_are_refused() {
    let time_span = TimeSpan { thread_count: 1, ..span([with("a", 1, 65_536), with("b", 1, 1)]) };
    let refused = refusals(&profile(time_span), &machine(), &Choices::default());
    assert!(refused[0].0 == 3 && refused[0].1.contains("65537 I/Os outstanding"), "{refused:?}");
    assert_eq!(refusals(&profile(span([with("a", 1, 0)])), &machine(), &Choices::default()).len(), 1);
    assert_eq!(refusals(&profile(span([with("a", 0, 1)])), &machine(), &Choices::default()).len(), 1);
}

#[test]
fn one_request_is_done_synchronously_and_more_with_a_ring() {
    let engines = |time_span| plan_of(time_span).workers.iter().map(|worker| worker.engine.kind).collect::<Vec<_>>();
    let (synchronous, ring) = (EngineKind::Synchronous, EngineKind::IoUring);
    assert_eq!(engines(span([with("a", 1, 1), with("b", 1, 2)])), [synchronous, ring]);
    let pool = |targets: Vec<Target>, count, requests| TimeSpan {
        thread_count: count,
        request_count: requests,
        ..span(targets)
    };
    assert_eq!(engines(pool(vec![with("a", 1, 1)], 1, 0)), [synchronous]);
    assert_eq!(engines(pool(vec![with("a", 1, 1), with("b", 1, 1)], 1, 0)), [ring]);
    assert_eq!(engines(pool(vec![with("a", 1, 1), with("b", 1, 1)], 1, 1)), [synchronous]);
}

#[test]
fn without_io_uring_aio_takes_its_place_and_a_wish_for_a_ring_is_refused() {
    let mut facts = machine();
    facts.system.io_uring = Availability::Unavailable { cause: "EPERM".to_owned() };
    assert!(refusals(&profile(span([with("a", 4, 1)])), &facts, &Choices::default()).is_empty());
    let several = span([with("a", 4, 2), with("b", 4, 9)]);
    let plan = planned(&profile(several.clone()), &facts);
    assert!(plan.time_spans[0].workers.iter().all(|worker| worker.engine.kind == EngineKind::LinuxAio));
    assert_eq!(plan.notes.len(), 1, "it is said once: {:?}", plan.notes);
    let ring = TimeSpan { io_ring: Some(IoRing::default()), ..several.clone() };
    let refused = refusals(&profile(ring), &facts, &Choices::default());
    assert_eq!(refused.len(), 1, "it is said once: {refused:?}");
    assert_eq!(refused[0].0, 1);
    let null = TimeSpan { engine: Some(EngineKind::Null), ..several };
    assert!(refusals(&profile(null), &facts, &Choices::default()).is_empty());
}

#[test]
fn affinity_and_memory_are_judged_together_with_the_files() {
    let mut facts = machine();
    facts.system.memory.available_bytes = 1 << 20;
    let mut time_span = span([with("a", 2, 32)]);
    time_span.affinity.listed = vec![model::affinity::AffinityEntry::whole_group(7)];
    let mut several = profile(time_span.clone());
    several.time_spans.push(time_span);
    let refused = refusals(&several, &facts, &Choices::default());
    let lines: Vec<String> = refused.iter().map(|(status, message)| format!("{status} {message}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
        3 timespan 1: -a names processor group 7, but the last group of this machine is 0 (group = CPU number / 64)
        1 timespan 1: 4.18MiB of memory needed (I/O buffers 4.01MiB, intervals, time series and interval histograms 14.06KiB, threads 157.5KiB); 1MiB is available, of which 90% may be used. Lower -o, -b, -t or -F, or -Z<size>
        3 timespan 2: -a names processor group 7, but the last group of this machine is 0 (group = CPU number / 64)
        1 timespan 2: 4.18MiB of memory needed (I/O buffers 4.01MiB, intervals, time series and interval histograms 14.06KiB, threads 157.5KiB); 1MiB is available, of which 90% may be used. Lower -o, -b, -t or -F, or -Z<size>
        "#);
}

#[test]
fn memory_is_counted_by_kind() {
    let mut time_span = TimeSpan { measure_latency: true, calculate_iops_std_dev: true, ..span([with("a", 2, 16)]) };
    time_span.targets[0].block_size = Bytes(4096);
    let read_only = plan_of(time_span.clone()).memory;
    // 16 blocks and a page of page tables for each thread.
    assert_eq!(read_only.buffers, 2 * 17 * 4096);
    // A table for the reads, and two for those with two kinds of times.
    assert_eq!(read_only.latency_buckets, 2 * 3 * 440 * 1024);
    // Records of ten intervals, and tables, queue and slowest I/Os of a section for each thread; the series.
    let each = 10 * (160 + size_of::<model::record::IntervalRecord>() as u64) + (165 << 10) + (320 << 10) + 3200;
    // Ten sections of both threads.
    let sums = 10 * 2 * (size_of::<model::record::SectionCounts>() as u64 + 2 * 700);
    // Readings of one device at the start and after each second.
    let reading = size_of::<model::record::CounterReading>() + 64 + size_of::<model::kernel_counters::DeviceCounters>();
    assert_eq!(read_only.intervals, 2 * each + 100 * 144 + sums + 11 * reading as u64);
    time_span.targets[0].write_percent = 50;
    let facts = facts([("a", TargetKind::Regular(crate::fixture::ours(1, 1 << 30, model::facts::Fill::Ramp)))]);
    let mixed = planned(&profile(time_span), &facts).time_spans[0].memory;
    assert_eq!(mixed.buffers, 2 * 33 * 4096);
    assert_eq!(mixed.latency_buckets, 2 * 4 * 440 * 1024);
}
