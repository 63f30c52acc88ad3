//! The parameters that papers print for each factor of q, as formulas over its natural ones.
//!
//! The natural parameters of a distribution have the base measure taken off (see [`cavi_families::posterior`]): that of
//! `log x` in a Gamma is the shape itself. For a point they are the coefficients as collected. The standard parameters
//! stand in the order of the family's descriptors, so that equations and files agree.

use cavi_algebra::print::{Formula, Standard, StandardParameter};
use cavi_algebra::{Function, Statistic};

use Formula::{
    Add, Apply, Digamma, Divide, Inverse, MatrixVector, Multiply, Natural, Negate, Normalised, Number,
    Parameter, Total,
};

/// What the families of the registry tell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Families;

impl Standard for Families {
    fn standard(&self, family: &str) -> Vec<StandardParameter> {
        let named = |list: &[(&'static str, Formula)]| {
            let parameter = |(name, formula): &(&'static str, Formula)| StandardParameter {
                name,
                formula: formula.clone(),
            };
            list.iter().map(parameter).collect()
        };
        match family {
            "Gamma" => named(&[("shape", Natural(0)), ("rate", negated(Natural(1)))]),
            "InverseGamma" => named(&[
                ("shape", Add(vec![Number(-1.0), negated(Natural(0))])),
                ("scale", negated(Natural(1))),
            ]),
            "Beta" => named(&[("a", shifted(0, 1.0)), ("b", shifted(1, 1.0))]),
            "Dirichlet" => named(&[("concentration", shifted(0, 1.0))]),
            "Categorical" => {
                let weight = Apply(Function::Exp, Box::new(Natural(0)));
                named(&[("prob", Normalised(Box::new(weight)))])
            }
            "Bernoulli" => named(&[("prob", Apply(Function::Logistic, Box::new(Natural(0))))]),
            "Normal" => named(&[
                ("prec", Multiply(vec![Number(-2.0), Natural(1)])),
                ("mean", Divide(Box::new(Natural(0)), Box::new(Parameter(0)))),
            ]),
            "Normal over a slice" => named(&[
                ("prec", Multiply(vec![Number(-2.0), Natural(1)])),
                ("cov", Inverse(Box::new(Parameter(0)))),
                ("mean", MatrixVector(Box::new(Parameter(1)), Box::new(Natural(0)))),
            ]),
            "TruncatedNormal" => {
                named(&[("linear", Natural(0)), ("prec", Multiply(vec![Number(-2.0), Natural(1)]))])
            }
            _ => Vec::new(),
        }
    }

    fn mode(&self, family: &str) -> Option<Formula> {
        match family {
            "Gamma" => Some(Divide(Box::new(Natural(0)), Box::new(negated(Natural(1))))),
            "Dirichlet" => Some(Normalised(Box::new(Natural(0)))),
            "Normal" => {
                let precision = Multiply(vec![Number(-2.0), Natural(1)]);
                Some(Divide(Box::new(Natural(0)), Box::new(precision)))
            }
            _ => None,
        }
    }

    fn expectations(&self, family: &str) -> Vec<(Statistic, Formula)> {
        let log = |index| Apply(Function::Log, Box::new(Parameter(index)));
        match family {
            "Gamma" => vec![
                (Statistic::identity(), Divide(Box::new(Parameter(0)), Box::new(Parameter(1)))),
                (Statistic::log(), Add(vec![Digamma(Box::new(Parameter(0))), negated(log(1))])),
            ],
            "Dirichlet" => {
                let total = Total(Box::new(Parameter(0)));
                let log = Add(vec![Digamma(Box::new(Parameter(0))), negated(Digamma(Box::new(total)))]);
                vec![(Statistic::log(), log)]
            }
            "Normal over a slice" => {
                vec![(Statistic::identity(), Parameter(2)), (Statistic::covariance(), Parameter(1))]
            }
            _ => Vec::new(),
        }
    }

    fn paired(&self, family: &str) -> bool {
        cavi_families::posterior(family).is_some_and(|family| family.paired())
    }

    fn log_normaliser(&self, family: &str) -> Option<Formula> {
        let gamma = |of| Apply(Function::LogGamma, Box::new(of));
        match family {
            "Gamma" | "InverseGamma" => {
                let log = Apply(Function::Log, Box::new(Parameter(1)));
                Some(Add(vec![gamma(Parameter(0)), negated(Multiply(vec![Parameter(0), log]))]))
            }
            "Beta" => {
                let sum = Add(vec![Parameter(0), Parameter(1)]);
                Some(Add(vec![gamma(Parameter(0)), gamma(Parameter(1)), negated(gamma(sum))]))
            }
            "Dirichlet" => {
                let total = gamma(Total(Box::new(Parameter(0))));
                Some(Add(vec![Total(Box::new(gamma(Parameter(0)))), negated(total)]))
            }
            _ => None,
        }
    }
}

fn negated(formula: Formula) -> Formula {
    Negate(Box::new(formula))
}
