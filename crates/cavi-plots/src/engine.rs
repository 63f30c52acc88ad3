//! The charts' program of the page, run without a browser.
//!
//! It runs in QuickJS, an interpreter that knows no files, no network and no processes. Once it is loaded, `eval` and the constructors of functions
//! are taken away: a specification is data, parsed as JSON, and its expressions are walked by Vega's own interpreter.

use rquickjs::{CatchResultExt, Context, Function, Runtime};
use serde_json::{Value, json};

use crate::PlotError;
use crate::font::Font;
use crate::theme::PADDING;

const BEGIN: &str = include_str!("../assets/begin.js");
const DRAW: &str = include_str!("../assets/draw.js");
/// No chart needs as much memory, in bytes.
const MEMORY: usize = 2 << 30;
/// What the parser of specifications recurses into, in bytes.
const STACK: usize = 4 << 20;

/// The interpreter with the program in it.
pub(crate) struct Engine {
    runtime: Runtime,
    context: Context,
}

/// A chart of Vega as SVG.
pub(crate) struct Drawn {
    /// What stands inside of its element `svg`.
    pub inside: String,
    /// Its size, in pixels.
    pub size: (f64, f64),
    /// Where the lines of its axes meet: its plotting area, from the left and from above, in pixels.
    pub origin: (f64, f64),
    /// The size of that area, in pixels.
    pub area: (f64, f64),
    /// How far the drawing really reaches to the right: beyond its size where the fit did not know the labels of the last ticks.
    pub end: f64,
}

impl Engine {
    /// Loads the program; texts are as wide as the font says.
    pub fn load(font: &'static Font) -> Result<Engine, PlotError> {
        let failed =
            |error: rquickjs::Error| PlotError::new(format!("the interpreter does not start: {error}"));
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime).map_err(failed)?;
        context.with(|context| {
            let globals = context.globals();
            let advance = Function::new(context.clone(), move |point: u32| font.advance(point));
            globals.set("advance", advance.map_err(failed)?).map_err(failed)?;
            let scripts = std::iter::once(BEGIN).chain(cavi_report::CHART_SCRIPTS).chain([DRAW]);
            for script in scripts {
                context
                    .eval::<(), _>(script)
                    .catch(&context)
                    .map_err(|error| PlotError::new(format!("the charts' program does not load: {error}")))?;
            }
            Ok(())
        })?;
        Ok(Engine { runtime, context })
    }

    /// Draws a specification of Vega-Lite; `rows` are its data of this name.
    pub fn draw(&self, spec: &Value, config: &Value, rows: Option<&Value>) -> Result<Drawn, PlotError> {
        let asked = json!({ "spec": spec, "config": config, "rows": rows }).to_string();
        let failed = |error: String| PlotError::new(format!("a chart cannot be drawn: {error}"));
        self.context.with(|context| {
            let draw: Function<'_> =
                context.globals().get("draw").catch(&context).map_err(|error| failed(error.to_string()))?;
            draw.call::<_, ()>((asked,)).catch(&context).map_err(|error| failed(error.to_string()))
        })?;
        while self.runtime.is_job_pending() {
            self.runtime.execute_pending_job().map_err(|error| failed(error.to_string()))?;
        }
        let answer = self.context.with(|context| {
            let globals = context.globals();
            match globals.get::<_, Option<String>>("drawn") {
                Ok(Some(own)) => Ok(own),
                _ => Err(failed(globals.get("failed").unwrap_or_else(|_| "it did not end".to_owned()))),
            }
        })?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| failed(error.to_string()))?;
        drawn(&answer).ok_or_else(|| failed("its answer is not a drawing".to_owned()))
    }
}

/// The parts of an answer of `draw.js`.
fn drawn(answer: &Value) -> Option<Drawn> {
    let svg = answer["svg"].as_str()?;
    let (open, rest) = svg.split_once('>')?;
    let inside = rest.strip_suffix("</svg>")?.to_owned();
    let attribute = |name: &str| {
        let (_, rest) = open.split_once(&format!(" {name}=\""))?;
        rest.split_once('"')?.0.parse::<f64>().ok()
    };
    let number = |key: &str| answer[key].as_f64();
    Some(Drawn {
        inside,
        size: (attribute("width")?, attribute("height")?),
        origin: (number("left")? + PADDING, number("top")? + PADDING),
        area: (number("width")?, number("height")?),
        end: number("end")? + PADDING,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_code() {
        let engine = Engine::load(Font::embedded()).expect("the program loads");
        engine.context.with(|context| {
            for ways in ["eval", "Function", "require", "fetch", "XMLHttpRequest", "process", "std", "os"] {
                let own: String = context.eval(format!("typeof globalThis.{ways}")).expect("it is asked");
                assert_eq!(own, "undefined", "{ways}");
            }
            for way in [
                "(() => 1).constructor('return 1')()",
                "(async () => 1).constructor('return 1')",
                "(function*() {}).constructor('return 1')",
            ] {
                // What is left is the constructor of objects, which makes none of it code.
                let kind: String = context
                    .eval(format!("try {{ typeof {way} }} catch (error) {{ 'refused' }}"))
                    .expect("it is asked");
                assert_ne!(kind, "function", "{way}");
                assert_ne!(kind, "number", "{way}");
            }
        });
    }

    #[test]
    fn a_chart_that_cannot_be_drawn_says_why() {
        let engine = Engine::load(Font::embedded()).expect("the program loads");
        let spec = json!({ "data": { "values": [] }, "mark": "nothing like it", "encoding": {} });
        let error = engine.draw(&spec, &json!({}), None).err().expect("there is no such mark");
        assert!(error.to_string().starts_with("a chart cannot be drawn: "), "{error}");
        // So does one that fails while it is drawn.
        let spec = json!({
            "data": { "values": [{ "a": 1 }] },
            "transform": [{ "calculate": "pow(datum.a", "as": "b" }],
            "mark": "point",
            "encoding": { "x": { "field": "b", "type": "quantitative" } },
        });
        assert!(engine.draw(&spec, &json!({}), None).is_err());
        // The next one is.
        let spec = json!({ "data": { "values": [{ "a": 1 }] }, "mark": "point", "encoding": { "x": { "field": "a", "type": "quantitative" } } });
        assert!(engine.draw(&spec, &json!({}), None).is_ok());
    }
}
