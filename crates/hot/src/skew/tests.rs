use super::*;
use rand_distr::{Distribution as _, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

const ZIPF: [Law; 3] = [Law::Zipf { exponent: 0.5 }, Law::Zipf { exponent: 1.0 }, Law::Zipf { exponent: 1.2 }];

fn strata(law: Law, positions: u64) -> Strata {
    Strata::new(law, positions).expect("a law")
}

/// Shares added one by one.
fn summed_share(law: Law, count: u64, positions: u64) -> f64 {
    let weight = |ranks: std::ops::Range<u64>| ranks.rev().map(|rank| law.weight(rank)).sum::<f64>();
    weight(0..count) / weight(0..positions)
}

#[test]
fn shares_are_sums_of_the_law() {
    let laws = [1e-3, 0.3, 0.99, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.1, 2.0, 4.0].map(|exponent| Law::Zipf { exponent });
    let laws = laws.into_iter().chain([0.001, 0.2, 0.499].map(Law::pareto));
    for law in laws {
        for (count, positions) in [(1, 1), (1, 10), (10, 1000), (1024, 2000), (1025, 2000), (20_000, 100_000)] {
            let (ours, summed) = (law.share_of_hottest(count, positions), summed_share(law, count, positions));
            assert!((ours - summed).abs() < 1e-11, "{law:?}, {count} of {positions}: {ours} {summed}");
        }
    }
}

#[test]
fn the_parameter_of_pareto_is_a_share_rule() {
    for share in [0.01, 0.1, 0.2, 0.45] {
        let law = Law::pareto(share);
        let share_of_hottest = |part: f64| law.share_of_hottest((part * 1e9) as u64, 1_000_000_000);
        assert!((share_of_hottest(share) - (1.0 - share)).abs() < 1e-6);
        assert!((share_of_hottest(share * share) - (1.0 - share) * (1.0 - share)).abs() < 1e-6);
    }
    // Known figures: fio's pow(h) of 0.2, and the harmonic numbers of 1 and 1000.
    let Law::Pareto { exponent } = Law::pareto(0.2) else { panic!("not Pareto") };
    assert!((exponent - 0.138_646_883_853_214).abs() < 1e-14, "{exponent}");
    assert!((Law::Zipf { exponent: 1.0 }.share_of_hottest(1, 1000) - 1.0 / 7.485_470_860_550_345).abs() < 1e-14);
}

#[test]
fn strata_cover_all_ranks_once_and_are_few() {
    for positions in [1, 2, 100, 4088, 4089, 5000, 1 << 20, 1_000_003, 1 << 40, 1 << 62] {
        let table = strata(Law::Zipf { exponent: 1.0 }, positions);
        let sizes: Vec<u64> = table.sizes().collect();
        assert_eq!(sizes.iter().sum::<u64>(), positions);
        assert!(sizes.len() <= STRATA_MAX && sizes.iter().all(|&size| size > 0), "{positions}: {}", sizes.len());
        for percent in HOTTEST_PERCENT {
            let mut end = 0;
            let is_end = |size: &u64| {
                end += size;
                end == hottest(percent, positions)
            };
            assert!(sizes.iter().any(is_end), "{positions}: {percent} % end inside a stratum");
        }
    }
    assert_eq!([1, 100, 101].map(|positions| hottest(1, positions)), [1, 1, 2]);
}

#[test]
fn laws_out_of_range_have_no_table() {
    assert_eq!(Strata::new(Law::Zipf { exponent: f64::NAN }, 10), None);
}

/// Weights of the hottest ranks, for many queries.
struct Weights {
    law: Law,
    /// Sums over the first ranks, up to each.
    first: Vec<f64>,
    all: f64,
}

impl Weights {
    fn new(law: Law, positions: u64) -> Self {
        let mut first = vec![0.0];
        for rank in 0..SUMMED.min(positions) {
            first.push(first[rank as usize] + law.weight(rank));
        }
        let mut weights = Self { law, first, all: 1.0 };
        weights.all = weights.share(positions);
        weights
    }

    fn share(&self, count: u64) -> f64 {
        let weight = match (self.law, self.first.get(count as usize)) {
            (_, Some(weight)) => *weight,
            (Law::Zipf { exponent }, None) => {
                self.first[SUMMED as usize] + powers(exponent, SUMMED as f64, count as f64)
            }
            (law @ Law::Pareto { .. }, None) => law.weight_of_hottest(count),
        };
        weight / self.all
    }
}

/// Share of draws that are refused, and of those that evaluate the law itself.
#[test]
fn few_draws_are_refused() {
    let laws = [0.01, 0.3, 0.7, 0.9, 1.0, 1.1, 1.3, 2.0, 4.0].map(|exponent| Law::Zipf { exponent });
    for law in laws.into_iter().chain([0.05, 0.2, 0.4].map(Law::pareto)) {
        for positions in [1 << 12, 1 << 13, 1 << 20, 1 << 30, 1 << 40, 1 << 50] {
            let (table, weights) = (strata(law, positions), Weights::new(law, positions));
            let (mut bound, mut at_once) = (0.0, 0.0);
            for stratum in &table.groups {
                let all = stratum.count as f64 * law.weight(stratum.first);
                bound += all;
                at_once += all * (stratum.keeps_up_to as f64 / TWO_TO_64);
            }
            let kept = weights.all / bound;
            assert!(kept > 0.99 && kept < 1.0 + 1e-9, "{law:?}, {positions}: {kept}");
            assert!(at_once / bound > 0.98, "{law:?}, {positions}: {}", at_once / bound);
        }
    }
}

/// Ends of ranges of ranks with at least this share each, as far as single ranks allow, and their shares.
fn bins(law: Law, positions: u64, share: f64) -> Vec<(u64, f64)> {
    let weights = Weights::new(law, positions);
    let (mut bins, mut end, mut below) = (Vec::new(), 0, 0.0);
    while end < positions {
        let (mut low, mut high) = (end + 1, positions);
        while low < high {
            let middle = low + (high - low) / 2;
            if weights.share(middle) - below >= share {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let up_to = weights.share(low);
        bins.push((low, up_to - below));
        (end, below) = (low, up_to);
    }
    // The rest may be less than a bin.
    if let [.., (end, share_before), (last, rest)] = bins.as_mut_slice()
        && *rest < share
    {
        (*end, *share_before) = (*last, *share_before + *rest);
        bins.pop();
    }
    bins
}

fn counts(bins: &[(u64, f64)], draws: u64, mut rank: impl FnMut() -> u64) -> Vec<u64> {
    let mut counts = vec![0; bins.len()];
    for _ in 0..draws {
        let rank = rank();
        counts[bins.partition_point(|(end, _)| *end <= rank)] += 1;
    }
    counts
}

/// A quantile of chi-square by the formula of Wilson and Hilferty; `z` standard deviations of a normal deviate.
fn quantile(degrees: usize, z: f64) -> f64 {
    let degrees = degrees as f64;
    let spread = 2.0 / (9.0 * degrees);
    degrees * (1.0 - spread + z * spread.sqrt()).powi(3)
}

/// Panics if draws do not follow the shares of the bins; by chance once in some 100,000 seeds.
fn assert_fits(what: &str, bins: &[(u64, f64)], counts: &[u64]) {
    let draws = counts.iter().sum::<u64>() as f64;
    let part = |((_, share), count): (&(u64, f64), &u64)| (*count as f64 - draws * share).powi(2) / (draws * share);
    let found: f64 = bins.iter().zip(counts).map(part).sum();
    let (low, high) = (quantile(bins.len() - 1, -4.3), quantile(bins.len() - 1, 4.3));
    assert!(found < high && (bins.len() < 20 || found > low), "{what}: {found:.1} is not in {low:.1}..{high:.1}");
}

/// Our draws against the law, and against those of `rand_distr`, by chi-square over bins of about equal probability.
fn assert_follows(law: Law, positions: u64, draws: u64) {
    let table = strata(law, positions);
    let mut rng = Rng::new(positions);
    let what = format!("{law:?} over {positions}");
    let bins = bins(law, positions, 0.01);
    let ours = counts(&bins, draws, || table.draw(&mut rng).1);
    assert_fits(&what, &bins, &ours);
    let Law::Zipf { exponent } = law else { return };
    let zipf = Zipf::new(positions as f64, exponent).expect("a law");
    let mut reference = Xoshiro256PlusPlus::seed_from_u64(positions + 1);
    let theirs = counts(&bins, draws, || zipf.sample(&mut reference) as u64 - 1);
    assert_fits(&format!("{what}, rand_distr"), &bins, &theirs);
    // Both against each other, without the law.
    let part = |(&a, &b): (&u64, &u64)| (a as f64 - b as f64).powi(2) / ((a + b) as f64);
    let found: f64 = ours.iter().zip(&theirs).map(part).sum();
    assert!(found < quantile(bins.len() - 1, 4.3), "{what}: {found:.1} from rand_distr");
}

#[test]
fn draws_follow_the_law() {
    for law in ZIPF.into_iter().chain([Law::pareto(0.2)]) {
        for positions in [1000, 1 << 20, 1 << 30] {
            assert_follows(law, positions, 200_000);
        }
    }
}

/// The study behind the test above: `cargo test --release -p hot ten_million -- --ignored`.
#[test]
#[ignore = "minutes without optimisation"]
fn ten_million_draws_follow_the_law() {
    let more = [Law::Zipf { exponent: 0.1 }, Law::Zipf { exponent: 4.0 }, Law::pareto(0.2), Law::pareto(0.4)];
    for law in ZIPF.into_iter().chain(more) {
        for positions in [1000, 5000, 1 << 20, 100_000_007, 1 << 30] {
            assert_follows(law, positions, 10_000_000);
        }
    }
}

/// With a dozen strata nearly half of all draws need the law itself; the result is the same.
#[test]
fn refusals_make_it_exact() {
    for law in [Law::Zipf { exponent: 1.0 }, Law::Zipf { exponent: 0.6 }, Law::pareto(0.2)] {
        let table = Strata::with(law, 100_000, 4, 8).expect("a law");
        assert!(table.groups.len() < 20);
        let mut rng = Rng::new(11);
        let bins = bins(law, 100_000, 0.005);
        let drawn = counts(&bins, 400_000, || table.draw(&mut rng).1);
        assert_fits(&format!("{law:?}"), &bins, &drawn);
    }
}

/// One random number chooses the stratum and the rank in it: ranks inside strata are uniform, by Pearson's test over 16
/// parts of each of the last 64, which have no rank that is refused often.
#[test]
fn ranks_do_not_depend_on_what_chose_their_stratum() {
    let table = strata(Law::Zipf { exponent: 0.2 }, 1 << 30);
    let (mut rng, first) = (Rng::new(17), table.groups.len() - 64);
    let mut seen = vec![[0_u32; 16]; 64];
    for _ in 0..2_000_000 {
        let (index, rank) = table.draw(&mut rng);
        if let Some(counts) = index.checked_sub(first).map(|at| &mut seen[at]) {
            let Stratum { first, count, .. } = table.groups[index];
            counts[((rank - first) * 16 / count) as usize] += 1;
        }
    }
    let part = |counts: &[u32; 16]| {
        let expected = f64::from(counts.iter().sum::<u32>()) / 16.0;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum::<f64>()
    };
    let (found, degrees) = (seen.iter().map(part).sum::<f64>(), 64 * 15);
    assert!(found > quantile(degrees, -4.3) && found < quantile(degrees, 4.3), "{found}");
}

#[test]
fn draws_are_counted_by_stratum_and_placed() {
    let table = Arc::new(strata(Law::Zipf { exponent: 1.1 }, 100_000));
    let drawn: Arc<[Counter]> = table.sizes().map(|_| Counter::default()).collect();
    let scatter = Scatter::new(100_000, 5);
    let mut contiguous = Skewed::new(Arc::clone(&table), None, Arc::clone(&drawn));
    let mut scattered = Skewed::new(table, Some(scatter.clone()), Arc::clone(&drawn));
    let (mut first, mut second) = (Rng::new(3), Rng::new(3));
    let mut many = scattered.clone();
    let mut third = second.clone();
    let mut hottest = 0;
    for _ in 0..10_000 {
        let rank = contiguous.draw(&mut first);
        assert_eq!(scattered.draw(&mut second), scatter.position(rank));
        hottest += u64::from(rank == 0);
    }
    // Those drawn ahead are not counted before they are used.
    assert_eq!(drawn.iter().map(Counter::get).sum::<u64>(), 20_000);
    assert_eq!(drawn[0].get(), 2 * hottest);
    let mut alone = Skewed::new(Arc::clone(&many.strata), Some(scatter), Arc::clone(&drawn));
    let mut fourth = third.clone();
    for most in [1, 5, 63, 64, 100].repeat(10) {
        let positions: Vec<u64> = many.draw_many(most, &mut third).collect();
        assert!((1..=most).contains(&positions.len()));
        assert!(positions.iter().all(|&position| position == alone.draw(&mut fourth)));
    }
}

/// A seed gives the same ranks on every machine.
#[test]
fn ranks_of_a_seed_are_fixed() {
    let ranks = |law| {
        let (table, mut rng) = (strata(law, 1 << 30), Rng::new(1));
        [(); 6].map(|()| table.draw(&mut rng).1)
    };
    assert_eq!(ranks(Law::Zipf { exponent: 1.1 }), [7_665_648, 1_393_703, 409, 1_365_065, 0, 22_304]);
    assert_eq!(ranks(Law::pareto(0.2)), [7_616_319, 1_393_703, 1, 1_365_065, 4_036_131, 22_304]);
}
