//! What there is to say of entries that were held out.

use cavi_model::Model;

use crate::bind::{ByFile, Different, Hidden};

/// What there is to say of entries that files name.
pub(super) fn by_file(model: &Model, part: &Hidden) -> Option<String> {
    let ByFile { files, valued, zeros, without, left_out, .. } = part.named.as_ref()?;
    let name = &model.symbols.array(part.array).name;
    let all = part.coordinates.first().map_or(part.values.len(), Vec::len);
    let entries = |count: usize| if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
    let mut parts = Vec::new();
    if all > valued + zeros {
        parts.push(format!("{} with the value that the data have", all - valued - zeros));
    }
    if *zeros > 0 {
        parts.push(format!(
            "{zeros} as zeros, which the data do not list (`--heldout {name}=FILE:COLUMN` gives other values)"
        ));
    }
    if *valued > 0 {
        parts.push(format!("{valued} with the value that the file gives"));
    }
    let mut note = format!("held out by {files}: {} of `{name}`, {}", entries(all), parts.join(" and "));
    if *left_out > 0 {
        note += &format!("; {} left out, for labels or places that the data do not have", entries(*left_out));
    }
    if *without > 0 {
        note +=
            &format!("; {} left out, of which neither the data nor the file have a value", entries(*without));
    }
    Some(note)
}

/// A warning where the numbers of a file are not taken as values.
pub(super) fn mask(model: &Model, part: &Hidden) -> Option<String> {
    let ByFile { files, different: Some(Different { count, first }), .. } = part.named.as_ref()? else {
        return None;
    };
    let name = &model.symbols.array(part.array).name;
    let more = match count {
        1 => String::new(),
        2 => ", and 1 more differs".to_owned(),
        _ => format!(", and {} more differ", count - 1),
    };
    Some(format!(
        "{files} is read as a mask, and its numbers are no values of `{name}`: {first}{more}. To hold values out that the data \
         do not have, take those entries out of one of the two"
    ))
}
