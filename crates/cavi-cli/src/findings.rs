//! What a fit found, as text for a terminal.

mod along;

use std::fmt::Write;

use cavi::findings::{Activity, Finding, Pictures, Top};

/// From nothing to much.
const SHADES: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];
/// The width in cells that a row of pictures may have.
const LINE: usize = 78;
/// More lines of pictures than these are drawn smaller.
const PAGE: usize = 100;

/// All findings, one after another.
pub fn text(findings: &[Finding]) -> String {
    let parts = findings.iter().map(|finding| match finding {
        Finding::Top(finding) => top(finding),
        Finding::Activity(finding) => activity(finding),
        Finding::Pictures(finding) => pictures(finding),
        Finding::Bars(finding) => along::bars(finding),
        Finding::Curves(finding) => along::curves(finding),
        Finding::Intervals(finding) => along::intervals(finding),
        Finding::Agreement(finding) => along::agreement(finding),
        Finding::Absent { variable, with } => {
            format!("{variable}: compared with nothing, since there is no file `{with}`\n")
        }
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn top(top: &Top) -> String {
    let what = if top.signed { "largest in size" } else { "largest" };
    let mut text = format!("{}: the {what} entries over {}\n", top.variable, top.axis);
    let width = top.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, entries) in &top.rows {
        let entry = |(label, value): &(String, f64)| match (top.signed, *value < 0.0) {
            (true, true) => format!("-{label}"),
            (true, false) => format!("+{label}"),
            (false, _) => label.clone(),
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        let _ = writeln!(text, "  {name:width$}  {}", entries.join("  "));
    }
    more(&mut text, top.more);
    text
}

fn activity(activity: &Activity) -> String {
    let what = if activity.squares { "sum of squares" } else { "sum" };
    let mut text = format!(
        "{}: share of each {} in the {what} of a row, in percent (. is less than 0.5)\n",
        activity.variable, activity.axis
    );
    let width = activity.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let cell = activity.columns.iter().map(|label| label.chars().count()).max().unwrap_or(1).clamp(4, 12);
    let columns = activity.columns.iter().map(|label| format!(" {:>cell$}", shortened(label, cell)));
    let _ = writeln!(text, "  {:width$}{}", "", columns.collect::<String>());
    for (name, shares) in &activity.rows {
        let shares = shares.iter().map(|share| {
            let percent = 100.0 * share;
            let number = if percent < 0.5 { ".".to_owned() } else { format!("{percent:.0}") };
            format!(" {}{number:>rest$}", shade(*share), rest = cell - 1)
        });
        let _ = writeln!(text, "  {name:width$}{}", shares.collect::<String>());
    }
    more(&mut text, activity.more);
    text
}

/// The pictures so small that they fit on a page: squares of so many pixels as one, the fewest that do.
fn scaled(pictures: &Pictures) -> (Pictures, usize) {
    let lines = |by: usize| {
        let (height, width) = (pictures.height.div_ceil(by), pictures.width.div_ceil(by));
        pictures.pictures.len().div_ceil((LINE / (2 * width + 3)).max(1)) * (height + 2)
    };
    let most = pictures.height.max(pictures.width).max(1);
    let by = (1..=most).find(|by| lines(*by) <= PAGE).unwrap_or(most);
    let (height, width) = (pictures.height.div_ceil(by), pictures.width.div_ceil(by));
    let mean = |pixels: &Vec<f64>, row: usize, column: usize| {
        let rows = row * by..((row + 1) * by).min(pictures.height);
        let own = rows.flat_map(|row| {
            let columns = column * by..((column + 1) * by).min(pictures.width);
            columns.map(move |column| pixels[row * pictures.width + column])
        });
        let own: Vec<f64> = own.collect();
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    let small = |pixels: &Vec<f64>| {
        (0..height)
            .flat_map(|row| (0..width).map(move |column| (row, column)))
            .map(|(row, column)| mean(pixels, row, column))
            .collect()
    };
    let all = pictures.pictures.iter().map(|(name, pixels)| (name.clone(), small(pixels))).collect();
    (Pictures { variable: pictures.variable.clone(), height, width, pictures: all }, by)
}

fn pictures(all: &Pictures) -> String {
    let (pictures, by) = scaled(all);
    let small = if by > 1 { format!(", {by} x {by} pixels as one") } else { String::new() };
    let mut text = format!("{}: {} by {} pictures{small}\n", all.variable, all.height, all.width);
    // Two characters a pixel: the cells of a terminal are twice as high as wide.
    let cell = (2 * pictures.width)
        .max(pictures.pictures.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0));
    let across = (LINE / (cell + 3)).max(1);
    for group in pictures.pictures.chunks(across) {
        let names = group.iter().map(|(name, _)| format!("  {name:cell$} "));
        let _ = writeln!(text, "{}", names.collect::<String>().trim_end());
        for row in 0..pictures.height {
            let rows = group.iter().map(|(_, pixels)| {
                let row = &pixels[row * pictures.width..(row + 1) * pictures.width];
                let drawn: String = row.iter().flat_map(|pixel| [shade(*pixel); 2]).collect();
                format!("  {drawn:cell$} ")
            });
            let _ = writeln!(text, "{}", rows.collect::<String>().trim_end());
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

/// A character as dense as a share from 0 to 1 is large.
fn shade(share: f64) -> char {
    let last = SHADES.len() - 1;
    SHADES[((share * last as f64).round() as usize).min(last)]
}

fn shortened(label: &str, width: usize) -> String {
    label.chars().take(width).collect()
}

fn more(text: &mut String, more: usize) {
    if more > 0 {
        let _ = writeln!(text, "  ... and {more} more");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_listed_by_label() {
        let rows = vec![("topic 0".to_owned(), vec![("peace".to_owned(), 0.5), ("war".to_owned(), 0.25)])];
        let top = Top { variable: "beta".to_owned(), axis: "word".to_owned(), signed: false, rows, more: 2 };
        let expected = "beta: the largest entries over word\n  topic 0  peace  war\n  ... and 2 more\n";
        assert_eq!(text(&[Finding::Top(top)]), expected);
    }

    #[test]
    fn activities_are_shares_in_percent() {
        let rows = vec![("view a".to_owned(), vec![0.996, 0.004]), ("view bc".to_owned(), vec![0.5, 0.5])];
        let columns = vec!["0".to_owned(), "1".to_owned()];
        let variable = "w".to_owned();
        let activity =
            Activity { variable, axis: "factor".to_owned(), squares: true, columns, rows, more: 0 };
        let expected = "w: share of each factor in the sum of squares of a row, in percent (. is less than 0.5)\n\
                        \x20            0    1\n\
                        \x20 view a  @100    .\n\
                        \x20 view bc + 50 + 50\n";
        assert_eq!(text(&[Finding::Activity(activity)]), expected);
    }

    #[test]
    fn pictures_stand_beside_each_other() {
        let picture = |name: &str| (name.to_owned(), vec![0.0, 1.0, 1.0, 0.0]);
        let pictures = Pictures {
            variable: "h".to_owned(),
            height: 2,
            width: 2,
            pictures: vec![picture("k 0"), picture("k 1")],
        };
        let expected = "h: 2 by 2 pictures\n  k 0    k 1\n    @@     @@\n  @@     @@\n";
        assert_eq!(text(&[Finding::Pictures(pictures)]), expected);
    }
}
