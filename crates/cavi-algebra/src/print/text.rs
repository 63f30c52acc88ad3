//! Plain text, as the language writes it: `a + sum[j](x[i,j] * phi[i,j,k])`.

use crate::expression::Function;
use crate::sum_of_products::{Sum, Term};

use super::Scope;
use super::build::Builder;
use super::node::{Call, Element, Node, Product, Range, Relation};
use super::number::Number;

/// A sum on one line.
pub fn sum(scope: Scope<'_>, sum: &Sum) -> String {
    node(&Builder::new(scope, &[]).sum(sum))
}

/// A term on one line.
pub fn term(scope: Scope<'_>, term: &Term) -> String {
    sum(scope, &Sum::term(term.clone()))
}

/// A node on one line.
pub(crate) fn node(node: &Node) -> String {
    match node {
        Node::Add(_) => added(node),
        Node::Product(inner) => product(inner),
        Node::Power(base, exponent) => format!("{}^{}", tight(base), tight(exponent)),
        Node::Sum(over, body) => format!("sum[{}]({})", range(over), self::node(body)),
        Node::Count(over) => format!("#[{}]", range(over)),
        Node::Element(inner) => element(inner),
        Node::Letter(name) => name.clone(),
        Node::Slice(name) => format!(":{name}"),
        Node::Size { axis, capital: _, ancestors } => {
            if ancestors.is_empty() {
                format!("|{axis}|")
            } else {
                format!("|{axis}[{}]|", list(ancestors, ","))
            }
        }
        Node::Expectation(inner) => format!("E[{}]", self::node(inner)),
        Node::Variance(inner) => format!("Var({})", self::node(inner)),
        Node::Covariance(left, right) => format!("Cov({}, {})", self::node(left), self::node(right)),
        Node::Probability(left, right) => format!("q({} = {})", self::node(left), self::node(right)),
        Node::Call(call, arguments) => match (call, arguments.as_slice()) {
            (Call::Function(Function::Log), [argument]) if is_simple(argument) => {
                format!("log {}", self::node(argument))
            }
            (_, _) => called(call, arguments),
        },
        Node::Indicator(inner) => format!("[{}]", relation(inner)),
        Node::Density(of, given) => {
            let given = if given.is_empty() { String::new() } else { format!(" | {}", list(given, ", ")) };
            format!("p({}{given})", list(of, ", "))
        }
        Node::Entropy(inner) => format!("H[{}]", self::node(inner)),
    }
}

/// A list with a separator.
pub(crate) fn list(nodes: &[Node], separator: &str) -> String {
    nodes.iter().map(node).collect::<Vec<_>>().join(separator)
}

/// A number without its sign: `log(2 pi) / 2`.
fn number(number: &Number) -> (Vec<String>, Vec<String>) {
    let mut above = Vec::new();
    if number.above != "1" {
        above.push(number.above.clone());
    }
    if let Some(named) = number.named {
        above.push(match named.inside("pi") {
            None => named.in_text(),
            Some((inside, 1)) => format!("log({inside})"),
            Some((inside, below)) => format!("log({inside} / {below})"),
        });
    }
    let below = if number.below == 1 { Vec::new() } else { vec![number.below.to_string()] };
    (above, below)
}

fn product(product: &Product) -> String {
    let (mut above, mut below) = number(&product.number);
    // A named constant stands behind what it multiplies.
    let named = if product.number.named.is_some() { above.pop() } else { None };
    above.extend(product.above.iter().map(factor));
    above.extend(named);
    below.extend(product.below.iter().map(factor));
    let sign = if product.number.negative { "-" } else { "" };
    let above = if above.is_empty() { "1".to_owned() } else { above.join(" * ") };
    match below.as_slice() {
        [] => format!("{sign}{above}"),
        [only] => format!("{sign}{above} / {only}"),
        several => format!("{sign}{above} / ({})", several.join(" * ")),
    }
}

/// A node as a factor of a product.
fn factor(inner: &Node) -> String {
    match inner {
        Node::Product(product) if product.above.is_empty() && product.below.is_empty() => tight(inner),
        Node::Add(_) | Node::Product(_) => format!("({})", node(inner)),
        Node::Call(call, arguments) => called(call, arguments),
        Node::Power(..)
        | Node::Sum(..)
        | Node::Count(_)
        | Node::Element(_)
        | Node::Letter(_)
        | Node::Slice(_)
        | Node::Size { .. }
        | Node::Expectation(_)
        | Node::Variance(_)
        | Node::Covariance(..)
        | Node::Probability(..)
        | Node::Indicator(_)
        | Node::Density(..)
        | Node::Entropy(_) => node(inner),
    }
}

/// A node as a base or an exponent.
fn tight(inner: &Node) -> String {
    match inner {
        Node::Product(product)
            if product.above.is_empty() && product.below.is_empty() && !product.number.negative =>
        {
            let (above, below) = number(&product.number);
            if below.is_empty() && above.len() <= 1 { node(inner) } else { format!("({})", node(inner)) }
        }
        Node::Add(_) | Node::Product(_) | Node::Power(..) | Node::Sum(..) => format!("({})", node(inner)),
        Node::Call(call, arguments) => called(call, arguments),
        Node::Count(_)
        | Node::Element(_)
        | Node::Letter(_)
        | Node::Slice(_)
        | Node::Size { .. }
        | Node::Expectation(_)
        | Node::Variance(_)
        | Node::Covariance(..)
        | Node::Probability(..)
        | Node::Indicator(_)
        | Node::Density(..)
        | Node::Entropy(_) => node(inner),
    }
}

/// A function with its arguments in brackets.
fn called(call: &Call, arguments: &[Node]) -> String {
    let name = match call {
        Call::Contraction => return contraction(arguments),
        Call::Function(Function::SinePi) => {
            let inside = list(arguments, ", ");
            let bracketed = matches!(arguments, [Node::Add(_)]);
            return if bracketed { format!("sin(pi * ({inside}))") } else { format!("sin(pi * {inside})") };
        }
        Call::Function(Function::LogGamma) => "log Gamma",
        Call::Function(Function::Digamma) => "psi",
        Call::Function(Function::Trigamma) => "psi'",
        Call::Function(Function::LogBesselK) => "log BesselK",
        Call::Function(function) => function.name(),
        Call::Cosh => "cosh",
        Call::Tanh => "tanh",
        Call::PositivePart => return format!("max(0, {})", list(arguments, ", ")),
        Call::MultivariateDigamma => "multivariate_psi",
        Call::Digamma => "psi",
        Call::LogBesselKInOrder => "log BesselK'",
        Call::Inverse => "inverse",
        Call::Q => "q",
        Call::Named(name) | Call::Family(name) => name,
        Call::Argument(name) => return format!("{name} = {}", list(arguments, ", ")),
    };
    format!("{name}({})", list(arguments, ", "))
}

/// `m' L m`, or `(L m)[i]`
fn contraction(arguments: &[Node]) -> String {
    let texts: Vec<String> = arguments.iter().map(node).collect();
    match texts.as_slice() {
        [matrix, vector, letter] => format!("({matrix} {vector})[{letter}]"),
        [matrix, vector] => format!("{vector}' {matrix} {vector}"),
        other => other.join(" "),
    }
}

/// Whether a log needs no brackets around it.
fn is_simple(node: &Node) -> bool {
    match node {
        Node::Element(_) | Node::Density(..) | Node::Call(Call::Q, _) => true,
        Node::Add(_)
        | Node::Product(_)
        | Node::Power(..)
        | Node::Sum(..)
        | Node::Count(_)
        | Node::Letter(_)
        | Node::Slice(_)
        | Node::Size { .. }
        | Node::Expectation(_)
        | Node::Variance(_)
        | Node::Covariance(..)
        | Node::Probability(..)
        | Node::Call(..)
        | Node::Indicator(_)
        | Node::Entropy(_) => false,
    }
}

fn element(element: &Element) -> String {
    let number = element.number.map(|number| number.to_string()).unwrap_or_default();
    let subscripts = list(&element.subscripts, ",");
    let subscripts = if subscripts.is_empty() { subscripts } else { format!("[{subscripts}]") };
    format!("{}{number}{subscripts}", element.name)
}

pub(crate) fn relation(relation: &Relation) -> String {
    match relation {
        Relation::Equal(left, right) => format!("{} = {}", node(left), node(right)),
        Relation::Different(left, right) => format!("{} != {}", node(left), node(right)),
        Relation::Less(left, right) => format!("{} < {}", node(left), node(right)),
        Relation::Observed(element) => format!("{} observed", node(element)),
    }
}

fn range(range: &Range) -> String {
    let (letters, conditions) = range.folded();
    let mut shown: Vec<String> = letters.iter().map(node).collect();
    let mut rest: Vec<String> = Vec::new();
    for (folds, condition) in &conditions {
        if *folds { shown.push(relation(condition)) } else { rest.push(relation(condition)) }
    }
    let colon = if rest.is_empty() { String::new() } else { format!(": {}", rest.join(", ")) };
    let separator = if conditions.iter().any(|(folds, _)| *folds) { ", " } else { "," };
    format!("{}{colon}", shown.join(separator))
}

impl Range {
    /// The letters, and the conditions, of which some take a letter's place: `l != k` for `l`, `k < l` for both.
    pub(crate) fn folded(&self) -> (Vec<Node>, Vec<(bool, Relation)>) {
        let mut letters = self.letters.clone();
        let mut conditions = Vec::new();
        for condition in &self.conditions {
            let last = |node: &Node| letters.last() == Some(node);
            match condition {
                Relation::Different(left, right) if last(left) || last(right) => {
                    let (own, other) = if last(left) { (left, right) } else { (right, left) };
                    letters.pop();
                    conditions.push((true, Relation::Different(own.clone(), other.clone())));
                }
                Relation::Less(left, right) if letters.ends_with(&[left.clone(), right.clone()]) => {
                    letters.truncate(letters.len() - 2);
                    conditions.push((true, condition.clone()));
                }
                Relation::Equal(..)
                | Relation::Different(..)
                | Relation::Less(..)
                | Relation::Observed(_) => {
                    conditions.push((false, condition.clone()));
                }
            }
        }
        (letters, conditions)
    }
}

fn added(node: &Node) -> String {
    let mut out = String::new();
    for (position, (negative, addend)) in node.addends().into_iter().enumerate() {
        out.push_str(match (position, negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        });
        out.push_str(&self::node(&addend));
    }
    if out.is_empty() { "0".to_owned() } else { out }
}
