//! The evidence lower bound, or the objective where nothing is random, term by term.

use crate::canonical::canonical;
use crate::equations::{Block, Mode, StatementEquation};
use crate::sum_of_products::{Atom, Sum};
use crate::symbols::{BlockId, LetterId, SiteId, StatementId};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Row, Sign, Span, words};
use super::node::{Call, Node};
use super::number::Number;

impl Derivation<'_> {
    /// `E[log p(x | ...)]`, without the expectation where nothing is random.
    pub(super) fn expected(&self, statement: &StatementEquation) -> Node {
        let log = Node::log(self.density(statement));
        if self.has_distribution() { Node::Expectation(Box::new(log)) } else { log }
    }

    pub(super) fn elbo(&self) -> Vec<Item> {
        let statements = &self.equations.statements;
        let mut summary: Vec<Node> = statements.iter().map(|statement| self.expected(statement)).collect();
        let named = |block: &Block| {
            let q = Node::Call(Call::Q, block.members.iter().map(|member| self.name(*member)).collect());
            Node::Entropy(Box::new(q))
        };
        let random: Vec<BlockId> = (0..self.equations.blocks.len())
            .map(BlockId::from)
            .filter(|id| !self.equations.block(*id).is_point())
            .collect();
        summary.extend(random.iter().map(|id| named(self.equations.block(*id))));
        let implicit = self.implicit();
        let entropy_of = |site: &SiteId| {
            let z = self.equations.implicit(*site).expect("the site of an implicit factor");
            Node::Entropy(Box::new(Node::Call(Call::Q, vec![self.name(z)])))
        };
        summary.extend(implicit.iter().map(entropy_of));
        let name = if self.has_distribution() { "ELBO" } else { "objective" };
        let bounded = (0..statements.len()).any(|index| self.relation_of(index) == Sign::AtLeast);
        // Where a term is bounded, what is maximised lies below the sum, which is a bound itself.
        let (left, relation) = match bounded {
            true => (Node::log(Node::Density(self.seen(), Vec::new())), Sign::AtLeast),
            false => (Node::name(name), Sign::Equal),
        };
        let whole = Row { relation, ..Row::equal(left, Node::add(summary)) };
        let whole = whole.labelled(self.label("bound:elbo"));
        let mut items = vec![Item::Rows(vec![whole])];
        let terms_of = |index: usize| {
            let of = |all: &[(StatementId, Sum)]| {
                let own = all.iter().find(|(statement, _)| *statement == StatementId::from(index));
                own.map(|(_, terms)| terms.clone())
            };
            let elbo = &self.equations.elbo;
            of(&elbo.shared).or_else(|| of(&elbo.terms)).unwrap_or_default()
        };
        let mut rows = Vec::new();
        let mut used: Vec<usize> = Vec::new();
        let mut paired = false;
        // Of the factors whose entropy is paired with the prior: those that keep their start, and whether any does not.
        let (mut fixed, mut updated) = (Vec::new(), false);
        let mut entropies = Vec::new();
        for id in &random {
            let block = self.equations.block(*id);
            if !self.standard.paired(block.family) {
                // Of one copy there is nothing to sum, and the row would say nothing.
                if !block.copies(self.symbols()).is_empty() || block.is_weighed() {
                    entropies.push(Row::equal(named(block), self.entropy(block)));
                }
                continue;
            }
            paired = true;
            if block.mode == Mode::Fixed {
                fixed.push(self.left_of(block))
            } else {
                updated = true
            }
            let own: Vec<usize> = (0..statements.len())
                .filter(|index| block.members.contains(&statements[*index].target))
                .collect();
            let mut left: Vec<Node> = own.iter().map(|index| self.expected(&statements[*index])).collect();
            left.push(named(block));
            let terms = own.iter().fold(Sum::zero(), |sum, index| sum.plus(terms_of(*index)));
            let mut right = Builder::new(self.scope(), &[]).sum(&terms);
            right = Node::add(vec![right, self.pairing(*id, block)]);
            let relation = if own.iter().any(|index| self.relation_of(*index) == Sign::AtLeast) {
                Sign::AtLeast
            } else {
                Sign::Equal
            };
            let row = Row { relation, ..Row::equal(Node::add(left), right) };
            rows.push((own.first().copied().unwrap_or(usize::MAX), row));
            used.extend(own);
        }
        for (index, statement) in statements.iter().enumerate() {
            if !used.contains(&index) {
                let right = Builder::new(self.scope(), &[]).sum(&terms_of(index));
                let row = Row::equal(self.expected(statement), right);
                rows.push((index, Row { relation: self.relation_of(index), ..row }));
            }
        }
        rows.sort_by_key(|(index, _)| *index);
        items.push(Item::Paragraph(vec![words("with")]));
        items.extend(rows.into_iter().map(|(_, row)| Item::Rows(vec![row])));
        for site in &implicit {
            entropies.push(Row::equal(entropy_of(site), self.implicit_entropy(*site)));
        }
        if !entropies.is_empty() {
            items.push(Item::Rows(entropies));
        }
        let sum = "The evidence lower bound (ELBO) that is maximised is the sum of the right sides";
        if bounded && !paired {
            items.push(Item::Paragraph(vec![words(format!("{sum}."))]));
        }
        if paired {
            let mut line = vec![
                words(if bounded { format!("{sum}, where ") } else { "where ".to_owned() }),
                Span::Math(Node::call(Call::Named(self.scope().natural()), Node::name("t"))),
                words(" is the natural parameter of the statistic "),
                Span::Math(Node::name("t")),
                words(" and "),
                Span::Math(Node::call(Call::Named(self.scope().normaliser()), Node::name("q"))),
                words(" the log-normaliser of "),
                Span::Math(Node::name("q")),
            ];
            line.push(words(if updated {
                ", both as they stand above"
            } else {
                ", both those of the start"
            }));
            if updated && !fixed.is_empty() {
                line.push(words("; those of "));
                line.extend(separated(fixed.into_iter().map(Span::Math).collect()));
                line.push(words(" are those of its start"));
            }
            line.push(words("."));
            items.push(Item::Paragraph(line));
        }
        items.extend(self.observed_in_bound().map(Item::Paragraph));
        items
    }

    /// The data, and the variables that are points: what the bound is a bound of the log-density of.
    pub(super) fn seen(&self) -> Vec<Node> {
        let points = self.equations.blocks.iter().filter(|block| block.is_point());
        let points = points.flat_map(|block| &block.members).map(|member| self.name(*member));
        [Node::name("data")].into_iter().chain(points).collect()
    }

    /// How the expected log-density of a statement stands to its terms in the bound: above them where a bound has something
    /// random in it, whose expectation is not the value at one point.
    fn relation_of(&self, index: usize) -> Sign {
        let statement = StatementId::from(index);
        let random =
            |sum: &Sum| sum.any_atom(&|atom| matches!(atom, Atom::Moment(_) | Atom::ExpectedSquare(_)));
        let sites = self.equations.sites.iter().enumerate();
        let of_sites = sites
            .filter(|(id, site)| {
                site.statement == statement && self.equations.implicit(SiteId::from(*id)).is_none()
            })
            .any(|(_, site)| site.addends.iter().any(|addend| random(&addend.log_weight)));
        let tangents = self.equations.auxiliaries.iter();
        let of_tangents = tangents.filter(|own| own.statement == statement).any(|own| random(&own.square));
        if of_sites || of_tangents { Sign::AtLeast } else { Sign::Equal }
    }

    /// The sites of the implicit factors.
    pub(super) fn implicit(&self) -> Vec<SiteId> {
        let sites = (0..self.equations.sites.len()).map(SiteId::from);
        sites.filter(|site| self.equations.implicit(*site).is_some()).collect()
    }

    /// `-sum[n,k](phi[n,k] * log phi[n,k])`, rows weighted by their multiplicity.
    fn implicit_entropy(&self, id: SiteId) -> Node {
        let site = self.equations.site(id);
        let addends = site.addends.iter().enumerate().map(|(number, addend)| {
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let all = self.with_ancestors(&letters);
            let sum = Builder::new(self.scope(), &[]).summed(&all, |builder| {
                let subscripts = builder.subscripts_of(&letters);
                let share = builder.allocation(id, number, subscripts);
                let mut factors: Vec<Node> = Vec::new();
                if site.weight.as_number() != Some(1.0) {
                    factors.push(builder.sum(&site.weight));
                }
                factors.push(share.clone());
                factors.push(Node::log(share));
                Node::times(factors)
            });
            sum.negated()
        });
        Node::add(addends.collect())
    }

    /// `sum[n](H[q(z[n])])`, rows weighted by their multiplicity.
    fn entropy(&self, block: &Block) -> Node {
        let plates = self.with_ancestors(&block.copies(self.symbols()));
        Builder::new(self.scope(), &[]).summed_where(&plates, block.exists.as_ref(), |builder| {
            let entropy = Node::Entropy(Box::new(builder.q(block)));
            self.weighted(builder, block, entropy)
        })
    }

    /// A node times the weight of the row of a block.
    pub(super) fn weighted(&self, builder: &mut Builder<'_>, block: &Block, node: Node) -> Node {
        let mut factors: Vec<Node> =
            block.multiplicity.iter().map(|atom| builder.sum(&Sum::atom(atom.clone()))).collect();
        factors.push(node);
        Node::times(factors)
    }

    /// `sum((prior - eta) E[t]) + sum(A(q))`
    fn pairing(&self, id: BlockId, block: &Block) -> Node {
        let mut symbols = self.symbols().clone();
        let mut nodes = Vec::new();
        for (index, natural) in block.natural.iter().enumerate() {
            let prior = block.prior.get(index).cloned().unwrap_or_default();
            let prior = canonical(&mut symbols, &prior);
            let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
            let node = Builder::new(self.scope_with(&symbols), &[]).summed_where(
                &self.with_ancestors(&letters),
                block.exists.as_ref(),
                |builder| {
                    let eta = self.eta(builder, id, index).negated();
                    let change = Node::add(vec![builder.sum(&prior), eta]);
                    let moment = builder.moment(&self.moment(id, &natural.statistic, &natural.slots));
                    let product = Node::product(Number::one(), vec![change, moment], Vec::new());
                    self.weighted(builder, block, product)
                },
            );
            nodes.push(node);
        }
        let plates = self.with_ancestors(&block.copies(&symbols));
        let exists = block.exists.as_ref();
        nodes.push(Builder::new(self.scope_with(&symbols), &[]).summed_where(&plates, exists, |builder| {
            let normaliser = Node::call(Call::Named(self.scope().normaliser()), builder.q(block));
            self.weighted(builder, block, normaliser)
        }));
        Node::add(nodes)
    }
}
