//! What the labels of an axis say of it.

/// What the positions of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Substitutions with the bases beside them: `A[C>A]A`.
    Contexts,
    /// Numbers that rise.
    Numbers,
    /// Days that follow each other: `2020-02-29`.
    Days,
    /// Names.
    Names,
    /// Numbers from 0 in their order: the axis has no labels of its own.
    Counted,
}

impl Kind {
    /// Of these labels.
    pub fn of(labels: &[String]) -> Kind {
        if labels.iter().enumerate().all(|(place, label)| *label == place.to_string()) {
            Kind::Counted
        } else if labels.iter().all(|own| substitution(own).is_some()) {
            Kind::Contexts
        } else if rising(labels) {
            Kind::Numbers
        } else if labels.iter().all(|own| is_day(own)) && labels.is_sorted() {
            Kind::Days
        } else {
            Kind::Names
        }
    }

    /// Whether positions have an order that a curve can follow.
    pub fn is_ordered(self) -> bool {
        match self {
            Kind::Numbers | Kind::Days => true,
            Kind::Contexts | Kind::Names | Kind::Counted => false,
        }
    }
}

/// `C>A` of `A[C>A]A`.
pub(crate) fn substitution(label: &str) -> Option<&str> {
    let bytes = label.as_bytes();
    let is_base = |place: usize| matches!(bytes[place], b'A' | b'C' | b'G' | b'T');
    let fits = bytes.len() == 7
        && [0, 2, 4, 6].into_iter().all(is_base)
        && (bytes[1], bytes[3], bytes[5]) == (b'[', b'>', b']');
    fits.then(|| &label[2..5])
}

fn rising(labels: &[String]) -> bool {
    let numbers: Option<Vec<f64>> = labels.iter().map(|own| own.parse().ok()).collect();
    numbers.is_some_and(|own| {
        own.len() > 2 && own.iter().all(|own| own.is_finite()) && own.windows(2).all(|pair| pair[0] < pair[1])
    })
}

fn is_day(label: &str) -> bool {
    let parts: Vec<&str> = label.split('-').collect();
    let number = |text: &str, digits: usize| -> Option<u32> {
        (text.len() == digits && text.bytes().all(|own| own.is_ascii_digit())).then(|| text.parse().ok())?
    };
    match parts.as_slice() {
        [year, month, day] => {
            number(year, 4).is_some()
                && number(month, 2).is_some_and(|own| (1..=12).contains(&own))
                && number(day, 2).is_some_and(|own| (1..=31).contains(&own))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn labels_say_what_an_axis_is() {
        let kind = |all: &[&str]| Kind::of(&all.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>());
        assert_eq!(kind(&["0", "1", "2"]), Kind::Counted);
        assert_eq!(kind(&["0.5", "1", "20"]), Kind::Numbers);
        assert_eq!(kind(&["3", "1", "2"]), Kind::Names);
        assert_eq!(kind(&["A[C>A]A", "T[T>G]C"]), Kind::Contexts);
        assert_eq!(kind(&["A[C>A]A", "é[T>G]"]), Kind::Names);
        assert_eq!(kind(&["2020-02-28", "2020-02-29"]), Kind::Days);
        assert_eq!(kind(&["2020-13-28", "2020-02-29"]), Kind::Names);
    }
}
