//! `cavi match A B`: which components of two fits, or of a fit and a table, are the same.

use cavi::matching::{self, Components, Matching};

use crate::arguments::MatchArguments;
use crate::failure::Failure;
use crate::terminal;

/// Prints the pairs, and for each component of A the best mixture of two of B.
pub fn run(arguments: &MatchArguments) -> Result<(), Failure> {
    let (variable, axis) = (arguments.variable.as_deref(), arguments.axis.as_deref());
    let a = Components::of_directory(&arguments.a, variable, axis)?;
    let b = match arguments.b.is_file() {
        true => Components::of_table(&arguments.b, &a)?,
        false => Components::of_directory(&arguments.b, variable, axis)?,
    };
    let found = matching::matching(&a, &b).map_err(cavi::Error::from)?;
    let left_out = [a.labels.len() - found.common, b.labels.len() - found.common];
    if arguments.json {
        return terminal::print(&format!("{:#}\n", found.json(&a, &b)));
    }
    terminal::print(&text(&a, &b, &found, left_out))
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
    for (side, names) in [("A", found.alone_of_a(a)), ("B", found.alone_of_b(b))] {
        if !names.is_empty() {
            text += &format!("of {side} without a partner: {}\n", names.join(", "));
        }
    }
    let what = if found.has_free_signs { "mean size of the cosines" } else { "mean of the cosines" };
    text + &format!("stability ({what}): {:.4}\n", found.stability)
}
