//! A sum of products to notation: the one walk.

use crate::contribution::{Place, places};
use crate::equations::Block;
use crate::expression::{Function, Subscript};
use crate::statistic::Elementary;
use crate::sum_of_products::{Atom, Factor, Moment, Sum, Term, dedup};
use crate::symbols::{ArrayId, ArrayKind, AuxiliaryId, LetterId, SiteId};

use super::Scope;
use super::collected::{collected, is_constant};
use super::letters::Letters;
use super::named::NamedElement;
use super::node::{Call, Element, Node, Range, Relation};
use super::number::Number;

/// What marks a value before the update, behind the name.
pub(crate) const OLD: &str = "~";

/// Builds the notation of one printed line; letters keep their names from one side of it to the other.
pub(crate) struct Builder<'a> {
    scope: Scope<'a>,
    letters: Letters,
    /// The variables whose values here are those before the update.
    old: &'a [ArrayId],
}

impl<'a> Builder<'a> {
    /// For a line in which these letters stand on the left.
    pub fn new(scope: Scope<'a>, left: &[LetterId]) -> Builder<'a> {
        let mut letters = Letters::default();
        letters.declare(scope.symbols, left);
        Builder { scope, letters, old: &[] }
    }

    /// Runs `body` where values of these variables are shown as those before the update.
    pub fn with_old<T>(&mut self, old: &'a [ArrayId], body: impl FnOnce(&mut Builder<'a>) -> T) -> T {
        let before = std::mem::replace(&mut self.old, old);
        let shown = body(self);
        self.old = before;
        shown
    }

    /// The notation of a sum.
    pub fn sum(&mut self, sum: &Sum) -> Node {
        self.letters.survey(self.scope, sum);
        self.inner_sum(sum)
    }

    /// An element of an array, some letters as slices.
    pub fn sliced(&mut self, array: ArrayId, letters: &[(LetterId, bool)]) -> Node {
        let mut lineages = Vec::new();
        for (letter, slice) in letters {
            let mut lineage = self.letters.lineage(self.scope.symbols, *letter);
            if *slice && let Some(Node::Letter(name)) = lineage.pop() {
                lineage.push(Node::Slice(name));
            }
            lineages.push(lineage);
        }
        self.written(array, &lineages)
    }

    /// A member of a block, its slices as slices.
    pub fn member(&mut self, block: &Block, member: usize) -> Node {
        let places = places(self.scope.symbols, block, member);
        let letters: Vec<(LetterId, bool)> = places
            .into_iter()
            .filter_map(|place| match place {
                Place::Plate(index) => Some((*block.plates.get(index)?, false)),
                Place::Slot(index) => Some((*block.slices.get(member)?.get(index)?, true)),
            })
            .collect();
        self.sliced(block.members[member], &letters)
    }

    /// `q(theta[d, :k])`
    pub fn q(&mut self, block: &Block) -> Node {
        let members = (0..block.members.len()).map(|member| self.member(block, member)).collect();
        Node::Call(Call::Q, members)
    }

    /// Letters as subscripts, ancestors included.
    pub fn subscripts_of(&mut self, letters: &[LetterId]) -> Vec<Node> {
        let mut out = Vec::new();
        for letter in letters {
            let lineage = self.letters.lineage(self.scope.symbols, *letter);
            push_lineage(&mut out, lineage);
        }
        out
    }

    /// Letters alone, without their ancestors.
    pub fn letters_of(&mut self, letters: &[LetterId]) -> Vec<Node> {
        letters.iter().flat_map(|letter| self.letters.lineage(self.scope.symbols, *letter).pop()).collect()
    }

    /// A statistic of a block at its own plates and at the given slots, without expectation.
    pub fn statistic(&mut self, block: &Block, moment: &Moment) -> Node {
        let parts = self.parts(block, moment);
        if let Some(contraction) = contraction(&parts) {
            return contraction;
        }
        Node::times(
            parts
                .into_iter()
                .map(|(elementary, element, class)| applied(elementary, element, class))
                .collect(),
        )
    }

    /// Runs `body` where the letters are bound by a sum, and gives the sum.
    pub fn summed(&mut self, letters: &[LetterId], body: impl FnOnce(&mut Builder<'a>) -> Node) -> Node {
        self.summed_where(letters, None, body)
    }

    /// The same where a condition holds, if there is one.
    pub fn summed_where(
        &mut self,
        letters: &[LetterId],
        condition: Option<&Atom>,
        body: impl FnOnce(&mut Builder<'a>) -> Node,
    ) -> Node {
        if letters.is_empty() {
            return body(self);
        }
        let outside = self.letters.clone();
        let letters = self.in_order(letters);
        let shown = self.letters.bind(self.scope.symbols, &letters);
        let conditions = condition.and_then(|atom| self.relation(atom)).into_iter().collect();
        let inner = body(self);
        self.letters = outside;
        Node::Sum(Range { letters: shown, conditions }, Box::new(inner))
    }

    /// Runs `body` where letters are shown as these subscripts.
    pub fn replacing<T>(
        &mut self,
        places: &[(LetterId, Subscript)],
        body: impl FnOnce(&mut Builder<'a>) -> T,
    ) -> T {
        let outside = self.letters.clone();
        let shown: Vec<Vec<Node>> = places.iter().map(|(_, to)| self.subscript(to)).collect();
        for ((letter, _), by) in places.iter().zip(&shown) {
            self.letters.replace(self.scope.symbols, *letter, by);
        }
        let inner = body(self);
        self.letters = outside;
        inner
    }

    /// Runs `body` where letters are shown as slices.
    pub fn as_slices(&mut self, letters: &[LetterId], body: impl FnOnce(&mut Builder<'a>) -> Node) -> Node {
        let outside = self.letters.clone();
        for letter in letters {
            let mut shown = self.letters.lineage(self.scope.symbols, *letter);
            if let Some(Node::Letter(name)) = shown.pop() {
                shown.push(Node::Slice(name));
                self.letters.replace(self.scope.symbols, *letter, &shown);
            }
        }
        let inner = body(self);
        self.letters = outside;
        inner
    }

    fn inner_sum(&mut self, sum: &Sum) -> Node {
        if self.scope.named.is_empty() {
            let terms = collected(self.scope, sum);
            return Node::add(terms.iter().map(|term| self.term(term)).collect());
        }
        let (rest, named) = self.scope.named_addends(sum);
        let terms = collected(self.scope, &Sum { terms: rest });
        let mut nodes: Vec<Node> = terms.iter().map(|term| self.term(term)).collect();
        for (sign, element) in named {
            let node = self.named(&element);
            nodes.push(if sign < 0.0 { node.negated() } else { node });
        }
        Node::add(nodes)
    }

    /// `D[i,k]`, without its power.
    fn named(&mut self, own: &NamedElement) -> Node {
        let subscripts = self.subscripts(&own.subscripts);
        Node::element(&own.name, subscripts)
    }

    fn term(&mut self, term: &Term) -> Node {
        let symbols = self.scope.symbols;
        let (term, named) = self.scope.named_factors(term);
        let term = &term;
        let closure = |letters: Vec<LetterId>| -> Vec<LetterId> {
            dedup(letters.into_iter().flat_map(|letter| symbols.lineage(letter)).collect())
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for factor in &term.factors {
            pieces.push(Piece {
                content: Content::Factor(factor),
                letters: closure(factor.atom.free_letters(symbols)),
            });
        }
        for own in &named {
            let mut letters = Vec::new();
            own.subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
            pieces.push(Piece { content: Content::Named(own), letters: closure(letters) });
        }
        pieces.sort_by_key(|piece| piece.rank(self.scope));
        // A summed letter that no factor mentions becomes the size of its axis. Descendants come first, since their
        // sizes mention their ancestors.
        let mut sums = self.in_order(&term.sums);
        let mut sizes: Vec<Piece> = Vec::new();
        for letter in sums.clone().into_iter().rev() {
            if !pieces.iter().chain(&sizes).any(|piece| piece.letters.contains(&letter)) {
                let letters = symbols.lineage(letter).split_off(1);
                sizes.insert(0, Piece { content: Content::Size(letter), letters });
                sums.retain(|other| *other != letter);
            }
        }
        pieces.splice(0..0, sizes);
        let number = Number::of(term.coefficient.0);
        self.nest(number, &sums, pieces)
    }

    /// `number * front * sum over outer letters of (...)`: factors that do not depend on the summed letters stand
    /// before the sum.
    fn nest(&mut self, number: Number, sums: &[LetterId], pieces: Vec<Piece>) -> Node {
        let summed = |piece: &Piece| piece.letters.iter().any(|letter| sums.contains(letter));
        let (inside, front): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(summed);
        let (mut above, mut below) = self.factors(&front);
        if !sums.is_empty() {
            above.push(self.summation(sums, inside));
        }
        let whole = |nodes: Vec<Node>| nodes.into_iter().filter(|node| !is_one(node)).collect::<Vec<_>>();
        above = whole(above);
        below = whole(below);
        Node::product(number, above, below)
    }

    fn summation(&mut self, sums: &[LetterId], pieces: Vec<Piece>) -> Node {
        let symbols = self.scope.symbols;
        let outside = self.letters.clone();
        // sum[m](E[tau[m]] * sum[j](...)): ancestors first, where something depends on them alone.
        let is_ancestor = |letter: &LetterId| {
            sums.iter().any(|other| other != letter && symbols.lineage(*other).contains(letter))
        };
        let (outer, inner): (Vec<LetterId>, Vec<LetterId>) = sums.iter().copied().partition(is_ancestor);
        let outer_only = |piece: &Piece| !piece.letters.iter().any(|letter| inner.contains(letter));
        let split =
            !outer.is_empty() && pieces.iter().any(|piece| outer_only(piece) && !piece.is_condition());
        let (here, below) = if split { (outer, inner) } else { (sums.to_vec(), Vec::new()) };
        let shown = self.letters.bind(symbols, &here);
        let is_here = |piece: &Piece| !piece.letters.iter().any(|letter| below.contains(letter));
        let (conditions, others): (Vec<Piece>, Vec<Piece>) =
            pieces.into_iter().partition(|piece| piece.is_condition() && is_here(piece));
        let relation = |piece: &Piece| match piece.content {
            Content::Factor(factor) => self.relation(&factor.atom),
            _ => None,
        };
        let conditions: Vec<Relation> = conditions.iter().filter_map(relation).collect();
        let range = Range { letters: shown, conditions };
        let body = self.nest(Number::one(), &below, others);
        self.letters = outside;
        if is_one(&body) { Node::Count(range) } else { Node::Sum(range, Box::new(body)) }
    }

    /// `i < j`, of a factor that is 1 or 0.
    pub fn condition(&mut self, atom: &Atom) -> String {
        self.relation(atom).map(|own| super::text::relation(&own)).unwrap_or_default()
    }

    fn relation(&mut self, atom: &Atom) -> Option<Relation> {
        match atom {
            Atom::Observed(array, subscripts) => Some(Relation::Observed(self.element(*array, subscripts))),
            Atom::Equal(left, right) => Some(Relation::Equal(self.single(left), self.single(right))),
            Atom::Different(left, right) => Some(Relation::Different(self.single(left), self.single(right))),
            Atom::Less(left, right) => Some(Relation::Less(self.single(left), self.single(right))),
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Group(_)
            | Atom::Apply(..)
            | Atom::ExpectedSquare(_) => None,
        }
    }

    fn factors(&mut self, pieces: &[Piece]) -> (Vec<Node>, Vec<Node>) {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for piece in pieces {
            match piece.content {
                Content::Size(letter) => above.push(self.size(letter)),
                Content::Named(own) => {
                    let node = self.named(own);
                    let power = Node::number(f64::from(own.power));
                    above.push(if own.power == 1 { node } else { node.raised(power) });
                }
                Content::Factor(factor) => {
                    let node = self.atom(&factor.atom);
                    let size = factor.power.unsigned_abs();
                    let node = if size == 1 { node } else { node.raised(Node::number(f64::from(size))) };
                    if factor.power > 0 { above.push(node) } else { below.push(node) }
                }
            }
        }
        (above, below)
    }

    fn size(&mut self, letter: LetterId) -> Node {
        let symbols = self.scope.symbols;
        let axis = symbols.letter(letter).axis;
        let ancestors = match symbols.letter(letter).parent {
            Some(parent) => self.letters.lineage(symbols, parent),
            None => Vec::new(),
        };
        Node::Size { axis: symbols.axis(axis).name.clone(), capital: self.scope.capital(axis), ancestors }
    }

    fn atom(&mut self, atom: &Atom) -> Node {
        match atom {
            Atom::Value(array, subscripts) => self.element(*array, subscripts),
            Atom::Moment(moment) => self.moment(moment),
            Atom::Allocation { site, addend, plates, categories } => {
                let subscripts: Vec<Subscript> = plates.iter().chain(categories).cloned().collect();
                let subscripts = self.subscripts(&subscripts);
                self.allocation(*site, *addend, subscripts)
            }
            Atom::LogPartition { site, plates } => self.log_partition(*site, plates),
            Atom::Group(sum) => self.inner_sum(sum),
            Atom::Apply(Function::Power, arguments) => match arguments.as_slice() {
                [base, exponent] => {
                    let base = self.inner_sum(base);
                    base.raised(self.inner_sum(exponent))
                }
                others => Node::Call(Call::Function(Function::Power), self.each(others)),
            },
            Atom::Auxiliary { id, plates } => {
                let subscripts = self.subscripts(plates);
                self.auxiliary(*id, subscripts)
            }
            Atom::Apply(Function::EvenSoftplus, arguments) => even_softplus(self.inner_sum(&arguments[0])),
            Atom::Apply(Function::LogOneLessExp, arguments) => {
                let whole = Sum::number(1.0).minus(arguments[0].clone().apply(Function::Exp));
                Node::log(self.inner_sum(&whole))
            }
            Atom::Apply(Function::LogisticCurvature, arguments) => {
                logistic_curvature(self.inner_sum(&arguments[0]))
            }
            Atom::Apply(Function::LogDeterminant, matrix) => {
                let argument = self.matrix(&matrix[0]);
                Node::call(Call::Function(Function::LogDeterminant), argument)
            }
            Atom::Apply(Function::Exp, arguments) => self.exponential_of(&arguments[0]),
            Atom::Apply(function, arguments) => Node::Call(Call::Function(*function), self.each(arguments)),
            Atom::ExpectedSquare(square) => {
                let inside = self.inner_sum(&square.of);
                Node::Expectation(Box::new(inside.raised(Node::number(2.0))))
            }
            Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => {
                let relation = self.relation(atom).expect("the atom is a relation");
                Node::Indicator(Box::new(relation))
            }
        }
    }

    fn each(&mut self, sums: &[Sum]) -> Vec<Node> {
        sums.iter().map(|sum| self.inner_sum(sum)).collect()
    }

    /// The share of an addend of a site.
    pub fn allocation(&mut self, site: SiteId, addend: usize, subscripts: Vec<Node>) -> Node {
        let several = self.scope.sites.get(site.index()).is_some_and(|site| site.addends.len() > 1);
        let number = several.then_some(addend + 1);
        Node::Element(Element { name: self.scope.allocation(site), number, of: None, subscripts })
    }

    /// The auxiliary variable of a tangent.
    pub fn auxiliary(&self, id: AuxiliaryId, subscripts: Vec<Node>) -> Node {
        Node::element(&self.scope.auxiliary(id), subscripts)
    }

    fn log_partition(&mut self, id: SiteId, plates: &[Subscript]) -> Node {
        let symbols = self.scope.symbols;
        let Some(site) = self.scope.sites.get(id.index()) else {
            let subscripts = self.subscripts(plates);
            return Node::log(Node::element("sum", subscripts));
        };
        let outside = self.letters.clone();
        let shown: Vec<Vec<Node>> = plates.iter().map(|subscript| self.subscript(subscript)).collect();
        for (letter, by) in site.plates.iter().zip(&shown) {
            self.letters.replace(symbols, *letter, by);
        }
        let weights: Vec<Node> = site
            .addends
            .iter()
            .map(|addend| self.summed(&addend.letters, |builder| builder.exponential(&addend.log_weight)))
            .collect();
        self.letters = outside;
        Node::log(Node::add(weights))
    }

    /// `exp(sum)`; logs of the distribution function of a standard normal are taken outside, so that a hazard is a ratio:
    /// `exp(-x^2 / 2) / (1 - Phi(x))`.
    fn exponential_of(&mut self, sum: &Sum) -> Node {
        let (mut above, mut below, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for term in &sum.terms {
            let whole = term.sums.is_empty() && term.coefficient.0.abs() == 1.0;
            let function = match term.factors.as_slice() {
                [Factor { atom: Atom::Apply(function, argument), power: 1 }] if whole => {
                    Some((function, argument))
                }
                _ => None,
            };
            let node = match function {
                Some((Function::StandardNormalLogCdf, argument)) => self.phi(&argument[0]),
                Some((Function::StandardNormalLogCcdf, argument)) => {
                    Node::Add(vec![Node::number(1.0), self.phi(&argument[0]).negated()])
                }
                _ => {
                    rest.push(term.clone());
                    continue;
                }
            };
            if term.coefficient.0 > 0.0 { above.push(node) } else { below.push(node) }
        }
        if above.is_empty() && below.is_empty() {
            return Node::call(Call::Function(Function::Exp), self.inner_sum(sum));
        }
        if !rest.is_empty() {
            let rest = self.inner_sum(&Sum { terms: rest });
            above.push(Node::call(Call::Function(Function::Exp), rest));
        }
        Node::product(Number::one(), above, below)
    }

    fn phi(&mut self, argument: &Sum) -> Node {
        Node::call(Call::Function(Function::Phi), self.inner_sum(argument))
    }

    /// `exp(sum)`, logs of points and whole numbers taken outside.
    pub fn exponential(&mut self, sum: &Sum) -> Node {
        let (mut above, mut below, mut rest, mut number) = (Vec::new(), Vec::new(), Vec::new(), 1.0);
        for term in &sum.terms {
            let power = term.coefficient.0;
            match term.factors.as_slice() {
                [] if term.sums.is_empty() && is_whole(power.exp()) => number *= power.exp().round(),
                [] if term.sums.is_empty() && is_whole((-power).exp()) => number /= (-power).exp().round(),
                [Factor { atom: Atom::Apply(Function::Log, argument), power: 1 }]
                    if term.sums.is_empty() && power.fract() == 0.0 && power.abs() < 100.0 =>
                {
                    let node = self.inner_sum(&argument[0]);
                    let node = if power.abs() == 1.0 { node } else { node.raised(Node::number(power.abs())) };
                    if power > 0.0 { above.push(node) } else { below.push(node) }
                }
                _ => rest.push(term.clone()),
            }
        }
        if !rest.is_empty() {
            let rest = self.inner_sum(&Sum { terms: rest });
            above.push(Node::call(Call::Function(Function::Exp), rest));
        }
        Node::product(Number::of(number), above, below)
    }

    /// A matrix that is written as the sum of its elements: those without the letters summed.
    fn matrix(&mut self, sum: &Sum) -> Node {
        let [term] = sum.terms.as_slice() else { return self.inner_sum(sum) };
        let whole: Vec<Node> = term
            .factors
            .iter()
            .map(|factor| match &factor.atom {
                Atom::Value(array, subscripts) => {
                    let summed = |own: &Subscript| matches!(own, Subscript::Letter(letter) if term.sums.contains(letter));
                    let rest: Vec<Subscript> = subscripts.iter().filter(|own| !summed(own)).cloned().collect();
                    self.element(*array, &rest)
                }
                other => self.atom(other),
            })
            .collect();
        Node::product(Number::of(term.coefficient.0), whole, Vec::new())
    }

    /// An element of an array.
    pub fn element(&mut self, array: ArrayId, subscripts: &[Subscript]) -> Node {
        let lineages: Vec<Vec<Node>> = subscripts.iter().map(|own| self.subscript(own)).collect();
        self.written(array, &lineages)
    }

    fn written(&self, array: ArrayId, lineages: &[Vec<Node>]) -> Node {
        let symbols = self.scope.symbols;
        let name = &symbols.array(array).name;
        // A number of the text below 0, which is named by its digits, has a sign like any other.
        if let Some(digits) = name.strip_prefix('-') {
            return Node::element(digits, symbols.written(array, lineages)).negated();
        }
        let old = if self.old.contains(&array) { OLD } else { "" };
        Node::element(&format!("{}{old}", self.scope.name_of(array)), symbols.written(array, lineages))
    }

    fn subscripts(&mut self, subscripts: &[Subscript]) -> Vec<Node> {
        let mut out = Vec::new();
        for subscript in subscripts {
            let lineage = self.subscript(subscript);
            push_lineage(&mut out, lineage);
        }
        out
    }

    fn subscript(&mut self, subscript: &Subscript) -> Vec<Node> {
        match subscript {
            Subscript::Letter(letter) => self.letters.lineage(self.scope.symbols, *letter),
            Subscript::Index(array, subscripts) => vec![self.element(*array, subscripts)],
        }
    }

    fn single(&mut self, subscript: &Subscript) -> Node {
        self.subscript(subscript).pop().expect("a subscript is shown as something")
    }

    /// Ancestors before their descendants, else as they stand.
    fn in_order(&self, letters: &[LetterId]) -> Vec<LetterId> {
        let lineage = |letter: &LetterId| self.scope.symbols.lineage(*letter).into_iter().rev();
        dedup(letters.iter().flat_map(lineage).filter(|letter| letters.contains(letter)).collect())
    }

    /// The elementary functions of a moment, each with its element and, for an indicator, its class.
    fn parts(&mut self, block: &Block, moment: &Moment) -> Vec<(Elementary, Node, Option<Node>)> {
        let elements = block.elements(moment);
        let mut parts = Vec::with_capacity(elements.len());
        for ((member, elementary), (array, slots)) in moment.statistic.0.iter().zip(elements) {
            let class = match elementary {
                Elementary::Indicator => slots.last().map(|slot| self.single(slot)),
                Elementary::Contracted(1) => slots.last().map(|slot| self.single(slot)),
                Elementary::Power(_)
                | Elementary::Log
                | Elementary::LogComplement
                | Elementary::LogDeterminant
                | Elementary::Contracted(_)
                | Elementary::Centred
                | Elementary::Mass
                | Elementary::MassOfComplement => None,
            };
            let slots = if matches!(elementary, Elementary::Contracted(_)) { &[] } else { slots };
            let subscripts: Vec<Subscript> = places(self.scope.symbols, block, usize::from(*member))
                .into_iter()
                .filter_map(|place| match place {
                    Place::Plate(index) => moment.plates.get(index).cloned(),
                    Place::Slot(index) => slots.get(index).cloned(),
                })
                .collect();
            parts.push((*elementary, self.element(array, &subscripts), class));
        }
        parts
    }

    /// An expectation under q.
    pub fn moment(&mut self, moment: &Moment) -> Node {
        let Some(block) = self.scope.blocks.get(moment.block.index()) else {
            return Node::Expectation(Box::new(Node::name("?")));
        };
        let parts = self.parts(block, moment);
        match parts.as_slice() {
            [(Elementary::Indicator, element, Some(class))] => {
                Node::Probability(Box::new(element.clone()), Box::new(class.clone()))
            }
            [(Elementary::Centred, left, _), (Elementary::Centred, right, _)] => {
                if left == right {
                    Node::Variance(Box::new(left.clone()))
                } else {
                    Node::Covariance(Box::new(left.clone()), Box::new(right.clone()))
                }
            }
            _ => {
                if let Some(contraction) = contraction(&parts) {
                    return Node::Expectation(Box::new(contraction));
                }
                let (mut above, mut below) = (Vec::new(), Vec::new());
                for (elementary, element, class) in parts {
                    match elementary {
                        Elementary::Power(power) if power < 0 => {
                            below.push(applied(Elementary::Power(-power), element, class));
                        }
                        Elementary::Power(_)
                        | Elementary::Log
                        | Elementary::LogComplement
                        | Elementary::LogDeterminant
                        | Elementary::Contracted(_)
                        | Elementary::Indicator
                        | Elementary::Centred
                        | Elementary::Mass
                        | Elementary::MassOfComplement => above.push(applied(elementary, element, class)),
                    }
                }
                Node::Expectation(Box::new(Node::product(Number::one(), above, below)))
            }
        }
    }
}

/// `x / 2`
pub(crate) fn half(node: Node) -> Node {
    Node::product(Number::one(), vec![node], vec![Node::number(2.0)])
}

/// `log(2 cosh(x / 2))`
pub(crate) fn even_softplus(x: Node) -> Node {
    Node::log(Node::product(Number::of(2.0), vec![Node::call(Call::Cosh, half(x))], Vec::new()))
}

/// `tanh(x / 2) / (2 x)`
fn logistic_curvature(x: Node) -> Node {
    let above = vec![Node::call(Call::Tanh, half(x.clone()))];
    Node::product(Number::one(), above, vec![Node::number(2.0), x])
}

/// A vector and a matrix whose product is summed over.
fn contraction(parts: &[(Elementary, Node, Option<Node>)]) -> Option<Node> {
    let [(Elementary::Contracted(_), vector, _), .., (Elementary::Contracted(_), matrix, letter)] = parts
    else {
        return None;
    };
    let arguments = [Some(matrix), Some(vector), letter.as_ref()].into_iter().flatten();
    Some(Node::Call(Call::Contraction, arguments.cloned().collect()))
}

/// An elementary function of an element.
fn applied(elementary: Elementary, element: Node, class: Option<Node>) -> Node {
    match elementary {
        Elementary::Power(1) => element,
        Elementary::Power(power) if power < 0 => {
            let below = applied(Elementary::Power(-power), element, class);
            Node::product(Number::one(), Vec::new(), vec![below])
        }
        Elementary::Power(power) => element.raised(Node::number(f64::from(power))),
        Elementary::Log => Node::log(element),
        Elementary::LogDeterminant => Node::call(Call::Function(Function::LogDeterminant), element),
        Elementary::Contracted(_) => element,
        Elementary::LogComplement => Node::log(Node::Add(vec![Node::number(1.0), element.negated()])),
        Elementary::Indicator => {
            let class = class.unwrap_or_else(|| Node::number(1.0));
            Node::Indicator(Box::new(Relation::Equal(element, class)))
        }
        Elementary::Centred => {
            let mean = Node::Expectation(Box::new(element.clone()));
            Node::Add(vec![element, mean.negated()])
        }
        Elementary::Mass | Elementary::MassOfComplement => {
            unreachable!("what leaves shares out is stated in words, and no update holds it")
        }
    }
}

/// A factor or a size, with the letters it depends on, ancestors included.
struct Piece<'t> {
    content: Content<'t>,
    letters: Vec<LetterId>,
}

#[derive(Clone, Copy)]
enum Content<'t> {
    Factor(&'t Factor),
    Named(&'t NamedElement),
    Size(LetterId),
}

impl Piece<'_> {
    fn is_condition(&self) -> bool {
        let Content::Factor(factor) = self.content else { return false };
        match factor.atom {
            Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => true,
            Atom::Value(..)
            | Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::Group(_)
            | Atom::Apply(..)
            | Atom::ExpectedSquare(_) => false,
        }
    }

    /// What stands first in a product: indicators, constants, data, the rest.
    fn rank(&self, scope: Scope<'_>) -> u8 {
        match self.content {
            Content::Size(_) => 0,
            Content::Named(_) => 3,
            Content::Factor(factor) => match &factor.atom {
                Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => 0,
                atom if is_constant(scope, atom) => 1,
                Atom::Value(array, _) => match scope.symbols.array(*array).kind {
                    ArrayKind::Constant => 1,
                    ArrayKind::Data => 2,
                    ArrayKind::Latent => 3,
                },
                Atom::Moment(_)
                | Atom::Allocation { .. }
                | Atom::LogPartition { .. }
                | Atom::Auxiliary { .. }
                | Atom::Group(_)
                | Atom::Apply(..)
                | Atom::ExpectedSquare(_) => 3,
            },
        }
    }
}

/// Appends a letter behind those of its ancestors that do not stand there yet.
fn push_lineage(subscripts: &mut Vec<Node>, mut lineage: Vec<Node>) {
    let Some(own) = lineage.pop() else { return };
    for ancestor in lineage {
        if !subscripts.contains(&ancestor) {
            subscripts.push(ancestor);
        }
    }
    subscripts.push(own);
}

fn is_one(node: &Node) -> bool {
    matches!(node, Node::Product(product) if product.number.is_one() && product.above.is_empty() && product.below.is_empty())
}

/// Whether a number is whole up to rounding.
fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() <= 1e-13 * value && (1.0..1e6).contains(&value.round())
}
