//! Gaussian processes: the covariance of the points, and the variables in which a point moves.

use crate::equations::{Block, StatementEquation};
use crate::expression::{Expression, Function, MatrixFunction, Subscript};
use crate::sum_of_products::{Atom, Coefficient, Factor, Sum, Term};
use crate::symbols::{ArrayId, LetterId};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Row, Span, words};
use super::node::{Call, Node};
use super::number::Number;

/// A variable whose slices are whitened.
struct Whitened<'a> {
    variable: ArrayId,
    /// The letters of the matrix: those that tell matrices apart, then row and column.
    letters: &'a [LetterId],
    whitening: ArrayId,
    covariance: &'a Expression,
}

impl Derivation<'_> {
    /// For each Gaussian process: its covariance, its whitened variables, and its density as textbooks write it.
    pub(super) fn processes(&self) -> Vec<Item> {
        let mut items = Vec::new();
        for statement in &self.equations.statements {
            let Some(own) = self.whitening(statement) else { continue };
            if items.is_empty() {
                items.push(Item::Heading("Gaussian processes"));
            }
            items.extend(self.process(&own));
        }
        items
    }

    fn whitening<'a>(&'a self, statement: &StatementEquation) -> Option<Whitened<'a>> {
        let whitening = statement.whitening?;
        let array = self.symbols().array(whitening);
        match &array.value {
            Some(Expression::OfMatrix(MatrixFunction::Whitening, covariance, ..)) => {
                let variable = statement.target;
                Some(Whitened { variable, letters: &array.letters, whitening, covariance })
            }
            _ => None,
        }
    }

    /// `K_d[i, l] = ...`, `delta_d[i, k] = sum_l C_d'^-1[i, l] d[l, k]`, `log N(d | 0, K_d) = ...`
    fn process(&self, own: &Whitened<'_>) -> Vec<Item> {
        let [plates @ .., row, column] = own.letters else { return Vec::new() };
        let name = &self.symbols().array(own.variable).name;
        let mut builder = Builder::new(self.scope(), own.letters);
        let subscripts = builder.subscripts_of(own.letters);
        let scope = self.scope();
        let (covariance, root, white) = (scope.covariance(name), scope.root(name), scope.whitened(name));
        let element = Node::element(&covariance, subscripts);
        let mut rows = vec![Row::equal(element, builder.expression(own.covariance))];

        let letters = self.symbols().array(own.variable).letters.clone();
        let mut builder = Builder::new(self.scope(), &letters);
        let delta = Node::element(&white, builder.subscripts_of(&letters));
        let value = |array: ArrayId, letters: &[LetterId]| Factor {
            atom: Atom::Value(array, letters.iter().map(|letter| Subscript::Letter(*letter)).collect()),
            power: 1,
        };
        let other: Vec<LetterId> =
            letters.iter().map(|letter| if letter == row { *column } else { *letter }).collect();
        let product = Term {
            sums: vec![*column],
            factors: vec![value(own.whitening, own.letters), value(own.variable, &other)],
            coefficient: Coefficient(1.0),
        };
        rows.push(Row::equal(delta.clone(), builder.sum(&Sum::term(product))));

        // The density of one slice, in the notation of the field.
        let mut builder = Builder::new(self.scope(), &letters);
        let matrix = Node::element(&covariance, builder.subscripts_of(plates));
        let determinant = Node::call(Call::Function(Function::LogDeterminant), matrix);
        let squares = builder.summed(&[*row], |_| delta.raised(Node::number(2.0)));
        let half = |node: Node| Node::product(Number::of(-0.5), vec![node], Vec::new());
        let constant = Term { sums: vec![*row], ..Term::number(-0.5 * (2.0 * std::f64::consts::PI).ln()) };
        let outside: Vec<LetterId> = letters.iter().copied().filter(|letter| letter != row).collect();
        let constant = Builder::new(self.scope(), &outside).sum(&Sum::term(constant));
        let left = Node::log(Node::Density(vec![self.slice(own)], Vec::new()));
        rows.push(Row::equal(left, Node::add(vec![half(determinant), half(squares), constant])));

        let transposed = || Node::name(&format!("{root}'"));
        let factors = vec![transposed(), Node::name(&root)];
        let text = vec![
            Span::Math(Node::times(factors)),
            words(" = "),
            Span::Math(Node::name(&covariance)),
            words(" with "),
            Span::Math(transposed()),
            words(" lower triangular, so that "),
            Span::Math(Node::name(&white)),
            words(" is standard normal, and "),
            Span::Math(Node::name(&format!("{root}'^-1"))),
            words(" is computed once, before the fit."),
        ];
        vec![Item::Rows(rows), Item::Paragraph(text)]
    }

    /// `d[:i, k]`
    fn slice(&self, own: &Whitened<'_>) -> Node {
        let array = self.symbols().array(own.variable);
        let letters: Vec<(LetterId, bool)> =
            array.letters.iter().copied().zip(array.slice.iter().copied()).collect();
        let plates: Vec<LetterId> = array.letters.clone();
        Builder::new(self.scope(), &plates).sliced(own.variable, &letters)
    }

    /// In which variables the members of a block move that are whitened.
    pub(super) fn whitened(&self, block: &Block, objective: &str) -> Vec<Item> {
        let of = |member: &ArrayId| {
            let statement = self.equations.statements.iter().find(|own| own.target == *member)?;
            self.whitening(statement)
        };
        let sentence = |own: Whitened<'_>| {
            let name = &self.symbols().array(own.variable).name;
            let slice = self.slice(&own);
            let root = Node::name(&self.scope().root(name));
            let slope = Node::call(Call::Named(format!("{objective}'")), slice.clone());
            Item::Paragraph(vec![
                Span::Math(slice),
                words(" is updated in "),
                Span::Math(Node::name(&self.scope().whitened(name))),
                words(", with the derivative "),
                Span::Math(Node::times(vec![root, slope])),
                words("; the objective is that of "),
                Span::Math(Node::name(name)),
                words(" itself."),
            ])
        };
        block.members.iter().filter_map(of).map(sentence).collect()
    }
}
