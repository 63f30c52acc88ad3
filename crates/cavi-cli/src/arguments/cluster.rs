//! Processes and machines for which `cavi plan` predicts a sweep.

use clap::Args;

use super::threads;

/// `cavi plan --ranks`
#[derive(Args, Clone, Debug)]
pub struct ClusterArguments {
    /// Predict a sweep over so many processes of MPI, in place of the plan; --shards says which axis is cut, else the largest that can be
    #[arg(long, value_name = "R", value_parser = threads, conflicts_with = "derive", allow_hyphen_values = true)]
    pub ranks: Option<usize>,
    /// On so many machines, evenly
    #[arg(long, value_name = "N", value_parser = threads, default_value = "1", requires = "ranks", allow_hyphen_values = true)]
    pub nodes: usize,
    /// What the link of a machine carries each way in a second: bits (25Gb) or bytes (3GB)
    #[arg(long, value_name = "RATE", value_parser = bandwidth, default_value = "25Gb", requires = "ranks", allow_hyphen_values = true)]
    pub bandwidth: f64,
    /// How long a message between machines takes: 20us, 0.1ms
    #[arg(long, value_name = "TIME", value_parser = latency, default_value = "20us", requires = "ranks", allow_hyphen_values = true)]
    pub latency: f64,
}

/// A number and a unit.
fn measured(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, unit) = text.split_at(text.find(|own: char| own.is_ascii_alphabetic())?);
    let (_, size) = units.iter().find(|(own, _)| *own == unit)?;
    let value = number.trim().parse::<f64>().ok()? * size;
    Some(value).filter(|value| *value > 0.0 && value.is_finite())
}

/// Bytes a second.
fn bandwidth(text: &str) -> Result<f64, String> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let units = [("Gb", 1e9 / 8.0), ("Mb", 1e6 / 8.0), ("GB", 1e9), ("MB", 1e6)];
    measured(text, &units)
        .ok_or_else(|| "expected a rate such as `25Gb` (bits a second) or `3GB` (bytes a second)".to_owned())
}

/// Seconds.
fn latency(text: &str) -> Result<f64, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    measured(text, &units).ok_or_else(|| "expected a time such as `20us` or `0.1ms`".to_owned())
}
