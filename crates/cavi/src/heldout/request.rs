//! What is to be held out of which array, as `--heldout` says it.

use std::fmt;

use cavi_algebra::ArrayKind;
use cavi_model::{Model, Statement};

use crate::bind::{Chosen, DataError, Draw, Fold, Source, number};

/// What to hide of one array: `--heldout NAME=FRACTION`, `NAME=rows:FRACTION`, `NAME=last:AXIS`, `NAME=FILE`; of the last three for
/// one group of a ragged array also `NAME[GROUP]=...`.
#[derive(Clone, Debug)]
pub struct Request {
    /// The array.
    pub name: String,
    /// The label of the group of a ragged array that is meant alone.
    pub group: Option<String>,
    /// How much, or which entries.
    pub what: Asked,
}

/// How much is hidden, or which entries.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // there is one for each array that is held out, and a box would be in the way of callers
pub enum Asked {
    /// A share of the entries or units, between 0 and 1.
    Share(f64),
    /// A share of the rows, each as a whole, between 0 and 1.
    Rows(f64),
    /// The last entry of each row: along this axis, or by this further column of the long table of the data.
    Last(String),
    /// One of several parts of equal size.
    Fold(Fold),
    /// The entries that a file names.
    File(Source),
}

/// What was asked for of one array.
pub(super) enum Asking {
    Draw(Draw),
    Chosen(Vec<(Option<String>, Chosen)>),
    Files(Vec<(Option<String>, Source)>),
}

impl fmt::Display for Request {
    /// As `--heldout` takes it; a file, of which the entries count, without its name.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(group) = &self.group {
            write!(f, "[{group}]")?;
        }
        match &self.what {
            Asked::Share(share) => write!(f, "={share}"),
            Asked::Rows(share) => write!(f, "=rows:{share}"),
            Asked::Last(by) => write!(f, "=last:{by}"),
            Asked::Fold(Fold { number, of }) => write!(f, "=fold {number} of {of}"),
            Asked::File(_) => f.write_str("=FILE"),
        }
    }
}

impl Request {
    /// Reads what `--heldout` takes: `NAME=FRACTION`, `NAME=rows:FRACTION`, `NAME=last:AXIS`, `NAME=last:COLUMN` or `NAME=FILE`; of a
    /// ragged array also `NAME[GROUP]=...`, but for a fraction of all entries.
    ///
    /// # Errors
    /// A text of another form, a fraction that is not between 0 and 1, a name of no file.
    pub fn parse(option: &str, text: &str) -> Result<Request, DataError> {
        let form = || {
            DataError::new(format!("`{option} {text}` is not of the form `NAME=FRACTION` or `NAME=FILE`"))
                .help(format!("`{option} n=0.1` hides a tenth of `n`"))
        };
        let input = crate::bind::ArrayInput::parse(text).ok_or_else(form)?;
        let start = text.find("]=").filter(|_| input.group.is_some()).map_or(0, |end| end + 1);
        let value = text[start..].split_once('=').map_or("", |(_, value)| value);
        let (name, group) = (input.name, input.group);
        if let Some(by) = value.strip_prefix("last:") {
            if by.is_empty() {
                return Err(DataError::new(format!(
                    "`{option} {text}`: nothing says what the last entry is"
                ))
                .possible("`last:AXIS`, or `last:COLUMN` with a further column of the table of the data"));
            }
            return Ok(Request { name, group, what: Asked::Last(by.to_owned()) });
        }
        let of_rows = value.strip_prefix("rows:");
        let found = |found: &str| {
            DataError::new(format!("`{option} {text}`: {found}"))
                .possible("a number greater than 0 and less than 1")
        };
        let Some(share) = number(of_rows.unwrap_or(value)) else {
            if let Some(share) = of_rows {
                return Err(found(&format!("`{share}` is no fraction of the rows")));
            }
            let path = input.source.name().to_owned();
            if path.extension().is_none() && !path.exists() {
                let found = format!("`{option} {text}`: `{}` is neither a number nor a file", path.display());
                return Err(DataError::new(found).possible(
                    "a fraction between 0 and 1, a file of entries, `rows:FRACTION`, or `last:AXIS`",
                ));
            }
            return Ok(Request { name, group, what: Asked::File(input.source) });
        };
        if !(share > 0.0 && share < 1.0) {
            return Err(found(&format!("the fraction is {share}")));
        }
        if of_rows.is_some() {
            return Ok(Request { name, group, what: Asked::Rows(share) });
        }
        if group.is_some() {
            return Err(DataError::new(format!(
                "`{option} {text}`: a fraction is that of all groups together"
            ))
            .help(format!("`{option} {name}={value}`")));
        }
        Ok(Request { name, group: None, what: Asked::Share(share) })
    }

    /// Reads `NAME=FILE` or `NAME[GROUP]=FILE`.
    ///
    /// # Errors
    /// A text of another form.
    pub fn parse_file(option: &str, text: &str) -> Result<Request, DataError> {
        let form = || DataError::new(format!("`{option} {text}` is not of the form `NAME=FILE`"));
        let input = crate::bind::ArrayInput::parse(text).ok_or_else(form)?;
        Ok(Request { name: input.name, group: input.group, what: Asked::File(input.source) })
    }
}

/// What was asked for of each array, in order.
pub(super) fn requested<'m>(
    model: &'m Model,
    option: &str,
    requests: &[Request],
) -> Result<Vec<(&'m Statement, Asking)>, Vec<DataError>> {
    let symbols = &model.symbols;
    let known: Vec<&str> = model
        .statements
        .iter()
        .filter(|statement| statement.observed)
        .map(|statement| symbols.array(statement.target).name.as_str())
        .collect();
    let mut problems = Vec::new();
    let mut found: Vec<(&Statement, Asking)> = Vec::new();
    // The groups that are asked for of each array that was found.
    let mut groups: Vec<Vec<Option<&str>>> = Vec::new();
    for request in requests {
        let name = &request.name;
        let statement = symbols.find(name).and_then(|id| model.statement_of(id));
        let Some(statement) = statement.filter(|statement| statement.observed) else {
            let what = match symbols.find(name).map(|id| symbols.array(id)) {
                None => "the program has no data of this name",
                Some(array) if array.kind == ArrayKind::Data => {
                    "these data stand on the left of no `~`, and are not predicted"
                }
                Some(array) if array.kind == ArrayKind::Constant => "this is a constant",
                Some(_) => "this is a latent variable",
            };
            problems.push(DataError::unknown(format!("`{option} {name}`: {what}"), name, &known));
            continue;
        };
        let group = request.group.clone();
        let asking = match &request.what {
            Asked::Share(share) => Asking::Draw(Draw::Share(*share)),
            Asked::Fold(fold) => Asking::Draw(Draw::Fold(*fold)),
            Asked::Rows(share) => Asking::Chosen(vec![(group, Chosen::Rows(*share))]),
            Asked::Last(by) => Asking::Chosen(vec![(group, Chosen::Last(by.clone()))]),
            Asked::File(source) => Asking::Files(vec![(group, source.clone())]),
        };
        let own = request.group.as_deref();
        let Some(place) = found.iter().position(|(other, _)| other.target == statement.target) else {
            found.push((statement, asking));
            groups.push(vec![own]);
            continue;
        };
        let is_another = own.is_some() && groups[place].iter().all(|group| group.is_some() && *group != own);
        groups[place].push(own);
        match (&mut found[place].1, asking) {
            (Asking::Files(files), Asking::Files(more)) if is_another => files.extend(more),
            (Asking::Chosen(chosen), Asking::Chosen(more)) if is_another => chosen.extend(more),
            _ => problems.push(DataError::new(format!("`{option} {name}` is given twice")).possible(
                "one fraction or one file an array, or one file (one `rows:` or `last:`) for each group of a ragged array",
            )),
        }
    }
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_may_hold_equals_signs() {
        let request = Request::parse("--heldout", "x[a=b]=rows:0.25").unwrap();
        assert_eq!((request.name.as_str(), request.group.as_deref()), ("x", Some("a=b")));
        assert!(matches!(request.what, Asked::Rows(share) if share == 0.25));
        let request = Request::parse("--heldout", "y=last:time").unwrap();
        assert!(matches!(request.what, Asked::Last(by) if by == "time"));
    }
}
