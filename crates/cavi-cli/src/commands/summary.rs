//! `cavi summary DIR [VAR]`: what a fit came to, or one of its variables.

use cavi::summary::{self, Variable};
use serde_json::Value;

use crate::arguments::SummaryArguments;
use crate::failure::Failure;
use crate::{components, explained, terminal};

/// So many values of a variable are listed.
const MOST: usize = 200;

/// Prints the outcome of a fit and a line for each variable, or the values of one.
pub fn run(arguments: &SummaryArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    match &arguments.variable {
        None => {
            let json = summary::json(directory)?;
            let mut text = outcome(&json);
            for variable in summary::variables(directory, None)? {
                text += &format!("{}\n", line(&variable));
            }
            terminal::print(&text)
        }
        Some(name) => {
            let variables = summary::variables(directory, Some(name))?;
            terminal::print(&variables.iter().map(table).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// Model, sizes, and how the fit ended.
fn outcome(json: &Value) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => {
            format!("[{}]", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    };
    let sizes: Vec<String> = json["sizes"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(axis, size)| format!("{axis} {}", shown(size)))
        .collect();
    let how = match (json["converged"].as_bool(), json["interrupted"].as_bool()) {
        (_, Some(true)) => "interrupted after",
        _ if json["failure"].is_string() => "ended early after",
        (Some(true), _) => "converged after",
        _ if !matches!(json["settings"]["allocations"].as_str(), None | Some("ordinary")) => "ended after",
        _ => "not converged after",
    };
    let mut text = match json["model"].as_str() {
        Some(model) => format!("{model}: {}\n", sizes.join(", ")),
        None => format!("{}\n", sizes.join(", ")),
    };
    text +=
        &format!("{how} {} sweeps, seed {}: ELBO {}\n", json["sweeps"], json["seed"], shown(&json["elbo"]));
    text += &json["failure"].as_str().map_or_else(String::new, |why| format!("  {why}\n"));
    text += &explained::lines(&json["explained"]);
    text += &components::lines(&json["components"]);
    for (array, score) in json["heldout"].as_object().into_iter().flatten() {
        text +=
            &format!("held out {array}: {} each of {} units\n", shown(&score["per_unit"]), score["n_scored"]);
    }
    for (array, score) in json["folds"]["arrays"].as_object().into_iter().flatten() {
        let digits = |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), number);
        let means = score["means"]["mean"]
            .as_f64()
            .map_or_else(String::new, |own| format!("; rows and columns {}", number(own)));
        text += &format!(
            "{} folds of {array}: {} each, standard error {}{means}\n",
            json["folds"]["n_folds"],
            digits(&score["mean"]),
            digits(&score["standard_error"])
        );
    }
    text
}

/// `beta (topic 10 x word 2954): mean, from 1e-5 to 0.1`
fn line(variable: &Variable) -> String {
    let axes: Vec<String> =
        variable.axes.iter().map(|(name, labels)| format!("{name} {}", labels.len())).collect();
    let what = if axes.is_empty() { String::new() } else { format!(" ({})", axes.join(" x ")) };
    let Variable { name, parameter, values, deviations, .. } = variable;
    match values.as_slice() {
        [] => format!("{name}{what}: no value"),
        [value] => {
            let spread =
                deviations.as_ref().map_or_else(String::new, |own| format!(", sd {}", number(own[0])));
            format!("{name}{what}: {parameter} {}{spread}", number(*value))
        }
        all => {
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            format!("{name}{what}: {parameter} from {} to {}", number(least), number(most))
        }
    }
}

/// A line for each value, at its labels, with its standard deviation under q.
fn table(variable: &Variable) -> String {
    let names = summary::columns(variable);
    let mut head: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    head.push(variable.parameter.to_owned());
    head.extend(variable.deviations.as_ref().map(|_| "sd".to_owned()));
    if variable.marginals.is_some() {
        head.extend(["q05", "q95"].map(str::to_owned));
    }
    let mut rows = vec![head];
    for (cell, value) in variable.values.iter().enumerate().take(MOST) {
        let mut row: Vec<String> = summary::place(variable, cell).into_iter().map(str::to_owned).collect();
        row.push(number(*value));
        // Where there is none, or none is known, there is nothing.
        let known = |value: f64| if value.is_nan() { String::new() } else { number(value) };
        row.extend(variable.deviations.as_ref().map(|own| known(own[cell])));
        if let Some(marginals) = &variable.marginals {
            row.extend([0.05, 0.95].map(|level| known(marginals[cell].quantile(level))));
        }
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let mut text = format!("{}\n", line(variable));
    for row in &rows {
        let cells =
            row.iter().zip(&widths).enumerate().map(|(place, (cell, width))| match place < names.len() {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            });
        text += &format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    if variable.values.len() > MOST {
        text += &format!("  ... and {} more\n", variable.values.len() - MOST);
    }
    text
}

/// Six digits that matter.
fn number(value: f64) -> String {
    summary::digits(value, 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_at_their_labels() {
        let labels = |all: &[&str]| all.iter().map(|own| (*own).to_owned()).collect();
        let variable = Variable {
            name: "w".to_owned(),
            group: Vec::new(),
            axes: vec![("row".to_owned(), labels(&["a", "bb"])), ("k".to_owned(), labels(&["0"]))],
            columns: labels(&["row", "k"]),
            listed: None,
            parameter: "mean",
            signed: true,
            values: vec![1.5, -2.0],
            deviations: Some(vec![0.5, 1.0]),
            marginals: None,
        };
        let expected = "w (row 2 x k 1): mean from -2 to 1.5\n  row  k  mean   sd\n  a    0   1.5  0.5\n  bb   0    -2    1\n";
        assert_eq!(table(&variable), expected);
    }
}
