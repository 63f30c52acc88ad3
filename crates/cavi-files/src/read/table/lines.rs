//! How the fields of a text table are parted, and whether its first line is a header.

use super::unreadable::is_decimal_comma;
use crate::error::FileError;
use crate::read::records::{Field, Records};
use crate::read::stream::Source;

/// So many lines say how fields are parted.
const LOOKED_AT: usize = 10;

/// Whether the first line of a text is a header: one of its fields is neither a number nor missing, or it counts the columns 0, 1, 2, ... behind
/// an empty field, and the first column the rows, as data frames without names are written. Different numbers behind an empty field, such as years,
/// are one as well where the first column holds names.
pub(crate) fn is_header(text: Source<'_>, separator: u8) -> Result<bool, FileError> {
    let mut records = Records::new(text, separator)?;
    let Some(first) = records.next()? else { return Ok(false) };
    if !first.fields().all(|field| field.is_number_or_missing()) {
        return Ok(true);
    }
    let is = |field: &Field<'_>, count: usize| field.cell() == Some(count as f64);
    let counts_columns = first.fields().skip(1).enumerate().all(|(count, field)| is(&field, count));
    let numbers: Vec<f64> = first.fields().skip(1).filter_map(|field| field.cell()).collect();
    if !first.field(0).text().trim_ascii().is_empty() || first.len() == 1 {
        return Ok(false);
    }
    if are_different(numbers) && holds_names(text, separator)? {
        return Ok(true);
    }
    if !counts_columns {
        return Ok(false);
    }
    let mut rows = 0;
    while let Some(record) = records.next()? {
        if record.is_blank() {
            continue;
        }
        if !is(&record.field(0), rows) {
            return Ok(false);
        }
        rows += 1;
    }
    Ok(rows > 0)
}

/// Whether there are two numbers or more, none of them missing, and each is another one.
fn are_different(mut numbers: Vec<f64>) -> bool {
    numbers.sort_by(f64::total_cmp);
    numbers.len() > 1
        && !numbers.iter().any(|own| own.is_nan())
        && numbers.windows(2).all(|pair| pair[0] != pair[1])
}

/// Whether more than a tenth of what stands in the first column, below the first line, is neither a number nor missing: it was not mistyped.
fn holds_names(text: Source<'_>, separator: u8) -> Result<bool, FileError> {
    let mut records = Records::new(text, separator)?;
    records.next()?;
    let (mut names, mut numbers) = (0_usize, 0_usize);
    while let Some(field) = records.next_first()? {
        match field.cell() {
            None => names += 1,
            Some(number) if number.is_nan() => {}
            Some(_) => numbers += 1,
        }
    }
    Ok(names * 10 > names + numbers)
}

/// Whether the first line is one of names and has one field less than the second: then it names the columns beside the labels of the rows, as R's
/// `write.table` does. Different numbers are names too where the first column holds names.
/// Where all lines below it end with a separator, it is that which is one too many.
pub(crate) fn lacks_a_name(text: Source<'_>, separator: u8) -> Result<bool, FileError> {
    let mut records = Records::new(text, separator)?;
    let Some(first) = records.next()? else { return Ok(false) };
    let is_name = |field: Field<'_>| match field {
        Field::Text { quoted, .. } => quoted || !field.is_number_or_missing(),
        Field::Whole(_) | Field::Number(_) | Field::Truth(_) => false,
    };
    let width = first.len();
    let has_names = first.fields().any(is_name);
    let numbers: Vec<f64> = first.fields().filter_map(|field| field.cell()).collect();
    if !has_names && (numbers.len() < width || !are_different(numbers)) {
        return Ok(false);
    }
    while let Some(record) = records.next()? {
        if record.is_blank() {
            continue;
        }
        if record.len() != width + 1 {
            return Ok(false);
        }
        if !record.field(width).text().is_empty() {
            return Ok(has_names || holds_names(text, separator)?);
        }
    }
    Ok(false)
}

/// The character that parts fields: that of the suffix, or semicolons in a .csv file whose lines are parted by them.
///
/// They are where the first lines have the same number of semicolons, one or more, and not so of commas, or commas within numbers
/// alone (`1,5;2,5`).
pub(crate) fn separator(text: Source<'_>, stated: u8) -> Result<u8, FileError> {
    if stated != b',' {
        return Ok(stated);
    }
    let text = text.beginning(LOOKED_AT)?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).take(LOOKED_AT).collect();
    let Some(first) = lines.first() else { return Ok(stated) };
    // How often a character stands in each line, if that is as often in all of them.
    let times = |own: char| {
        let times = outside_of_quotes(first, own).count();
        lines.iter().all(|line| outside_of_quotes(line, own).count() == times).then_some(times)
    };
    let (semicolons, commas) = (times(';').unwrap_or(0), times(',').unwrap_or(0));
    let in_numbers =
        || first.split(';').all(|field| is_decimal_comma(field) || field.trim().parse::<f64>().is_ok());
    Ok(if semicolons > 0 && (commas == 0 || in_numbers()) { b';' } else { stated })
}

/// Where a character stands outside of quotation marks.
fn outside_of_quotes(line: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut quoted = false;
    line.char_indices().filter_map(move |(place, own)| {
        quoted ^= own == '"';
        (own == wanted && !quoted).then_some(place)
    })
}

/// Refuses a .csv file whose fields are parted by something else, which would otherwise be read as one column.
pub(super) fn refuse_other_separator(text: Source<'_>, separator: u8) -> Result<(), FileError> {
    let text = text.beginning(2)?;
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    if first.as_bytes().contains(&separator) || first.starts_with('"') {
        return Ok(());
    }
    for (other, name) in [(';', "semicolons"), ('\t', "tabs"), (',', "commas")] {
        let times = first.matches(other).count();
        if times > 0 && second.matches(other).count() == times && !second.as_bytes().contains(&separator) {
            let expected = if separator == b',' { "commas" } else { "tabs" };
            return Err(FileError::new(
                format!("fields parted by {name}"),
                format!("{expected}, by the suffix of the file"),
            )
            .at_line(1));
        }
    }
    Ok(())
}
