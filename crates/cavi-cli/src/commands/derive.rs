//! `cavi derive MODEL`: the updates and the bound.

use cavi::{Compiled, Format};
use cavi_syntax::nearest;
use serde_json::{Value, json};

use crate::arguments::{DerivationFormat, DeriveArguments};
use crate::failure::Failure;
use crate::{program, terminal};

/// The derivation in one of four formats, or how one variable comes by its update.
pub fn run(arguments: &DeriveArguments) -> Result<(), Failure> {
    let source = program::find(&arguments.model)?;
    let set = super::check::names(&arguments.set)?;
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let compiled = program::compile(&source, &set, &[], false)?;
    let format = match arguments.format {
        DerivationFormat::Text => Format::Text,
        DerivationFormat::Latex => Format::Latex,
        DerivationFormat::Markdown => Format::Markdown,
        DerivationFormat::Json => {
            let json = as_json(&compiled, arguments.explain.as_deref())?;
            return terminal::print(&format!("{json:#}\n"));
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

fn as_json(compiled: &Compiled, explain: Option<&str>) -> Result<Value, Failure> {
    let parts = compiled.derivation_parts();
    let mut blocks = parts.blocks;
    if let Some(variable) = explain {
        blocks.retain(|block| block.variables.iter().any(|name| name == variable));
        if blocks.is_empty() {
            return Err(no_latent(compiled, variable));
        }
    }
    let blocks: Vec<Value> = blocks
        .iter()
        .map(|block| {
            json!({
                "variables": block.variables,
                "factor": block.description,
                "family": block.family,
                "natural": block.natural,
                "copies": if block.in_order { "in order" } else { "at once" },
                "update": block.explanation,
            })
        })
        .collect();
    if explain.is_some() {
        return Ok(json!({ "model": parts.model, "blocks": blocks }));
    }
    let bounds = parts.bounds.iter().map(|(variable, logs)| json!({ "in": variable, "expected_logs": logs }));
    let elbo = parts.elbo.iter().map(|(variable, sum)| json!({ "of": variable, "terms": sum }));
    Ok(json!({
        "model": parts.model,
        "blocks": blocks,
        "bounds": bounds.collect::<Vec<_>>(),
        "elbo": elbo.collect::<Vec<_>>(),
        "sweep": parts.sweep,
        "text": compiled.derivation(Format::Text),
    }))
}
