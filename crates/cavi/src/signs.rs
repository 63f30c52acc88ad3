//! Whether components along an axis have signs of their own.
//!
//! The sign of a component is free if the log joint stays as it is when all real latents along the axis change their signs at one position of
//! it: of `sum[k](w[j, k] * f[n, k])` a factor k may be turned around, of `mu[z[n]]` a class may not. A product of values holds a number of
//! such latents at each place on the axis, a letter `k` or an index `z[n]`. With `O` the places at which this number is odd, a change of signs
//! multiplies the product by -1 there and leaves it elsewhere; a sum of products with the same `O` does the same. Signs are free if
//!
//! - what a statement is about has the `O` of its location (families on the real line are symmetric about it), and
//! - every other parameter has an empty `O`, and a matrix over elements of the axis is diagonal.
//!
//! That suffices. Where a program hides the symmetry in another form, such as `(w[k] - f[k])^2 - (w[k] + f[k])^2`, signs count as fixed.

use std::collections::BTreeSet;

use cavi_algebra::{
    ArrayId, ArrayKind, AxisId, Comparison, Expression, LetterId, Subscript, Support, Symbols,
};
use cavi_families::Location;
use cavi_model::{ArgumentSpec, Model, Statement};

/// What a change of signs does to an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Parity {
    /// Nothing: it is 0.
    Zero,
    /// It multiplies it by -1 for each of these places whose component changes its sign.
    Odd(BTreeSet<Subscript>),
    /// Something else.
    Mixed,
}

/// Whether components along an axis may change their signs, each by itself, without a change of the log joint.
pub(crate) fn are_free(model: &Model, axis: AxisId) -> bool {
    let flips = Flips { symbols: &model.symbols, axis };
    model.statements.iter().all(|statement| flips.leave(statement))
}

/// Signs along an axis.
struct Flips<'a> {
    symbols: &'a Symbols,
    axis: AxisId,
}

impl Flips<'_> {
    /// Whether the density of a statement stays as it is.
    fn leave(&self, statement: &Statement) -> bool {
        let letters = &self.symbols.array(statement.target).letters;
        let subscripts: Vec<Subscript> = letters.iter().copied().map(Subscript::Letter).collect();
        let Parity::Odd(target) = self.value(statement.target, &subscripts) else { return true };
        let location = match statement.family.location() {
            Location::Parameter(place) => Some(place),
            Location::None | Location::Anywhere => None,
        };
        let meets = |slice: &LetterId| target.contains(&Subscript::Letter(*slice));
        let meet_in_products = statement.slices.iter().any(meets);
        statement.arguments.iter().enumerate().all(|(place, argument)| {
            let Some(argument) = argument else { return true };
            if meet_in_products && !is_diagonal(argument) {
                return false;
            }
            match self.of(&argument.value) {
                Parity::Zero => true,
                Parity::Odd(places) if Some(place) == location => places == target,
                Parity::Odd(places) => places.is_empty(),
                Parity::Mixed => false,
            }
        })
    }

    fn of(&self, expression: &Expression) -> Parity {
        match expression {
            Expression::Number(0.0) => Parity::Zero,
            Expression::Number(_) | Expression::Indicator(..) | Expression::Position(_) => Parity::even(),
            Expression::Value(array, subscripts) => self.value(*array, subscripts),
            Expression::Sum(letters, body) => match self.of(body) {
                // One addend changes its sign, and the others do not.
                Parity::Odd(places) if places.iter().any(|place| mentions(place, letters)) => Parity::Mixed,
                own => own,
            },
            Expression::Add(parts) => parts.iter().map(|own| self.of(own)).fold(Parity::Zero, Parity::plus),
            Expression::Multiply(parts) => {
                parts.iter().map(|own| self.of(own)).fold(Parity::even(), Parity::times)
            }
            Expression::Power(base, exponent) => match (self.of(base), exponent.as_ref()) {
                (base, Expression::Number(power)) if power.fract() == 0.0 && power % 2.0 != 0.0 => base,
                (Parity::Mixed, _) => Parity::Mixed,
                (_, Expression::Number(power)) if power % 2.0 == 0.0 => Parity::even(),
                (base, exponent) => base.inside().times(self.of(exponent).inside()),
            },
            Expression::Apply(_, body) | Expression::OfMatrix(_, body, ..) => self.of(body).inside(),
        }
    }

    /// A latent on the real line changes its sign at each of its places on the axis; nothing else does.
    fn value(&self, array: ArrayId, subscripts: &[Subscript]) -> Parity {
        let own = self.symbols.array(array);
        if own.kind != ArrayKind::Latent || own.support != Support::Real {
            let is_zero = matches!(own.value, Some(Expression::Number(0.0)));
            return if is_zero { Parity::Zero } else { Parity::even() };
        }
        let along = |letter: &LetterId| self.symbols.letter(*letter).axis == self.axis;
        let places = own.letters.iter().zip(subscripts).filter(|(letter, _)| along(letter));
        places.fold(Parity::even(), |sum, (_, place)| sum.times(Parity::Odd(BTreeSet::from([place.clone()]))))
    }
}

impl Parity {
    fn even() -> Parity {
        Parity::Odd(BTreeSet::new())
    }

    fn plus(self, other: Parity) -> Parity {
        match (self, other) {
            (Parity::Zero, own) | (own, Parity::Zero) => own,
            (one, other) if one == other => one,
            _ => Parity::Mixed,
        }
    }

    fn times(self, other: Parity) -> Parity {
        match (self, other) {
            (Parity::Zero, _) | (_, Parity::Zero) => Parity::Zero,
            (Parity::Odd(one), Parity::Odd(other)) => {
                Parity::Odd(one.symmetric_difference(&other).cloned().collect())
            }
            (Parity::Mixed, _) | (_, Parity::Mixed) => Parity::Mixed,
        }
    }

    /// That of a function of it, of which nothing is known.
    fn inside(self) -> Parity {
        match self {
            Parity::Zero => Parity::even(),
            Parity::Odd(places) if places.is_empty() => Parity::even(),
            Parity::Odd(_) | Parity::Mixed => Parity::Mixed,
        }
    }
}

/// Whether one of these letters stands in a place.
fn mentions(place: &Subscript, letters: &[LetterId]) -> bool {
    let mut own = Vec::new();
    place.letters(&mut own);
    own.iter().any(|letter| letters.contains(letter))
}

/// Whether a parameter is no matrix, or a diagonal one: all of its terms hold the indicator that its row is its column.
fn is_diagonal(argument: &ArgumentSpec) -> bool {
    let [row, column] = argument.letters[..] else { return true };
    holds(&argument.value, row, column)
}

/// Whether an expression is 0 where its row is not its column.
fn holds(expression: &Expression, row: LetterId, column: LetterId) -> bool {
    match expression {
        Expression::Number(number) => *number == 0.0,
        Expression::Indicator(Comparison::Equal, one, other) => {
            (*one, *other) == (row, column) || (*one, *other) == (column, row)
        }
        Expression::Multiply(parts) => parts.iter().any(|own| holds(own, row, column)),
        Expression::Add(parts) => parts.iter().all(|own| holds(own, row, column)),
        Expression::Sum(_, body) => holds(body, row, column),
        Expression::Indicator(..)
        | Expression::Value(..)
        | Expression::Power(..)
        | Expression::Apply(..)
        | Expression::Position(_)
        | Expression::OfMatrix(..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::are_free;

    /// Whether signs along the axis `k` of a program are free.
    fn free(statements: &str) -> bool {
        let head = "axis n[n]\naxis d[d]\naxis k[k, l] = 2\ndata y[n, d] : real\ndata x[n] : real\n\
             pi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\ntau[k] ~ Gamma(1, rate = 1)\n";
        let (program, _) = cavi_syntax::parse(&format!("{head}{statements}"));
        let (model, diagnostics) = cavi_model::resolve_with(&program, &[]);
        let model = model.unwrap_or_else(|| panic!("{statements}: {diagnostics:?}"));
        let axis = model.symbols.axes.iter().position(|own| own.name == "k").expect("the axis k");
        are_free(&model, axis.into())
    }

    const PAIR: &str = "w[d, k] ~ Normal(0, prec = tau[k])\nf[n, k] ~ Normal(0, sd = 1)\n";

    #[test]
    fn factors_that_meet_in_products_may_be_turned_around() {
        let data = "y[n, d] ~ Normal(sum[k](w[d, k] * f[n, k]), sd = 1)\n";
        assert!(free(&format!("{PAIR}{data}")));
        // A level beside the sum, a mean that turns with its latent, squares, one covariance for all.
        assert!(free(&format!("{PAIR}m[d] ~ Normal(3, sd = 1)\n{}", data.replace("sum", "m[d] + sum"))));
        assert!(free(&format!(
            "c[k] ~ Normal(0, sd = 1)\n{}{data}",
            PAIR.replace("Normal(0, sd", "Normal(c[k], sd")
        )));
        assert!(free(&format!(
            "f[n, :k] ~ MultivariateNormal(0, prec = [k == l])\nw[d, k] ~ Normal(0, sd = 1)\n{data}"
        )));
        // Two latents of the class that a row has.
        assert!(free(
            "w[d, k] ~ Normal(0, sd = 1)\ns[k] ~ Normal(0, sd = 1)\ny[n, d] ~ Normal(s[z[n]] * w[d, z[n]], sd = 1)\n"
        ));
    }

    #[test]
    fn other_components_have_signs() {
        // Classes: a centre, and a line of which both numbers would turn around. What they are about 0 says nothing.
        for mean in ["0", "0.000000001"] {
            let prior = format!("Normal({mean}, sd = 10)");
            assert!(!free(&format!(
                "w[k] ~ {prior}\nf[k] ~ {prior}\nx[n] ~ Normal(w[z[n]], sd = 1)\ny[n, d] ~ Normal(f[z[n]], sd = 1)\n"
            )));
            assert!(!free(&format!(
                "a[k] ~ {prior}\nb[k] ~ {prior}\ny[n, d] ~ Normal(a[z[n]] + b[z[n]] * x[n], sd = 1)\nx[n] ~ Normal(0, sd = 1)\n"
            )));
        }
        let data = "y[n, d] ~ Normal(sum[k](w[d, k] * f[n, k]), sd = 1)\n";
        // A prior that is not about 0, a partner that is not negative, a term of its own, and a sum of all of them squared.
        assert!(!free(&format!("{}{data}", PAIR.replace("Normal(0, sd", "Normal(1, sd"))));
        assert!(!free(&format!("{}{data}", PAIR.replace("Normal(0, sd = 1)", "Gamma(1, rate = 1)"))));
        assert!(!free(&format!("{PAIR}{}", data.replace("* f[n, k]", "* f[n, k] + w[d, k]"))));
        assert!(!free(&format!("{PAIR}{data}v[d] ~ Normal(sum[k](w[d, k]), sd = 1)\n")));
        // Components that depend on each other in the prior: one alone cannot be turned around.
        assert!(!free(&format!(
            "L[:k, :l] ~ Wishart(3, scale = [k == l])\nf[n, :k] ~ MultivariateNormal(0, prec = L)\nw[d, k] ~ Normal(0, sd = 1)\n{data}"
        )));
    }
}
