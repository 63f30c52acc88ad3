//! The standard form of a block: the parameters that papers print, expectations, and what the bound takes of the family.

use crate::equations::{Block, Mode, Natural};
use crate::statistic::{Elementary, Statistic};
use crate::sum_of_products::Atom;
use crate::symbols::{ArrayKind, BlockId, LetterId, Support, Symbols};

use super::build::Builder;
use super::counts::Counts;
use super::derivation::Derivation;
use super::document::{Item, Row, Span, words};
use super::node::{Call, Node};
use super::standard::{Formula, Limit, Resolved, Shown, StandardParameter, resolve, slots};

impl Derivation<'_> {
    /// The parameters that the standard form of a block states: those of its family; of a point the matrix that its maximiser
    /// inverts, and the inverse.
    pub(super) fn parameters_of(&self, block: &Block) -> Vec<StandardParameter> {
        let mut all = self.standard.standard(block.family);
        if block.is_point() {
            let inverted = all.iter().position(|own| matches!(own.formula, Formula::Inverse(_)));
            all.truncate(inverted.map_or(0, |place| place + 1));
            let mode = self.standard.mode(block.family).filter(|_| block.ascent.is_none());
            if mode.is_none_or(|mode| mode.over(&all) == mode) {
                all.clear();
            }
        }
        all
    }

    /// The standard parameters of a block, each over its letters.
    pub(super) fn standard_parameters(&self, symbols: &mut Symbols, block: &Block) -> Vec<Shown> {
        let mut shown: Vec<Shown> = Vec::new();
        let of = self.owner(block);
        for StandardParameter { name, formula } in self.parameters_of(block) {
            let slots = slots(&formula, &block.natural, &shown);
            let value = self.resolved(symbols, block, &formula, &shown, &slots);
            // What keeps its start follows from no coefficients, and may differ from element to element.
            let plates = match block.mode {
                Mode::Fixed => self.with_ancestors(&block.copies(symbols)),
                Mode::Distribution | Mode::Point | Mode::Implicit => value.plates(symbols, block, &shown),
            };
            let name = self.scope().standard(name);
            shown.push(Shown { name, of: of.clone(), plates, slots, value });
        }
        shown
    }

    /// The standard parameters of a block, each with its value: one that is an inverse as a whole matrix, the others by elements.
    pub(super) fn stated_nodes(
        &self,
        block: &Block,
        symbols: &Symbols,
        shown: &[Shown],
    ) -> Vec<(Node, Node)> {
        let nodes = shown.iter().map(|own| {
            let letters: Vec<LetterId> = block.plates.iter().chain(&own.slots).copied().collect();
            let mut builder = Builder::new(self.scope_with(symbols), &letters);
            let left = match own.value {
                Resolved::Inverse(_) => own.whole(&mut builder, &own.slots),
                _ => own.element(&mut builder, &own.slots),
            };
            (left, builder.with_old(self.old(block), |builder| own.value.node(builder, shown)))
        });
        nodes.collect()
    }

    pub(super) fn standard_form(&self, id: BlockId, counts: &Counts) -> Vec<Item> {
        let (block, mut symbols) = (counts.block(id), counts.symbols.clone());
        if block.is_point() {
            return self.mode(id, counts);
        }
        if block.members.len() > 1 && self.standard.one_vector(block.family) {
            let line = "With the members beside each other in one vector: its precision is -2 times the matrix of the \
                        coefficients of products (half of a product of two different elements on each side of the \
                        diagonal), its mean the covariance times the coefficients of the elements.";
            return vec![Item::Paragraph(vec![words(line)])];
        }
        let shown = self.standard_parameters(&mut symbols, block);
        let stated: Vec<Shown> = shown.iter().map(|own| own.on_page(&symbols)).collect();
        let mut over: Vec<Span> = Vec::new();
        let nodes = self.stated_nodes(block, &symbols, &stated);
        let mut rows: Vec<Row> = Vec::new();
        for ((left, right), own) in nodes.into_iter().zip(&stated) {
            if let (Resolved::Normalised(_), Some(slot)) = (&own.value, own.slots.last()) {
                let letters: Vec<LetterId> = block.plates.iter().chain(&own.slots).copied().collect();
                let mut builder = Builder::new(self.scope_with(&symbols), &letters);
                over = builder.subscripts_of(&[*slot]).pop().map(Span::Math).into_iter().collect();
                rows.push(Row::proportional(left, right));
            } else {
                rows.push(Row::equal(left, right));
            }
        }
        for (statistic, formula) in self.expectations_of(block) {
            let slots = self.slots_of(block, &statistic);
            let value = self.resolved(&mut symbols, block, &formula, &shown, &slots);
            let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
            let mut builder = Builder::new(self.scope_with(&symbols), &letters);
            let left = builder.moment(&self.moment(id, &statistic, &slots));
            rows.push(Row::equal(left, value.node(&mut builder, &shown)));
        }
        if self.standard.paired(block.family)
            && let Some(formula) = self.standard.log_normaliser(block.family)
        {
            let value = self.resolved(&mut symbols, block, &formula, &shown, &[]);
            let mut builder = Builder::new(self.scope_with(&symbols), &block.plates);
            let left = Node::call(Call::Named(self.scope().normaliser()), builder.q(block));
            rows.push(Row::equal(left, value.node(&mut builder, &shown)));
        }
        if let Some(formula) = self.standard.entropy(block.family) {
            let value = self.resolved(&mut symbols, block, &formula, &shown, &[]);
            let mut builder = Builder::new(self.scope_with(&symbols), &block.plates);
            let left = Node::Entropy(Box::new(builder.q(block)));
            rows.push(Row::equal(left, value.node(&mut builder, &shown)));
        }
        let mut limits = self.standard.limits(block.family);
        limits.retain(|own| may_be_zero(&symbols, &shown[own.parameter].value));
        let limits: Vec<Item> =
            limits.iter().flat_map(|own| self.limit(id, block, &mut symbols, &shown, own)).collect();
        let finite = self.finite_where(id, block, &mut symbols, &shown, &self.standard.finite(block.family));
        match rows.first_mut() {
            Some(first) => first.label = Some(self.label_of(block)),
            None => return Vec::new(),
        }
        let mut items = vec![Item::Paragraph(vec![words("Standard form:")]), Item::Rows(rows)];
        if !over.is_empty() {
            let mut line = vec![words("normalised over ")];
            line.extend(over);
            line.push(words("."));
            items.push(Item::Paragraph(line));
        }
        items.extend(finite);
        items.extend(limits);
        items
    }

    /// A sentence for each expectation that is finite under a condition only.
    fn finite_where(
        &self,
        id: BlockId,
        block: &Block,
        symbols: &mut Symbols,
        shown: &[Shown],
        all: &[(Statistic, [Formula; 2])],
    ) -> Vec<Item> {
        let sentences = all.iter().map(|(statistic, both)| {
            let slots = self.slots_of(block, statistic);
            let values = both.each_ref().map(|own| self.resolved(symbols, block, own, shown, &[]));
            let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
            let mut builder = Builder::new(self.scope_with(symbols), &letters);
            let left = builder.moment(&self.moment(id, statistic, &slots));
            let [own, least] = values.map(|value| Span::Math(value.node(&mut builder, shown)));
            let words_of = [" is not finite where ", " is ", " or less."].map(words);
            let [first, second, last] = words_of;
            Item::Paragraph(vec![Span::Math(left), first, own, second, least, last])
        });
        sentences.collect()
    }

    /// What stands in the place of the formulas of a family where a parameter is 0.
    fn limit(
        &self,
        id: BlockId,
        block: &Block,
        symbols: &mut Symbols,
        shown: &[Shown],
        limit: &Limit,
    ) -> Vec<Item> {
        let mut rows = Vec::new();
        for (statistic, formula) in &limit.expectations {
            let slots = self.slots_of(block, statistic);
            let value = self.resolved(symbols, block, formula, shown, &slots);
            let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
            let mut builder = Builder::new(self.scope_with(symbols), &letters);
            let left = builder.moment(&self.moment(id, statistic, &slots));
            rows.push(Row::equal(left, value.node(&mut builder, shown)));
        }
        let value = self.resolved(symbols, block, &limit.log_normaliser, shown, &[]);
        let finite = self.finite_where(id, block, symbols, shown, &limit.finite);
        let mut builder = Builder::new(self.scope_with(symbols), &block.plates);
        let left = Node::call(Call::Named(self.scope().normaliser()), builder.q(block));
        rows.push(Row::equal(left, value.node(&mut builder, shown)));
        let own = &shown[limit.parameter];
        let parameter = Span::Math(own.element(&mut builder, &own.slots));
        let sentence = vec![words("Where "), parameter, words(" is 0, these stand in their place:")];
        let mut items = vec![Item::Paragraph(sentence), Item::Rows(rows)];
        items.extend(finite);
        items
    }

    /// A formula of a block with its coefficients put in.
    fn resolved(
        &self,
        symbols: &mut Symbols,
        block: &Block,
        formula: &Formula,
        shown: &[Shown],
        slots: &[LetterId],
    ) -> Resolved {
        resolve(symbols, &self.equations.blocks, formula, &block.natural, shown, slots)
    }

    /// The expectations that a family states; where it has a mean and a covariance, the second moment that follows.
    fn expectations_of(&self, block: &Block) -> Vec<(Statistic, Formula)> {
        let mut all = self.standard.expectations(block.family);
        let find =
            |own: &Statistic| all.iter().find(|(statistic, _)| statistic == own).map(|found| found.1.clone());
        if block.members.len() == 1
            && let (Some(mean), Some(covariance)) =
                (find(&Statistic::identity()), find(&Statistic::covariance()))
            && find(&Statistic::square()).is_none()
        {
            let slots = block.slices.first().is_some_and(|slices| !slices.is_empty());
            let (statistic, square) = match slots {
                true => (Statistic::outer(), Formula::Outer(Box::new(mean.clone()), Box::new(mean))),
                false => (Statistic::square(), Formula::Multiply(vec![mean.clone(), mean])),
            };
            all.push((statistic, Formula::Add(vec![square, covariance])));
        }
        all
    }

    /// The letters of the slots of a statistic: those of the natural parameter with it, else made of the block's.
    pub(super) fn slots_of(&self, block: &Block, statistic: &Statistic) -> Vec<LetterId> {
        if let Some(natural) = block.natural.iter().find(|natural| natural.statistic == *statistic) {
            return natural.slots.clone();
        }
        let pairs = block.natural.iter().find(|natural| natural.statistic.0.len() == statistic.0.len());
        let slots = statistic.0.iter().flat_map(|(member, elementary)| match elementary {
            Elementary::Indicator => block.classes.into_iter().collect::<Vec<_>>(),
            Elementary::Power(_)
            | Elementary::Log
            | Elementary::LogComplement
            | Elementary::LogDeterminant
            | Elementary::Contracted(_)
            | Elementary::Centred
            | Elementary::Mass
            | Elementary::MassOfComplement => {
                let mut own = block.slices.get(usize::from(*member)).cloned().unwrap_or_default();
                own.truncate(elementary.slots(own.len()));
                own
            }
        });
        let slots: Vec<LetterId> = slots.collect();
        // A covariance takes the two letters that the outer product has.
        let pairs = pairs.filter(|natural| natural.slots.len() == slots.len()).or_else(|| {
            let pair = |natural: &&Natural| natural.slots.len() == 2 && slots.len() == 2;
            block.natural.iter().find(pair)
        });
        pairs.map_or(slots, |natural| natural.slots.clone())
    }
}

/// Whether a parameter is 0 for some data: each of its terms stands for entries that may be missing, that a condition chooses, or that
/// data multiply which may be 0.
fn may_be_zero(symbols: &Symbols, value: &Resolved) -> bool {
    let Resolved::Sum(sum) = value else { return false };
    let may_be = |atom: &Atom| match atom {
        Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => true,
        Atom::Value(array, _) => {
            let own = symbols.array(*array);
            let nonzero =
                matches!(own.support, Support::Positive | Support::Unit | Support::PositiveDefinite);
            own.kind == ArrayKind::Data && (!nonzero || own.center.is_some())
        }
        _ => false,
    };
    sum.terms.iter().all(|term| term.factors.iter().any(|own| own.power > 0 && may_be(&own.atom)))
}
