//! The page of a fit that is running: what is known so far, in two regions that are sent again when they change.
//!
//! The first region has the state in sentences and the trace, and changes with every sweep; the second has charts of latents, which are made
//! when somebody has looked at them. Charts are those of the page about a finished fit.

use cavi::Compiled;
use cavi::summary::Variable;
use serde_json::{Map, Value, json};

use crate::charts::trace;
use crate::fitted::{Fitted, Trace};
use crate::html::{count, escape, identifier, json_in_script};
use crate::latents::figures;
use crate::page::{Body, Document, order};

/// The trace of a run is drawn with so many points.
const MOST_POINTS: usize = 250;
/// So many runs have a trace: the last ones.
const MOST_RUNS: usize = 12;
/// Latents of more numbers than these have their charts at the end.
const MOST_NUMBERS: usize = 1_000_000;
/// The charts of latents have so many characters.
const MOST_OF_CHARTS: usize = 1_000_000;
/// So many charts of latents are shown.
const MOST_FIGURES: usize = 12;
/// The charts of latents are numbered from here.
const FIRST_OF_LATENTS: usize = 10;

/// The bound of a run so far.
#[derive(Clone, Debug)]
pub struct RunSoFar {
    /// Which run, from 0.
    pub restart: u64,
    /// Sweeps with their bounds.
    pub points: Vec<(f64, f64)>,
}

/// A part of the page, with the drawings of its charts by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Region {
    html: String,
    drawings: Map<String, Value>,
}

impl Region {
    fn of(mut body: Body) -> Region {
        body.close();
        let numbered = body.drawings.into_iter().enumerate();
        let drawings = numbered.map(|(place, own)| ((body.first + place).to_string(), own)).collect();
        Region { html: body.html, drawings }
    }

    fn json(&self) -> Value {
        json!({ "html": self.html, "drawings": self.drawings })
    }
}

/// What is known of a fit so far, in sentences, and its trace; of several runs the last ones.
pub fn state(sentences: &[String], runs: &[RunSoFar]) -> Region {
    let mut body = Body::default();
    body.section("found", "The fit so far");
    let sentences: Vec<String> = sentences.iter().map(|own| escape(own)).collect();
    body.html += &format!("<p class=\"found\">{}</p>\n", sentences.join(" "));
    let last = &runs[runs.len().saturating_sub(MOST_RUNS)..];
    let trace = |own: &RunSoFar| Trace {
        name: if runs.len() > 1 { format!("run {}", own.restart + 1) } else { "the run".to_owned() },
        points: thinned(&own.points),
    };
    let mut figure = trace::figure(&last.iter().map(trace).collect::<Vec<Trace>>());
    if let Some(figure) = &mut figure {
        if last.iter().any(|own| own.points.len() > MOST_POINTS) {
            figure.note += &format!(" Of a run {MOST_POINTS} evenly spaced sweeps are shown.");
        }
        if last.len() < runs.len() {
            figure.note += &format!(" The last {MOST_RUNS} of {} runs are shown.", count(runs.len()));
        }
    }
    figure.into_iter().for_each(|own| body.figure(own));
    Region::of(body)
}

/// Charts of latents as they stand, those of `report` lines first; `sentence` says of when they are.
pub fn latents(compiled: &Compiled, variables: Vec<Variable>, sentence: &str) -> Region {
    let fitted = Fitted { compiled: compiled.clone(), summary: Value::Null, variables, traces: Vec::new() };
    let mut body = Body { first: FIRST_OF_LATENTS, ..Body::default() };
    body.section("latents", "Latents so far");
    body.html += &format!("<p class=\"note\">{}</p>\n", escape(sentence));
    let mut left_out = Vec::new();
    for place in order(&fitted) {
        let variable = &fitted.variables[place];
        if variable.values.len() > MOST_NUMBERS || body.drawings.len() >= MOST_FIGURES {
            left_out.push(variable.name.as_str());
            continue;
        }
        let axes: Vec<String> =
            variable.axes.iter().map(|(axis, labels)| format!("{axis} {}", count(labels.len()))).collect();
        body.html += &format!(
            "<h3 id=\"live-{}\">{}</h3>\n<p class=\"axes\">{}</p>\n",
            identifier(&variable.name),
            escape(&variable.name),
            escape(&axes.join(" x "))
        );
        for figure in figures(&fitted, variable, &[]) {
            let size = figure.drawing.to_string().len();
            if body.drawings.len() < MOST_FIGURES && body.size + size <= MOST_OF_CHARTS {
                body.figure(figure);
            }
        }
    }
    if !left_out.is_empty() {
        body.html += &format!(
            "<p class=\"more\">Shown by <code>cavi report</code> when the fit has ended: {}.</p>\n",
            escape(&left_out.join(", "))
        );
    }
    Region::of(body)
}

/// What stands in the place of the charts of latents while there are none.
pub fn no_latents(sentence: &str) -> Region {
    Region { html: format!("<p class=\"note\">{}</p>\n", escape(sentence)), drawings: Map::new() }
}

/// The whole page, to be served at a path whose `data` gives [`data`]. `version` is that of the latents.
pub fn page(title: &str, state: &Region, latents: &Region, version: u64) -> String {
    let main = format!(
        "<div id=\"live-state\">\n{}</div>\n<div id=\"live-latents\">\n{}</div>\n\
         <noscript><p class=\"note\">Without JavaScript this page stays as it is: load it again for a newer state.</p></noscript>\n",
        state.html, latents.html
    );
    let mut drawings = state.drawings.clone();
    drawings.extend(latents.drawings.clone());
    Document {
        title,
        attributes: &format!(" data-watch=\"{version}\""),
        tools: " <button type=\"button\" id=\"pause\" aria-pressed=\"false\">Pause</button>",
        above: "<p id=\"live\" role=\"status\">The page follows the fit.</p>\n",
        links: "",
        main: &main,
        drawings: &json_in_script(&Value::Object(drawings)),
        connects: true,
    }
    .html()
}

/// What the page asks for again and again, as JSON: the state, the latents where they are newer than those that it has, and how the fit ended.
pub fn data(state: &Region, latents: Option<(&Region, u64)>, ended: Option<&str>) -> String {
    let latents = latents.map(|(region, version)| {
        let mut json = region.json();
        json["version"] = version.into();
        json
    });
    json!({ "state": state.json(), "latents": latents, "ended": ended }).to_string()
}

/// Evenly spaced points, the first and the last among them.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    match points.len() <= MOST_POINTS {
        true => points.to_vec(),
        false => (0..MOST_POINTS).map(|own| points[own * (points.len() - 1) / (MOST_POINTS - 1)]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_thinned_and_says_so() {
        let points: Vec<(f64, f64)> = (0..1000).map(|own| (f64::from(own), f64::from(own).sqrt())).collect();
        let thin = thinned(&points);
        assert_eq!((thin.len(), thin[0].0, thin[MOST_POINTS - 1].0), (MOST_POINTS, 0.0, 999.0));
        let region = state(&["<b>&".to_owned()], &[RunSoFar { restart: 0, points }]);
        assert!(
            region.html.contains("&lt;b&gt;&amp;") && region.html.contains("evenly spaced"),
            "{}",
            region.html
        );
        assert!(region.html.ends_with("</section>\n") && region.drawings.contains_key("0"));
    }

    #[test]
    fn what_a_page_has_is_not_sent_again() {
        let region = no_latents("none");
        let sent = |latents| -> Value {
            serde_json::from_str(&data(&region, latents, Some("done"))).expect("it is JSON")
        };
        assert!(sent(None)["latents"].is_null());
        assert_eq!(
            (sent(Some((&region, 3)))["latents"]["version"].as_u64(), &sent(None)["ended"]),
            (Some(3), &json!("done"))
        );
    }
}
