//! The bounds of a derivation: logs of sums with their allocations, tangents with their auxiliary variables.

use crate::equations::{Auxiliary, Site};
use crate::expression::Function;
use crate::sum_of_products::dedup;
use crate::symbols::{AuxiliaryId, LetterId, SiteId, StatementId};

use super::build::{Builder, even_softplus, half};
use super::derivation::{Derivation, separated};
use super::document::{Item, Row, Sign, Span, words};
use super::node::{Call, Node, Range};
use super::number::Number;

impl Derivation<'_> {
    pub(super) fn has_bounds(&self) -> bool {
        !(self.equations.sites.is_empty() && self.equations.auxiliaries.is_empty())
    }

    pub(super) fn bounds(&self) -> Vec<Item> {
        let mut items = if self.equations.sites.is_empty() { Vec::new() } else { self.log_sums() };
        if !self.equations.auxiliaries.is_empty() {
            items.extend(self.tangents());
        }
        items
    }

    /// `softplus(y) <= y / 2 + log(2 cosh(xi / 2)) + tanh(xi / 2) / (4 xi) (y^2 - xi^2)`, and where it is tight.
    fn tangents(&self) -> Vec<Item> {
        let y = || Node::name(self.scope().argument());
        let xi = || Node::name(&self.scope().auxiliary_base());
        let square = |node: Node| node.raised(Node::number(2.0));
        let change = Node::Add(vec![square(y()), square(xi()).negated()]);
        let right = Node::Add(vec![
            Node::product(Number::one(), vec![y()], vec![Node::number(2.0)]),
            even_softplus(xi()),
            Node::product(
                Number::one(),
                vec![Node::call(Call::Tanh, half(xi())), change],
                vec![Node::number(4.0), xi()],
            ),
        ]);
        let left = Node::call(Call::Function(Function::Softplus), y());
        let row = Row { relation: Sign::AtMost, ..Row::equal(left, right) };
        let mut items = vec![
            Item::Paragraph(vec![words(
                "Beside a line, softplus is concave in the square of its argument, and lies below its tangents:",
            )]),
            Item::Rows(vec![row]),
            Item::Paragraph(vec![words("which is tight where the square is its expectation:")]),
        ];
        items.extend(self.tangents_of(|_| true));
        items
    }

    /// `xi[n] = sqrt(E[(...)^2])` of the auxiliary variables of these statements.
    pub(super) fn tangents_of(&self, wanted: impl Fn(StatementId) -> bool) -> Vec<Item> {
        let shown = |(index, own): (usize, &Auxiliary)| {
            let mut builder = Builder::new(self.scope(), &own.plates);
            let subscripts = builder.subscripts_of(&own.plates);
            let left = builder.auxiliary(AuxiliaryId::from(index), subscripts).raised(Node::number(2.0));
            let row = Row::equal(left, builder.sum(&own.square));
            let target = self.name(self.equations.statements[own.statement.index()].target);
            let line = vec![words("in the density of "), Span::Math(target), words(".")];
            vec![Item::Rows(vec![row]), Item::Paragraph(line)]
        };
        let own = self.equations.auxiliaries.iter().enumerate();
        own.filter(|(_, own)| wanted(own.statement)).flat_map(shown).collect()
    }

    fn log_sums(&self) -> Vec<Item> {
        let letter = Node::Letter("c".to_owned());
        let at = |name: &str| Node::element(name, vec![letter.clone()]);
        let sum = |body: Node| {
            Node::Sum(Range { letters: vec![letter.clone()], conditions: Vec::new() }, Box::new(body))
        };
        let share = self.scope().allocation(SiteId(0));
        let gain = Node::Add(vec![Node::log(at("f")), Node::log(at(&share)).negated()]);
        let row = Row {
            relation: Sign::AtLeast,
            ..Row::equal(Node::log(sum(at("f"))), sum(Node::times(vec![at(&share), gain])))
        };
        let mut items = vec![
            Item::Paragraph(vec![words("The log of a sum is bounded below for any shares that sum to 1,")]),
            Item::Rows(vec![row]),
            Item::Paragraph(vec![words(
                "which is tight at shares proportional to the exponential of the expected log:",
            )]),
        ];
        items.extend((0..self.equations.sites.len()).flat_map(|site| self.bound(SiteId::from(site))));
        items
    }

    pub(super) fn bound(&self, id: SiteId) -> Vec<Item> {
        let site: &Site = self.equations.site(id);
        let target = self.name(self.equations.statements[site.statement.index()].target);
        let row = |(index, addend): (usize, &crate::equations::Addend)| {
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let subscripts = builder.subscripts_of(&letters);
            let left = builder.allocation(id, index, subscripts);
            Row::proportional(left, builder.exponential(&addend.log_weight))
        };
        let rows = site.addends.iter().enumerate().map(row).collect();
        let mut over: Vec<LetterId> =
            dedup(site.addends.iter().flat_map(|addend| addend.letters.clone()).collect());
        over.retain(|letter| !site.plates.contains(letter));
        let mut line = vec![words("in the density of "), Span::Math(target), words(", normalised ")];
        if site.addends.len() > 1 {
            line.push(words("over all of these together"));
        } else {
            let letters: Vec<LetterId> = site.plates.iter().chain(&over).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let shown = over.iter().filter_map(|letter| builder.subscripts_of(&[*letter]).pop());
            line.push(words("over "));
            line.extend(separated(shown.map(Span::Math).collect()));
        }
        if site.weight.as_number() != Some(1.0) {
            line.push(words(", with the weight "));
            line.push(Span::Math(Builder::new(self.scope(), &site.plates).sum(&site.weight)));
        }
        line.push(words("."));
        vec![Item::Rows(rows), Item::Paragraph(line)]
    }
}
