//! Lists that grow by a part of their length.

/// A list shorter than this, in bytes, doubles.
const SHORT: usize = 1 << 20;

/// Adds to a list. A long one that is full gets room for a quarter more, so that no more than that lies idle: doubling may leave as much idle
/// as there is.
#[inline]
pub(crate) fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() {
        grow(list);
    }
    list.push(value);
}

#[cold]
fn grow<T>(list: &mut Vec<T>) {
    let length = list.len().max(16);
    let is_short = length.saturating_mul(size_of::<T>()) < SHORT;
    list.reserve_exact(if is_short { length } else { length / 4 });
}

/// Gives back the room that a list does not fill.
pub(crate) fn fitted<T>(mut list: Vec<T>) -> Vec<T> {
    list.shrink_to_fit();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_lies_idle_at_most() {
        let mut list = Vec::new();
        for number in 0..1_000_000_u64 {
            push(&mut list, number);
            assert!(list.len() < SHORT / 8 || list.capacity() <= list.len() + list.len() / 4 + 1);
        }
        assert!(list.iter().enumerate().all(|(place, own)| place as u64 == *own));
        assert_eq!(fitted(list).len(), 1_000_000);
    }
}
