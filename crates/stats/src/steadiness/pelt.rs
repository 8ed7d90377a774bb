//! Change points of a series: PELT (Killick, Fearnhead and Eckley, Optimal detection of changepoints with a linear
//! computational cost, JASA 107, 2012), with the sum of squares around the mean of each part as its cost.

/// Sums that give the cost of any part at once.
pub(crate) struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// One divided by each length: every pair of places is looked at.
    inverses: Vec<f64>,
}

impl Costs {
    pub(crate) fn from_values(values: &[f64]) -> Self {
        // Around the first value, so that the difference of sums loses no digits.
        let offset = values.first().copied().unwrap_or_default();
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            sum += value - offset;
            square += (value - offset) * (value - offset);
            sums.push(sum);
            squares.push(square);
        }
        let inverses = (0..=values.len()).map(|length| 1.0 / length as f64).collect();
        Self { sums, squares, inverses }
    }

    fn len(&self) -> usize {
        self.sums.len() - 1
    }

    /// Sum of the squared distances of a part's values from their mean.
    #[inline]
    fn cost(&self, from: usize, to: usize) -> f64 {
        let sum = self.sums[to] - self.sums[from];
        (self.squares[to] - self.squares[from] - sum * sum * self.inverses[to - from]).max(0.0)
    }

    /// Cost of the whole as one part.
    pub(crate) fn whole(&self) -> f64 {
        self.cost(0, self.len())
    }
}

/// Where parts begin that have the least sum of costs and penalties, without the first; each has at least
/// `shortest` values.
pub(crate) fn change_points(costs: &Costs, penalty: f64, shortest: usize) -> Vec<usize> {
    let count = costs.len();
    if count < 2 * shortest {
        return Vec::new();
    }
    // The least total up to each place, and where its last part begins.
    let mut least = vec![f64::INFINITY; count + 1];
    let mut begins = vec![0; count + 1];
    least[0] = -penalty;
    // Places where the last part may begin, from when on each can no longer be the best one, and its total up to the
    // current end, without the penalty.
    let mut open = vec![(0, usize::MAX, 0.0)];
    for end in shortest..=count {
        let (mut least_total, mut best) = (f64::INFINITY, 0);
        for (begin, _, total) in &mut open {
            *total = least[*begin] + costs.cost(*begin, end);
            if *total < least_total {
                (least_total, best) = (*total, *begin);
            }
        }
        (least[end], begins[end]) = (least_total + penalty, best);
        let mut is_over = false;
        for (_, until, total) in &mut open {
            // A part that begins at this end has its own length before it can win.
            if *until == usize::MAX && *total >= least[end] {
                *until = end + shortest;
            }
            is_over |= *until == end + 1;
        }
        if is_over {
            open.retain(|(_, until, _)| *until > end + 1);
        }
        // From the next end on, a part may begin `shortest` values before it.
        let begin = end + 1 - shortest;
        if begin >= shortest {
            open.push((begin, usize::MAX, 0.0));
        }
    }
    let mut found = Vec::new();
    let mut end = begins[count];
    while end > 0 {
        found.push(end);
        end = begins[end];
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hot::rng::Rng;
    use proptest::prelude::*;

    /// All ways to cut, of which PELT must find the best.
    fn exhaustive(costs: &Costs, penalty: f64, shortest: usize) -> f64 {
        let count = costs.len();
        let mut least = vec![f64::INFINITY; count + 1];
        least[0] = -penalty;
        for end in shortest..=count {
            for begin in 0..=end - shortest {
                least[end] = least[end].min(least[begin] + costs.cost(begin, end) + penalty);
            }
        }
        least[count]
    }

    fn total(costs: &Costs, cuts: &[usize], penalty: f64) -> f64 {
        let edges: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([costs.len()]).collect();
        edges.windows(2).map(|pair| costs.cost(pair[0], pair[1])).sum::<f64>() + penalty * cuts.len() as f64
    }

    #[test]
    fn levels_are_cut_where_they_change() {
        let values: Vec<f64> = (0..90).map(|index| f64::from(index / 30 * 10 + index % 2)).collect();
        assert_eq!(change_points(&Costs::from_values(&values), 20.0, 5), [30, 60]);
        assert_eq!(change_points(&Costs::from_values(&[1.0; 90]), 1.0, 5), [0_usize; 0]);
        assert_eq!(change_points(&Costs::from_values(&[1.0, 9.0]), 1.0, 2), [0_usize; 0], "too short for two parts");
    }

    proptest! {
        #[test]
        fn nothing_is_better(seed: u64, count in 10_usize..80, shortest in 1_usize..8, penalty in 0.01_f64..5.0) {
            let mut rng = Rng::new(seed);
            let values: Vec<f64> = (0..count).map(|at| (at / 17) as f64 + rng.below(1000) as f64 / 400.0).collect();
            let costs = Costs::from_values(&values);
            let cuts = change_points(&costs, penalty, shortest);
            let (found, best) = (total(&costs, &cuts, penalty), exhaustive(&costs, penalty, shortest));
            if count >= 2 * shortest {
                prop_assert!((found - best).abs() < 1e-6 * best.abs().max(1.0), "{} {}", found, best);
            }
        }
    }
}
