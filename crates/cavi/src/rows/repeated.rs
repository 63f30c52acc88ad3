//! Rows of weight written out: a row of multiplicity m stands for m rows that are alike in the data, and here it stands m times.
//!
//! `data m[n] : multiplicity` multiplies what row n adds to the log joint, and the entropy of what is its own, by m. That is the bound of m
//! rows with the same data, each with latents of its own under the same q. So data *drawn* for such a row are m rows drawn by themselves; one
//! row that is drawn once and counted m times would vary m times as much. A row of multiplicity 0 is no row.

use std::collections::{BTreeMap, HashMap, HashSet};

use cavi_algebra::{Array, ArrayId, ArrayKind, AxisId, LetterId, Subscript, Support, Symbols};
use cavi_executor::{Bound, BoundArray};
use cavi_files::memory;
use cavi_model::Model;

use super::gathered::{Gathering, Positions};
use crate::bind::{Binding, DataError};
use crate::heldout::unflat;

/// Data in which each row stands as often as it counts, and all multiplicities are 1.
pub(crate) struct Repeated {
    pub binding: Binding,
    positions: Positions,
    /// For each latent that has a dimension with other positions where its elements were.
    latents: BTreeMap<ArrayId, Copies>,
}

/// The elements of an array whose rows stand several times, by the number of the copy: those of the first copy of each, then those of the
/// second, ...
pub(crate) struct Copies {
    /// For each copy its elements: the new one, and which it was.
    pub elements: Vec<Vec<(usize, usize)>>,
    /// How many there are.
    pub size: usize,
}

impl Repeated {
    /// The rows of a program written out; `None` where each counts once.
    ///
    /// # Errors
    /// In words, why rows that count more or less often cannot be written out: a multiplicity that is no whole number, that weighs entries and no
    /// rows, or whose rows are tied together.
    pub fn of(model: &Model, binding: &Binding) -> Result<Option<Repeated>, DataError> {
        let symbols = &model.symbols;
        let mut own: Option<Binding> = None;
        let mut positions = Positions::new();
        for id in (0..symbols.arrays.len()).map(ArrayId::from) {
            let array = symbols.array(id);
            if array.support != Support::Multiplicity {
                continue;
            }
            let now = own.as_ref().unwrap_or(binding);
            // Without a file all multiplicities are 1.
            if now.bound.arrays[id.index()].is_none() {
                continue;
            }
            let counts = values(&now.bound, symbols, id);
            if counts.iter().all(|own| *own == 1.0) {
                continue;
            }
            let (next, moved) = written_out(model, now, array, &counts)?;
            positions = composed(&positions, moved);
            let mut next = next;
            next.bound.arrays[id.index()] =
                Some(BoundArray::full(vec![1.0; next.bound.shape(symbols, id).iter().product()]));
            own = Some(next);
        }
        let Some(mut new) = own else { return Ok(None) };
        // A row that stands several times has the same label each time.
        for (axis, old) in &positions {
            let labels = old.iter().map(|own| binding.labels.label(&binding.bound, *axis, *own).into_owned());
            let labels = Some(labels.collect());
            match new.labels.axes.get_mut(axis.index()) {
                Some(own) => *own = labels,
                None => {
                    new.labels.axes.resize(axis.index(), None);
                    new.labels.axes.push(labels);
                }
            }
        }
        let mut repeated = Repeated { binding: new, positions, latents: BTreeMap::new() };
        for id in symbols.latents() {
            let axes = axes(symbols, &symbols.array(id).letters);
            if axes.iter().any(|axis| repeated.positions.contains_key(axis)) {
                let (new, old) = (&repeated.binding.bound, &binding.bound);
                let copies = repeated.copies(&axes, &new.shape(symbols, id), &old.shape(symbols, id));
                repeated.latents.insert(id, copies);
            }
        }
        Ok(Some(repeated))
    }

    /// The copies of a latent; `None` where it stands as it did.
    pub fn latent(&self, id: ArrayId) -> Option<&Copies> {
        self.latents.get(&id)
    }

    /// For each position on an axis whether it is the first of those that stand for the same; `None` where each stands once.
    pub fn firsts(&self, axis: AxisId) -> Option<Vec<bool>> {
        let mut seen = HashSet::new();
        Some(self.positions.get(&axis)?.iter().map(|old| seen.insert(*old)).collect())
    }

    /// The copies of the elements of an array along these axes, from its new and its old sizes.
    pub fn copies(&self, axes: &[AxisId], shape: &[usize], before: &[usize]) -> Copies {
        let size = shape.iter().product();
        let mut times: HashMap<usize, usize> = HashMap::new();
        let mut elements: Vec<Vec<(usize, usize)>> = Vec::new();
        for new in 0..size {
            let place = unflat(shape, new);
            let old = axes.iter().zip(place).zip(before).fold(0, |cell, ((axis, position), size)| {
                let was = self.positions.get(axis).map_or(position, |own| own[position]);
                cell * size + was
            });
            let copy = times.entry(old).or_default();
            if elements.len() == *copy {
                elements.push(Vec::new());
            }
            elements[*copy].push((new, old));
            *copy += 1;
        }
        Copies { elements, size }
    }
}

fn axes(symbols: &Symbols, letters: &[LetterId]) -> Vec<AxisId> {
    letters.iter().map(|letter| symbols.letter(*letter).axis).collect()
}

/// All elements of an array, in C order.
fn values(bound: &Bound, symbols: &Symbols, id: ArrayId) -> Vec<f64> {
    let shape = bound.shape(symbols, id);
    let cells = 0..shape.iter().product();
    cells.map(|cell| bound.array(id).entry(&shape, &unflat(&shape, cell)).0).collect()
}

/// Positions before two steps, the one after the other.
fn composed(first: &Positions, second: Positions) -> Positions {
    let mut all = first.clone();
    for (axis, own) in second {
        let own = match first.get(&axis) {
            Some(before) => own.iter().map(|position| before[*position]).collect(),
            None => own,
        };
        all.insert(axis, own);
    }
    all
}

/// The rows of one multiplicity written out.
fn written_out(
    model: &Model,
    binding: &Binding,
    array: &Array,
    counts: &[f64],
) -> Result<(Binding, Positions), DataError> {
    let (symbols, bound) = (&model.symbols, &binding.bound);
    let name = &array.name;
    let refused = |why: String| {
        DataError::new(format!(
            "a row of weight m stands for m rows with data of their own, and those of `{name}` cannot be drawn: {why}"
        ))
        .possible("whole numbers of rows along one axis that are independent given what they share")
    };
    let axis = match array.letters.as_slice() {
        [letter] => symbols.letter(*letter).axis,
        _ => return Err(refused(format!("`{name}` weighs entries, and not the rows of an axis"))),
    };
    if let Some(position) = counts.iter().position(|own| own.fract() != 0.0) {
        let label = binding.labels.path(symbols, bound, axis, position).join(", ");
        return Err(refused(format!(
            "`{name}[{label}]` is {}, which is no number of rows",
            counts[position]
        )));
    }
    let rows: f64 = counts.iter().sum();
    let axis_name = &symbols.axis(axis).name;
    // An array of data, and a draw of it.
    let width = |own: &Array| -> f64 {
        let others = own.letters.iter().map(|letter| symbols.letter(*letter).axis).filter(|own| *own != axis);
        others.map(|own| bound.size(own) as f64).product()
    };
    let along = symbols.arrays.iter().filter(|own| axes(symbols, &own.letters).contains(&axis));
    let needed = 2.0 * 8.0 * rows * along.map(width).sum::<f64>();
    if rows > MOST || memory::left().is_some_and(|left| needed > left as f64) {
        let needed = memory::text(needed as usize);
        return Err(refused(format!("{rows} rows along `{axis_name}` would take {needed} of memory")));
    }
    let gathering = Gathering::along(model, axis)
        .and_then(|own| reads_several(&own).map_or(Ok(own), Err))
        .map_err(&refused)?;
    let each = counts.iter().enumerate();
    let positions = each.flat_map(|(position, count)| std::iter::repeat_n(position, *count as usize));
    Ok(gathering.at(binding, positions.collect()))
}

/// More rows than this are not written out.
const MOST: f64 = 3e8;

/// A statement that takes data of several rows together, in words: with rows written out it would read other data.
fn reads_several(gathering: &Gathering<'_>) -> Option<String> {
    let symbols = &gathering.model.symbols;
    gathering.model.statements.iter().find_map(|statement| {
        let own = &symbols.array(statement.target).letters;
        let known: Vec<LetterId> = own.iter().flat_map(|letter| symbols.lineage(*letter)).collect();
        let mut several = None;
        for argument in statement.arguments.iter().flatten() {
            argument.value.visit_values(&mut |array, subscripts: &[Subscript]| {
                let data = symbols.array(array);
                let mut letters = Vec::new();
                for (letter, subscript) in data.letters.iter().zip(subscripts) {
                    if data.kind == ArrayKind::Data && gathering.rows.is_row(symbols.letter(*letter).axis) {
                        subscript.letters(&mut letters);
                    }
                }
                if letters.iter().any(|letter| !known.contains(letter)) {
                    several = Some(format!(
                        "the statement of `{}` reads `{}` of several rows at once",
                        symbols.array(statement.target).name,
                        data.name
                    ));
                }
            });
        }
        several
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::{Inputs, Source, bind};
    use crate::fit::{Control, Settings};
    use crate::prepare::{Problem, prepare};

    fn problem(program: &str, files: &[(&str, &str)]) -> Problem {
        let data: Vec<String> = files.iter().map(|(name, _)| format!("{name}={name}.csv")).collect();
        let mut inputs = Inputs::parse(&data, &[], &[], &[], &[]).expect("well-formed options");
        for (input, (name, text)) in inputs.data.iter_mut().zip(files) {
            input.source =
                Source::Bytes { name: format!("{name}.csv").into(), bytes: text.as_bytes().to_vec().into() };
        }
        let compiled = crate::compile::compile(program, "p.cavi").into_compiled().expect("it compiles");
        let binding = bind(&compiled.model, &inputs).expect("it binds");
        prepare(compiled, binding).expect("it runs")
    }

    fn bound(problem: &Problem) -> f64 {
        let settings = Settings { sweeps: Some(4000), tolerance: Some(1e-13), ..Settings::default() };
        problem.fit(&settings, &mut |_| Control::Continue).expect("it fits").run().elbo
    }

    /// A multiplicity weighs what a row adds to the bound as so many rows would, within groups and of groups too.
    #[test]
    fn rows_written_out_have_the_same_bound() {
        let schools = "axis school[s]\naxis pupil[p] in school[s]\ndata y[s, p] : real\ndata m[s] : multiplicity\n\
            data k[s, p] : multiplicity\nlevel ~ Normal(0, sd = 5)\nnoise ~ Gamma(2, rate = 1)\n\
            effect[s] ~ Normal(level, sd = 1)\nown[s, p] ~ Normal(effect[s], sd = 0.5)\ny[s, p] ~ Normal(own[s, p], prec = noise)\n";
        let nested = [
            ("y", "school,pupil,y\na,p,1\na,q,2\nb,p,4\nc,p,3\nc,q,3.5\n"),
            ("m", "school,m\na,2\nb,0\nc,3\n"),
            ("k", "school,pupil,k\na,p,1\na,q,3\nb,p,2\nc,p,2\nc,q,0\n"),
        ];
        let chosen = "axis user[u]\naxis row[r]\ndata who[r] : index user\ndata y[r] : real\ndata m[u] : multiplicity\n\
            data k[r] : multiplicity\nnoise ~ Gamma(2, rate = 1)\na[u] ~ Normal(0, sd = 2)\ny[r] ~ Normal(a[who[r]], prec = noise)\n";
        let index = [
            ("who", "row,who\n1,x\n2,y\n3,x\n4,z\n"),
            ("y", "row,y\n1,0.5\n2,2\n3,1\n4,4\n"),
            ("m", "user,m\nx,1\ny,1\nz,1\n"),
            ("k", "row,k\n1,2\n2,1\n3,0\n4,3\n"),
        ];
        for (program, files, axis, sizes) in
            [(schools, &nested[..], "pupil", [5, 2 * 4 + 3 * 2]), (chosen, &index[..], "row", [4, 6])]
        {
            let problem = problem(program, files);
            let given = problem.as_given();
            let repeated = Repeated::of(&given.model, &given.binding).expect("whole numbers").expect("some");
            let symbols = &given.model.symbols;
            let place = symbols.axes.iter().position(|own| own.name == axis).expect("an axis");
            assert_eq!(
                [given, &given.with_data(repeated.binding.clone()).unwrap()]
                    .map(|own| own.binding.bound.size(place.into())),
                sizes
            );
            let written_out = problem.with_data(repeated.binding.clone()).expect("it runs");
            let (once, often) = (bound(&problem), bound(&written_out));
            assert!((once - often).abs() < 1e-7 * once.abs(), "{axis}: {once} and {often}");
            // Each element is the copy of one that it was, and all copies of a row with a weight are there.
            for id in symbols.latents() {
                let Some(copies) = repeated.latent(id) else { continue };
                let count: usize = copies.elements.iter().map(Vec::len).sum();
                assert_eq!(count, copies.size, "{}", symbols.array(id).name);
            }
            assert!(Repeated::of(&given.model, &repeated.binding).expect("ones").is_none());
        }
    }
}
