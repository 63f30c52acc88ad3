//! A list of numbers that lies in the heap of the process, in memory that somebody else lends, or in a file that is mapped into its
//! memory.
//!
//! Data that are only read need not be copied: the pages of a mapped file are those of the operating system, which brings
//! them in when they are read, and takes them back when memory is short. So data may be larger than memory, while everything
//! that reads a slice reads them as it reads any other. Whoever changes such a list has a copy of its own in the heap from
//! then on.
//!
//! **What is trusted.** A [`MappedFile`] is a private map that is never written through. The language asks more: nobody may
//! change or cut the file while it is mapped, which no program can see to. Numbers of these types have no bits that are no
//! value, and lie within the file as long as it was when it was mapped, so that a file that is left alone is read as it is.
//! Who opens one checks it first (`cavi-files` compares its length and its checksums), and files that are mapped are
//! written beside their name and renamed, never changed in place: a map keeps the file that it began with.
//!
//! Numbers that are lent ([`Numbers::lent`]) are held by their owner, and stay as they are as long as they are lent: the one who lends
//! them promises it. Numbers that are shared ([`Numbers::shared`]) have several readers, of which none can change them.

#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Arc, PoisonError};

use memmap2::Mmap;

use crate::facts::{Known, Listed, OfPositions, OfValues};
use crate::pages;

/// A file that is mapped into memory, read-only.
#[derive(Debug)]
pub struct MappedFile {
    map: Mmap,
    /// Whether it is larger than memory: then pages that were read are given back.
    is_large: bool,
}

impl MappedFile {
    /// Maps a file that is open for reading, from its beginning to its end.
    ///
    /// # Errors
    /// As the system says: for what is no file, or where the process has no room in its address space.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        MappedFile::beyond(file, u64::MAX)
    }

    /// The same where so many bytes of memory have room for pages of files: pages of a larger file are given back by who has gone through them.
    ///
    /// # Errors
    /// As [`MappedFile::new`].
    pub fn beyond(file: &File, room: u64) -> io::Result<MappedFile> {
        // SAFETY: the map is private and read-only; that the file stays as it is while it is mapped is what is trusted, see the module.
        let map = unsafe { Mmap::map(file) }?;
        // The file comes and goes in large pages, which takes a tenth of the time of the system that small ones take (`tests/README.md`). A system that
        // has no such advice reads the file all the same.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        let is_large = map.len() as u64 > room;
        let own = MappedFile { map, is_large };
        if is_large {
            pages::begin(own.addresses());
        }
        Ok(own)
    }

    fn addresses(&self) -> Range<usize> {
        let range = self.map.as_ptr_range();
        range.start.addr()..range.end.addr()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        if self.is_large {
            pages::end(&self.addresses());
        }
    }
}

/// A number that a file may hold as it lies in memory: any bits of its size are one.
pub trait Number: Copy + PartialEq + fmt::Debug + Send + Sync + 'static + sealed::Plain {
    /// What is known of a list of them that was gone through.
    type Facts: Listed + Clone + Default + fmt::Debug + Send + Sync + 'static;

    /// Adds its bytes, the lowest first.
    fn put(self, bytes: &mut Vec<u8>);

    /// Takes some more of a list into what is known of it.
    fn see(facts: &mut Self::Facts, more: &[Self]);
}

impl Number for f64 {
    type Facts = OfValues;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn see(facts: &mut OfValues, more: &[f64]) {
        facts.see(more);
    }
}

impl Number for u32 {
    type Facts = OfPositions;

    fn put(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn see(facts: &mut OfPositions, more: &[u32]) {
        facts.see(more);
    }
}

mod sealed {
    /// Types without padding and without invalid bits.
    pub trait Plain {}
    impl Plain for f64 {}
    impl Plain for u32 {}
}

/// A list of numbers, in the heap, in memory that is lent or in a mapped file. It reads as a slice.
#[derive(Clone)]
pub struct Numbers<T: Number>(Held<T>);

#[derive(Clone)]
enum Held<T: Number> {
    Own(Vec<T>),
    /// Of several readers: a clone is another reader, and no copy.
    Shared(Arc<Vec<T>>),
    /// Of an owner, who may be a mapped file.
    Lent(Lent<T>),
}

/// So many numbers from an address on, which lie there as long as their owner is held.
#[derive(Clone)]
struct Lent<T: Number> {
    first: *const T,
    length: usize,
    /// What is known of them, where they were gone through. It goes before their owner does.
    facts: Option<Arc<Known<T::Facts>>>,
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the numbers are only read, and stay as they are while they are lent (`Numbers::lent`); the owner may be sent and shared.
unsafe impl<T: Number> Send for Lent<T> {}
// SAFETY: as above.
unsafe impl<T: Number> Sync for Lent<T> {}

impl<T: Number> Numbers<T> {
    /// Numbers of the heap with several readers: a clone is no copy. Whoever changes them has a copy of its own from then on, unless it
    /// is the only reader.
    pub fn shared(numbers: Vec<T>) -> Numbers<T> {
        Numbers(Held::Shared(Arc::new(numbers)))
    }

    /// So many numbers in memory that an owner holds; a clone is no copy. They are no numbers of this process's heap
    /// ([`Numbers::heap_bytes`]), whoever allocated them: their owner had them before.
    ///
    /// # Safety
    /// `first` is aligned and begins `length` numbers that have values. As long as the owner is not dropped, they stay where they are, and
    /// nobody writes to them.
    pub unsafe fn lent(first: *const T, length: usize, owner: Arc<dyn Any + Send + Sync>) -> Numbers<T> {
        Numbers(Held::Lent(Lent { first, length, owner, facts: None }))
    }

    /// The numbers in some bytes of a mapped file, in little-endian order. `None` where these are not all in the file, do not begin at a
    /// multiple of the size of a number, are no whole number of them, or where the machine has another order of bytes.
    pub fn mapped(file: &Arc<MappedFile>, bytes: Range<usize>) -> Option<Numbers<T>> {
        let own = file.bytes().get(bytes.clone())?;
        let is_aligned = own.as_ptr().addr().is_multiple_of(align_of::<T>());
        if !is_aligned || !own.len().is_multiple_of(size_of::<T>()) || cfg!(target_endian = "big") {
            return None;
        }
        let (first, length) = (own.as_ptr().cast::<T>(), own.len() / size_of::<T>());
        let owner: Arc<dyn Any + Send + Sync> = Arc::clone(file) as _;
        // SAFETY: the bytes are aligned for `T` and as many as so many numbers have, any bits are a `T` (`Plain`), and a map stays where it
        // is, unchanged, until the file is dropped, which is held here.
        Some(unsafe { Numbers::lent(first, length, owner) })
    }

    /// Whether they lie in a mapped file.
    pub fn is_mapped(&self) -> bool {
        matches!(&self.0, Held::Lent(own) if own.owner.is::<MappedFile>())
    }

    /// What is known of them, where they are those of a list that was gone through ([`Numbers::with_facts`]) and that nobody changed since.
    pub fn facts(&self) -> Option<&T::Facts> {
        match &self.0 {
            Held::Lent(own) => own.facts.as_ref().map(|own| &*own.facts),
            Held::Own(_) | Held::Shared(_) => None,
        }
    }

    /// The same with what is known of them, from going through all of them in order by [`Number::see`]. Numbers of the heap may change, and
    /// keep none.
    #[must_use]
    pub fn with_facts(mut self, facts: T::Facts) -> Numbers<T> {
        if let Held::Lent(own) = &mut self.0 {
            own.facts = Some(Arc::new(Known::new(own.first.addr(), own.length, facts)));
        }
        self
    }

    /// A number that `of` computes from them and another one, such as a hash that goes on: of a list with facts it is kept, and computed once.
    pub fn computed(&self, from: u64, of: impl FnOnce(u64, &[T]) -> u64) -> u64 {
        let Held::Lent(Lent { facts: Some(known), .. }) = &self.0 else { return of(from, self) };
        let mut kept = known.computed.lock().unwrap_or_else(PoisonError::into_inner);
        match *kept {
            Some((own, number)) if own == from => number,
            _ => {
                let number = of(from, self);
                *kept = Some((from, number));
                number
            }
        }
    }

    /// They as a slice.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Held::Own(own) => own,
            Held::Shared(own) => own,
            // SAFETY: what was promised of lent numbers; their owner is held here.
            Held::Lent(own) => unsafe { std::slice::from_raw_parts(own.first, own.length) },
        }
    }

    /// Some of them, one after another: of a mapped file, and of what is lent, without a copy.
    ///
    /// # Panics
    /// If the range is not within them.
    pub fn part(&self, range: Range<usize>) -> Numbers<T> {
        match &self.0 {
            Held::Own(own) => Numbers(Held::Own(own[range].to_vec())),
            Held::Shared(own) => Numbers(Held::Own(own[range].to_vec())),
            Held::Lent(own) => {
                assert!(range.start <= range.end && range.end <= own.length, "a part lies within the whole");
                let first = own.first.wrapping_add(range.start);
                let owner = Arc::clone(&own.owner);
                Numbers(Held::Lent(Lent { first, length: range.len(), owner, facts: None }))
            }
        }
    }

    /// They in a list of their own, to be changed: a copy of those of a mapped file, of what is lent, and of what others read too.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if !matches!(self.0, Held::Own(_)) {
            self.0 = Held::Own(std::mem::take(self).into_vec());
        }
        match &mut self.0 {
            Held::Own(own) => own,
            Held::Shared(_) | Held::Lent(_) => unreachable!("they were copied"),
        }
    }

    /// They in a list of their own.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Held::Own(own) => own,
            Held::Shared(own) => Arc::try_unwrap(own).unwrap_or_else(|own| own.to_vec()),
            Held::Lent(_) => self.as_slice().to_vec(),
        }
    }

    /// The bytes that they take of the heap; of what several read, those of all.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Held::Own(_) | Held::Shared(_) => size_of_val(self.as_slice()),
            Held::Lent(_) => 0,
        }
    }
}

impl<T: Number> Deref for Numbers<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Number> DerefMut for Numbers<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.to_mut()
    }
}

impl<T: Number> Default for Numbers<T> {
    fn default() -> Self {
        Numbers(Held::Own(Vec::new()))
    }
}

impl<T: Number> From<Vec<T>> for Numbers<T> {
    fn from(own: Vec<T>) -> Self {
        Numbers(Held::Own(own))
    }
}

impl<T: Number> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Self {
        Numbers(Held::Own(numbers.into_iter().collect()))
    }
}

impl<T: Number> IntoIterator for Numbers<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T: Number> IntoIterator for &'a Numbers<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl<'a, T: Number> IntoIterator for &'a mut Numbers<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.to_mut().iter_mut()
    }
}

impl<T: Number> fmt::Debug for Numbers<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl<T: Number, S: AsRef<[T]> + ?Sized> PartialEq<S> for Numbers<T> {
    fn eq(&self, other: &S) -> bool {
        self.as_slice() == other.as_ref()
    }
}

impl<T: Number> AsRef<[T]> for Numbers<T> {
    fn as_ref(&self) -> &[T] {
        self.as_slice()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// A file of these bytes that is mapped.
    fn map(bytes: &[u8]) -> Arc<MappedFile> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cavi-numbers-{}-{number}", std::process::id()));
        File::create(&path).unwrap().write_all(bytes).unwrap();
        let mapped = MappedFile::new(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(path).unwrap();
        Arc::new(mapped)
    }

    #[test]
    fn numbers_of_a_file_read_as_those_in_memory() {
        let values = [1.5, -0.0, f64::NAN, 1e300];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let mapped = Numbers::<f64>::mapped(&map(&bytes), 0..32).unwrap();
        assert!(mapped.is_mapped() && mapped.heap_bytes() == 0);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&mapped), bits(&values));
        assert_eq!(mapped.part(1..2), [-0.0]);
        assert!(mapped.part(4..4).is_empty());
        assert!(mapped.clone().into_vec().len() == 4 && mapped.part(1..3).is_mapped());
    }

    #[test]
    fn a_change_is_of_a_copy() {
        let bytes: Vec<u8> = [7_u32, 8, 9].iter().flat_map(|value| value.to_le_bytes()).collect();
        let first = Numbers::<u32>::mapped(&map(&bytes), 4..12).unwrap();
        let mut second = first.clone();
        second[0] = 1;
        assert_eq!((first.as_slice(), second.as_slice()), (&[8, 9][..], &[1, 9][..]));
        assert!(first.is_mapped() && !second.is_mapped());
    }

    #[test]
    fn what_is_shared_or_lent_is_copied_when_it_changes() {
        let owner = Arc::new(vec![1.0, f64::NAN, -0.0, 4.0]);
        // SAFETY: the vector stays as it is while it is shared.
        let lent = unsafe { Numbers::lent(owner.as_ptr(), owner.len(), Arc::clone(&owner) as Arc<_>) };
        let shared = Numbers::shared(owner.to_vec());
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for (numbers, bytes) in [(lent.clone(), 0), (shared, 32)] {
            let mut second = numbers.clone();
            assert_eq!(second.as_ptr(), numbers.as_ptr());
            assert_eq!((numbers.heap_bytes(), numbers.is_mapped()), (bytes, false));
            assert_eq!(bits(&numbers.part(2..4)), bits(&owner[2..]));
            second[1] = 2.0;
            assert_eq!(bits(&numbers), bits(&owner));
            assert_eq!(second, [1.0, 2.0, -0.0, 4.0]);
            let place = second.as_ptr();
            second[0] = 0.0;
            assert_eq!(second.as_ptr(), place, "a list of its own changes where it is");
        }
        // The owner is held as long as the numbers are.
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(lent);
        assert_eq!(Arc::strong_count(&owner), 1);
        // The only reader of what was shared has it.
        let alone = Numbers::shared(vec![5.0, 6.0]);
        let place = alone.as_ptr();
        let own = alone.into_vec();
        assert_eq!((own.as_ptr(), own.len()), (place, 2));
    }

    #[test]
    fn bytes_that_are_no_numbers_are_none() {
        let file = map(&[0; 24]);
        for bytes in [0..7, 4..12, 8..32, 24..32] {
            assert!(Numbers::<f64>::mapped(&file, bytes.clone()).is_none(), "{bytes:?}");
        }
        assert!(Numbers::<f64>::mapped(&file, 8..24).is_some_and(|own| own.len() == 2));
        assert!(Numbers::<u32>::mapped(&file, 4..12).is_some_and(|own| own.len() == 2));
    }
}
