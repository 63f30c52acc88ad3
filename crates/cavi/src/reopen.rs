//! A fit read back from its directory together with its data, to be asked about.
//!
//! The data are those that are given, else the files that the fit was made from, if they are unchanged. What was held out of the fit is held
//! out again: the same entries, since they follow from the seed. Of new rows that were projected, what is theirs is read from their own
//! directory, and what they share from that of the fit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cavi_algebra::{ArrayId, AxisId, BlockId, Mode};
use cavi_executor::Parameters;

use crate::bind::{Again, DataError, Inputs, Part};
use crate::compile::Compiled;
use crate::data_files;
use crate::directory::Stored;
use crate::error::Error;
use crate::heldout::{HeldOut, Request, exposure};
use crate::prepare::Problem;
use crate::project;
use crate::rows::{Earlier, RowAxes};
use crate::start::Given;

/// Where, within the directory of projected rows, a copy of the fit may stand by which they were projected.
pub const EARLIER: &str = "earlier";

/// A fit with its data.
#[derive(Debug)]
pub struct Reopened {
    /// What its directory says of it.
    pub stored: Stored,
    /// The program with the data that the fit saw.
    pub problem: Problem,
    /// What was held out of it.
    pub held: HeldOut,
    /// The factors of q, in the coordinates of the data.
    pub parameters: Parameters,
    /// The seed of the split.
    pub seed: u64,
    /// Of new rows that were projected what is theirs: everything else keeps the q of the earlier fit.
    pub own: Option<BTreeSet<ArrayId>>,
}

/// Reads a fit, or the latents of new rows, with the data that are `given`, else with those that it was made from.
///
/// # Errors
/// A directory that holds no fit; files that have changed or are gone; data that are not those of the fit.
pub fn open(directory: &Path, given: Option<&Inputs>) -> Result<Reopened, Error> {
    let stored = Stored::open(directory)?;
    let inputs = match given {
        Some(inputs) => inputs.clone(),
        None => {
            let inputs = stored.inputs()?;
            data_files::refuse_changed(&inputs, &data_files::stored(&stored.summary), directory)?;
            inputs
        }
    };
    let mut inputs = stored.with_earlier(inputs);
    crate::fixed::hold_as(directory, &mut inputs);
    let (compiled, _) = crate::session::open(&stored.text, &stored.file_name, &inputs)?;
    let seed = stored.split_seed();
    if let Some(fit) = stored.projected_by(directory) {
        let earlier = Stored::open(&fit)?;
        let axis = stored.summary["projected"]["axis"].as_str();
        let rows = project::bind(compiled, &inputs, &earlier, &fit, axis)?;
        let parameters = parameters(&rows.problem, seed, &|wanted| {
            let own = |id: BlockId| rows.is_own(id) && wanted(id);
            let shared = |id: BlockId| !rows.is_own(id) && wanted(id);
            let mut given = crate::init::read_blocks(&rows.problem, &fit, &shared)?;
            let theirs = crate::init::read_blocks(&rows.problem, directory, &own)?;
            given.blocks.iter_mut().zip(theirs.blocks).for_each(|(one, other)| *one = one.take().or(other));
            Ok(given)
        })?;
        let (own, held) = (Some(rows.own().clone()), HeldOut::default());
        return Ok(Reopened { stored, problem: rows.problem, held, parameters, seed, own });
    }
    let held_out = texts(&stored.summary["settings"]["heldout"]);
    data_files::refuse_changed_held_out(&held_out, &stored.summary, directory)?;
    let requests: Result<Vec<Request>, DataError> =
        held_out.iter().map(|text| Request::parse("--heldout", text)).collect();
    let given_totals = stored.summary["settings"]["heldout_totals"].as_bool().unwrap_or(false);
    let again = again(&compiled, &inputs, directory)?;
    let part = Part { seed, again: again.as_ref(), ..Part::default() };
    let (problem, held) = compiled.bind_again(&inputs, &requests?, &part, given_totals)?;
    stored.refuse_other_parts(&problem, directory)?;
    let read = |wanted: &dyn Fn(BlockId) -> bool| crate::init::read_blocks(&problem, directory, wanted);
    let parameters = parameters(&problem, seed, &read)?;
    Ok(Reopened { stored, problem, held, parameters, seed, own: None })
}

/// What is known of the fit in a directory whose data are given again; `None` where it has no labels, and the order counts.
fn again(compiled: &Compiled, inputs: &Inputs, directory: &Path) -> Result<Option<Again>, Vec<DataError>> {
    if !directory.join("axes").is_dir() {
        return Ok(None);
    }
    let rows = RowAxes { model: &compiled.model, axes: BTreeSet::new() };
    let Earlier { inputs, frozen, axes, .. } = rows.frozen(inputs, directory)?;
    let kept = along_factors(compiled);
    let rows = RowAxes::first_of_data(&compiled.model);
    let whole = kept.iter().copied().filter(|axis| !rows.is_row(*axis)).collect();
    let (standardised, directory) = (frozen.standardised, directory.to_owned());
    Ok(Some(Again { labels: inputs.labels, axes, standardised, kept, whole, directory }))
}

/// The axes along which latents with a factor of q run.
fn along_factors(compiled: &Compiled) -> BTreeSet<AxisId> {
    let Compiled { model, equations, .. } = compiled;
    let symbols = &model.symbols;
    let has_factor = |id: &ArrayId| {
        equations.block_of(*id).is_some_and(|block| equations.block(block).mode != Mode::Implicit)
    };
    let letters = symbols.latents().filter(has_factor);
    let letters = letters.flat_map(|id| &symbols.array(id).letters);
    let above = letters.flat_map(|letter| symbols.lineage(*letter));
    above.map(|letter| symbols.letter(letter).axis).collect()
}

impl Reopened {
    /// Whether the factor of q of a variable is that of an earlier fit, and stays as it is.
    pub(crate) fn is_held(&self, array: ArrayId) -> bool {
        self.own.as_ref().is_some_and(|own| !own.contains(&array))
    }

    /// The same of a block.
    pub(crate) fn is_held_block(&self, block: BlockId) -> bool {
        self.problem.equations.block(block).members.iter().all(|member| self.is_held(*member))
    }

    /// The exposures of whole counts: a fit that was given a share of their units knows their rates at its scale.
    pub(crate) fn exposures_of_whole(&self) -> exposure::OfArrays {
        // Rows that were projected have whole counts, and a program at their scale.
        match self.stored.summary["projected"].is_null() {
            true => {
                exposure::of_whole(&exposure::shares(&self.problem.as_given().model, &self.stored.summary))
            }
            false => Vec::new(),
        }
    }
}

/// Reads the files of some blocks.
type Read<'a> = dyn Fn(&dyn Fn(BlockId) -> bool) -> Result<Given, Vec<DataError>> + 'a;

/// The factors of q of all blocks that are stored.
fn parameters(problem: &Problem, seed: u64, read: &Read<'_>) -> Result<Parameters, Vec<DataError>> {
    let Problem { equations, binding, .. } = problem.as_given();
    let given = read(&|id| equations.block(id).mode != Mode::Implicit)?;
    let mut parameters = cavi_executor::start(equations, &binding.bound, seed);
    for (own, given) in parameters.blocks.iter_mut().zip(given.blocks) {
        if let Some(given) = given {
            *own = given;
        }
    }
    Ok(parameters)
}

/// A list of texts in JSON.
fn texts(value: &serde_json::Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|own| own.as_str().map(str::to_owned)).collect()
}

impl Stored {
    /// The inputs that the fit had.
    ///
    /// # Errors
    /// A line of `summary.json` that is no such option.
    pub fn inputs(&self) -> Result<Inputs, Vec<DataError>> {
        let of = |name: &str| texts(&self.summary["settings"][name]);
        let mut inputs =
            Inputs::parse(&of("data"), &of("columns"), &of("transpose"), &of("labels"), &of("set"))?;
        inputs.texts = self.texts.clone().unwrap_or_default();
        inputs.unique = self.unique();
        Ok(inputs)
    }

    /// Refuses data of which other entries would be held out than the fit was without.
    fn refuse_other_parts(&self, problem: &Problem, directory: &Path) -> Result<(), DataError> {
        let kept = &self.summary["heldout_places"];
        let other = problem.binding.held_out.iter().find(|(name, own)| {
            let theirs = kept[name.as_str()]["hash"].as_str();
            theirs.is_some_and(|theirs| theirs != format!("{:016x}", own.hash))
        });
        let Some((name, own)) = other else { return Ok(()) };
        let count = &kept[name.as_str()]["n_entries"];
        // What the fit had besides its data says which row is which, and which rows have no entry.
        let labels = texts(&self.summary["settings"]["labels"]);
        let with: String = labels.iter().map(|own| format!(" --labels {own}")).collect();
        let with = if with.is_empty() { with } else { format!(", with{with} as the fit had them") };
        Err(DataError::new(format!(
            "`{name}`: what was held out of the fit in `{}` ({count} entries) is not what is held out of these data ({}): they are not those of the fit, or \
             have rows in another order without labels that say so",
            directory.display(),
            own.count
        ))
        .possible("the data of the fit: the same entries, in any order where labels or keys say which is which")
        .help(format!(
            "give the files of the fit as they were (`settings.data` in its `summary.json`){with}; for new rows `cavi project`"
        )))
    }

    /// Whether the fit kept labels apart that stand twice, `--unique`.
    pub fn unique(&self) -> bool {
        self.summary["settings"]["unique"].as_bool().unwrap_or(false)
    }

    /// The seed by which data were held out of the fit.
    pub fn split_seed(&self) -> u64 {
        let settings = self.summary["settings"]["seed"].as_u64();
        settings.or_else(|| self.summary["seed"].as_u64()).unwrap_or(0)
    }

    /// The directory of the fit by which these rows were projected: the one that was kept with them, else the one that they name.
    fn projected_by(&self, directory: &Path) -> Option<PathBuf> {
        let named = self.summary["projected"]["fit"].as_str().map(PathBuf::from)?;
        let kept = directory.join(EARLIER);
        Some(if kept.join("summary.json").is_file() { kept } else { named })
    }
}
