//! Latent classes that bear the names of data, although nothing says which class is which.
//!
//! Let a latent z take the positions of an axis A, and let sigma permute these positions wherever they are classes: in the values
//! of z, and along the dimensions that z selects. If every statement has the same density after sigma, then posterior and bound
//! have a maximum for each sigma, and which of them a fit finds is a matter of its start. For the components of a mixture that is
//! no harm, because their numbers mean nothing. It is one where A has a meaning of its own, because data hold its labels: the
//! fit then says `cat` where `dog` is meant.
//!
//! Dimensions, supports and letters over A are the nodes of a graph. What has to be permuted together is joined: a dimension
//! with the letter, or with the support of the index, that stands in it, and two letters that are compared. What cannot be
//! permuted is joined to one more node: data, constants, what a program holds fixed, positions as numbers, an order of letters,
//! and sizes of groups. The classes of z may change places if no path leads from its support to that node.
//!
//! # Source
//! Dawid and Skene (1979) start at the shares of the answers, which tells the classes apart; Stephens, "Dealing with label switching
//! in mixture models" (2000).

use std::collections::BTreeMap;

use cavi_algebra::{ArrayId, ArrayKind, AxisId, Comparison, Expression, LetterId, Subscript, Support};
use cavi_model::{BlockKind, Model, Start};
use cavi_syntax::Diagnostic;

/// What is permuted, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    /// What has a meaning of its own.
    Named,
    /// A dimension of an array.
    Dimension(ArrayId, usize),
    /// The values of an index latent.
    Values(ArrayId),
    /// A letter, in a statement or a start.
    Letter(usize, LetterId),
}

/// The nodes over one axis, each with the one that it was joined to; those without an entry stand alone.
struct Joined<'a> {
    model: &'a Model,
    axis: AxisId,
    /// The statement or start that is looked at.
    place: usize,
    above: BTreeMap<Node, Node>,
}

impl Joined<'_> {
    fn root(&self, mut node: Node) -> Node {
        while let Some(above) = self.above.get(&node) {
            node = *above;
        }
        node
    }

    fn join(&mut self, a: Node, b: Node) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.above.insert(a.max(b), a.min(b));
        }
    }

    fn is_over(&self, letter: LetterId) -> bool {
        self.model.symbols.letter(letter).axis == self.axis
    }

    /// A letter over the axis; what has groups by its positions makes them different.
    fn letter(&mut self, letter: LetterId) -> Option<Node> {
        let own = self.model.symbols.letter(letter);
        if let Some(parent) = own.parent
            && self.is_over(parent)
        {
            self.join(Node::Letter(self.place, parent), Node::Named);
        }
        (own.axis == self.axis).then_some(Node::Letter(self.place, letter))
    }

    fn named(&mut self, letter: LetterId) {
        if let Some(node) = self.letter(letter) {
            self.join(node, Node::Named);
        }
    }

    /// A dimension, with what stands in it.
    fn dimension(&mut self, array: ArrayId, dimension: usize, subscript: &Subscript) {
        let filled = match subscript {
            Subscript::Letter(letter) => self.letter(*letter),
            Subscript::Index(index, _) => {
                let over = self.model.symbols.array(*index).support == Support::Index(self.axis);
                over.then_some(Node::Values(*index))
            }
        };
        if let Some(filled) = filled {
            self.join(Node::Dimension(array, dimension), filled);
        }
    }

    fn element(&mut self, array: ArrayId, subscripts: &[Subscript]) {
        for (dimension, subscript) in subscripts.iter().enumerate() {
            self.dimension(array, dimension, subscript);
        }
    }

    fn expression(&mut self, expression: &Expression) {
        // Elements, those in subscripts included.
        expression.visit_values(&mut |array, subscripts| self.element(array, subscripts));
        self.letters(expression);
    }

    /// Letters that stand outside of subscripts.
    fn letters(&mut self, expression: &Expression) {
        match expression {
            Expression::Number(_) | Expression::Value(..) => {}
            Expression::Indicator(Comparison::Less, left, right) => {
                self.named(*left);
                self.named(*right);
            }
            Expression::Indicator(_, left, right) => {
                if let (Some(left), Some(right)) = (self.letter(*left), self.letter(*right)) {
                    self.join(left, right);
                }
            }
            Expression::Position(letter) => self.named(*letter),
            Expression::Add(parts) | Expression::Multiply(parts) => {
                parts.iter().for_each(|part| self.letters(part));
            }
            Expression::Power(base, exponent) => {
                self.letters(base);
                self.letters(exponent);
            }
            Expression::Sum(_, body) | Expression::Apply(_, body) => self.letters(body),
            Expression::OfMatrix(_, body, row, column) => {
                // The elements of such a matrix depend on the order of its rows.
                self.named(*row);
                self.named(*column);
                self.letters(body);
            }
        }
    }
}

/// What is permuted together over an axis.
fn joined(model: &Model, axis: AxisId) -> Joined<'_> {
    let mut joined = Joined { model, axis, place: 0, above: BTreeMap::new() };
    let fixed = model.blocks.iter().filter(|spec| spec.kind == BlockKind::Fixed);
    let fixed: Vec<ArrayId> = fixed.flat_map(|spec| &spec.members).copied().collect();
    for (place, array) in model.symbols.arrays.iter().enumerate() {
        let id = ArrayId::from(place);
        if array.kind == ArrayKind::Latent && !fixed.contains(&id) {
            continue;
        }
        joined.join(Node::Values(id), Node::Named);
        for dimension in 0..array.letters.len() {
            joined.join(Node::Dimension(id, dimension), Node::Named);
        }
    }
    for statement in &model.statements {
        joined.place += 1;
        let letters = model.target_letters(statement);
        for (dimension, letter) in letters.iter().enumerate() {
            joined.dimension(statement.target, dimension, &Subscript::Letter(*letter));
        }
        for argument in statement.arguments.iter().flatten() {
            joined.expression(&argument.value);
            // The classes of an index stand along the slice of its probabilities.
            if model.symbols.array(statement.target).support == Support::Index(axis) {
                for letter in &argument.letters {
                    if let Some(letter) = joined.letter(*letter) {
                        joined.join(letter, Node::Values(statement.target));
                    }
                }
            }
        }
    }
    for init in &model.init {
        joined.place += 1;
        let target = init.target;
        for (dimension, subscript) in model.element(target).iter().enumerate() {
            joined.dimension(target, dimension, subscript);
        }
        match &init.start {
            Start::Value(value) => joined.expression(value),
            Start::Draw { arguments, .. } => {
                arguments.iter().flatten().for_each(|argument| joined.expression(&argument.value));
            }
            Start::FromData { .. } => {}
        }
    }
    joined
}

/// A warning for each latent whose classes are named by labels in data, and may change places.
pub fn switching(model: &Model) -> Vec<Diagnostic> {
    let symbols = &model.symbols;
    let mut warnings = Vec::new();
    for statement in model.statements.iter().filter(|statement| !statement.observed) {
        let target = symbols.array(statement.target);
        let Support::Index(axis) = target.support else { continue };
        let labels = symbols
            .arrays
            .iter()
            .find(|data| data.kind == ArrayKind::Data && data.support == Support::Index(axis));
        let Some(labels) = labels else { continue };
        let joined = joined(model, axis);
        let classes = joined.root(Node::Values(statement.target));
        if target.kind != ArrayKind::Latent || classes == Node::Named {
            continue;
        }
        // What runs over the classes and over the labels as well could tell them apart.
        let between = symbols.arrays.iter().enumerate().find_map(|(place, array)| {
            let roots = (0..array.letters.len()).map(|own| joined.root(Node::Dimension(place.into(), own)));
            let roots: Vec<Node> = roots.collect();
            let class = roots.iter().position(|root| *root == classes)?;
            let label = (0..roots.len()).find(|own| {
                *own != class
                    && roots[*own] == Node::Named
                    && symbols.letter(array.letters[*own]).axis == axis
            })?;
            Some((array, [class, label].map(|own| &symbols.letter(array.letters[own]).name)))
        });
        let (name, axis) = (&target.name, &symbols.axis(axis).name);
        let help = match between {
            Some((array, [class, label])) => {
                format!(
                    "a prior of `{}` that is greater where `{class}` equals `{label}`, by a term such as `3 * [{class} == {label}]`, or a start \
                     that is so, in `init`",
                    array.name
                )
            }
            None => format!(
                "another axis for the classes of `{name}`, whose positions then have numbers and no names"
            ),
        };
        warnings.push(
            Diagnostic::warning(
                "W0702",
                format!("the classes of `{name}` may change places: nothing says which of them is which {axis} of `{}`", labels.name),
            )
            .at(statement.span, "the density is the same for every order of its classes")
            .help(help),
        );
    }
    warnings
}
