//! Text to equations: what is read, meant, derived and printed, and how mistakes are explained. No number is computed here.

mod architecture;
mod derivation_json;
mod formulas;
mod instead;
mod literals;
mod python_format;
mod rejections;
mod renaming;
mod round_trip;
mod stages;
