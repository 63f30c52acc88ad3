//! Progress of a fit on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use cavi::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arguments::ProgressMode;
use crate::terminal;

/// Time between two plain lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// What is shown of a fit while it runs.
pub enum Display {
    /// Nothing.
    None,
    /// A line now and then.
    Plain {
        /// When the last one was written.
        last: Option<Instant>,
        /// What came after it.
        unwritten: Option<String>,
    },
    /// A bar.
    Bar {
        /// The bar.
        bar: ProgressBar,
        /// The run that it shows, of several side by side, and when that was last heard of.
        shown: Option<(u64, Instant)>,
    },
}

impl Display {
    /// What the options ask for.
    pub fn new(mode: ProgressMode, quiet: bool) -> Display {
        match mode {
            _ if quiet || terminal::is_silent() => Display::None,
            ProgressMode::None => Display::None,
            ProgressMode::Auto if stderr().is_terminal() => Display::Bar { bar: bar(), shown: None },
            ProgressMode::Auto | ProgressMode::Plain => Display::Plain { last: None, unwritten: None },
        }
    }

    /// Shows the state after a sweep.
    pub fn show(&mut self, progress: &Progress) {
        match self {
            Display::None => {}
            Display::Plain { last, unwritten } => {
                let due = last.is_none_or(|last| last.elapsed() >= INTERVAL);
                if due || progress.sweep == 0 {
                    // The last line of what was before this one.
                    if let (0, Some(text)) = (progress.sweep, unwritten.take()) {
                        terminal::note(&text);
                    }
                    *last = Some(Instant::now());
                    *unwritten = None;
                    terminal::note(&line(progress));
                } else {
                    *unwritten = Some(line(progress));
                }
            }
            Display::Bar { bar, shown } => {
                let is_other =
                    |(run, last): &(u64, Instant)| *run != progress.restart && last.elapsed() < INTERVAL;
                if shown.as_ref().is_some_and(is_other) {
                    return;
                }
                *shown = Some((progress.restart, Instant::now()));
                bar.set_prefix(if progress.warming { "warm-up" } else { "sweep" });
                bar.set_length(progress.sweeps);
                bar.set_position(progress.sweep);
                bar.set_message(message(progress));
            }
        }
    }

    /// Takes the bar away, or writes the line of the last sweep.
    pub fn finish(&mut self) {
        match self {
            Display::None => {}
            Display::Plain { unwritten, .. } => {
                if let Some(text) = unwritten.take() {
                    terminal::note(&text);
                }
            }
            Display::Bar { bar, .. } => bar.finish_and_clear(),
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{prefix} {pos}/{len} {bar:8} {wide_msg}");
    if let Ok(style) = style {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// `sweep 120/1000  run 2/5  ELBO -12345.68  change 1.2e-5  < 25 s left`: less than the 80 columns of a terminal.
fn line(progress: &Progress) -> String {
    let what = if progress.warming { "warm-up" } else { "sweep" };
    format!("{what} {}/{}  {}\n", progress.sweep, progress.sweeps, message(progress))
}

fn message(progress: &Progress) -> String {
    let mut parts = Vec::new();
    if progress.restarts > 1 {
        parts.push(format!("run {}/{}", progress.restart + 1, progress.restarts));
    }
    if let Some(elbo) = progress.elbo {
        parts.push(format!("ELBO {elbo:.2}"));
    }
    if let Some(change) = progress.rel_change {
        parts.push(format!("change {change:.1e}"));
    }
    if progress.sweep > 0 && progress.seconds > 0.0 {
        let rate = progress.done as f64 / progress.seconds;
        let left = (progress.sweeps - progress.sweep) as f64 / rate;
        parts.push(format!("< {} left", duration(left)));
    }
    parts.join("  ")
}

/// Three digits that matter.
fn significant(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        _ if seconds < 1.0 => format!("{:.0} ms", seconds * 1000.0),
        0..60 => format!("{} s", significant(seconds)),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short() {
        let texts = [0.0123, 12.34, 59.9, 200.0, 7500.0].map(duration);
        assert_eq!(texts, ["12 ms", "12.3 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn a_line_says_where_the_fit_is() {
        let progress = Progress {
            restart: 1,
            restarts: 3,
            sweep: 20,
            sweeps: 100,
            warming: false,
            done: 20,
            elbo: Some(-12.5),
            rel_change: Some(2e-4),
            seconds: 2.0,
        };
        let expected = "sweep 20/100  run 2/3  ELBO -12.50  change 2.0e-4  < 8.00 s left\n";
        assert_eq!(line(&progress), expected);
        let long = Progress {
            restart: 9,
            restarts: 10,
            sweep: 200,
            sweeps: 1000,
            elbo: Some(-12_345_678.901_234),
            seconds: 200.0,
            done: 200,
            ..progress
        };
        let text = line(&long);
        assert!(text.ends_with("< 13 min 20 s left\n") && text.chars().count() <= 80, "{text}");
    }
}
