//! Options and commands by the names that they have in other programs, answered with those of this one.

use std::path::Path;

use cavi_syntax::nearest;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Names of options elsewhere, and what to type here.
const OPTIONS: [(&[&str], &str); 16] = [
    (
        &[
            "iter",
            "iters",
            "iterations",
            "n-iter",
            "n-iters",
            "num-iter",
            "max-iter",
            "max-iters",
            "max-iterations",
            "epochs",
            "n-epochs",
            "passes",
            "n-passes",
            "steps",
            "n-steps",
        ],
        "`--sweeps N`, at most so many sweeps over all variables",
    ),
    (
        &[
            "topics",
            "topic",
            "n-topics",
            "num-topics",
            "k",
            "components",
            "n-components",
            "num-components",
            "factors",
            "n-factors",
            "num-factors",
            "rank",
            "clusters",
            "n-clusters",
            "latent-dim",
            "n-latent",
            "size",
        ],
        "`--set AXIS=N`, the size of an axis by the name that the program gives it: `--set topic=20`",
    ),
    (
        &["alpha", "beta", "eta", "gamma", "sigma", "lambda", "prior", "concentration", "shape", "rate"],
        "`--set NAME=VALUE`, the value of a constant of the program: `--set alpha=0.1`",
    ),
    (&["random-state", "random-seed", "rng", "rng-seed", "s"], "`--seed S`"),
    (
        &["tolerance", "eps", "epsilon", "tol-rel", "rtol", "convergence", "stop-thr", "mean-change-tol"],
        "`--tol T`, the relative change at which the fit stops",
    ),
    (
        &["input", "i", "file", "f", "x", "y", "counts", "corpus", "train", "d"],
        "`--data NAME=FILE`, by the name that the program gives the data",
    ),
    (&["output", "o", "out-dir", "outdir", "output-dir", "save", "model-dir"], "`--out DIR`"),
    (
        &["jobs", "j", "n-jobs", "cores", "ncores", "cpus", "workers", "num-threads", "nthreads", "t"],
        "`--threads T`",
    ),
    (
        &["n-init", "n-inits", "inits", "starts", "n-starts", "chains", "nstart", "runs", "n-runs"],
        "`--restarts R`, of which the best is kept",
    ),
    (&["burn-in", "burnin", "warm-up", "n-warmup"], "`--warmup 'means N'`, sweeps before those of the fit"),
    (
        &["test", "holdout", "held-out", "test-size", "validation", "valid", "test-fraction"],
        "`--heldout NAME=FRACTION`, a part of the data that is hidden from the fit and scored",
    ),
    (&["cv", "k-fold", "kfold", "n-folds", "cross-validation"], "`--folds K`, a cross-validation"),
    (&["verbose", "v", "progress-bar", "log"], "nothing: progress is shown unless `--quiet` is given"),
    (
        &["samples", "n-samples", "num-samples", "draws", "iter-sampling", "thin", "posterior-samples"],
        "nothing is sampled: a fit is a distribution q for each latent, and `--sweeps N` is how often they are updated",
    ),
    (
        &[
            "learning-rate",
            "lr",
            "step-size",
            "momentum",
            "optimizer",
            "decay",
            "kappa",
            "tau0",
            "learning-decay",
        ],
        "nothing: an update is the optimum of its factor, and has no step size",
    ),
    (&["gpu", "gpus", "device", "cuda"], "nothing: fits run on processors, as many as `--threads T` says"),
];

/// Names of commands elsewhere, and what to type here.
const COMMANDS: [(&[&str], &str); 10] = [
    (
        &["run", "train", "estimate", "infer", "learn", "cavi", "vi"],
        "`cavi fit MODEL --data NAME=FILE --out DIR`",
    ),
    (
        &["transform", "predict", "embed", "encode"],
        "`cavi project DIR --data NAME=FILE --out DIR2` for the latents of new rows, `cavi score DIR --data NAME=FILE` for how well they are predicted",
    ),
    (&["evaluate", "eval", "test", "perplexity", "loglik"], "`cavi score DIR --data NAME=FILE`"),
    (&["validate", "lint", "compile", "verify"], "`cavi check MODEL`"),
    (&["format"], "`cavi fmt MODEL`"),
    (&["print", "cat", "view"], "`cavi show NAME` for a built-in program, `cavi summary DIR` for a fit"),
    (&["ls", "models", "programs", "examples"], "`cavi list`"),
    (
        &["latex", "tex", "equations", "updates", "derivation"],
        "`cavi derive MODEL`, with `--format latex` for LaTeX",
    ),
    (&["plot", "draw", "dot", "plate"], "`cavi graph MODEL --format svg`"),
    (&["describe", "inspect", "head", "read"], "`cavi data FILE` for a file, `cavi summary DIR` for a fit"),
];

/// The options whose values are a name, `=` and what it gets.
const PAIRS: [&str; 5] = ["--data", "--set", "--labels", "--columns", "--heldout"];

/// The names of the commands.
fn commands() -> Vec<String> {
    crate::help::command().get_subcommands().map(|own| own.get_name().to_owned()).collect()
}

/// The answer to an option, a command or a file that does not belong where it stands, if another name for it is known.
/// `arguments` are those of the command line, in their order.
pub fn answer(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand)?;
            let help = match here(&COMMANDS, name) {
                Some(here) => here.to_owned(),
                None => match nearest(name, commands().iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `cavi {near}`?"),
                    None => "`cavi --help` lists the commands".to_owned(),
                },
            };
            Some(format!("error: there is no command `{name}`\n  help: {help}\n"))
        }
        ErrorKind::UnknownArgument => {
            let given = text(ContextKind::InvalidArg)?;
            let option = given.split([' ', '=']).next()?;
            if option.starts_with('-') {
                let here = here(&OPTIONS, &option.trim_start_matches('-').replace('_', "-"));
                // What shares a few letters alone is no guess at what was meant.
                let is_near = |near: &&str| nearest(option, std::iter::once(*near)).is_some();
                let near = text(ContextKind::SuggestedArg).filter(is_near);
                let near = near.map(|near| format!("did you mean `{near}`?"));
                let command = arguments.get(1).filter(|own| commands().contains(own));
                let listed =
                    command.map(|own| format!("`cavi {own} --help` lists the options of `cavi {own}`"));
                let help = here.map(str::to_owned).or(near).or(listed)?;
                return Some(format!("error: there is no option `{option}`\n  help: {help}\n"));
            }
            alone(given, arguments)
        }
        _ => None,
    }
}

/// The answer to a value that belongs to no option: a file, a binding without `--data`, a value after a blank.
fn alone(given: &str, arguments: &[String]) -> Option<String> {
    let help = match given.split_once('=') {
        Some((name, value)) if !name.is_empty() && value.parse::<f64>().is_ok() => {
            format!("`--set {given}` for a constant or the size of an axis")
        }
        Some((name, _)) if !name.is_empty() => format!("`--data {given}` for a file of data"),
        _ => {
            // `--set part 20`: the name stands before the value, and an option before the name.
            let place = arguments.iter().position(|own| own == given)?;
            let before = |steps: usize| place.checked_sub(steps).map(|place| arguments[place].as_str());
            match (before(2), before(1)) {
                (Some(option), Some(name))
                    if PAIRS.contains(&option) && !name.starts_with('-') && !name.contains('=') =>
                {
                    format!("one word, with `=` between name and value: `{option} {name}={given}`")
                }
                _ if Path::new(given).exists() => {
                    format!("`--data NAME={given}`, by the name that the program gives the data")
                }
                _ => return None,
            }
        }
    };
    Some(format!("error: `{given}` stands alone\n  help: {help}\n"))
}

/// What stands beside a name, in any case.
fn here(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    table.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, here)| *here)
}
