//! The principle, before the formulas of the program: what is maximised, why one factor after another, and why it cannot fall.

use crate::equations::Block;
use crate::symbols::Support;

use super::Level;
use super::derivation::Derivation;
use super::document::{Item, Row, Sign, Span, words};
use super::node::{Element, Node};

/// Of what the bound is a bound, and what raises it.
struct Terms {
    /// Whether some variables are points.
    points: bool,
    /// Whether each update is the maximum over one factor.
    maxima: bool,
    /// Whether an update may lower the bound, by design.
    exceptions: bool,
}

impl Derivation<'_> {
    fn terms(&self) -> Terms {
        let blocks = &self.equations.blocks;
        let exceptions = !self.exceptions(&self.items(), self.objective()).is_empty();
        let maxima = blocks.iter().all(|block| block.ascent.is_none() && block.by.is_none());
        let points = blocks.iter().any(|block| block.is_point());
        Terms { points, maxima: maxima && !exceptions, exceptions }
    }

    /// A few sentences; at [`Level::Lecture`] the argument with them.
    pub(super) fn principle(&self) -> Vec<Item> {
        let mut items = vec![Item::Heading("Principle")];
        let terms = self.terms();
        if !self.has_distribution() {
            let lowers = if terms.exceptions {
                "no update lowers it but for the exceptions that the section Ascent names."
            } else {
                "no update lowers it."
            };
            items.push(sentence(&format!(
                "All latent variables are points. They maximise the log joint by coordinate ascent: each in turn takes a value at \
                 which the log joint is no smaller, the others held, so that {lowers}"
            )));
            return items;
        }
        items.push(sentence(if terms.points {
            "By Jensen's inequality, at any values of the points, any distribution q of the other latent variables bounds the log \
             joint density of the data and the points from below, with equality where q is the posterior of these variables given \
             the points:"
        } else {
            "By Jensen's inequality any distribution q of the latent variables bounds the log-probability of the data from below, \
             with equality where q is their posterior:"
        }));
        items.push(Item::Rows(vec![self.evidence_bound()]));
        if self.symbols().arrays.iter().any(|own| own.support == Support::Multiplicity) {
            items.push(sentence(
                "A row of weight m stands for m rows that are alike, whose latent variables share one factor of q: the log joint and H[q] \
                 count it, and that factor, m times.",
            ));
        }
        if self.level == Level::Lecture {
            items.push(why_a_bound(&terms));
        }
        items.push(factors());
        items.push(Item::Rows(vec![self.best_factor()]));
        items.push(sentence(&self.each_update(&terms)));
        if self.level == Level::Lecture {
            items.extend(why_best(&terms));
        }
        if !self.used_bounds().is_empty() && self.level == Level::Lecture {
            items.push(sentence(&format!(
                "Where a term has no expectation in closed form, a lower bound of the term stands in its place, with parameters of \
                 its own. The sum is then still below {} for any value of these parameters, and they are set to where it is \
                 largest, which is one more step of coordinate ascent.",
                terms.bounded()
            )));
        }
        if self.run.other_allocations {
            items.push(sentence("The sweeps below take other allocations than the best, and may lower it."));
        }
        items
    }

    /// How factors and points are updated, and whether that cannot lower the bound.
    fn each_update(&self, terms: &Terms) -> String {
        let under = "with the expectation under all other factors";
        let best = |block: &Block| !block.is_point() || block.ascent.is_none() && block.by.is_none();
        let (clamped, others): (Vec<&Block>, Vec<&Block>) =
            self.equations.blocks.iter().partition(|block| block.clamp);
        let free = if clamped.is_empty() { "a point" } else { "a point that is not clamped" };
        let value = match others.iter().all(|block| best(block)) {
            true => "the value at which that expectation is largest",
            false => "a value at which that expectation is no smaller",
        };
        let point = match others.iter().any(|block| block.is_point()) {
            true => format!("; {free} takes {value} (an M step)"),
            false => String::new(),
        };
        let raises = if terms.maxima {
            "Each update is a maximum over one factor, so that it cannot lower the bound."
        } else if terms.exceptions {
            "An update that is a maximum over one factor cannot lower the bound; the section Ascent names what may."
        } else {
            "An update that is a maximum over one factor cannot lower the bound; the section Ascent says why no other does either."
        };
        format!("{under}{point}. {raises}")
    }

    /// `log p(data) >= E[log p(data, latents)] + H[q]`, with the points among what is on the left.
    fn evidence_bound(&self) -> Row {
        let evidence = Node::log(Node::Density(self.seen(), Vec::new()));
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

impl Terms {
    /// What the bound is nowhere above.
    fn bounded(&self) -> &'static str {
        if self.points {
            "the log joint density of the data and the points"
        } else {
            "the log-probability of the data"
        }
    }
}

/// Why it is a bound, and what a larger one means.
fn why_a_bound(terms: &Terms) -> Item {
    let lost = "The log is concave, so that the log of this expectation is at least the expectation of the log, which is the right \
                side. What is lost is the Kullback-Leibler divergence of q from the posterior";
    sentence(&if terms.points {
        format!(
            "For the joint density of the data and the points is the expectation under q of p(data, latents) / q, in which only the \
             other latent variables are random. {lost}, given the points: it is not negative, and 0 only where both are the same. At \
             given points the left side does not depend on q, so that a larger right side is a q nearer to this posterior; of two \
             values of the points it prefers the one with the larger density, together with the data."
        )
    } else {
        format!(
            "For the probability of the data is the expectation under q of p(data, latents) / q(latents). {lost}: it is not \
             negative, and 0 only where both are the same. The left side does not depend on q, so that a larger right side is a q \
             nearer to the posterior."
        )
    })
}

/// Why the expected log joint is the log of the best factor.
fn why_best(terms: &Terms) -> Vec<Item> {
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
    let rises = if terms.exceptions {
        "But for the exceptions that the section Ascent names, the bound rises or stays with every update"
    } else {
        "The bound rises or stays with every update"
    };
    let converges = match (terms.points, terms.exceptions) {
        (false, false) => "and is nowhere above the log-probability of the data, so that its values converge",
        (false, true) => "; it is nowhere above the log-probability of the data",
        (true, _) => {
            "; at given points it is nowhere above the log joint density of the data and these. As a function of the points this may \
             have no largest value: where it has one and no update lowers the bound, its values converge, else they may rise without \
             end"
        }
    };
    let separator = if converges.starts_with(';') { "" } else { " " };
    let text = format!(
        "Nothing is assumed of the form of a factor but what it is independent of: its family follows from the terms that it \
         stands in. {rises}{separator}{converges}. Other starts may lead to other maxima."
    );
    vec![Item::Paragraph(line), sentence(&text)]
}
