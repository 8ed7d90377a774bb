//! Loads of this program become traces, and the closest load to each trace has their parameters.

mod loads;

use loads::{Load, events, summarize};
use model::operation::{Operation, Shares};
use model::profile::{FlushCall, RateBursts, RateProcess, SizeMix, SkewLaw};
use proptest::prelude::*;
use trace::event::{Action, Event};
use trace::fit::{Fit, Outcome, Pace, Property};
use trace::summary::Summarizer;

fn fit(load: &Load, requests: u64) -> Fit {
    Fit::new(&summarize(&events(load, requests))).expect("requests")
}

fn outcome(fit: &Fit, property: Property) -> Outcome {
    fit.rows.iter().find(|row| row.property == property).expect("a row for each property").outcome
}

fn near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 0.1 * expected
}

fn percent_of(mix: Option<&SizeMix>, size: u64) -> u32 {
    let shares = mix.expect("a mix").shares();
    shares.iter().find(|share| share.bytes(4096) == size).map_or(0, |share| share.percent)
}

#[test]
fn mixed_sizes_reads_and_writes_are_found() {
    let load = Load { write_percent: 30, ..Load::mixed_sizes() };
    let fit = fit(&load, 50_000);
    for mix in [&fit.load.read_sizes, &fit.load.write_sizes] {
        for (size, percent) in [(4096, 60), (8192, 30), (65_536, 10)] {
            assert!(percent_of(mix.as_ref(), size).abs_diff(percent) <= 1, "{mix:?}");
        }
        assert_eq!(mix.as_ref().map(|mix| mix.shares().len()), Some(3));
    }
    let Shares { discard_percent, write_zeroes_percent, write_percent } = fit.load.shares;
    assert!((discard_percent, write_zeroes_percent) == (0, 0) && write_percent.abs_diff(30) <= 1);
    assert_eq!((fit.load.random_percent, &fit.load.sizes), (100, &None));
    assert_eq!(outcome(&fit, Property::Sizes), Outcome::Kept);
    // Multiples of 64 KiB have requests of all sizes, which is not skew.
    assert_eq!((fit.load.skew, fit.load.alignment), (None, None));
}

#[test]
fn skew_and_working_set_are_found() {
    for exponent in [0.8, 1.1] {
        let load = Load { zipf: Some(exponent), ..Load::default() };
        let fit = fit(&load, 200_000);
        let skew = fit.load.skew.expect("skew");
        assert!(skew.law == SkewLaw::Zipf && near(skew.parameter.value(), exponent), "{skew:?}");
        assert!(near(fit.load.target_bytes as f64, load.bytes as f64), "{}", fit.load.target_bytes);
        assert_eq!((fit.load.alignment, outcome(&fit, Property::Skew)), (None, Outcome::Kept));
    }
    let uniform = fit(&Load { bytes: 1 << 28, ..Load::default() }, 100_000);
    assert_eq!((uniform.load.skew, outcome(&uniform, Property::Skew)), (None, Outcome::Kept));
}

#[test]
fn sequential_shares_are_found() {
    for percent in [0, 20, 50, 100] {
        let load = Load { random_percent: percent, bytes: 1 << 36, ..Load::default() };
        assert!(fit(&load, 50_000).load.random_percent.abs_diff(percent) <= 1, "{percent}");
    }
}

#[test]
fn rates_and_depths_are_found() {
    let fit_of = |rate| fit(&Load { rate, ..Load::default() }, 50_000).load.pace;
    let Pace::Rate { iops, process: RateProcess::Poisson, .. } = fit_of(Some((5_000, "poisson"))) else {
        panic!("not random")
    };
    assert!(near(f64::from(iops), 5_000.0));
    let constant = fit_of(Some((2_000, "constant")));
    assert!(matches!(constant, Pace::Rate { iops: 2_000, process: RateProcess::Constant, .. }), "{constant:?}");
    for depth in [1, 16] {
        assert_eq!(fit(&Load { depth, ..Load::default() }, 20_000).load.pace, Pace::Depth(depth as u32));
    }
}

#[test]
fn bursts_of_a_rate_are_found() {
    for process in ["bursts:100ms,900ms,5", "bursts:100ms,900ms,10", "bursts:20ms,30ms,2.5"] {
        let RateProcess::Bursts(expected) = RateProcess::parse(process).expect("a process") else {
            panic!("{process}")
        };
        let fit = fit(&Load { rate: Some((3_000, process)), ..Load::default() }, 60_000);
        let Pace::Rate { iops, process: RateProcess::Bursts(found), .. } = fit.load.pace else {
            panic!("{process}: {:?}", fit.load.pace)
        };
        let RateBursts { on_ns, off_ns, factor } = found;
        assert!(near(f64::from(iops), 3_000.0), "{process}: {iops}");
        assert!(near(on_ns as f64, expected.on_ns as f64) && near(off_ns as f64, expected.off_ns as f64), "{found:?}");
        assert!(near(factor.value(), expected.factor.value()), "{found:?}");
        assert_eq!(outcome(&fit, Property::Arrivals), Outcome::Kept);
    }
}

#[test]
fn bursts_with_pauses_are_found() {
    for (ios, pause_ns) in [(8, 5_000_000), (64, 20_000_000), (1000, 100_000_000)] {
        let fit = fit(&Load { burst: Some((ios, pause_ns)), ..Load::default() }, 50_000);
        let Pace::Bursts { ios: found, pause_ms, .. } = fit.load.pace else { panic!("{ios}: {:?}", fit.load.pace) };
        assert!(near(f64::from(found), f64::from(ios)) && near(f64::from(pause_ms), pause_ns as f64 / 1e6));
    }
}

#[test]
fn flushes_and_what_is_lost_are_named() {
    let mut summarizer = Summarizer::default();
    for (number, event) in events(&Load { write_percent: 100, ..Load::default() }, 8_000).into_iter().enumerate() {
        summarizer.add(&Event { device: (number % 2) as u32, process: (number % 3) as u32, ..event });
        if number % 8 == 7 {
            summarizer.add(&Event { action: Action::Flush(FlushCall::Fdatasync), offset: 0, length: 0, ..event });
        }
    }
    let fit = Fit::new(&summarizer.finish()).expect("requests");
    assert_eq!(fit.load.flush_after_writes, Some((8, FlushCall::Fdatasync)));
    for property in [Property::Devices, Property::Processes, Property::Order] {
        assert_eq!(outcome(&fit, property), Outcome::Lost);
    }
    assert_eq!(Fit::new(&Summarizer::default().finish()), None);
}

#[test]
fn what_a_load_can_only_approximate_is_named() {
    let uniform = events(&Load { bytes: 1 << 28, ..Load::default() }, 100_000);
    let fit_changed = |change: &dyn Fn(u64, Event) -> Event| {
        let changed: Vec<Event> = (0..).zip(&uniform).map(|(number, event)| change(number, *event)).collect();
        Fit::new(&summarize(&changed)).expect("requests")
    };
    // Half of the requests for one offset.
    let hot = fit_changed(&|number, event| if number % 2 == 0 { Event { offset: 1 << 20, ..event } } else { event });
    assert_eq!(outcome(&hot, Property::Skew), Outcome::Approximated);
    assert!(hot.load.skew.is_some());
    // Two requests far away.
    let sparse = fit_changed(&|number, event| if number < 2 { Event { offset: number << 40, ..event } } else { event });
    assert_eq!(outcome(&sparse, Property::WorkingSet), Outcome::Approximated);
    assert!(near(sparse.load.target_bytes as f64, f64::from(1 << 28)), "{}", sparse.load.target_bytes);
    // Forty sizes.
    let sizes = fit_changed(&|number, event| Event { length: 4096 * (1 + number % 40), ..event });
    assert_eq!(outcome(&sizes, Property::Sizes), Outcome::Approximated);
    // Gaps with a Pareto distribution: neither regular, random nor in bursts.
    let (mut now_ns, mut rng) = (0, hot::rng::Rng::new(5));
    let mut next_ns = || {
        now_ns += 2_000_000_000 / (1 + rng.below(1_000_000));
        now_ns
    };
    let issues_ns: Vec<u64> = uniform.iter().map(|_| next_ns()).collect();
    let heavy = fit_changed(&|number, event| Event { issue_ns: issues_ns[number as usize], latency_ns: None, ..event });
    assert_eq!(outcome(&heavy, Property::Arrivals), Outcome::Lost);
    // No times at all, as in logs of fio of version 2.
    let untimed = fit_changed(&|_, event| Event { issue_ns: 0, latency_ns: None, ..event });
    assert_eq!((untimed.load.pace, outcome(&untimed, Property::Rate)), (Pace::Depth(1), Outcome::Lost));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random_mixes_of_sizes_are_found(percents in prop::collection::vec(1_u32..30, 2..16), seed: u64) {
        let sum: u32 = percents.iter().sum();
        prop_assume!(sum < 100);
        let mut sizes: Vec<(u32, u32)> = (12_u32..).zip(&percents).map(|(bits, &percent)| (1 << bits, percent)).collect();
        sizes[0].1 += 100 - sum;
        let fit = fit(&Load { sizes: sizes.clone(), seed, bytes: 1 << 34, ..Load::default() }, 20_000);
        for (size, percent) in sizes {
            // Four standard deviations of a share of 20,000 requests, and rounding.
            prop_assert!(percent_of(fit.load.read_sizes.as_ref(), u64::from(size)).abs_diff(percent) <= 2);
        }
    }

    #[test]
    fn any_requests_have_a_load(
        requests in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u64>(), 0_usize..4), 1..20)
    ) {
        let (mut summarizer, mut now_ns) = (Summarizer::default(), 0);
        for (gap, offset, length, operation) in requests {
            now_ns += u64::from(gap);
            let action = Action::Operation(Operation::ALL[operation]);
            let latency_ns = (gap % 2 == 0).then_some(offset);
            let flags = trace::event::Flags::default();
            summarizer.add(&Event { issue_ns: now_ns, latency_ns, device: 0, process: 0, offset, length, action, flags });
        }
        let fit = Fit::new(&summarizer.finish()).expect("requests");
        let mixes = [&fit.load.read_sizes, &fit.load.write_sizes, &fit.load.sizes];
        prop_assert!(mixes.into_iter().any(Option::is_some));
        prop_assert_eq!(fit.rows.len(), 11);
    }
}
