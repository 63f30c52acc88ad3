//! `cavi match A B`: which components of two fits, or of a fit and a table, are the same.

use cavi::directory::number;
use cavi::matching::{self, Components, Matching};
use serde_json::{Value, json};

use crate::arguments::MatchArguments;
use crate::failure::Failure;
use crate::terminal;

/// Prints the pairs, and for each component of A the best mixture of two of B.
pub fn run(arguments: &MatchArguments) -> Result<(), Failure> {
    let (variable, axis) = (arguments.variable.as_deref(), arguments.axis.as_deref());
    let a = Components::of_fit(&arguments.a, variable, axis)?;
    let b = match arguments.b.is_file() {
        true => Components::of_table(&arguments.b, &a)?,
        false => Components::of_fit(&arguments.b, variable, axis)?,
    };
    let found = matching::matching(&a, &b).map_err(cavi::Error::from)?;
    let left_out = [a.labels.len() - found.common, b.labels.len() - found.common];
    if arguments.json {
        return terminal::print(&format!("{:#}\n", json(&a, &b, &found, left_out)));
    }
    terminal::print(&text(&a, &b, &found, left_out))
}

/// The components of one side without a partner.
fn alone(own: &Components, is_paired: impl Fn(usize) -> bool) -> Vec<&str> {
    (0..own.names.len()).filter(|place| !is_paired(*place)).map(|place| own.names[place].as_str()).collect()
}

fn text(a: &Components, b: &Components, found: &Matching, left_out: [usize; 2]) -> String {
    let mut text = format!(
        "{} by `{}` and `{}`, over {} labels that both have ({} of A and {} of B left out)\n",
        a.axis, a.variable, b.variable, found.common, left_out[0], left_out[1]
    );
    let width =
        |own: &Components| own.names.iter().map(|name| name.chars().count()).max().unwrap_or(1).max(1);
    let (of_a, of_b) = (width(a), width(b));
    text += &format!("{:of_a$}  {:of_b$}  cosine   best mixture of two of B\n", "A", "B");
    for pair in &found.pairs {
        let mixture = found.mixtures.iter().find(|own| own.a == pair.a).map(|own| {
            let [one, two] = own.parts.map(|place| b.names[place].as_str());
            let [u, v] = own.weights;
            format!(
                "{:.4}: {u:.2} {one} {} {:.2} {two}",
                own.cosine,
                if v < 0.0 { '-' } else { '+' },
                v.abs()
            )
        });
        text += &format!(
            "{:of_a$}  {:of_b$}  {:7.4}  {}\n",
            a.names[pair.a],
            b.names[pair.b],
            pair.cosine,
            mixture.unwrap_or_default()
        );
    }
    for (side, names) in [
        ("A", alone(a, |place| found.pairs.iter().any(|own| own.a == place))),
        ("B", alone(b, |place| found.pairs.iter().any(|own| own.b == place))),
    ] {
        if !names.is_empty() {
            text += &format!("of {side} without a partner: {}\n", names.join(", "));
        }
    }
    text + &format!("stability (mean size of the cosines): {:.4}\n", found.stability)
}

fn json(a: &Components, b: &Components, found: &Matching, left_out: [usize; 2]) -> Value {
    let pair = |own: &matching::Pair| json!({ "a": a.names[own.a], "b": b.names[own.b], "cosine": number(own.cosine) });
    let mixture = |own: &matching::Mixture| {
        json!({
            "a": a.names[own.a],
            "b": own.parts.map(|place| b.names[place].clone()),
            "weights": own.weights.map(number),
            "cosine": number(own.cosine),
        })
    };
    json!({
        "axis": a.axis,
        "variables": [a.variable, b.variable],
        "n_common": found.common,
        "n_left_out": left_out,
        "pairs": found.pairs.iter().map(pair).collect::<Vec<_>>(),
        "mixtures": found.mixtures.iter().map(mixture).collect::<Vec<_>>(),
        "unmatched": {
            "a": alone(a, |place| found.pairs.iter().any(|own| own.a == place)),
            "b": alone(b, |place| found.pairs.iter().any(|own| own.b == place)),
        },
        "stability": number(found.stability),
    })
}
