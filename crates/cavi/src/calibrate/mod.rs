//! Simulation-based calibration: does a fit find what its data were drawn from?
//!
//! Latents and data are drawn from the prior again and again, and each data set is fitted. Were q the posterior, the latent `t` that the
//! data were drawn from would be one more draw of q: with L draws of q, the number of those below `t` is then uniform on `0, ..., L`. So is, with
//! ties and the place between two draws settled by a uniform number U,
//!
//! ```text
//! p = (#{draws < t} + U (1 + #{draws = t})) / (L + 1)
//! ```
//!
//! on (0, 1), for every element of every latent. Where q is narrower than the posterior, `p` is near 0 and 1 too often, where it is wider too
//! seldom, and where it is shifted `p` lies on one side ([`Calibrated`] says how this is judged). With another program to draw from, what
//! is found is the difference between the two.
//!
//! A row of multiplicity m is drawn and fitted as m rows, since that is what it stands for: one value that is drawn once and counted m times would say
//! more than it knows.
//!
//! Positions on an axis of components (topics, factors, classes) have no identity, and factors no sign. Those of q are put in the order and given the signs in which their
//! means are closest to what the data were drawn from, which is slightly in favour of q where components are much alike.
//!
//! # Source
//! Talts, Betancourt, Simpson, Vehtari, Gelman (2018), "Validating Bayesian inference algorithms with simulation-based calibration",
//! arXiv:1804.06788; for variational inference Yao, Vehtari, Simpson, Gelman (2018), "Yes, but did it work?: Evaluating variational inference", ICML.

mod judged;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cavi_algebra::{ArrayId, Mode, Support};
use cavi_executor::{Bound, BoundArray};
use cavi_model::{Model, Statement};
use rand::Rng;
use serde_json::{Map, Value, json};

use crate::bind::{Binding, DataError, Inputs, Labels, bind_to_draw};
use crate::compile::Compiled;
use crate::directory::number;
use crate::error::Error;
use crate::fit::{Control, Fit, Settings, fit, is_stopped};
use crate::intervals::{Components, side_by_side};
use crate::means::Mean;
use crate::prepare::{Problem, prepare};
use crate::sample::{self, What};
use crate::seeds;
use crate::simulate::{self, Simulated};
use crate::streams;
use crate::stuck::Stuck;
pub use judged::{Calibrated, Finding};

/// Fewer fits than these say nothing.
const FEWEST: usize = 20;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// How many data sets are drawn and fitted.
    pub fits: usize,
    /// How many draws of each q.
    pub draws: usize,
    /// Of all random numbers: each data set and each fit has a seed of its own that follows from it.
    pub seed: u64,
    /// Totals of the rows of data under a Multinomial, by the name of the data.
    pub totals: Vec<(String, u64)>,
    /// How each is fitted; its seed and number of threads are not read.
    pub settings: Settings,
    /// How many fits go side by side; it changes no result.
    pub threads: usize,
    /// Ends the work with [`Error::Stopped`] once it is true.
    pub stop: Option<Arc<AtomicBool>>,
}

/// What is found.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Each latent that both programs have.
    pub latents: Vec<Calibrated>,
    /// Latents that are not judged, with the reason.
    pub left_out: Vec<(String, String)>,
    /// In how many fits all positions of an axis of components were alike at the end, by axis.
    pub alike: Vec<(String, usize)>,
    /// How many fits there are.
    pub fits: usize,
    /// How many others failed.
    pub failed: usize,
    /// How many of the fits had not converged.
    pub unconverged: usize,
    /// Data whose rows have the default total.
    pub assumed: Vec<String>,
    /// Whether the data were drawn from another program.
    is_other: bool,
}

/// What one data set tells.
struct Outcome {
    /// For each latent that is judged, where what it was drawn from lies among draws of q: one number for each element.
    places: Vec<Vec<f64>>,
    /// The axes whose positions are alike.
    alike: Vec<String>,
    is_converged: bool,
}

/// Draws data from the prior of `from`, another program with inputs of its own ([`inputs_beside`]), or of the program itself, fits the program to
/// each, and compares. `progress` is told how many data sets are done.
///
/// # Errors
/// Too few fits or draws; what is wrong with the inputs; a prior that cannot be drawn from; programs without common data, or with different
/// sizes; no latent to judge; more than a tenth of the fits failing, with the reason of the first; a stop.
pub fn calibrate(
    compiled: &Compiled,
    inputs: &Inputs,
    from: Option<(&Compiled, &Inputs)>,
    asked: &Asked,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Calibration, Error> {
    for (option, found, least) in [("--fits", asked.fits, FEWEST), ("--draws", asked.draws, 9)] {
        if found < least {
            let problem = DataError::new(format!("`{option} {found}` are too few to judge by"));
            return Err(Error::Usage(vec![problem.possible(format!("{least} or more"))]));
        }
    }
    let to_draw = |inputs: &Inputs| Inputs { sizes_of_covariances: false, ..inputs.clone() };
    let (source, of_source) = from.map_or((compiled, inputs), |own| own);
    let (inputs, of_source) = (to_draw(inputs), to_draw(of_source));
    let wanted = |number: usize| simulate::Asked {
        seed: seeds::nth(asked.seed, streams::DATA_SETS, number),
        totals: asked.totals.clone(),
    };
    // What is wrong with programs and inputs is found with the first data set.
    let first = simulate::from_prior_by_rows(source, &of_source, &wanted(0))?;
    let pair = Pair::of(compiled, &inputs, &first)?;
    let done = AtomicUsize::new(0);
    let outcomes = side_by_side(asked.fits, asked.threads, &|number| {
        if is_stopped(asked.stop.as_ref()) {
            return Err(Error::Stopped);
        }
        let drawn = simulate::from_prior_by_rows(source, &of_source, &wanted(number))?;
        let outcome = pair.outcome(&drawn, seeds::nth(asked.seed, streams::FITS_TO_DATA_SETS, number), asked);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        outcome
    });
    if is_stopped(asked.stop.as_ref()) {
        return Err(Error::Stopped);
    }
    let (mut found, mut failures) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(own) => found.push(own),
            Err(error) => failures.push(error),
        }
    }
    let failed = failures.len();
    if let Some(first) = failures.into_iter().next().filter(|_| failed * 10 > asked.fits) {
        return Err(first);
    }
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    for axis in found.iter().flat_map(|own| &own.alike) {
        *alike.entry(axis.clone()).or_default() += 1;
    }
    let of = |(number, name): (usize, &String)| {
        let places: Vec<&[f64]> = found.iter().map(|own| own.places[number].as_slice()).collect();
        Calibrated::of(name.clone(), &places, pair.judged.len())
    };
    Ok(Calibration {
        latents: pair.judged.iter().map(|own| &own.name).enumerate().filter_map(of).collect(),
        left_out: pair.left_out.clone(),
        alike: alike.into_iter().collect(),
        fits: found.len(),
        failed,
        unconverged: found.iter().filter(|own| !own.is_converged).count(),
        assumed: first.assumed.clone(),
        is_other: from.is_some(),
    })
}

/// The inputs of a program that is put beside another: what only the other has a name for is left out, and what neither has stays, to be refused.
pub fn inputs_beside(compiled: &Compiled, other: &Compiled, inputs: &Inputs) -> Inputs {
    let is_axis = |model: &Model, name: &str| model.symbols.axes.iter().any(|own| own.name == name);
    let has = |model: &Model, name: &str| model.symbols.find(name).is_some() || is_axis(model, name);
    let stays = |name: &str| has(&compiled.model, name) || !has(&other.model, name);
    let mut own = inputs.clone();
    own.data.retain(|input| stays(&input.name));
    own.columns.retain(|input| stays(&input.name));
    own.transpose.retain(|name| stays(name));
    own.labels.retain(|input| stays(&input.axis));
    own.set.retain(|input| stays(&input.name));
    own
}

/// A latent that is judged, in the program that is fitted and in the one that draws.
struct Judged {
    name: String,
    own: ArrayId,
    drawn: ArrayId,
}

/// The program that is fitted beside the one that draws.
struct Pair<'a> {
    compiled: &'a Compiled,
    /// Its sizes, constants and data that are not drawn.
    bound: Bound,
    labels: Labels,
    /// Its data that are drawn, with their places in what is drawn.
    data: Vec<(ArrayId, ArrayId)>,
    judged: Vec<Judged>,
    left_out: Vec<(String, String)>,
}

impl<'a> Pair<'a> {
    fn of(compiled: &'a Compiled, inputs: &Inputs, drawn: &Simulated) -> Result<Pair<'a>, Error> {
        let (model, theirs) = (&compiled.model, &drawn.model.symbols);
        let symbols = &model.symbols;
        let is_given = |name: &str| inputs.data.iter().any(|input| input.name == name);
        let is_drawn = |own: &&Statement| own.observed && !is_given(&symbols.array(own.target).name);
        let wanted: Vec<ArrayId> = model.statements.iter().filter(is_drawn).map(|own| own.target).collect();
        let (bound, labels) = bind_to_draw(model, inputs, &wanted)?;
        let (bound, labels) = simulate::by_rows(model, bound, labels)?;
        let shapes =
            |own: ArrayId, other: ArrayId| (bound.shape(symbols, own), drawn.bound.shape(theirs, other));
        let mut data = Vec::new();
        for own in wanted {
            let name = &symbols.array(own).name;
            let found = theirs.find(name).filter(|other| drawn.data.contains(other));
            let Some(other) = found else {
                return Err(DataError::new(format!(
                    "`{name}` is data of the program that is fitted, and the one of `--from` does not draw it"
                ))
                .help(format!("`--data {name}=FILE` gives it to both"))
                .into());
            };
            let (ours, theirs) = shapes(own, other);
            if ours != theirs {
                return Err(DataError::new(format!(
                    "`{name}` has the sizes {ours:?} in the program that is fitted, and {theirs:?} in the one of `--from`"
                ))
                .help("`--set AXIS=SIZE` sets the size of an axis in both")
                .into());
            }
            data.push((own, other));
        }
        if data.is_empty() {
            return Err(DataError::new("all data are given, and nothing is left to be drawn")
                .help("leave out `--data` of what the program predicts")
                .into());
        }
        let (mut judged, mut left_out) = (Vec::new(), Vec::new());
        for own in symbols.latents() {
            let array = symbols.array(own);
            let block = compiled.equations.block_of(own).map(|id| compiled.equations.block(id));
            let other = theirs.find(&array.name).filter(|other| drawn.latents.contains(other));
            let reason = match (block, other) {
                (None, _) => "it has no factor of q",
                (Some(block), _) if block.mode == Mode::Implicit => {
                    "it is implicit: no factor of q is stored for it"
                }
                (Some(block), _) if block.mode == Mode::Fixed => "it is fixed: a fit does not move it",
                (Some(block), _) if block.is_point() => "it is a point, which has no width",
                _ if matches!(array.support, Support::Index(_)) => {
                    "it chooses among classes, which have no order"
                }
                (_, None) => "the program of `--from` does not have it",
                (_, Some(other)) => {
                    let (ours, theirs) = shapes(own, other);
                    if ours == theirs {
                        judged.push(Judged { name: array.name.clone(), own, drawn: other });
                        continue;
                    }
                    "it has other sizes in the program of `--from`"
                }
            };
            left_out.push((array.name.clone(), reason.to_owned()));
        }
        if judged.is_empty() {
            let reasons: Vec<String> =
                left_out.iter().map(|(name, reason)| format!("`{name}`: {reason}")).collect();
            return Err(DataError::new(format!("there is no latent to judge: {}", reasons.join("; "))).into());
        }
        Ok(Pair { compiled, bound, labels, data, judged, left_out })
    }

    /// Fits one data set with this seed, and finds the places of what it was drawn from.
    fn outcome(&self, drawn: &Simulated, seed: u64, asked: &Asked) -> Result<Outcome, Error> {
        let mut bound = self.bound.clone();
        for (own, other) in &self.data {
            bound.arrays[own.index()].clone_from(&drawn.bound.arrays[other.index()]);
        }
        let binding = Binding { bound, labels: self.labels.clone(), ..Binding::default() };
        let problem = prepare(self.compiled.clone(), binding)?;
        let settings = Settings {
            seed: Some(seed),
            threads: 1,
            stop: asked.stop.clone(),
            keep_all: false,
            checkpoints: None,
            glances: None,
            ..asked.settings.clone()
        };
        let found = fit(&problem, &settings, &mut |_| Control::Continue)?;
        if found.interrupted {
            return Err(Error::Stopped);
        }
        if let Some(failure) = found.failure.clone() {
            return Err(problem.error(vec![failure]));
        }
        Ok(Outcome {
            places: self.places(&problem, &found, drawn, seed, asked.draws)?,
            alike: alike(&problem, &found),
            is_converged: found.run().converged,
        })
    }

    fn places(
        &self,
        problem: &Problem,
        found: &Fit,
        drawn: &Simulated,
        seed: u64,
        draws: usize,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let given = problem.as_given();
        let symbols = &given.model.symbols;
        let truth = |array: ArrayId| truth(given, drawn, array);
        let components = Components::of(given, &truth, &|_| false, &|_| false);
        let names = self.judged.iter().map(|own| own.name.clone()).collect();
        let sample = sample::sample(problem, &found.parameters, &sample::Asked { draws, seed, names })?;
        let mut of_q: Vec<(ArrayId, Mean)> = Vec::new();
        for own in sample.drawn.iter().filter(|own| own.what == What::Latent) {
            let array = symbols.find(&own.name).expect("a latent of the program");
            let axes: Vec<_> =
                symbols.array(array).letters.iter().map(|letter| symbols.letter(*letter).axis).collect();
            let one = |values: &[f64]| Mean {
                axes: axes.clone(),
                shape: own.shape.clone(),
                values: values.to_vec(),
            };
            of_q.extend(own.values.chunks(own.cells().max(1)).map(|values| (array, one(values))));
        }
        components.align(given, &found.parameters, &mut of_q);
        let mut rng = streams::TIES.at(0).of(seed);
        let mut places = |own: &Judged| {
            let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) =
                drawn.bound.array(own.drawn);
            let of_q: Vec<&Mean> =
                of_q.iter().filter(|(array, _)| *array == own.own).map(|(_, own)| own).collect();
            let mut found = Vec::with_capacity(values.len());
            for (cell, truth) in values.iter().enumerate() {
                let own = || of_q.iter().map(|draw| draw.values[cell]);
                if truth.is_nan() || own().any(f64::is_nan) {
                    continue;
                }
                let below = own().filter(|draw| draw < truth).count() as f64;
                let equal = own().filter(|draw| draw == truth).count() as f64;
                let within: f64 = rng.random();
                found.push((below + within * (1.0 + equal)) / (of_q.len() as f64 + 1.0));
            }
            found
        };
        Ok(self.judged.iter().map(&mut places).collect())
    }
}

/// What a latent was, as a mean has it: of an index 1 at the class.
fn truth(problem: &Problem, drawn: &Simulated, array: ArrayId) -> Option<Mean> {
    let symbols = &problem.model.symbols;
    let own = symbols.array(array);
    let other = drawn.model.symbols.find(&own.name).filter(|other| drawn.latents.contains(other))?;
    let (BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. }) = drawn.bound.array(other);
    let mut axes: Vec<_> = own.letters.iter().map(|letter| symbols.letter(*letter).axis).collect();
    let mut shape = problem.binding.bound.shape(symbols, array);
    if shape != drawn.bound.shape(&drawn.model.symbols, other) {
        return None;
    }
    let Support::Index(classes) = own.support else {
        return Some(Mean { axes, shape, values: values.to_vec() });
    };
    let size = problem.binding.bound.size(classes);
    let one = |class: &f64| (0..size).map(|own| f64::from(own as f64 == *class)).collect::<Vec<f64>>();
    axes.push(classes);
    shape.push(size);
    Some(Mean { axes, shape, values: values.iter().flat_map(one).collect() })
}

/// The axes whose positions all have the same factors at the end of a fit.
fn alike(problem: &Problem, found: &Fit) -> Vec<String> {
    let Problem { model, equations, binding, .. } = problem.as_given();
    let parameters: Vec<Option<&[Vec<f64>]>> =
        found.parameters.blocks.iter().map(|own| Some(own.as_slice())).collect();
    let (bound, labels) = (&binding.bound, &binding.labels);
    // At the end of a fit every block counts.
    let lost = &vec![false; parameters.len()];
    let stuck = Stuck { equations, bound, labels, parameters: &parameters, lost };
    stuck.symmetric().into_iter().map(|own| model.symbols.axis(own.axis).name.clone()).collect()
}

impl Calibration {
    /// What is wrong, in words; empty where nothing is.
    pub fn verdicts(&self) -> Vec<String> {
        let alike = self.alike.iter().map(|(axis, fits)| {
            format!(
                "all positions of `{axis}` are alike at the end of {fits} of {} fits: the start is symmetric, and no sweep leaves it",
                self.fits
            )
        });
        alike.chain(self.latents.iter().filter_map(|own| own.verdict(self.is_other))).collect()
    }

    /// As `cavi calibrate --json` prints it.
    pub fn json(&self) -> Value {
        let latent = |own: &Calibrated| {
            let json = json!({
                "elements": own.elements,
                "mean_rank": number(own.mean),
                "coverage_90": number(own.coverage),
                "p_shift": number(own.p_shift),
                "p_width": number(own.p_width),
                "histogram": own.histogram.map(number),
                "finding": own.finding.map(Finding::word),
                "verdict": own.verdict(self.is_other),
            });
            (own.name.clone(), json)
        };
        let texts = |pairs: &[(String, String)]| -> Map<String, Value> {
            pairs.iter().map(|(name, text)| (name.clone(), json!(text))).collect()
        };
        json!({
            "fits": self.fits,
            "failed": self.failed,
            "unconverged": self.unconverged,
            "latents": self.latents.iter().map(latent).collect::<Map<String, Value>>(),
            "left_out": texts(&self.left_out),
            "alike": self.alike.iter().map(|(axis, fits)| (axis.clone(), json!(fits))).collect::<Map<_, _>>(),
        })
    }
}
