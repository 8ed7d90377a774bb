//! Where skewed I/Os fell (`--skew`).

use hot::skew::{HOTTEST_PERCENT, Law, hottest, stratum_sizes};
use model::plan::TimeSpanPlan;
use model::record::TimeSpanRecord;
use model::result::{HottestShare, SkewFigures};

/// The figures of every target with a skew.
pub(crate) fn figures(plan: &TimeSpanPlan, record: &TimeSpanRecord) -> Vec<SkewFigures> {
    let work = plan.target_work();
    (0..plan.targets.len())
        .filter_map(|target| {
            let pattern = work.workers_on(target).map(|work| &work.pattern).find(|pattern| pattern.skew().is_some())?;
            let (skew, area) = (pattern.skew()?, *pattern.area());
            let sizes = stratum_sizes(area.positions);
            let mut draws = vec![0_u64; sizes.len()];
            for row in record.rows.iter().filter(|row| row.target == target) {
                draws.iter_mut().zip(&row.skew_draws).for_each(|(sum, count)| *sum += count);
            }
            Some(SkewFigures {
                target,
                path: plan.targets[target].path.clone(),
                skew,
                positions: area.positions,
                alignment_bytes: area.alignment_bytes,
                draws: draws.iter().sum(),
                hottest: HOTTEST_PERCENT
                    .map(|percent| share(percent, area.positions, skew.into(), &sizes, &draws))
                    .to_vec(),
                touched_positions: touched(&sizes, &draws),
            })
        })
        .collect()
}

fn share(percent: u64, positions: u64, law: Law, sizes: &[u64], draws: &[u64]) -> HottestShare {
    let count = hottest(percent, positions);
    let mut end = 0;
    // A stratum ends where these positions do.
    let hot = sizes.iter().zip(draws).take_while(|(size, _)| {
        end += **size;
        end <= count
    });
    let (hot, all): (u64, u64) = (hot.map(|(_, draws)| draws).sum(), draws.iter().sum());
    HottestShare {
        positions_percent: percent as u32,
        positions: count,
        law_percent: law.share_of_hottest(count, positions) * 100.0,
        drawn_percent: (all > 0).then(|| hot as f64 / all as f64 * 100.0),
    }
}

/// Expected number of positions hit at least once; inside a stratum all are hit alike, to within 2 %.
fn touched(sizes: &[u64], draws: &[u64]) -> u64 {
    let touched_of_size = |(&size, &draws): (&u64, &u64)| match (size, draws) {
        (_, 0) => 0.0,
        (1, _) => 1.0,
        // size × (1 - (1 - 1/size)^draws)
        _ => -(size as f64) * f64::exp_m1(draws as f64 * f64::ln_1p(-1.0 / size as f64)),
    };
    sizes.iter().zip(draws).map(touched_of_size).sum::<f64>().round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_touched_are_counted_once() {
        assert_eq!(touched(&[1, 1, 1], &[5, 0, 1]), 2);
        // One draw touches one position, and very many touch all.
        assert_eq!(touched(&[1000], &[1]), 1);
        assert_eq!(touched(&[1000], &[1_000_000]), 1000);
        // As many draws as positions leave 1/e untouched.
        assert_eq!(touched(&[1_000_000], &[1_000_000]), 632_121);
    }

    #[test]
    fn shares_end_where_strata_do() {
        let sizes = stratum_sizes(1_000_000);
        let draws = vec![1; sizes.len()];
        let share = share(1, 1_000_000, Law::Zipf { exponent: 1.0 }, &sizes, &draws);
        assert_eq!(share.positions, 10_000);
        let strata = sizes.iter().scan(0, |end, size| (*end < 10_000).then(|| *end += size)).count();
        assert_eq!(share.drawn_percent, Some(strata as f64 / sizes.len() as f64 * 100.0));
        // The harmonic numbers of 10^4 and 10^6.
        assert!((share.law_percent - 9.787_606_036_044_382 / 14.392_726_722_865_724 * 100.0).abs() < 1e-9);
    }
}
