//! Sites whose log weights are more than the logs of single factors, or whose weight moves: their allocations and log
//! partitions as arrays. Where the log weights are more than data and parameters together, none is kept: `run/stream.rs`.

use cavi_algebra::rules::{Substitution, substitute};
use cavi_algebra::{
    Addend, ArrayKind, Atom, BlockId, Elementary, Factor, Function, LetterId, Site, SiteId, Statistic,
    Subscript, Sum, Support, Term,
};

use super::scope::entry_of;
use super::{Dim, Lowering, Unplanned};
use crate::plan::gather::by_data;
use crate::plan::site::{domain, subscripts_of};
use crate::plan::tensor::{
    Access, Allotted, Contraction, Elementwise, Index, LogWeights, Loop, NodeId, Operation,
};

impl<'a> Lowering<'a, '_> {
    /// Whether one pass over the entries of a site gives its log partitions and counts: its weight stays, and its log weights
    /// are logs of single factors, none infinite but as a whole.
    pub fn by_pass(&self, id: SiteId) -> bool {
        let site = self.equations.site(id);
        let mut weight = site.weight.terms.iter().flat_map(|term| &term.factors);
        let mut logs = site
            .addends
            .iter()
            .flat_map(|addend| addend.log_weight.terms.iter().map(|term| (term, addend.letters.as_slice())));
        let whole = |addend: &Addend| {
            by_data(self.equations, &addend.log_weight).len() == addend.log_weight.terms.len()
        };
        let of_collapsed = |own: &Site| own.collapsed.as_ref().is_some_and(|own| own.shares == id);
        site.collapsed.as_ref().is_none_or(|own| self.is_left_out_by_pass(site, own))
            && !self.equations.sites.iter().any(of_collapsed)
            && !weight.any(|factor| self.moves(&factor.atom))
            && site.addends.iter().all(whole)
            && logs.all(|(term, letters)| self.is_log(term) && !self.crosses(term, letters))
    }

    /// Whether index data tell which element a category has, alone or together with its entry: no row of categories then holds them.
    fn crosses(&self, term: &Term, categories: &[LetterId]) -> bool {
        let mut crosses = false;
        term.visit_subscripts(&mut |subscript| {
            let mut letters = Vec::new();
            if matches!(subscript, Subscript::Index(..)) {
                subscript.letters(&mut letters);
            }
            crosses |= letters.iter().any(|letter| categories.contains(letter));
        });
        crosses
    }

    /// Whether an atom follows from a factor of q.
    fn moves(&self, atom: &Atom) -> bool {
        match atom {
            Atom::Moment(_)
            | Atom::Allocation { .. }
            | Atom::LogPartition { .. }
            | Atom::Auxiliary { .. }
            | Atom::ExpectedSquare(_) => true,
            Atom::Value(array, _) => self.symbols.array(*array).kind == ArrayKind::Latent,
            Atom::Group(_) | Atom::Apply(..) => {
                let mut inner = atom.nested().into_iter().flat_map(|sum| &sum.terms);
                inner.any(|term| term.factors.iter().any(|factor| self.moves(&factor.atom)))
            }
            Atom::Observed(..) | Atom::Equal(..) | Atom::Different(..) | Atom::Less(..) => false,
        }
    }

    /// Whether a log weight is what a pass takes: the log of one element of a block, or nothing that moves. The mask of data
    /// without a missing entry is 1.
    fn is_log(&self, term: &Term) -> bool {
        let full =
            |atom: &Atom| matches!(atom, Atom::Observed(array, _) if !self.bound.array(*array).has_missing());
        let mut atoms = term.factors.iter().filter(|factor| !full(&factor.atom));
        let logs = match (atoms.next(), atoms.next()) {
            (Some(Factor { atom: Atom::Moment(moment), power: 1 }), None) => {
                matches!(moment.statistic, Statistic(ref own) if matches!(own[..], [(_, Elementary::Log)]))
            }
            (Some(Factor { atom: Atom::Apply(Function::Log, inner), power: 1 }), None) => {
                matches!(inner[0].terms.as_slice(), [only] if only.sums.is_empty() && only.factors.len() == 1)
            }
            _ => !term.factors.iter().any(|factor| self.moves(&factor.atom)),
        };
        let masked =
            term.factors.iter().any(|own| matches!(own.atom, Atom::Observed(..)) && !full(&own.atom));
        logs && !masked && term.sums.is_empty() || self.is_of_points(term)
    }

    /// Whether a log weight follows from data and points that climb, which read counts by their rows, with a number for each of
    /// few values of its letters.
    fn is_of_points(&self, term: &Term) -> bool {
        fn plain(lowering: &Lowering, term: &Term) -> bool {
            term.factors.iter().all(|factor| match &factor.atom {
                Atom::Value(array, _) => {
                    let block = lowering.equations.block_of(*array);
                    block.is_none_or(|block| lowering.equations.block(block).ascent.is_some())
                }
                Atom::Group(_) | Atom::Apply(..) => {
                    factor.atom.nested().iter().all(|sum| sum.terms.iter().all(|own| plain(lowering, own)))
                }
                Atom::Observed(array, _) => !lowering.bound.array(*array).has_missing(),
                Atom::Moment(_)
                | Atom::Allocation { .. }
                | Atom::LogPartition { .. }
                | Atom::Auxiliary { .. }
                | Atom::ExpectedSquare(_)
                | Atom::Equal(..)
                | Atom::Different(..)
                | Atom::Less(..) => false,
            })
        }
        let mut by_letter = true;
        term.visit_subscripts(&mut |subscript| {
            by_letter &= matches!(subscript, Subscript::Letter(letter)
                if self.symbols.letter(*letter).parent.is_none());
        });
        let loops = self.loops_of(&subscripts_of(self, term));
        let size = loops.iter().fold(1_usize, |size, own| size.saturating_mul(own.size));
        by_letter && plain(self, term) && size <= self.limit
    }

    /// The loops over the axes of subscripts.
    pub fn loops_of(&self, subscripts: &[Subscript]) -> Vec<Loop> {
        let over = |subscript: &Subscript| match subscript {
            Subscript::Letter(letter) => self.over_letter(*letter),
            Subscript::Index(array, _) => match self.symbols.array(*array).support {
                Support::Index(axis) => self.over_axis(axis),
                _ => unreachable!("a subscript is an index"),
            },
        };
        subscripts.iter().map(over).collect()
    }

    /// What a site that has no pass gives at a copy, as an array with subscripts. In an update (`target` given) the shares
    /// are those of the last refresh.
    pub(super) fn site(
        &mut self,
        id: SiteId,
        what: Allotted,
        plates: &[Subscript],
        categories: &[Subscript],
        target: Option<BlockId>,
    ) -> Result<(NodeId, Vec<Subscript>), Unplanned> {
        let equations = self.equations;
        let site = equations.site(id);
        let domain = domain(self, &site.weight, &site.plates);
        let mut weights = self.log_weights(id, what, &domain, target.is_some())?;
        if what != Allotted::Partition {
            weights.now.clear();
        }
        let own: &[LetterId] = match what {
            Allotted::Shares(addend) => &site.addends[addend].letters,
            Allotted::Partition => &[],
        };
        let entries = domain.iter().map(|dim| self.over(dim));
        let each = own.iter().map(|letter| self.over_letter(*letter));
        let loops = entries.chain(each).collect();
        let node = self.node(Operation::Site(what, weights), loops, Vec::new);
        // From the letters of the site to the subscripts of this copy.
        let mut subscripts: Vec<Subscript> = Vec::new();
        for dim in domain {
            subscripts.push(match dim {
                Dim::Entries(array, letters) => entry_of(array, &letters),
                Dim::Letter(letter) => Subscript::Letter(letter),
            });
        }
        subscripts.extend(own.iter().map(|letter| Subscript::Letter(*letter)));
        let from = site.plates.iter().chain(own).copied();
        let map: Substitution = from.zip(plates.iter().chain(categories).cloned()).collect();
        let carried = subscripts.iter().map(|own| Factor::of(Atom::Equal(own.clone(), own.clone())));
        let carried = Term { factors: carried.collect(), ..Term::number(1.0) };
        let moved = substitute(&mut self.symbols, &carried, &map);
        let subscripts = moved.factors.into_iter().map(|factor| match factor.atom {
            Atom::Equal(left, _) => left,
            _ => unreachable!("the carrier holds equalities only"),
        });
        Ok((node, subscripts.collect()))
    }

    /// The log weights of a site over its entries and categories, as they are and, where held, as they were: those of its partition,
    /// or of its shares.
    fn log_weights(
        &mut self,
        id: SiteId,
        what: Allotted,
        domain: &[Dim],
        held: bool,
    ) -> Result<LogWeights, Unplanned> {
        let equations = self.equations;
        let site = equations.site(id);
        let domains: Vec<Vec<Dim>> = site
            .addends
            .iter()
            .map(|addend| {
                domain.iter().cloned().chain(addend.letters.iter().copied().map(Dim::Letter)).collect()
            })
            .collect();
        let size =
            |domain: &Vec<Dim>| domain.iter().fold(1_usize, |size, dim| size.saturating_mul(self.size(dim)));
        let streaming = domains.iter().any(|domain| size(domain) > self.limit);
        if streaming && site.collapsed.is_some() {
            let most = self.limit;
            return Err(Unplanned(format!(
                "allocations that leave their own shares out have more than {most} numbers here, one for each entry and category; \
                 use `ordinary` or `means`"
            )));
        }
        let outer = (self.streaming, self.holding);
        let mut lowered = |holding: bool| -> Result<Vec<NodeId>, Unplanned> {
            (self.streaming, self.holding) = (streaming, holding);
            let each = site.addends.iter().zip(&domains).enumerate();
            let nodes = each.map(|(number, (addend, domain))| {
                let log_weight = match (&site.collapsed, what) {
                    (Some(own), Allotted::Shares(_)) => &own.log_weights[number],
                    (_, Allotted::Shares(_) | Allotted::Partition) => &addend.log_weight,
                };
                self.log_weight(addend, log_weight, domain)
            });
            let nodes = nodes.collect();
            (self.streaming, self.holding) = outer;
            nodes
        };
        let now = lowered(streaming && outer.1)?;
        let then = match (held || outer.1, streaming) {
            (false, _) => now.clone(),
            (true, true) => lowered(true)?,
            (true, false) => {
                let held = now.iter().map(|node| {
                    let loops = self.loops(*node);
                    self.node(Operation::Held(*node), loops, Vec::new)
                });
                held.collect()
            }
        };
        let now = if outer.1 { then.clone() } else { now };
        Ok(LogWeights { now, then, rank: domain.len() })
    }

    /// The log weights of an addend over the entries and its categories: minus infinity where a category is of another group
    /// than the entry.
    fn log_weight(&mut self, addend: &Addend, log_weight: &Sum, domain: &[Dim]) -> Result<NodeId, Unplanned> {
        let log_weight = Sum { terms: by_data(self.equations, log_weight) };
        let everywhere = self.sum(&log_weight, domain, None)?;
        let scope = self.scope(domain);
        let place = |letter: LetterId| domain.iter().position(|dim| *dim == Dim::Letter(letter));
        let arranged = |operand: Access| Contraction {
            coefficient: 1.0,
            letters: scope.letters.clone(),
            operands: vec![operand],
            output: scope.output.clone(),
        };
        let mut parts = Vec::new();
        for letter in &addend.letters {
            let Some(parent) = self.symbols.letter(*letter).parent else { continue };
            let own = Index {
                letter: place(*letter).expect("an addend's letters are its domain's"),
                map: Some(self.parent_map(*letter)),
            };
            let group = place(parent).map_or_else(|| scope.index[&parent], Index::letter);
            let Some(members) = self.where_they_hold(&scope, own, group, false)? else { continue };
            let loops = self.loops(members.node);
            let log = Operation::Map(Elementwise::Function(Function::Log), members.node);
            parts.push(arranged(Access { node: self.node(log, loops, Vec::new), ..members }));
        }
        if parts.is_empty() {
            return Ok(everywhere);
        }
        parts.push(arranged(Access { node: everywhere, dims: scope.output.clone() }));
        let loops = self.loops(everywhere);
        Ok(self.node(Operation::Contractions(parts), loops, Vec::new))
    }

    /// The weight of a site over the entries of a pass: 0 where two ragged letters are of different groups.
    pub fn site_weight(&mut self, weight: &Sum, domain: &[Dim]) -> Result<NodeId, Unplanned> {
        let everywhere = self.sum(weight, domain, None)?;
        let scope = self.scope(domain);
        let loops: Vec<(LetterId, Index)> = domain
            .iter()
            .flat_map(|dim| match dim {
                Dim::Letter(letter) => std::slice::from_ref(letter),
                Dim::Entries(_, letters) => letters,
            })
            .map(|letter| (*letter, scope.index[letter]))
            .collect();
        let mut operands = vec![Access { node: everywhere, dims: scope.output.clone() }];
        for (place, right) in loops.iter().enumerate() {
            for left in &loops[..place] {
                let lineage = self.symbols.lineage(left.0);
                let Some(group) = lineage.into_iter().find(|own| self.symbols.lineage(right.0).contains(own))
                else {
                    continue;
                };
                let [left, right] =
                    [left, right].map(|(letter, index)| self.of_ancestor(*letter, *index, group));
                operands.extend(self.where_they_hold(&scope, left, right, false)?);
            }
        }
        if operands.len() == 1 {
            return Ok(everywhere);
        }
        let product = Contraction {
            coefficient: 1.0,
            letters: scope.letters.clone(),
            operands,
            output: scope.output.clone(),
        };
        let loops = self.loops(everywhere);
        Ok(self.node(Operation::Contractions(vec![product]), loops, Vec::new))
    }

    /// Whether a term holds an allocation that a pass counts.
    pub(super) fn is_counted(&self, term: &Term) -> bool {
        let counts = !self.by_shares;
        counts
            && term
                .factors
                .iter()
                .any(|factor| matches!(factor.atom, Atom::Allocation { site, .. } if self.by_pass(site)))
    }

    /// The site whose log partition stands in a term and comes with a pass. The term's other factors are the site's weight.
    pub fn passed(&self, term: &Term) -> Option<SiteId> {
        term.factors.iter().find_map(|factor| match &factor.atom {
            Atom::LogPartition { site, .. } if self.by_pass(*site) => Some(*site),
            _ => None,
        })
    }
}
