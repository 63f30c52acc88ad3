//! How a point without a closed form moves: its objective and the derivatives that are followed.

use crate::canonical::canonical;
use crate::equations::{Ascent, Block};
use crate::expression::Subscript;
use crate::sum_of_products::Sum;
use crate::symbols::{ArrayId, LetterId, Support};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Row, Span, words};
use super::node::{Call, Node};

impl Derivation<'_> {
    /// The objective and, for each member, its derivative.
    pub(super) fn ascent(&self, block: &Block, ascent: &Ascent) -> Vec<Item> {
        let name = self.scope().objective();
        let joint = if self.has_distribution() { "the expected log joint" } else { "the log joint" };
        let text = match (&ascent.curvature, &ascent.tight) {
            (Some(_), _) => format!(
                "It goes from where it is to a maximum of its terms in {joint}, of several not always the largest,"
            ),
            (None, None) => format!("It is moved so that its terms in {joint} rise,"),
            (None, Some(_)) => {
                let shared = self.refreshed().unwrap_or("allocations");
                format!(
                    "It is moved so that its terms in the bound rise, {shared} at their optimum; by the envelope theorem the derivatives \
                     are those with these held there:"
                )
            }
        };
        let whole = ascent.tight.as_ref().unwrap_or(&ascent.objective);
        let objective = Row::equal(Node::name(&name), self.written(&[], whole));
        let mut rows = vec![objective.labelled(self.label_of(block))];
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
        let how = match (&ascent.curvature, &ascent.tight) {
            (Some(_), _) => {
                "by Newton's method: where the first derivative is 0, guarded by its sign.".to_owned()
            }
            (None, None) => {
                "by L-BFGS on the derivatives: a step is taken only if the objective does not fall."
                    .to_owned()
            }
            (None, Some(_)) => {
                let shared = self.refreshed().unwrap_or("allocations");
                format!(
                    "by L-BFGS on the derivatives: a step is taken only if the objective does not fall. The {shared} \
                     are set to their optimum at every evaluation; inside a group they stay those of the group."
                )
            }
        };
        let mut items =
            vec![Item::Paragraph(vec![words(text)]), Item::Rows(rows), Item::Paragraph(vec![words(how)])];
        items.extend(self.whitened(block, &name));
        items
    }

    /// Why it ascends, by which method, and in which coordinates.
    pub(super) fn method(&self, block: &Block, ascent: &Ascent) -> Vec<Span> {
        let how = match ascent.curvature {
            Some(_) if block.plates.is_empty() => "it is found by Newton's method",
            Some(_) => {
                "its elements share terms, if at all, in sums over themselves, so that each is found by Newton's method"
            }
            None => "all elements are moved together, by L-BFGS",
        };
        let mut line = vec![words(format!(
            "A maximiser in closed form is not known for these terms: {how} on the derivatives below, in "
        ))];
        let coordinates = block.members.iter().map(|member| {
            let array = self.symbols().array(*member);
            let subscripts: Vec<Subscript> =
                array.letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
            let mut builder = Builder::new(self.scope(), &array.letters);
            let element = builder.element(*member, &subscripts);
            Span::Math(match array.support {
                Support::Positive | Support::Nonnegative | Support::Simplex => Node::log(element),
                Support::Unit => Node::call(Call::Named("logit".to_owned()), element),
                Support::Real
                | Support::Count
                | Support::Binary
                | Support::Index(_)
                | Support::Multiplicity
                | Support::PositiveDefinite => element,
            })
        });
        line.extend(separated(coordinates.collect()));
        let supports: Vec<Support> =
            block.members.iter().map(|member| self.symbols().array(*member).support).collect();
        line.push(words(if supports.contains(&Support::Simplex) {
            ", up to a constant (softmax coordinates), and without a Jacobian."
        } else if supports.iter().all(|support| *support == Support::Real) {
            "."
        } else {
            ", without a Jacobian."
        }));
        line
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
