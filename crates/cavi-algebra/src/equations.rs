//! The waist: what the meaning side writes and the number side reads.

use crate::bound::StatedBound;
use crate::contribution::Contribution;
use crate::expression::Subscript;
use crate::statistic::Statistic;
use crate::sum_of_products::{Atom, Moment, Sum};
use crate::symbols::{
    ArrayId, ArrayKind, AuxiliaryId, AxisId, BlockId, BoundId, FamilyId, LetterId, SiteId, StatementId,
    Symbols,
};

/// The inference problem of a program, derived: no density is left to expand, and no name to look up.
#[derive(Clone, Debug)]
pub struct Equations {
    /// The program's name.
    pub name: String,
    /// Axes, letters and arrays.
    pub symbols: Symbols,
    /// The log-density of every statement, before expectations: `log p` summed over its plates.
    pub statements: Vec<StatementEquation>,
    /// The blocks of q, in the order of their first member's statement.
    pub blocks: Vec<Block>,
    /// For each block, how it comes by its natural parameters: one entry for each statement that holds it.
    pub contributions: Vec<Vec<Contribution>>,
    /// The bounds that sites, auxiliary variables and blocks refer to.
    pub bounds: Vec<StatedBound>,
    /// The places where a log of a sum is bounded.
    pub sites: Vec<Site>,
    /// The places where a function of a square is bounded by its tangent.
    pub auxiliaries: Vec<Auxiliary>,
    /// The evidence lower bound.
    pub elbo: Elbo,
    /// The default sweep: one block after another.
    pub sweep: Vec<BlockId>,
    /// The changes of coordinates under which the density of all other statements stays the same.
    pub rotations: Vec<Rotation>,
    /// The numbers that may be added to variables under which the density of all other statements stays the same.
    pub shifts: Vec<Shift>,
    /// Sets of blocks of Normal factors, or of points under Normal terms, such that the bound is a quadratic function of the means of all of a set,
    /// covariances, allocations and auxiliary variables held.
    pub quadratic: Vec<Vec<BlockId>>,
}

/// A statement and its log-density.
#[derive(Clone, Debug)]
pub struct StatementEquation {
    /// The variable on the left.
    pub target: ArrayId,
    /// The family, as the program names it.
    pub family: &'static str,
    /// Whether the left is data.
    pub observed: bool,
    /// `log p(target | ...)`, summed over the plates.
    pub log_density: Sum,
    /// The matrix that turns a slice of the target into independent standard normals, where the statement has one. Its letters
    /// are those of the target that tell the matrices apart, then row and column; the row has the letter of the slice.
    pub whitening: Option<ArrayId>,
    /// Pairs of subscripts, in the letters of the statement, that data have to keep apart: no closed form exists where the
    /// two are equal.
    pub apart: Vec<(Subscript, Subscript)>,
    /// Ragged axes over a group of which probabilities were summed to 1: each group of the data needs a position.
    pub filled: Vec<AxisId>,
}

/// What kind of factor of q a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A distribution.
    Distribution,
    /// A point mass.
    Point,
    /// A distribution that keeps its start.
    Fixed,
    /// A distribution that is always at its optimum, never stored.
    Implicit,
}

/// A block of q: one factor for each value of its plates.
#[derive(Clone, Debug)]
pub struct Block {
    /// The variables, those of a joint block in the order of its `q(...)`.
    pub members: Vec<ArrayId>,
    /// The letters that number the copies, but for the groups of a slice over a ragged axis ([`Block::copies`]): an element
    /// of a variable has one subscript for each plate and each letter of its slice.
    pub plates: Vec<LetterId>,
    /// For each member, its own letters that run with `plates`, in their order: of `q(a[i, j], b[j, i])` those of `b`, which is
    /// declared over i and j, are j and i.
    pub member_plates: Vec<Vec<LetterId>>,
    /// For each member, the letters of its slice.
    pub slices: Vec<Vec<LetterId>>,
    /// Distribution, point, fixed or implicit.
    pub mode: Mode,
    /// The family of q. For a point: the family whose mode is taken.
    pub family: FamilyId,
    /// The coefficients of its statistics in the expected log joint, allocations held; in the family's order.
    pub natural: Vec<Natural>,
    /// The part of `natural` that its own statements contribute, in the same order; without what an implicit factor selects there, which is in
    /// the log partition of that factor.
    pub prior: Vec<Sum>,
    /// Plate letters along which copies stand in a common term, so that they are updated one after another. If a
    /// letter is ragged and its parent is not among them, only copies within one group do.
    pub in_order: Vec<LetterId>,
    /// The axis whose positions are the values of an index variable.
    pub classes: Option<LetterId>,
    /// Rows of weight: an entropy and a prior are multiplied by it.
    pub multiplicity: Vec<Atom>,
    /// Where there are entries, of data that have none elsewhere (`i != j`, `i < j`). A copy without an entry stands in no term, and has no entropy:
    /// its place holds 0, and no update moves it.
    pub exists: Option<Atom>,
    /// A bound asked for by name (`by lee_seung`), if any.
    pub by: Option<BoundId>,
    /// Whether a mode with an infinite density is clamped to the boundary.
    pub clamp: bool,
    /// Whether the schedule of a fit begins a visit of a point with a reset, so that its plan has the point's `prior` too. (That of a
    /// distribution has it always.)
    pub resets: bool,
    /// For a point without a closed form, how it moves; `natural` and `prior` are empty then, and `family` only starts it.
    pub ascent: Option<Ascent>,
}

/// How a point without a closed form is updated: by ascent on an objective whose derivatives are equations.
#[derive(Clone, Debug)]
pub struct Ascent {
    /// The terms of the expected log joint that hold the point, summed over all copies; allocations and auxiliary
    /// variables held. This is what is maximised inside a group.
    pub objective: Sum,
    /// If an allocation or an auxiliary variable stands in the objective: the terms with these at their optimum,
    /// which is what is maximised outside of a group. Its derivatives are those of the objective at the allocations
    /// of the point.
    pub tight: Option<Sum>,
    /// For each member the derivative in one of its elements: a sum over the letters of the member.
    pub gradient: Vec<Sum>,
    /// The second derivative in the same element, where copies move by Newton's method in one variable; else all of them
    /// move together, by L-BFGS.
    pub curvature: Option<Sum>,
    /// What the point's own statements contribute, where it is linear in statistics. Of a row of weight it is the coefficient of one such
    /// row: the weight changes neither its sign nor where the prior is greatest.
    pub own: Vec<Natural>,
    /// Where the own statements have an optimum in closed form: the family whose mode that is; `own` then has all of its statistics, in
    /// its order, or none where the statements say nothing (every value is as good).
    pub own_family: Option<FamilyId>,
}

/// The coefficient of one statistic of a block.
#[derive(Clone, Debug)]
pub struct Natural {
    /// The statistic.
    pub statistic: Statistic,
    /// The letters of the slots: for each elementary function of the statistic, the slice letters of its member (fresh
    /// ones for the second elementary function of the same member); for an indicator the class letter.
    pub slots: Vec<LetterId>,
    /// The coefficient: a sum over the block's plate letters and the slot letters.
    pub coefficient: Sum,
}

/// A log of a sum under its bound: `log sum_c f_c >= sum_c phi_c (log f_c - log phi_c)`, tight at
/// `phi_c` proportional to `exp E log f_c`. Its categories are the addends, each with the values of its summed letters.
#[derive(Clone, Debug)]
pub struct Site {
    /// The bound. An implicit factor is at its optimum, where the bound is tight.
    pub bound: BoundId,
    /// The statement it stands in.
    pub statement: StatementId,
    /// The letters that number its copies.
    pub plates: Vec<LetterId>,
    /// The expected coefficient of the log in the log joint; it cannot be negative.
    pub weight: Sum,
    /// The addends.
    pub addends: Vec<Addend>,
    /// How its allocations leave their own shares out, under the rule `collapsed`; its log partitions are as ever.
    pub collapsed: Option<Collapsed>,
}

/// Allocations without their own shares: see `cavi_derivation::collapsed`.
#[derive(Clone, Debug)]
pub struct Collapsed {
    /// The site whose allocations are the shares that are left out. It has the same addends.
    pub shares: SiteId,
    /// For each addend and each term of its log weight, what is left out of the mean that it is the log of; `None` for a term
    /// that is taken as it is, and for a further term of a log that the first one stands for.
    pub left_out: Vec<Vec<Option<LeftOut>>>,
    /// For each addend its log weight with all of that left out.
    pub log_weights: Vec<Sum>,
    /// How much of a unit an entry is: 1, or at most 1 of its weight.
    pub unit: Sum,
}

/// What is left out of the mean of a factor whose mean is its mass over a rate, or over the total of the masses of its slice:
/// `p log (1 - share / mass) - p log (1 - total share / total mass)` is added to the log weight.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// The power p of the mean: a number or data, with the masks of data that may be missing.
    pub power: Sum,
    /// Of the mass.
    pub part: Part,
    /// Of the total; `None` where the mean has none, or all categories have the same.
    pub total: Option<Part>,
}

/// A part of a mass: sums over the site's plates and the addend's letters.
#[derive(Clone, Debug)]
pub struct Part {
    /// The share that is taken out.
    pub share: Sum,
    /// The mass.
    pub mass: Sum,
    /// What the prior contributes to it, which stays.
    pub prior: Sum,
}

/// A function g of a sum eta that is even in it and concave in its square, under its tangent:
/// `g(eta) <= g(xi) + slope (eta^2 - xi^2)`, tight in expectation at `xi^2 = E eta^2`.
#[derive(Clone, Debug)]
pub struct Auxiliary {
    /// The bound.
    pub bound: BoundId,
    /// The statement it stands in.
    pub statement: StatementId,
    /// The letters that number its copies: those of eta.
    pub plates: Vec<LetterId>,
    /// The expected coefficient of -g in the log joint, summed over what eta does not mention; it cannot be negative.
    pub weight: Sum,
    /// `E eta^2`; where the mask of the data has a letter for each of eta's, times it.
    pub square: Sum,
    /// The derivative of g by the square of its argument, at xi: a sum over this auxiliary variable at `plates`.
    pub slope: Sum,
}

/// An addend of a bounded sum.
#[derive(Clone, Debug)]
pub struct Addend {
    /// Its summed letters.
    pub letters: Vec<LetterId>,
    /// `E log f`: a sum of expected logs, each a term without summed letters.
    pub log_weight: Sum,
}

/// Vectors that the rest of the program reads through their inner products alone: `sum_k a_k b_k` is the same number
/// of `R^-1 a` and `R' b`, for every regular matrix R. Only their own priors and entropies depend on R.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// Those multiplied by `R^-1`.
    pub left: Vec<Rotated>,
    /// Those multiplied by `R'`.
    pub right: Vec<Rotated>,
}

/// Variables, each alone in its block, whose level only their own statements fix: `a + u_a c` in place of each `a`, for every number c, leaves
/// all other statements as they are. Their own statements are quadratic in them.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// The variables, each with its `u_a`; that of the first is 1.
    pub moves: Vec<(ArrayId, f64)>,
    /// The axes each position of which has a number c of its own: each of the variables has each of them once, or one that counts through
    /// its groups.
    pub along: Vec<AxisId>,
    /// The variables whose own statements change: those of the others read one of these, and stay what they are.
    pub changed: Vec<ArrayId>,
}

/// A block of such vectors, with a prior of mean 0 and a diagonal precision.
#[derive(Clone, Debug)]
pub struct Rotated {
    /// The block.
    pub block: BlockId,
    /// Where the precision of an element is one variable with a factor of its own: its block, and for each of its plates a
    /// plate letter of the vectors, an ancestor of one, or their slice letter.
    pub precision: Option<(BlockId, Vec<LetterId>)>,
}

/// The evidence lower bound: `terms`, plus for each block that is a distribution its entropy.
///
/// For a block whose family pairs its entropy (see the family), the terms of its own statements that are linear in
/// its statistics are left out of `terms` and stand in [`Block::prior`]: the bound then has `sum_i (prior_i -
/// natural_i) E[t_i] + log normaliser`, which loses no digits where both are large.
#[derive(Clone, Debug, Default)]
pub struct Elbo {
    /// Expected log-densities, each with the statement it comes from; logs of sums as log partitions of their sites.
    pub terms: Vec<(StatementId, Sum)>,
    /// For each statement that holds an implicit factor, its own expected log-density, with the shares of that factor in it.
    /// Together with the entropy of the shares these are the log partitions in `terms`, at the optimum.
    pub shared: Vec<(StatementId, Sum)>,
}

impl Equations {
    /// The block of an id.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// The site of an id.
    pub fn site(&self, id: SiteId) -> &Site {
        &self.sites[id.index()]
    }

    /// The auxiliary variable of an id.
    pub fn auxiliary(&self, id: AuxiliaryId) -> &Auxiliary {
        &self.auxiliaries[id.index()]
    }

    /// The variable whose implicit factor a site is, if it is one: a latent of no block.
    pub fn implicit(&self, id: SiteId) -> Option<ArrayId> {
        let site = self.site(id);
        let target = self.statements[site.statement.index()].target;
        let latent = self.symbols.array(target).kind == ArrayKind::Latent;
        // The log of a sum in its own statement is weighed by its share.
        (latent && self.block_of(target).is_none() && !site.weight.has_allocation()).then_some(target)
    }

    /// The site of an implicit factor.
    pub fn site_of(&self, array: ArrayId) -> Option<SiteId> {
        (0..self.sites.len()).map(SiteId::from).find(|site| self.implicit(*site) == Some(array))
    }

    /// The bound of an id.
    pub fn bound(&self, id: BoundId) -> &StatedBound {
        &self.bounds[id.index()]
    }

    /// Whether a block is a point whose zeros stay, whatever else its update reads.
    pub fn keeps_zeros(&self, block: &Block) -> bool {
        block.by.is_some_and(|bound| self.bound(bound).keeps_zeros)
    }

    /// The matrix that whitens the slices of a variable, where its statement has one.
    pub fn whitening_of(&self, array: ArrayId) -> Option<ArrayId> {
        self.statements.iter().find(|statement| statement.target == array)?.whitening
    }

    /// The block that holds a variable.
    pub fn block_of(&self, array: ArrayId) -> Option<BlockId> {
        self.blocks.iter().position(|block| block.members.contains(&array)).map(BlockId::from)
    }

    /// Whether the update of a block reads an allocation, the auxiliary variable of a tangent apart.
    pub fn reads_allocation(&self, block: BlockId) -> bool {
        self.block(block).update().any(Sum::has_allocation)
    }

    /// Whether the update of a block reads what a refresh brings to its optimum: an allocation or an auxiliary variable.
    pub fn reads_held(&self, block: BlockId) -> bool {
        self.block(block).update().any(|own| own.has_allocation() || own.has_auxiliary())
    }
}

impl Block {
    /// What its update is collected from: the coefficients of its statistics, or the objective it ascends.
    pub fn update(&self) -> impl Iterator<Item = &Sum> {
        let natural = self.natural.iter().map(|own| &own.coefficient);
        natural.chain(self.ascent.iter().map(|own| &own.objective))
    }

    /// The factors of the weight of a copy: its multiplicities, and whether it exists.
    pub fn weights(&self) -> impl Iterator<Item = &Atom> {
        self.multiplicity.iter().chain(&self.exists)
    }

    /// Whether copies may have another weight than 1.
    pub fn is_weighed(&self) -> bool {
        self.weights().next().is_some()
    }

    /// The letters of a member in the order in which the block holds its elements: those of its plates, then its slice.
    pub fn letters_of(&self, member: usize) -> Vec<LetterId> {
        self.member_plates[member].iter().chain(&self.slices[member]).copied().collect()
    }

    /// The letter of its slice, where that runs over a ragged axis: every group has a copy of its own length.
    pub fn ragged_slice(&self, symbols: &Symbols) -> Option<LetterId> {
        match self.slices.as_slice() {
            [slices] => slices.iter().copied().find(|slice| symbols.letter(*slice).parent.is_some()),
            _ => None,
        }
    }

    /// The letters that number its copies: those of its plates, then that of the groups of a slice over a ragged axis.
    pub fn copies(&self, symbols: &Symbols) -> Vec<LetterId> {
        match self.ragged_slice(symbols) {
            Some(slice) => symbols.copies(&self.plates, &[slice]),
            None => self.plates.clone(),
        }
    }

    /// Whether q is a point mass.
    pub fn is_point(&self) -> bool {
        self.mode == Mode::Point
    }

    /// The member and slot letters that a moment's slots belong to, for printing: `(member, slots)` for each elementary
    /// function.
    pub fn elements<'a>(&self, moment: &'a Moment) -> Vec<(ArrayId, &'a [Subscript])> {
        let mut rest = moment.slots.as_slice();
        let mut elements = Vec::new();
        for (member, elementary) in &moment.statistic.0 {
            let width = elementary.slots(self.slices[usize::from(*member)].len());
            let (own, others) = rest.split_at(width);
            elements.push((self.members[usize::from(*member)], own));
            rest = others;
        }
        elements
    }
}

impl Sum {
    /// Whether an allocation stands anywhere in it, or the bound that goes with one.
    pub fn has_allocation(&self) -> bool {
        self.any_atom(&|atom| matches!(atom, Atom::Allocation { .. } | Atom::LogPartition { .. }))
    }

    /// Whether the auxiliary variable of a tangent stands anywhere in it.
    pub fn has_auxiliary(&self) -> bool {
        self.any_atom(&|atom| matches!(atom, Atom::Auxiliary { .. }))
    }

    /// Whether an atom anywhere in it, those of nested sums included, passes a test.
    pub fn any_atom(&self, test: &dyn Fn(&Atom) -> bool) -> bool {
        let mut factors = self.terms.iter().flat_map(|term| &term.factors);
        factors.any(|factor| {
            test(&factor.atom) || factor.atom.nested().into_iter().any(|sum| sum.any_atom(test))
        })
    }
}
