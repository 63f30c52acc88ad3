//! `cavi calibrate MODEL`: whether fits find what their data were drawn from.

use std::io::{IsTerminal, stderr};

use cavi::calibrate::{self, Asked, Calibration, Finding};
use cavi::{Error, Settings};
use cavi_files::write_text_atomically;

use super::{fit, simulate};
use crate::arguments::CalibrateArguments;
use crate::failure::Failure;
use crate::{interrupt, program, table, terminal};

/// Bars for the shares of ten places.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws, fits, and prints a table and what it means.
pub fn run(arguments: &CalibrateArguments) -> Result<(), Failure> {
    let inputs = fit::inputs(&arguments.inputs)?;
    let source = program::find(&arguments.model)?;
    let other = arguments.from.as_deref().map(program::find).transpose()?;
    let (inputs, of_other) = match &other {
        None => (inputs, None),
        Some(other) => {
            let [own, theirs] = [&source, other].map(|own| cavi::compile(&own.text, &own.name).compiled);
            match (own, theirs) {
                (Some(own), Some(theirs)) => (
                    calibrate::inputs_beside(&own, &theirs, &inputs),
                    Some(calibrate::inputs_beside(&theirs, &own, &inputs)),
                ),
                // What does not compile says so when it is opened.
                _ => (inputs.clone(), Some(inputs)),
            }
        }
    };
    let compiled = program::open(&source, &inputs, &[])?;
    let from = match (&other, &of_other) {
        (Some(other), Some(inputs)) => Some((program::open(other, inputs, &[])?, inputs)),
        _ => None,
    };
    let totals = arguments.total.iter().map(|text| simulate::total(text)).collect::<Result<_, Failure>>()?;
    let asked = Asked {
        fits: arguments.fits,
        draws: arguments.draws,
        seed: arguments.seed.unwrap_or(0),
        totals,
        settings: Settings {
            sweeps: arguments.sweeps,
            tolerance: arguments.tol,
            restarts: arguments.restarts,
            ..Settings::default()
        },
        threads: arguments.threads.unwrap_or_else(fit::all_threads),
        stop: Some(interrupt::flag()),
    };
    let is_shown = !arguments.quiet && !arguments.json && stderr().is_terminal();
    let show = |done: usize| {
        if is_shown {
            let end = if done == arguments.fits { "\r\x1b[K" } else { "" };
            terminal::note(&format!("\rfit {done} of {}{end}", arguments.fits));
        }
    };
    let found = calibrate::calibrate(
        &compiled,
        &inputs,
        from.as_ref().map(|(own, inputs)| (own, *inputs)),
        &asked,
        &show,
    )?;
    let json = format!("{:#}\n", found.json());
    // What took long to find is shown, though the file cannot be written.
    terminal::print(
        if arguments.json { json.clone() } else { text(&found, arguments.from.as_deref()) }.as_str(),
    )?;
    if let Some(file) = &arguments.out {
        write_text_atomically(file, &json).map_err(Error::from)?;
    }
    Ok(())
}

/// A line for each latent, then what it means.
fn text(found: &Calibration, from: Option<&str>) -> String {
    let mut rows = vec![
        ["latent", "elements", "places", "mean", "90 % holds", "p shift", "p width", ""]
            .map(str::to_owned)
            .to_vec(),
    ];
    for own in &found.latents {
        rows.push(vec![
            own.name.clone(),
            own.elements.to_string(),
            bars(&own.histogram),
            format!("{:.3}", own.mean),
            format!("{:.1} %", 100.0 * own.coverage),
            p_value(own.p_shift),
            p_value(own.p_width),
            own.finding.map_or("", Finding::word).to_owned(),
        ]);
    }
    let drawn = from.map_or_else(String::new, |other| format!(" of `{other}`"));
    let mut text = format!(
        "{} fits to data drawn from the prior{drawn}: where the truth lies among draws of q (were q the posterior: level, mean 0.5)\n\n{}\n",
        found.fits,
        table::aligned(&rows)
    );
    for name in &found.assumed {
        text += &format!(
            "each row of `{name}` had {} units, since nothing says its total; `--total {name}=N` does\n",
            cavi::simulate::TOTAL
        );
    }
    for (name, reason) in &found.left_out {
        text += &format!("`{name}` is left out: {reason}\n");
    }
    if found.failed > 0 {
        text += &format!("{} fits failed, and are left out\n", found.failed);
    }
    if found.unconverged > 0 {
        text += &format!("{} fits had not converged: `--sweeps N` gives them more\n", found.unconverged);
    }
    let verdicts = found.verdicts();
    if verdicts.is_empty() {
        text += &format!("nothing is off by more than {} fits show by chance\n", found.fits);
    }
    verdicts.iter().for_each(|own| text += &format!("{own}\n"));
    text
}

/// A p-value in few digits.
fn p_value(p: f64) -> String {
    if p < 0.0005 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// Shares of tenths as bars; a level one fills half of the height.
fn bars(histogram: &[f64; 10]) -> String {
    let bar = |share: &f64| BARS[((share * 40.0).round() as usize).min(8)];
    histogram.iter().map(bar).collect()
}
