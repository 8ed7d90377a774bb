//! Figures of loads whose parameters are known: made by the generators of this program.

mod loads;

use loads::{Load, events, summarize};
use model::operation::Operation;
use proptest::prelude::*;
use trace::event::{Action, Event, Flags};

fn near(value: f64, expected: f64, share: f64) -> bool {
    (value - expected).abs() <= share * expected
}

#[test]
fn requests_bytes_and_sizes_are_counted() {
    let load = Load { write_percent: 30, ..Load::mixed_sizes() };
    let events = events(&load, 20_000);
    let summary = summarize(&events);
    for operation in Operation::ALL {
        let of: Vec<&Event> = events.iter().filter(|event| event.action == Action::Operation(operation)).collect();
        let volume = summary.volume(operation);
        let bytes = of.iter().map(|event| event.length).sum::<u64>();
        assert_eq!((volume.requests, volume.bytes), (of.len() as u64, bytes));
        for (&size, &count) in &summary.sizes[operation].counts {
            assert_eq!(of.iter().filter(|event| event.length == size).count() as u64, count);
        }
    }
    assert!(near(summary.volume(Operation::Write).requests as f64, 6_000.0, 0.05));
    assert_eq!(summary.operations(), 20_000);
    assert_eq!(
        summary.processes.iter().map(|process| process.reads.requests).sum::<u64>(),
        summary.volume(Operation::Read).requests
    );
}

#[test]
fn zipf_exponents_are_found() {
    for (exponent, requests) in [(0.8, 200_000), (1.1, 200_000), (0.99, 30_000), (2.0, 5_000), (0.4, 200_000)] {
        let load = Load { zipf: Some(exponent), bytes: 1 << 30, ..Load::default() };
        let summary = summarize(&events(&load, requests));
        let fit = summary.skew.expect("enough repeats");
        assert!(near(fit.exponent, exponent, 0.1), "{exponent}: {fit:?}");
        assert!((fit.exponent - exponent).abs() <= 5.0 * fit.error + 0.02, "{exponent}: {fit:?}");
        assert!(fit.is_zipf(), "{exponent}: {fit:?}");
    }
}

#[test]
fn uniform_offsets_have_no_skew() {
    for requests in [30_000, 300_000] {
        let summary = summarize(&events(&Load { bytes: 1 << 28, ..Load::default() }, requests));
        let fit = summary.skew.expect("enough repeats");
        assert!(fit.exponent == 0.0, "{fit:?}");
    }
    // About 95 pairs: just enough, of which chance makes some more.
    for seed in 0..200 {
        let summary = summarize(&events(&Load { bytes: 1 << 34, seed, ..Load::default() }, 20_000));
        assert!(summary.skew.is_none_or(|fit| fit.exponent == 0.0), "{seed}: {:?}", summary.skew);
    }
    // 2^28 positions: about 19 pairs among 100,000 requests.
    let summary = summarize(&events(&Load { bytes: 1 << 40, ..Load::default() }, 100_000));
    assert_eq!(summary.skew, None);
}

#[test]
fn skew_of_more_offsets_than_are_counted_is_found() {
    let load = Load { zipf: Some(0.8), bytes: 1 << 36, ..Load::default() };
    let summary = summarize(&events(&load, 1_000_000));
    assert!(summary.popularity.sampled_share < 1.0, "{}", summary.popularity.sampled_share);
    let fit = summary.skew.expect("enough repeats");
    assert!(near(fit.exponent, 0.8, 0.1), "{fit:?}");
}

#[test]
fn sequential_streams_are_recognized_between_random_requests() {
    // Eight sequential streams of one process, round robin, and every fourth request at random.
    let random = events(&Load { bytes: 1 << 40, ..Load::default() }, 10_000);
    let request = |number: u64| {
        let event = random[number as usize];
        if number % 4 == 3 { event } else { Event { offset: (number % 8) << 41 | (number / 8) << 12, ..event } }
    };
    let summary = summarize(&(0..10_000).map(request).collect::<Vec<_>>());
    assert!(near(summary.sequential_percent(), 75.0, 0.01), "{}", summary.sequential_percent());
    assert!(summarize(&random).sequential_percent() < 0.1);
}

#[test]
fn footprint_and_span_follow_from_offsets() {
    let summary = summarize(&events(&Load { bytes: 1 << 26, ..Load::default() }, 300_000));
    // 16,384 positions of 4 KiB; e^-18 of them are missed.
    assert_eq!((summary.footprint.bytes, summary.footprint.granule_bytes), (1 << 26, 4096));
    assert_eq!((summary.span_bytes(), summary.popularity.alignment), (1 << 26, 4096));
}

#[test]
fn arrivals_are_regular_or_random() {
    let regular = summarize(&events(&Load { rate: Some((5_000, "constant")), ..Load::default() }, 50_000)).arrivals;
    assert!(near(regular.mean_iops, 5_000.0, 0.01) && regular.variation < 0.01, "{regular:?}");
    assert!(regular.bursts.is_none() && regular.dispersions[2].index.is_some_and(|index| index < 0.01));
    let poisson = summarize(&events(&Load { rate: Some((5_000, "poisson")), ..Load::default() }, 50_000)).arrivals;
    assert!(near(poisson.mean_iops, 5_000.0, 0.02) && near(poisson.variation, 1.0, 0.03), "{poisson:?}");
    assert!(poisson.bursts.is_none(), "{poisson:?}");
    for dispersion in &poisson.dispersions[..3] {
        assert!(dispersion.index.is_some_and(|index| near(index, 1.0, 0.4)), "{dispersion:?}");
    }
}

#[test]
fn depth_is_weighted_by_time() {
    // 2 requests in flight for 60 ns of 100, 1 for 20, none for 20.
    let event = |issue_ns, latency_ns| Event {
        issue_ns,
        latency_ns: Some(latency_ns),
        device: 0,
        process: 0,
        offset: 0,
        length: 4096,
        action: Action::Operation(Operation::Read),
        flags: Flags::default(),
    };
    let cycle = |number: u64| [event(number * 100, 80), event(number * 100, 60)];
    let summary = summarize(&(0..1001).flat_map(cycle).collect::<Vec<_>>());
    let depth = summary.depth.expect("completions");
    assert!(near(depth.mean, 1.4, 0.001) && near(depth.idle, 0.2, 0.001), "{depth:?}");
    assert_eq!((depth.p50, depth.p99, depth.max), (2, 2, 2));
    let latencies = summary.actions[0].latencies.expect("completions");
    assert_eq!((latencies.p50_ns, latencies.p99_ns, latencies.max_ns, latencies.mean_ns), (60, 80, 80, 70.0));
    let without = Event { latency_ns: None, ..event(0, 0) };
    assert_eq!(summarize(&[without]).depth, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_requests_have_figures(seed in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u64>(), 0_usize..6, prop::option::of(any::<u64>())), 0..20)) {
        let mut now_ns = 0;
        let request = |(gap, offset, length, action, latency_ns): (u32, u64, u64, usize, Option<u64>)| {
            now_ns += u64::from(gap);
            let action = Action::ALL[action];
            Event { issue_ns: now_ns, latency_ns, device: gap % 3, process: gap % 5, offset, length, action, flags: Flags::default() }
        };
        let events: Vec<Event> = seed.into_iter().map(request).collect();
        let summary = summarize(&events);
        let requests: u64 = summary.actions.iter().map(|action| action.volume.requests).sum();
        prop_assert_eq!(requests, events.len() as u64);
        prop_assert!(summary.sequential_requests <= summary.operations());
    }
}
