//! Which charts suit a latent: by its axes, their labels and its support.

use cavi::findings::Top;
use cavi::summary::{self, Variable};
use cavi_model::ReportSpec;

use crate::axes::Kind;
use crate::by::Column;
use crate::charts::curves::Curve;
use crate::charts::heat::Matrix;
use crate::charts::intervals::Interval;
use crate::charts::scatter::Cloud;
use crate::charts::{bars, contexts, curves, heat, histogram, intervals, pictures, scatter};
use crate::figure::{Figure, Table};
use crate::fitted::{Fitted, base_name};
use crate::html::{count, number};

/// So many entries are listed where no `report` line says it.
const TOP: usize = 10;
/// A list of intervals has so many.
const MOST_INTERVALS: usize = 60;
/// So many components have charts of their own.
const MOST_COMPONENTS: usize = 60;
/// The ends of an interval.
const ENDS: (f64, f64) = (0.05, 0.95);

/// The charts of a latent with axes.
pub(crate) fn figures(fitted: &Fitted, variable: &Variable, by: &[Column]) -> Vec<Figure> {
    // Means may be infinite under q, and there is nothing to draw of them; one list has intervals all the same.
    let has_intervals =
        || variable.axes.len() == 1 && (0..variable.values.len()).any(|own| ends(variable, own).is_some());
    if !has_finite(variable) && !has_intervals() {
        return Vec::new();
    }
    match variable.axes.as_slice() {
        [] => Vec::new(),
        [(axis, labels)] => one_axis(fitted, variable, axis, labels),
        [_, _] => two_axes(fitted, variable, by),
        _ => {
            let (axis, most) = reported(fitted, variable).unzip();
            let top = summary::top(variable, axis.as_deref(), most.unwrap_or(TOP).max(1));
            top.ok().map(|top| bars::figure(&top)).into_iter().collect()
        }
    }
}

/// Whether a latent has a mean that is a number.
fn has_finite(variable: &Variable) -> bool {
    variable.values.iter().any(|own| own.is_finite())
}

/// The latents that are one number, in a table.
pub(crate) fn single_numbers(fitted: &Fitted) -> Option<Table> {
    let singles: Vec<&Variable> =
        fitted.variables.iter().filter(|own| own.axes.is_empty() && own.values.len() == 1).collect();
    if singles.is_empty() {
        return None;
    }
    let row = |own: &&Variable| {
        let (low, high) = ends(own, 0).unwrap_or((f64::NAN, f64::NAN));
        let shown = |value: f64| if value.is_nan() { String::new() } else { number(value) };
        vec![own.name.clone(), number(own.values[0]), shown(low), shown(high)]
    };
    Some(Table::new(&["latent", "mean", "5 %", "95 %"], 1, singles.iter().map(row)))
}

/// The interval of 90 % of a value, where q has one.
fn ends(variable: &Variable, cell: usize) -> Option<(f64, f64)> {
    let own = variable.marginals.as_ref()?[cell];
    let (low, high) = (own.quantile(ENDS.0), own.quantile(ENDS.1));
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// The axis and the number of a line `top` about a latent.
fn reported(fitted: &Fitted, variable: &Variable) -> Option<(String, usize)> {
    let model = &fitted.compiled.model;
    model.report.iter().find_map(|line| match line {
        ReportSpec::Top { count, axis, variable: own }
            if model.symbols.array(*own).name == base_name(variable) =>
        {
            Some((model.symbols.axis(*axis).name.clone(), usize::try_from(*count).unwrap_or(TOP)))
        }
        ReportSpec::Top { .. }
        | ReportSpec::Heat(_)
        | ReportSpec::Image { .. }
        | ReportSpec::Bars { .. }
        | ReportSpec::Curve { .. }
        | ReportSpec::Intervals(_)
        | ReportSpec::Compare { .. } => None,
    })
}

/// The size of the pictures that an axis holds.
fn image(fitted: &Fitted, axis: &str, size: usize) -> Option<(usize, usize)> {
    let model = &fitted.compiled.model;
    model.report.iter().find_map(|line| match line {
        ReportSpec::Image { axis: own, height, width } if model.symbols.axis(*own).name == axis => {
            let (height, width) = (usize::try_from(*height).ok()?, usize::try_from(*width).ok()?);
            (width > 0 && height.checked_mul(width) == Some(size)).then_some((height, width))
        }
        ReportSpec::Top { .. }
        | ReportSpec::Heat(_)
        | ReportSpec::Image { .. }
        | ReportSpec::Bars { .. }
        | ReportSpec::Curve { .. }
        | ReportSpec::Intervals(_)
        | ReportSpec::Compare { .. } => None,
    })
}

fn one_axis(fitted: &Fitted, variable: &Variable, axis: &str, labels: &[String]) -> Vec<Figure> {
    let rows = || vec![(variable.name.clone(), variable.values.clone())];
    let kind = fitted.kind(axis, labels);
    if let Some((height, width)) = image(fitted, axis, labels.len()) {
        return vec![pictures::figure(&variable.name, height, width, &rows())];
    }
    if kind == Kind::Contexts {
        return vec![contexts::figure(&variable.name, labels, &rows())];
    }
    if kind.is_ordered() {
        let curve = curve(variable, variable.name.clone(), &(0..labels.len()).collect::<Vec<_>>());
        return vec![curves::figure(&variable.name, axis, labels, kind, &[curve])];
    }
    let mut figures = Vec::new();
    let mut order: Vec<usize> = (0..labels.len()).collect();
    if labels.len() > MOST_INTERVALS {
        if has_finite(variable) {
            figures.push(histogram::figure(&variable.name, axis, &variable.values));
        }
        let size = |place: &usize| {
            if variable.signed { variable.values[*place].abs() } else { variable.values[*place] }
        };
        order.sort_by(|one, other| size(other).total_cmp(&size(one)).then(one.cmp(other)));
        order.truncate(MOST_INTERVALS);
    }
    let interval = |place: &usize| {
        let label = match kind {
            Kind::Counted => format!("{axis} {}", labels[*place]),
            Kind::Contexts | Kind::Numbers | Kind::Whole | Kind::Days | Kind::Names => labels[*place].clone(),
        };
        Interval { label, mean: variable.values[*place], ends: ends(variable, *place) }
    };
    let shown: Vec<Interval> = order.iter().map(interval).collect();
    figures.push(intervals::figure(
        &variable.name,
        axis,
        &shown,
        labels.len() - shown.len(),
        variable.signed,
    ));
    figures
}

/// A variable as a matrix: a row for each component, a column for each position of the other axis.
struct Components<'a> {
    variable: &'a Variable,
    /// Which of the two axes is that of the rows.
    row: usize,
}

impl<'a> Components<'a> {
    /// The rows are the components, else the axis with fewer positions.
    fn of(fitted: &Fitted, variable: &'a Variable) -> Components<'a> {
        let inner = |place: usize| fitted.is_of_components(&variable.axes[place].0);
        let row = match (inner(0), inner(1)) {
            (true, false) => 0,
            (false, true) => 1,
            _ => usize::from(variable.axes[1].1.len() < variable.axes[0].1.len()),
        };
        Components { variable, row }
    }

    fn rows(&self) -> (&'a str, &'a [String]) {
        let (axis, labels) = &self.variable.axes[self.row];
        (axis, labels)
    }

    fn columns(&self) -> (&'a str, &'a [String]) {
        let (axis, labels) = &self.variable.axes[1 - self.row];
        (axis, labels)
    }

    fn cell(&self, row: usize, column: usize) -> usize {
        let width = self.variable.axes[1].1.len();
        if self.row == 0 { row * width + column } else { column * width + row }
    }

    /// `topic 3`
    fn name(&self, row: usize) -> String {
        let (axis, labels) = self.rows();
        format!("{axis} {}", labels[row])
    }

    fn values(&self, row: usize) -> Vec<f64> {
        (0..self.columns().1.len()).map(|column| self.variable.values[self.cell(row, column)]).collect()
    }

    /// The rows that have charts of their own.
    fn shown(&self) -> usize {
        self.rows().1.len().min(MOST_COMPONENTS)
    }

    fn named_rows(&self) -> Vec<(String, Vec<f64>)> {
        (0..self.shown()).map(|row| (self.name(row), self.values(row))).collect()
    }

    /// A figure of the rows that have charts of their own; it says how many of how many these are.
    fn of_shown(&self, mut figure: Figure) -> Figure {
        let (axis, labels) = self.rows();
        if self.shown() < labels.len() {
            figure.note += &format!(
                " The first {} of {} {axis} are drawn, and stand in the table.",
                count(self.shown()),
                count(labels.len())
            );
        }
        figure
    }

    /// The axis whose positions are points over the components, with its labels, where there is a chart of them; colours make one of what
    /// else would have none.
    fn points(&self, fitted: &Fitted, is_coloured: bool) -> Option<(&'a str, &'a [String])> {
        let (axis, labels) = self.columns();
        let kind = fitted.kind(axis, labels);
        let is_cloud = self.variable.signed || kind == Kind::Counted || is_coloured;
        let is_drawn = is_cloud
            && self.rows().1.len() > 1
            && labels.len() > 2
            && !kind.is_ordered()
            && kind != Kind::Contexts
            && image(fitted, axis, labels.len()).is_none();
        is_drawn.then_some((axis, labels))
    }

    fn matrix(&self, fitted: &Fitted) -> Matrix<'a> {
        let values = (0..self.rows().1.len()).flat_map(|row| self.values(row)).collect();
        Matrix {
            rows: self.rows(),
            columns: self.columns(),
            values,
            ordered: fitted.kind(self.columns().0, self.columns().1).is_ordered(),
        }
    }

    /// The rows, those that vary most along the columns first.
    fn by_variance(&self) -> Vec<usize> {
        let variance = |row: usize| {
            let values = self.values(row);
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|own| (own - mean).powi(2)).sum::<f64>()
        };
        let variances: Vec<f64> = (0..self.rows().1.len()).map(variance).collect();
        let mut order: Vec<usize> = (0..variances.len()).collect();
        order.sort_by(|one, other| variances[*other].total_cmp(&variances[*one]).then(one.cmp(other)));
        order
    }
}

/// The axis of the points of a latent that a colouring could colour, with its labels.
pub(crate) fn coloured_points<'a>(
    fitted: &Fitted,
    variable: &'a Variable,
) -> Option<(&'a str, &'a [String])> {
    match variable.axes.as_slice() {
        [_, _] if has_finite(variable) => Components::of(fitted, variable).points(fitted, true),
        _ => None,
    }
}

fn two_axes(fitted: &Fitted, variable: &Variable, by: &[Column]) -> Vec<Figure> {
    let own = Components::of(fitted, variable);
    let (axis, labels) = own.columns();
    let kind = fitted.kind(axis, labels);
    let reported = reported(fitted, variable);
    let mut figures = Vec::new();
    if let Some((height, width)) = image(fitted, axis, labels.len()) {
        let figure = pictures::figure(&variable.name, height, width, &own.named_rows());
        figures.push(own.of_shown(figure));
        return figures;
    }
    if kind == Kind::Contexts {
        figures.push(own.of_shown(contexts::figure(&variable.name, labels, &own.named_rows())));
    } else if kind.is_ordered() {
        let curve = |row: usize| {
            let cells: Vec<usize> = (0..labels.len()).map(|column| own.cell(row, column)).collect();
            curve(variable, own.name(row), &cells)
        };
        let all: Vec<Curve> = (0..own.shown()).map(curve).collect();
        figures.push(own.of_shown(curves::figure(&variable.name, axis, labels, kind, &all)));
    } else if kind == Kind::Names || reported.is_some() {
        let (over, most) = reported.unwrap_or((axis.to_owned(), TOP));
        figures.extend(top(variable, &over, most.max(1)).map(|top| bars::figure(&top)));
    }
    let colours = by.iter().find_map(|column| Some((column.name.as_str(), column.colours(labels)?)));
    if own.points(fitted, colours.is_some()).is_some() {
        let order = own.by_variance();
        figures.push(scatter::figure(&Cloud {
            variable: &variable.name,
            points: (axis, labels),
            components: order.iter().map(|row| own.name(*row)).collect(),
            values: order.iter().take(12).map(|row| own.values(*row)).collect(),
            by: colours,
        }));
    }
    let what = if variable.parameter == "mean" { "Means under q." } else { "What q says of it." };
    figures.push(heat::figure(
        &variable.name,
        format!("{} as a heat map", variable.name),
        what,
        &own.matrix(fitted),
    ));
    figures
}

fn top(variable: &Variable, over: &str, most: usize) -> Option<Top> {
    summary::top(variable, Some(over), most).ok()
}

/// A curve through these cells of a variable.
fn curve(variable: &Variable, name: String, cells: &[usize]) -> Curve {
    let values = cells.iter().map(|cell| variable.values[*cell]).collect();
    // Quantiles are dear: only those that are drawn are computed.
    let mut band = vec![(f64::NAN, f64::NAN); cells.len()];
    let mut has_band = variable.marginals.is_some();
    for place in curves::places(cells.len()) {
        match ends(variable, cells[place]) {
            Some(own) => band[place] = own,
            None => has_band = false,
        }
    }
    Curve { name, values, band: has_band.then_some(band) }
}
