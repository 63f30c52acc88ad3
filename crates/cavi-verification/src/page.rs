//! A page at data and alternatives for all latents: everything that the checks share.

use std::collections::BTreeMap;

use cavi_algebra::print::{Derivation, Format};
use cavi_algebra::{ArrayId, ArrayKind, Support, Symbols};
use cavi_executor::Bound;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::alternatives::Latents;
use crate::density::log_density_of;
use crate::read::{Tree, read};
use crate::rows::{Row, defined, letters_in, rows};
use crate::subject::Subject;
use crate::value::{Defined, Reader};
use crate::world::World;

/// Alternatives of a copy under q; one more is for the copy that moves.
pub(crate) const ALTERNATIVES: usize = 2;
/// The signs of bounds.
pub(crate) const INEQUALITIES: [&str; 2] = [">=", "<="];

/// An implicit factor, with the probabilities of its classes at each position.
pub(crate) type Shares = (ArrayId, Vec<Vec<f64>>);
/// What a row gains as a copy moves, and the size of what is compared.
pub(crate) type Gain = Result<(f64, f64), String>;

/// Everything that the checks of one program share.
pub(crate) struct Page<'a> {
    pub subject: Subject<'a>,
    pub derivation: &'a Derivation<'a>,
    pub bound: &'a Bound,
    pub alternatives: &'a [Latents],
    pub rows: Vec<Row>,
    pub defined: Vec<Defined>,
    /// Functions of one number that the page defines.
    pub functions: Vec<(String, String, Tree)>,
}

impl<'a> Page<'a> {
    pub fn new(
        subject: Subject<'a>,
        derivation: &'a Derivation<'a>,
        bound: &'a Bound,
        alternatives: &'a [Latents],
    ) -> Result<Page<'a>, String> {
        let symbols = &subject.equations.symbols;
        let rows = rows(&derivation.printed(Format::Text), symbols)?;
        let new = |row: &Row| match &row.left {
            Tree::Name(name, _) => symbols.find(name).is_none(),
            _ => true,
        };
        let mut shared = Vec::new();
        for (left, right) in derivation.named_in_text() {
            let Tree::Name(name, subscripts) = read(&left, symbols)? else {
                return Err(format!("{left} is no name"));
            };
            let right = read(&right, symbols)?;
            let letters = letters_in(&subscripts);
            shared.push(Defined { name, letters, squared: false, whole: false, share: None, right });
        }
        for (number, row) in rows.iter().enumerate() {
            // Where both sides of a bound are equal follows it, in letters of its own.
            let follows =
                number.checked_sub(1).is_some_and(|before| INEQUALITIES.contains(&rows[before].sign));
            let implicit = row.sign == "∝" && row.section == "Updates" && new(row);
            let own = row.section == "Bounds" && !follows && !INEQUALITIES.contains(&row.sign);
            let count = row.section.starts_with("Expected counts");
            if own || count || implicit || matches!(row.left, Tree::Probability(..)) {
                shared.extend(defined(row));
            }
        }
        let functions = rows.iter().filter_map(|row| match &row.left {
            Tree::Call(name, inside) if row.section == "Bounds" && row.sign == "=" => match inside.as_slice()
            {
                [Tree::Name(argument, letters)] if letters.is_empty() => {
                    Some((name.clone(), argument.clone(), row.right.clone()))
                }
                _ => None,
            },
            _ => None,
        });
        let (functions, defined) = (functions.collect(), shared);
        Ok(Page { subject, derivation, bound, alternatives, rows, defined, functions })
    }

    pub fn reader(&self) -> Reader<'a> {
        let mut reader = Reader::new(self.subject, self.bound, self.alternatives);
        reader.defined.clone_from(&self.defined);
        reader.functions.clone_from(&self.functions);
        reader
    }

    pub fn symbols(&self) -> &'a Symbols {
        &self.subject.equations.symbols
    }

    /// The number of the statement of a density: `log p(x | ...)`.
    pub fn statement(&self, tree: &Tree) -> Option<usize> {
        let Tree::Call(log, inside) = tree else { return None };
        let [Tree::Call(p, target)] = inside.as_slice() else { return None };
        let [Tree::Name(name, _)] = target.as_slice() else { return None };
        if log != "log" || p != "p" {
            return None;
        }
        let statements = &self.subject.equations.statements;
        statements.iter().position(|own| self.symbols().array(own.target).name == *name)
    }

    /// The log-density of a statement at values of all latents.
    pub fn density(&self, statement: usize, latents: &Latents) -> f64 {
        let mut world = World::new(&self.subject.model.symbols, self.bound);
        world.latents.clone_from(latents);
        log_density_of(self.subject.model, &world, statement)
    }

    pub fn implicit_shares(&self) -> Result<Vec<Shares>, String> {
        let symbols = self.symbols();
        let mut all = Vec::new();
        for id in (0..symbols.arrays.len()).map(ArrayId::from) {
            let array = symbols.array(id);
            if array.kind != ArrayKind::Latent || self.subject.equations.block_of(id).is_some() {
                continue;
            }
            let classes = match array.support {
                Support::Index(axis) => self.bound.axes[axis.index()].size,
                _ => 2,
            };
            let name = format!("q({})", array.name);
            let own = self.defined.iter().find(|own| own.name == name);
            let own = own.ok_or_else(|| format!("q({} = ...) is nowhere stated", array.name))?;
            let shape = self.bound.shape(symbols, id);
            let mut shares = Vec::new();
            for place in 0..shape.iter().product() {
                let positions = written_positions(self, id, &unflat(&shape, place));
                let mut row = Vec::new();
                if own.letters.len() == positions.len() {
                    let mut at = own.letters.iter().cloned().zip(positions.iter().copied()).collect();
                    let one = self.reader().value(&own.right, &mut at)?;
                    shares.push(vec![1.0 - one, one]);
                    continue;
                }
                for class in 0..classes {
                    let mut at: Vec<(String, usize)> =
                        own.letters.iter().cloned().zip(positions.iter().copied().chain([class])).collect();
                    row.push(self.reader().value(&own.right, &mut at)?);
                }
                shares.push(row);
            }
            all.push((id, shares));
        }
        Ok(all)
    }

    /// One choice of alternatives for all copies.
    pub fn draw(&self, implicit: &[Shares], rng: &mut ChaCha8Rng) -> Latents {
        let symbols = self.symbols();
        let reader = self.reader();
        let mut chosen = BTreeMap::new();
        let mut latents = self.alternatives[0].clone();
        for id in (0..symbols.arrays.len()).map(ArrayId::from) {
            let Some(values) = latents[id.index()].as_mut() else { continue };
            let shape = self.bound.shape(symbols, id);
            let shares = implicit.iter().find(|(own, _)| *own == id).map(|(_, shares)| shares);
            for (place, value) in values.iter_mut().enumerate() {
                if let Some(shares) = shares {
                    let mut rest: f64 = rng.random();
                    let class = shares[place].iter().position(|share| {
                        rest -= share;
                        rest < 0.0
                    });
                    *value = class.unwrap_or(shares[place].len() - 1) as f64;
                    continue;
                }
                let Some(copy) = reader.copy_of(id, &unflat(&shape, place)) else { continue };
                if self.subject.equations.blocks[copy.0].is_point() {
                    continue;
                }
                let own = *chosen.entry(copy).or_insert_with(|| rng.random_range(0..ALTERNATIVES));
                *value = self.alternatives[own][id.index()].as_ref().expect("as the first has")[place];
            }
        }
        latents
    }
}

pub(crate) fn written_positions(page: &Page<'_>, id: ArrayId, positions: &[usize]) -> Vec<usize> {
    let symbols = page.symbols();
    let array = symbols.array(id);
    let lineages: Vec<Vec<(cavi_algebra::LetterId, usize)>> = array
        .letters
        .iter()
        .zip(positions)
        .map(|(letter, position)| {
            let mut own = vec![(*letter, *position)];
            let mut place = *position;
            let mut letter = *letter;
            while let Some(parent) = symbols.letter(letter).parent {
                let axis = &page.bound.axes[symbols.letter(letter).axis.index()];
                place = axis.parent.as_ref().expect("a ragged axis has parents")[place];
                letter = parent;
                own.push((letter, place));
            }
            own.reverse();
            own
        })
        .collect();
    symbols.written(id, &lineages).into_iter().map(|(_, position)| position).collect()
}

/// Positions from a place in C order.
pub(crate) fn unflat(shape: &[usize], place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut positions: Vec<usize> = shape
        .iter()
        .rev()
        .map(|size| {
            let own = rest % size;
            rest /= size;
            own
        })
        .collect();
    positions.reverse();
    positions
}
