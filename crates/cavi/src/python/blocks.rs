//! The code of one block: its coefficients, its step in the sweep, and what it adds to the bound.

use cavi_algebra::{ArrayKind, Atom, Block, Equations, LetterId, Mode};

use super::sums::{Refusal, Writer, key, name};

/// The arguments that the functions of a file share.
pub const GIVEN: &str = "size, data, observed, constants, E";

const POINT: &str = include_str!("families/point.py");

/// The prefix and the source of the formulas of a family of q.
fn family(block: &Block) -> Result<(&'static str, &'static str), Refusal> {
    let name = cavi_families::posterior(block.family).name();
    match name {
        "Gamma" => Ok(("gamma", include_str!("families/gamma.py"))),
        "Dirichlet" => Ok(("dirichlet", include_str!("families/dirichlet.py"))),
        "Normal" => Ok(("normal", include_str!("families/normal.py"))),
        "Normal over a slice" => Ok(("joint_normal", include_str!("families/joint_normal.py"))),
        "Categorical" => Ok(("categorical", include_str!("families/categorical.py"))),
        "Bernoulli" => Ok(("bernoulli", include_str!("families/bernoulli.py"))),
        "Normal-Gamma" => Ok(("normal_gamma", include_str!("families/normal_gamma.py"))),
        "Normal-Wishart" => Ok(("normal_wishart", include_str!("families/normal_wishart.py"))),
        "Wishart" => Ok(("wishart", include_str!("families/wishart.py"))),
        "Beta" => Ok(("beta", include_str!("families/beta.py"))),
        "InverseGamma" => Ok(("inverse_gamma", include_str!("families/inverse_gamma.py"))),
        "TruncatedNormal" => Ok(("truncated_normal", include_str!("families/truncated_normal.py"))),
        "Gamma with a square term" => {
            Ok(("gamma_with_square", include_str!("families/gamma_with_square.py")))
        }
        "Dirichlet with linear terms" => {
            Ok(("dirichlet_with_linear", include_str!("families/dirichlet_with_linear.py")))
        }
        _ => Err(format!("no Python code exists for its family, {name}")),
    }
}

/// The prefix of the formulas of a block, where these have what its mode asks for.
fn prefix(block: &Block) -> Result<&'static str, Refusal> {
    let (prefix, code) = family(block)?;
    let wanted = if block.is_point() { "mode" } else { "parameters" };
    match code.contains(&format!("def {prefix}_{wanted}(")) {
        true => Ok(prefix),
        false => Err(format!(
            "no Python code exists for a point with the coefficients of a {}",
            prefix.replace('_', " ")
        )),
    }
}

/// The formulas that a block reads.
pub fn sources(block: &Block) -> Result<Vec<&'static str>, Refusal> {
    prefix(block)?;
    let (_, code) = family(block)?;
    Ok(if block.is_point() { vec![POINT, code] } else { vec![code] })
}

/// The first name of a block.
pub fn named(equations: &Equations, block: &Block) -> String {
    name(equations.symbols.array(block.members[0]))
}

/// The reason for which a block has no code, if there is one.
pub fn refuse(equations: &Equations, block: &Block) -> Result<(), Refusal> {
    let family = cavi_families::posterior(block.family);
    let reason = match block {
        _ if block.ascent.is_some() => "its update has no closed form",
        _ if block.mode == Mode::Implicit => "it is not stored, but at its optimum for the rest of q",
        _ if block.mode == Mode::Fixed && family.only_point() => "it keeps values, and no distribution",
        _ if block.members.len() > 1 && block.is_point() => "it is a point of several variables",
        _ if block.members.len() > 1 && family.one_vector() => "several variables stand in one vector of it",
        _ if !(1..block.members.len()).all(|own| runs_as_declared(equations, block, own)) => {
            "its variables run over an axis in another order than they are declared"
        }
        _ if !block.multiplicity.is_empty() => "its rows have weights",
        _ if block.ragged_slice(&equations.symbols).is_some() => "its slice runs over a ragged axis",
        _ if block.members.iter().any(|own| equations.symbols.array(*own).kind != ArrayKind::Latent) => {
            "it is partly observed"
        }
        _ => return Ok(()),
    };
    Err(reason.to_owned())
}

/// Whether the plates of a member are in the order of its letters.
fn runs_as_declared(equations: &Equations, block: &Block, member: usize) -> bool {
    let declared = &equations.symbols.array(block.members[member]).letters;
    let place = |letter: &LetterId| declared.iter().position(|own| own == letter);
    block.member_plates[member].iter().is_sorted_by_key(place)
}

/// The coefficients of a block, all of them and for a distribution those of its own statements.
pub fn update(equations: &Equations, block: &Block, writer: &Writer) -> Result<String, Refusal> {
    let variable = named(equations, block);
    let mut out = String::new();
    for (which, own) in [("update", false), ("prior", true)] {
        if own && block.is_point() {
            continue;
        }
        out += &format!("\n\ndef {which}_{variable}({GIVEN}, phi, ln_Z):\n    eta = {{}}\n");
        for (index, natural) in block.natural.iter().enumerate() {
            let letters = [block.plates.as_slice(), &natural.slots].concat();
            let sum = if own { &block.prior[index] } else { &natural.coefficient };
            let (key, code) = (key(block, &natural.statistic)?, writer.sum(sum, &letters)?);
            out += &format!("    eta[\"{key}\"] = eta.get(\"{key}\", 0.0) + {code}\n");
        }
        out += "    return eta\n";
    }
    Ok(out)
}

/// Whether the bound of a log of a sum stands in its coefficients.
pub fn reads_log_of_sum(block: &Block) -> bool {
    block.update().any(|sum| sum.any_atom(&|atom| matches!(atom, Atom::LogPartition { .. })))
}

/// What a block adds to the bound: a point nothing.
pub fn bound(equations: &Equations, block: &Block) -> Result<String, Refusal> {
    if block.is_point() {
        return Ok(String::new());
    }
    let (variable, family) = (named(equations, block), prefix(block)?);
    Ok(format!(
        "    prior = prior_{variable}({GIVEN}, phi, ln_Z)\n    total += {family}_bound(q[\"{variable}\"], prior)\n"
    ))
}

/// The moments of a block, and the files of a fit that hold its parameters.
pub fn declared(equations: &Equations, block: &Block) -> Result<String, Refusal> {
    let variable = named(equations, block);
    let moments = if block.is_point() { "point" } else { prefix(block)? };
    let family = cavi_families::posterior(block.family);
    let files: Vec<String> = match block.is_point() {
        true => vec![format!("\"value\": \"{variable}.value\"")],
        false => {
            let parameters = family.descriptors().iter().enumerate().filter(|(_, own)| own.defining);
            let file = parameters.map(|(index, own)| {
                let member = name(equations.symbols.array(block.members[family.member_of(index)]));
                format!("\"{}\": \"{member}.{}\"", own.name, own.name)
            });
            file.collect()
        }
    };
    let files = files.join(", ");
    Ok(format!("MOMENTS[\"{variable}\"] = {moments}_moments\nFILES[\"{variable}\"] = {{{files}}}\n"))
}

/// One step of the sweep: all copies of a block, at once or, where they meet in a term, one after another.
pub fn step(equations: &Equations, block: &Block) -> Result<String, Refusal> {
    if block.mode == Mode::Fixed {
        return Ok(String::new());
    }
    let (variable, family) = (named(equations, block), prefix(block)?);
    let eta = format!("update_{variable}({GIVEN}, phi, ln_Z)");
    let eta = if block.clamp { format!("clamped({eta})") } else { eta };
    let old = format!("q[\"{variable}\"][\"value\"]");
    let new = match block.is_point() {
        true if equations.keeps_zeros(block) => {
            format!("{{\"value\": zeros_kept({family}_mode({eta}, {old}), {old})}}")
        }
        true => format!("{{\"value\": {family}_mode({eta}, {old})}}"),
        false => format!("{family}_parameters({eta})"),
    };
    let moments = if block.is_point() { "point" } else { family };
    let moments = format!("E[\"{variable}\"] = {moments}_moments(q[\"{variable}\"])");
    if block.in_order.is_empty() {
        return Ok(format!("    q[\"{variable}\"] = {new}\n    {moments}\n"));
    }
    let (lengths, place) = order(equations, block)?;
    Ok(format!(
        "    for at in np.ndindex({lengths}):\n        q[\"{variable}\"] = replaced(q[\"{variable}\"], {new}, ({place},))\n        {moments}\n"
    ))
}

/// The lengths of the axes along which copies are updated one after another, and the place of one of them among all copies.
fn order(equations: &Equations, block: &Block) -> Result<(String, String), Refusal> {
    let symbols = &equations.symbols;
    let first = symbols.array(block.members[0]);
    let mut letters: Vec<LetterId> = block.in_order.clone();
    letters.sort_by_key(|letter| block.plates.iter().position(|own| own == letter));
    let declared: Vec<LetterId> =
        first.letters.iter().copied().filter(|letter| block.plates.contains(letter)).collect();
    if declared != block.plates {
        return Err(
            "its copies are updated one after another, in another order than they are stored".to_owned()
        );
    }
    let lengths: Vec<String> = letters
        .iter()
        .map(|letter| format!("size[\"{}\"]", symbols.axis(symbols.letter(*letter).axis).name))
        .collect();
    let places = block.plates.iter().map(|plate| match letters.iter().position(|own| own == plate) {
        Some(index) => format!("at[{index}]"),
        None => "slice(None)".to_owned(),
    });
    Ok((lengths.join(", "), places.collect::<Vec<_>>().join(", ")))
}
