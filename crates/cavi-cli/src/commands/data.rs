//! `cavi data FILE [--as 'y[u, i] : count']`: what a file is read as, without a fit.

use cavi::Error;
use cavi::look;

use super::fit;
use crate::arguments::{DataArguments, InputArguments, ReadingArguments};
use crate::failure::Failure;
use crate::terminal;

/// Shows the format and the first lines, what was understood, and the line that binds the file.
pub fn run(arguments: &DataArguments) -> Result<(), Failure> {
    let DataArguments { file, declaration, reading } = arguments;
    let inputs = fit::inputs(&InputArguments { reading: reading.clone(), ..InputArguments::default() })?;
    let ReadingArguments { columns, transpose, labels, unique, texts } = reading;
    let mut file = file.clone();
    let mut head = look::head(&file).map_err(Error::from)?;
    if let (Some(column), None) = (look::column_of_texts(&file, &head, &inputs), declaration) {
        terminal::note(&format!(
            "note: `{column}` holds texts, and `{file}:{column}` is read: one document from each line; `--as 'y[row, column] : count'` reads the \
             whole table\n"
        ));
        file = format!("{file}:{column}");
        head = look::head(&file).map_err(Error::from)?;
    }
    let mut text = format!("{file}: {}\n", head.format);
    for (number, line) in head.lines.iter().enumerate() {
        text += &format!("  {}  {line}\n", number + 1);
    }
    terminal::print(&text)?;
    let look = look::look(&file, &head, declaration.as_deref(), &inputs).map_err(Error::from)?;
    look.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}\n")));
    look.notes.iter().for_each(|note| terminal::note(&format!("note: {note}\n")));
    let mut text = look.read.iter().map(|line| format!("{line}\n")).collect::<String>();
    text += "declared\n";
    look.declaration.iter().for_each(|line| text += &format!("  {line}\n"));
    let mut options = vec![format!("--data {}", quoted(&format!("{}={file}", look.name)))];
    options.extend(look.columns.iter().chain(columns).map(|own| format!("--columns {}", quoted(own))));
    options.extend(transpose.iter().map(|own| format!("--transpose {own}")));
    options.extend(labels.iter().map(|own| format!("--labels {}", quoted(own))));
    options.extend(unique.then(|| "--unique".to_owned()));
    options.extend(texts.given().iter().map(|(option, value)| format!("{option} {}", quoted(value))));
    text += &format!("bound by\n  cavi fit MODEL {} --out DIR\n", options.join(" "));
    terminal::print(&text)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |own: char| own.is_alphanumeric() || "_-=./:,+@%".contains(own);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
