//! The derivation as one file of NumPy and SciPy: the equations, evaluated densely as they are printed.

mod sums;

use cavi_algebra::{ArrayKind, Block, Equations, Expression, Mode};
use cavi_executor::schedule::{Item, Step};
use cavi_syntax::ast::Allocations;

use crate::compile::Compiled;
use sums::{Refusal, Writer, key, name, number};

const PRELUDE: &str = include_str!("prelude.py");
const FIT: &str = include_str!("fit.py");

/// The prefix and the source of the formulas of a family of q.
fn family(block: &Block) -> Result<(&'static str, &'static str), Refusal> {
    match cavi_families::posterior(block.family).name() {
        "Gamma" => Ok(("gamma", include_str!("families/gamma.py"))),
        "Dirichlet" => Ok(("dirichlet", include_str!("families/dirichlet.py"))),
        "Normal" => Ok(("normal", include_str!("families/normal.py"))),
        "Normal over a slice" => Ok(("joint_normal", include_str!("families/joint_normal.py"))),
        other => Err(format!("no Python code exists for its family, {other}")),
    }
}

impl Compiled {
    /// The derivation as a Python file; what it does not cover is an error that names the variable and the reason.
    pub fn python(&self) -> Result<String, String> {
        let rule = self.model.fit.allocations.map(|(rule, _)| rule);
        if rule.is_some_and(|rule| rule != Allocations::Ordinary) {
            return Err("its allocations follow another rule than `ordinary`".to_owned());
        }
        let schedule = crate::schedule::of_program(&self.model, &self.equations).schedule;
        file(&self.equations, &schedule.items, &self.derivation(crate::Format::Text))
    }
}

/// The first name of a block.
fn named(equations: &Equations, block: &Block) -> String {
    name(equations.symbols.array(block.members[0]))
}

fn refuse(equations: &Equations) -> Result<(), Refusal> {
    let symbols = &equations.symbols;
    if let Some(axis) = symbols.axes.iter().find(|axis| axis.parent.is_some()) {
        return Err(format!("the axis `{}` is ragged", axis.name));
    }
    for array in symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data) {
        let reason = match array {
            _ if array.value.is_some() => "is derived from other data",
            _ if array.restriction.is_some() => "exists for some pairs only",
            _ if array.center.is_some() || array.scale.is_some() => "is centred or scaled",
            _ => continue,
        };
        return Err(format!("`{}` {reason}", array.name));
    }
    for block in &equations.blocks {
        let reason = match block {
            _ if block.ascent.is_some() => "its update has no closed form",
            _ if block.mode != Mode::Distribution => "it is not a distribution that is updated",
            _ if block.members.len() > 1 => "it is a joint block of several variables",
            _ if !block.multiplicity.is_empty() => "its rows have weights",
            _ if !block.in_order.is_empty() => "its copies are updated one after another",
            _ if symbols.array(block.members[0]).kind != ArrayKind::Latent => "it is partly observed",
            _ => continue,
        };
        return Err(format!("the block of `{}`: {reason}", named(equations, block)));
    }
    match equations.sites.iter().any(|site| site.collapsed.is_some()) {
        true => Err("its allocations leave their own shares out".to_owned()),
        false if !equations.auxiliaries.is_empty() => Err("it is bounded by a tangent".to_owned()),
        false => Ok(()),
    }
}

fn file(equations: &Equations, items: &[Item], page: &str) -> Result<String, Refusal> {
    refuse(equations)?;
    let writer = Writer::new(equations)?;
    let mut out = String::new();
    for line in page.lines() {
        out += format!("# {line}").trim_end();
        out += "\n";
    }
    out += PRELUDE;
    let mut families: Vec<&str> = Vec::new();
    for block in &equations.blocks {
        let (_, code) = family(block).map_err(|why| in_block(equations, block, &why))?;
        if !families.contains(&code) {
            families.push(code);
        }
    }
    families.iter().for_each(|code| out += &format!("\n\n{code}"));
    out += &program(equations, &writer)?;
    out += &allocations(equations, &writer)?;
    for block in &equations.blocks {
        let code = update(equations, block, &writer).map_err(|why| in_block(equations, block, &why))?;
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

const GIVEN: &str = "size, data, observed, constants, E";

/// The sizes and constants of the program.
fn program(equations: &Equations, writer: &Writer) -> Result<String, Refusal> {
    let symbols = &equations.symbols;
    let axes: Vec<&String> = symbols.axes.iter().map(|axis| &axis.name).collect();
    let mut out = format!("\n\nAXES = {axes:?}\nSIZES = {{}}\n");
    for axis in &symbols.axes {
        if let Some(Expression::Number(size)) = axis.size {
            out += &format!("SIZES[\"{}\"] = {size}\n", axis.name);
        }
    }
    out += "DATA_AXES = {}\n";
    for array in symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Data) {
        let axes = array.letters.iter().map(|letter| &symbols.axis(symbols.letter(*letter).axis).name);
        out += &format!("DATA_AXES[\"{}\"] = {:?}\n", name(array), axes.collect::<Vec<_>>());
    }
    out += "\n\ndef constants_of(size):\n    constants = {}\n";
    for array in symbols.arrays.iter().filter(|array| array.kind == ArrayKind::Constant) {
        if let Some(Expression::Number(value)) = array.value {
            let (shape, value) = (writer.shape(&array.letters), number(value));
            out += &format!("    constants[\"{}\"] = np.full({shape}, {value})\n", name(array));
        } else if array.value.is_some() {
            return Err(format!("the constant `{}` is computed", array.name));
        }
    }
    Ok(out + "    return constants\n")
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

/// The coefficients of a block, all of them and those of its own statements.
fn update(equations: &Equations, block: &Block, writer: &Writer) -> Result<String, Refusal> {
    let variable = named(equations, block);
    let mut out = String::new();
    for (which, own) in [("update", false), ("prior", true)] {
        out += &format!("\n\ndef {which}_{variable}({GIVEN}, phi):\n    eta = {{}}\n");
        for (index, natural) in block.natural.iter().enumerate() {
            let letters = [block.plates.as_slice(), &natural.slots].concat();
            let sum = if own { &block.prior[index] } else { &natural.coefficient };
            let (key, code) = (key(&natural.statistic)?, writer.sum(sum, &letters)?);
            out += &format!("    eta[\"{key}\"] = eta.get(\"{key}\", 0.0) + {code}\n");
        }
        out += "    return eta\n";
    }
    Ok(out)
}

fn bound(equations: &Equations, writer: &Writer) -> Result<String, Refusal> {
    let mut out = "\n\ndef elbo(size, data, observed, constants, q, E):\n    phi, ln_Z = allocations(size, data, observed, constants, E)\n    total = 0.0\n".to_owned();
    for (_, sum) in &equations.elbo.terms {
        out += &format!("    total += {}\n", writer.sum(sum, &[])?);
    }
    for block in &equations.blocks {
        let (variable, (family, _)) = (named(equations, block), family(block)?);
        out += &format!(
            "    prior = prior_{variable}({GIVEN}, phi)\n    total += {family}_bound(q[\"{variable}\"], prior)\n"
        );
    }
    out += "    return total\n\n\nMOMENTS = {}\n";
    for block in &equations.blocks {
        let (variable, (family, _)) = (named(equations, block), family(block)?);
        out += &format!("MOMENTS[\"{variable}\"] = {family}_moments\n");
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
                let (variable, (family, _)) = (named(equations, block), family(block)?);
                *out += &format!(
                    "    q[\"{variable}\"] = {family}_parameters(update_{variable}({GIVEN}, phi))\n"
                );
                *out += &format!("    E[\"{variable}\"] = {family}_moments(q[\"{variable}\"])\n");
            }
            Step::Group(members) => steps(equations, members, false, out)?,
            Step::Sequence(members) => steps(equations, members, refreshes, out)?,
        }
    }
    Ok(())
}
