//! What a fit found, shown with labels: the largest entries of each factor, activities, pictures.
//!
//! What is shown follows from the `report` lines, and without any from supports, axes and labels; never from a name.

mod agreement;
mod along;

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, AxisId, Equations, Support};
use cavi_executor::Parameters;
use cavi_model::{Model, ReportSpec};

use crate::bind::Binding;
use crate::means::{Mean, mean};
use crate::prepare::Problem;
pub use agreement::{Agreement, Carried};
pub use along::{Bars, Curve, Curves, Interval, Intervals};

/// How many entries of a factor are listed where no `report` line says it.
const TOP: usize = 8;
/// More factors than these are not listed.
const MOST_ROWS: usize = 64;

/// One thing that a fit found.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The largest entries of each factor.
    Top(Top),
    /// How much of each group each factor has.
    Activity(Activity),
    /// Factors as pictures.
    Pictures(Pictures),
    /// All entries along an axis.
    Bars(Bars),
    /// Curves along an axis.
    Curves(Curves),
    /// Means with intervals.
    Intervals(Intervals),
    /// Classes against known labels.
    Agreement(Agreement),
    /// What a line of `report` would compare with, and is not there.
    Absent {
        /// The variable.
        variable: String,
        /// The file.
        with: String,
    },
}

/// The largest entries along one axis, for each position on the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Top {
    /// The variable.
    pub variable: String,
    /// The axis along which entries are listed.
    pub axis: String,
    /// Whether entries have a sign; they are then listed by size.
    pub signed: bool,
    /// For each factor what it is called and its entries, largest first.
    pub rows: Vec<(String, Vec<(String, f64)>)>,
    /// Factors that are not listed.
    pub more: usize,
}

/// Shares: rows sum to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The variable.
    pub variable: String,
    /// The axis of the columns.
    pub axis: String,
    /// Whether the shares are of sums of squares; else of sums.
    pub squares: bool,
    /// The labels of the columns.
    pub columns: Vec<String>,
    /// What each row is called, and its shares.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Rows that are not listed.
    pub more: usize,
}

/// Pictures of the same size, one a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures {
    /// The variable.
    pub variable: String,
    /// The number of rows of pixels.
    pub height: usize,
    /// The number of columns of pixels.
    pub width: usize,
    /// What each picture is called, and its pixels from 0 to 1, row by row.
    pub pictures: Vec<(String, Vec<f64>)>,
}

/// What a fit found. Lines of `report` that the data do not allow are returned as warnings.
pub fn findings(problem: &Problem, parameters: &Parameters) -> (Vec<Finding>, Vec<String>) {
    findings_with(problem, parameters, &|_| None)
}

/// As [`findings`], where the program carries some of the files that its `report` lines name.
pub fn findings_with(
    problem: &Problem,
    parameters: &Parameters,
    carried: Carried<'_>,
) -> (Vec<Finding>, Vec<String>) {
    let Problem { model, equations, binding, .. } = problem.as_given();
    let view = View { problem, model, equations, binding, parameters };
    if model.report.is_empty() { (view.defaults(), Vec::new()) } else { view.reported(carried) }
}

/// Positions on axes that name a row.
type Place = Vec<(AxisId, usize)>;

struct View<'a> {
    problem: &'a Problem,
    model: &'a Model,
    equations: &'a Equations,
    binding: &'a Binding,
    parameters: &'a Parameters,
}

impl View<'_> {
    fn reported(&self, carried: Carried<'_>) -> (Vec<Finding>, Vec<String>) {
        let mut findings = Vec::new();
        let mut warnings = Vec::new();
        for line in &self.model.report {
            match line {
                ReportSpec::Top { count, axis, variable } => {
                    findings.extend(self.top(*variable, *axis, *count as usize).map(Finding::Top));
                }
                ReportSpec::Heat(variable) => {
                    findings.extend(self.activity(*variable).map(Finding::Activity));
                }
                ReportSpec::Bars { axis, variable } => {
                    findings.extend(self.bars(*variable, *axis).into_iter().map(Finding::Bars));
                }
                ReportSpec::Curve { axis, variable } => {
                    findings.extend(self.curves(*variable, *axis).into_iter().map(Finding::Curves));
                }
                ReportSpec::Intervals(variable) => {
                    findings.extend(self.intervals(*variable).map(Finding::Intervals));
                }
                ReportSpec::Compare { variable, with } if !is_there(with, carried) => {
                    findings.push(Finding::Absent { variable: self.name(*variable), with: with.clone() });
                }
                ReportSpec::Compare { variable, with } => match self.agreement(*variable, with, carried) {
                    Ok(agreement) => findings.push(Finding::Agreement(agreement)),
                    Err(problem) => warnings.push(problem),
                },
                ReportSpec::Image { axis, height, width } => {
                    let (size, name) = (self.binding.bound.size(*axis), &self.symbols().axis(*axis).name);
                    if (*height as usize).checked_mul(*width as usize) != Some(size) {
                        warnings.push(format!(
                            "`image {name} = {height} x {width}`: the axis has {size} positions, and a picture of {height} x {width} has {}",
                            u128::from(*height) * u128::from(*width)
                        ));
                        continue;
                    }
                    findings.extend(self.pictures(*axis, *height as usize, *width as usize));
                }
            }
        }
        (findings, warnings)
    }

    /// Without a `report`: for a variable with one labelled axis and one without labels, the largest entries of each
    /// position of the latter; for a real one over a ragged axis, which positions are active in which group.
    fn defaults(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for variable in self.symbols().latents() {
            let array = self.symbols().array(variable);
            let axes: Vec<AxisId> =
                array.letters.iter().map(|letter| self.symbols().letter(*letter).axis).collect();
            let ragged = axes.iter().any(|axis| self.symbols().axis(*axis).parent.is_some());
            if array.support == Support::Real && ragged && axes.len() > 1 {
                findings.extend(self.activity(variable).map(Finding::Activity));
                continue;
            }
            let (labelled, unlabelled): (Vec<AxisId>, Vec<AxisId>) =
                axes.iter().partition(|axis| self.binding.labels.is_labelled(**axis));
            if let ([labelled], [_]) = (labelled.as_slice(), unlabelled.as_slice()) {
                findings.extend(self.top(variable, *labelled, TOP).map(Finding::Top));
            }
        }
        findings
    }

    fn symbols(&self) -> &cavi_algebra::Symbols {
        &self.equations.symbols
    }

    fn mean(&self, variable: ArrayId) -> Option<Mean> {
        mean(self.equations, &self.binding.bound, self.parameters, variable)
    }

    fn name(&self, variable: ArrayId) -> String {
        self.symbols().array(variable).name.clone()
    }

    fn label(&self, axis: AxisId, position: usize) -> String {
        self.binding.labels.path(self.symbols(), &self.binding.bound, axis, position).join("/")
    }

    fn parent(&self, axis: AxisId, position: usize) -> Option<(AxisId, usize)> {
        let parent = self.symbols().axis(axis).parent?;
        Some((parent, self.binding.bound.axes[axis.index()].parent.as_ref()?[position]))
    }

    /// `topic 3`, `genome Sample 1, signature 0`
    fn place(&self, place: &[(AxisId, usize)]) -> String {
        let part = |(axis, position): &(AxisId, usize)| {
            format!("{} {}", self.symbols().axis(*axis).name, self.label(*axis, *position))
        };
        place.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    fn top(&self, variable: ArrayId, axis: AxisId, count: usize) -> Option<Top> {
        let mean = self.mean(variable)?;
        let along = mean.axes.iter().rposition(|other| *other == axis)?;
        let signed = self.symbols().array(variable).support == Support::Real;
        let mut rows: BTreeMap<Place, Vec<(usize, f64)>> = BTreeMap::new();
        for_each_value(&mean, |position, value| {
            let mut place: Place = Vec::new();
            place.extend(self.parent(axis, position[along]));
            let others =
                position.iter().zip(&mean.axes).enumerate().filter(|(dimension, _)| *dimension != along);
            place.extend(others.map(|(_, (position, axis))| (*axis, *position)));
            rows.entry(place).or_default().push((position[along], value));
        });
        let more = rows.len().saturating_sub(MOST_ROWS);
        let size = |value: f64| if signed { value.abs() } else { value };
        let rows = rows.into_iter().take(MOST_ROWS).map(|(place, mut entries)| {
            entries.sort_by(|left, right| size(right.1).total_cmp(&size(left.1)).then(left.0.cmp(&right.0)));
            let own =
                |position: usize| self.binding.labels.label(&self.binding.bound, axis, position).into_owned();
            let entries = entries.into_iter().take(count).map(|(position, value)| (own(position), value));
            (self.place(&place), entries.collect())
        });
        let rows = rows.collect();
        Some(Top {
            variable: self.name(variable),
            axis: self.symbols().axis(axis).name.clone(),
            signed,
            rows,
            more,
        })
    }

    /// A ragged dimension counts as its outermost ancestor: what is summed is all of a group.
    fn activity(&self, variable: ArrayId) -> Option<Activity> {
        let mean = self.mean(variable)?;
        let squares = self.symbols().array(variable).support == Support::Real;
        let is_factor = |axis: &AxisId| {
            !self.binding.labels.is_labelled(*axis) && self.symbols().axis(*axis).parent.is_none()
        };
        let column = mean.axes.iter().rposition(is_factor).or(mean.axes.len().checked_sub(1))?;
        let width = mean.shape[column];
        let mut rows: BTreeMap<Place, Vec<f64>> = BTreeMap::new();
        for_each_value(&mean, |position, value| {
            let others =
                position.iter().zip(&mean.axes).enumerate().filter(|(dimension, _)| *dimension != column);
            let place = others.map(|(_, (position, axis))| {
                let mut place = (*axis, *position);
                while let Some(parent) = self.parent(place.0, place.1) {
                    place = parent;
                }
                place
            });
            let row = rows.entry(place.collect()).or_insert_with(|| vec![0.0; width]);
            row[position[column]] += if squares { value * value } else { value };
        });
        let more = rows.len().saturating_sub(MOST_ROWS);
        let rows = rows.into_iter().take(MOST_ROWS).map(|(place, row)| {
            let total: f64 = row.iter().sum();
            let share = |value: f64| if total > 0.0 { value / total } else { 0.0 };
            (self.place(&place), row.into_iter().map(share).collect())
        });
        let rows = rows.collect();
        let axis = mean.axes[column];
        Some(Activity {
            variable: self.name(variable),
            axis: self.symbols().axis(axis).name.clone(),
            squares,
            columns: (0..width).map(|position| self.label(axis, position)).collect(),
            rows,
            more,
        })
    }

    /// Every variable over the axis whose pictures fit on a page.
    fn pictures(&self, axis: AxisId, height: usize, width: usize) -> Vec<Finding> {
        let mut findings = Vec::new();
        for variable in self.symbols().latents() {
            let Some(mean) = self.mean(variable) else { continue };
            let Some(along) = mean.axes.iter().rposition(|other| *other == axis) else { continue };
            let others: usize = mean.shape.iter().product::<usize>() / mean.shape[along].max(1);
            if others == 0 || others > MOST_ROWS {
                continue;
            }
            let mut rows: BTreeMap<Place, Vec<f64>> = BTreeMap::new();
            for_each_value(&mean, |position, value| {
                let others = position.iter().zip(&mean.axes).enumerate().filter(|(place, _)| *place != along);
                let place = others.map(|(_, (position, axis))| (*axis, *position)).collect();
                rows.entry(place).or_default().push(value);
            });
            let pictures = rows.into_iter().map(|(place, row)| (self.place(&place), brightness(&row)));
            let variable = self.name(variable);
            findings.push(Finding::Pictures(Pictures {
                variable,
                height,
                width,
                pictures: pictures.collect(),
            }));
        }
        findings
    }
}

/// Whether there is a file to compare with.
fn is_there(with: &str, carried: Carried<'_>) -> bool {
    carried(with).is_some() || cavi_files::split_column(with).0.exists()
}

/// From 0 (or the smallest value, if that is negative) to the largest value, as 0 to 1.
fn brightness(values: &[f64]) -> Vec<f64> {
    let low = values.iter().copied().fold(0.0, f64::min);
    let high = values.iter().copied().fold(low, f64::max);
    values.iter().map(|value| if high > low { (value - low) / (high - low) } else { 0.0 }).collect()
}

/// Calls `body` with the position of every entry and its value.
fn for_each_value(mean: &Mean, mut body: impl FnMut(&[usize], f64)) {
    let mut values = mean.values.iter();
    for_each(&mean.shape, |position| {
        if let Some(value) = values.next() {
            body(position, *value);
        }
    });
}

/// Calls `body` with the position of every entry of an array of this shape, in C order.
fn for_each(shape: &[usize], mut body: impl FnMut(&[usize])) {
    let mut position = vec![0; shape.len()];
    for _ in 0..shape.iter().product() {
        body(&position);
        for place in (0..position.len()).rev() {
            position[place] += 1;
            if position[place] < shape[place] {
                break;
            }
            position[place] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::brightness;

    #[test]
    fn pictures_span_dark_to_bright() {
        assert_eq!(brightness(&[1.0, 2.0, 4.0]), [0.25, 0.5, 1.0]);
        assert_eq!(brightness(&[-1.0, 0.0, 1.0]), [0.0, 0.5, 1.0]);
        assert_eq!(brightness(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
