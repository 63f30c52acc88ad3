//! `cavi derive MODEL`: the updates and the bound.

use cavi::{Compiled, Format};
use cavi_syntax::nearest;

use crate::arguments::{DerivationFormat, DeriveArguments};
use crate::failure::Failure;
use crate::{program, terminal};

/// The derivation in one of four formats, or how one variable comes by its update.
pub fn run(arguments: &DeriveArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let set = super::check::values(&arguments.set)?;
    let compiled = program::compile(&source, &set)?;
    let format = match arguments.format {
        DerivationFormat::Text => Format::Text,
        DerivationFormat::Latex => Format::Latex,
        DerivationFormat::Markdown => Format::Markdown,
        DerivationFormat::Json => {
            let variable = arguments.explain.as_deref();
            let json = compiled.derivation_json(variable);
            let json = json.ok_or_else(|| no_latent(&compiled, variable.unwrap_or_default()))?;
            return terminal::print(&json);
        }
    };
    let text = match &arguments.explain {
        None => compiled.derivation(format),
        Some(variable) => compiled.explain(variable, format).ok_or_else(|| no_latent(&compiled, variable))?,
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    terminal::print(&format!("{text}{end}"))
}

fn no_latent(compiled: &Compiled, variable: &str) -> Failure {
    let latents = compiled.latents();
    let hint = match nearest(variable, latents.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("latent variables: {}", latents.join(", ")),
    };
    Failure::usage(format!("there is no latent variable `{variable}`\n  {hint}"))
}
