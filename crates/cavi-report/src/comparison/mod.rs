//! Fits beside each other on one page: what they are, what they say of the same held-out entries, how many components to take, which component
//! of one is which of another, and their bounds.
//!
//! What is compared follows from the fits: held-out entries where data and entries are the same, numbers of components where fits of one
//! program differ in them, components where they have labels in common. What cannot be compared is said, with the reason.

mod choosing;
mod heldout;
mod matched;
mod sides;
mod told;

use std::path::{Path, PathBuf};

use cavi::Error;
use cavi::bind::DataError;

use crate::charts::trace;
use crate::figure::Figure;
use crate::html::escape;
use crate::page::{Body, diagram};
use heldout::HeldOut;
use matched::Matched;
use sides::Side;

/// So many fits are compared on a page.
const MOST: usize = 60;

/// What a comparison is asked for.
#[derive(Clone, Debug)]
pub struct ComparisonOptions {
    /// The title; else that it is a comparison of so many fits.
    pub title: Option<String>,
    /// On how many threads held-out entries are scored; the page is the same for any number.
    pub threads: usize,
}

/// The fits in a directory that holds no fit itself but several, as `cavi choose --out` writes them, in the order of the numbers in their
/// names; `None` for a directory that holds a fit, or none.
pub fn fits_in(directory: &Path) -> Option<Vec<PathBuf>> {
    if directory.join("summary.json").is_file() {
        return None;
    }
    let entries = std::fs::read_dir(directory).ok()?;
    let mut found: Vec<PathBuf> = entries.filter_map(|own| Some(own.ok()?.path())).collect();
    found.retain(|own| own.join("summary.json").is_file());
    found.sort_by_cached_key(|own| sides::natural(&own.to_string_lossy()));
    (!found.is_empty()).then_some(found)
}

/// A page about several fits, as HTML that needs nothing beside it. The data of fits of which something was held out are read again, where
/// they are unchanged.
///
/// # Errors
/// Fewer than two directories, or more than 60; one that holds no fit, or whose files cannot be read.
pub fn comparison(directories: &[&Path], options: &ComparisonOptions) -> Result<String, Error> {
    let compared = Compared::of(directories, options.threads)?;
    let mut body = Body::default();
    body.section("found", "What was compared");
    let sentences: Vec<String> = compared.sentences().iter().map(|own| escape(own)).collect();
    body.html += &format!("<p class=\"found\">{}</p>\n", sentences.join(" "));
    body.html += &sides::table(&compared.sides).html("The fits");
    body.section("heldout", "Held-out scores");
    for reason in &compared.heldout.reasons {
        body.html += &format!("<p class=\"note\">{}</p>\n", escape(reason));
    }
    let mut figures = compared.heldout.figures(&compared.sides);
    figures.into_iter().for_each(|own| body.figure(own));
    if let Some(choice) = &compared.choice {
        body.section("choosing", &format!("Choosing {}", choice.names()));
        if let Some(reason) = &choice.reason {
            body.html += &format!("<p class=\"found\">{}</p>\n", escape(reason));
        }
        choice.figures().into_iter().for_each(|own| body.figure(own));
    }
    body.section("components", "Matched components");
    for reason in &compared.matched.reasons {
        body.html += &format!("<p class=\"note\">{}</p>\n", escape(reason));
    }
    figures = compared.matched.figures(&compared.sides);
    figures.into_iter().for_each(|own| body.figure(own));
    body.section("run", "How the fits ran");
    compared.bounds().into_iter().for_each(|own| body.figure(own));
    let differing = sides::settings(&compared.sides);
    if differing.rows.is_empty() {
        body.html += "<p class=\"note\">The settings of the fits are the same.</p>\n";
    } else {
        body.html += &differing.html("Settings that differ");
    }
    programs(&mut body, &compared.sides);
    let title =
        options.title.clone().unwrap_or_else(|| format!("A comparison of {} fits", compared.sides.len()));
    Ok(body.document(&title))
}

/// The charts of a comparison, in the order of its page, as a library that draws them elsewhere takes them.
///
/// # Errors
/// As [`comparison`].
pub fn comparison_charts(directories: &[&Path], threads: usize) -> Result<Vec<Figure>, Error> {
    let compared = Compared::of(directories, threads)?;
    let mut all = compared.heldout.figures(&compared.sides);
    all.extend(compared.choice.iter().flat_map(choosing::Choosing::figures));
    all.extend(compared.matched.figures(&compared.sides));
    all.extend(compared.bounds());
    Ok(all)
}

/// Everything that is said of several fits.
struct Compared {
    sides: Vec<Side>,
    heldout: HeldOut,
    choice: Option<choosing::Choosing>,
    matched: Matched,
}

impl Compared {
    fn of(directories: &[&Path], threads: usize) -> Result<Compared, Error> {
        let count = directories.len();
        if !(2..=MOST).contains(&count) {
            let message = format!("a comparison takes from 2 to {MOST} fits; found {count}");
            return Err(Error::Usage(vec![DataError::new(message)]));
        }
        let sides = Side::open_all(directories)?;
        let heldout = HeldOut::of(&sides, threads);
        let choice = choosing::Choosing::of(&sides, &heldout)?;
        // Others are matched with the fit that predicts best.
        let reference = heldout.best().unwrap_or(0);
        let matched = Matched::of(&sides, reference);
        Ok(Compared { sides, heldout, choice, matched })
    }

    /// The traces over each other, and where the fits ended.
    fn bounds(&self) -> Vec<Figure> {
        let traces: Vec<_> = self.sides.iter().filter_map(|own| own.trace.clone()).collect();
        let mut figure = trace::figure(&traces);
        if let Some(figure) = &mut figure {
            figure.name = "bounds".to_owned();
            figure.title = "The bounds from sweep to sweep, over each other".to_owned();
            figure.note += " Of each fit the run that was kept.";
            if !sides::same_data(&self.sides) || !sides::same_heldout(&self.sides) {
                figure.note += " Bounds of fits to other data, or with other held-out entries, are of other quantities: which is higher says nothing.";
            }
        }
        figure.into_iter().collect()
    }
}

/// Each program once, with its diagram.
fn programs(body: &mut Body, sides: &[Side]) {
    let distinct = sides::programs(sides);
    body.section("model", if distinct.len() == 1 { "The program" } else { "The programs" });
    for places in &distinct {
        let side = &sides[places[0]];
        if distinct.len() > 1 {
            let names: Vec<&str> = places.iter().map(|own| sides[*own].name.as_str()).collect();
            body.html += &format!("<h3>{} of {}</h3>\n", escape(side.program()), escape(&names.join(", ")));
        }
        let label = format!("Plate diagram of {}", side.name);
        body.html += &format!(
            "<pre class=\"program\" tabindex=\"0\"><code>{}</code></pre>\n{}",
            escape(&side.stored.text),
            diagram(&side.compiled, &label)
        );
    }
    body.html += "<p class=\"note\">Boxes are plates, shaded nodes are data; squares are the distributions. \
        <code>cavi report DIR</code> of one fit has the derivation, and charts of all latents.</p>\n";
}
