//! The derivation as one file of NumPy and SciPy: the equations, evaluated densely as they are printed.

mod blocks;
mod constants;
mod sums;

use cavi_algebra::{Array, ArrayKind, Block, Equations, Expression, LetterId};
use cavi_executor::schedule::{Item, Step};
use cavi_syntax::ast::Allocations;

use crate::compile::Compiled;
use blocks::{GIVEN, named};
use sums::{Refusal, Writer, name};

const PRELUDE: &str = include_str!("prelude.py");
const FIT: &str = include_str!("fit.py");

impl Compiled {
    /// The derivation as a Python file; what it does not cover is an error that names the variable and the reason.
    pub fn python(&self) -> Result<String, String> {
        let schedule = crate::schedule::of_program(&self.model, &self.equations).schedule;
        let mut page = self.derivation(crate::Format::Text);
        if let Some((rule, _)) = self.model.fit.allocations.filter(|(rule, _)| *rule != Allocations::Ordinary)
        {
            let rule = rule.word();
            page += &format!(
                "\nThe program's rule of allocation is `{rule}`. This file has the ordinary one, as `cavi fit \\\n--allocations ordinary` has it: each allocation is the optimum of the bound.\n"
            );
        }
        file(&self.equations, &schedule.items, &page)
    }
}

fn refuse(equations: &Equations) -> Result<(), Refusal> {
    let symbols = &equations.symbols;
    let is_ragged = |letter: &LetterId| symbols.axis(symbols.letter(*letter).axis).parent.is_some();
    let addends = equations.sites.iter().flat_map(|site| &site.addends);
    if let Some(letter) = addends.flat_map(|addend| &addend.letters).find(|letter| is_ragged(letter)) {
        let axis = &symbols.axis(symbols.letter(*letter).axis).name;
        return Err(format!("the log of a sum over the ragged axis `{axis}` is bounded"));
    }
    // Data that stand on a right-hand side too, some of which may be missing.
    let partly = |array: &&Array| array.kind == ArrayKind::Latent && array.absent.missing;
    if let Some(array) = symbols.arrays.iter().find(partly) {
        return Err(format!("`{}` is observed in part, and its other entries are latent", array.name));
    }
    for array in symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data) {
        let reason = match array {
            _ if array.value.is_some() => "is derived from other data",
            _ if array.restriction.is_some() => "exists for some pairs only",
            _ => continue,
        };
        return Err(format!("`{}` {reason}", array.name));
    }
    for block in &equations.blocks {
        blocks::refuse(equations, block).map_err(|why| in_block(equations, block, &why))?;
    }
    match equations.auxiliaries.is_empty() {
        true => Ok(()),
        false => Err("it is bounded by a tangent".to_owned()),
    }
}

fn file(equations: &Equations, items: &[Item], page: &str) -> Result<String, Refusal> {
    refuse(equations)?;
    let writer = Writer::new(equations);
    let mut out = String::new();
    for line in page.lines() {
        out += format!("# {line}").trim_end();
        out += "\n";
    }
    out += PRELUDE;
    let mut families: Vec<&str> = Vec::new();
    for block in &equations.blocks {
        for code in blocks::sources(block).map_err(|why| in_block(equations, block, &why))? {
            if !families.contains(&code) {
                families.push(code);
            }
        }
    }
    families.iter().for_each(|code| out += &format!("\n\n{code}"));
    out += &program(equations)?;
    out += &allocations(equations, &writer)?;
    for block in &equations.blocks {
        let code =
            blocks::update(equations, block, &writer).map_err(|why| in_block(equations, block, &why))?;
        out += &code;
    }
    out += &bound(equations, &writer)?;
    out += "\n\ndef sweep(size, data, observed, constants, q, E):\n    phi, ln_Z = allocations(size, data, observed, constants, E)\n";
    steps(equations, items, true, &mut out)?;
    out += &format!("\n\n{FIT}");
    Ok(out)
}

fn in_block(equations: &Equations, block: &Block, why: &str) -> Refusal {
    format!("the block of `{}`: {why}", named(equations, block))
}

/// The sizes and constants of the program.
fn program(equations: &Equations) -> Result<String, Refusal> {
    let symbols = &equations.symbols;
    let axes: Vec<&String> = symbols.axes.iter().map(|axis| &axis.name).collect();
    let mut out = format!("\n\nAXES = {axes:?}\nSIZES = {{}}\n");
    for axis in &symbols.axes {
        if let Some(Expression::Number(size)) = axis.size {
            out += &format!("SIZES[\"{}\"] = {size}\n", axis.name);
        }
    }
    out += "PARENTS = {}\n";
    for axis in &symbols.axes {
        if let Some(parent) = axis.parent {
            out += &format!("PARENTS[\"{}\"] = \"{}\"\n", axis.name, symbols.axis(parent).name);
        }
    }
    out += "DATA_AXES = {}\n";
    for array in symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data) {
        let axes = array.letters.iter().map(|letter| &symbols.axis(symbols.letter(*letter).axis).name);
        out += &format!("DATA_AXES[\"{}\"] = {:?}\n", name(array), axes.collect::<Vec<_>>());
    }
    out += &constants::constants(equations)?;
    out += "\n\nSTANDARDISED = {}\n";
    let ragged = |letter: &LetterId| symbols.axis(symbols.letter(*letter).axis).parent.is_some();
    for array in &symbols.arrays {
        for (how, letter) in [("center", array.center), ("scale", array.scale)] {
            let Some(letter) = letter else { continue };
            let dimension = array.letters.iter().position(|own| *own == letter && !ragged(&letter));
            let dimension =
                dimension.ok_or_else(|| format!("`{}` is standardised over another axis", array.name))?;
            out += &format!("STANDARDISED[\"{}\", \"{how}\"] = {dimension}\n", name(array));
        }
    }
    Ok(out)
}

/// The shares of each bounded sum.
fn allocations(equations: &Equations, writer: &Writer) -> Result<String, Refusal> {
    let mut out = format!("\n\ndef allocations({GIVEN}):\n    phi, ln_Z = {{}}, {{}}\n");
    for (index, site) in equations.sites.iter().enumerate() {
        let mut parts = Vec::new();
        for addend in &site.addends {
            let letters = [site.plates.as_slice(), &addend.letters].concat();
            parts.push(writer.sum(&addend.log_weight, &letters)?);
        }
        let plates = site.plates.len();
        out += &format!(
            "    parts = [{}]\n    ln_Z[{index}] = log_sum_exp(parts, {plates})\n",
            parts.join(", ")
        );
        for addend in 0..site.addends.len() {
            out += &format!("    phi[{index}, {addend}] = shares(parts[{addend}], ln_Z[{index}])\n");
        }
    }
    Ok(out + "    return phi, ln_Z\n")
}

fn bound(equations: &Equations, writer: &Writer) -> Result<String, Refusal> {
    let mut out = "\n\ndef elbo(size, data, observed, constants, q, E):\n    phi, ln_Z = allocations(size, data, observed, constants, E)\n    total = 0.0\n".to_owned();
    for (_, sum) in &equations.elbo.terms {
        out += &format!("    total += {}\n", writer.sum(sum, &[])?);
    }
    for block in &equations.blocks {
        out += &blocks::bound(equations, block)?;
    }
    out += "    return total\n\n\nMOMENTS, FILES = {}, {}\n";
    for block in &equations.blocks {
        out += &blocks::declared(equations, block)?;
    }
    Ok(out)
}

/// The items of a sweep; each outside of a group refreshes the allocations.
fn steps(equations: &Equations, items: &[Item], refreshes: bool, out: &mut String) -> Result<(), Refusal> {
    for item in items {
        if item.repeat != 1 || item.reset {
            return Err("its sweep repeats or resets an item".to_owned());
        }
        if refreshes {
            *out += &format!("    phi, ln_Z = allocations({GIVEN})\n");
        }
        match &item.step {
            Step::Block(id) => {
                let block = equations.block(*id);
                if !refreshes && blocks::reads_log_of_sum(block) {
                    return Err(in_block(
                        equations,
                        block,
                        "in a group it reads a log of a sum under held allocations",
                    ));
                }
                *out += &blocks::step(equations, block)?;
            }
            Step::Group(members) => steps(equations, members, false, out)?,
            Step::Sequence(members) => steps(equations, members, refreshes, out)?,
        }
    }
    Ok(())
}
