//! Options and commands by the names that they have in other programs, answered with those of this one.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Names of options elsewhere, and what to type here.
const OPTIONS: [(&[&str], &str); 13] = [
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

/// The answer to an option, a command or a file that does not belong where it stands, if another name for it is known.
pub fn answer(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(ContextKind::InvalidSubcommand)?;
            let here = here(&COMMANDS, name)?;
            Some(format!("error: there is no command `{name}`\n  help: {here}\n"))
        }
        ErrorKind::UnknownArgument => {
            let given = text(ContextKind::InvalidArg)?;
            let option = given.split([' ', '=']).next()?;
            if option.starts_with('-') {
                let here = here(&OPTIONS, &option.trim_start_matches('-').replace('_', "-"))?;
                return Some(format!("error: there is no option `{option}`\n  help: {here}\n"));
            }
            Path::new(given).exists().then(|| {
                format!(
                    "error: `{given}` stands alone\n  help: `--data NAME={given}`, by the name that the program gives the data\n"
                )
            })
        }
        _ => None,
    }
}

/// What stands beside a name, in any case.
fn here(table: &[(&[&str], &'static str)], name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    table.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, here)| *here)
}
