//! The whole derivation: model, factorisation, bounds, updates, sweep and bound.

use crate::canonical::canonical;
use crate::equations::{Block, Equations, Mode, Site, StatementEquation};
use crate::expression::{Expression, Subscript};
use crate::statistic::{Elementary, Statistic};
use crate::sum_of_products::{Moment, Sum, dedup};
use crate::symbols::{ArrayId, ArrayKind, AxisId, BlockId, LetterId, SiteId, StatementId, Support, Symbols};

use super::build::Builder;
use super::document::{Item, Part, Row, Sign, Span, render, words};
use super::node::{Call, Node, Range};
use super::number::Number;
use super::standard::{Formula, Shown, Standard, StandardParameter, parameter, resolve, sliced, slots};
use super::{Format, Scope};

/// What a derivation is printed from.
#[derive(Clone, Copy)]
pub struct Derivation<'a> {
    /// The derived program.
    pub equations: &'a Equations,
    /// The lines of the program that state the model.
    pub program: &'a [String],
    /// How families print.
    pub standard: &'a dyn Standard,
    /// The items of a sweep, where the program has a schedule of its own; else the default order is printed.
    pub schedule: Option<&'a [SweepItem]>,
}

/// An item of a printed sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepItem {
    /// What is updated.
    pub step: SweepStep,
    /// How often.
    pub repeat: u64,
    /// Whether its blocks are first made the optimum of their own statements alone.
    pub reset: bool,
}

/// What an item of a printed sweep updates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepStep {
    /// A block.
    Block(BlockId),
    /// Members that share one refresh of the allocations, `(a, b)`.
    Group(Vec<SweepItem>),
    /// One item after another, `[a, b]`.
    Sequence(Vec<SweepItem>),
}

/// The whole derivation.
pub fn derivation(
    equations: &Equations,
    program: &[String],
    standard: &dyn Standard,
    format: Format,
) -> String {
    Derivation { equations, program, standard, schedule: None }.print(format)
}

impl SweepItem {
    /// A block, once.
    pub fn block(id: BlockId) -> SweepItem {
        SweepItem { step: SweepStep::Block(id), repeat: 1, reset: false }
    }

    /// The blocks that it updates.
    fn blocks(&self) -> Vec<BlockId> {
        match &self.step {
            SweepStep::Block(id) => vec![*id],
            SweepStep::Group(items) | SweepStep::Sequence(items) => {
                items.iter().flat_map(SweepItem::blocks).collect()
            }
        }
    }

    /// The groups in it. What stands inside a group refreshes nothing of its own.
    fn groups<'a>(&'a self, out: &mut Vec<&'a SweepItem>) {
        match &self.step {
            SweepStep::Block(_) => {}
            SweepStep::Group(_) => out.push(self),
            SweepStep::Sequence(items) => items.iter().for_each(|item| item.groups(out)),
        }
    }
}

impl Derivation<'_> {
    /// The whole derivation.
    pub fn print(&self, format: Format) -> String {
        let mut items = vec![Item::Title(format!("Derivation of {}", self.equations.name))];
        if !self.program.is_empty() {
            items.extend([Item::Heading("Model"), Item::Program(self.program.to_vec())]);
        }
        items.push(Item::Heading("Indices"));
        items.push(Item::List(self.indices(format)));
        items.push(Item::Heading("Log joint"));
        items.push(Item::Rows(
            self.equations.statements.iter().map(|statement| self.log_density(statement)).collect(),
        ));
        items.push(Item::Heading("Factorisation"));
        items.push(Item::List(self.equations.blocks.iter().map(|block| self.factor(block)).collect()));
        if !self.equations.sites.is_empty() {
            items.push(Item::Heading("Bounds"));
            items.extend(self.bounds());
        }
        items.push(Item::Heading("Updates"));
        for index in 0..self.equations.blocks.len() {
            items.extend(self.update(BlockId::from(index)));
        }
        items.push(Item::Heading("Sweep"));
        items.extend(self.sweep().into_iter().map(Item::Paragraph));
        items.push(Item::Heading(if self.has_distribution() { "Evidence lower bound" } else { "Objective" }));
        items.extend(self.elbo());
        render(&items, format)
    }

    /// How one block comes by its update: the statements that touch it, its natural and its standard parameters.
    pub fn explain(&self, id: BlockId, format: Format) -> String {
        let block = self.equations.block(id);
        let mut items = vec![Item::Paragraph(self.factor(block)), Item::Heading("Statements that touch it")];
        let touching = |statement: &&StatementEquation| self.touches(statement, block);
        let rows =
            self.equations.statements.iter().filter(touching).map(|statement| self.log_density(statement));
        items.push(Item::Rows(rows.collect()));
        let sites: Vec<Item> = (0..self.equations.sites.len())
            .map(SiteId::from)
            .filter(|site| {
                let statement = self.equations.site(*site).statement;
                self.touches(&self.equations.statements[statement.index()], block)
            })
            .flat_map(|site| self.bound(site))
            .collect();
        if !sites.is_empty() {
            items.push(Item::Heading("Bounds"));
            items.extend(sites);
        }
        items.push(Item::Heading("Update"));
        items.extend(self.update(id));
        render(&items, format)
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope::of(self.equations)
    }

    pub(super) fn scope_with<'s>(&'s self, symbols: &'s Symbols) -> Scope<'s> {
        Scope { symbols, blocks: &self.equations.blocks, sites: &self.equations.sites }
    }

    pub(super) fn symbols(&self) -> &Symbols {
        &self.equations.symbols
    }

    fn name(&self, array: ArrayId) -> Node {
        Node::name(&self.symbols().array(array).name)
    }

    fn touches(&self, statement: &StatementEquation, block: &Block) -> bool {
        block
            .members
            .iter()
            .any(|member| statement.target == *member || statement.log_density.mentions(*member))
    }

    fn has_distribution(&self) -> bool {
        self.equations.blocks.iter().any(|block| block.mode != Mode::Point)
    }

    fn indices(&self, format: Format) -> Vec<Vec<Span>> {
        let symbols = self.symbols();
        let line = |index: usize| {
            let axis = &symbols.axes[index];
            let letter = |letter: &LetterId| Span::Math(Node::Letter(symbols.letter(*letter).name.clone()));
            let mut line = separated(axis.letters.iter().map(letter).collect());
            line.push(words(format!(" over {}", axis.name)));
            if let Some(parent) = axis.parent {
                line.push(words(format!(" in {}", symbols.axis(parent).name)));
            }
            let parent = axis.letters.first().and_then(|letter| symbols.letter(*letter).parent);
            if format != Format::Text && self.scope().capital(AxisId::from(index)).is_some() {
                let ancestors = match parent {
                    Some(parent) => Builder::new(self.scope(), &[]).subscripts_of(&[parent]),
                    None => Vec::new(),
                };
                let capital = self.scope().capital(AxisId::from(index));
                line.push(words(", of size "));
                line.push(Span::Math(Node::Size { axis: axis.name.clone(), capital, ancestors }));
            }
            if let Some(Expression::Number(size)) = axis.size {
                line.push(words(format!(" = {size}")));
            }
            line
        };
        (0..symbols.axes.len()).map(line).collect()
    }

    /// `p(x | w, z)`
    fn density(&self, statement: &StatementEquation) -> Node {
        let given = (0..self.symbols().arrays.len()).map(ArrayId::from).filter(|array| {
            *array != statement.target
                && self.symbols().array(*array).kind != ArrayKind::Constant
                && self.symbols().array(*array).support != Support::Multiplicity
                && statement.log_density.mentions(*array)
        });
        Node::Density(vec![self.name(statement.target)], given.map(|array| self.name(array)).collect())
    }

    fn log_density(&self, statement: &StatementEquation) -> Row {
        let right = Builder::new(self.scope(), &[]).sum(&statement.log_density);
        Row::equal(Node::log(self.density(statement)), right)
    }

    /// `, for each d, k`
    fn for_each(&self, letters: &[LetterId]) -> Vec<Span> {
        let letters = self.with_ancestors(letters);
        if letters.is_empty() {
            return Vec::new();
        }
        let shown = Builder::new(self.scope(), &letters).subscripts_of(&letters);
        let mut line = vec![words(", for each ")];
        line.extend(separated(shown.into_iter().map(Span::Math).collect()));
        line
    }

    /// Letters behind their ancestors.
    fn with_ancestors(&self, letters: &[LetterId]) -> Vec<LetterId> {
        dedup(letters.iter().flat_map(|letter| self.symbols().lineage(*letter).into_iter().rev()).collect())
    }

    fn factor(&self, block: &Block) -> Vec<Span> {
        let mut line = vec![Span::Math(self.left_of(block))];
        line.push(words(match block.mode {
            Mode::Distribution => format!(": {}", block.family),
            Mode::Point => ": a point".to_owned(),
            Mode::Fixed => format!(": {}, fixed at its start", block.family),
            Mode::Implicit => format!(": {}, always at its optimum and never stored", block.family),
        }));
        line.extend(self.for_each(&block.plates));
        if let Some(bound) = block.by {
            line.push(words(format!(", by the bound {bound}")));
        }
        if block.clamp {
            line.push(words(", clamped to the boundary where the density is infinite"));
        }
        line
    }

    /// `q(theta[d, :k])`, or the bare element of a point.
    fn left_of(&self, block: &Block) -> Node {
        let mut builder = Builder::new(self.scope(), &block.plates);
        match block.mode {
            Mode::Point if block.members.len() == 1 => builder.member(block, 0),
            Mode::Point => {
                let members = (0..block.members.len()).map(|member| builder.member(block, member)).collect();
                Node::Call(Call::Named(String::new()), members)
            }
            Mode::Distribution | Mode::Fixed | Mode::Implicit => builder.q(block),
        }
    }

    fn bounds(&self) -> Vec<Item> {
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

    fn bound(&self, id: SiteId) -> Vec<Item> {
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

    /// The order of a sweep: the program's own, or the default one.
    fn sweep(&self) -> Vec<Vec<Span>> {
        let default: Vec<SweepItem> = self.equations.sweep.iter().copied().map(SweepItem::block).collect();
        let items = self.schedule.unwrap_or(&default);
        let mut line = separated(items.iter().map(|item| words(self.sweep_item(item))).collect());
        if line.is_empty() {
            line.push(words("nothing is updated"));
        }
        line.push(words(", in this order"));
        let allocations = !self.equations.sites.is_empty();
        if allocations {
            line.push(words("; allocations are at their optimum before each"));
        }
        line.push(words("."));
        let mut lines = vec![line];
        let mut groups = Vec::new();
        items.iter().for_each(|item| item.groups(&mut groups));
        for group in groups.into_iter().filter(|_| allocations) {
            lines.push(vec![words(format!(
                "{} share one refresh of the allocations.",
                self.sweep_item(group)
            ))]);
        }
        let updated: Vec<BlockId> = items.iter().flat_map(SweepItem::blocks).collect();
        let left_out = (0..self.equations.blocks.len()).map(BlockId::from).filter(|id| {
            matches!(self.equations.block(*id).mode, Mode::Distribution | Mode::Point)
                && !updated.contains(id)
        });
        lines.extend(left_out.map(|id| vec![words(format!("{} keeps its start.", self.names_of(id)))]));
        lines
    }

    /// The variables of a block: `mu`, or `mu and tau`.
    fn names_of(&self, id: BlockId) -> String {
        let members = self.equations.block(id).members.iter();
        let names: Vec<&str> = members.map(|member| self.symbols().array(*member).name.as_str()).collect();
        names.join(" and ")
    }

    /// An item as programs write it: `(w, h) repeat 3`.
    fn sweep_item(&self, item: &SweepItem) -> String {
        let list = |items: &[SweepItem]| {
            items.iter().map(|item| self.sweep_item(item)).collect::<Vec<_>>().join(", ")
        };
        let mut text = match &item.step {
            SweepStep::Block(id) => self.names_of(*id),
            SweepStep::Group(items) => format!("({})", list(items)),
            SweepStep::Sequence(items) => format!("[{}]", list(items)),
        };
        if item.reset {
            text.push_str(" reset");
        }
        if item.repeat != 1 {
            text.push_str(&format!(" repeat {}", item.repeat));
        }
        text
    }

    fn update(&self, id: BlockId) -> Vec<Item> {
        let block = self.equations.block(id);
        let mut line = vec![Span::Math(self.left_of(block))];
        line.push(words(match block.mode {
            Mode::Distribution | Mode::Fixed | Mode::Implicit => format!(" = {}", block.family),
            Mode::Point => ", a point".to_owned(),
        }));
        let mut items = vec![Item::Subheading(line), Item::Paragraph(self.order(block))];
        if block.mode == Mode::Fixed {
            return items;
        }
        if let Some(ascent) = &block.ascent {
            items.extend(self.ascent(block, ascent));
            return items;
        }
        let rows = (0..block.natural.len()).map(|index| self.natural(id, block, index)).collect();
        items.extend([Item::Paragraph(vec![words("Natural parameters:")]), Item::Rows(rows)]);
        items.extend(self.standard_form(id, block));
        items
    }

    fn order(&self, block: &Block) -> Vec<Span> {
        match block.mode {
            Mode::Fixed => return vec![words("It keeps its start.")],
            Mode::Implicit => return vec![words("It is at its optimum whenever it is read.")],
            Mode::Distribution | Mode::Point => {}
        }
        if block.in_order.is_empty() {
            return vec![words(if block.plates.is_empty() {
                "There is one copy."
            } else {
                "All copies move at once."
            })];
        }
        let shown = Builder::new(self.scope(), &block.plates).subscripts_of(&block.in_order);
        let mut line = vec![words("Copies move in order along ")];
        line.extend(separated(shown.into_iter().map(Span::Math).collect()));
        line.push(words(", each seeing the newest values of the others."));
        line
    }

    /// The moment whose coefficient a natural parameter is.
    fn moment(&self, id: BlockId, statistic: &Statistic, slots: &[LetterId]) -> Moment {
        let letters =
            |letters: &[LetterId]| letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        Moment {
            block: id,
            statistic: statistic.clone(),
            plates: letters(&self.equations.block(id).plates),
            slots: letters(slots),
        }
    }

    /// `eta(log x[n])`
    fn eta(&self, builder: &mut Builder<'_>, id: BlockId, index: usize) -> Node {
        let block = self.equations.block(id);
        let natural = &block.natural[index];
        let statistic = builder.statistic(block, &self.moment(id, &natural.statistic, &natural.slots));
        Node::call(Call::Named(self.scope().natural()), statistic)
    }

    fn natural(&self, id: BlockId, block: &Block, index: usize) -> Row {
        let natural = &block.natural[index];
        let mut symbols = self.symbols().clone();
        let all = canonical(&mut symbols, &natural.coefficient);
        let prior = block.prior.get(index).cloned().unwrap_or_default();
        let prior = canonical(&mut symbols, &prior);
        let rest = canonical(&mut symbols, &all.clone().minus(prior.clone()));
        let letters: Vec<LetterId> = block.plates.iter().chain(&natural.slots).copied().collect();
        let mut builder = Builder::new(self.scope_with(&symbols), &letters);
        let left = self.eta(&mut builder, id, index);
        let mut parts = Vec::new();
        if !prior.is_zero() {
            parts.push(Part { node: builder.sum(&prior), note: Some(("prior", Vec::new())) });
        }
        if !rest.is_zero() {
            let others = self.equations.statements.iter().filter(|statement| {
                self.touches(statement, block) && !block.members.contains(&statement.target)
            });
            let names: Vec<Node> = others.map(|statement| self.name(statement.target)).collect();
            let note = if names.is_empty() { None } else { Some(("from", names)) };
            parts.push(Part { node: builder.sum(&rest), note });
        }
        if parts.is_empty() {
            parts.push(Part { node: Node::Add(Vec::new()), note: None });
        }
        Row { left, relation: Sign::Equal, parts }
    }

    fn standard_form(&self, id: BlockId, block: &Block) -> Vec<Item> {
        let mut symbols = self.symbols().clone();
        if block.is_point() {
            return self.mode(&mut symbols, id, block);
        }
        let mut shown: Vec<Shown> = Vec::new();
        let parameters = self.standard.standard(block.family);
        for StandardParameter { name, formula } in &parameters {
            let slots = slots(formula, &block.natural, &shown);
            let value = resolve(&mut symbols, formula, &block.natural, &shown, &slots);
            let plates = value.plates(&symbols, block, &shown);
            let name = self.scope().standard(name);
            shown.push(Shown { name, plates, slots, value });
        }
        let mut rows = Vec::new();
        let mut over: Vec<Span> = Vec::new();
        for (parameter_of, StandardParameter { formula, .. }) in shown.iter().zip(&parameters) {
            let letters: Vec<LetterId> = block.plates.iter().chain(&parameter_of.slots).copied().collect();
            let mut builder = Builder::new(self.scope_with(&symbols), &letters);
            let Shown { name, plates, slots, value } = parameter_of;
            let left = match formula {
                Formula::Inverse(_) => sliced(&mut builder, name, plates, slots),
                _ => parameter(&mut builder, name, plates, slots),
            };
            let right = value.node(&mut builder, &shown);
            if let (Formula::Normalised(_), Some(slot)) = (formula, slots.last()) {
                over = builder.subscripts_of(&[*slot]).pop().map(Span::Math).into_iter().collect();
                rows.push(Row::proportional(left, right));
            } else {
                rows.push(Row::equal(left, right));
            }
        }
        for (statistic, formula) in self.standard.expectations(block.family) {
            let slots = self.slots_of(block, &statistic);
            let value = resolve(&mut symbols, &formula, &block.natural, &shown, &slots);
            let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
            let mut builder = Builder::new(self.scope_with(&symbols), &letters);
            let left = builder.moment(&self.moment(id, &statistic, &slots));
            rows.push(Row::equal(left, value.node(&mut builder, &shown)));
        }
        if self.standard.paired(block.family)
            && let Some(formula) = self.standard.log_normaliser(block.family)
        {
            let value = resolve(&mut symbols, &formula, &block.natural, &shown, &[]);
            let mut builder = Builder::new(self.scope_with(&symbols), &block.plates);
            let left = Node::call(Call::Named(self.scope().normaliser()), builder.q(block));
            rows.push(Row::equal(left, value.node(&mut builder, &shown)));
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let mut items = vec![Item::Paragraph(vec![words("Standard form:")]), Item::Rows(rows)];
        if !over.is_empty() {
            let mut line = vec![words("normalised over ")];
            line.extend(over);
            line.push(words("."));
            items.push(Item::Paragraph(line));
        }
        items
    }

    /// The letters of the slots of a statistic: those of the natural parameter with it, else made of the block's.
    fn slots_of(&self, block: &Block, statistic: &Statistic) -> Vec<LetterId> {
        if let Some(natural) = block.natural.iter().find(|natural| natural.statistic == *statistic) {
            return natural.slots.clone();
        }
        let pairs = block.natural.iter().find(|natural| natural.statistic.0.len() == statistic.0.len());
        let slots = statistic.0.iter().flat_map(|(member, elementary)| match elementary {
            Elementary::Indicator => block.classes.into_iter().collect::<Vec<_>>(),
            Elementary::Power(_) | Elementary::Log | Elementary::LogComplement | Elementary::Centred => {
                block.slices.get(usize::from(*member)).cloned().unwrap_or_default()
            }
        });
        let slots: Vec<LetterId> = slots.collect();
        // A covariance takes the two letters that the outer product has.
        match pairs {
            Some(natural) if natural.slots.len() == slots.len() => natural.slots.clone(),
            Some(_) | None => slots,
        }
    }

    fn mode(&self, symbols: &mut Symbols, id: BlockId, block: &Block) -> Vec<Item> {
        let Some(formula) = self.standard.mode(block.family) else {
            let line = vec![words(format!(
                "It takes the mode of the {} with these natural parameters.",
                block.family
            ))];
            return vec![Item::Paragraph(line)];
        };
        let slots = slots(&formula, &block.natural, &[]);
        let value = resolve(symbols, &formula, &block.natural, &[], &slots);
        let letters: Vec<LetterId> = block.plates.iter().chain(&slots).copied().collect();
        let mut builder = Builder::new(self.scope_with(symbols), &letters);
        let own = self.moment(id, &Statistic::identity(), &slots);
        let left = builder.statistic(block, &own);
        let right = value.node(&mut builder, &[]);
        let normalised = matches!(formula, Formula::Normalised(_));
        let row = if normalised { Row::proportional(left, right) } else { Row::equal(left, right) };
        let mut items =
            vec![Item::Paragraph(vec![words("It moves to the maximiser:")]), Item::Rows(vec![row])];
        if let (true, Some(slot)) = (normalised, slots.last()) {
            let mut line = vec![words("normalised over ")];
            line.extend(builder.subscripts_of(&[*slot]).pop().map(Span::Math));
            line.push(words("."));
            items.push(Item::Paragraph(line));
        }
        items
    }

    /// `E[log p(x | ...)]`, without the expectation where nothing is random.
    fn expected(&self, statement: &StatementEquation) -> Node {
        let log = Node::log(self.density(statement));
        if self.has_distribution() { Node::Expectation(Box::new(log)) } else { log }
    }

    fn elbo(&self) -> Vec<Item> {
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
        let name = if self.has_distribution() { "ELBO" } else { "objective" };
        let mut items = vec![Item::Rows(vec![Row::equal(Node::name(name), Node::add(summary))])];
        let terms_of = |index: usize| {
            let own = self
                .equations
                .elbo
                .terms
                .iter()
                .filter(|(statement, _)| *statement == StatementId::from(index));
            own.fold(Sum::zero(), |sum, (_, terms)| sum.plus(terms.clone()))
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
                if !block.plates.is_empty() || !block.multiplicity.is_empty() {
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
            rows.push((own.first().copied().unwrap_or(usize::MAX), Row::equal(Node::add(left), right)));
            used.extend(own);
        }
        for (index, statement) in statements.iter().enumerate() {
            if !used.contains(&index) {
                let right = Builder::new(self.scope(), &[]).sum(&terms_of(index));
                rows.push((index, Row::equal(self.expected(statement), right)));
            }
        }
        rows.sort_by_key(|(index, _)| *index);
        items.push(Item::Paragraph(vec![words("with")]));
        items.extend(rows.into_iter().map(|(_, row)| Item::Rows(vec![row])));
        if !entropies.is_empty() {
            items.push(Item::Rows(entropies));
        }
        if paired {
            let mut line = vec![
                words("where "),
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
        items
    }

    /// `sum[n](H[q(z[n])])`, rows weighted by their multiplicity.
    fn entropy(&self, block: &Block) -> Node {
        let plates = self.with_ancestors(&block.plates);
        Builder::new(self.scope(), &[]).summed(&plates, |builder| {
            let entropy = Node::Entropy(Box::new(builder.q(block)));
            self.weighted(builder, block, entropy)
        })
    }

    fn weighted(&self, builder: &mut Builder<'_>, block: &Block, node: Node) -> Node {
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
            let node = Builder::new(self.scope_with(&symbols), &[]).summed(
                &self.with_ancestors(&letters),
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
        let plates = self.with_ancestors(&block.plates);
        nodes.push(Builder::new(self.scope_with(&symbols), &[]).summed(&plates, |builder| {
            let normaliser = Node::call(Call::Named(self.scope().normaliser()), builder.q(block));
            self.weighted(builder, block, normaliser)
        }));
        Node::add(nodes)
    }
}

/// Things with commas between them.
fn separated(spans: Vec<Span>) -> Vec<Span> {
    let mut out = Vec::with_capacity(2 * spans.len());
    for (position, span) in spans.into_iter().enumerate() {
        if position > 0 {
            out.push(words(", "));
        }
        out.push(span);
    }
    out
}
