//! LaTeX, as methods appendices write it: `a + \sum_{j} x_{ij} \phi_{ijk}`.

use crate::expression::Function;
use crate::sum_of_products::{Sum, Term};

use super::Scope;
use super::build::Builder;
use super::node::{Call, Element, Node, Product, Range, Relation};
use super::number::{Named, Number};
use super::words::{Name, letter, name, upright};

/// A sum as a formula, without dollars.
pub fn sum(scope: Scope<'_>, sum: &Sum) -> String {
    node(&Builder::new(scope, &[]).sum(sum))
}

/// A term as a formula, without dollars.
pub fn term(scope: Scope<'_>, term: &Term) -> String {
    sum(scope, &Sum::term(term.clone()))
}

/// A node as a formula.
pub(crate) fn node(node: &Node) -> String {
    match node {
        Node::Add(_) => added(node),
        Node::Product(inner) => product(inner),
        Node::Power(base, exponent) => format!("{}^{{{}}}", tight(base), self::node(exponent)),
        Node::Sum(over, body) => {
            let inside = match &**body {
                Node::Add(_) => bracketed("(", &self::node(body), ")"),
                Node::Product(product) if product.number.negative => bracketed("(", &self::node(body), ")"),
                other => self::node(other),
            };
            format!("\\sum_{{{}}} {inside}", range(over))
        }
        Node::Count(over) => format!("\\#\\left\\{{{}\\right\\}}", range(over)),
        Node::Element(inner) => element(inner),
        Node::Letter(name) => letter(name),
        Node::Slice(_) => ":".to_owned(),
        Node::Size { axis, capital, ancestors } => match capital {
            Some(capital) => format!("{capital}{}", subscript(&[], ancestors)),
            None => format!("|{}{}|", upright(axis), subscript(&[], ancestors)),
        },
        Node::Expectation(inner) => format!("\\mathbb{{E}}{}", bracketed("[", &self::node(inner), "]")),
        Node::Variance(inner) => format!("\\operatorname{{Var}}{}", bracketed("(", &self::node(inner), ")")),
        Node::Covariance(left, right) => {
            let inside = format!("{}, {}", self::node(left), self::node(right));
            format!("\\operatorname{{Cov}}{}", bracketed("(", &inside, ")"))
        }
        Node::Probability(left, right) => format!("q({} = {})", self::node(left), self::node(right)),
        Node::Call(call, arguments) => called(call, arguments, false),
        Node::Indicator(inner) => format!("[{}]", relation(inner)),
        Node::Density(of, given) => {
            let given = if given.is_empty() { String::new() } else { format!(" \\mid {}", list(given)) };
            format!("p({}{given})", list(of))
        }
        Node::Entropy(inner) => format!("\\mathrm{{H}}{}", bracketed("[", &self::node(inner), "]")),
    }
}

fn list(nodes: &[Node]) -> String {
    nodes.iter().map(node).collect::<Vec<_>>().join(", ")
}

/// Brackets that grow with what is tall.
fn bracketed(open: &str, inside: &str, close: &str) -> String {
    let tall = ["\\sum", "\\frac", "\\left", "^{"].iter().any(|mark| inside.contains(mark));
    if tall { format!("\\left{open}{inside}\\right{close}") } else { format!("{open}{inside}{close}") }
}

fn digits(above: &str) -> String {
    match above.split_once('e') {
        Some(("1", exponent)) => format!("10^{{{exponent}}}"),
        Some((mantissa, exponent)) => format!("{mantissa} \\times 10^{{{exponent}}}"),
        None if above == "inf" => "\\infty".to_owned(),
        None => above.to_owned(),
    }
}

fn named(named: Named) -> &'static str {
    match named {
        Named::LogTwoPi => "\\ln (2\\pi)",
        Named::LogTwo => "\\ln 2",
        Named::LogPi => "\\ln \\pi",
        Named::LogHalfPi => "\\ln \\tfrac{\\pi}{2}",
        Named::Pi => "\\pi",
    }
}

fn product(product: &Product) -> String {
    let Number { negative, above, below, named: constant } = &product.number;
    let mut front = Vec::new();
    if *below != 1 {
        front.push(format!("\\tfrac{{{}}}{{{below}}}", digits(above)));
    } else if above != "1" {
        front.push(digits(above));
    }
    let mut upper: Vec<String> = Vec::new();
    let last = product.above.len().checked_sub(1).filter(|_| constant.is_none());
    for (position, inner) in product.above.iter().enumerate() {
        upper.push(factor(inner, Some(position) == last));
    }
    upper.extend(constant.map(|constant| named(constant).to_owned()));
    let lower: Vec<String> = product
        .below
        .iter()
        .enumerate()
        .map(|(at, inner)| factor(inner, at + 1 == product.below.len()))
        .collect();
    if !lower.is_empty() {
        if upper.is_empty() {
            upper.push(if front.is_empty() || *below != 1 { "1".to_owned() } else { front.remove(0) });
        }
        front.push(format!("\\frac{{{}}}{{{}}}", upper.join(" \\, "), lower.join(" \\, ")));
    } else {
        front.extend(upper);
    }
    if front.is_empty() {
        front.push("1".to_owned());
    }
    format!("{}{}", if *negative { "-" } else { "" }, front.join(" \\, "))
}

/// A node as a factor of a product; what swallows what follows it is bracketed unless it is the last.
fn factor(inner: &Node, last: bool) -> String {
    match inner {
        Node::Add(_) => bracketed("(", &node(inner), ")"),
        Node::Product(product) if product.number.negative => bracketed("(", &node(inner), ")"),
        Node::Sum(..) if !last => bracketed("(", &node(inner), ")"),
        Node::Call(call, arguments) => called(call, arguments, !last),
        Node::Product(_)
        | Node::Power(..)
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

/// A node as a base of a power.
fn tight(inner: &Node) -> String {
    match inner {
        Node::Element(element) if element.number.is_some() || name(&element.name).primes > 0 => {
            format!("{{{}}}", node(inner))
        }
        Node::Product(product)
            if product.above.is_empty()
                && product.below.is_empty()
                && product.number.named.is_none()
                && product.number.below == 1
                && !product.number.negative
                && !product.number.above.contains('e') =>
        {
            node(inner)
        }
        Node::Add(_) | Node::Product(_) | Node::Power(..) | Node::Sum(..) | Node::Call(..) => {
            bracketed("(", &node(inner), ")")
        }
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

/// A function of its arguments; a log takes brackets where it must not swallow what follows.
fn called(call: &Call, arguments: &[Node], closed: bool) -> String {
    let inside = list(arguments);
    let round = |name: &str| format!("{name}{}", bracketed("(", &inside, ")"));
    match call {
        Call::Function(function) => match function {
            Function::Log => {
                let bare = match arguments {
                    [Node::Element(_) | Node::Density(..)] => !closed,
                    [Node::Sum(..)] => !closed,
                    _ => false,
                };
                if bare { format!("\\ln {inside}") } else { round("\\ln ") }
            }
            Function::Exp => round("\\exp"),
            Function::Sqrt => format!("\\sqrt{{{inside}}}"),
            Function::Logistic => round("\\operatorname{logistic}"),
            Function::Softplus => round("\\operatorname{softplus}"),
            Function::LogGamma => round("\\ln\\Gamma"),
            Function::Digamma => round("\\psi"),
            Function::Trigamma => round("\\psi'"),
            Function::LogBesselK => match arguments {
                [order, argument] => format!(
                    "\\ln K_{{{}}}{}",
                    list(std::slice::from_ref(order)),
                    bracketed("(", &list(std::slice::from_ref(argument)), ")")
                ),
                _ => round("\\ln K"),
            },
            Function::Power => round("\\operatorname{power}"),
            Function::Phi => round("\\Phi"),
            Function::InversePhi => round("\\Phi^{-1}"),
            Function::StandardNormalLogCdf => round("\\ln\\Phi"),
            Function::StandardNormalLogCcdf => format!("\\ln\\left(1 - {}\\right)", round("\\Phi")),
            Function::StandardNormalLogQf => round("(\\ln\\Phi)^{-1}"),
        },
        Call::Digamma => round("\\psi"),
        Call::Inverse => match arguments {
            [Node::Element(_)] => format!("{inside}^{{-1}}"),
            _ => format!("{}^{{-1}}", bracketed("[", &inside, "]")),
        },
        Call::Q => round("q"),
        Call::Named(own) => {
            let Name { base, primes, subscripts } = name(own);
            let below =
                if subscripts.is_empty() { String::new() } else { format!("_{{{}}}", subscripts.join(",")) };
            round(&format!("{base}{}{below}", "'".repeat(primes)))
        }
    }
}

fn element(element: &Element) -> String {
    let Name { base, primes, subscripts } = name(&element.name);
    let mut out = base;
    match element.number {
        Some(number) => out.push_str(&format!("^{{{}({number})}}", "\\prime".repeat(primes))),
        None => out.push_str(&"'".repeat(primes)),
    }
    out.push_str(&subscript(&subscripts, &element.subscripts));
    out
}

/// Subscripts: letters side by side, with commas where that would be unclear.
fn subscript(own: &[String], nodes: &[Node]) -> String {
    let mut clear = own.is_empty();
    for node in nodes {
        clear &= match node {
            Node::Letter(name) => name.trim_end_matches('\'').chars().count() == 1,
            Node::Add(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Sum(..)
            | Node::Count(_)
            | Node::Element(_)
            | Node::Slice(_)
            | Node::Size { .. }
            | Node::Expectation(_)
            | Node::Variance(_)
            | Node::Covariance(..)
            | Node::Probability(..)
            | Node::Call(..)
            | Node::Indicator(_)
            | Node::Density(..)
            | Node::Entropy(_) => false,
        };
    }
    let parts: Vec<String> = own.iter().cloned().chain(nodes.iter().map(node)).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("_{{{}}}", parts.join(if clear { "" } else { "," }))
    }
}

fn relation(relation: &Relation) -> String {
    match relation {
        Relation::Equal(left, right) => format!("{} = {}", node(left), node(right)),
        Relation::Different(left, right) => format!("{} \\neq {}", node(left), node(right)),
        Relation::Less(left, right) => format!("{} < {}", node(left), node(right)),
        Relation::Observed(element) => format!("{}\\text{{ observed}}", node(element)),
    }
}

fn range(range: &Range) -> String {
    let (letters, conditions) = range.folded();
    let mut shown: Vec<String> = letters.iter().map(node).collect();
    let mut rest: Vec<String> = Vec::new();
    for (folds, condition) in &conditions {
        if *folds { shown.push(relation(condition)) } else { rest.push(relation(condition)) }
    }
    let colon = if rest.is_empty() { String::new() } else { format!(" :\\, {}", rest.join(",\\, ")) };
    format!("{}{colon}", shown.join(","))
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

/// About how many characters wide a formula is when set: commands count as one, subscripts as less.
pub(crate) fn width(latex: &str) -> usize {
    let (mut tenths, mut chars, mut script, mut depth) =
        (0usize, latex.chars().peekable(), Vec::new(), 0usize);
    let mut raised = false;
    while let Some(c) = chars.next() {
        let one = if script.is_empty() { 10 } else { 6 };
        match c {
            '\\' => {
                let mut command = String::new();
                while let Some(next) = chars.peek().filter(|next| next.is_ascii_alphabetic()) {
                    command.push(*next);
                    chars.next();
                }
                match command.as_str() {
                    "left" | "right" | "mathrm" | "mathbb" | "operatorname" | "text" | "frac" | "tfrac" => {}
                    "" => {
                        chars.next();
                        tenths += 3;
                    }
                    "sum" | "ln" | "exp" => tenths += 2 * one,
                    _ => tenths += one,
                }
            }
            '_' | '^' => raised = true,
            '{' => {
                depth += 1;
                if raised {
                    script.push(depth);
                }
                raised = false;
            }
            '}' => {
                if script.last() == Some(&depth) {
                    script.pop();
                }
                depth = depth.saturating_sub(1);
            }
            ' ' => {}
            '+' | '=' => tenths += 25,
            _ => tenths += one,
        }
    }
    tenths / 10
}
