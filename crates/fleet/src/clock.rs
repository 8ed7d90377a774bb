//! Offset of an agent's monotonic clock from the controller's: an estimate with a bound.
//!
//! The controller notes when it sends (`t0`) and when it receives the answer (`t3`), the agent when it receives the
//! message (`t1`) and when it answers (`t2`). The agent received the message at some time after `t0`, and `t2 - t1`
//! before some time before `t3`. So the difference is between `t2 - t3` and `t1 - t0`, however the delay is distributed
//! over the two directions. Of many exchanges the one with the shortest round trip has the narrowest bound. Two groups
//! of them, before and after a load, give a line, because no two clocks run equally fast.

use model::fleet::ClockOffset;

/// Exchanges of a group.
pub const EXCHANGES: usize = 40;
/// Maximum relative drift of two clocks that are both adjusted, per mille: NTP slews by up to 500 ppm.
const SLEW_PER_MILLE: i128 = 1;
/// Allowance for an unknown drift, in parts per million.
const UNKNOWN_DRIFT_PPM: i128 = 100;

/// One message and its answer; times in nanoseconds of monotonic clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The controller sent.
    pub sent_ns: u64,
    /// The agent received it, by its own clock.
    pub agent_received_ns: u64,
    /// The agent answered, by its own clock.
    pub agent_sent_ns: u64,
    /// The controller received the answer.
    pub received_ns: u64,
}

/// The estimate of one group of exchanges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the measurement, by the controller's clock, in nanoseconds.
    pub at_ns: u64,
    /// The agent's clock minus the controller's, in nanoseconds.
    pub offset_ns: i64,
    /// Maximum error of the offset, in nanoseconds.
    pub uncertainty_ns: u64,
    /// The round trip of the best exchange, without the agent's own time.
    pub round_trip_ns: u64,
}

impl Exchange {
    /// The estimate of this exchange; `None` if the four times contradict each other.
    fn sample(&self) -> Option<Sample> {
        let [t0, t1, t2, t3] =
            [self.sent_ns, self.agent_received_ns, self.agent_sent_ns, self.received_ns].map(i128::from);
        let round_trip = (t3 - t0) - (t2 - t1);
        if t3 < t0 || t2 < t1 || round_trip < 0 {
            return None;
        }
        // The agent's clock may have run slower or faster during the exchange.
        let slew = (t3 - t0) * SLEW_PER_MILLE / 1000;
        Some(Sample {
            at_ns: self.sent_ns + (self.received_ns - self.sent_ns) / 2,
            offset_ns: i64::try_from(((t1 - t0) + (t2 - t3)).div_euclid(2)).ok()?,
            uncertainty_ns: u64::try_from(round_trip / 2 + slew + 1).ok()?,
            round_trip_ns: u64::try_from(round_trip).ok()?,
        })
    }
}

/// The sample of the exchange with the shortest round trip; `None` if there is no valid one.
pub fn estimate(exchanges: &[Exchange]) -> Option<Sample> {
    exchanges.iter().filter_map(Exchange::sample).min_by_key(|sample| sample.uncertainty_ns)
}

/// The difference at a time of the controller's clock (the start of the load), from the samples before and after the load.
pub fn offset_at(at_ns: u64, before: Sample, after: Option<Sample>) -> ClockOffset {
    let since = i128::from(at_ns) - i128::from(before.at_ns);
    let round_trip_ns = after.map_or(before.round_trip_ns, |after| after.round_trip_ns.min(before.round_trip_ns));
    let line = after.filter(|after| after.at_ns > before.at_ns);
    let Some(after) = line else {
        let drifted = since.abs() * UNKNOWN_DRIFT_PPM / 1_000_000;
        return ClockOffset {
            offset_ns: before.offset_ns,
            uncertainty_ns: before.uncertainty_ns.saturating_add(u64::try_from(drifted).unwrap_or(u64::MAX)),
            drift_ppb: None,
            round_trip_ns,
        };
    };
    let (rise, run) = (
        i128::from(after.offset_ns) - i128::from(before.offset_ns),
        i128::from(after.at_ns) - i128::from(before.at_ns),
    );
    let offset = i128::from(before.offset_ns).saturating_add(rise.saturating_mul(since) / run);
    // Between two points of a line the error is at most that of the worse one; beyond them it grows with the line.
    let beyond = (-since).max(since - run).max(0);
    let both = i128::from(before.uncertainty_ns) + i128::from(after.uncertainty_ns);
    let uncertainty =
        i128::from(before.uncertainty_ns.max(after.uncertainty_ns)) + both.saturating_mul(beyond) / run + 1;
    ClockOffset {
        offset_ns: saturated(offset),
        uncertainty_ns: u64::try_from(uncertainty).unwrap_or(u64::MAX),
        drift_ppb: Some(saturated(rise.saturating_mul(1_000_000_000) / run)),
        round_trip_ns,
    }
}

/// Converts a time of the controller's clock to the agent's.
pub fn agent_time(controller_ns: u64, sample: Sample) -> u64 {
    u64::try_from((i128::from(controller_ns) + i128::from(sample.offset_ns)).max(0)).unwrap_or(u64::MAX)
}

fn saturated(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Milliseconds since 1970; 0 before.
pub(crate) fn unix_ms() -> u64 {
    u64::try_from(sys::clock::realtime_ns() / 1_000_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: i64 = 3_600_000_000_000;

    /// Two clocks: the agent's is `offset` ahead at the controller's time `origin` and gains `ppb`.
    #[derive(Clone, Copy, Debug)]
    struct Clocks {
        origin: u64,
        offset: i64,
        ppb: i64,
    }

    impl Clocks {
        fn difference(self, at: u64) -> i64 {
            self.offset + ((i128::from(at) - i128::from(self.origin)) * i128::from(self.ppb) / 1_000_000_000) as i64
        }

        fn agent(self, at: u64) -> u64 {
            at.checked_add_signed(self.difference(at)).unwrap()
        }
    }

    /// Delays of one exchange: there, at the agent, back; `None` = lost.
    type Delays = Option<(u64, u64, u64)>;

    fn group(clocks: Clocks, mut now: u64, delays: &[Delays]) -> Vec<Exchange> {
        let mut exchanges = Vec::new();
        for delay in delays {
            if let Some((there, hold, back)) = delay {
                let (arrived, left, done) = (now + there, now + there + hold, now + there + hold + back);
                exchanges.push(Exchange {
                    sent_ns: now,
                    agent_received_ns: clocks.agent(arrived),
                    agent_sent_ns: clocks.agent(left),
                    received_ns: done,
                });
                now = done;
            }
            now += 1_000;
        }
        exchanges
    }

    fn delays() -> impl Strategy<Value = Vec<Delays>> {
        // From a fast local network to a second on one way only.
        let way = prop_oneof![10_000_u64..200_000, 10_000_u64..50_000_000, 10_000_u64..1_000_000_000];
        let one = prop_oneof![
            4 => (way.clone(), 0_u64..2_000_000, way).prop_map(Some),
            1 => Just(None),
        ];
        prop::collection::vec(one, 1..EXCHANGES)
    }

    fn clocks() -> impl Strategy<Value = Clocks> {
        (prop_oneof![-100 * HOUR..100 * HOUR, -1_000_000_i64..1_000_000], -300_000_i64..300_000)
            .prop_map(|(offset, ppb)| Clocks { origin: 1_000 * HOUR as u64, offset, ppb })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_true_difference_lies_inside(clocks in clocks(), delays in delays()) {
            if let Some(sample) = estimate(&group(clocks, clocks.origin, &delays)) {
                let wrong = sample.offset_ns.abs_diff(clocks.difference(sample.at_ns));
                prop_assert!(wrong <= sample.uncertainty_ns, "{wrong} > {}", sample.uncertainty_ns);
            } else {
                prop_assert!(delays.iter().all(Option::is_none), "a measurement was thrown away");
            }
        }

        #[test]
        fn the_line_holds_from_the_first_to_the_second_group(
            clocks in clocks(), first in delays(), second in delays(), seconds in 1_u64..100_000, share in 0.0_f64..1.0
        ) {
            let before = estimate(&group(clocks, clocks.origin, &first));
            let after = estimate(&group(clocks, clocks.origin + 100_000_000_000 + seconds * 1_000_000_000, &second));
            let (Some(before), Some(after)) = (before, after) else { return Ok(()) };
            let at = before.at_ns + ((after.at_ns - before.at_ns) as f64 * share) as u64;
            let offset = offset_at(at, before, Some(after));
            let wrong = offset.offset_ns.abs_diff(clocks.difference(at));
            prop_assert!(wrong <= offset.uncertainty_ns, "{wrong} > {}", offset.uncertainty_ns);
            let drift = offset.drift_ppb.unwrap();
            let bound = (before.uncertainty_ns + after.uncertainty_ns) as f64 * 1e9 / (after.at_ns - before.at_ns) as f64;
            prop_assert!(drift.abs_diff(clocks.ppb) as f64 <= bound + 2.0, "{drift} for {}, ± {bound}", clocks.ppb);
        }

        #[test]
        fn the_start_of_the_load_is_soon_after_one_group(ppb in -100_000_i64..100_000, offset in -HOUR..HOUR, delays in delays()) {
            let clocks = Clocks { origin: 1_000 * HOUR as u64, offset, ppb };
            if let Some(before) = estimate(&group(clocks, clocks.origin, &delays)) {
                let at = before.at_ns + 20_000_000_000;
                let offset = offset_at(at, before, None);
                prop_assert!(offset.offset_ns.abs_diff(clocks.difference(at)) <= offset.uncertainty_ns + 1);
                prop_assert_eq!(offset.drift_ppb, None);
            }
        }

        #[test]
        fn no_answer_of_an_agent_breaks_the_arithmetic(
            times in prop::collection::vec(any::<[u64; 4]>(), 0..8), at in any::<u64>()
        ) {
            let exchanges: Vec<Exchange> = times
                .iter()
                .map(|&[sent_ns, agent_received_ns, agent_sent_ns, received_ns]| Exchange {
                    sent_ns, agent_received_ns, agent_sent_ns, received_ns,
                })
                .collect();
            let (one, two) = exchanges.split_at(exchanges.len() / 2);
            if let Some(before) = estimate(one) {
                offset_at(at, before, estimate(two));
                agent_time(at, before);
            }
        }
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        let clocks = Clocks { origin: 1_000_000, offset: -500, ppb: 0 };
        let exchanges =
            group(clocks, 1_000_000, &[Some((90_000, 50, 10)), Some((200, 70, 100)), Some((10, 0, 90_000))]);
        let sample = estimate(&exchanges).unwrap();
        assert_eq!((sample.round_trip_ns, sample.offset_ns), (300, -450));
        assert_eq!(sample.uncertainty_ns, 151);
        assert_eq!(estimate(&[]), None);
    }

    #[test]
    fn a_drift_is_the_slope_of_the_line() {
        let sample = |at_ns, offset_ns| Sample { at_ns, offset_ns, uncertainty_ns: 100, round_trip_ns: 200 };
        let offset = offset_at(10_000_000_000, sample(0, 1000), Some(sample(100_000_000_000, 2000)));
        assert_eq!((offset.offset_ns, offset.uncertainty_ns, offset.drift_ppb), (1100, 101, Some(10)));
        assert_eq!(agent_time(5, sample(0, -10)), 0);
    }
}
