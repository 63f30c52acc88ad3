//! The principle in a few sentences, before the formulas of the program.

use super::derivation::Derivation;
use super::document::{Item, Row, Sign, words};
use super::node::{Call, Node};

impl Derivation<'_> {
    /// What is maximised, why one factor after another, and why it cannot fall.
    pub(super) fn principle(&self) -> Vec<Item> {
        let sentence = |text: &str| Item::Paragraph(vec![words(text)]);
        let mut items = vec![Item::Heading("Principle")];
        if !self.has_distribution() {
            items.push(sentence(
                "All latent variables are points. They maximise the log joint by coordinate ascent: one after the other is \
                 moved, the others held, so that no update lowers it.",
            ));
            return items;
        }
        let joint = || Node::log(Node::Density(vec![Node::name("data"), Node::name("latents")], Vec::new()));
        let expected = || Node::Expectation(Box::new(joint()));
        let entropy = Node::Entropy(Box::new(Node::name("q")));
        let evidence = Node::log(Node::Density(vec![Node::name("data")], Vec::new()));
        let bound = Row::equal(evidence, Node::add(vec![expected(), entropy]));
        let factor = Node::log(Node::Call(Call::Q, vec![Node::name("z_i")]));
        let best = Row::equal(factor, Node::add(vec![expected(), Node::name("const")]));
        items.push(sentence(
            "By Jensen's inequality any q over the latent variables bounds the log-probability of the data from below, with \
             equality where q is their posterior:",
        ));
        items.push(Item::Rows(vec![Row { relation: Sign::AtLeast, ..bound }]));
        items.push(sentence(
            "The right side is the evidence lower bound (ELBO). Among the q that are products of the factors below, it is \
             raised by coordinate ascent: as a function of one factor, all others held, it is largest at",
        ));
        items.push(Item::Rows(vec![best]));
        let points = self.equations.blocks.iter().any(|block| block.is_point());
        items.push(sentence(if points {
            "with the expectation under all other factors; a point takes the value at which that expectation is largest (an M \
             step). So no update lowers the bound."
        } else {
            "with the expectation under all other factors. So no update lowers the bound."
        }));
        if self.run.other_allocations {
            items.push(sentence("The sweeps below take other allocations than the best, and may lower it."));
        }
        items
    }
}
