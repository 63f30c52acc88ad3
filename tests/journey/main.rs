//! From files to files: programs and data as a person has them, through the command line or the functions behind it.

mod baselines;
mod cases;
mod chains;
mod classes;
mod components;
mod examples;
mod exposures;
mod formats;
mod heldout;
mod people;
mod replayed;
mod simulated;
mod texts;
mod withheld;
mod withheld_parts;
mod written;
