//! Starts computed from the data: `z = pca(x)`, `mu = kmeans(x)`.
//!
//! The letters of the latent say how the array is laid out as a matrix: those whose axis is one of the array's are one of
//! its sides, all other dimensions of the array the other. Of two dimensions over one axis, as senders and receivers of `y[i, j]`, a letter takes its
//! own. The one letter left counts factors or clusters. Ragged dimensions stand behind each other.
//!
//! *Principal components.* With `X` centred over the first axis of the array (of size N), `X = U S V'`: a latent over the
//! first axis starts at the scores `sqrt(N) U`, mean square 1; any other at the loadings `V S / sqrt(N)`, so that scores
//! times loadings are the best approximation of `X` of that rank. Signs make the largest loading of a component positive.
//! Factors beyond the rank keep their random start.
//!
//! *Clusters.* A latent whose values are positions starts at the clusters of its copies, all others at the centres. Lines
//! for both from one array find the same clusters.
//!
//! Missing entries, and cells that are no entries (`i != j`), are taken for the mean over the first axis. Of sparse data with `i < j` the other half stays
//! 0: to list it would be to store all pairs. A row with a multiplicity counts as often as that says: in means, in clusters of
//! rows, and in components, whose squares it weighs.

use cavi_algebra::{ArrayId, LetterId, Support, dedup};
use cavi_executor::{BoundArray, Parameters, normalise};
use cavi_model::Start as Line;
use cavi_numerics::starts::{MatrixView, cluster, leading_components};
use cavi_syntax::Diagnostic;
use rand::Rng;

use super::Context;
use crate::bind::Existing;
use crate::means::mean;
use crate::rows::RowWeights;
use crate::streams;

/// How a latent lies along the dimensions of an array.
struct Sides {
    /// The latent's letters on axes of the array, in its order.
    own: Vec<LetterId>,
    /// The dimensions of the array that they run over.
    places: Vec<usize>,
    /// The other dimensions of the array.
    rest: Vec<usize>,
    /// The latent's letters on other axes.
    others: Vec<LetterId>,
}

/// An array as a matrix.
struct Unfolded {
    rows: usize,
    columns: usize,
    entries: Entries,
}

enum Entries {
    Dense(Vec<f64>),
    Sparse { starts: Vec<usize>, places: Vec<u32>, values: Vec<f64>, shift: Vec<f64> },
}

/// What a start needs of a matrix.
#[derive(Clone, Copy, PartialEq)]
enum Origin {
    /// Means over the first axis subtracted.
    Centred,
    /// As it is.
    Own,
}

impl Context<'_> {
    /// The values of a start from data, in C order of the latent's dimensions.
    pub(super) fn computed(
        &self,
        method: &str,
        data: ArrayId,
        seed: u64,
        parameters: &Parameters,
    ) -> Result<Vec<f64>, Box<Diagnostic>> {
        let name = &self.symbols().array(data).name;
        if matches!(self.symbols().array(data).support, Support::Index(_)) {
            return Err(self.error_with_help(
                &format!("`{name}` holds positions on an axis, and `{method}` needs numbers"),
                "name an array of numbers",
            ));
        }
        let sides = self.sides(data);
        match method {
            "pca" => self.components(data, &sides, parameters),
            "kmeans" => self.clusters(data, &sides, seed),
            _ => unreachable!("the resolver knows no other start from data"),
        }
    }

    fn sides(&self, data: ArrayId) -> Sides {
        let symbols = self.symbols();
        let axis = |letter: &LetterId| symbols.letter(*letter).axis;
        let dimensions = &symbols.array(data).letters;
        let mut sides = Sides { own: Vec::new(), places: Vec::new(), rest: Vec::new(), others: Vec::new() };
        let letters = &symbols.array(self.line.target).letters;
        let mut found: Vec<Option<usize>> =
            letters.iter().map(|letter| dimensions.iter().position(|own| own == letter)).collect();
        for place in 0..found.len() {
            let free = |other: &usize| {
                axis(&dimensions[*other]) == axis(&letters[place]) && !found.contains(&Some(*other))
            };
            found[place] = found[place].or_else(|| (0..dimensions.len()).find(free));
        }
        for (letter, place) in letters.iter().zip(found) {
            match place {
                Some(place) => {
                    sides.own.push(*letter);
                    sides.places.push(place);
                }
                None => sides.others.push(*letter),
            }
        }
        sides.rest = (0..dimensions.len()).filter(|place| !sides.places.contains(place)).collect();
        sides
    }

    /// The one letter over factors or clusters.
    fn counted(&self, data: ArrayId, sides: &Sides, what: &str) -> Result<LetterId, Box<Diagnostic>> {
        if let [letter] = sides.others.as_slice() {
            return Ok(*letter);
        }
        let symbols = self.symbols();
        let (target, data) = (&symbols.array(self.line.target).name, &symbols.array(data).name);
        let found = match sides.others.len() {
            0 => "none is left".to_owned(),
            _ => {
                let names = sides.others.iter().map(|letter| format!("`{}`", symbols.letter(*letter).name));
                format!("{} are left", names.collect::<Vec<_>>().join(", "))
            }
        };
        let message =
            format!("besides the axes of `{data}`, `{target}` needs one letter over {what}; {found}");
        Err(self.error_with_help(
            &message,
            "start another latent so, or give values, a draw, or a file by `--init`",
        ))
    }

    fn components(
        &self,
        data: ArrayId,
        sides: &Sides,
        parameters: &Parameters,
    ) -> Result<Vec<f64>, Box<Diagnostic>> {
        let symbols = self.symbols();
        let target = symbols.array(self.line.target);
        if target.support != Support::Real {
            return Err(self.error_with_help(
                &format!("principal components have both signs, and `{}` cannot", target.name),
                "draw its start, or use `kmeans(x)`, whose centres lie among the data",
            ));
        }
        let factor = self.counted(data, sides, "factors")?;
        if sides.places.is_empty() || sides.rest.is_empty() {
            let message = format!(
                "`{}` and `{}` do not have an axis each that the other lacks, besides one in common",
                target.name,
                symbols.array(data).name
            );
            return Err(self.error_with_help(&message, "name an array of which the latent has one side"));
        }
        let wanted = self.binding.bound.size_of(symbols, factor);
        let first = self.binding.bound.shape(symbols, data)[0];
        let is_score = sides.places.contains(&0);
        let is_right = !is_score && sides.rest == [0];
        let (rows, columns) =
            if is_right { (&sides.rest, &sides.places) } else { (&sides.places, &sides.rest) };
        let matrix = self.unfold(data, rows, columns, Origin::Centred)?;
        let weights = self.weights_along(data, rows);
        let found = leading_components(matrix.view(), weights.as_deref(), wanted);
        let counted = if is_score { matrix.rows } else { first };
        let counted = weights.map_or(counted as f64, |own| own.iter().sum());
        let root = if counted > 0.0 { counted.sqrt() } else { 1.0 };
        let scale = |c: usize| if is_score { root } else { found.values[c] / root };
        let vectors = if is_right { &found.right } else { &found.left };

        let mut from = sides.own.clone();
        from.push(factor);
        let mut values = match mean(self.equations, &self.binding.bound, parameters, self.line.target) {
            Some(mean) => self.reordered(&mean.values, &target.letters, &from),
            None => vec![0.0; vectors.len() / found.count.max(1) * wanted],
        };
        for (row, own) in values.chunks_mut(wanted.max(1)).enumerate() {
            for (c, value) in own.iter_mut().enumerate().take(found.count) {
                *value = vectors[row * found.count + c] * scale(c);
            }
        }
        Ok(self.reordered(&values, &from, &target.letters))
    }

    fn clusters(&self, data: ArrayId, sides: &Sides, seed: u64) -> Result<Vec<f64>, Box<Diagnostic>> {
        let symbols = self.symbols();
        let target = symbols.array(self.line.target);
        let number = self.number_of_clustered(data);
        let mut generator = streams::CLUSTERS.at(number).of(seed);
        let mut draw = || generator.random::<f64>();
        if let Support::Index(axis) = target.support {
            if !sides.others.is_empty() || sides.places.is_empty() {
                let message = format!(
                    "`{}` has a letter over an axis that `{}` lacks: there is nothing to put into clusters",
                    target.name,
                    symbols.array(data).name
                );
                return Err(self.error_with_help(&message, "name an array over the axes of the latent"));
            }
            let matrix = self.unfold(data, &sides.places, &sides.rest, Origin::Own)?;
            let weights = self.weights_of_rows(data, &sides.places, matrix.rows);
            let found = cluster(matrix.view(), &weights, self.binding.bound.size(axis), &mut draw);
            let clusters: Vec<f64> = found.of_row.iter().map(|cluster| *cluster as f64).collect();
            return Ok(self.reordered(&clusters, &sides.own, &target.letters));
        }
        let letter = self.counted(data, sides, "clusters")?;
        if sides.rest.is_empty() {
            let message = format!(
                "`{}` runs over every axis of `{}`: nothing is left to put into clusters",
                target.name,
                symbols.array(data).name
            );
            return Err(
                self.error_with_help(&message, "start the latent over the features of the clusters so")
            );
        }
        let count = self.binding.bound.size_of(symbols, letter);
        if count == 0 {
            return Ok(Vec::new());
        }
        let matrix = self.unfold(data, &sides.rest, &sides.places, Origin::Own)?;
        let weights = self.weights_of_rows(data, &sides.rest, matrix.rows);
        let mut found = cluster(matrix.view(), &weights, count, &mut draw);
        if target.support != Support::Real {
            blend(&mut found.centres, &found.sizes, target.support == Support::Unit);
        }
        if target.support == Support::Simplex {
            found.centres.chunks_mut(matrix.columns.max(1)).for_each(|row| normalise(row, 0..row.len()));
        }
        let mut from = vec![letter];
        from.extend(&sides.own);
        Ok(self.reordered(&found.centres, &from, &target.letters))
    }

    /// The number of an array among those that lines of `init` put into clusters.
    fn number_of_clustered(&self, data: ArrayId) -> usize {
        let clustered = self.model.init.iter().filter_map(|line| match &line.start {
            Line::FromData { method, data } if method == "kmeans" => Some(*data),
            Line::FromData { .. } | Line::Value(_) | Line::Draw { .. } => None,
        });
        dedup(clustered.collect()).iter().position(|own| *own == data).unwrap_or_default()
    }

    /// How often each row counts by the multiplicities that run along these dimensions alone, which are those of rows; `None` where there are none. Columns
    /// count once, whatever their multiplicity.
    fn weights_along(&self, data: ArrayId, places: &[usize]) -> Option<Vec<f64>> {
        let statement = self.model.statement_of(data)?;
        let (symbols, bound) = (&self.model.symbols, &self.binding.bound);
        let mut weights = RowWeights::of_statement(symbols, bound, statement).each();
        weights.retain(|own| own.dimensions().iter().all(|dimension| places.contains(dimension)));
        if weights.is_empty() {
            return None;
        }
        let shape = bound.shape(symbols, data);
        let rows = places.iter().map(|place| shape[*place]).product();
        let of_row = |row: usize| {
            let (mut position, mut rest) = (vec![0; shape.len()], row);
            for place in places.iter().rev() {
                position[*place] = rest % shape[*place];
                rest /= shape[*place];
            }
            weights.iter().map(|own| own.at(|dimension| position[dimension])).product()
        };
        Some((0..rows).map(of_row).collect())
    }

    /// The same, 1 for each row that counts once.
    fn weights_of_rows(&self, data: ArrayId, places: &[usize], rows: usize) -> Vec<f64> {
        self.weights_along(data, places).unwrap_or_else(|| vec![1.0; rows])
    }

    /// An array as a matrix whose rows run over some of its dimensions and whose columns over the others.
    fn unfold(
        &self,
        data: ArrayId,
        row_places: &[usize],
        column_places: &[usize],
        origin: Origin,
    ) -> Result<Unfolded, Box<Diagnostic>> {
        let shape = self.binding.bound.shape(self.symbols(), data);
        let count = |places: &[usize]| places.iter().map(|place| shape[*place]).product::<usize>();
        let (rows, columns) = (count(row_places), count(column_places));
        let at = |places: &[usize], position: &dyn Fn(usize) -> usize| {
            places.iter().fold(0, |at, place| at * shape[*place] + position(*place))
        };
        let others: Vec<usize> = (1..shape.len()).collect();
        let first = self.weights_along(data, &[0]);
        let weight = |position: usize| first.as_ref().map_or(1.0, |own| own[position]);
        let existing = Existing::of(self.symbols(), &self.binding.bound.axes, self.symbols().array(data));
        match self.binding.bound.array(data) {
            BoundArray::Dense { values, observed } => {
                let mut strides = vec![1; shape.len()];
                for place in (1..shape.len()).rev() {
                    strides[place - 1] = strides[place] * shape[place];
                }
                let is_there = |cell: usize| existing.at(|place| cell / strides[place] % shape[place]);
                let seen =
                    |cell: usize| observed.as_ref().is_none_or(|observed| observed[cell]) && is_there(cell);
                let width = count(&others);
                let mut means = Means::new(width, 0.0);
                for (cell, value) in values.iter().enumerate().filter(|(cell, _)| seen(*cell)) {
                    means.add(cell % width, weight(cell / width), *value);
                }
                let means = means.finish();
                let mut out = vec![0.0; values.len()];
                for (cell, value) in values.iter().enumerate() {
                    let position = |place: usize| cell / strides[place] % shape[place];
                    let own = if seen(cell) { *value } else { means[cell % width] };
                    let origin = if origin == Origin::Centred { means[cell % width] } else { 0.0 };
                    out[at(row_places, &position) * columns + at(column_places, &position)] = own - origin;
                }
                Ok(Unfolded { rows, columns, entries: Entries::Dense(out) })
            }
            BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
                let seen = |entry: usize| observed.as_ref().is_none_or(|observed| observed[entry]);
                let place =
                    |entry: usize, places: &[usize]| at(places, &|place| indices[place][entry] as usize);
                let by_column = row_places == [0];
                let simple = match origin {
                    Origin::Own => *unlisted_zero && observed.is_none(),
                    Origin::Centred => !unlisted_zero,
                };
                if !by_column && !simple {
                    let name = &self.symbols().array(data).name;
                    return Err(self.error_with_help(
                        &format!("`{name}` is sparse, and this start needs a column for each of its entries"),
                        "start a latent over the first axis so, or give the array as a dense file",
                    ));
                }
                let cells: &[usize] = if by_column { column_places } else { &others };
                let all = || first.as_ref().map_or(shape[0] as f64, |own| own.iter().sum());
                let mut means = Means::new(count(cells), if *unlisted_zero { all() } else { 0.0 });
                for (entry, value) in values.iter().enumerate() {
                    let (cell, weight) = (place(entry, cells), weight(indices[0][entry] as usize));
                    match (seen(entry), *unlisted_zero) {
                        (true, true) => means.sums[cell] += weight * value,
                        (true, false) => means.add(cell, weight, *value),
                        (false, true) => means.counts[cell] -= weight,
                        (false, false) => {}
                    }
                }
                // Cells of equal positions are no entries, and no zeros.
                let gaps = if *unlisted_zero { existing.equal_positions(&shape) } else { Vec::new() };
                let of_gap = |gap: &[usize], places: &[usize]| at(places, &|place| gap[place]);
                for gap in &gaps {
                    means.counts[of_gap(gap, cells)] -= weight(gap[0]);
                }
                let means = means.finish();
                // What an entry that is not listed is short of.
                let mut shift = vec![0.0; columns];
                match (origin, *unlisted_zero) {
                    (Origin::Centred, true) => shift.clone_from(&means),
                    (Origin::Own, false) => shift = means.iter().map(|mean| -mean).collect(),
                    (Origin::Centred, false) | (Origin::Own, true) => {}
                }
                let mut listed: Vec<(usize, u32, f64)> = Vec::with_capacity(values.len());
                for entry in 0..values.len() {
                    let mean = means[place(entry, cells)];
                    let value = match (seen(entry), *unlisted_zero) {
                        (true, true) => values[entry],
                        (true, false) => values[entry] - mean,
                        (false, true) => mean,
                        (false, false) => continue,
                    };
                    listed.push((place(entry, row_places), place(entry, column_places) as u32, value));
                }
                for gap in &gaps {
                    let mean = means[of_gap(gap, cells)];
                    listed.push((of_gap(gap, row_places), of_gap(gap, column_places) as u32, mean));
                }
                listed.sort_by_key(|(row, column, _)| (*row, *column));
                let mut starts = vec![0; rows + 1];
                listed.iter().for_each(|(row, ..)| starts[row + 1] += 1);
                (0..rows).for_each(|row| starts[row + 1] += starts[row]);
                let places = listed.iter().map(|(_, column, _)| *column).collect();
                let values = listed.iter().map(|(.., value)| *value).collect();
                Ok(Unfolded { rows, columns, entries: Entries::Sparse { starts, places, values, shift } })
            }
        }
    }
}

impl Unfolded {
    fn view(&self) -> MatrixView<'_> {
        let (rows, columns) = (self.rows, self.columns);
        match &self.entries {
            Entries::Dense(values) => MatrixView::Dense { rows, columns, values },
            Entries::Sparse { starts, places, values, shift } => {
                MatrixView::Sparse { rows, columns, starts, places, values, shift }
            }
        }
    }
}

/// Means over the first axis of what is observed; 0 where nothing is.
struct Means {
    sums: Vec<f64>,
    /// How often each was observed, weights counted.
    counts: Vec<f64>,
}

impl Means {
    /// `observed` entries of each cell are known before any is added.
    fn new(cells: usize, observed: f64) -> Means {
        Means { sums: vec![0.0; cells], counts: vec![observed; cells] }
    }

    fn add(&mut self, cell: usize, weight: f64, value: f64) {
        self.sums[cell] += weight * value;
        self.counts[cell] += weight;
    }

    fn finish(self) -> Vec<f64> {
        let ratio = |(sum, count): (f64, f64)| if count > 0.0 { sum / count } else { 0.0 };
        self.sums.into_iter().zip(self.counts).map(ratio).collect()
    }
}

/// Centres of data that are 0 in places, for latents that are not: each cluster counts one more row, the mean of all (the
/// smallest positive one where that is 0). Of a latent between 0 and 1 the same holds of what is left to 1.
fn blend(centres: &mut [f64], sizes: &[f64], is_unit: bool) {
    let width = centres.len() / sizes.len().max(1);
    let total: f64 = sizes.iter().sum();
    let total = if total > 0.0 { total } else { 1.0 };
    let mut all = vec![0.0; width];
    for (centre, size) in centres.chunks(width.max(1)).zip(sizes) {
        all.iter_mut().zip(centre).for_each(|(all, own)| *all += own * size / total);
    }
    let smallest = |of: &dyn Fn(&f64) -> f64| {
        let least = all.iter().map(of).filter(|own| *own > 0.0).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 1.0 }
    };
    let (least, least_left) = (smallest(&|mean| *mean), smallest(&|mean| 1.0 - mean));
    for (centre, size) in centres.chunks_mut(width.max(1)).zip(sizes) {
        for (own, all) in centre.iter_mut().zip(&all) {
            let all = match *all {
                mean if mean <= 0.0 => least,
                mean if is_unit && mean >= 1.0 => 1.0 - least_left,
                mean => mean,
            };
            *own = (*own * size + all) / (size + 1.0);
        }
    }
}
