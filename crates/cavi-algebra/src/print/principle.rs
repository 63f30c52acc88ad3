//! The principle, before the formulas of the program: what is maximised, why one factor after another, and why it cannot fall.

use super::Level;
use super::derivation::Derivation;
use super::document::{Item, Row, Sign, Span, words};
use super::node::{Element, Node};

impl Derivation<'_> {
    /// A few sentences; at [`Level::Lecture`] the argument with them.
    pub(super) fn principle(&self) -> Vec<Item> {
        let mut items = vec![Item::Heading("Principle")];
        if !self.has_distribution() {
            items.push(sentence(
                "All latent variables are points. They maximise the log joint by coordinate ascent: each in turn takes a value at \
                 which the log joint is no smaller, the others held, so that no update lowers it.",
            ));
            return items;
        }
        items.push(sentence(
            "By Jensen's inequality any distribution q of the latent variables bounds the log-probability of the data from below, \
             with equality where q is their posterior:",
        ));
        items.push(Item::Rows(vec![self.evidence_bound()]));
        if self.level == Level::Lecture {
            items.extend(why_a_bound());
        }
        items.push(factors());
        items.push(Item::Rows(vec![self.best_factor()]));

        let points = self.equations.blocks.iter().any(|block| block.is_point());
        items.push(sentence(if points {
            "with the expectation under all other factors; a point takes the value at which that expectation is largest (an M \
             step). Each update is a maximum over one factor, so that it cannot lower the bound."
        } else {
            "with the expectation under all other factors. Each update is a maximum over one factor, so that it cannot lower the \
             bound."
        }));
        if self.level == Level::Lecture {
            items.extend(why_best());
        }
        if !self.used_bounds().is_empty() && self.level == Level::Lecture {
            items.push(sentence(
                "Where a term has no expectation in closed form, a lower bound of the term stands in its place, with parameters of \
                 its own. The sum is then still below the log-probability of the data for any value of these parameters, and they \
                 are set to where it is largest, which is one more step of coordinate ascent.",
            ));
        }
        if self.run.other_allocations {
            items.push(sentence("The sweeps below take other allocations than the best, and may lower it."));
        }
        items
    }

    /// `log p(data) >= E[log p(data, latents)] + H[q]`
    fn evidence_bound(&self) -> Row {
        let evidence = Node::log(Node::Density(vec![Node::name("data")], Vec::new()));
        let entropy = Node::Entropy(Box::new(Node::name("q")));
        Row { relation: Sign::AtLeast, ..Row::equal(evidence, Node::add(vec![expected(), entropy])) }
    }

    /// `log q[i] = E[log p(data, latents)] + const`
    fn best_factor(&self) -> Row {
        Row::equal(Node::log(factor()), Node::add(vec![expected(), Node::name("const")]))
    }
}

fn sentence(text: &str) -> Item {
    Item::Paragraph(vec![words(text)])
}

fn expected() -> Node {
    let joint = Node::Density(vec![Node::name("data"), Node::name("latents")], Vec::new());
    Node::Expectation(Box::new(Node::log(joint)))
}

/// `q[i]`
fn factor() -> Node {
    Node::Element(Element {
        name: "q".to_owned(),
        number: None,
        of: None,
        subscripts: vec![Node::Letter("i".to_owned())],
    })
}

/// What leads to the best factor.
fn factors() -> Item {
    let mut line = vec![words(
        "The right side is the evidence lower bound (ELBO): the expectation of the log joint under q, and the entropy of q. Of the q \
         that are a product of factors ",
    )];
    line.extend([Span::Math(factor()), words(", the best is sought by coordinate ascent: over ")]);
    line.extend([Span::Math(factor()), words(", all others held, the bound is largest at")]);
    Item::Paragraph(line)
}

/// Why it is a bound, and what a larger one means.
fn why_a_bound() -> Vec<Item> {
    vec![sentence(
        "For the probability of the data is the expectation under q of p(data, latents) / q(latents). The log is concave, so that the \
         log of this expectation is at least the expectation of the log, which is the right side. What is lost is the \
         Kullback-Leibler divergence of q from the posterior: it is not negative, and 0 only where both are the same. The left side \
         does not depend on q, so that a larger right side is a q nearer to the posterior.",
    )]
}

/// Why the expected log joint is the log of the best factor.
fn why_best() -> Vec<Item> {
    let mut line = vec![words("As a function of ")];
    line.extend([Span::Math(factor()), words(" alone the bound is the expectation under ")]);
    line.extend([
        Span::Math(factor()),
        words(
            " of the right side above, plus its own entropy, plus what does not depend on it. That is minus the Kullback-Leibler divergence \
             from the distribution with that right side as its log-density, plus a constant. It is largest where the divergence is \
             0, which is where both are the same; the constant makes the density integrate to 1.",
        ),
    ]);
    let text = "Nothing is assumed of the form of a factor but what it is independent of: its family follows from the terms that it \
                stands in. The bound rises or stays with every update and is nowhere above the log-probability of the data, so that \
                its values converge. Other starts may lead to other maxima.";
    vec![Item::Paragraph(line), sentence(text)]
}
