//! Where the numbers of a variable stand in its factor of q.
//!
//! The mean of a variable has its dimensions as they are declared, `w[j, k]`. Its factor has a row for each position on its plates, and within a row
//! the elements of its slices, `q(w[:j, k])`. Both run in declared order, whether slices stand before or behind plates. So the number at the positions
//! `p` belongs to the row of those positions that are of plates, and is the element of those that are of slices, each read in mixed radix.

use cavi_algebra::LetterId;

/// The dimensions of a variable, in declared order.
pub(crate) struct Cells {
    dimensions: Vec<Dimension>,
}

/// A dimension of a variable.
#[derive(Clone, Copy)]
struct Dimension {
    /// Its letter, where it is known.
    letter: Option<LetterId>,
    size: usize,
    /// Whether a row holds all of its positions.
    is_slice: bool,
}

impl Cells {
    /// Those of a variable with these letters and lengths, of which some are slices of its factor.
    pub fn new(letters: &[LetterId], shape: &[usize], slices: &[LetterId]) -> Cells {
        let of = |(letter, size): (&LetterId, &usize)| Dimension {
            letter: Some(*letter),
            size: *size,
            is_slice: slices.contains(letter),
        };
        Cells { dimensions: letters.iter().zip(shape).map(of).collect() }
    }

    /// Those of a variable without slices.
    pub fn of_numbers(shape: &[usize]) -> Cells {
        let of = |size: &usize| Dimension { letter: None, size: *size, is_slice: false };
        Cells { dimensions: shape.iter().map(of).collect() }
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.dimensions.iter().map(|own| own.size).product()
    }

    /// How many slices a row has.
    pub fn n_slices(&self) -> usize {
        self.dimensions.iter().filter(|own| own.is_slice).count()
    }

    /// How many elements a row has; 1 without slices.
    pub fn width(&self) -> usize {
        self.dimensions.iter().filter(|own| own.is_slice).map(|own| own.size).product()
    }

    /// The lengths of the plates.
    pub fn plates(&self) -> Vec<usize> {
        self.dimensions.iter().filter(|own| !own.is_slice).map(|own| own.size).collect()
    }

    /// The letters of the plates, with their lengths.
    pub fn plate_letters(&self) -> Vec<(LetterId, usize)> {
        let plates = self.dimensions.iter().filter(|own| !own.is_slice);
        plates.filter_map(|own| Some((own.letter?, own.size))).collect()
    }

    /// The row of a number.
    pub fn row(&self, cell: usize) -> usize {
        self.part(cell, false)
    }

    /// Which element of its row a number is.
    pub fn element(&self, cell: usize) -> usize {
        self.part(cell, true)
    }

    /// The place among the plates or among the slices.
    fn part(&self, cell: usize, of_slices: bool) -> usize {
        let (mut rest, mut place, mut stride) = (cell, 0, 1);
        for own in self.dimensions.iter().rev() {
            let size = own.size.max(1);
            if own.is_slice == of_slices {
                place += rest % size * stride;
                stride *= size;
            }
            rest /= size;
        }
        place
    }

    /// Numbers in declared order, brought to rows by elements; `None` where there is not one for each place.
    pub fn by_row(&self, values: &[f64]) -> Option<Vec<f64>> {
        if values.len() != self.count() {
            return None;
        }
        let width = self.width();
        let mut rows = vec![0.0; values.len()];
        for (cell, value) in values.iter().enumerate() {
            rows[self.row(cell) * width + self.element(cell)] = *value;
        }
        Some(rows)
    }
}

#[cfg(test)]
mod tests {
    use cavi_algebra::LetterId;

    use super::Cells;

    #[test]
    fn a_slice_may_stand_before_a_plate_or_between_two() {
        let letters: Vec<LetterId> = (0..3).map(LetterId::from).collect();
        let own = Cells::new(&letters[..2], &[3, 2], &letters[..1]);
        let at: Vec<(usize, usize)> = (0..6).map(|cell| (own.row(cell), own.element(cell))).collect();
        assert_eq!(at, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
        assert_eq!(own.by_row(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Some(vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]));
        assert_eq!(own.by_row(&[1.0]), None);
        let own = Cells::new(&letters, &[2, 3, 4], &letters[1..2]);
        // The positions (1, 2, 3).
        assert_eq!((own.row(23), own.element(23), own.width(), own.plates()), (7, 2, 3, vec![2, 4]));
        let own = Cells::of_numbers(&[2, 3]);
        assert_eq!((own.row(5), own.element(5), own.width(), own.n_slices()), (5, 0, 1, 0));
    }
}
