//! What the labels of an axis say of it.

/// What the positions of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Substitutions with the bases beside them: `A[C>A]A`.
    Contexts,
    /// Numbers that rise, and that measure something: fractions, or whole numbers at equal steps, as years are.
    Numbers,
    /// Whole numbers that rise: as likely names of users as quantities.
    Whole,
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
        } else if let Some(numbers) = rising(labels) {
            measures(&numbers)
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
            Kind::Contexts | Kind::Whole | Kind::Names | Kind::Counted => false,
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

fn rising(labels: &[String]) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = labels.iter().map(|own| own.parse().ok()).collect::<Option<_>>()?;
    let rises = numbers.iter().all(|own| own.is_finite()) && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    (rises && numbers.len() > 2).then_some(numbers)
}

/// Whether numbers that rise are quantities. A list of users has whole numbers too, which start at 0 or 1 or have gaps.
fn measures(numbers: &[f64]) -> Kind {
    let whole = numbers.iter().all(|own| own.fract() == 0.0);
    let equal = numbers.windows(3).all(|three| three[2] - three[1] == three[1] - three[0]);
    let counts = [0.0, 1.0].contains(&numbers[0]) && numbers[1] - numbers[0] == 1.0;
    if !whole || equal && !counts { Kind::Numbers } else { Kind::Whole }
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
        assert_eq!(kind(&["1990", "1991", "1992"]), Kind::Numbers);
        assert_eq!([kind(&["1", "2", "3"]), kind(&["7", "8", "20"])], [Kind::Whole; 2]);
        assert_eq!(kind(&["3", "1", "2"]), Kind::Names);
        assert_eq!(kind(&["A[C>A]A", "T[T>G]C"]), Kind::Contexts);
        assert_eq!(kind(&["A[C>A]A", "é[T>G]"]), Kind::Names);
        assert_eq!(kind(&["2020-02-28", "2020-02-29"]), Kind::Days);
        assert_eq!(kind(&["2020-13-28", "2020-02-29"]), Kind::Names);
    }
}
