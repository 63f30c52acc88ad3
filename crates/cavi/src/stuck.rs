//! Starts that no sweep leaves: positions of an axis that are alike in every variable, zeros under an update that
//! multiplies. Both are allowed, and warned about.

use cavi_algebra::evaluate::{Assignment, evaluate};
use cavi_algebra::{
    ArrayId, ArrayKind, Atom, AxisId, Block, BlockId, Elementary, Equations, LetterId, Mode, SiteId,
    Statistic, Sum, Support, Term,
};
use cavi_executor::Bound;

use crate::bind::Labels;
use crate::bind::known::Known;
use crate::posterior::{Along, ColumnFile, FileDimension, columns, layouts};
use crate::prepare::reads_constants;

/// A start and what it is for.
pub(crate) struct Stuck<'a> {
    pub equations: &'a Equations,
    pub bound: &'a Bound,
    pub labels: &'a Labels,
    /// For each block its descriptors; `None` for one that starts as usual, at random.
    pub parameters: &'a [Option<&'a [Vec<f64>]>],
    /// For each block whether nothing reads its start: its first update overwrites it, so that values which differ there help no one.
    pub lost: &'a [bool],
}

/// An axis whose positions start alike.
pub(crate) struct Symmetric {
    pub axis: AxisId,
    pub message: String,
}

impl Stuck<'_> {
    /// Axes whose positions all start with the same values and have the same data, so that every sweep keeps them
    /// equal.
    pub fn symmetric(&self) -> Vec<Symmetric> {
        let axes = (0..self.equations.symbols.axes.len()).map(AxisId::from);
        let candidates = axes.filter(|axis| self.bound.size(*axis) > 1 && self.is_latent_only(*axis));
        candidates.filter_map(|axis| self.alike(axis)).collect()
    }

    /// Whether no data and no constant has positions of this axis.
    fn is_latent_only(&self, axis: AxisId) -> bool {
        let symbols = &self.equations.symbols;
        symbols.arrays.iter().filter(|array| array.kind != ArrayKind::Latent).all(|array| {
            array.support != Support::Index(axis)
                && array
                    .letters
                    .iter()
                    .flat_map(|letter| symbols.lineage(*letter))
                    .all(|letter| symbols.letter(letter).axis != axis)
        })
    }

    fn alike(&self, axis: AxisId) -> Option<Symmetric> {
        let mut names: Vec<&str> = Vec::new();
        let mut complete = true;
        let mut classes = false;
        let layouts = layouts(self.equations, self.bound);
        for column in columns(self.equations).iter().filter(|column| column.defining) {
            let array = self.equations.symbols.array(column.variable);
            for file in column.files(self.equations, self.bound, &layouts, self.labels) {
                // The two dimensions of a matrix move together; its rows are not compared.
                let along: Vec<usize> = (0..file.dimensions.len())
                    .filter(|place| runs_over(&file.dimensions[*place], axis))
                    .collect();
                let [along] = along[..] else { continue };
                if self.lost[column.block.index()] {
                    continue;
                }
                let Some(columns) = self.parameters[column.block.index()] else {
                    complete = false;
                    continue;
                };
                if !is_constant(&file.gather(&columns[column.column]), &file, along) {
                    return None;
                }
                classes |= array.support == Support::Index(axis);
                if !names.contains(&array.name.as_str()) {
                    names.push(&array.name);
                }
            }
        }
        if names.is_empty() || !(complete || classes) {
            return None;
        }
        let message = format!(
            "a symmetric start: {} {} alike for all positions of `{}`, which no update tells apart",
            crate::bind::list(&names),
            if names.len() == 1 { "is" } else { "are" },
            self.equations.symbols.axis(axis).name
        );
        Some(Symmetric { axis, message })
    }

    /// Zeros of points whose update multiplies, among the blocks that are asked for. The new value is 0 where nothing but
    /// shares in proportion to the old one speaks for more.
    pub fn zeros(&self, asked: &dyn Fn(&BlockId) -> bool) -> Vec<(ArrayId, String)> {
        let mut found = Vec::new();
        for (index, columns) in self.parameters.iter().enumerate() {
            let (id, Some(columns)) = (BlockId::from(index), columns) else { continue };
            let block = self.equations.block(id);
            if !asked(&id) || block.mode != Mode::Point {
                continue;
            }
            for (member, (array, values)) in block.members.iter().zip(*columns).enumerate() {
                let Some((lifts, letters)) = self.lifts(block, member) else { continue };
                let zeros = (0..values.len()).filter(|place| values[*place] == 0.0);
                let zeros = zeros.filter(|place| !self.is_lifted(&lifts, &letters, *place)).count();
                if zeros > 0 {
                    let name = &self.equations.symbols.array(*array).name;
                    let word = if zeros == 1 { "zero" } else { "zeros" };
                    let message = format!(
                        "the start of `{name}` has {zeros} {word}, which the multiplicative update never leaves"
                    );
                    found.push((*array, message));
                }
            }
        }
        found
    }

    /// The coefficient of the log of a member apart from its shares, with the letters of an element; `None` where the update does not multiply, or where
    /// something that is not known before the fit may lift a zero: data, or an allocation that leaves no choice.
    fn lifts(&self, block: &Block, member: usize) -> Option<(Sum, Vec<LetterId>)> {
        if self.equations.keeps_zeros(block) {
            return Some((Sum::zero(), Vec::new()));
        }
        let log = Statistic(vec![(u8::try_from(member).ok()?, Elementary::Log)]);
        let natural = block.natural.iter().find(|natural| natural.statistic == log)?;
        let (shares, rest): (Vec<Term>, Vec<Term>) = natural
            .coefficient
            .terms
            .iter()
            .cloned()
            .partition(|term| Sum::term(term.clone()).has_allocation());
        let rest = Sum { terms: rest };
        let chooses = shares.iter().flat_map(|term| &term.factors).all(|factor| match factor.atom {
            Atom::Allocation { site, .. } => self.categories(site) > 1,
            _ => true,
        });
        let summed = rest.terms.iter().any(|term| !term.sums.is_empty());
        let known = !summed && reads_constants(&rest, &mut Vec::new());
        (!shares.is_empty() && chooses && known)
            .then(|| (rest, block.plates.iter().chain(&natural.slots).copied().collect()))
    }

    /// The categories of a site, all its addends together.
    fn categories(&self, site: SiteId) -> usize {
        let size = |letter: &LetterId| self.bound.size_of(&self.equations.symbols, *letter);
        let addends = self.equations.site(site).addends.iter();
        addends.map(|addend| addend.letters.iter().map(size).product::<usize>()).sum()
    }

    /// Whether the coefficient of an element's log is more than its shares.
    fn is_lifted(&self, lifts: &Sum, letters: &[LetterId], place: usize) -> bool {
        if lifts.is_zero() {
            return false;
        }
        let symbols = &self.equations.symbols;
        let known = Known::new(symbols, &self.bound.axes, &self.bound.arrays);
        let mut assignment = Assignment::new();
        let mut rest = place;
        for letter in letters.iter().rev() {
            let size = self.bound.size_of(symbols, *letter);
            assignment.assign(symbols, &known, *letter, rest % size);
            rest /= size;
        }
        // A value that is not known is none.
        let value = evaluate(symbols, lifts, &known, &mut assignment);
        value.is_nan() || value > 0.0
    }
}

/// Whether a dimension of a file runs over an axis.
fn runs_over(dimension: &FileDimension, axis: AxisId) -> bool {
    matches!(dimension.along, Along::Axis(own, _) if own == axis)
}

/// Whether the numbers of a file are the same along a dimension.
fn is_constant(values: &[f64], file: &ColumnFile, along: usize) -> bool {
    let after: usize = file.dimensions[along + 1..].iter().map(|dimension| dimension.length).product();
    let length = file.dimensions[along].length;
    values.iter().enumerate().all(|(place, value)| {
        let position = place / after.max(1) % length.max(1);
        *value == values[place - position * after]
    })
}
