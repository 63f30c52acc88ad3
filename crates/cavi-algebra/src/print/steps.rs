//! The steps from the log joint to natural parameters, as the derivation recorded them.

use crate::canonical::canonical;
use crate::contribution::Contribution;
use crate::equations::{Block, Mode};
use crate::sum_of_products::{Atom, Sum, Term, dedup};
use crate::symbols::{AuxiliaryId, BlockId, LetterId, SiteId, StatementId, Symbols};

use super::Format;
use super::build::Builder;
use super::collected::without_choices;
use super::derivation::{Derivation, separated};
use super::document::{Item, Part, Row, Sign, Span, words};
use super::node::{Call, Node};
use super::number::Number;
use super::sweep::refreshed;

impl Derivation<'_> {
    /// The steps of a block; the first of them, which only picks terms of the log joint, where `all` are wanted. Where they
    /// stand alone they have headings, lines of the program and the optima of bounds beside them.
    pub(super) fn steps(&self, id: BlockId, all: bool, alone: bool, format: Format) -> Vec<Item> {
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
        items.extend(alone.then_some(Item::Heading("Terms of the log joint")));
        if all {
            let last = " in them; all others are part of the constant:";
            items.push(self.about(block, "Of the log joint, the terms with ", last));
            items.push(self.step(contributions, alone, |own| &own.selected));
        }
        let (bounded, shared): (Vec<Contribution>, Vec<Contribution>) = contributions
            .iter()
            .filter(|own| self.bounds_of(&own.bounded).is_some() || self.shares(&own.bounded))
            .cloned()
            .partition(|own| self.bounds_of(&own.bounded).is_some());
        if !bounded.is_empty() {
            items.extend(alone.then_some(Item::Heading("Bounds")));
            items.extend(self.allocations(block, &bounded, alone, format));
            items.push(self.step(&bounded, alone, |own| &own.bounded));
        }
        if !shared.is_empty() {
            items.extend(alone.then_some(Item::Heading("Implicit factors")));
            let first = "Under the implicit factors of q alone, which are always at their optimum, the expectation of the terms with ";
            items.push(self.about(block, first, ":"));
            items.push(self.step(&shared, alone, |own| &own.bounded));
        }
        let opened: Vec<Contribution> = contributions
            .iter()
            .filter(|own| !same(self.symbols(), &own.monomials, &own.bounded))
            .cloned()
            .collect();
        if !opened.is_empty() {
            items.extend(alone.then_some(Item::Heading("Products of statistics")));
            let first = "Multiplied out, the terms with ";
            items.push(self.about(block, first, ":"));
            items.push(self.step(&opened, alone, |own| &own.monomials));
        }
        items.extend(alone.then_some(Item::Heading("Expectation")));
        items.extend(self.expectation(id, contributions, alone));
        match &block.ascent {
            Some(ascent) => {
                items.push(Item::Heading("Method"));
                items.push(Item::Paragraph(self.method(block, ascent)));
            }
            None => {
                items.extend(alone.then_some(Item::Heading("Family")));
                items.push(Item::Paragraph(self.recognised(id, block)));
            }
        }
        items
    }

    /// A sentence about the variables of a block.
    fn about(&self, block: &Block, first: &str, last: &str) -> Item {
        let members = block.members.iter().map(|member| Span::Math(self.name(*member)));
        let mut line = vec![words(first)];
        line.extend(separated(members.collect()));
        line.push(words(last));
        Item::Paragraph(line)
    }

    /// One step of each statement: `log p(x | z) = terms + const`, and `>=` where a bound stands in the terms.
    fn step(&self, contributions: &[Contribution], lines: bool, sum: impl Fn(&Contribution) -> &Sum) -> Item {
        let row = |own: &Contribution| {
            let statement = &self.equations.statements[own.statement.index()];
            let log = Node::log(self.density(statement));
            let left = if self.shares(sum(own)) { Node::Expectation(Box::new(log)) } else { log };
            let mut right = Builder::new(self.scope(), &[]).sum(sum(own));
            right = Node::add(vec![right, Node::name("const")]);
            let note = self.line(own.statement).filter(|_| lines).map(|line| (line, Vec::new()));
            let relation = if self.bounds_of(sum(own)).is_some() { Sign::AtLeast } else { Sign::Equal };
            Row { left, relation, parts: vec![Part { node: right, note }], label: None }
        };
        Item::Rows(contributions.iter().map(row).collect())
    }

    /// `line 12`
    fn line(&self, statement: StatementId) -> Option<String> {
        self.stated.get(statement.index()).map(|stated| format!("line {}", stated.line))
    }

    /// The sites of bounds and the tangents in a sum, if there are any.
    fn bounds_of(&self, sum: &Sum) -> Option<(Vec<SiteId>, Vec<AuxiliaryId>)> {
        let sites = (0..self.equations.sites.len()).map(SiteId::from);
        let sites: Vec<SiteId> =
            sites.filter(|site| self.equations.implicit(*site).is_none() && holds_site(sum, *site)).collect();
        let tangents = (0..self.equations.auxiliaries.len()).map(AuxiliaryId::from);
        let tangents: Vec<AuxiliaryId> = tangents.filter(|id| holds_auxiliary(sum, *id)).collect();
        (!sites.is_empty() || !tangents.is_empty()).then_some((sites, tangents))
    }

    /// Whether the shares of an implicit factor stand in a sum.
    fn shares(&self, sum: &Sum) -> bool {
        let sites = (0..self.equations.sites.len()).map(SiteId::from);
        sites.into_iter().any(|site| self.equations.implicit(site).is_some() && holds_site(sum, site))
    }

    /// What is bounded, with the allocations where they are not stated elsewhere.
    fn allocations(&self, block: &Block, bounded: &[Contribution], alone: bool, format: Format) -> Vec<Item> {
        let (mut sites, mut tangents) = (Vec::new(), Vec::new());
        for (own_sites, own_tangents) in bounded.iter().filter_map(|own| self.bounds_of(&own.bounded)) {
            sites.extend(own_sites);
            tangents.extend(own_tangents);
        }
        let (sites, tangents) = (dedup(sites), dedup(tangents));
        let of_sites = sites.iter().map(|site| self.equations.site(*site).bound);
        let of_tangents = tangents.iter().map(|own| self.equations.auxiliary(*own).bound);
        let bounds = dedup(of_sites.chain(of_tangents).collect());
        let steps: Vec<&str> =
            bounds.into_iter().map(|bound| self.equations.bound(bound).words.step).collect();
        let held = refreshed(!sites.is_empty(), !tangents.is_empty()).unwrap_or_default();
        let mut items = Vec::new();
        if alone {
            items.extend(sites.into_iter().flat_map(|site| self.site(site, format)));
            items.extend(tangents.into_iter().flat_map(|own| self.auxiliary(own)));
        }
        let also = match bounded.iter().any(|own| self.shares(&own.bounded)) {
            true => " and in expectation under the implicit factors of q",
            false => "",
        };
        let first = format!("By {}, for any {held}{also}, the terms with ", steps.join(" and "));
        items.push(self.about(block, &first, ":"));
        items
    }

    /// `log q(w) = E[...] + const`, a part for each statement, the log times the weight of a row that has one; for a point its
    /// objective.
    fn expectation(&self, id: BlockId, contributions: &[Contribution], lines: bool) -> Vec<Item> {
        let block = self.equations.block(id);
        let mut symbols = self.symbols().clone();
        let sums: Vec<Sum> = contributions.iter().map(|own| own.expected(&mut symbols, block)).collect();
        // What does not hold the variables of the factor is part of the constant.
        let own = |term: &Term| block.members.iter().any(|member| Sum::term(term.clone()).mentions(*member));
        let sums: Vec<Sum> = sums
            .into_iter()
            .map(|sum| {
                let all = sum.terms.into_iter().map(|term| without_choices(&symbols, &term));
                let (held, rest): (Vec<Term>, Vec<Term>) = all.partition(own);
                Sum { terms: if held.is_empty() { rest } else { held } }
            })
            .collect();
        let letters: &[LetterId] = if block.ascent.is_some() { &[] } else { &block.plates };
        let mut builder = Builder::new(self.scope_with(&symbols), letters);
        let left = match block.mode {
            Mode::Point if block.ascent.is_some() => Node::name(&self.scope().objective()),
            Mode::Point => {
                let members = (0..block.members.len()).map(|member| builder.member(block, member)).collect();
                Node::Call(Call::Named("objective".to_owned()), members)
            }
            Mode::Distribution | Mode::Fixed | Mode::Implicit => {
                let log = Node::log(builder.q(block));
                self.weighted(&mut builder, block, log)
            }
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
            let node = match block.by {
                Some(_) => self.surrogate(&mut builder, id, block, own),
                None => builder.sum(sum),
            };
            parts.push(Part { node, note: Some(note) });
        }
        parts.push(Part { node: Node::name("const"), note: None });
        let random = self.equations.blocks.iter().any(|other| !other.is_point());
        let bounded = contributions.iter().any(|own| self.bounds_of(&own.bounded).is_some());
        let joint = if bounded { "the log joint, bounded as above," } else { "the log joint" };
        let words_of = match (block.by, random) {
            (Some(bound), _) => {
                let name = self.equations.bound(bound).words.step;
                format!(
                    "By {name} at the values before the update, marked by a tilde. This bound separates the elements, so that each is \
                     a problem of its own:"
                )
            }
            (None, _) if block.ascent.is_some() => {
                let all = if block.plates.is_empty() { "" } else { ", of all elements together" };
                match random {
                    true => {
                        format!("Its objective{all}: the expectation of {joint} under all other factors:")
                    }
                    false => format!("The objective as a function of it, all else held{all}:"),
                }
            }
            (None, true) if block.is_point() => {
                format!("Its objective is the expectation of {joint} under all other factors:")
            }
            (None, true) => {
                let times = if block.multiplicity.is_empty() { "" } else { ", times the weight of the row," };
                format!(
                    "The log of the best factor{times} is the expectation of {joint} under all other factors:"
                )
            }
            (None, false) => "The objective as a function of it, all else held:".to_owned(),
        };
        vec![
            Item::Paragraph(vec![words(words_of)]),
            Item::Rows(vec![Row {
                left,
                relation: if block.by.is_some() { Sign::AtLeast } else { Sign::Equal },
                parts,
                label: None,
            }]),
        ]
    }

    /// The coefficients of a bound at the old values, each times its statistic at the new ones.
    fn surrogate<'s>(
        &'s self,
        builder: &mut Builder<'s>,
        id: BlockId,
        block: &'s Block,
        own: &'s Contribution,
    ) -> Node {
        let terms = own.parts.iter().map(|part| {
            let statistic = builder.statistic(block, &self.moment(id, &part.statistic, &part.slots));
            let coefficient = builder.with_old(&block.members, |builder| builder.sum(&part.coefficient));
            let scaled = |(negative, addend): (bool, Node)| {
                let product = Node::times(vec![addend, statistic.clone()]);
                if negative { product.negated() } else { product }
            };
            Node::add(coefficient.addends().into_iter().map(scaled).collect())
        });
        Node::add(terms.collect())
    }

    /// `It is linear in log x and x, as the log of a Gamma density is.`
    fn recognised(&self, id: BlockId, block: &Block) -> Vec<Span> {
        let statistics = block.natural.iter().map(|natural| {
            let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            Span::Math(builder.statistic(block, &self.moment(id, &natural.statistic, &natural.slots)))
        });
        let family = self.standard.name(block.family);
        let family = family.split(" over ").next().unwrap_or(family);
        let mut line = vec![words("This is linear in ")];
        line.extend(separated(statistics.collect()));
        let divided = if block.multiplicity.is_empty() { "" } else { ", divided by the weight of the row," };
        line.push(words(match block.is_point() {
            true => ", so that these coefficients say where it is largest".to_owned(),
            false => format!(
                ", as the log of the {family} density is: the best factor is of this family, and the coefficients{divided} are its \
                 natural parameters"
            ),
        }));
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
    sum.any_atom(&|atom| matches!(atom, Atom::Allocation { site: own, .. } if *own == site))
}

/// Whether an auxiliary variable stands in a sum.
fn holds_auxiliary(sum: &Sum, id: AuxiliaryId) -> bool {
    sum.any_atom(&|atom| matches!(atom, Atom::Auxiliary { id: own, .. } if *own == id))
}
