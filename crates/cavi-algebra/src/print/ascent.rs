//! How a point without a closed form moves: its objective and the derivatives that are followed.

use crate::canonical::canonical;
use crate::equations::{Ascent, Block};
use crate::expression::Subscript;
use crate::sum_of_products::Sum;
use crate::symbols::{ArrayId, LetterId};

use super::build::Builder;
use super::derivation::Derivation;
use super::document::{Item, Row, words};
use super::node::{Call, Node};

impl Derivation<'_> {
    /// The objective and, for each member, its derivative.
    pub(super) fn ascent(&self, block: &Block, ascent: &Ascent) -> Vec<Item> {
        let name = self.scope().objective();
        let text = match ascent.curvature {
            Some(_) => "It takes the maximiser of its terms in the expected log joint,",
            None => "It moves up its terms in the expected log joint,",
        };
        let mut rows = vec![Row::equal(Node::name(&name), self.written(&[], &ascent.objective))];
        let members = block.members.iter().zip(&block.slices).zip(&ascent.gradient);
        for ((member, slices), gradient) in members {
            let letters: Vec<LetterId> = block.plates.iter().chain(slices).copied().collect();
            let left = self.derivative(&name, 1, *member, &letters);
            rows.push(Row::equal(left, self.written(&letters, gradient)));
        }
        if let Some(curvature) = &ascent.curvature {
            let left = self.derivative(&name, 2, block.members[0], &block.plates);
            rows.push(Row::equal(left, self.written(&block.plates, curvature)));
        }
        let how = match ascent.curvature {
            Some(_) => "by Newton's method: where the first derivative is 0, guarded by its sign.",
            None => "by L-BFGS on the derivatives: a step is taken only if the objective does not fall.",
        };
        let mut items =
            vec![Item::Paragraph(vec![words(text)]), Item::Rows(rows), Item::Paragraph(vec![words(how)])];
        items.extend(self.whitened(block, &name));
        items
    }

    /// `L'(x[k])`: the derivative in the element in brackets.
    fn derivative(&self, name: &str, order: usize, member: ArrayId, letters: &[LetterId]) -> Node {
        let mut builder = Builder::new(self.scope(), letters);
        let own = &self.symbols().array(member).letters;
        let subscripts: Vec<Subscript> = own.iter().map(|letter| Subscript::Letter(*letter)).collect();
        let element = builder.element(member, &subscripts);
        Node::call(Call::Named(format!("{name}{}", "'".repeat(order))), element)
    }

    fn written(&self, letters: &[LetterId], sum: &Sum) -> Node {
        let mut symbols = self.symbols().clone();
        let sum = canonical(&mut symbols, sum);
        Builder::new(self.scope_with(&symbols), letters).sum(&sum)
    }
}
