//! Which component of one fit is which of another, by the cosines of their means.

use cavi::matching::{self, Components, Matching};

use super::heldout::first_line;
use super::sides::Side;
use crate::charts::heat::{self, Matrix};
use crate::figure::{Figure, Table};
use crate::html::{capital, count, number};

/// So many fits are matched with the one of reference.
const MOST_MATCHED: usize = 8;
/// All fits are matched with all where it takes so many products of numbers at most.
const MOST_PRODUCTS: f64 = 4e9;
/// So many of its largest entries say what a component is.
const NAMED: usize = 4;
/// A pair with this cosine is the same component to a reader.
pub(crate) const ALIKE: f64 = 0.9;

/// The components of the fits, matched.
pub(crate) struct Matched {
    /// The fit with which others are matched.
    pub reference: usize,
    /// The components of each fit that has some.
    components: Vec<Option<Components>>,
    /// For each fit that is matched its place and how its components match.
    pub pairs: Vec<(usize, Matching)>,
    /// The mean cosine of matched components of all pairs of fits with components, by their places.
    all: Option<(Vec<usize>, Vec<f64>)>,
    /// What is not matched, and why.
    pub reasons: Vec<String>,
}

impl Matched {
    /// Matches the components of all fits with those of one, or of the first that has some.
    pub fn of(sides: &[Side], reference: usize) -> Matched {
        let mut reasons: Vec<String> = Vec::new();
        let mut components: Vec<Option<Components>> = Vec::new();
        for side in sides {
            components.push(match Components::of_fit(&side.directory, None, None) {
                Ok(own) => Some(own),
                Err(error) => {
                    reasons.push(format!(
                        "The components of {} are not matched: {}.",
                        side.name,
                        first_line(&error)
                    ));
                    None
                }
            });
        }
        let with: Vec<usize> = (0..sides.len()).filter(|own| components[*own].is_some()).collect();
        let reference =
            if with.contains(&reference) { reference } else { with.first().copied().unwrap_or(0) };
        let mut pairs = Vec::new();
        for place in with.iter().filter(|own| **own != reference) {
            let (Some(one), Some(other)) = (&components[reference], &components[*place]) else { continue };
            if pairs.len() == MOST_MATCHED {
                reasons.push(format!(
                    "{MOST_MATCHED} fits are matched with {}; `cavi match` does it for others.",
                    sides[reference].name
                ));
                break;
            }
            match matching::matching(one, other) {
                Ok(own) => pairs.push((*place, own)),
                Err(error) => reasons.push(format!(
                    "The components of {} and {} are not matched: {}.",
                    sides[reference].name, sides[*place].name, error.message
                )),
            }
        }
        let all = of_all(&components, &with);
        Matched { reference, components, pairs, all, reasons }
    }

    /// How many components of the reference have a partner in a fit that is nearly the same, of how many.
    pub fn alike(&self, found: &Matching) -> (usize, usize) {
        let alike = found.pairs.iter().filter(|own| found.likeness(own) >= ALIKE).count();
        (alike, self.components[self.reference].as_ref().map_or(0, |own| own.names.len()))
    }

    /// What components are called: their axis.
    pub fn axis(&self) -> &str {
        self.components[self.reference].as_ref().map_or("component", |own| own.axis.as_str())
    }

    /// How alike all fits are, and a heat map for each fit that is matched.
    pub fn figures(&self, sides: &[Side]) -> Vec<Figure> {
        let mut figures = Vec::new();
        if let Some((places, values)) = self.all.as_ref().filter(|(places, _)| places.len() > 2) {
            let names: Vec<String> = places.iter().map(|own| sides[*own].name.clone()).collect();
            let matrix = Matrix {
                rows: ("fit", &names),
                columns: ("fit", &names),
                values: values.clone(),
                ordered: true,
            };
            figures.push(heat::figure(
                "components-of-fits",
                "How alike the components of all fits are".to_owned(),
                "The mean cosine of matched components (its size, where their signs are free), of the fewer ones where fits have different numbers of them.",
                &matrix,
            ));
        }
        figures.extend(self.pairs.iter().filter_map(|(place, found)| self.pair(sides, *place, found)));
        figures
    }

    /// The cosines of all components of the reference with all of another fit, those beside each other that are matched.
    fn pair(&self, sides: &[Side], place: usize, found: &Matching) -> Option<Figure> {
        let (a, b) = (self.components[self.reference].as_ref()?, self.components[place].as_ref()?);
        let (one, two) = (sides[self.reference].name.as_str(), sides[place].name.as_str());
        let mut order: Vec<usize> = found.pairs.iter().map(|own| own.b).collect();
        order.extend((0..b.names.len()).filter(|own| found.pairs.iter().all(|pair| pair.b != *own)));
        let mut rows: Vec<usize> = found.pairs.iter().map(|own| own.a).collect();
        rows.extend((0..a.names.len()).filter(|own| found.pairs.iter().all(|pair| pair.a != *own)));
        let columns: Vec<String> = order.iter().map(|own| b.names[*own].clone()).collect();
        let names: Vec<String> = rows.iter().map(|own| a.names[*own].clone()).collect();
        let values = rows
            .iter()
            .flat_map(|row| order.iter().map(move |column| (row, column)))
            .map(|(row, column)| found.cosines[row * b.names.len() + column])
            .collect();
        let (of_a, of_b) = (format!("{} of {one}", a.axis), format!("{} of {two}", b.axis));
        let what = format!(
            "Cosines of the means of {} over the {} labels that both have; those of the pairs, which stand first and in the same order, are {} in the mean.",
            if a.variable == b.variable {
                a.variable.clone()
            } else {
                format!("{} and {}", a.variable, b.variable)
            },
            count(found.common),
            number(found.stability)
        );
        let matrix = Matrix { rows: (&of_a, &names), columns: (&of_b, &columns), values, ordered: true };
        let title = format!("{} of {one} and of {two}", capital(&a.axis));
        let mut figure = heat::figure(&format!("{}-cosines", a.axis), title, &what, &matrix);
        figure.table = table(a, b, found, [&of_a, &of_b]);
        Some(figure)
    }
}

/// The pairs, with what the components are by their largest entries, and the components without a partner.
fn table(a: &Components, b: &Components, found: &Matching, names: [&str; 2]) -> Table {
    let mut rows = Vec::new();
    for own in 0..a.names.len() {
        let mixture = found.mixtures.iter().find(|mixture| mixture.a == own).map(|mixture| {
            let [one, two] = mixture.parts.map(|place| b.names[place].as_str());
            let [u, v] = mixture.weights;
            let sign = if v < 0.0 { '-' } else { '+' };
            format!("{:.4}: {u:.2} {one} {sign} {:.2} {two}", mixture.cosine, v.abs())
        });
        let mixture = mixture.unwrap_or_default();
        let first = [a.names[own].clone(), largest(a, own)];
        let rest = match found.pairs.iter().find(|pair| pair.a == own) {
            Some(pair) => {
                [b.names[pair.b].clone(), largest(b, pair.b), mixture, format!("{:.4}", pair.cosine)]
            }
            None => [String::new(), String::new(), mixture, String::new()],
        };
        rows.push([&first[..], &rest[..]].concat());
    }
    for own in (0..b.names.len()).filter(|own| found.pairs.iter().all(|pair| pair.b != *own)) {
        let none = String::new;
        rows.push(vec![none(), none(), b.names[own].clone(), largest(b, own), none(), none()]);
    }
    let head =
        [names[0], "its largest entries", names[1], "its largest entries", "best mixture of two", "cosine"];
    Table::new(&head, 5, rows)
}

/// The labels of the largest entries of a component: by size where they have signs.
fn largest(of: &Components, place: usize) -> String {
    let size = |own: &usize| {
        let value = of.values[place][*own];
        if of.signed { value.abs() } else { value }
    };
    let mut order: Vec<usize> = (0..of.labels.len()).collect();
    order.sort_by(|one, other| size(other).total_cmp(&size(one)).then(one.cmp(other)));
    let label = |own: &usize| match of.signed && of.values[place][*own] < 0.0 {
        true => format!("-{}", of.labels[*own]),
        false => of.labels[*own].clone(),
    };
    order.iter().take(NAMED).map(label).collect::<Vec<_>>().join(", ")
}

/// The stability of each pair of fits; `None` where it would take too long.
fn of_all(components: &[Option<Components>], with: &[usize]) -> Option<(Vec<usize>, Vec<f64>)> {
    let own = |place: usize| components[with[place]].as_ref();
    let pairs = || (0..with.len()).flat_map(|one| (one + 1..with.len()).map(move |other| (one, other)));
    let products: f64 = pairs()
        .filter_map(|(one, other)| Some((own(one)?, own(other)?)))
        .map(|(one, other)| (one.names.len() * other.names.len() * one.labels.len()) as f64)
        .sum();
    if products > MOST_PRODUCTS {
        return None;
    }
    let mut values = vec![1.0; with.len() * with.len()];
    for (one, other) in pairs() {
        let found = matching::matching(own(one)?, own(other)?).map_or(f64::NAN, |own| own.stability);
        values[one * with.len() + other] = found;
        values[other * with.len() + one] = found;
    }
    Some((with.to_vec(), values))
}
