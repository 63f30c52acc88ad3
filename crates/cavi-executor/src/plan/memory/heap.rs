//! A heap without memory: sizes alone.
//!
//! It counts what is held and how much that was at most. As the run does, it keeps memory for values in between once it was used
//! ([`cavi_numerics::Scratch`]): a later use takes the least that is kept and has room, if that is not much too large.

/// Values in between up to this many are no waste ([`cavi_numerics::Scratch`]).
const SMALL: usize = 1 << 13;

/// Memory that is kept for values of one size.
#[derive(Clone, Debug, Default)]
struct Pool(Vec<usize>);

impl Pool {
    /// Memory for so many values, of at most `most`: what is kept, or else nothing.
    fn take(&mut self, length: usize, most: usize) -> Option<usize> {
        let fits = |place: &usize| (length..=most).contains(&self.0[*place]);
        let place = (0..self.0.len()).filter(fits).min_by_key(|place| self.0[*place])?;
        Some(self.0.swap_remove(place))
    }
}

/// What is held, in bytes, and how much that was at most.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    held: usize,
    peak: usize,
    numbers: Pool,
    places: Pool,
}

impl Heap {
    /// The most bytes that were held at a time.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// The bytes that are held.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Takes so many bytes.
    pub fn take(&mut self, bytes: usize) {
        self.held += bytes;
        self.peak = self.peak.max(self.held);
    }

    /// Gives so many bytes back to the system.
    pub fn free(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// Takes so many bytes for a while.
    pub fn pass(&mut self, bytes: usize) {
        self.take(bytes);
        self.free(bytes);
    }

    /// Room for so many doubles that are to be held on to; for how many it is.
    pub fn room(&mut self, length: usize) -> usize {
        self.numbers(length, 2 * length)
    }

    /// The same for doubles in between.
    pub fn scratch(&mut self, length: usize) -> usize {
        self.numbers(length, (2 * length).max(SMALL))
    }

    fn numbers(&mut self, length: usize, most: usize) -> usize {
        if length == 0 {
            return 0;
        }
        self.numbers.take(length, most).unwrap_or_else(|| {
            self.take(length * size_of::<f64>());
            length
        })
    }

    /// Keeps memory for doubles for another use.
    pub fn keep(&mut self, room: usize) {
        if room > 0 {
            self.numbers.0.push(room);
        }
    }

    /// Doubles in between that are all there at one time, and kept afterwards.
    pub fn between(&mut self, lengths: impl IntoIterator<Item = usize>) {
        let taken: Vec<usize> = lengths.into_iter().map(|length| self.scratch(length)).collect();
        taken.into_iter().for_each(|room| self.keep(room));
    }

    /// The same of places.
    pub fn places_between(&mut self, lengths: impl IntoIterator<Item = usize>) {
        let mut taken = Vec::new();
        for length in lengths.into_iter().filter(|length| *length > 0) {
            let room = self.places.take(length, (2 * length).max(SMALL));
            taken.push(room.unwrap_or_else(|| {
                self.take(length * size_of::<usize>());
                length
            }));
        }
        self.places.0.extend(taken);
    }

    /// Memory for so many doubles: that of the last values where it is enough, else what is kept or new memory.
    pub fn again(&mut self, room: usize, length: usize) -> usize {
        if room >= length {
            return room;
        }
        self.keep(room);
        self.room(length)
    }

    /// Gives what is kept back to the system.
    pub fn release(&mut self) {
        let kept = self.numbers.0.drain(..).map(|room| room * size_of::<f64>());
        let kept: usize = kept.chain(self.places.0.drain(..).map(|room| room * size_of::<usize>())).sum();
        self.free(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::Heap;

    #[test]
    fn what_is_kept_is_taken_again_and_the_most_is_remembered() {
        let mut heap = Heap::default();
        heap.between([10_000, 20_000]);
        assert_eq!((heap.held(), heap.peak()), (240_000, 240_000));
        let own = heap.room(9_000);
        assert_eq!((own, heap.held()), (10_000, 240_000));
        heap.take(1_000);
        heap.pass(5_000);
        heap.keep(own);
        heap.release();
        assert_eq!((heap.held(), heap.peak()), (1_000, 246_000));
    }
}
