//! The order of a sweep: in one line as programs write it, and as an algorithm.

use crate::equations::Mode;
use crate::expression::Function;
use crate::symbols::{ArrayId, AuxiliaryId, BlockId, LetterId, SiteId};

use super::build::Builder;
use super::cost::costing;
use super::counts::Counts;
use super::derivation::{Derivation, separated};
use super::document::{Item, Line, Span, words};
use super::node::{Call, Node};
use super::number::Number;

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

/// The expected counts and means of a page, and which of them are up to date at a line of the algorithm.
struct Known {
    counts: Counts,
    names: Vec<ArrayId>,
}

impl SweepItem {
    /// A block, once.
    pub fn block(id: BlockId) -> SweepItem {
        SweepItem { step: SweepStep::Block(id), repeat: 1, reset: false }
    }

    /// The blocks that it updates.
    pub(super) fn blocks(&self) -> Vec<BlockId> {
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
    /// The order of a sweep: the program's own, or the default one.
    pub(super) fn sweep(&self) -> Vec<Vec<Span>> {
        let default: Vec<SweepItem> = self.equations.sweep.iter().copied().map(SweepItem::block).collect();
        let items = self.schedule.unwrap_or(&default);
        let mut line = separated(items.iter().map(|item| words(self.sweep_item(item))).collect());
        if line.is_empty() {
            line.push(words("nothing is updated"));
        }
        line.push(words(", in this order"));
        if let Some(shared) = self.refreshed() {
            let how = if self.run.other_allocations { "computed" } else { "at their optimum" };
            line.push(words(format!("; {shared} are {how} before each")));
        }
        line.push(words("."));
        let mut lines = vec![line];
        let mut groups = Vec::new();
        items.iter().for_each(|item| item.groups(&mut groups));
        for (group, shared) in groups.into_iter().flat_map(|group| Some((group, self.refreshed()?))) {
            lines.push(vec![words(format!("{} are updated at the same {shared}.", self.sweep_item(group)))]);
        }
        let updated: Vec<BlockId> = items.iter().flat_map(SweepItem::blocks).collect();
        let left_out = (0..self.equations.blocks.len()).map(BlockId::from).filter(|id| {
            matches!(self.equations.block(*id).mode, Mode::Distribution | Mode::Point)
                && !updated.contains(id)
        });
        lines.extend(left_out.map(|id| vec![words(format!("{} keeps its start.", self.names_of(id)))]));
        lines.extend(self.run.warmup.iter().map(|sentence| vec![words(sentence.clone())]));
        lines.extend(self.start());
        lines.extend(self.restarts().map(|text| vec![words(text)]));
        lines.extend(self.run.stop.is_some().then(|| self.until()));
        lines.extend(self.costs());
        lines
    }

    /// What the updates of a sweep cost.
    fn costs(&self) -> Option<Vec<Span>> {
        let updated =
            |id: &BlockId| matches!(self.equations.block(*id).mode, Mode::Distribution | Mode::Point);
        let mut parts: Vec<Vec<Span>> = Vec::new();
        let mut part = |name: String, cost: Option<Node>| {
            parts.extend(cost.map(|cost| vec![words(format!("{name} ")), Span::Math(cost)]));
        };
        if let Some(shared) = self.refreshed() {
            part(shared.to_owned(), self.cost_of_refresh());
        }
        for id in (0..self.equations.blocks.len()).map(BlockId::from).filter(updated) {
            part(self.names_of(id), self.cost_of_block(id));
        }
        let mut line = vec![words("Cost of an update: ")];
        let count = parts.len();
        for (place, own) in parts.into_iter().enumerate() {
            line.extend(own);
            line.push(words(if place + 1 < count { ", " } else { "." }));
        }
        (count > 0).then_some(line)
    }

    /// The label of the first allocation or auxiliary variable.
    fn where_refreshed(&self) -> Option<String> {
        let site = self.equations.sites.iter().position(|_| true).map(|_| self.label_of_site(SiteId(0)));
        site.or_else(|| {
            (!self.equations.auxiliaries.is_empty()).then(|| self.label_of_auxiliary(AuxiliaryId(0)))
        })
    }

    /// What a refresh brings to its optimum, if anything.
    pub(super) fn refreshed(&self) -> Option<&'static str> {
        refreshed(!self.equations.sites.is_empty(), !self.equations.auxiliaries.is_empty())
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

    /// The items of a sweep.
    pub(super) fn items(&self) -> Vec<SweepItem> {
        match self.schedule {
            Some(items) => items.to_vec(),
            None => self.equations.sweep.iter().copied().map(SweepItem::block).collect(),
        }
    }

    /// A fit as an algorithm: what is repeated, what is updated in which order, and when allocations are refreshed.
    pub(super) fn algorithm(&self) -> Item {
        let start = self.start().unwrap_or_else(|| {
            let what = if self.has_distribution() { "every factor of q" } else { "every point" };
            vec![words(format!(
                "Start {what} at random, at values of order 1 inside its range that differ from element to element."
            ))]
        });
        let restarts = self.restarts().map(|text| vec![words(text)]);
        let warmup = self.run.warmup.iter().map(|text| vec![words(text.clone())]);
        let before = restarts.into_iter().chain([start]).chain(warmup);
        let mut lines: Vec<Line> = before.map(|text| Line { depth: 0, text }).collect();
        let repeat = vec![words("Repeat: one sweep, in this order.")];
        lines.push(Line { depth: 0, text: repeat });
        let mut known = Known { counts: self.counts(), names: Vec::new() };
        for item in self.items() {
            self.algorithm_item(&item, 1, true, &mut known, &mut lines);
        }
        lines.push(Line { depth: 1, text: vec![words(format!("Evaluate the {}.", self.objective()))] });
        lines.push(Line { depth: 0, text: self.until() });
        Item::Algorithm(lines)
    }

    /// `The start: mu = kmeans(x).`
    fn start(&self) -> Option<Vec<Span>> {
        let stated: Vec<Span> = self.run.start.iter().cloned().map(Span::Stated).collect();
        if stated.is_empty() {
            return None;
        }
        let mut line = vec![words("Start from ")];
        line.extend(separated(stated));
        line.push(words("; what is not given starts at random."));
        let takes = |what: &str| self.run.start.iter().any(|own| own.contains(&format!("{what}(")));
        if takes("pca") {
            line.extend(self.principal_components());
        }
        if takes("kmeans") {
            line.push(words(
                " Clusters (kmeans) are those of the k-means algorithm: an index starts at the cluster of its row, any other \
                 variable at the centres.",
            ));
        }
        Some(line)
    }

    /// What `pca` is, in symbols that stand for nothing else on the page.
    fn principal_components(&self) -> Vec<Span> {
        let [left, right, values] =
            [["U", "P", "left"], ["V", "Q", "right"], ["S", "D", "values"]].map(|own| self.free_symbol(own));
        let math = |name: &str| Span::Math(Node::name(name));
        let size =
            self.size_of_components().unwrap_or_else(|| Node::name(self.free_symbol(["N", "M", "size"])));
        let root = || Node::call(Call::Function(Function::Sqrt), size.clone());
        let scaled = Node::times(vec![Node::name(right), Node::name(values)]);
        vec![
            words(" Principal components (pca) are the leading singular vectors "),
            math(left),
            words(" and "),
            math(right),
            words(" and values "),
            math(values),
            words(" of the data, centred over their first axis, of size "),
            Span::Math(size.clone()),
            words(": a variable over that axis starts at "),
            Span::Math(Node::times(vec![root(), Node::name(left)])),
            words(", any other at "),
            Span::Math(Node::product(Number::one(), vec![scaled], vec![root()])),
            words("."),
        ]
    }

    /// The size of the first axis of the data that `pca` takes, where all of them have the same.
    fn size_of_components(&self) -> Option<Node> {
        let symbols = self.symbols();
        let arguments = self.run.start.iter().filter_map(|own| own.split_once("pca(")).map(|(_, own)| own);
        let mut axes = arguments.map(|own| {
            let end = own.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(own.len());
            let letter = *symbols.array(symbols.find(&own[..end])?).letters.first()?;
            symbols.letter(letter).parent.is_none().then(|| symbols.letter(letter).axis)
        });
        let first = axes.next()??;
        if !axes.all(|own| own == Some(first)) {
            return None;
        }
        let (axis, capital) = (symbols.axis(first).name.clone(), self.scope().capital(first));
        Some(Node::Size { axis, capital, ancestors: Vec::new() })
    }

    fn restarts(&self) -> Option<String> {
        let count = self.run.restarts.filter(|count| *count > 1)?;
        Some(format!(
            "All of this is done from {count} starts, and the result with the largest {} is kept.",
            self.objective()
        ))
    }

    /// When it stops.
    fn until(&self) -> Vec<Span> {
        let what = if self.run.other_allocations { "means of the variables" } else { self.objective() };
        let change = if self.run.other_allocations { "change" } else { "changes" };
        let mut text = match self.run.stop {
            Some((tolerance, count)) => {
                let (is, long) = match count {
                    1 => ("is", String::new()),
                    _ => ("stayed", format!(" for {count} evaluations")),
                };
                vec![
                    words(format!("Stop when the relative change of the {what} {is} below ")),
                    Span::Math(Node::number(tolerance)),
                    words(long),
                ]
            }
            None => vec![words(format!("Stop when the {what} {change} by less than the tolerance"))],
        };
        if let Some(sweeps) = self.run.sweeps {
            text.push(words(format!(", after {sweeps} sweeps at the latest")));
        }
        text.push(words("."));
        text
    }

    pub(super) fn objective(&self) -> &'static str {
        if self.has_distribution() { "ELBO" } else { "objective" }
    }

    fn algorithm_item(
        &self,
        item: &SweepItem,
        depth: usize,
        refreshes: bool,
        known: &mut Known,
        lines: &mut Vec<Line>,
    ) {
        let mut depth = depth;
        let mut push = |depth: usize, text: Vec<Span>| lines.push(Line { depth, text });
        if item.reset {
            for id in item.blocks() {
                let mut text = vec![words("Make ")];
                text.push(Span::Math(self.left_of(self.equations.block(id))));
                text.push(words(" the optimum of its own statement alone."));
                push(depth, text);
            }
        }
        if item.repeat != 1 {
            push(depth, vec![words(format!("Repeat {} times:", item.repeat))]);
            depth += 1;
            known.names.clear();
        }
        let reads = |item: &SweepItem| item.blocks().iter().any(|id| self.equations.reads_held(*id));
        let refresh = |lines: &mut Vec<Line>| {
            if refreshes && reads(item) {
                lines.push(Line { depth, text: self.refresh() });
            }
        };
        match &item.step {
            SweepStep::Block(id) => {
                refresh(lines);
                if refreshes && reads(item) {
                    known.names.clear();
                }
                lines.extend(self.counting(*id, known).map(|text| Line { depth, text }));
                lines.push(Line { depth, text: self.algorithm_block(*id) });
                // What is counted are the classes of a block or, of implicit factors, at the newest values of all blocks.
                if self.equations.block(*id).classes.is_some() || !self.implicit().is_empty() && refreshes {
                    known.names.clear();
                }
            }
            SweepStep::Group(items) => {
                refresh(lines);
                let text = match self.refreshed() {
                    Some(shared) => format!("With these {shared} held, in this order:"),
                    None => "In this order:".to_owned(),
                };
                lines.push(Line { depth, text: vec![words(text)] });
                known.names.clear();
                items.iter().for_each(|own| self.algorithm_item(own, depth + 1, false, known, lines));
                known.names.clear();
            }
            SweepStep::Sequence(items) => {
                items.iter().for_each(|own| self.algorithm_item(own, depth, refreshes, known, lines));
            }
        }
    }

    /// `Compute N[k] and x_bar[k,j].` What a block reads of the expected counts and means that was not computed since the last
    /// change of the classes.
    fn counting(&self, id: BlockId, known: &mut Known) -> Option<Vec<Span>> {
        let wanted: Vec<(ArrayId, Node, String)> = self
            .counts_of(&known.counts, id)
            .into_iter()
            .filter(|(name, ..)| !known.names.contains(name))
            .collect();
        if wanted.is_empty() {
            return None;
        }
        let mut text = vec![words("Compute ")];
        for (place, (name, node, label)) in wanted.into_iter().enumerate() {
            if place > 0 {
                text.push(words(", "));
            }
            text.extend([Span::Math(node), Span::Reference(label)]);
            known.names.push(name);
        }
        text.push(words("."));
        Some(text)
    }

    /// `Set the allocations phi[d,v,k] to their optimum.`
    fn refresh(&self) -> Vec<Span> {
        let mut shown = Vec::new();
        for (number, site) in self.equations.sites.iter().enumerate() {
            let id = SiteId::from(number);
            for (index, addend) in site.addends.iter().enumerate() {
                let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
                let mut builder = Builder::new(self.scope(), &letters);
                let subscripts = builder.subscripts_of(&letters);
                shown.push(Span::Math(builder.allocation(id, index, subscripts)));
            }
        }
        for (number, own) in self.equations.auxiliaries.iter().enumerate() {
            let mut builder = Builder::new(self.scope(), &own.plates);
            let subscripts = builder.subscripts_of(&own.plates);
            shown.push(Span::Math(builder.auxiliary(AuxiliaryId::from(number), subscripts)));
        }
        let mut text = vec![words(format!("Set the {} ", self.refreshed().unwrap_or_default()))];
        text.extend(separated(shown));
        if self.run.other_allocations {
            text.push(words(" by this rule"));
        } else {
            text.push(words(" to their optimum"));
            text.extend(self.where_refreshed().into_iter().map(Span::Reference));
        }
        text.extend(costing(self.cost_of_refresh()));
        text.push(words("."));
        text
    }

    fn algorithm_block(&self, id: BlockId) -> Vec<Span> {
        let block = self.equations.block(id);
        let left = Span::Math(self.left_of(block));
        let mut text = vec![words("Update "), left, Span::Reference(self.label_of(block))];
        let cost = match &block.ascent {
            None => costing(self.cost_of_block(id)),
            Some(_) => {
                let mut line = costing(self.cost_of_block(id));
                line.push(words(" for each evaluation of the derivatives"));
                line
            }
        };
        if !block.in_order.is_empty() {
            text.push(words(" one after another along "));
            text.extend(self.along(block));
            text.extend(cost);
            text.push(words("."));
            return text;
        }
        let plates = self.with_ancestors(&block.copies(self.symbols()));
        let letters: Vec<Node> = Builder::new(self.scope(), &plates).subscripts_of(&plates);
        if !letters.is_empty() {
            text.push(words(" for all "));
            text.extend(separated(letters.into_iter().map(Span::Math).collect()));
            text.push(words(" (independent of each other, in parallel)"));
        }
        text.extend(cost);
        text.push(words("."));
        text
    }
}

/// What a refresh brings to its optimum, where there are sites or auxiliary variables.
pub(super) fn refreshed(sites: bool, auxiliaries: bool) -> Option<&'static str> {
    match (sites, auxiliaries) {
        (false, false) => None,
        (true, false) => Some("allocations"),
        (false, true) => Some("auxiliary variables"),
        (true, true) => Some("allocations and auxiliary variables"),
    }
}
