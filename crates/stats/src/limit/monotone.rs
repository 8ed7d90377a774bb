//! A monotone fit.

/// The non-decreasing values that lie closest to `values` in weighted least squares: neighbours that fall are replaced
/// by their weighted mean (pool adjacent violators; Barlow, Bartholomew, Bremner & Brunk, Statistical Inference under
/// Order Restrictions, 1972).
pub(super) fn isotonic(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (&value, &weight) in values.iter().zip(weights) {
        let mut block = (value, weight, 1);
        while let Some(&(before, before_weight, length)) = blocks.last()
            && before > block.0
        {
            blocks.pop();
            let sum = before_weight + block.1;
            block = ((before * before_weight + block.0 * block.1) / sum, sum, length + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, length)| std::iter::repeat_n(value, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_neighbours_are_averaged() {
        assert_eq!(isotonic(&[1.0, 2.0, 3.0], &[1.0; 3]), [1.0, 2.0, 3.0]);
        assert_eq!(isotonic(&[1.0, 4.0, 2.0, 5.0], &[1.0; 4]), [1.0, 3.0, 3.0, 5.0]);
        assert_eq!(isotonic(&[4.0, 1.0], &[1.0, 3.0]), [1.75, 1.75]);
        assert_eq!(isotonic(&[3.0, 2.0, 1.0], &[1.0; 3]), [2.0; 3]);
        assert_eq!(isotonic(&[], &[]), [0.0; 0]);
    }
}
