//! Log-densities written a second time, from textbooks, and evaluated at drawn values straight from the statements.

use std::collections::BTreeMap;

use cavi_algebra::{Expression, LetterId, Subscript, Support};
use cavi_model::{ArgumentSpec, Model, Statement};
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::ln_gamma;

use crate::world::{Positions, World, inverse_and_determinant, log_gamma};

/// The log joint density of data and latents.
pub fn log_joint(model: &Model, world: &World) -> f64 {
    joint(model, world, None)
}

/// The log joint density with every log of a sum that holds a latent replaced by what it is when each unit is allocated to
/// an addend: `sum_c phi_c (log f_c - log phi_c)`, `phi_c` proportional to `exp E log f_c`. This is the average over the
/// allocation of the log joint of the augmented model, less the log of the allocation's own probability.
/// `expected_logs` holds `E log x` under q for every latent. The softplus of log odds is replaced by the parabola that touches
/// it where the square of the log odds is that of `squares`.
pub fn log_joint_bounded(
    model: &Model,
    world: &World,
    expected_logs: &[Option<Vec<f64>>],
    squares: &Squares,
) -> f64 {
    joint(model, world, Some((expected_logs, squares)))
}

/// Averages of the square of each copy of log odds, by the statement and the positions that they are read at.
#[derive(Default)]
pub struct Squares(BTreeMap<Vec<usize>, (f64, f64)>);

impl Squares {
    /// Takes a draw into the averages.
    pub fn add(&mut self, model: &Model, world: &World) {
        for (number, statement) in model.statements.iter().enumerate() {
            let spellings = statement.arguments.iter().zip(statement.family.parameters());
            let logit = spellings.filter_map(|(argument, parameter)| {
                argument.as_ref().filter(|own| parameter.spellings[own.spelling].name == "logit")
            });
            for argument in logit {
                let mut at = world.nowhere();
                world.each(&statement.plates, &mut at, &mut |at| {
                    let eta = world.value(&argument.value, at);
                    let own = self.0.entry(place(number, &argument.value, world, at)).or_default();
                    own.0 += 1.0;
                    own.1 += eta * eta;
                });
            }
        }
    }
}

/// A statement, and the positions of everything in an expression whose letters have one.
fn place(statement: usize, expression: &Expression, world: &World, at: &Positions) -> Vec<usize> {
    let mut place = vec![statement];
    expression.visit_values(&mut |_, subscripts| {
        for subscript in subscripts {
            let mut letters = Vec::new();
            subscript.letters(&mut letters);
            if letters.iter().all(|letter| at[letter.index()].is_some()) {
                place.push(world.position(subscript, at));
            }
        }
    });
    place
}

type Bounds<'a> = (&'a [Option<Vec<f64>>], &'a Squares);

fn joint(model: &Model, world: &World, bounds: Option<Bounds>) -> f64 {
    (0..model.statements.len()).map(|number| of_statement(model, world, number, bounds)).sum()
}

/// The log-density of one statement, over all its copies.
pub fn log_density_of(model: &Model, world: &World, number: usize) -> f64 {
    of_statement(model, world, number, None)
}

fn of_statement(model: &Model, world: &World, number: usize, bounds: Option<Bounds>) -> f64 {
    let expected_logs = bounds.map(|(expected_logs, _)| expected_logs);
    let squares = bounds.map(|(_, squares)| squares);
    let statement = &model.statements[number];
    let reader = Reader { world, expected_logs, squares, number };
    let mut at = world.nowhere();
    let copies = copies(model, statement);
    let mut total = 0.0;
    world.each(&copies, &mut at, &mut |at| {
        let weight = weight(model, world, (&copies, &statement.renamed), at);
        if weight != 0.0 && counts(model, world, statement, at) {
            total += weight * reader.log_density(statement, at);
        }
    });
    total
}

/// The letters that number the copies of a statement: those of its left that are no slice, and the groups that a slice over
/// a ragged axis stands in.
fn copies(model: &Model, statement: &Statement) -> Vec<LetterId> {
    let array = model.symbols.array(statement.target);
    let plates = statement.plates.iter().take(array.slice.iter().filter(|slice| !**slice).count());
    let groups = statement.slices.iter().flat_map(|slice| model.symbols.lineage(*slice).into_iter().skip(1));
    plates.copied().chain(groups).collect()
}

/// The product of the multiplicities whose letters are all among those with a position, or among the groups these are in: each
/// of them stands for one letter of a multiplicity.
/// A letter that the text writes by another name than its array is declared with is known by that of the text.
pub fn weight(
    model: &Model,
    world: &World,
    (letters, renamed): (&[LetterId], &[(LetterId, LetterId)]),
    at: &Positions,
) -> f64 {
    let mut weight = 1.0;
    let is = |letter: LetterId, own: LetterId| match renamed.iter().find(|(declared, _)| *declared == letter)
    {
        None => letter == own,
        Some((_, written)) => {
            let (written, own) = (model.symbols.letter(*written), model.symbols.letter(own));
            (written.axis, &written.name) == (own.axis, &own.name)
        }
    };
    let letters: Vec<LetterId> = letters.iter().flat_map(|letter| model.symbols.lineage(*letter)).collect();
    for (index, array) in model.symbols.arrays.iter().enumerate() {
        if array.support != Support::Multiplicity {
            continue;
        }
        let mut left = letters.clone();
        let mut take = |wanted: &dyn Fn(LetterId) -> bool| {
            let found = left.iter().position(|letter| wanted(*letter))?;
            let taken = left[found];
            left.retain(|letter| *letter != taken);
            at[taken.index()]
        };
        let same: Vec<Option<usize>> =
            array.letters.iter().map(|own| take(&|letter| is(letter, *own))).collect();
        let alike = array.letters.iter().zip(same).map(|(own, same)| {
            same.or_else(|| {
                take(&|letter| model.symbols.letter(letter).axis == model.symbols.letter(*own).axis)
            })
        });
        let positions: Option<Vec<usize>> = alike.collect();
        if let Some(positions) = positions {
            weight *= world.element(cavi_algebra::ArrayId::from(index), &positions);
        }
    }
    weight
}

/// The letters of a variable that the text writes by other names than it is declared with.
pub fn renamed_of(model: &Model, array: cavi_algebra::ArrayId) -> &[(LetterId, LetterId)] {
    model.statement_of(array).map_or(&[], |own| &own.renamed)
}

/// Whether an entry of a statement exists and was observed.
fn counts(model: &Model, world: &World, statement: &Statement, at: &Positions) -> bool {
    let array = model.symbols.array(statement.target);
    if !statement.slices.is_empty() {
        // A slice is observed as a whole or not at all.
        let mut seen = true;
        let mut at = at.clone();
        world.each(&statement.slices, &mut at, &mut |at| {
            seen &= !statement.observed
                || world.observed(statement.target, &world.positions(&target_of(world, statement), at));
        });
        return seen;
    }
    let positions = world.positions(&target_of(world, statement), at);
    // Missing entries that stand on the right as well are latent, and have their terms.
    let latent = world.latents[statement.target.index()].is_some();
    array.has_entry(&positions)
        && (!statement.observed || latent || world.observed(statement.target, &positions))
}

struct Reader<'a> {
    world: &'a World<'a>,
    expected_logs: Option<&'a [Option<Vec<f64>>]>,
    squares: Option<&'a Squares>,
    /// The number of the statement.
    number: usize,
}

/// `x log y`, 0 where x is 0.
fn times_log(x: f64, log_y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * log_y }
}

impl Reader<'_> {
    fn log_density(&self, statement: &Statement, at: &mut Positions) -> f64 {
        let subscripts = target_of(self.world, statement);
        let x = |at: &Positions| self.world.element(statement.target, &self.world.positions(&subscripts, at));
        let log_x =
            |at: &Positions| self.world.log_element(statement.target, &self.world.positions(&subscripts, at));
        let family = statement.family.name();
        let argument =
            |place: usize| statement.arguments[place].as_ref().expect("a parameter that must be given");
        let spelling =
            |place: usize| statement.family.parameters()[place].spellings[argument(place).spelling].name;
        match family {
            "Flat" => 0.0,
            "Normal" => {
                let mean = self.value(argument(0), at);
                let precision = self.precision(spelling(1), argument(1), at);
                normal(x(at), mean, precision, self.log_precision(spelling(1), argument(1), at))
            }
            "HalfNormal" => {
                let precision = self.precision(spelling(0), argument(0), at);
                2.0_f64.ln() + normal(x(at), 0.0, precision, self.log_precision(spelling(0), argument(0), at))
            }
            "TruncatedNormal" => {
                let mean = self.value(argument(0), at);
                let precision = self.precision(spelling(1), argument(1), at);
                let standard = Normal::new(0.0, 1.0).expect("a standard normal");
                normal(x(at), mean, precision, precision.ln()) - standard.cdf(mean * precision.sqrt()).ln()
            }
            "Gamma" => {
                let (x, shape) = (x(at), self.value(argument(0), at));
                let given = self.value(argument(1), at);
                let (rate, log_rate) = match spelling(1) {
                    "rate" => (given, self.log(&argument(1).value, at)),
                    "scale" => (1.0 / given, -given.ln()),
                    _ => (shape / given, (shape / given).ln()),
                };
                times_log(shape, log_rate) - ln_gamma(shape) + times_log(shape - 1.0, log_x(at)) - rate * x
            }
            "InverseGamma" => {
                let (x, shape) = (x(at), self.value(argument(0), at));
                let scale = self.value(argument(1), at);
                shape * self.log(&argument(1).value, at)
                    - ln_gamma(shape)
                    - (shape + 1.0) * x.ln()
                    - scale / x
            }
            "GeneralizedInverseGaussian" => {
                let x = x(at);
                let [p, a, b] = [0, 1, 2].map(|place| self.value(argument(place), at));
                // The integral over log x by the trapezoid rule: it ends in two cliffs.
                let kernel = |log: f64| p * log - 0.5 * (a * log.exp() + b * (-log).exp());
                let integral: f64 = (-4000..=4000).map(|place| kernel(0.01 * f64::from(place)).exp()).sum();
                kernel(x.ln()) - x.ln() - (0.01 * integral).ln()
            }
            "Exponential" => {
                let given = self.value(argument(0), at);
                match spelling(0) {
                    "rate" => self.log(&argument(0).value, at) - given * x(at),
                    _ => -given.ln() - x(at) / given,
                }
            }
            "Poisson" => {
                let (x, rate) = (x(at), self.value(argument(0), at));
                let log_rate = if x == 0.0 { 0.0 } else { self.log(&argument(0).value, at) };
                times_log(x, log_rate) - rate - ln_gamma(x + 1.0)
            }
            "Beta" => {
                let (x, a, b) = (x(at), self.value(argument(0), at), self.value(argument(1), at));
                ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)
                    + times_log(a - 1.0, log_x(at))
                    + times_log(b - 1.0, (1.0 - x).ln())
            }
            "Bernoulli" => self.trials(x(at), 1.0, spelling(0), &argument(0).value, at),
            "Binomial" => {
                let (x, total) = (x(at), self.value(argument(0), at));
                let coefficient = ln_gamma(total + 1.0) - ln_gamma(x + 1.0) - log_gamma(total - x + 1.0);
                coefficient + self.trials(x, total, spelling(1), &argument(1).value, at)
            }
            "Dirichlet" => {
                let slice = statement.slices[0];
                let own = argument(0).letters.first().copied().unwrap_or(slice);
                let (mut sum, mut total) = (0.0, 0.0);
                self.along(&[slice, own], at, &mut |at| {
                    let concentration = self.value(argument(0), at);
                    sum += concentration;
                    total += times_log(concentration - 1.0, log_x(at)) - ln_gamma(concentration);
                });
                total + ln_gamma(sum)
            }
            "Multinomial" => {
                let slice = statement.slices[0];
                let own = argument(0).letters.first().copied().unwrap_or(slice);
                let (mut sum, mut total) = (0.0, 0.0);
                self.along(&[slice, own], at, &mut |at| {
                    let x = x(at);
                    sum += x;
                    let log = if x == 0.0 { 0.0 } else { self.log(&argument(0).value, at) };
                    total += times_log(x, log) - ln_gamma(x + 1.0);
                });
                total + ln_gamma(sum + 1.0)
            }
            "MultivariateNormal" => {
                let [row, column] = argument(1).letters[..] else { panic!("a matrix has two letters") };
                let given = self.world.matrix(&argument(1).value, row, column, at);
                let (inverse, log_determinant) = inverse_and_determinant(&given);
                let (precision, log_precision) = match spelling(1) {
                    "prec" => (given, log_determinant),
                    _ => (inverse, -log_determinant),
                };
                let mut residual = Vec::new();
                self.along(&[statement.slices[0]], at, &mut |at| {
                    residual.push(x(at) - self.value(argument(0), at));
                });
                let n = residual.len();
                let form: f64 = (0..n * n)
                    .map(|place| precision[place] * residual[place / n] * residual[place % n])
                    .sum();
                0.5 * (log_precision - form - n as f64 * (2.0 * std::f64::consts::PI).ln())
            }
            "GaussianProcess" => {
                let [row, column] = argument(0).letters[..] else { panic!("a matrix has two letters") };
                let covariance = self.world.matrix(&argument(0).value, row, column, at);
                let (inverse, log_determinant) = inverse_and_determinant(&covariance);
                let mut d = Vec::new();
                self.along(&[statement.slices[0]], at, &mut |at| d.push(x(at)));
                let n = d.len();
                let form: f64 = (0..n * n).map(|place| inverse[place] * d[place / n] * d[place % n]).sum();
                -0.5 * (log_determinant + form + n as f64 * (2.0 * std::f64::consts::PI).ln())
            }
            "Wishart" => {
                let dof = self.value(argument(0), at);
                let [row, column] = argument(1).letters[..] else { panic!("a matrix has two letters") };
                let scale = self.world.matrix(&argument(1).value, row, column, at);
                let (rate, log_scale) = inverse_and_determinant(&scale);
                let [own_row, own_column] = statement.slices[..] else { panic!("two slices") };
                let element = Expression::Value(statement.target, subscripts.clone());
                let x = self.world.matrix(&element, own_row, own_column, at);
                let n = x.len().isqrt();
                let size = n as f64;
                let trace: f64 = rate.iter().zip(&x).map(|(rate, x)| rate * x).sum();
                let gammas: f64 = (0..n).map(|i| ln_gamma(0.5 * (dof - i as f64))).sum();
                0.5 * ((dof - size - 1.0) * inverse_and_determinant(&x).1
                    - trace
                    - dof * size * 2.0_f64.ln()
                    - dof * log_scale
                    - 0.5 * size * (size - 1.0) * std::f64::consts::PI.ln())
                    - gammas
            }
            "Categorical" => {
                let class = x(at) as usize;
                let letter = argument(0).letters[0];
                let before = at[letter.index()].replace(class);
                let log = self.log(&argument(0).value, at);
                at[letter.index()] = before;
                log
            }
            other => panic!("a density for {other} is to be written here"),
        }
    }

    /// Runs letters that stand for one slice together.
    fn along(&self, letters: &[LetterId], at: &mut Positions, visit: &mut dyn FnMut(&mut Positions)) {
        self.world.each(&letters[..1], at, &mut |at| {
            let before: Vec<Option<usize>> = letters[1..].iter().map(|own| at[own.index()]).collect();
            letters[1..].iter().for_each(|own| at[own.index()] = at[letters[0].index()]);
            visit(at);
            for (own, before) in letters[1..].iter().zip(before) {
                if *own != letters[0] {
                    at[own.index()] = before;
                }
            }
        });
    }

    fn value(&self, argument: &ArgumentSpec, at: &mut Positions) -> f64 {
        self.world.value(&argument.value, at)
    }

    fn precision(&self, spelling: &str, argument: &ArgumentSpec, at: &mut Positions) -> f64 {
        let value = self.value(argument, at);
        match spelling {
            "prec" => value,
            "var" => 1.0 / value,
            "sd" => 1.0 / (value * value),
            other => panic!("a scale given by `{other}`"),
        }
    }

    fn log_precision(&self, spelling: &str, argument: &ArgumentSpec, at: &mut Positions) -> f64 {
        match spelling {
            "prec" => self.log_of_products(&argument.value, at),
            _ => self.precision(spelling, argument, at).ln(),
        }
    }

    /// The log of an expression, taken apart where it is a product of what is not negative: a product of two negative numbers has a log, and
    /// an even power of one.
    fn log_of_products(&self, expression: &Expression, at: &mut Positions) -> f64 {
        let parts = match expression {
            Expression::Multiply(parts) => parts.iter().collect(),
            Expression::Power(base, _) => vec![&**base],
            _ => Vec::new(),
        };
        if parts.into_iter().any(|part| self.world.value(part, at) < 0.0) {
            return self.world.value(expression, at).ln();
        }
        match expression {
            Expression::Value(array, subscripts) => {
                self.world.log_element(*array, &self.world.positions(subscripts, at))
            }
            Expression::Multiply(parts) => parts.iter().map(|part| self.log_of_products(part, at)).sum(),
            Expression::Power(base, exponent) => {
                self.world.value(exponent, at) * self.log_of_products(base, at)
            }
            Expression::Number(_)
            | Expression::Indicator(..)
            | Expression::Sum(..)
            | Expression::Add(_)
            | Expression::Position(_)
            | Expression::OfMatrix(..)
            | Expression::Apply(..) => self.world.value(expression, at).ln(),
        }
    }

    /// `x log p + (total - x) log(1 - p)`, with log odds `eta` `x eta - total log(1 + exp(eta))`.
    fn trials(&self, x: f64, total: f64, spelling: &str, p: &Expression, at: &mut Positions) -> f64 {
        let value = self.world.value(p, at);
        if spelling == "logit" {
            let Some(squares) = self.squares.filter(|_| self.world.holds_latent(p)) else {
                return x * value - total * value.exp().ln_1p();
            };
            // A class so rare that no earlier draw met it has this draw alone.
            let known = squares.0.get(&place(self.number, p, self.world, at));
            let square = known.map_or(value * value, |(count, sum)| sum / count);
            let half = 0.5 * square.sqrt();
            let slope = if half == 0.0 { 0.125 } else { half.tanh() / (8.0 * half) };
            let parabola = (2.0 * half.cosh()).ln() + slope * (value * value - square);
            return x * value - total * (0.5 * value + parabola);
        }
        let log = if x == 0.0 { 0.0 } else { self.log(p, at) };
        times_log(x, log) + times_log(total - x, (1.0 - value).ln())
    }

    /// The log of an expression, bounded where it is a sum that holds a latent.
    fn log(&self, expression: &Expression, at: &mut Positions) -> f64 {
        let Some(expected_logs) = self.expected_logs.filter(|_| self.world.holds_latent(expression)) else {
            return self.log_of_products(expression, at);
        };
        let addends = self.addends(expression, expected_logs, at);
        // Of points the bound is the log itself, and there may be a difference in it.
        if addends.iter().all(|(log, expected)| log == expected || (log - expected).abs() < 1e-12) {
            return self.log_of_products(expression, at);
        }
        if let [(log, _)] = addends.as_slice() {
            return *log;
        }
        let largest = addends.iter().map(|(_, expected)| *expected).fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            return largest;
        }
        let partition =
            largest + addends.iter().map(|(_, expected)| (expected - largest).exp()).sum::<f64>().ln();
        addends
            .iter()
            .map(|(log, expected)| {
                let log_share = expected - partition;
                times_log(log_share.exp(), log - log_share)
            })
            .sum()
    }

    /// The addends of an expression multiplied out: for each the log of its value, and its expected log. Factors that are
    /// never positive come in pairs with a minus. What is known has its log for certain, also where a latent index chooses its
    /// element: each choice has a sum, and an allocation, of its own.
    fn addends(
        &self,
        expression: &Expression,
        expected_logs: &[Option<Vec<f64>>],
        at: &mut Positions,
    ) -> Vec<(f64, f64)> {
        let world = self.world;
        if !world.holds_latent(expression) {
            let log = world.value(expression, at).abs().ln();
            return vec![(log, log)];
        }
        let cross = |left: Vec<(f64, f64)>, right: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            left.iter().flat_map(|a| right.iter().map(move |b| (a.0 + b.0, a.1 + b.1))).collect()
        };
        match expression {
            Expression::Value(array, subscripts) => {
                let positions = world.positions(subscripts, at);
                let Some(expected) = &expected_logs[array.index()] else {
                    let log = world.element(*array, &positions).abs().ln();
                    return vec![(log, log)];
                };
                vec![(world.log_element(*array, &positions), expected[world.place(*array, &positions)])]
            }
            Expression::Sum(letters, body) => {
                let mut all = Vec::new();
                world.each(letters, at, &mut |at| all.extend(self.addends(body, expected_logs, at)));
                all
            }
            Expression::Add(parts) => {
                parts.iter().flat_map(|part| self.addends(part, expected_logs, at)).collect()
            }
            Expression::Multiply(parts) => {
                parts.iter().map(|part| self.addends(part, expected_logs, at)).fold(vec![(0.0, 0.0)], cross)
            }
            Expression::Power(base, exponent) => {
                let power = world.value(exponent, at);
                let base = self.addends(base, expected_logs, at);
                match base.as_slice() {
                    [(log, expected)] => vec![(power * log, power * expected)],
                    _ => (0..power as usize).map(|_| base.clone()).fold(vec![(0.0, 0.0)], cross),
                }
            }
            Expression::Apply(..) => {
                let log = world.value(expression, at).abs().ln();
                vec![(log, log)]
            }
            Expression::Number(_)
            | Expression::Indicator(..)
            | Expression::Position(_)
            | Expression::OfMatrix(..) => {
                unreachable!("none of them holds a latent")
            }
        }
    }
}

/// The target's subscripts in the letters of its statement.
fn target_of(world: &World, statement: &Statement) -> Vec<Subscript> {
    let (mut plates, mut slices) = (statement.plates.iter(), statement.slices.iter());
    let array = world.symbols.array(statement.target);
    array
        .slice
        .iter()
        .map(|slice| if *slice { slices.next() } else { plates.next() })
        .map(|letter| Subscript::Letter(*letter.expect("a letter for each dimension")))
        .collect()
}

/// The log-density of a Normal with a precision.
fn normal(x: f64, mean: f64, precision: f64, log_precision: f64) -> f64 {
    0.5 * (log_precision - (2.0 * std::f64::consts::PI).ln()) - 0.5 * precision * (x - mean) * (x - mean)
}
