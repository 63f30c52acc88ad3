//! The bounds of a derivation: what each states, then the allocations and auxiliary variables where it is tight.

use crate::bound::Side;
use crate::equations::{Addend, Auxiliary, Site};
use crate::expression::{Function, Subscript};
use crate::sum_of_products::{Atom, Factor, Term, dedup};
use crate::symbols::{AuxiliaryId, BoundId, LetterId, SiteId};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Row, Sign, Span, words};
use super::node::Node;
use super::{Format, Scope};

impl Derivation<'_> {
    /// The bounds that the derivation uses.
    pub(super) fn used_bounds(&self) -> Vec<BoundId> {
        let used = |id: &BoundId| {
            let by = self.equations.blocks.iter().any(|block| block.by == Some(*id));
            by || self.sites_of(*id).next().is_some() || self.auxiliaries_of(*id).next().is_some()
        };
        (0..self.equations.bounds.len()).map(BoundId::from).filter(used).collect()
    }

    /// A bound, and where it is tight.
    pub(super) fn bound(&self, id: BoundId, format: Format) -> Vec<Item> {
        let own = self.equations.bound(id);
        let (inequality, equality) = self.inequality(id);
        let mut items = vec![
            Item::Paragraph(vec![words(own.words.holds)]),
            Item::Rows(vec![inequality]),
            Item::Paragraph(vec![words(own.words.equal)]),
            Item::Rows(vec![equality]),
        ];
        // Where nothing is random, both sides are equal at the best values.
        let best = match self.has_distribution() {
            true => own.words.best,
            false => {
                own.words.best.map(|_| "All latent variables are points, so that both sides are equal at:")
            }
        };
        items.extend(best.map(|best| Item::Paragraph(vec![words(best)])));
        items.extend(self.sites_of(id).flat_map(|site| self.site(site, format)));
        items.extend(self.auxiliaries_of(id).flat_map(|own| self.auxiliary(own)));
        items
    }

    /// The logs of sums under a bound; what an implicit factor adds is no bound, but exact.
    fn sites_of(&self, bound: BoundId) -> impl Iterator<Item = SiteId> {
        let own = self.equations.sites.iter().enumerate().filter(move |(_, site)| site.bound == bound);
        own.map(|(site, _)| SiteId::from(site)).filter(|site| self.equations.implicit(*site).is_none())
    }

    fn auxiliaries_of(&self, bound: BoundId) -> impl Iterator<Item = AuxiliaryId> {
        let own = self.equations.auxiliaries.iter().enumerate().filter(move |(_, own)| own.bound == bound);
        own.map(|(id, _)| AuxiliaryId::from(id))
    }

    /// What a bound states and where both sides are equal, its auxiliary variable called as it is in the rest of the
    /// derivation.
    fn inequality(&self, id: BoundId) -> (Row, Row) {
        let own = &self.equations.bound(id).inequality;
        let mut symbols = own.symbols.clone();
        let argument = &mut symbols.arrays[own.argument.index()].name;
        *argument = self.scope().argument(argument);
        symbols.arrays[own.auxiliary.index()].name = match self.auxiliaries_of(id).next() {
            Some(_) => self.scope().auxiliary_base(),
            None => self.scope().allocation(self.sites_of(id).next().unwrap_or(SiteId(0))),
        };
        let mut builder = Builder::new(Scope::before(&symbols), &[]);
        let relation = match own.side {
            Side::Above => Sign::AtMost,
            Side::Below => Sign::AtLeast,
        };
        let inequality = Row { relation, ..Row::equal(builder.sum(&own.left), builder.sum(&own.right)) };
        let letters = &symbols.array(own.auxiliary).letters;
        let mut builder = Builder::new(Scope::before(&symbols), letters);
        let subscripts: Vec<Subscript> = letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        let auxiliary = builder.element(own.auxiliary, &subscripts);
        // `xi^2 = s^2` reads better than a root of a square.
        let equality = match own.optimum.terms.as_slice() {
            [Term { factors, .. }] => match factors.as_slice() {
                [Factor { atom: Atom::Apply(Function::Sqrt, square), power: 1 }] => {
                    Row::equal(auxiliary.raised(Node::number(2.0)), builder.sum(&square[0]))
                }
                _ => Row::equal(auxiliary, builder.sum(&own.optimum)),
            },
            _ => Row::equal(auxiliary, builder.sum(&own.optimum)),
        };
        (inequality, equality)
    }

    /// `xi[n]^2 = E[(...)^2]`
    pub(super) fn auxiliary(&self, id: AuxiliaryId) -> Vec<Item> {
        let own: &Auxiliary = self.equations.auxiliary(id);
        let mut builder = Builder::new(self.scope(), &own.plates);
        let subscripts = builder.subscripts_of(&own.plates);
        let left = builder.auxiliary(id, subscripts).raised(Node::number(2.0));
        let row = Row::equal(left, builder.sum(&own.square)).labelled(self.label_of_auxiliary(id));
        let target = self.name(self.equations.statements[own.statement.index()].target);
        let line = vec![words("in the density of "), Span::Math(target), words(".")];
        vec![Item::Rows(vec![row]), Item::Paragraph(line)]
    }

    /// The label of the allocations of a site, or of an implicit factor.
    pub(super) fn label_of_site(&self, id: SiteId) -> String {
        match self.equations.implicit(id) {
            Some(variable) => self.label(&self.symbols().array(variable).name),
            None => self.label(&format!("shares:{}", id.index() + 1)),
        }
    }

    /// The label of the auxiliary variable of a tangent.
    pub(super) fn label_of_auxiliary(&self, id: AuxiliaryId) -> String {
        self.label(&format!("tangent:{}", id.index() + 1))
    }

    /// `phi[d,v,k] ∝ exp(...)`
    pub(super) fn site(&self, id: SiteId, format: Format) -> Vec<Item> {
        let site: &Site = self.equations.site(id);
        let target = self.name(self.equations.statements[site.statement.index()].target);
        let row = |(index, addend): (usize, &Addend)| {
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let subscripts = builder.subscripts_of(&letters);
            let left = builder.allocation(id, index, subscripts);
            Row::proportional(left, builder.exponential(&addend.log_weight))
        };
        let mut rows: Vec<Row> = site.addends.iter().enumerate().map(row).collect();
        if let Some(first) = rows.first_mut() {
            first.label = Some(self.label_of_site(id));
        }
        let mut over: Vec<LetterId> =
            dedup(site.addends.iter().flat_map(|addend| addend.letters.clone()).collect());
        over.retain(|letter| !site.plates.contains(letter));
        let mut line = vec![words("in the density of "), Span::Math(target), words(", normalised ")];
        let letters: Vec<LetterId> = site.plates.iter().chain(&over).copied().collect();
        let mut builder = Builder::new(self.scope(), &letters);
        let shown: Vec<Node> =
            over.iter().filter_map(|letter| builder.subscripts_of(&[*letter]).pop()).collect();
        let mut all: Vec<Span> = shown.into_iter().map(Span::Math).collect();
        if site.addends.len() > 1 {
            all.push(words("all of these together"));
        }
        line.push(words("over "));
        line.extend(separated(all));
        if site.weight.as_number() != Some(1.0) {
            line.push(words(", with the weight "));
            line.push(Span::Math(Builder::new(self.scope(), &site.plates).sum(&site.weight)));
        }
        line.push(words("."));
        let mut items = vec![Item::Rows(rows), Item::Paragraph(line)];
        items.extend(self.other_rules(id, format));
        items
    }
}
