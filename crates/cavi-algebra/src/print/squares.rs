//! Expected squares: what stands in updates and in the bound as `E[(x - sum w z)^2]`, in means and covariances.

use crate::equations::Auxiliary;
use crate::sum_of_products::{Atom, ExpectedSquare, Sum, Term, dedup};
use crate::symbols::{BlockId, LetterId};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Row, words};
use super::node::Node;

impl Derivation<'_> {
    /// A row for each square whose expectation is read: by the update of a block, or anywhere.
    pub(super) fn expected_squares(&self, only: Option<BlockId>) -> Vec<Item> {
        let equations = self.equations;
        let blocks = equations.blocks.iter().enumerate();
        let blocks = blocks.filter(|(index, _)| only.is_none_or(|only| only.index() == *index));
        let updates = blocks.flat_map(|(_, block)| block.update());
        let terms = equations.elbo.terms.iter().chain(&equations.elbo.shared).map(|(_, sum)| sum);
        let squares = equations.auxiliaries.iter().map(|own: &Auxiliary| &own.square);
        let addends = equations.sites.iter().flat_map(|site| &site.addends).map(|own| &own.log_weight);
        let mut found: Vec<&ExpectedSquare> = Vec::new();
        let elsewhere = terms.chain(squares).chain(addends).filter(|_| only.is_none());
        updates.chain(elsewhere).for_each(|sum| collect(sum, &mut found));
        let mut rows: Vec<Row> = Vec::new();
        for square in found {
            let row = self.expected_square(square);
            // The same square under other letters prints alike.
            if !rows.iter().any(|own| own.left == row.left) {
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let text = "The expectation of a square is the square of the expectation plus what the uncertainty of q adds:";
        let mut items = vec![Item::Heading("Expected squares"), Item::Paragraph(vec![words(text)])];
        items.extend(rows.into_iter().map(|row| Item::Rows(vec![row])));
        items
    }

    /// `E[(x - sum w z)^2] = (x - sum E[w] E[z])^2 + ...`
    fn expected_square(&self, square: &ExpectedSquare) -> Row {
        let symbols = self.symbols();
        let mut letters: Vec<LetterId> = square.of.free_letters(symbols);
        letters.extend(square.mean.free_letters(symbols));
        let letters = self.with_ancestors(&dedup(letters));
        let mut builder = Builder::new(self.scope(), &letters);
        let two = || Node::number(2.0);
        let (spread, guards) = unguarded(&square.spread);
        let left = Node::Expectation(Box::new(builder.sum(&square.of).raised(two())));
        let mut right = Vec::new();
        if !square.mean.is_zero() {
            right.push(builder.sum(&square.mean).raised(two()));
        }
        right.push(builder.sum(&spread));
        let guards: Vec<String> = guards.iter().map(|guard| builder.condition(guard)).collect();
        let mut row = Row::equal(left, Node::add(right));
        if !guards.is_empty() {
            row.parts[0].note = Some((format!("for {}", guards.join(", ")), Vec::new()));
        }
        row
    }
}

/// A sum without the conditions that all its terms have, and these: the square is read where they hold.
fn unguarded(sum: &Sum) -> (Sum, Vec<Atom>) {
    let guards = |term: &Term| -> Vec<Atom> {
        let own =
            term.factors.iter().filter(|factor| matches!(factor.atom, Atom::Different(..) | Atom::Less(..)));
        let letters = |atom: &Atom| {
            let mut letters = Vec::new();
            atom.visit_subscripts(&mut |subscript| subscript.letters(&mut letters));
            letters
        };
        let free =
            own.filter(|factor| letters(&factor.atom).iter().all(|letter| !term.sums.contains(letter)));
        free.map(|factor| factor.atom.clone()).collect()
    };
    let Some(first) = sum.terms.first() else { return (sum.clone(), Vec::new()) };
    let mut common = guards(first);
    common.retain(|guard| sum.terms.iter().all(|term| guards(term).contains(guard)));
    let mut rest = sum.clone();
    rest.terms.iter_mut().for_each(|term| term.factors.retain(|own| !common.contains(&own.atom)));
    (rest, common)
}

/// The expected squares in a sum.
fn collect<'s>(sum: &'s Sum, out: &mut Vec<&'s ExpectedSquare>) {
    for factor in sum.terms.iter().flat_map(|term| &term.factors) {
        match &factor.atom {
            Atom::ExpectedSquare(square) => out.push(square),
            other => other.nested().into_iter().for_each(|inner| collect(inner, out)),
        }
    }
}
