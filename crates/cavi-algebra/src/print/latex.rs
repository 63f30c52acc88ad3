//! LaTeX, as methods appendices write it: `a + \sum_{j} x_{ij} \phi_{ijk}`.

use crate::expression::Function;
use crate::sum_of_products::{Sum, Term};

use super::Scope;
use super::build::Builder;
use super::node::{Call, Element, Node, Product, Range, Relation};
use super::number::{Named, Number, in_latex};
use super::width::width;
use super::words::{Name, letter, name, upright};

/// The widest conditions under a sum that stand beside each other, in points of the size of the line.
const CONDITIONS: f64 = 90.0;

/// A sum as a formula, without dollars.
pub fn sum(scope: Scope<'_>, sum: &Sum) -> String {
    node(&Builder::new(scope, &[]).sum(sum))
}

/// A term as a formula, without dollars.
pub fn term(scope: Scope<'_>, term: &Term) -> String {
    sum(scope, &Sum::term(term.clone()))
}

/// A name of a program with subscripts as they are written (`:k` is a slice), as a formula without dollars: `\theta_{d}`.
pub fn written(own: &str, subscripts: &[&str]) -> String {
    let subscript = |text: &&str| match text.strip_prefix(':') {
        Some(letter) => Node::Slice(letter.to_owned()),
        None => Node::Letter((*text).to_owned()),
    };
    let subscripts = subscripts.iter().map(subscript).collect();
    element(&Element { name: own.to_owned(), number: None, of: None, subscripts })
}

/// How names of a program are written so that no two symbols are alike: of `x1` and `x_1` the first stays, the second is set word for word. Only
/// names that are written otherwise are told. `letters` keep their symbols.
pub fn apart<'n>(
    letters: impl Iterator<Item = &'n str>,
    names: impl Iterator<Item = &'n str>,
) -> std::collections::BTreeMap<String, String> {
    super::notation::names_apart(letters, names)
}

/// Plain words in LaTeX.
pub fn plain(text: &str) -> String {
    super::words::escape(text)
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
        Node::Expectation(inner) => format!("\\mathrm{{E}}{}", bracketed("[", &self::node(inner), "]")),
        Node::Variance(inner) => format!("\\mathrm{{Var}}{}", bracketed("(", &self::node(inner), ")")),
        Node::Covariance(left, right) => {
            let inside = format!("{}, {}", self::node(left), self::node(right));
            format!("\\mathrm{{Cov}}{}", bracketed("(", &inside, ")"))
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

fn named(named: Named) -> String {
    if let Named::Root(above, below) = named {
        return match below {
            1 => format!("\\sqrt{{{above}}}"),
            _ => format!("\\sqrt{{{above}/{below}}}"),
        };
    }
    match named.inside("\\pi") {
        None => "\\pi".to_owned(),
        Some((above, 1)) if above.contains(' ') => format!("\\ln ({})", above.replace(' ', "")),
        Some((above, 1)) => format!("\\ln {above}"),
        Some((above, below)) => format!("\\ln \\tfrac{{{}}}{{{below}}}", above.replace(' ', "")),
    }
}

pub(crate) fn product(product: &Product) -> String {
    // A sum stands behind a fraction, not on it: `1 / (2 s^2) sum_n x_n`. A ratio of two sums stays one.
    let sums = |nodes: &[Node]| nodes.iter().any(|own| matches!(own, Node::Sum(..) | Node::Add(_)));
    if let [front @ .., last @ Node::Sum(..)] = product.above.as_slice()
        && !product.below.is_empty()
        && product.number.named.is_none()
        && !sums(front)
        && !sums(&product.below)
    {
        let front = Product { above: front.to_vec(), ..product.clone() };
        return format!("{} \\, {}", fraction(&front), factor(last, true));
    }
    fraction(product)
}

/// A product as it stands, on the line of a fraction or without one.
fn fraction(product: &Product) -> String {
    let Number { negative, above, below, named: constant } = &product.number;
    let is_fraction = !product.below.is_empty();
    let mut front = Vec::new();
    // The number in front of a fraction stands on its line: `tanh(x / 2) / (4 x)`.
    let (mut number, mut denominator) = (None, None);
    if is_fraction && !above.contains('e') {
        number = (above != "1").then(|| in_latex(above));
        denominator = (*below != 1).then(|| below.to_string());
    } else if *below != 1 {
        front.push(format!("\\tfrac{{{}}}{{{below}}}", in_latex(above)));
    } else if above != "1" {
        front.push(in_latex(above));
    }
    let mut upper: Vec<String> = number.into_iter().collect();
    let mut lower: Vec<String> = denominator.into_iter().collect();
    // A constant that is a numeral stands first: `0.1 K`.
    let (numerals, others): (Vec<&Node>, Vec<&Node>) =
        product.above.iter().partition(|node| is_numeral(node));
    let factors = numerals.into_iter().chain(others);
    let last = product.above.len().checked_sub(1).filter(|_| constant.is_none());
    for (position, inner) in factors.enumerate() {
        let shown = factor(inner, Some(position) == last);
        let behind = !upper.is_empty() || !front.is_empty() && !is_fraction;
        upper.push(if is_numeral(inner) && behind { behind_number(inner, &shown) } else { shown });
    }
    upper.extend(constant.map(named));
    for (at, inner) in product.below.iter().enumerate() {
        let shown = factor(inner, at + 1 == product.below.len());
        let behind = !lower.is_empty();
        lower.push(if is_numeral(inner) && behind { behind_number(inner, &shown) } else { shown });
    }
    if is_fraction {
        if upper.is_empty() {
            upper.push("1".to_owned());
        }
        // The line of a fraction brackets what stands alone above or below it.
        let alone = |nodes: &[Node], shown: &[String]| match (nodes, shown) {
            ([only @ Node::Add(_)], [_]) => node(only),
            (_, shown) => shown.join(" \\, ").replace(" \\, \\cdot ", " \\cdot "),
        };
        front.push(format!(
            "\\frac{{{}}}{{{}}}",
            alone(&product.above, &upper),
            alone(&product.below, &lower)
        ));
    } else {
        front.extend(upper);
    }
    if front.is_empty() {
        front.push("1".to_owned());
    }
    // A dot between numerals stands in the place of a space.
    let shown = front.join(" \\, ").replace(" \\, \\cdot ", " \\cdot ");
    format!("{}{shown}", if *negative { "-" } else { "" })
}

/// Whether a node begins with the digits of a constant that is named by its number: `0.001`, `0.001^2`.
pub(crate) fn is_numeral(node: &Node) -> bool {
    match node {
        Node::Element(element) => element.name.starts_with(|c: char| c.is_ascii_digit()),
        Node::Power(base, _) => is_numeral(base),
        _ => false,
    }
}

/// Whether an element is a numeral with a power of ten in it: nothing is raised above it without brackets.
fn has_exponent(element: &Element) -> bool {
    element.name.starts_with(|c: char| c.is_ascii_digit()) && element.name.contains('e')
}

/// Whether an element is a numeral that is a product: behind a function or another number it stands in brackets.
fn has_mantissa(element: &Element) -> bool {
    has_exponent(element) && !element.name.starts_with("1e")
}

/// A numeral behind another number, with a dot between them.
pub(crate) fn behind_number(numeral: &Node, shown: &str) -> String {
    match numeral {
        Node::Element(element) if has_mantissa(element) => format!("\\cdot {}", bracketed("(", shown, ")")),
        _ => format!("\\cdot {shown}"),
    }
}

/// A node as a factor of a product; what swallows what follows it is bracketed unless it is the last.
pub(crate) fn factor(inner: &Node, last: bool) -> String {
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
        Node::Element(element)
            if element.of.is_some() || element.name.ends_with("^2") || has_exponent(element) =>
        {
            bracketed("(", &node(inner), ")")
        }
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

/// What stands before the brackets around arguments; `None` where they are written in another way.
pub(crate) fn prefix(call: &Call) -> Option<String> {
    let own = match call {
        Call::Function(function) => match function {
            Function::Log => "\\ln ",
            Function::Exp => "\\exp",
            Function::Logistic => "\\mathrm{logistic}",
            Function::Softplus => "\\mathrm{softplus}",
            Function::LogGamma => "\\ln\\Gamma",
            Function::Digamma => "\\psi",
            Function::Trigamma => "\\psi'",
            Function::LogBesselK => "\\ln K",
            Function::Power => "\\mathrm{power}",
            Function::Phi => "\\Phi",
            Function::InversePhi => "\\Phi^{-1}",
            Function::StandardNormalLogCdf => "\\ln\\Phi",
            Function::StandardNormalLogQf => "(\\ln\\Phi)^{-1}",
            Function::Sqrt
            | Function::SinePi
            | Function::LogOneLessExp
            | Function::StandardNormalLogCcdf
            | Function::LogDeterminant
            | Function::LogMultivariateGamma
            | Function::AtMostOne
            | Function::LogLeft => return None,
            Function::EvenSoftplus | Function::LogisticCurvature => {
                unreachable!("they are shown by hyperbolic functions")
            }
        },
        Call::Cosh => "\\cosh",
        Call::Tanh => "\\tanh",
        Call::Digamma => "\\psi",
        Call::LogBesselKInOrder => "(\\ln K)'",
        Call::Q => "q",
        Call::Family(name) => return Some(upright(name)),
        Call::Named(own) => {
            let Name { base, primes, subscripts } = name(own);
            let below =
                if subscripts.is_empty() { String::new() } else { format!("_{{{}}}", subscripts.join(",")) };
            return Some(format!("{base}{}{below}", "'".repeat(primes)));
        }
        Call::PositivePart
        | Call::MultivariateDigamma
        | Call::Inverse
        | Call::Contraction
        | Call::Argument(_) => return None,
    };
    Some(own.to_owned())
}

/// A function of its arguments; a log takes brackets where it must not swallow what follows.
fn called(call: &Call, arguments: &[Node], closed: bool) -> String {
    let inside = list(arguments);
    let bare = match arguments {
        [Node::Element(element)] if has_mantissa(element) => false,
        [Node::Element(_) | Node::Density(..) | Node::Sum(..) | Node::Call(Call::Q, _)] => !closed,
        _ => false,
    };
    if bare && *call == Call::Function(Function::Log) {
        return format!("\\ln {inside}");
    }
    // A derivative is named by its function with primes, and called with what it is taken in.
    if let (Call::Named(own), [argument]) = (call, arguments)
        && own.ends_with('\'')
    {
        let bare = own.trim_end_matches('\'');
        let order = match own.len() - bare.len() {
            1 => String::new(),
            several => format!("^{{{several}}}"),
        };
        return format!("\\frac{{\\partial{order} {}}}{{\\partial {}{order}}}", letter(bare), node(argument));
    }
    if let Some(prefix) = prefix(call) {
        return format!("{prefix}{}", bracketed("(", &inside, ")"));
    }
    match (call, arguments) {
        (Call::Function(Function::SinePi), argument) => {
            let inside = match argument {
                [Node::Add(_)] => bracketed("(", &inside, ")"),
                _ => inside,
            };
            format!("\\sin{}", bracketed("(", &format!("\\pi \\, {inside}"), ")"))
        }
        (Call::Function(Function::Sqrt), _) => format!("\\sqrt{{{inside}}}"),
        (Call::Function(Function::LogDeterminant), _) => format!("\\ln\\left|{inside}\\right|"),
        (Call::Function(Function::LogMultivariateGamma), [argument, size]) => {
            format!("\\ln\\Gamma_{{{}}}{}", node(size), bracketed("(", &node(argument), ")"))
        }
        (Call::MultivariateDigamma, [argument, size]) => {
            format!("\\psi_{{{}}}{}", node(size), bracketed("(", &node(argument), ")"))
        }
        (Call::PositivePart, _) => format!("\\max\\left(0, {inside}\\right)"),
        (Call::Contraction, [matrix, vector, letter]) => {
            format!("\\left[{} {}\\right]_{{{}}}", node(matrix), node(vector), node(letter))
        }
        (Call::Contraction, [matrix, vector]) => format!("{0}^\\top {1} {0}", node(vector), node(matrix)),
        (Call::Function(_), _) => format!("\\ln\\left(1 - \\Phi{}\\right)", bracketed("(", &inside, ")")),
        (Call::Argument(name), _) => format!("{} = {inside}", upright(name)),
        (_, [only @ Node::Element(_)]) => format!("{}^{{-1}}", tight(only)),
        _ => format!("{}^{{-1}}", bracketed("[", &inside, "]")),
    }
}

fn element(element: &Element) -> String {
    // A matrix with a prime is transposed; an index with one is another index.
    if let Some(bare) = element.name.strip_suffix('\'') {
        let Name { base, subscripts, .. } = name(bare);
        return format!("{base}^\\top{}", subscript(&subscripts, &element.subscripts));
    }
    let Name { base, primes, subscripts } = name(&element.name);
    let mut out = if element.number.is_some() || element.of.is_some() { closed(base) } else { base };
    match element.number {
        Some(number) => out.push_str(&format!("^{{{}({number})}}", "\\prime".repeat(primes))),
        None => out.push_str(&"'".repeat(primes)),
    }
    if let Some(of) = &element.of {
        out.push_str(&format!("^{{{}}}", superscript(of)));
    }
    out.push_str(&subscript(&subscripts, &element.subscripts));
    out
}

/// A symbol that something may be raised above: in braces where it ends with a superscript of its own.
fn closed(base: String) -> String {
    match base.rfind('^') {
        Some(place)
            if base[place..].starts_with("^{") && base[place..].find('}') == Some(base.len() - 1 - place) =>
        {
            format!("{{{base}}}")
        }
        _ => base,
    }
}

/// The variables that a parameter of q belongs to.
fn superscript(of: &[String]) -> String {
    let shown = of.iter().map(|own| {
        let Name { base, primes, subscripts } = name(own);
        format!(
            "{base}{}{}",
            "'".repeat(primes),
            subscripts.iter().map(|own| format!("_{{{own}}}")).collect::<String>()
        )
    });
    shown.collect::<Vec<_>>().join(",")
}

/// Subscripts: letters side by side, with commas where that would be unclear. A vector is a name without the letters
/// that run through it: slices behind all other subscripts are left out.
fn subscript(own: &[String], nodes: &[Node]) -> String {
    let behind = nodes.iter().rev().take_while(|node| matches!(node, Node::Slice(_))).count();
    let nodes = &nodes[..nodes.len() - behind];
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

pub(crate) fn range(range: &Range) -> String {
    let (letters, conditions) = range.folded();
    let mut shown: Vec<String> = letters.iter().map(node).collect();
    let mut rest: Vec<String> = Vec::new();
    for (folds, condition) in &conditions {
        if *folds { shown.push(relation(condition)) } else { rest.push(relation(condition)) }
    }
    // Several conditions below each other.
    let beside = rest.join(",\\, ");
    if rest.len() > 1 && width(&beside) > CONDITIONS {
        return format!("\\substack{{{} \\\\ {}}}", shown.join(","), rest.join(" \\\\ "));
    }
    let colon = if rest.is_empty() { String::new() } else { format!(" :\\, {beside}") };
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
