//! What is subtracted from the logs of the rates of held-out counts: what the rates of all entries come to, those without a count among them.

use cavi_algebra::evaluate::Accumulator;
use cavi_algebra::{Function, Sum};
use cavi_families::functions;
use cavi_numerics::special::{exp, ln};

use super::batch::World;
use super::predict::{CHUNK, Kind, Part, Predictor, unflat, weighted};
use super::total::total;
use crate::bind::{Existing, Hidden};

impl Predictor<'_> {
    /// What is subtracted beside the logs: of counts at a rate `sum log y! + odds * sum of the rates - sum y log odds`.
    pub(super) fn rest(&self, part: &Part<'_>, world: &World<'_>) -> f64 {
        if part.kind != Kind::Rate || self.given_totals {
            return 0.0;
        }
        let hidden = part.hidden;
        let odds = hidden.odds.unwrap_or(1.0);
        let array = self.model.symbols.array(hidden.array);
        let [Some(rate), ..] = part.copy.arguments.as_slice() else { return f64::NAN };
        let weights = self.row_weights(part);
        let log_factorial = |count: f64| functions::apply(Function::LogGamma, &[count + 1.0]);
        let own = hidden.values.iter().zip(&weights);
        let factorials: Accumulator = own.map(|(count, weight)| weight * log_factorial(*count)).collect();
        let units: f64 = hidden.values.iter().zip(&weights).map(|(count, weight)| count * weight).sum();
        // Rows of weight have their rates as often.
        let weight = part.copy.weights.iter().fold(rate.value.clone(), |sum, atom| Sum {
            terms: sum
                .terms
                .into_iter()
                .map(|mut term| {
                    term.factors.push(cavi_algebra::Factor::of(atom.clone()));
                    term
                })
                .collect(),
        });
        let selected = !part.copy.selections.is_empty();
        let letters = &part.letters;
        let bound = self.bound.array(hidden.array);
        let shape = &world.shapes[hidden.array.index()];
        let existing = Existing::of(&self.model.symbols, &self.bound.axes, array);
        let there = |place: &[usize]| existing.is_there(place) && bound.entry(shape, place).1;
        let restricted = existing.has_gaps() || bound.has_missing();
        let all = if selected {
            self.selected_total(part, world, &there)
        } else if restricted {
            total(world, &weight, letters, Some(&there))
        } else {
            total(world, &weight, letters, None)
        };
        factorials.total() + odds * all - weighted(units, ln(odds))
    }

    /// The sum of rates that an index latent selects, entry by entry, each as often as its row counts.
    fn selected_total(&self, part: &Part<'_>, world: &World<'_>, there: &dyn Fn(&[usize]) -> bool) -> f64 {
        let shape = &world.shapes[part.hidden.array.index()];
        let cells: usize = shape.iter().product();
        let mut sum = Accumulator::default();
        for start in (0..cells).step_by(CHUNK) {
            let mut every = Hidden {
                coordinates: vec![Vec::new(); shape.len()],
                values: Vec::new(),
                weights: None,
                ..part.hidden.clone()
            };
            for cell in start..cells.min(start + CHUNK) {
                let place = unflat(shape, cell);
                if there(&place) {
                    every.coordinates.iter_mut().zip(place).for_each(|(column, own)| column.push(own as u32));
                    every.values.push(0.0);
                }
            }
            // Rows of weight have their rates as often.
            let own = Part {
                weights: Vec::new(),
                letters: part.letters.clone(),
                slices: part.slices.clone(),
                hidden: &every,
                ..*part
            };
            let logs = self.logs_at(part, world, &every).into_iter();
            logs.zip(self.row_weights(&own)).for_each(|(log, weight)| sum.add(weight * exp(log)));
        }
        sum.total()
    }
}
