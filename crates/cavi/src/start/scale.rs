//! Components start at the scale of their data.
//!
//! A factor of q starts at numbers of order 1. Most of them come to their data in one sweep, wherever these are. But where a latent class selects the
//! location of an entry, as in `x[n] ~ Normal(mu[z[n]], prec = tau)`, the first sweep chooses classes by the locations and precisions of the
//! start. If all locations are far from the data, one of them is the nearest of every entry; and if the data are much closer together than 1,
//! all components are alike. Either way every restart ends with one component.
//!
//! Let `m` and `s` be the mean and the standard deviation of the data (of the entries that are observed, zeros that no file lists among them, as often as
//! they weigh), of each feature where locations have features. With `e` the start of order 1,
//! a location starts at `m + s e` with the variance `s^2`, a location that is positive at `m e`, and a precision beside it at `e / v`, where `v` is the mean square of
//! the data about `m`. Data of order 1 leave the start as it is.

use std::collections::BTreeSet;

use cavi_algebra::{ArrayId, ArrayKind, BlockId, Expression, LetterId, Mode, Subscript, Support, dedup};
use cavi_executor::Parameters;
use cavi_families::{Extent, views_mut};
use cavi_model::Statement;

use crate::posterior::layouts;
use crate::prepare::Problem;
use crate::prepare::origin::groups_of;
use crate::rows::{Entries, Groups};

/// Numbers up to so many times 1, and down to its inverse, are of order 1.
const ORDER: f64 = 30.0;

/// The most groups of entries that are looked at one by one.
const MOST: usize = 1 << 24;

/// By how much the variances of a block grow.
pub(super) struct Spread {
    pub block: usize,
    column: usize,
    /// As the column is laid out.
    by: Vec<f64>,
}

impl Spread {
    /// Multiplies the variances.
    pub fn apply(&self, parameters: &mut Parameters) {
        let own = &mut parameters.blocks[self.block][self.column];
        own.iter_mut().zip(&self.by).for_each(|(own, by)| *own *= by);
    }
}

/// Brings the random start of components to the scale of their data, and says by how much variances grew: a line of `init` that gives the means
/// of a block sets its variances anew.
pub(super) fn to_data(problem: &Problem, parameters: &mut Parameters) -> Vec<Spread> {
    let Problem { model, equations, .. } = problem;
    let symbols = &equations.symbols;
    let mut spreads = Vec::new();
    let mut done: BTreeSet<ArrayId> = BTreeSet::new();
    for statement in model.statements.iter().filter(|own| own.observed) {
        let [parameter] = statement.family.mean_is() else { continue };
        let Some(location) = statement.arguments.get(*parameter).and_then(Option::as_ref) else { continue };
        let Some((array, subscripts)) = selected(problem, &location.value) else { continue };
        let Some(moments) = Moments::of(problem, statement, subscripts) else { continue };
        if location.spelling == 0 && done.insert(array) {
            let own = &mut Own { problem, parameters, array };
            match symbols.array(array).support {
                Support::Real => spreads.extend(own.locations(&moments)),
                Support::Positive | Support::Nonnegative => own.rates(&moments),
                _ => {}
            }
        }
        for (place, argument) in statement.arguments.iter().enumerate() {
            let Some(argument) = argument.as_ref().filter(|own| place != *parameter && own.spelling == 0)
            else {
                continue;
            };
            let Expression::Value(array, subscripts) = &argument.value else { continue };
            let support = symbols.array(*array).support;
            let is_precision = support == Support::PositiveDefinite || is_precision(statement, place);
            if is_precision && symbols.array(*array).kind == ArrayKind::Latent && done.insert(*array) {
                let Some(squares) = moments.squares(problem, statement, subscripts) else { continue };
                Own { problem, parameters, array: *array }.precisions(&squares);
            }
        }
    }
    spreads
}

/// The addend of a mean that a latent class selects.
fn selected<'e>(problem: &Problem, mean: &'e Expression) -> Option<(ArrayId, &'e [Subscript])> {
    let symbols = &problem.equations.symbols;
    let addends =
        if let Expression::Add(parts) = mean { parts.as_slice() } else { std::slice::from_ref(mean) };
    addends.iter().find_map(|addend| {
        let Expression::Value(array, subscripts) = addend else { return None };
        let by_class = |own: &Subscript| match own {
            Subscript::Index(class, _) => symbols.array(*class).kind == ArrayKind::Latent,
            Subscript::Letter(_) => false,
        };
        let is_latent = symbols.array(*array).kind == ArrayKind::Latent;
        (is_latent && subscripts.iter().any(by_class)).then_some((*array, subscripts.as_slice()))
    })
}

/// Whether the variance of an entry is one over this parameter.
fn is_precision(statement: &Statement, place: usize) -> bool {
    let mut parameters = vec![1.0; statement.arguments.len()];
    let one = statement.family.moments(&parameters);
    parameters[place] = 4.0;
    let four = statement.family.moments(&parameters);
    one.zip(four).is_some_and(|(one, four)| (four.variance / one.variance - 0.25).abs() < 1e-9)
}

/// Means and standard deviations of data along the dimensions that a latent shares with them.
struct Moments {
    /// For each subscript of the latent with such a dimension its place there, and that dimension.
    shared: Vec<(usize, usize)>,
    mean: Vec<f64>,
    sd: Vec<f64>,
}

/// For each subscript that is a letter of the target its place, and the dimension of the target.
fn shared(letters: &[LetterId], subscripts: &[Subscript]) -> Vec<(usize, usize)> {
    let place = |(place, own): (usize, &Subscript)| match own {
        Subscript::Letter(letter) => Some((place, letters.iter().position(|own| own == letter)?)),
        Subscript::Index(..) => None,
    };
    subscripts.iter().enumerate().filter_map(place).collect()
}

impl Moments {
    /// Those of the data of a statement; `None` where they would take more time than the data.
    fn of(problem: &Problem, statement: &Statement, subscripts: &[Subscript]) -> Option<Moments> {
        let Problem { model, binding, .. } = problem;
        let shared = shared(&model.target_letters(statement), subscripts);
        let entries = Entries::of_statement(model, &binding.bound, statement)?;
        let groups = Groups::along(&entries.shape, &dimensions(&shared));
        let found = entries.is_quick(&groups).then(|| entries.moments(&groups))?;
        Some(Moments { shared, mean: found.mean, sd: found.deviation })
    }

    /// The mean square of the data about these means, along the dimensions that another latent shares with them.
    ///
    /// Of entries that have one position along the dimensions of both it is `s^2 + (m - centre)^2`, with their mean `m` and deviation `s`.
    fn squares(&self, problem: &Problem, statement: &Statement, subscripts: &[Subscript]) -> Option<Moments> {
        let Problem { model, binding, .. } = problem;
        let own = shared(&model.target_letters(statement), subscripts);
        let entries = Entries::of_statement(model, &binding.bound, statement)?;
        let (to, from) = (dimensions(&own), dimensions(&self.shared));
        let both = dedup([to.as_slice(), from.as_slice()].concat());
        let sizes: Vec<usize> = both.iter().map(|dimension| entries.shape[*dimension]).collect();
        let of_both = Groups::along(&entries.shape, &both);
        if sizes.iter().fold(1_usize, |all, size| all.saturating_mul(*size)) > MOST
            || !entries.is_quick(&of_both)
        {
            return None;
        }
        let found = entries.moments(&of_both);
        let place = |of: &[usize]| -> Vec<usize> {
            of.iter().filter_map(|own| both.iter().position(|other| other == own)).collect()
        };
        let groups: usize = to.iter().map(|dimension| entries.shape[*dimension]).product();
        let (to, from) = (groups_of(&sizes, &place(&to)), groups_of(&sizes, &place(&from)));
        let (mut weight, mut sum) = (vec![0.0; groups], vec![0.0; groups]);
        for cell in 0..found.weight.len() {
            weight[to(cell)] += found.weight[cell];
            let square = found.deviation[cell].powi(2) + (found.mean[cell] - self.mean[from(cell)]).powi(2);
            sum[to(cell)] += found.weight[cell] * square;
        }
        let root = |(sum, weight): (&f64, &f64)| if *weight > 0.0 { (sum / weight).sqrt() } else { 0.0 };
        let sd = sum.iter().zip(&weight).map(root).collect();
        Some(Moments { shared: own, mean: Vec::new(), sd })
    }
}

/// The dimensions of the data among such places.
fn dimensions(shared: &[(usize, usize)]) -> Vec<usize> {
    shared.iter().map(|(_, dimension)| *dimension).collect()
}

/// The mean of squares.
fn mean_square(of: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = of.clone().count().max(1) as f64;
    of.map(|own| own * own).sum::<f64>() / count
}

/// Whether a number is not of order 1; what is 0 has no scale.
fn is_far(size: f64) -> bool {
    size > 0.0 && size.is_finite() && !(1.0 / ORDER..=ORDER).contains(&size)
}

/// A latent whose start is brought to its data.
struct Own<'a> {
    problem: &'a Problem,
    parameters: &'a mut Parameters,
    array: ArrayId,
}

impl Own<'_> {
    /// The block of the latent and the place in it, where the block moves.
    fn block(&self) -> Option<(BlockId, usize)> {
        let equations = &self.problem.equations;
        let id = equations.block_of(self.array)?;
        let block = equations.block(id);
        let moves = matches!(block.mode, Mode::Distribution | Mode::Point);
        let member = block.members.iter().position(|own| *own == self.array)?;
        (moves && block.ragged_slice(&equations.symbols).is_none()).then_some((id, member))
    }

    /// For each element of the latent, rows by slice, the number of the group of data.
    fn groups(&self, id: BlockId, member: usize, shared: &[(usize, usize)]) -> Option<Vec<usize>> {
        let Problem { equations, binding, .. } = self.problem;
        let symbols = &equations.symbols;
        let order = equations.block(id).letters_of(member);
        let declared = &symbols.array(self.array).letters;
        let sizes: Vec<usize> = order.iter().map(|letter| binding.bound.size_of(symbols, *letter)).collect();
        let place = |(place, _): &(usize, usize)| order.iter().position(|own| *own == declared[*place]);
        let at: Vec<usize> = shared.iter().map(place).collect::<Option<_>>()?;
        let layout = &layouts(equations, &binding.bound)[id.index()];
        let cells = layout.rows * layout.slices[member].iter().product::<usize>();
        let group = groups_of(&sizes, &at);
        Some((0..cells).map(group).collect())
    }

    /// Changes the elements of a column that has one number for each element of the latent, and fills what follows from it.
    fn change(&mut self, (id, member): (BlockId, usize), name: &str, with: &dyn Fn(usize, f64) -> f64) {
        let Problem { equations, binding, .. } = self.problem;
        let block = equations.block(id);
        let layout = &layouts(equations, &binding.bound)[id.index()];
        let columns = &mut self.parameters.blocks[id.index()];
        let width: usize = layout.slices[member].iter().product();
        if block.is_point() {
            columns[member].iter_mut().enumerate().for_each(|(cell, own)| *own = with(cell, *own));
            return;
        }
        let family = cavi_families::posterior(block.family);
        let found = family.descriptors().iter().position(|own| own.defining && own.name == name);
        let Some(column) = found else { return };
        let (stride, offset) = match family.descriptors()[column].extent {
            Extent::Scalar => (1, 0),
            Extent::Vector => (layout.n, layout.offsets()[member]),
            Extent::Matrix | Extent::Pairs => return,
        };
        let before = columns.clone();
        for row in 0..layout.rows {
            for place in 0..width.min(stride) {
                let own = &mut columns[column][row * stride + offset + place];
                *own = with(row * width + place, *own);
            }
        }
        // A start that is no distribution stays as it was.
        if family.complete(&layout.batch(), &mut views_mut(columns)).is_err() {
            *columns = before;
        }
    }

    fn locations(&mut self, moments: &Moments) -> Option<Spread> {
        let (id, member) = self.block()?;
        let groups = self.groups(id, member, &moments.shared)?;
        // Where and how wide: as it is where the data are of order 1.
        let at: Vec<(f64, f64)> = moments
            .mean
            .iter()
            .zip(&moments.sd)
            .map(|(mean, sd)| {
                let moves = *sd > 0.0 && (is_far(*sd) || mean.abs() > ORDER * sd.max(1.0));
                if moves { (*mean, *sd) } else { (0.0, 1.0) }
            })
            .collect();
        if at.iter().all(|own| *own == (0.0, 1.0)) {
            return None;
        }
        self.change((id, member), "mean", &|cell, own| {
            let (mean, sd) = at[groups[cell]];
            mean + sd * own
        });
        let spread = self.spread(id, &groups, &at)?;
        spread.apply(self.parameters);
        Some(spread)
    }

    /// How much wider the factors of a block are.
    fn spread(&self, id: BlockId, groups: &[usize], at: &[(f64, f64)]) -> Option<Spread> {
        let block = self.problem.equations.block(id);
        if block.is_point() {
            return None;
        }
        let family = cavi_families::posterior(block.family);
        let column =
            family.descriptors().iter().position(|own| own.defining && ["var", "cov"].contains(&own.name))?;
        let length = self.parameters.blocks[id.index()][column].len();
        let by = match family.descriptors()[column].extent {
            Extent::Scalar if length == groups.len() => {
                groups.iter().map(|group| at[*group].1 * at[*group].1).collect()
            }
            // One scale for a matrix, which stays a covariance so.
            _ => vec![mean_square(at.iter().map(|(_, sd)| *sd)); length],
        };
        Some(Spread { block: id.index(), column, by })
    }

    fn rates(&mut self, moments: &Moments) {
        let Some((id, member)) = self.block() else { return };
        let Some(groups) = self.groups(id, member, &moments.shared) else { return };
        let by = |cell: usize| {
            let mean = moments.mean[groups[cell]];
            if is_far(mean) { mean } else { 1.0 }
        };
        let is_point = self.problem.equations.block(id).is_point();
        self.change((id, member), "rate", &|cell, own| {
            if is_point { own * by(cell) } else { own / by(cell) }
        });
    }

    fn precisions(&mut self, squares: &Moments) {
        let Some((id, member)) = self.block() else { return };
        let Some(groups) = self.groups(id, member, &squares.shared) else { return };
        let block = self.problem.equations.block(id);
        if self.problem.equations.symbols.array(self.array).support == Support::PositiveDefinite {
            let all = mean_square(squares.sd.iter().copied()).sqrt();
            if is_far(all) && !block.is_point() {
                self.matrices(id, 1.0 / (all * all));
            }
            return;
        }
        let variance = |cell: usize| {
            let sd = squares.sd[groups[cell]];
            if is_far(sd) { sd * sd } else { 1.0 }
        };
        let is_point = block.is_point();
        self.change((id, member), "rate", &|cell, own| {
            if is_point { own / variance(cell) } else { own * variance(cell) }
        });
    }

    /// Multiplies matrices of precision.
    fn matrices(&mut self, id: BlockId, by: f64) {
        let Problem { equations, binding, .. } = self.problem;
        let family = cavi_families::posterior(equations.block(id).family);
        let Some(column) = family.descriptors().iter().position(|own| own.defining && own.name == "scale")
        else {
            return;
        };
        let columns = &mut self.parameters.blocks[id.index()];
        let before = columns.clone();
        columns[column].iter_mut().for_each(|own| *own *= by);
        let layout = &layouts(equations, &binding.bound)[id.index()];
        if family.complete(&layout.batch(), &mut views_mut(columns)).is_err() {
            *columns = before;
        }
    }
}
