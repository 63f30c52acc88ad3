//! Draws from q by its descriptors, with log q and `E log x`, from `statrs` and `rand_distr` alone.

use cavi_algebra::{Block, BlockId, LetterId};
use cavi_executor::{Bound, Layout, Parameters};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::{digamma, ln_gamma};

use crate::density::{renamed_of, weight};
use crate::subject::Subject;
use crate::world::{World, inverse_and_determinant};

/// One draw of all latents.
#[derive(Clone, Debug)]
pub struct Draw {
    /// For each latent its values, in C order of its declared dimensions.
    pub latents: Vec<Option<Vec<f64>>>,
    /// The logarithms of those values; NaN of what may be negative.
    pub logs: Vec<Option<Vec<f64>>>,
    /// log q of the draw: points have none.
    pub log_q: f64,
    /// `E log x` under q for every latent, NaN where it has no logarithm.
    pub expected_logs: Vec<Option<Vec<f64>>>,
}

/// Draws all latents from q.
pub fn draw(program: Subject<'_>, bound: &Bound, parameters: &Parameters, rng: &mut ChaCha8Rng) -> Draw {
    let arrays = program.model.symbols.arrays.len();
    let mut drawn = Draw {
        latents: vec![None; arrays],
        logs: vec![None; arrays],
        log_q: 0.0,
        expected_logs: vec![None; arrays],
    };
    for (index, block) in program.equations.blocks.iter().enumerate() {
        let id = BlockId::from(index);
        block_draw(program, bound, id, block, &parameters.blocks[index], rng, &mut drawn);
    }
    drawn
}

fn block_draw(
    program: Subject<'_>,
    bound: &Bound,
    id: BlockId,
    block: &Block,
    columns: &[Vec<f64>],
    rng: &mut ChaCha8Rng,
    drawn: &mut Draw,
) {
    let symbols = &program.equations.symbols;
    let missing = |array: cavi_algebra::ArrayId| bound.array(array).has_missing();
    let layout = Layout::new(program.equations, bound, block, &missing);
    let world = World::new(symbols, bound);
    for member in &block.members {
        let size = bound.shape(symbols, *member).iter().product();
        drawn.latents[member.index()] = Some(vec![f64::NAN; size]);
        drawn.expected_logs[member.index()] = Some(vec![f64::NAN; size]);
        drawn.logs[member.index()] = Some(vec![f64::NAN; size]);
    }
    let family = cavi_families::posterior(block.family).name();
    let n = layout.n;
    let renamed = renamed_of(program.model, block.members[0]);
    for row in 0..layout.rows {
        let plates = unflat(&layout.plates, row);
        let seen = seen(program, bound, id, &layout, &plates);
        let (values, logs, expected, log_q) = if let Some(values) = seen {
            let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            (values, logs.clone(), logs, 0.0)
        } else if block.is_point() {
            let values: Vec<f64> = columns
                .iter()
                .flat_map(|column| {
                    let width = column.len() / layout.rows;
                    column[row * width..(row + 1) * width].iter().copied()
                })
                .collect();
            let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            (values, logs.clone(), logs, 0.0)
        } else if let Some(slice) = block.ragged_slice(symbols) {
            // A copy for each group, as long as the group and with a weight of its own.
            let parent = symbols.letter(slice).parent.expect("a ragged letter has a parent");
            let mut whole = (Vec::new(), Vec::new(), Vec::new(), 0.0);
            for (position, pair) in layout.starts.windows(2).enumerate() {
                let of_group = |column: &Vec<f64>| column[row * n + pair[0]..row * n + pair[1]].to_vec();
                let own: Vec<Vec<f64>> = columns.iter().map(of_group).collect();
                let (values, logs, expected, log_q) = copy(family, &own, 0, 0, pair[1] - pair[0], rng);
                whole.0.extend(values);
                whole.1.extend(logs);
                whole.2.extend(expected);
                let mut at = world.nowhere();
                let letters = symbols.lineage(parent);
                let mut place = position;
                for letter in &letters {
                    at[letter.index()] = Some(place);
                    let axis = &bound.axes[symbols.letter(*letter).axis.index()];
                    place = axis.parent.as_ref().map_or(0, |parents| parents[place]);
                }
                for (letter, position) in block.plates.iter().zip(&plates) {
                    at[letter.index()] = Some(*position);
                }
                let copies: Vec<LetterId> = block.plates.iter().copied().chain([parent]).collect();
                drawn.log_q += log_q * weight(program.model, &world, (&copies, renamed), &at);
            }
            whole
        } else {
            let group = if layout.group.is_empty() { row } else { layout.group[row] };
            let (mut values, mut logs, mut expected, log_q) = copy(family, columns, row, group, n, rng);
            // The real variable and its companion, in the order of the block's members.
            let first = symbols.array(block.members[0]).support;
            let pair = ["Normal-Gamma", "Bernoulli-Normal"].contains(&family);
            if pair && first != cavi_algebra::Support::Real {
                [&mut values, &mut logs, &mut expected].into_iter().for_each(|own| own.reverse());
            }
            (values, logs, expected, log_q)
        };
        let mut at = world.nowhere();
        for (letter, position) in block.plates.iter().zip(&plates) {
            at[letter.index()] = Some(*position);
        }
        drawn.log_q += log_q * weight(program.model, &world, (&block.plates, renamed), &at);
        let mut element = 0;
        for (member, array) in block.members.iter().enumerate() {
            let sizes = &layout.slices[member];
            let dimensions = dimensions(program, id, member);
            for within in 0..sizes.iter().product::<usize>() {
                let positions: Vec<usize> = plates.iter().copied().chain(unflat(sizes, within)).collect();
                let declared: Vec<usize> = dimensions.iter().map(|place| positions[*place]).collect();
                let place = world.place(*array, &declared);
                let set = |arrays: &mut Vec<Option<Vec<f64>>>, value: f64| {
                    arrays[array.index()].as_mut().expect("made above")[place] = value;
                };
                set(&mut drawn.latents, values[element]);
                set(&mut drawn.logs, logs[element]);
                set(&mut drawn.expected_logs, expected[element]);
                element += 1;
            }
        }
    }
}

/// The value of a copy that was observed, of an array that is latent elsewhere.
fn seen(
    program: Subject<'_>,
    bound: &Bound,
    id: BlockId,
    layout: &Layout,
    plates: &[usize],
) -> Option<Vec<f64>> {
    let member = program.equations.block(id).members[0];
    let array = bound.arrays[member.index()].as_ref()?;
    let shape = bound.shape(&program.equations.symbols, member);
    let dimensions = dimensions(program, id, 0);
    let sizes = &layout.slices[0];
    let element = |within: usize| {
        let positions: Vec<usize> = plates.iter().copied().chain(unflat(sizes, within)).collect();
        let declared: Vec<usize> = dimensions.iter().map(|place| positions[*place]).collect();
        let (value, seen) = array.entry(&shape, &declared);
        seen.then_some(value)
    };
    (0..sizes.iter().product()).map(element).collect()
}

/// For each declared dimension of a member, its place among the block's plates and the member's slices.
fn dimensions(program: Subject<'_>, id: BlockId, member: usize) -> Vec<usize> {
    let symbols = &program.equations.symbols;
    let block = program.equations.block(id);
    let own = block.letters_of(member);
    let letters = symbols.array(block.members[member]).letters.iter();
    let place = |letter: &LetterId| own.iter().position(|other| other == letter);
    letters.map(|letter| place(letter).expect("the letters of a member are those of its block")).collect()
}

/// A draw of one copy, its logarithms, `E log` of its elements, and log q.
fn copy(
    family: &str,
    columns: &[Vec<f64>],
    row: usize,
    group: usize,
    n: usize,
    rng: &mut ChaCha8Rng,
) -> (Vec<f64>, Vec<f64>, Vec<f64>, f64) {
    let normal = |rng: &mut ChaCha8Rng| -> f64 { rng.sample(StandardNormal) };
    let half_log_two_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
    match family {
        "Normal" => {
            let (mean, var) = (columns[0][row], columns[1][row]);
            let step = normal(rng);
            let log_q = -half_log_two_pi - 0.5 * var.ln() - 0.5 * step * step;
            let x: f64 = mean + var.sqrt() * step;
            (vec![x], vec![x.ln()], vec![f64::NAN], log_q)
        }
        "Normal over a slice" => {
            let mean = &columns[0][row * n..(row + 1) * n];
            let factor = cholesky(&columns[1][group * n * n..(group + 1) * n * n], n);
            let steps: Vec<f64> = (0..n).map(|_| normal(rng)).collect();
            let mut values = mean.to_vec();
            let mut log_q = 0.0;
            for i in 0..n {
                values[i] += (0..=i).map(|j| factor[i * n + j] * steps[j]).sum::<f64>();
                log_q -= half_log_two_pi + factor[i * n + i].ln() + 0.5 * steps[i] * steps[i];
            }
            let logs = values.iter().map(|value: &f64| value.ln()).collect();
            (values, logs, vec![f64::NAN; n], log_q)
        }
        "Gamma" => {
            let (shape, rate) = (columns[0][row], columns[1][row]);
            let log = log_gamma_draw(shape, rng) - rate.ln();
            let x = log.exp();
            let log_q = shape * rate.ln() - ln_gamma(shape) + (shape - 1.0) * log - rate * x;
            (vec![x], vec![log], vec![digamma(shape) - rate.ln()], log_q)
        }
        "Normal-Gamma" => {
            let [mean, kappa, shape, rate] = [0, 1, 2, 3].map(|column| columns[column][row]);
            let log = log_gamma_draw(shape, rng) - rate.ln();
            let step = normal(rng);
            let x = mean + step * (-0.5 * (kappa.ln() + log)).exp();
            let log_q = shape * rate.ln() - ln_gamma(shape) + (shape - 1.0) * log
                - rate * log.exp()
                - half_log_two_pi
                + 0.5 * (kappa.ln() + log - step * step);
            let expected = digamma(shape) - rate.ln();
            (vec![x, log.exp()], vec![x.ln(), log], vec![f64::NAN, expected], log_q)
        }
        "Normal-Gamma over a slice" => {
            let (mean, kappa) =
                (&columns[0][row * n..(row + 1) * n], &columns[1][row * n * n..(row + 1) * n * n]);
            let (shape, rate) = (columns[2][row], columns[3][row]);
            let log = log_gamma_draw(shape, rng) - rate.ln();
            let precision: Vec<f64> = kappa.iter().map(|kappa| kappa * log.exp()).collect();
            let (mut values, normal) = given_precision(mean, &precision, rng);
            let log_q = normal + shape * rate.ln() - ln_gamma(shape) + (shape - 1.0) * log - rate * log.exp();
            let mut logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            let mut expected = vec![f64::NAN; n];
            values.push(log.exp());
            logs.push(log);
            expected.push(digamma(shape) - rate.ln());
            (values, logs, expected, log_q)
        }
        "Wishart" => {
            let (values, log_q) = wishart(columns[0][row], &columns[1][row * n * n..(row + 1) * n * n], rng);
            let unused = vec![f64::NAN; n * n];
            (values, unused.clone(), unused, log_q)
        }
        "Normal-Wishart" => {
            let (matrix, log_wishart) =
                wishart(columns[2][row], &columns[3][row * n * n..(row + 1) * n * n], rng);
            let precision: Vec<f64> = matrix.iter().map(|value| columns[1][row] * value).collect();
            let (mut values, log_normal) =
                given_precision(&columns[0][row * n..(row + 1) * n], &precision, rng);
            values.extend(matrix);
            let unused = vec![f64::NAN; n + n * n];
            (values, unused.clone(), unused, log_wishart + log_normal)
        }
        "InverseGamma" => {
            let (shape, scale) = (columns[0][row], columns[1][row]);
            let log = scale.ln() - log_gamma_draw(shape, rng);
            let log_q = shape * scale.ln() - ln_gamma(shape) - (shape + 1.0) * log - scale * (-log).exp();
            (vec![log.exp()], vec![log], vec![scale.ln() - digamma(shape)], log_q)
        }
        "GeneralizedInverseGaussian" => {
            let [p, a, b] = [0, 1, 2].map(|column| columns[column][row]);
            // The density of log x on a fine grid about its mode, up to a factor: its integral and its mean.
            let w = (p * p + a * b).sqrt();
            let middle = if p >= 0.0 { (p + w) / a } else { b / (w - p) }.ln();
            let kernel = |log: f64| p * log - 0.5 * (a * log.exp() + b * (-log).exp());
            let step = 0.08 / w.sqrt().max(1.0);
            let grid: Vec<f64> = (-1000..=1000).map(|place| middle + step * f64::from(place)).collect();
            let weights: Vec<f64> = grid.iter().map(|log| (kernel(*log) - kernel(middle)).exp()).collect();
            let total: f64 = weights.iter().sum();
            let expected = grid.iter().zip(&weights).map(|(log, weight)| log * weight).sum::<f64>() / total;
            let log_integral = kernel(middle) + (step * total).ln();
            let largest = weights.iter().copied().fold(0.0, f64::max);
            // By rejection from the uniform over the part of the grid that matters.
            let first = weights.iter().position(|weight| *weight > 1e-17 * largest).expect("the largest");
            let last = weights.iter().rposition(|weight| *weight > 1e-17 * largest).expect("the largest");
            let log = loop {
                let log = grid[first] + (grid[last] - grid[first]) * rng.random::<f64>();
                if rng.random::<f64>() * largest <= (kernel(log) - kernel(middle)).exp() {
                    break log;
                }
            };
            (vec![log.exp()], vec![log], vec![expected], kernel(log) - log_integral - log)
        }
        "Bernoulli-Normal" => {
            let prob = columns[0][row];
            let hit = rng.random::<f64>() < prob;
            let column = if hit { 3 } else { 1 };
            let (mean, var) = (columns[column][row], columns[column + 1][row]);
            let step = normal(rng);
            let log_q = if hit { prob.ln() } else { (1.0 - prob).ln() }
                - half_log_two_pi
                - 0.5 * var.ln()
                - 0.5 * step * step;
            let x: f64 = mean + var.sqrt() * step;
            (vec![x, f64::from(u8::from(hit))], vec![x.ln(), f64::NAN], vec![f64::NAN; 2], log_q)
        }
        "Beta" => {
            let (a, b) = (columns[0][row], columns[1][row]);
            let (left, right) = (log_gamma_draw(a, rng), log_gamma_draw(b, rng));
            let total = left.max(right) + (-(left - right).abs()).exp().ln_1p();
            let log_q = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)
                + (a - 1.0) * (left - total)
                + (b - 1.0) * (right - total);
            (vec![(left - total).exp()], vec![left - total], vec![digamma(a) - digamma(a + b)], log_q)
        }
        "Dirichlet" => {
            let concentration = &columns[0][row * n..(row + 1) * n];
            let logs: Vec<f64> = concentration.iter().map(|own| log_gamma_draw(*own, rng)).collect();
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total = largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln();
            let sum: f64 = concentration.iter().sum();
            let mut log_q = ln_gamma(sum);
            for (own, log) in concentration.iter().zip(&logs) {
                log_q += (own - 1.0) * (log - total) - ln_gamma(*own);
            }
            let logs: Vec<f64> = logs.iter().map(|log| log - total).collect();
            let values = logs.iter().map(|log| log.exp()).collect();
            let expected = concentration.iter().map(|own| digamma(*own) - digamma(sum)).collect();
            (values, logs, expected, log_q)
        }
        "Categorical" => {
            let prob = &columns[0][row * n..(row + 1) * n];
            let mut rest: f64 = rng.random();
            let class = prob.iter().position(|own| {
                rest -= own;
                rest < 0.0
            });
            let class = class.unwrap_or(n - 1);
            (vec![class as f64], vec![f64::NAN], vec![f64::NAN], prob[class].ln())
        }
        "Bernoulli" => {
            let prob = columns[0][row];
            let hit = rng.random::<f64>() < prob;
            (
                vec![f64::from(u8::from(hit))],
                vec![f64::NAN],
                vec![f64::NAN],
                if hit { prob.ln() } else { (1.0 - prob).ln() },
            )
        }
        "TruncatedNormal" if columns[1][row] == 0.0 => {
            let rate = -columns[0][row];
            let step: f64 = rand_distr::Exp1.sample(rng);
            let x = step / rate;
            (vec![x], vec![x.ln()], vec![f64::NAN], rate.ln() - step)
        }
        "TruncatedNormal" => {
            let (linear, precision) = (columns[0][row], columns[1][row]);
            let (mean, deviation) = (linear / precision, precision.sqrt().recip());
            let standard = Normal::new(0.0, 1.0).expect("a standard normal");
            let least = -mean / deviation;
            let (step, log_above) = if least < 5.0 {
                let above = standard.cdf(-least);
                (-standard.inverse_cdf(above * (1.0 - rng.random::<f64>())), above.ln())
            } else {
                // By rejection from an Exponential (Robert 1995); the tail by Laplace's continued fraction.
                let rate = 0.5 * (least + (least * least + 4.0).sqrt());
                let step = loop {
                    let wait: f64 = rand_distr::Exp1.sample(rng);
                    let step = least + wait / rate;
                    if rng.random::<f64>() <= (-0.5 * (step - rate) * (step - rate)).exp() {
                        break step;
                    }
                };
                let inverse_mills = (1..=60).rev().fold(least, |rest, k| least + f64::from(k) / rest);
                (step, -0.5 * least * least - half_log_two_pi - inverse_mills.ln())
            };
            let log_q = -half_log_two_pi - deviation.ln() - 0.5 * step * step - log_above;
            let x = (mean + deviation * step).max(0.0);
            (vec![x], vec![x.ln()], vec![f64::NAN], log_q)
        }
        other => panic!("a sampler for {other} is to be written here"),
    }
}

/// A draw from a multivariate Normal with this precision, and its log density.
fn given_precision(mean: &[f64], precision: &[f64], rng: &mut ChaCha8Rng) -> (Vec<f64>, f64) {
    let n = mean.len();
    let (covariance, log_determinant) = inverse_and_determinant(precision);
    let factor = cholesky(&covariance, n);
    let steps: Vec<f64> = (0..n).map(|_| rng.sample(StandardNormal)).collect();
    let values =
        (0..n).map(|i| mean[i] + (0..=i).map(|j| factor[i * n + j] * steps[j]).sum::<f64>()).collect();
    let squares: f64 = steps.iter().map(|step| step * step).sum();
    (values, 0.5 * (log_determinant - squares - n as f64 * (2.0 * std::f64::consts::PI).ln()))
}

/// A draw from a Wishart by Bartlett's decomposition, and its log density.
fn wishart(dof: f64, scale: &[f64], rng: &mut ChaCha8Rng) -> (Vec<f64>, f64) {
    let n = scale.len().isqrt();
    let factor = cholesky(scale, n);
    let mut triangle = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..i {
            triangle[i * n + j] = rng.sample(StandardNormal);
        }
        // A chi-squared variable is twice a Gamma variable of half the shape.
        triangle[i * n + i] = (2.0 * log_gamma_draw(0.5 * (dof - i as f64), rng).exp()).sqrt();
    }
    let product: Vec<f64> = (0..n * n)
        .map(|place| (0..n).map(|m| factor[place / n * n + m] * triangle[m * n + place % n]).sum())
        .collect();
    let values: Vec<f64> = (0..n * n)
        .map(|place| (0..n).map(|m| product[place / n * n + m] * product[place % n * n + m]).sum())
        .collect();
    let (rate, log_scale) = inverse_and_determinant(scale);
    let size = n as f64;
    let trace: f64 = rate.iter().zip(&values).map(|(rate, value)| rate * value).sum();
    let gammas: f64 = (0..n).map(|i| ln_gamma(0.5 * (dof - i as f64))).sum();
    let log_density = 0.5
        * ((dof - size - 1.0) * inverse_and_determinant(&values).1
            - trace
            - dof * size * 2.0_f64.ln()
            - dof * log_scale
            - 0.5 * size * (size - 1.0) * std::f64::consts::PI.ln())
        - gammas;
    (values, log_density)
}

/// The log of a draw from Gamma(shape, 1): for a small shape from `G(shape) = G(shape + 1) U^(1 / shape)`.
fn log_gamma_draw(shape: f64, rng: &mut ChaCha8Rng) -> f64 {
    let sample = |shape: f64, rng: &mut ChaCha8Rng| -> f64 {
        rand_distr::Gamma::new(shape, 1.0).expect("a shape greater than 0").sample(rng)
    };
    if shape >= 1.0 {
        return sample(shape, rng).ln();
    }
    let uniform: f64 = 1.0 - rng.random::<f64>();
    sample(shape + 1.0, rng).ln() + uniform.ln() / shape
}

/// The lower triangle L with `L L' = a`.
fn cholesky(a: &[f64], n: usize) -> Vec<f64> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let rest: f64 = a[i * n + j] - (0..j).map(|k| lower[i * n + k] * lower[j * n + k]).sum::<f64>();
            lower[i * n + j] = if i == j { rest.sqrt() } else { rest / lower[j * n + j] };
        }
    }
    lower
}

fn unflat(sizes: &[usize], place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut positions = vec![0; sizes.len()];
    for (position, size) in positions.iter_mut().zip(sizes).rev() {
        *position = rest % size;
        rest /= size;
    }
    positions
}
