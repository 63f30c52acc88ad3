//! Where a label is among the labels of an axis.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Places of labels by their hash. The labels themselves are not held a second time: who asks has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    /// At the hash of a label, or at the next free place after it, the place of the label; [`FREE`] elsewhere. A power of two of them,
    /// at least a half more than there are labels; none of no label.
    slots: Vec<u32>,
}

/// No label is here.
const FREE: u32 = u32::MAX;

impl Lookup {
    /// Of these labels, none of which stands twice.
    pub fn of(labels: &[String]) -> Lookup {
        if labels.is_empty() {
            return Lookup::default();
        }
        let size = (labels.len() + labels.len() / 2 + 1).next_power_of_two();
        let mut lookup = Lookup { slots: vec![FREE; size] };
        for (place, label) in labels.iter().enumerate() {
            let slot = lookup.slot(labels, label);
            lookup.slots[slot] = place as u32;
        }
        lookup
    }

    /// Whether it is of no label.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The place of a label among those that it was made of.
    pub fn find(&self, labels: &[String], label: &str) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        Some(self.slots[self.slot(labels, label)]).filter(|place| *place != FREE)
    }

    /// Where a label is, or is to be.
    fn slot(&self, labels: &[String], label: &str) -> usize {
        let mut hasher = DefaultHasher::new();
        label.hash(&mut hasher);
        let mask = self.slots.len() - 1;
        let mut slot = hasher.finish() as usize & mask;
        while self.slots[slot] != FREE && labels[self.slots[slot] as usize] != label {
            slot = (slot + 1) & mask;
        }
        slot
    }
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
