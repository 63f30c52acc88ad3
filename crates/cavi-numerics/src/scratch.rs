//! Memory for values in between, which a thread keeps from one use to the next: a sweep that has been run before takes none
//! from the heap.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;
use std::thread::LocalKey;

/// What a thread keeps of values of one type.
type Pool<T> = RefCell<Vec<Vec<T>>>;

thread_local! {
    static NUMBERS: Pool<f64> = const { RefCell::new(Vec::new()) };
    static PLACES: Pool<usize> = const { RefCell::new(Vec::new()) };
    static ANSWERS: Pool<bool> = const { RefCell::new(Vec::new()) };
}

/// Values whose memory is kept.
pub trait Kept: Copy + 'static {
    /// What the thread keeps.
    #[doc(hidden)]
    fn pool() -> &'static LocalKey<Pool<Self>>;
}

impl Kept for f64 {
    fn pool() -> &'static LocalKey<Pool<f64>> {
        &NUMBERS
    }
}

impl Kept for usize {
    fn pool() -> &'static LocalKey<Pool<usize>> {
        &PLACES
    }
}

impl Kept for bool {
    fn pool() -> &'static LocalKey<Pool<bool>> {
        &ANSWERS
    }
}

/// So many values are no waste for a while.
const SMALL: usize = 1 << 13;

/// Values in between, of [`f64`] unless otherwise said. They are given back to the thread that took them, so that uses
/// within uses have memory of their own and every thread ends up with as much as its uses take together.
#[derive(Debug)]
pub struct Scratch<T: Kept = f64> {
    values: Vec<T>,
    /// It stays on its thread, as this does; others may read it.
    on_thread: PhantomData<MutexGuard<'static, ()>>,
}

impl Scratch {
    /// As many zeros.
    pub fn zeros(length: usize) -> Scratch {
        Scratch::all(0.0, length)
    }

    /// As many values, whatever they are: all are to be written.
    pub fn any(length: usize) -> Scratch {
        let mut values = take(length, (2 * length).max(SMALL));
        values.resize(length, 0.0);
        Scratch { values, on_thread: PhantomData }
    }

    /// Room for as many values, to be held on to: kept memory that is at most twice as large, with what it held, if there is.
    pub fn room(length: usize) -> Vec<f64> {
        take(length, 2 * length)
    }

    /// The values, to be held on to.
    pub fn into_values(mut self) -> Vec<f64> {
        std::mem::take(&mut self.values)
    }

    /// Keeps memory that is not needed for now.
    pub fn keep(values: Vec<f64>) {
        give(values);
    }
}

impl<T: Kept> Scratch<T> {
    /// No value, with room for as many.
    pub fn with_room(length: usize) -> Scratch<T> {
        let mut values = take(length, (2 * length).max(SMALL));
        values.clear();
        Scratch { values, on_thread: PhantomData }
    }

    /// As many times the same value.
    pub fn all(value: T, length: usize) -> Scratch<T> {
        let mut own = Scratch::with_room(length);
        own.values.resize(length, value);
        own
    }

    /// A copy.
    pub fn of(values: &[T]) -> Scratch<T> {
        let mut copy = Scratch::with_room(values.len());
        copy.values.extend_from_slice(values);
        copy
    }

    /// One value more.
    pub fn push(&mut self, value: T) {
        if self.values.len() == self.values.capacity() {
            let mut larger = Scratch::with_room((2 * self.values.len()).max(8));
            larger.values.extend_from_slice(&self.values);
            *self = larger;
        }
        self.values.push(value);
    }

    /// No value any more.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// The first of several equal values that stand together.
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.values.dedup();
    }
}

/// Memory for `length` values: the least that is kept and has room, but for no more than `most`, with what it held; else new
/// memory. What is kept of each size is then as much as was in use at a time.
fn take<T: Kept>(length: usize, most: usize) -> Vec<T> {
    if length == 0 {
        return Vec::new();
    }
    let found = T::pool().with_borrow_mut(|kept| {
        let room = |place: &usize| kept[*place].capacity();
        let fits = |place: &usize| (length..=most).contains(&room(place));
        let place = (0..kept.len()).filter(fits).min_by_key(room);
        place.map(|place| kept.swap_remove(place))
    });
    found.unwrap_or_else(|| Vec::with_capacity(length))
}

fn give<T: Kept>(values: Vec<T>) {
    if values.capacity() > 0 {
        // A thread that ends keeps nothing.
        let _ = T::pool().try_with(|kept| kept.borrow_mut().push(values));
    }
}

impl<T: Kept> Clone for Scratch<T> {
    fn clone(&self) -> Scratch<T> {
        Scratch::of(self)
    }
}

impl<T: Kept> FromIterator<T> for Scratch<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Scratch<T> {
        let values = values.into_iter();
        let (least, most) = values.size_hint();
        let mut own = Scratch::with_room(most.unwrap_or(least));
        values.for_each(|value| own.push(value));
        own
    }
}

impl<T: Kept> Drop for Scratch<T> {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.values));
    }
}

impl<T: Kept> Deref for Scratch<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Kept> DerefMut for Scratch<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Gives the memory that the thread keeps back to the heap: before what takes much for once.
pub fn release_scratch() {
    let _ = NUMBERS.try_with(|kept| kept.take());
    let _ = PLACES.try_with(|kept| kept.take());
    let _ = ANSWERS.try_with(|kept| kept.take());
}

/// Does so when it is dropped: at the end of a run.
#[derive(Debug, Default)]
pub struct KeptScratch;

impl Drop for KeptScratch {
    fn drop(&mut self) {
        release_scratch();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Vec<usize> {
        let mut room: Vec<usize> = NUMBERS.with_borrow(|kept| kept.iter().map(Vec::capacity).collect());
        room.sort_unstable();
        room
    }

    #[test]
    fn memory_is_used_again_and_grows_to_what_uses_take() {
        let end = KeptScratch;
        let uses = || {
            let outer = Scratch::zeros(10);
            {
                let mut inner = Scratch::zeros(100);
                inner.fill(1.0);
            }
            let again = Scratch::zeros(50);
            assert!(again.iter().chain(&*outer).all(|value| *value == 0.0));
            assert_eq!((outer.len(), again.len()), (10, 50));
            assert!(Scratch::zeros(0).is_empty());
        };
        uses();
        let first = kept();
        assert_eq!(first, [10, 100]);
        uses();
        assert_eq!(kept(), first);
        // What is much too large is left alone.
        drop(Scratch::zeros(100_000));
        drop(Scratch::zeros(40_000));
        let own = Scratch::room(60_000);
        assert_eq!((own.len(), own.capacity()), (100_000, 100_000));
        Scratch::keep(own);
        assert_eq!(kept(), [10, 100, 40_000, 100_000]);
        let even: Scratch<usize> = (0..30).filter(|number| number % 2 == 0).collect();
        assert_eq!(even.len(), 15);
        let pushed: Scratch = std::iter::successors(Some(1.0), |x| (*x < 100.0).then(|| x + 1.0)).collect();
        assert_eq!((pushed.len(), pushed[99], pushed.clone().to_vec()), (100, 100.0, pushed.to_vec()));
        drop(end);
        assert!(kept().is_empty());
    }
}
