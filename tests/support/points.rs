//! Values for every latent of a program, several for each copy of a block: the values of equations before and after
//! expectations are taken.

use std::ops::Range;

use cavi_algebra::contribution::{Place, places};
use cavi_algebra::evaluate::{Assignment, Environment, evaluate, for_each_value};
use cavi_algebra::{
    ArrayId, ArrayKind, AuxiliaryId, AxisId, Block, BlockId, Elementary, Equations, Function, LetterId,
    Moment, SiteId,
};
use cavi_executor::Bound;
use cavi_verification::{World, apply, inverse_and_determinant};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Alternatives for the values of all latents, and which of them each copy of a block has.
#[derive(Clone)]
pub struct Points<'a> {
    equations: &'a Equations,
    world: World<'a>,
    /// Alternatives by number, each with the values of all latents in C order of their declared dimensions. The last
    /// is for the copy that is moved.
    alternatives: &'a [Vec<Option<Vec<f64>>>],
    /// What the choices of alternatives follow from.
    pub seed: u64,
    /// The copy whose values are chosen apart, and its alternative.
    pub chosen: Option<(BlockId, Vec<usize>, usize)>,
    /// Whether q is a point mass at the chosen alternatives; else it gives each but the last the same probability.
    pub mass: bool,
    /// The values at which allocations are at their optimum, if they are not these.
    pub held: Option<Box<Points<'a>>>,
}

impl<'a> Points<'a> {
    /// Every copy at the same alternative, q a point mass there.
    pub fn new(
        equations: &'a Equations,
        bound: &'a Bound,
        alternatives: &'a [Vec<Option<Vec<f64>>>],
    ) -> Points<'a> {
        let world = World::new(&equations.symbols, bound);
        Points { equations, world, alternatives, seed: 0, chosen: None, mass: true, held: None }
    }

    /// Which alternative a copy has. A point has the first: it has no distribution.
    fn alternative(&self, block: BlockId, plates: &[usize]) -> usize {
        match &self.chosen {
            Some((own, copy, alternative)) if *own == block && copy == plates => return *alternative,
            _ => {}
        }
        if self.equations.block(block).is_point() {
            return 0;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(plates.iter().fold(block.index() as u64 + 1, |key, place| key * 1009 + *place as u64));
        rng.random_range(0..self.alternatives.len() - 1)
    }

    fn latent(&self, array: ArrayId, positions: &[usize], alternative: usize) -> f64 {
        let values = self.alternatives[alternative][array.index()].as_ref().expect("every latent is drawn");
        values[self.world.place(array, positions)]
    }

    /// An element of a copy of a member, at an alternative.
    fn member(&self, block: &Block, member: usize, plates: &[usize], slots: &[usize], at: usize) -> f64 {
        let positions: Vec<usize> = places(&self.equations.symbols, block, member)
            .into_iter()
            .map(|place| match place {
                Place::Plate(index) => plates[index],
                Place::Slot(index) => slots[index],
            })
            .collect();
        self.latent(block.members[member], &positions, at)
    }

    /// `sum_j L_ij m_j` at the slot i, or `sum_ij m_i L_ij m_j` where there is none, at an alternative; `None` for another
    /// statistic.
    fn contracted(&self, moment: &Moment, plates: &[usize], slots: &[usize], at: usize) -> Option<f64> {
        let ([vectors @ .., (matrix, Elementary::Contracted(_))], block) =
            (moment.statistic.0.as_slice(), self.equations.block(moment.block))
        else {
            return None;
        };
        let matrix = usize::from(*matrix);
        let n = self.world.bound.size_of(&self.equations.symbols, block.slices[matrix][0]);
        let mut total = 0.0;
        for (row, column) in (0..n * n).map(|place| (place / n, place % n)) {
            if slots.first().is_some_and(|slot| *slot != row) {
                continue;
            }
            let vectors = vectors.iter().zip([column, row]);
            total += self.member(block, matrix, plates, &[row, column], at)
                * vectors
                    .map(|((own, _), place)| self.member(block, usize::from(*own), plates, &[place], at))
                    .product::<f64>();
        }
        Some(total)
    }

    /// An elementary function of an element of a copy, at an alternative.
    fn elementary(&self, moment: &Moment, part: usize, plates: &[usize], slots: &[usize], at: usize) -> f64 {
        let block = self.equations.block(moment.block);
        let (member, elementary) = moment.statistic.0[part];
        let number = usize::from(member);
        let element = |slots: &[usize], at: usize| self.member(block, number, plates, slots, at);
        let value = |at: usize| element(slots, at);
        match elementary {
            Elementary::Power(power) => value(at).powi(power),
            Elementary::Log => value(at).ln(),
            Elementary::LogComplement => (-value(at)).ln_1p(),
            Elementary::Indicator => f64::from(u8::from(value(at) as usize == slots[0])),
            Elementary::LogDeterminant => {
                let n = self.world.bound.size_of(&self.equations.symbols, block.slices[number][0]);
                let matrix: Vec<f64> = (0..n * n).map(|place| element(&[place / n, place % n], at)).collect();
                inverse_and_determinant(&matrix).1
            }
            Elementary::Contracted(_) => unreachable!("products that are summed are taken as a whole"),
            Elementary::Mass | Elementary::MassOfComplement => unreachable!("updates hold no mass"),
            Elementary::Centred if self.mass => 0.0,
            Elementary::Centred => {
                let all = self.alternatives.len() - 1;
                value(at) - (0..all).map(value).sum::<f64>() / all as f64
            }
        }
    }

    /// The value of the latent of an implicit factor that a site stands for.
    fn implicit(&self, site: SiteId, plates: &[usize]) -> Option<usize> {
        let site = self.equations.site(site);
        let target = self.equations.statements[site.statement.index()].target;
        let array = self.equations.symbols.array(target);
        let own = array.kind == ArrayKind::Latent && self.equations.block_of(target).is_none();
        own.then(|| {
            let at =
                |letter| site.plates.iter().position(|plate| *plate == letter).expect("a plate of the site");
            let positions: Vec<usize> = array.letters.iter().map(|letter| plates[at(*letter)]).collect();
            self.latent(target, &positions, 0) as usize
        })
    }
}

impl Environment for Points<'_> {
    fn positions(&self, axis: AxisId, parent: Option<usize>) -> Range<usize> {
        let axis = &self.world.bound.axes[axis.index()];
        match (&axis.starts, parent) {
            (Some(starts), Some(parent)) => starts[parent]..starts[parent + 1],
            _ => 0..axis.size,
        }
    }

    fn parent(&self, axis: AxisId, position: usize) -> usize {
        let starts =
            self.world.bound.axes[axis.index()].starts.as_ref().expect("only ragged axes have parents");
        starts.partition_point(|start| *start <= position) - 1
    }

    fn value(&self, array: ArrayId, subscripts: &[usize]) -> f64 {
        if self.equations.symbols.array(array).kind != ArrayKind::Latent {
            return self.world.element(array, subscripts);
        }
        let Some(id) = self.equations.block_of(array) else { return self.latent(array, subscripts, 0) };
        let block = self.equations.block(id);
        let member = block.members.iter().position(|own| *own == array).expect("a member of its block");
        let mut plates = vec![0; block.plates.len()];
        for (place, position) in places(&self.equations.symbols, block, member).into_iter().zip(subscripts) {
            if let Place::Plate(index) = place {
                plates[index] = *position;
            }
        }
        self.latent(array, subscripts, self.alternative(id, &plates))
    }

    fn observed(&self, array: ArrayId, subscripts: &[usize]) -> bool {
        self.world.observed(array, subscripts)
    }

    fn moment(&self, moment: &Moment, plates: &[usize], slots: &[usize]) -> f64 {
        let block = self.equations.block(moment.block);
        let mut own: Vec<&[usize]> = Vec::new();
        let mut rest = slots;
        for (member, elementary) in &moment.statistic.0 {
            let width = elementary.slots(block.slices[usize::from(*member)].len());
            let (first, others) = rest.split_at(width);
            own.push(first);
            rest = others;
        }
        let at = |alternative: usize| -> f64 {
            if let Some(contracted) = self.contracted(moment, plates, slots, alternative) {
                return contracted;
            }
            (0..own.len()).map(|part| self.elementary(moment, part, plates, own[part], alternative)).product()
        };
        if self.mass || block.is_point() {
            return at(self.alternative(moment.block, plates));
        }
        let all = self.alternatives.len() - 1;
        (0..all).map(at).sum::<f64>() / all as f64
    }

    fn allocation(&self, site: SiteId, addend: usize, plates: &[usize], categories: &[usize]) -> f64 {
        if let Some(held) = &self.held {
            return held.allocation(site, addend, plates, categories);
        }
        if let Some(class) = self.implicit(site, plates).filter(|_| self.mass) {
            // Of a binary factor the first addend is 1, the second 0.
            let chosen = if categories.is_empty() { addend == 1 - class } else { categories == [class] };
            return f64::from(u8::from(chosen));
        }
        let symbols = &self.equations.symbols;
        let stated = self.equations.site(site);
        let mut assignment = Assignment::new();
        for (letter, position) in stated.plates.iter().zip(plates) {
            assignment.assign(symbols, self, *letter, *position);
        }
        let (mut total, mut own) = (0.0, 0.0);
        for (number, stated) in stated.addends.iter().enumerate() {
            for_each_value(symbols, self, &stated.letters, &mut assignment, &mut |assignment| {
                let weight = evaluate(symbols, &stated.log_weight, self, assignment).exp();
                total += weight;
                let here = stated.letters.iter().zip(categories);
                if number == addend
                    && here.clone().all(|(letter, place)| assignment.get(*letter) == Some(*place))
                {
                    own += weight;
                }
            });
        }
        if total == 0.0 { 0.0 } else { own / total }
    }

    fn auxiliary(&self, id: AuxiliaryId, plates: &[usize]) -> f64 {
        if let Some(held) = &self.held {
            return held.auxiliary(id, plates);
        }
        let own = &self.equations.auxiliaries[id.index()];
        let mut assignment = Assignment::new();
        for (letter, position) in own.plates.iter().zip(plates) {
            assignment.assign(&self.equations.symbols, self, *letter, *position);
        }
        evaluate(&self.equations.symbols, &own.square, self, &mut assignment).sqrt()
    }

    fn log_partition(&self, site: SiteId, plates: &[usize]) -> f64 {
        let symbols = &self.equations.symbols;
        let stated = self.equations.site(site);
        let mut assignment = Assignment::new();
        for (letter, position) in stated.plates.iter().zip(plates) {
            assignment.assign(symbols, self, *letter, *position);
        }
        let mut total = 0.0;
        for (number, addend) in stated.addends.iter().enumerate() {
            for_each_value(symbols, self, &addend.letters, &mut assignment, &mut |assignment| {
                let at = |letter: &LetterId| assignment.get(*letter).expect("it was just given");
                let categories: Vec<usize> = addend.letters.iter().map(at).collect();
                let share = self.allocation(site, number, plates, &categories);
                if share > 0.0 {
                    total += share * (evaluate(symbols, &addend.log_weight, self, assignment) - share.ln());
                }
            });
        }
        total
    }

    fn function(&self, function: Function, arguments: &[f64]) -> f64 {
        match (function, arguments) {
            (Function::Power, [base, exponent]) => base.powf(*exponent),
            (Function::LogDeterminant, matrix) => inverse_and_determinant(matrix).1,
            (function, [x]) => apply(function, *x),
            _ => unreachable!("functions have one argument, powers two"),
        }
    }
}
