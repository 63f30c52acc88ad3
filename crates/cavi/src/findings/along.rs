//! Variables along an axis: bars, profiles of substitutions in their contexts, curves with bands, and intervals.

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, AxisId, Support};
use cavi_families::marginal::Marginal;

use super::{MOST_ROWS, Place, View, for_each};
use crate::summary::{Spread, spread_of};

/// Between these levels lies an interval of 90 %.
pub const LEVELS: (f64, f64) = (0.05, 0.95);

/// All entries along one axis, for each position on the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The variable.
    pub variable: String,
    /// The axis.
    pub axis: String,
    /// What each entry is called.
    pub labels: Vec<String>,
    /// Where the labels are substitutions in their contexts, `A[C>A]A`: each substitution with the places of its entries.
    pub substitutions: Vec<(String, Vec<usize>)>,
    /// Whether entries have a sign.
    pub signed: bool,
    /// For each component what it is called and its entries.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Components that are not shown.
    pub more: usize,
}

/// Curves along one axis, for each position on the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// The variable.
    pub variable: String,
    /// The axis.
    pub axis: String,
    /// What its positions are called.
    pub labels: Vec<String>,
    /// The curves.
    pub rows: Vec<Curve>,
    /// Curves that are not shown.
    pub more: usize,
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is called.
    pub name: String,
    /// Its mean at each position.
    pub mean: Vec<f64>,
    /// The ends of the interval of 90 % at each position, where q has them.
    pub band: Option<Vec<(f64, f64)>>,
}

/// Means with their intervals, by how far they are from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// The variable.
    pub variable: String,
    /// Whether entries have a sign, so that an interval may hold 0.
    pub signed: bool,
    /// Each entry: what it is called, its mean, its standard deviation, and the ends of its interval of 90 %.
    pub rows: Vec<Interval>,
}

/// An entry with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// What it is called.
    pub label: String,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation, where q has one.
    pub sd: Option<f64>,
    /// The ends of the interval, where q has them.
    pub ends: Option<(f64, f64)>,
}

impl Interval {
    /// Whether the interval lies on one side of 0.
    pub fn is_apart_from_zero(&self) -> bool {
        self.ends.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

/// What stands along an axis: for each position on the others the cells of its entries, in order. The rows of one have the same labels: of a
/// ragged axis those of groups that have other ones stand apart.
struct Along {
    labels: Vec<String>,
    rows: Vec<(String, Vec<usize>)>,
    more: usize,
}

impl View<'_> {
    fn along(&self, axes: &[AxisId], shape: &[usize], axis: AxisId) -> Vec<Along> {
        let Some(along) = axes.iter().rposition(|other| *other == axis) else { return Vec::new() };
        let mut rows: BTreeMap<Place, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        let mut cell = 0;
        for_each(shape, |position| {
            let mut place: Place = Vec::new();
            place.extend(self.parent(axis, position[along]));
            let others = position.iter().zip(axes).enumerate().filter(|(dimension, _)| *dimension != along);
            place.extend(others.map(|(_, (position, axis))| (*axis, *position)));
            let (positions, cells) = rows.entry(place).or_default();
            positions.push(position[along]);
            cells.push(cell);
            cell += 1;
        });
        let more = rows.len().saturating_sub(MOST_ROWS);
        let named = |place: &Place| match place.is_empty() {
            true => String::new(),
            false => self.place(place),
        };
        let label =
            |position: &usize| self.binding.labels.label(&self.binding.bound, axis, *position).into_owned();
        let mut found: Vec<Along> = Vec::new();
        let mut last: Option<Vec<usize>> = None;
        for (place, (positions, cells)) in rows.into_iter().take(MOST_ROWS) {
            if last.as_ref() != Some(&positions) {
                let labels: Vec<String> = positions.iter().map(label).collect();
                if found.last().is_none_or(|own| own.labels != labels) {
                    found.push(Along { labels, rows: Vec::new(), more: 0 });
                }
                last = Some(positions);
            }
            if let Some(own) = found.last_mut() {
                own.rows.push((named(&place), cells));
            }
        }
        if let Some(own) = found.last_mut() {
            own.more = more;
        }
        found
    }

    /// One for each group of a ragged axis that has labels of its own, else one.
    pub(super) fn bars(&self, variable: ArrayId, axis: AxisId) -> Vec<Bars> {
        let Some(mean) = self.mean(variable) else { return Vec::new() };
        let values = |cells: Vec<usize>| cells.into_iter().map(|cell| mean.values[cell]).collect();
        let of = |Along { labels, rows, more }: Along| Bars {
            variable: self.name(variable),
            axis: self.symbols().axis(axis).name.clone(),
            substitutions: substitutions(&labels),
            labels,
            signed: self.symbols().array(variable).support == Support::Real,
            rows: rows.into_iter().map(|(name, cells)| (name, values(cells))).collect(),
            more,
        };
        self.along(&mean.axes, &mean.shape, axis).into_iter().map(of).collect()
    }

    /// As [`View::bars`].
    pub(super) fn curves(&self, variable: ArrayId, axis: AxisId) -> Vec<Curves> {
        let Some(mean) = self.mean(variable) else { return Vec::new() };
        let marginals = self.spread(variable).marginals;
        let curve = |(name, cells): (String, Vec<usize>)| Curve {
            name,
            mean: cells.iter().map(|cell| mean.values[*cell]).collect(),
            band: marginals
                .as_ref()
                .and_then(|own| cells.iter().map(|cell| ends(*own.get(*cell)?)).collect()),
        };
        let of = |Along { labels, rows, more }: Along| Curves {
            variable: self.name(variable),
            axis: self.symbols().axis(axis).name.clone(),
            labels,
            rows: rows.into_iter().map(curve).collect(),
            more,
        };
        self.along(&mean.axes, &mean.shape, axis).into_iter().map(of).collect()
    }

    pub(super) fn intervals(&self, variable: ArrayId) -> Option<Intervals> {
        let mean = self.mean(variable)?;
        let Spread { marginals, deviations } = self.spread(variable);
        let mut rows = Vec::new();
        let mut cell = 0;
        for_each(&mean.shape, |position| {
            let place: Place = mean.axes.iter().copied().zip(position.iter().copied()).collect();
            let label = match place[..] {
                [] => self.name(variable),
                [(axis, position)] => self.label(axis, position),
                _ => self.place(&place),
            };
            let sd = deviations.as_ref().and_then(|own| own.get(cell).copied());
            rows.push(Interval {
                label,
                mean: mean.values[cell],
                sd: sd.filter(|own| !own.is_nan()),
                ends: marginals.as_ref().and_then(|own| ends(*own.get(cell)?)),
            });
            cell += 1;
        });
        // How many standard deviations from 0; where there are none, how far.
        let size = |own: &Interval| own.mean.abs() / own.sd.filter(|sd| *sd > 0.0).unwrap_or(1.0);
        rows.sort_by(|one, other| size(other).total_cmp(&size(one)));
        let signed = self.symbols().array(variable).support == Support::Real;
        Some(Intervals { variable: self.name(variable), signed, rows })
    }

    /// How the entries of a variable are spread under q, in C order.
    fn spread(&self, variable: ArrayId) -> Spread {
        spread_of(self.problem, self.parameters, variable)
    }
}

/// The ends of an interval; `None` where the quantiles are not known.
fn ends(marginal: Marginal) -> Option<(f64, f64)> {
    let (low, high) = (marginal.quantile(LEVELS.0), marginal.quantile(LEVELS.1));
    (!low.is_nan() && !high.is_nan()).then_some((low, high))
}

/// The substitutions of labels such as `A[C>A]A`, each with the places of its contexts; nothing where a label has another form.
fn substitutions(labels: &[String]) -> Vec<(String, Vec<usize>)> {
    let mut found: Vec<(String, Vec<usize>)> = Vec::new();
    for (place, label) in labels.iter().enumerate() {
        let inside =
            label.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
        let Some(inside) = inside.filter(|own| own.split_once('>').is_some_and(|(from, to)| from != to))
        else {
            return Vec::new();
        };
        match found.iter_mut().find(|(own, _)| own == inside) {
            Some((_, places)) => places.push(place),
            None => found.push((inside.to_owned(), vec![place])),
        }
    }
    if found.len() > 1 { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::substitutions;

    #[test]
    fn substitutions_are_told_by_their_form() {
        let labels = |all: &[&str]| all.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>();
        let found = substitutions(&labels(&["A[C>A]A", "A[C>T]A", "A[C>A]C"]));
        assert_eq!(found, [("C>A".to_owned(), vec![0, 2]), ("C>T".to_owned(), vec![1])]);
        assert!(substitutions(&labels(&["A[C>A]A", "other"])).is_empty());
        assert!(substitutions(&labels(&["x[1]", "x[2]"])).is_empty());
        assert!(substitutions(&[]).is_empty());
    }
}
