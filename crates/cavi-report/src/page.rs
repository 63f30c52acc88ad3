//! The page: its parts in their order, and what holds them together.

use std::path::Path;

use cavi::bind::DataError;
use cavi::summary::Variable;
use cavi::{Compiled, Error};
use serde_json::{Value, json};

use crate::by::{Colouring, Column};
use crate::charts::heat::{self, Matrix};
use crate::charts::{bars, trace};
use crate::derivation::derivation_html;
use crate::figure::{Figure, Table};
use crate::fitted::{Fitted, base_name};
use crate::found::sentences;
use crate::html::{count, escape, identifier, json_in_script};
use crate::latents::{coloured_points, figures, single_numbers};
use crate::policy::policy;
use crate::shares::{Shares, shares};

// Statics, so that the binary holds each once.
static VEGA: &str = include_str!("../assets/vega.min.js");
static VEGA_LITE: &str = include_str!("../assets/vega-lite.min.js");
static INTERPRETER: &str = include_str!("../assets/vega-interpreter.js");
/// What draws the charts of Vega-Lite, in the order in which it is loaded: Vega, Vega-Lite, and the interpreter of their expressions.
pub static CHART_SCRIPTS: [&str; 3] = [VEGA, VEGA_LITE, INTERPRETER];
const SCRIPT: &str = include_str!("../assets/page.js");
const STYLE: &str = include_str!("../assets/page.css");
const LICENCES: [(&str, &str); 2] = [
    ("Vega and its interpreter", include_str!("../assets/LICENSE.vega")),
    ("Vega-Lite", include_str!("../assets/LICENSE.vega-lite")),
];

/// A page has charts of so many characters; those that would come behind them are named, not drawn.
const MOST_OF_CHARTS: usize = 4_200_000;

/// So many latents have charts.
const MOST_LATENTS: usize = 40;

/// What a page is asked for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The title; else the name of the program.
    pub title: Option<String>,
    /// What rows are coloured by.
    pub by: Vec<Colouring>,
}

/// A page about a fit, as HTML that needs nothing beside it.
///
/// # Errors
/// A directory that holds no fit; a colouring whose file cannot be read, or that fits no axis of a latent.
pub fn page(directory: &Path, options: &Options) -> Result<String, Error> {
    let fitted = Fitted::open(directory)?;
    let by = columns(&options.by, &fitted)?;
    let shares = shares(&fitted);
    let mut body = Body::default();
    body.found(&fitted, &shares);
    body.latents(&fitted, &by);
    body.how(&fitted);
    body.model(&fitted);
    let name = fitted.summary["model"].as_str().unwrap_or(&fitted.compiled.model.name);
    let title = options.title.clone().unwrap_or_else(|| format!("A fit of {name}"));
    Ok(body.document(&title))
}

/// The charts of a page, in its order, as a library that draws them elsewhere takes them: all of them, however large the page would be.
///
/// # Errors
/// As [`page`].
pub fn charts(directory: &Path, by: &[Colouring]) -> Result<Vec<Figure>, Error> {
    let fitted = Fitted::open(directory)?;
    let by = columns(by, &fitted)?;
    let mut all: Vec<Figure> = shares(&fitted).iter().map(held).collect();
    for place in order(&fitted) {
        all.extend(figures(&fitted, &fitted.variables[place], &by));
    }
    all.extend(trace::figure(&fitted.traces));
    all.extend(trace::restarts(&fitted.summary));
    Ok(all)
}

/// The columns that colour rows, each of them along an axis of a latent.
fn columns(by: &[Colouring], fitted: &Fitted) -> Result<Vec<Column>, Error> {
    let by = by.iter().map(Column::read).collect::<Result<Vec<Column>, Error>>()?;
    by.iter().try_for_each(|own| fits_an_axis(own, fitted))?;
    Ok(by)
}

/// The latents with axes, those of `report` lines first, by their places among all.
pub(crate) fn order(fitted: &Fitted) -> Vec<usize> {
    let symbols = &fitted.compiled.model.symbols;
    let reported: Vec<&str> = fitted
        .compiled
        .model
        .report
        .iter()
        .filter_map(|line| match line {
            cavi_model::ReportSpec::Top { variable, .. }
            | cavi_model::ReportSpec::Heat(variable)
            | cavi_model::ReportSpec::Bars { variable, .. }
            | cavi_model::ReportSpec::Curve { variable, .. }
            | cavi_model::ReportSpec::Intervals(variable)
            | cavi_model::ReportSpec::Compare { variable, .. } => {
                Some(symbols.array(*variable).name.as_str())
            }
            cavi_model::ReportSpec::Image { .. } => None,
        })
        .collect();
    let mut order: Vec<usize> =
        (0..fitted.variables.len()).filter(|own| !fitted.variables[*own].axes.is_empty()).collect();
    order.sort_by_key(|own| !reported.contains(&base_name(&fitted.variables[*own])));
    order
}

/// Refuses a colouring that is of other things than a latent has along its axes, or along an axis of which nothing is drawn in colours.
fn fits_an_axis(column: &Column, fitted: &Fitted) -> Result<(), Error> {
    let is_coloured = |own: &Variable| {
        coloured_points(fitted, own).is_some_and(|(_, labels)| column.along(labels).is_some())
    };
    if fitted.variables.iter().any(is_coloured) {
        return Ok(());
    }
    // A table of rows of which one has two colours.
    let points = fitted.variables.iter().filter_map(|own| coloured_points(fitted, own));
    for (_, labels) in points {
        column.refuse_ambiguous(labels)?;
    }
    let points: Vec<&str> =
        fitted.variables.iter().filter_map(|own| Some(coloured_points(fitted, own)?.0)).collect();
    let mut axes: Vec<(&str, usize)> = Vec::new();
    let all = fitted.variables.iter().flat_map(|own| &own.axes);
    for (axis, labels) in all.filter(|(axis, _)| !fitted.is_of_components(axis)) {
        if column.along(labels).is_some() && !points.contains(&axis.as_str()) {
            let message = format!(
                "`--by {}`: the table is of {axis}, and no latent of the fit has points along it that could be coloured",
                column.name
            );
            let mut known = points.clone();
            known.dedup();
            let known = if known.is_empty() { "no axis of this fit".to_owned() } else { known.join(", ") };
            let possible = format!("axes of latents with another axis of several components: {known}");
            return Err(DataError::new(message).possible(possible).into());
        }
        if !axes.iter().any(|(own, _)| own == axis) {
            axes.push((axis, labels.len()));
        }
    }
    let sizes: Vec<String> = axes.iter().map(|(axis, size)| format!("{axis} {}", count(*size))).collect();
    let message = format!(
        "`--by {}`: the table has no labels of an axis along which data lie, nor has one without labels as many positions as it has rows",
        column.name
    );
    Err(DataError::new(message).possible(format!("axes: {}", sizes.join(", "))).into())
}

/// The page as it grows.
#[derive(Default)]
pub(crate) struct Body {
    pub html: String,
    pub contents: Vec<(String, String)>,
    pub drawings: Vec<Value>,
    /// The number of the first drawing.
    pub first: usize,
    /// The characters of the drawings.
    pub size: usize,
}

impl Body {
    /// Begins a part of the page.
    pub fn section(&mut self, id: &str, title: &str) {
        if !self.contents.is_empty() {
            self.html += "</section>\n";
        }
        self.contents.push((id.to_owned(), title.to_owned()));
        self.html += &format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{}</h2>\n",
            escape(title)
        );
    }

    /// A chart with its table, as long as there is room for it.
    pub fn figure(&mut self, figure: Figure) {
        let size = figure.drawing.to_string().len();
        if self.size + size > MOST_OF_CHARTS {
            let title = escape(&figure.title);
            self.html +=
                &format!("<p class=\"more\">{title}: not drawn, since the page is large already.</p>\n");
            return;
        }
        self.size += size;
        self.html += &figure.html(self.first + self.drawings.len());
        self.drawings.push(figure.drawing);
    }

    /// What was found, and how much each component holds.
    fn found(&mut self, fitted: &Fitted, all: &[Shares]) {
        self.section("found", "What was found");
        let sentences: Vec<String> = sentences(fitted, all).iter().map(|own| escape(own)).collect();
        self.html += &format!("<p class=\"found\">{}</p>\n", sentences.join(" "));
        for shares in all {
            self.figure(held(shares));
        }
    }

    /// The latents: those of `report` lines first.
    fn latents(&mut self, fitted: &Fitted, by: &[Column]) {
        let order = order(fitted);
        for place in order.iter().take(MOST_LATENTS) {
            let variable = &fitted.variables[*place];
            let axes: Vec<String> = variable
                .axes
                .iter()
                .map(|(axis, labels)| format!("{axis} {}", count(labels.len())))
                .collect();
            self.section(&format!("latent-{place}-{}", identifier(&variable.name)), &variable.name);
            self.html += &format!("<p class=\"axes\">{}</p>\n", escape(&axes.join(" x ")));
            let figures = figures(fitted, variable, by);
            if figures.is_empty() && !variable.values.is_empty() {
                self.html +=
                    "<p class=\"more\">Its means are not finite under q, and nothing is drawn.</p>\n";
            }
            figures.into_iter().for_each(|own| self.figure(own));
        }
        if let Some(table) = single_numbers(fitted) {
            self.section("numbers", "Single numbers");
            self.html += &table.html("Latents of one number, with an interval of 90 % where q has one");
        }
        if order.len() > MOST_LATENTS {
            self.html += &format!(
                "<p class=\"more\">{} more latents are not on this page; <code>cavi export</code> writes all.</p>\n",
                order.len() - MOST_LATENTS
            );
        }
    }

    /// How the fit ran.
    fn how(&mut self, fitted: &Fitted) {
        self.section("run", "How the fit ran");
        for figure in trace::figure(&fitted.traces).into_iter().chain(trace::restarts(&fitted.summary)) {
            self.figure(figure);
        }
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let empty = |value: &Value| match value {
            Value::Null => true,
            Value::Array(all) => all.is_empty(),
            Value::Object(all) => all.is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for key in ["version", "model_hash", "seed", "sweeps", "converged", "seconds", "peak_bytes"] {
            rows.push(vec![key.to_owned(), shown(&fitted.summary[key])]);
        }
        let settings = fitted.summary["settings"].as_object();
        for (key, value) in settings.into_iter().flatten().filter(|(_, value)| !empty(value)) {
            rows.push(vec![key.clone(), shown(value)]);
        }
        let table = Table::new(&["setting", "value"], 2, rows);
        self.html += &format!(
            "<details><summary>Settings</summary>\n{}</details>\n",
            table.html("Settings of the fit")
        );
    }

    /// The text of the program, its diagram and its derivation.
    fn model(&mut self, fitted: &Fitted) {
        let compiled = &fitted.compiled;
        self.section("model", "The model");
        let text = escape(&compiled.source.text);
        self.html += &format!(
            "<pre class=\"program\" tabindex=\"0\"><code>{text}</code></pre>\n{}",
            diagram(compiled, "Plate diagram")
        );
        self.html +=
            "<p class=\"note\">Boxes are plates, shaded nodes are data; squares are the distributions.</p>\n";
        self.html += &format!(
            "<details id=\"derivation\"><summary>The derivation: updates and bound</summary>\n<div class=\"derivation\">\n{}</div></details>\n",
            derivation_html(compiled)
        );
    }

    /// Ends the last part of the page.
    pub fn close(&mut self) {
        if !self.contents.is_empty() {
            self.html += "</section>\n";
        }
    }

    /// The whole document.
    pub fn document(mut self, title: &str) -> String {
        self.close();
        let links = self
            .contents
            .iter()
            .map(|(id, name)| format!("<li><a href=\"#{id}\">{}</a></li>\n", escape(name)));
        let links = format!("<nav aria-label=\"Contents\"><ul>\n{}</ul></nav>\n", links.collect::<String>());
        Document {
            title,
            attributes: "",
            tools: "",
            above: "",
            links: &links,
            main: &self.html,
            drawings: &json_in_script(&json!(self.drawings)),
            connects: false,
        }
        .html()
    }
}

/// What a document is put together from; all but the title is markup.
pub(crate) struct Document<'a> {
    /// The title, as text.
    pub title: &'a str,
    /// Attributes of the whole.
    pub attributes: &'a str,
    /// Buttons beside the search.
    pub tools: &'a str,
    /// What stands below the title.
    pub above: &'a str,
    /// The contents.
    pub links: &'a str,
    /// What is shown.
    pub main: &'a str,
    /// The drawings of its charts by their numbers, as JSON.
    pub drawings: &'a str,
    /// Whether it may ask the server that it came from.
    pub connects: bool,
}

impl Document<'_> {
    /// The document with its scripts, its style and the policy that allows these alone.
    pub fn html(&self) -> String {
        let Document { title, attributes, tools, above, links, main, drawings, connects } = self;
        let own = format!("{INTERPRETER}\n{SCRIPT}");
        let scripts = [VEGA, VEGA_LITE, own.as_str()];
        let policy = policy(&scripts, STYLE, *connects);
        let title = escape(title);
        let licences: String = LICENCES
            .iter()
            .map(|(name, text)| format!("<h3>{name}</h3>\n<pre tabindex=\"0\">{}</pre>\n", escape(text)))
            .collect();
        let scripts: String = scripts.iter().map(|own| format!("<script>{own}</script>\n")).collect();
        let loads = match connects {
            true => "It asks the fit for its state, and loads nothing else.",
            false => "This page holds everything that it shows; it loads nothing.",
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"{attributes}>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#found\">To the findings</a>\n\
             <header>\n<h1>{title}</h1>\n{above}<div class=\"tools\" hidden>\
             <label>Search the tables <input type=\"search\" id=\"search\"></label> \
             <button type=\"button\" id=\"theme\">Dark or light</button>{tools}</div>\n\
             <div id=\"hits\" role=\"status\"></div>\n</header>\n\
             {links}<main>\n{main}</main>\n\
             <footer>\n<p>Written by Cavi {version}. {loads}</p>\n\
             <details><summary>Licences of what draws the charts</summary>\n{licences}</details>\n</footer>\n\
             <script type=\"application/json\" id=\"drawings\">{drawings}</script>\n{scripts}</body>\n</html>\n",
            version = env!("CARGO_PKG_VERSION"),
        )
    }
}

/// The plate diagram of a program, in a box that scrolls, with this name.
pub(crate) fn diagram(compiled: &Compiled, name: &str) -> String {
    // Inside of HTML a drawing needs no namespace.
    let name = escape(name);
    let own = format!(" role=\"img\" aria-label=\"{name}\"");
    let svg = compiled.svg().replacen(" xmlns=\"http://www.w3.org/2000/svg\"", &own, 1);
    format!("<div class=\"diagram\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">{svg}</div>\n")
}

/// How much of a fit each component holds: a list, or of several groups a heat map.
fn held(shares: &Shares) -> Figure {
    let Shares { axis, name, labels, variables, what, groups, total } = shares;
    let title = format!("How much each {axis} holds");
    let of = variables.join(" x ");
    if let [_] = groups.as_slice() {
        let note = format!("The share of each {axis} in the {what} of {of}, in percent.");
        return bars::shares(name, (title, note), axis, labels, total);
    }
    let names: Vec<String> = groups.iter().map(|(name, _)| name.clone()).collect();
    let values = groups.iter().flat_map(|(_, own)| own.iter().map(|share| 100.0 * share)).collect();
    let matrix = Matrix { rows: ("group", &names), columns: (axis, labels), values, ordered: true };
    heat::figure(
        name,
        title,
        &format!("The share of each {axis} in the {what} of {of} of each group, in percent."),
        &matrix,
    )
}
