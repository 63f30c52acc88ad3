//! Which entries mark a component: by their weight, by lift, or by FREX.
//!
//! With `p_kv` the entries of component k as shares of its sum and `w_k` the shares of the components:
//!
//! - **weight**: `p_kv` itself; the frequent entries, which components may have in common;
//! - **lift**: `p_kv / sum_k w_k p_kv`, how many times as frequent it is there as in all; it prefers rare entries;
//! - **FREX**: the harmonic mean `1 / (1/2 / F + 1/2 / E)` of the rank of `p_kv` among the entries of k, `F`, and of the rank of its exclusivity
//!   `p_kv / sum_k p_kv` among those of k, `E`, both as shares of the number of entries: entries that are frequent there and there alone.
//!
//! # Source
//! Taddy, On estimation and selection for topic models, 2012 (lift); Bischof and Airoldi, Summarizing topical content with word frequency and
//! exclusivity, 2012 (FREX, with the weights of Roberts, Stewart and Tingley's package stm).

/// What entries are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Their size.
    #[default]
    Weight,
    /// How much more frequent they are than in all.
    Lift,
    /// Frequency and exclusivity.
    Frex,
}

/// The score of each entry: for each component a row of as many entries, none negative, with the share of each component.
///
/// # Panics
/// Where there are not as many shares as rows.
pub fn scores(rows: &[Vec<f64>], shares: &[f64], by: By) -> Vec<Vec<f64>> {
    assert_eq!(rows.len(), shares.len(), "a share for each component");
    let share = |row: &Vec<f64>| -> Vec<f64> {
        let total: f64 = row.iter().sum();
        row.iter().map(|own| if total > 0.0 { own / total } else { 0.0 }).collect()
    };
    let p: Vec<Vec<f64>> = rows.iter().map(share).collect();
    let over = |weights: &dyn Fn(usize) -> f64, place: usize| -> f64 {
        p.iter().enumerate().map(|(row, own)| weights(row) * own[place]).sum()
    };
    let ratio = |own: f64, all: f64| if all > 0.0 { own / all } else { 0.0 };
    let of = |own: &Vec<f64>| -> Vec<f64> {
        let each = own.iter().enumerate();
        match by {
            By::Weight => own.clone(),
            By::Lift => each.map(|(place, own)| ratio(*own, over(&|row| shares[row], place))).collect(),
            By::Frex => {
                let exclusivity: Vec<f64> =
                    each.map(|(place, own)| ratio(*own, over(&|_| 1.0, place))).collect();
                let (frequency, exclusivity) = (ranks(own), ranks(&exclusivity));
                frequency.iter().zip(exclusivity).map(|(f, e)| 1.0 / (0.5 / f + 0.5 / e)).collect()
            }
        }
    };
    p.iter().map(of).collect()
}

/// The rank of each value from 1 over how many there are; equal ones have the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|own| values[**own] == values[order[start]]).count();
        let rank = start as f64 + (equal as f64 + 1.0) / 2.0;
        order[start..start + equal].iter().for_each(|own| ranks[*own] = rank / values.len() as f64);
        start += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_scored_by_what_is_asked_for() {
        // The first entry is frequent in both, the second in the first alone.
        let rows = [vec![5.0, 4.0, 1.0, 0.0], vec![6.0, 0.0, 2.0, 2.0]];
        let best = |by: By| -> Vec<usize> {
            let of = |own: &Vec<f64>| own.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
            scores(&rows, &[0.5, 0.5], by).iter().map(of).collect()
        };
        assert_eq!((best(By::Weight), best(By::Lift), best(By::Frex)), (vec![0, 0], vec![1, 3], vec![1, 3]));
        let lift = scores(&rows, &[0.25, 0.75], By::Lift);
        assert!((lift[0][0] - 0.5 / (0.25 * 0.5 + 0.75 * 0.6)).abs() < 1e-15);
        // Frequencies of the first have the ranks 4, 3, 2, 1 of 4; its exclusivities 5/11, 1, 1/3 and 0 the ranks 3, 4, 2, 1.
        let frex = scores(&rows, &[0.5, 0.5], By::Frex);
        assert!((frex[0][0] - 1.0 / (0.5 / 1.0 + 0.5 / 0.75)).abs() < 1e-15);
        assert!((frex[0][1] - 1.0 / (0.5 / 0.75 + 0.5 / 1.0)).abs() < 1e-15);
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5 / 4.0, 0.25, 3.5 / 4.0, 0.5]);
        assert!(ranks(&[]).is_empty());
    }
}
