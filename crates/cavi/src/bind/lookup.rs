//! Where a label is among the labels of an axis.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use hashbrown::HashTable;

/// Places of labels by their hash. The labels themselves are not held a second time: who asks has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup(HashTable<u32>);

impl Lookup {
    /// Of these labels, none of which stands twice.
    pub fn of(labels: &[String]) -> Lookup {
        let mut places = HashTable::with_capacity(labels.len());
        for (place, label) in labels.iter().enumerate() {
            places.insert_unique(hash(label), place as u32, |place| hash(&labels[*place as usize]));
        }
        Lookup(places)
    }

    /// Whether it is of no label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The place of a label among those that it was made of; of `2.0`, which may have been typed, else that of `2`.
    pub fn find(&self, labels: &[String], label: &str) -> Option<u32> {
        let find = |label: &str| self.0.find(hash(label), |place| labels[*place as usize] == label).copied();
        find(label).or_else(|| match cavi_files::canonical_label(label) {
            own if own == label => None,
            own => find(&own),
        })
    }
}

fn hash(label: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_is_found_and_no_other() {
        for size in [0, 1, 2, 3, 1000] {
            let labels: Vec<String> = (0..size).map(|own| format!("u{own}")).collect();
            let lookup = Lookup::of(&labels);
            assert_eq!(lookup.is_empty(), size == 0);
            for (place, label) in labels.iter().enumerate() {
                assert_eq!(lookup.find(&labels, label), Some(place as u32));
            }
            for other in ["", "u", "u1000", "v0"] {
                assert_eq!(lookup.find(&labels, other), None, "{other}");
            }
        }
    }
}
