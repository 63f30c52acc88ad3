//! The steps from the log joint to natural parameters, as the derivation recorded them.

use crate::canonical::canonical;
use crate::contribution::Contribution;
use crate::equations::{Block, Mode};
use crate::sum_of_products::{Atom, Sum};
use crate::symbols::{ArrayKind, BlockId, LetterId, SiteId, StatementId, Symbols};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Part, Row, Sign, Span, words};
use super::node::{Call, Node};
use super::number::Number;

impl Derivation<'_> {
    /// The steps of a block; the first of them, which only picks terms of the log joint, where `all` are wanted.
    pub(super) fn steps(&self, id: BlockId, all: bool) -> Vec<Item> {
        let Some(contributions) = self.equations.contributions.get(id.index()).filter(|own| !own.is_empty())
        else {
            return Vec::new();
        };
        let block = self.equations.block(id);
        // The update states the whole objective.
        if block.ascent.is_some() && !all {
            return Vec::new();
        }
        let mut items = Vec::new();
        if all {
            items.push(Item::Heading("Statements that hold it"));
            items.push(self.remark("The log joint"));
            items.push(self.step(contributions, Sign::Equal, all, |own| &own.selected));
        }
        let bounded: Vec<Contribution> =
            contributions.iter().filter(|own| own.bounded != own.selected).cloned().collect();
        if !bounded.is_empty() {
            items.extend(all.then_some(Item::Heading("Bounds")));
            items.extend(self.allocations(&bounded, all));
            items.push(self.step(&bounded, Sign::AtLeast, all, |own| &own.bounded));
        }
        let opened: Vec<Contribution> = contributions
            .iter()
            .filter(|own| !same(self.symbols(), &own.monomials, &own.bounded))
            .cloned()
            .collect();
        if !opened.is_empty() {
            items.extend(all.then_some(Item::Heading("Products of statistics")));
            items.push(self.remark("Squares opened, and copies that may coincide set apart"));
            items.push(self.step(&opened, Sign::Equal, all, |own| &own.monomials));
        }
        items.extend(all.then_some(Item::Heading("Expectation")));
        items.extend(self.expectation(block, contributions, all));
        match &block.ascent {
            Some(ascent) => {
                items.push(Item::Heading("Method"));
                items.push(Item::Paragraph(self.method(block, ascent)));
            }
            None => {
                items.extend(all.then_some(Item::Heading("Family")));
                items.push(Item::Paragraph(self.recognised(id, block)));
            }
        }
        items
    }

    fn remark(&self, what: &str) -> Item {
        Item::Paragraph(vec![words(format!("{what}, up to terms that do not hold it:"))])
    }

    /// One step of each statement: `log p(x | z) = terms + const`.
    fn step(
        &self,
        contributions: &[Contribution],
        relation: Sign,
        lines: bool,
        sum: impl Fn(&Contribution) -> &Sum,
    ) -> Item {
        let row = |own: &Contribution| {
            let statement = &self.equations.statements[own.statement.index()];
            let mut right = Builder::new(self.scope(), &[]).sum(sum(own));
            right = Node::add(vec![right, Node::name("const")]);
            let note = self.line(own.statement).filter(|_| lines).map(|line| (line, Vec::new()));
            Row {
                left: Node::log(self.density(statement)),
                relation,
                parts: vec![Part { node: right, note }],
            }
        };
        Item::Rows(contributions.iter().map(row).collect())
    }

    /// `line 12`
    fn line(&self, statement: StatementId) -> Option<String> {
        self.stated.get(statement.index()).map(|stated| format!("line {}", stated.line))
    }

    /// What is bounded, with the allocations where they are not stated elsewhere.
    fn allocations(&self, bounded: &[Contribution], all: bool) -> Vec<Item> {
        let sites: Vec<SiteId> = (0..self.equations.sites.len())
            .map(SiteId::from)
            .filter(|site| bounded.iter().any(|own| holds_site(&own.bounded, *site)))
            .collect();
        let implicit = |site: &SiteId| {
            let target = self.equations.statements[self.equations.site(*site).statement.index()].target;
            let latent = self.symbols().array(target).kind == ArrayKind::Latent;
            latent && self.equations.block_of(target).is_none()
        };
        let what = match (sites.iter().any(implicit), sites.iter().any(|site| !implicit(site))) {
            (true, true) => "Logs of sums bounded and implicit factors at their optimum",
            (true, false) => "Implicit factors at their optimum",
            (false, _) => "Logs of sums bounded",
        };
        let mut items = Vec::new();
        if all {
            items.extend(sites.into_iter().flat_map(|site| self.bound(site)));
        }
        let line = format!("{what}, allocations held, up to terms that do not hold it:");
        items.push(Item::Paragraph(vec![words(line)]));
        items
    }

    /// `log q(w) = E[...] + const`, a part for each statement; for a point its objective.
    fn expectation(&self, block: &Block, contributions: &[Contribution], lines: bool) -> Vec<Item> {
        let mut symbols = self.symbols().clone();
        let sums: Vec<Sum> = contributions.iter().map(|own| own.expected(&mut symbols, block)).collect();
        let letters: &[LetterId] = if block.ascent.is_some() { &[] } else { &block.plates };
        let mut builder = Builder::new(self.scope_with(&symbols), letters);
        let left = match block.mode {
            Mode::Point if block.ascent.is_some() => Node::name(&self.scope().objective()),
            Mode::Point => {
                let members = (0..block.members.len()).map(|member| builder.member(block, member)).collect();
                Node::Call(Call::Named("objective".to_owned()), members)
            }
            Mode::Distribution | Mode::Fixed | Mode::Implicit => Node::log(builder.q(block)),
        };
        let mut parts: Vec<Part> = Vec::new();
        for (own, sum) in contributions.iter().zip(&sums) {
            if sum.is_zero() {
                continue;
            }
            let target = self.equations.statements[own.statement.index()].target;
            let from = if block.members.contains(&target) {
                ("prior".to_owned(), Vec::new())
            } else {
                ("from".to_owned(), vec![self.name(target)])
            };
            let note = match self.line(own.statement).filter(|_| lines) {
                Some(line) => (format!("{line}, {}", from.0), from.1),
                None => from,
            };
            parts.push(Part { node: builder.sum(sum), note: Some(note) });
        }
        parts.push(Part { node: Node::name("const"), note: None });
        let random = self.equations.blocks.iter().any(|other| !other.is_point());
        let words_of = match (block.by, random) {
            (Some(bound), _) => {
                format!("The bound {bound} at the old values, which its coefficients hold, for one copy:")
            }
            (None, _) if block.ascent.is_some() => {
                let copies = if block.plates.is_empty() { "" } else { ", for all copies" };
                match random {
                    true => format!("The expectation under all other factors{copies}:"),
                    false => format!("The objective as a function of it, all else held{copies}:"),
                }
            }
            (None, true) => "The expectation under all other factors, for one copy:".to_owned(),
            (None, false) => "The objective as a function of one copy, all else held:".to_owned(),
        };
        vec![
            Item::Paragraph(vec![words(words_of)]),
            Item::Rows(vec![Row { left, relation: Sign::Equal, parts }]),
        ]
    }

    /// `The statistics log x, x are those of the Gamma family.`
    fn recognised(&self, id: BlockId, block: &Block) -> Vec<Span> {
        let statistics = block.natural.iter().map(|natural| {
            let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            Span::Math(builder.statistic(block, &self.moment(id, &natural.statistic, &natural.slots)))
        });
        let mut line = vec![words("The statistics ")];
        line.extend(separated(statistics.collect()));
        line.push(words(format!(
            " are those of {}; their coefficients are its natural parameters",
            self.standard.name(block.family)
        )));
        let mut less = Vec::new();
        for (natural, base) in block.natural.iter().zip(self.standard.base(block.family)) {
            if base != 0.0 && !block.is_point() {
                let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
                let mut builder = Builder::new(self.scope(), &letters);
                let statistic =
                    builder.statistic(block, &self.moment(id, &natural.statistic, &natural.slots));
                less.push(Span::Math(Node::product(Number::of(base), vec![statistic], Vec::new())));
            }
        }
        if !less.is_empty() {
            line.push(words(", less those of the base measure, "));
            line.extend(separated(less));
        }
        if !block.multiplicity.is_empty() && !block.is_point() {
            line.push(words(", divided by the weight of the row"));
        }
        line.push(words("."));
        line
    }
}

/// Whether two sums are the same whatever their letters and order are.
fn same(symbols: &Symbols, left: &Sum, right: &Sum) -> bool {
    let difference = left.clone().minus(right.clone());
    canonical(&mut symbols.clone(), &difference).is_zero()
}

/// Whether an allocation of a site stands in a sum.
fn holds_site(sum: &Sum, site: SiteId) -> bool {
    sum.terms.iter().flat_map(|term| &term.factors).any(|factor| {
        matches!(&factor.atom, Atom::Allocation { site: own, .. } if *own == site)
            || factor.atom.nested().into_iter().any(|inner| holds_site(inner, site))
    })
}
