//! The options of charts as files.

use clap::{Args, ValueEnum};

/// What `--help` says of plots.
const PLOTS: &str = "\
Write the charts of `cavi report` as files for papers, one for each chart, into DIR/plots: svg (lines and text), png (300 dots in an
inch), pdf (lines and text, with the font in it); several as `--plots svg,pdf`. A file is named after the variable and its chart,
`beta-bars.svg`. Where small charts do not fit on a page, there are several files, with numbers.";

/// Charts as files.
#[derive(Args, Clone, Debug, Default)]
pub struct PlotArguments {
    /// Write the charts as files for papers: DIR/plots/NAME.svg, .png or .pdf
    #[arg(long, value_enum, value_name = "svg|png|pdf", value_delimiter = ',', long_help = PLOTS)]
    pub plots: Vec<PlotKind>,
    /// How wide a plot is, in millimetres: 85 is one column of a journal, 174 are two [default: 85]
    #[arg(long, value_name = "MM", value_parser = plots_width, requires = "plots", allow_hyphen_values = true)]
    pub plots_width: Option<f64>,
}

impl PlotArguments {
    /// Whether there are to be plots.
    pub fn asked(&self) -> bool {
        !self.plots.is_empty()
    }

    /// Each kind once.
    pub fn kinds(&self) -> Vec<cavi_plots::Kind> {
        let of = |own: &PlotKind| match own {
            PlotKind::Svg => cavi_plots::Kind::Svg,
            PlotKind::Png => cavi_plots::Kind::Png,
            PlotKind::Pdf => cavi_plots::Kind::Pdf,
        };
        let mut kinds: Vec<cavi_plots::Kind> = self.plots.iter().map(of).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// The width of a plot in millimetres.
    pub fn width(&self) -> f64 {
        self.plots_width.unwrap_or(cavi_plots::ONE_COLUMN)
    }
}

/// What a plot is written as.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// Lines and text.
    Svg,
    /// Pixels.
    Png,
    /// Lines and text, with the font.
    Pdf,
}

fn plots_width(text: &str) -> Result<f64, String> {
    let (least, most) = (cavi_plots::WIDTHS.start(), cavi_plots::WIDTHS.end());
    match text.parse::<f64>() {
        Ok(own) if cavi_plots::WIDTHS.contains(&own) => Ok(own),
        _ => Err(format!("expected a width in millimetres from {least} to {most}")),
    }
}
