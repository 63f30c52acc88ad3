//! What the symbols of a page mean, one sentence for each that stands on it; and that no symbol has two meanings.

use crate::expression::Function;

use super::Format;
use super::build::OLD;
use super::derivation::Derivation;
use super::document::{Item, Part, Span, words};
use super::node::{Call, Element, Node, Range, Relation};
use super::number::Number;
use super::scope::PI;

impl Derivation<'_> {
    /// The digamma function is written out where a variable is called psi; so are an expectation and an entropy in text where one is
    /// called E or H, and there logarithms and the Gamma function where one is called log or Gamma. In print these are upright, and
    /// variables are not, and what looks like a function is [told apart](Derivation::in_notation). The number pi is `PI` where
    /// something else without subscripts is pi. The curvature of the tangent bound has its name.
    pub(super) fn one_meaning(&self, items: &mut Vec<Item>, format: Format) {
        self.curvature_by_name(items);
        self.written_apart(items, format);
    }

    /// The same without the curvature: a formula that stands alone.
    fn written_apart(&self, items: &mut [Item], format: Format) {
        let scope = self.scope();
        let text = format == Format::Text;
        let (digamma, pi) = (scope.is_taken("psi"), scope.number_pi());
        let (expectation, entropy) = (text && scope.is_taken("E"), text && scope.is_taken("H"));
        let log = text && scope.looks_taken("log");
        let gamma = log || text && scope.looks_taken("Gamma");
        if !digamma && !expectation && !entropy && !gamma && pi.is_none() {
            return;
        }
        let written = |name: &str| Call::Named(name.to_owned());
        each_node(items, &mut |node| {
            if let Node::Product(product) = node
                && let Some(named) = product.number.named
                && (pi.is_some() && named.has_pi() || log && named.is_logarithm())
            {
                let mut product = product.clone();
                product.number.named = None;
                product.above.push(named.spelled(&Node::name(pi.unwrap_or("pi"))));
                *node = Node::product(product.number, product.above, product.below);
            }
            match node {
                Node::Call(call @ (Call::Digamma | Call::Function(Function::Digamma)), _) if digamma => {
                    *call = written("digamma");
                }
                Node::Call(call @ Call::Function(Function::SinePi), arguments) => {
                    if let (Some(pi), [turns]) = (pi, arguments.as_slice()) {
                        let angle = Node::times(vec![Node::name(pi), turns.clone()]);
                        (*call, *arguments) = (written("sin"), vec![angle]);
                    }
                }
                Node::Expectation(inside) if expectation => {
                    *node = Node::call(written("expectation"), (**inside).clone());
                }
                Node::Entropy(inside) if entropy => {
                    *node = Node::call(written("entropy"), (**inside).clone());
                }
                Node::Call(call @ Call::Function(Function::LogGamma), _) if gamma => {
                    *call = written(LOG_GAMMA)
                }
                Node::Call(call @ Call::Function(Function::LogBesselK), _) if log => {
                    *call = written(LOG_BESSEL_K);
                }
                Node::Call(call @ Call::LogBesselKInOrder, _) if log => {
                    *call = written(LOG_BESSEL_K_IN_ORDER)
                }
                _ => {}
            }
            // The logarithms that were only now written out, too.
            if log {
                inside(node, &mut |own| {
                    if let Node::Call(call @ Call::Function(Function::Log), _) = own {
                        *call = written(LN);
                    }
                });
            }
        });
    }

    /// A formula as it stands on the page of a format.
    pub(super) fn on_page(&self, node: &Node, format: Format) -> Node {
        // What defines a name stands before it.
        self.alone(node, &|items| self.one_meaning(items, format))
    }

    /// A formula that stands alone, in the names of the program: as on the page of a format, but with the curvature written out.
    pub(super) fn on_its_own(&self, node: &Node, format: Format) -> Node {
        self.alone(node, &|items| self.written_apart(items, format))
    }

    fn alone(&self, node: &Node, change: &dyn Fn(&mut Vec<Item>)) -> Node {
        let mut items = vec![Item::Paragraph(vec![Span::Math(node.clone())])];
        change(&mut items);
        match items.pop() {
            Some(Item::Paragraph(line)) => match line.into_iter().next() {
                Some(Span::Math(own)) => own,
                _ => node.clone(),
            },
            _ => node.clone(),
        }
    }

    /// A sentence for each symbol of the derivation itself.
    pub(super) fn meanings(&self, items: &mut [Item], format: Format) -> Vec<Item> {
        let mut used = Used::default();
        each_node(items, &mut |node| used.note(node));
        let x = || Node::name("x");
        let q = || Span::Math(Node::name("q"));
        let mut lines: Vec<Vec<Span>> = Vec::new();
        let mut line = |of: bool, node: Node, text: &[Span]| {
            if of {
                lines.push([&[Span::Math(node), words(" ")], text].concat());
            }
        };
        line(used.expectation, Node::Expectation(Box::new(x())), &[words("is an expectation under "), q()]);
        line(
            used.spread,
            Node::Covariance(Box::new(x()), Box::new(Node::name("y"))),
            &[
                words("is a covariance under "),
                q(),
                words(", and "),
                Span::Math(Node::Variance(Box::new(x()))),
                words(" a variance"),
            ],
        );
        line(
            used.entropy,
            Node::Entropy(Box::new(Node::name("q"))),
            &[words("is an entropy, the expectation of -log q under "), q()],
        );
        let natural = Node::call(Call::Named(self.scope().natural()), Node::name("t"));
        let of_natural = match self.has_distribution() {
            true => vec![
                words("is the natural parameter that multiplies the statistic "),
                Span::Math(Node::name("t")),
                words(" in "),
                Span::Math(Node::log(Node::name("q"))),
            ],
            false => vec![
                words("is the coefficient of the statistic "),
                Span::Math(Node::name("t")),
                words(" in the objective"),
            ],
        };
        line(used.natural, natural, &of_natural);
        let normaliser = Node::call(Call::Named(self.scope().normaliser()), Node::name("q"));
        line(used.normaliser, normaliser, &[words("is the log-normaliser of "), q()]);
        let digamma =
            if self.scope().is_taken("psi") { Call::Named("digamma".to_owned()) } else { Call::Digamma };
        let of_gamma = [words("is the digamma function, the derivative of log Gamma")];
        line(used.digamma, Node::call(digamma, x()), &of_gamma);
        line(
            used.multivariate,
            Node::Call(Call::MultivariateDigamma, vec![x(), Node::name("n")]),
            &[words(
                "is the derivative of the log of the multivariate Gamma function, the sum of the digamma function at \
                 x + (1 - i) / 2 over i from 1 to n",
            )],
        );
        line(
            used.indicator,
            Node::Indicator(Box::new(Relation::Equal(x(), Node::name("y")))),
            &[
                words("is 1 where "),
                Span::Math(x()),
                words(" is "),
                Span::Math(Node::name("y")),
                words(", else 0"),
            ],
        );
        if let Some(pi) = self.scope().number_pi() {
            let text = "is 3.14159..., the circumference of a circle divided by its diameter";
            line(used.pi, Node::name(pi), &[words(text)]);
        }
        let named = |name: &str| Node::call(Call::Named(name.to_owned()), x());
        line(used.ln, named(LN), &[words("is the natural logarithm")]);
        line(used.log_gamma, named(LOG_GAMMA), &[words("is the natural logarithm of the Gamma function")]);
        let entries = Node::call(Call::Named("nnz".to_owned()), x());
        let of_entries = [words("is the number of entries that the data "), Span::Math(x()), words(" list")];
        line(used.entries, entries, &of_entries);
        lines.extend(used.functions.iter().filter_map(|function| meaning_of(*function)));
        if used.in_order {
            let of = |call: Call| Span::Math(Node::Call(call, vec![Node::name("p"), x()]));
            let mut own = vec![of(Call::LogBesselKInOrder), words(" is the derivative of ")];
            own.extend([
                of(Call::Function(Function::LogBesselK)),
                words(" in "),
                Span::Math(Node::name("p")),
            ]);
            lines.push(own);
        }
        if used.count {
            lines.push(vec![words("# counts the positions for which what follows holds")]);
        }
        if used.old {
            lines.push(vec![
                Span::Math(Node::name(&format!("x{OLD}"))),
                words(" is the value of "),
                Span::Math(Node::name("x")),
                words(" before the update"),
            ]);
        }
        if lines.is_empty() {
            return Vec::new();
        }
        let mut items = vec![Item::Heading("Symbols"), Item::List(lines)];
        self.one_meaning(&mut items, format);
        items
    }
}

/// Which symbols stand on a page.
#[derive(Default)]
struct Used {
    expectation: bool,
    spread: bool,
    entropy: bool,
    natural: bool,
    normaliser: bool,
    digamma: bool,
    multivariate: bool,
    indicator: bool,
    entries: bool,
    count: bool,
    old: bool,
    ln: bool,
    log_gamma: bool,
    in_order: bool,
    /// Whether `PI` stands on the page, under either of its names.
    pi: bool,
    /// Functions of the language, in the order in which they are met.
    functions: Vec<Function>,
}

/// `softplus(x) is log(1 + exp(x))`: what a function is that not every reader knows by its name.
fn meaning_of(function: Function) -> Option<Vec<Span>> {
    let x = || Node::name("x");
    let one = || Node::number(1.0);
    let exp = |node: Node| Node::call(Call::Function(Function::Exp), node);
    let of = |arguments: Vec<Node>| Span::Math(Node::Call(Call::Function(function), arguments));
    let normal = "the distribution function of the Normal distribution of mean 0 and variance 1";
    let (shown, text) = match function {
        Function::Softplus => (of(vec![x()]), Span::Math(Node::log(Node::Add(vec![one(), exp(x())])))),
        Function::Logistic => {
            let below = Node::Add(vec![one(), exp(x().negated())]);
            (of(vec![x()]), Span::Math(Node::product(Number::one(), Vec::new(), vec![below])))
        }
        Function::Trigamma => (of(vec![x()]), words("the derivative of the digamma function")),
        Function::LogBesselK => {
            let text = "the log of the modified Bessel function of the second kind, of order ";
            let mut line = vec![of(vec![Node::name("p"), x()]), words(format!(" is {text}"))];
            line.extend([Span::Math(Node::name("p")), words(" at "), Span::Math(x())]);
            return Some(line);
        }
        Function::Phi => (of(vec![x()]), words(normal)),
        Function::InversePhi => (of(vec![x()]), words(format!("the inverse of {normal}"))),
        Function::StandardNormalLogCdf => (of(vec![x()]), words(format!("the log of {normal}"))),
        Function::StandardNormalLogCcdf => (of(vec![x()]), words(format!("the log of one less {normal}"))),
        Function::StandardNormalLogQf => {
            (of(vec![x()]), words(format!("the inverse of the log of {normal}")))
        }
        Function::LogMultivariateGamma => {
            let text = "the log of the multivariate Gamma function of dimension ";
            let mut line = vec![of(vec![x(), Node::name("n")]), words(format!(" is {text}"))];
            line.push(Span::Math(Node::name("n")));
            return Some(line);
        }
        Function::Log
        | Function::Exp
        | Function::Sqrt
        | Function::SinePi
        | Function::LogGamma
        | Function::Digamma
        | Function::Power
        | Function::LogDeterminant
        | Function::LogOneLessExp
        | Function::EvenSoftplus
        | Function::LogisticCurvature
        | Function::AtMostOne
        | Function::LogLeft => return None,
    };
    Some(vec![shown, words(" is "), text])
}

impl Used {
    fn note(&mut self, node: &Node) {
        match node {
            Node::Expectation(_) => self.expectation = true,
            Node::Variance(_) | Node::Covariance(..) => self.spread = true,
            Node::Entropy(_) => self.entropy = true,
            Node::Count(_) => self.count = true,
            Node::Indicator(_) => self.indicator = true,
            Node::Element(element) => {
                self.old |= element.name.ends_with('~');
                self.pi |= PI.contains(&element.name.as_str());
            }
            Node::Call(Call::Digamma | Call::Function(Function::Digamma), _) => self.digamma = true,
            Node::Call(Call::MultivariateDigamma, _) => self.multivariate = true,
            Node::Call(Call::LogBesselKInOrder, _) => self.in_order = true,
            Node::Call(Call::Function(function), _) if !self.functions.contains(function) => {
                self.functions.push(*function);
            }
            Node::Call(Call::Named(name), arguments) => match arguments.as_slice() {
                [Node::Call(Call::Q, _)] if name != "entropy" && name != LN => self.normaliser = true,
                _ => {
                    self.ln |= name == LN;
                    self.log_gamma |= name == LOG_GAMMA;
                    self.in_order |= name == LOG_BESSEL_K_IN_ORDER;
                    self.expectation |= name == "expectation";
                    self.entropy |= name == "entropy";
                    self.digamma |= name == "digamma";
                    self.entries |= name == "nnz";
                    self.natural |= NATURAL.contains(&name.as_str());
                }
            },
            _ => {}
        }
    }
}

/// The logarithm, the log of the Gamma function and that of the Bessel function in text, where something else is called log.
const LN: &str = "ln";
const LOG_GAMMA: &str = "log_gamma";
const LOG_BESSEL_K: &str = "log_bessel_k";
const LOG_BESSEL_K_IN_ORDER: &str = "log_bessel_k'";

/// What natural parameters may be called.
const NATURAL: [&str; 4] = super::scope::NATURAL;

/// Visits all nodes of a document, those inside before what they stand in.
pub(super) fn each_node(items: &mut [Item], visit: &mut dyn FnMut(&mut Node)) {
    let spans = |spans: &mut Vec<Span>, visit: &mut dyn FnMut(&mut Node)| {
        for span in spans {
            if let Span::Math(node) = span {
                inside(node, visit);
            }
        }
    };
    for item in items {
        match item {
            Item::Title(_) | Item::Heading(_) | Item::Program(_) | Item::Picture(_) => {}
            Item::Table(table) => {
                let entries = table.rows.iter_mut().flatten().flatten();
                entries.for_each(|entry| spans(entry, visit));
            }
            Item::Subheading(line) | Item::Paragraph(line) => spans(line, visit),
            Item::List(lines) => lines.iter_mut().for_each(|line| spans(line, visit)),
            Item::Algorithm(lines) => lines.iter_mut().for_each(|line| spans(&mut line.text, visit)),
            Item::Rows(rows) => {
                for row in rows {
                    inside(&mut row.left, visit);
                    for Part { node, note } in &mut row.parts {
                        inside(node, visit);
                        note.iter_mut().flat_map(|(_, names)| names).for_each(|name| inside(name, visit));
                    }
                }
            }
        }
    }
}

/// Visits all nodes of a formula, those inside before what they stand in.
pub(super) fn inside(node: &mut Node, visit: &mut dyn FnMut(&mut Node)) {
    let range = |range: &mut Range, visit: &mut dyn FnMut(&mut Node)| {
        range.letters.iter_mut().for_each(|own| inside(own, visit));
        range.conditions.iter_mut().for_each(|own| relation(own, visit));
    };
    match node {
        Node::Add(all) | Node::Call(_, all) => all.iter_mut().for_each(|own| inside(own, visit)),
        Node::Product(product) => {
            product.above.iter_mut().chain(&mut product.below).for_each(|own| inside(own, visit));
        }
        Node::Power(left, right) | Node::Covariance(left, right) | Node::Probability(left, right) => {
            inside(left, visit);
            inside(right, visit);
        }
        Node::Sum(over, body) => {
            range(over, visit);
            inside(body, visit);
        }
        Node::Count(over) => range(over, visit),
        Node::Element(Element { subscripts, .. }) => subscripts.iter_mut().for_each(|own| inside(own, visit)),
        Node::Letter(_) | Node::Slice(_) => {}
        Node::Size { ancestors, .. } => ancestors.iter_mut().for_each(|own| inside(own, visit)),
        Node::Expectation(inner) | Node::Variance(inner) | Node::Entropy(inner) => inside(inner, visit),
        Node::Indicator(own) => relation(own, visit),
        Node::Density(of, given) => of.iter_mut().chain(given).for_each(|own| inside(own, visit)),
    }
    visit(node);
}

fn relation(relation: &mut Relation, visit: &mut dyn FnMut(&mut Node)) {
    match relation {
        Relation::Equal(left, right) | Relation::Different(left, right) | Relation::Less(left, right) => {
            inside(left, visit);
            inside(right, visit);
        }
        Relation::Observed(element) => inside(element, visit),
    }
}
