//! What is shown, before a notation is chosen: a sum of products walked once becomes a tree of these.

use crate::expression::Function;

use super::number::Number;

/// A piece of notation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// A sum of addends, each with its own sign; the empty one is 0.
    Add(Vec<Node>),
    /// A signed product of a number and other things, some of them below the line.
    Product(Product),
    /// A base and an exponent.
    Power(Box<Node>, Box<Node>),
    /// A sum over letters.
    Sum(Range, Box<Node>),
    /// How many values the letters take.
    Count(Range),
    /// A name with subscripts.
    Element(Element),
    /// A letter, primes included.
    Letter(String),
    /// A slice `:k`.
    Slice(String),
    /// The size of an axis, for a ragged one within its ancestors.
    Size {
        /// The axis.
        axis: String,
        /// The capital that stands for it in print, if it is free.
        capital: Option<String>,
        /// The positions on the ancestors.
        ancestors: Vec<Node>,
    },
    /// `E[...]`
    Expectation(Box<Node>),
    /// `Var(...)`
    Variance(Box<Node>),
    /// `Cov(..., ...)`
    Covariance(Box<Node>, Box<Node>),
    /// `q(z = c)`
    Probability(Box<Node>, Box<Node>),
    /// A function of arguments.
    Call(Call, Vec<Node>),
    /// 1 where the relation holds, else 0.
    Indicator(Box<Relation>),
    /// `p(a | b, c)`
    Density(Vec<Node>, Vec<Node>),
    /// `H[q(...)]`
    Entropy(Box<Node>),
}

/// A product with a sign: `-(3/2) a b / c`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Product {
    /// The number in front, its sign included.
    pub number: Number,
    /// What is multiplied.
    pub above: Vec<Node>,
    /// What is divided by.
    pub below: Vec<Node>,
}

/// Letters of a sum and what restricts them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    /// The letters, an ancestor before its descendants.
    pub letters: Vec<Node>,
    /// What must hold.
    pub conditions: Vec<Relation>,
}

/// A name with subscripts; an addend of several carries its number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Element {
    /// As declared.
    pub name: String,
    /// The number of the addend.
    pub number: Option<usize>,
    /// The variables that a parameter of q belongs to, where print must tell it from those of others.
    pub of: Option<Vec<String>>,
    /// The subscripts, ancestors included.
    pub subscripts: Vec<Node>,
}

/// Something that holds or does not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Relation {
    /// `a = b`
    Equal(Node, Node),
    /// `a != b`
    Different(Node, Node),
    /// `a < b`
    Less(Node, Node),
    /// `x[n, j] observed`
    Observed(Node),
}

/// What is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    /// A function of the language.
    Function(Function),
    /// The hyperbolic cosine.
    Cosh,
    /// The hyperbolic tangent.
    Tanh,
    /// `max(0, x)`
    PositivePart,
    /// The derivative of the log of the multivariate Gamma function: its argument and its dimension.
    MultivariateDigamma,
    /// `psi`, the derivative of `log Gamma`.
    Digamma,
    /// The derivative of the log of the modified Bessel function in its order: the order, then the argument.
    LogBesselKInOrder,
    /// The inverse of a matrix.
    Inverse,
    /// A matrix and a vector: `m' L m`, or with a letter as third argument an element of the vector `L m`.
    Contraction,
    /// A factor of q: `q(theta[d, :k])`.
    Q,
    /// A name that the derivation gives: `eta(log x)`.
    Named(String),
    /// A distribution: `Gamma(shape, rate)`.
    Family(String),
    /// An argument with its name: `prec = tau`.
    Argument(&'static str),
}

impl Node {
    /// A name without subscripts.
    pub fn name(name: &str) -> Node {
        Node::element(name, Vec::new())
    }

    /// A name with subscripts.
    pub fn element(name: &str, subscripts: Vec<Node>) -> Node {
        Node::Element(Element { name: name.to_owned(), number: None, of: None, subscripts })
    }

    /// A bare number.
    pub fn number(value: f64) -> Node {
        Node::Product(Product { number: Number::of(value), above: Vec::new(), below: Vec::new() })
    }

    /// A function of one argument.
    pub fn call(call: Call, argument: Node) -> Node {
        Node::Call(call, vec![argument])
    }

    /// A log.
    pub fn log(argument: Node) -> Node {
        Node::call(Call::Function(Function::Log), argument)
    }

    /// A product, as simple as it comes: one factor stands for itself, equal factors become powers, signs stand in front.
    pub fn product(mut number: Number, above: Vec<Node>, below: Vec<Node>) -> Node {
        let mut merged: Vec<(Node, usize)> = Vec::new();
        let mut opened = Vec::with_capacity(above.len());
        let mut under = Vec::with_capacity(below.len());
        for node in below {
            match node {
                Node::Product(inner)
                    if inner.number.negative
                        && inner.number.is_unit()
                        && !inner.above.is_empty()
                        && inner.below.is_empty() =>
                {
                    number.negative = !number.negative;
                    under.extend(inner.above);
                }
                other => under.push(other),
            }
        }
        let mut below = under;
        for node in above {
            match node {
                Node::Product(inner) if inner.number.is_unit() && !inner.above.is_empty() => {
                    number.negative ^= inner.number.negative;
                    opened.extend(inner.above);
                    below.extend(inner.below);
                }
                other => opened.push(other),
            }
        }
        // `x / (4 y)` in place of `x / (2 * 2 y)`.
        if number.below > 1 && number.above == "1" {
            below.retain(|node| match node.numeral().and_then(|own| own.checked_mul(number.below)) {
                Some(product) => {
                    number.below = product;
                    false
                }
                None => true,
            });
        }
        for node in opened {
            // What stands above and below the line cancels.
            if let Some(place) = below.iter().position(|other| *other == node) {
                below.remove(place);
                continue;
            }
            match merged.iter_mut().find(|(other, _)| *other == node) {
                Some((_, count)) => *count += 1,
                None => merged.push((node, 1)),
            }
        }
        let power = |(node, count): (Node, usize)| {
            if count == 1 { node } else { node.raised(Node::number(count as f64)) }
        };
        let mut above: Vec<Node> = merged.into_iter().map(power).collect();
        if number.is_one() && above.len() == 1 && below.is_empty() {
            return above.remove(0);
        }
        // Sizes come first. A sum comes last, so that no factor after it looks like part of it.
        above.sort_by_key(|node| match node {
            Node::Size { .. } | Node::Count(_) => 0,
            Node::Sum(..) => 2,
            Node::Add(_)
            | Node::Product(_)
            | Node::Power(..)
            | Node::Element(_)
            | Node::Letter(_)
            | Node::Slice(_)
            | Node::Expectation(_)
            | Node::Variance(_)
            | Node::Covariance(..)
            | Node::Probability(..)
            | Node::Call(..)
            | Node::Indicator(_)
            | Node::Density(..)
            | Node::Entropy(_) => 1,
        });
        Node::Product(Product { number, above, below })
    }

    /// The whole number that it is.
    fn numeral(&self) -> Option<u32> {
        match self {
            Node::Product(own) if own.above.is_empty() && own.below.is_empty() => own.number.whole(),
            _ => None,
        }
    }

    /// A product of nodes.
    pub fn times(nodes: Vec<Node>) -> Node {
        Node::product(Number::one(), nodes, Vec::new())
    }

    /// A sum of nodes, sums among them opened; one addend stands for itself.
    pub fn add(nodes: Vec<Node>) -> Node {
        let mut flat = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::Add(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        let mut flat = with_logs_collected(flat);
        if flat.len() == 1 { flat.remove(0) } else { Node::Add(flat) }
    }

    /// Minus the node.
    pub fn negated(self) -> Node {
        match self {
            Node::Add(nodes) if nodes.is_empty() => Node::Add(nodes),
            Node::Product(mut product) => {
                product.number.negative = !product.number.negative;
                let Product { number, above, below } = product;
                Node::product(number, above, below)
            }
            other => {
                let number = Number { negative: true, ..Number::one() };
                Node::product(number, vec![other], Vec::new())
            }
        }
    }

    /// A power of it.
    pub fn raised(self, exponent: Node) -> Node {
        Node::Power(Box::new(self), Box::new(exponent))
    }

    /// The addends, each with its sign taken off.
    pub fn addends(&self) -> Vec<(bool, Node)> {
        let nodes = match self {
            Node::Add(nodes) => nodes.clone(),
            other => vec![other.clone()],
        };
        let sign = |node: Node| match node {
            Node::Product(product) if product.number.negative => (true, Node::Product(product).negated()),
            other => (false, other),
        };
        nodes.into_iter().map(sign).collect()
    }

    /// Whether it is 0 by its form.
    pub fn is_zero(&self) -> bool {
        matches!(self, Node::Add(nodes) if nodes.is_empty())
    }
}

/// `K / 2 + K log(2 pi) / 2` as `K (1 + log(2 pi)) / 2`: a product and the same one times a logarithm, the first where either stands.
fn with_logs_collected(nodes: Vec<Node>) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let place = out.iter().position(|own| both(own, &node).is_some());
        match place {
            Some(place) => out[place] = both(&out[place], &node).unwrap_or(node),
            None => out.push(node),
        }
    }
    out
}

/// Two products that differ by one logarithm, as one.
fn both(left: &Node, right: &Node) -> Option<Node> {
    let product = |node: &Node| match node {
        Node::Product(product) => Some(product.clone()),
        Node::Size { .. } | Node::Count(_) => {
            Some(Product { number: Number::one(), above: vec![node.clone()], below: Vec::new() })
        }
        _ => None,
    };
    let (left, right) = (product(left)?, product(right)?);
    let bare =
        |own: &Product| Product { number: Number { named: None, ..own.number.clone() }, ..own.clone() };
    let (plain, log) = match (left.number.named, right.number.named) {
        (None, Some(log)) => (&left, log),
        (Some(log), None) => (&right, log),
        _ => return None,
    };
    // A bare number and a logarithm are a bracket of their own only where a fraction is in front of both.
    let fraction = plain.number.below > 1 || !plain.above.is_empty();
    if bare(&left) != bare(&right) || !log.is_logarithm() || !fraction || !plain.below.is_empty() {
        return None;
    }
    let log = Node::product(Number { named: Some(log), ..Number::one() }, Vec::new(), Vec::new());
    let mut above = plain.above.clone();
    above.push(Node::Add(vec![Node::number(1.0), log]));
    Some(Node::product(plain.number.clone(), above, Vec::new()))
}
