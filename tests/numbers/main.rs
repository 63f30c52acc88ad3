//! Equations and data to numbers: the run against its slow twin, against laws, and against answers that are known.

// The run does what the equations say: against the interpreter, and against itself on other threads, plans and layouts.
mod agreement;
mod extremes;
mod forecast;
mod grids;
mod implicit;
mod looked_at;
mod memory;
mod packed;
mod plans;
mod precision;
mod prepared;
mod printed;
mod printed_meanings;
mod printed_pages;
mod printed_words;
mod resets;
mod restarts;
mod resume;
mod row_wise;
mod stopping;

// Laws that hold for every program.
mod acceleration;
mod ascent;
mod elbo_monte_carlo;
mod evidence;
mod expected;
mod exponents;
mod fixed;
mod gradients;
mod projection;
mod rotations;
mod steps;

// Answers that are known: closed forms, published updates, other programs, a truth that data were drawn from.
mod exact;
mod group_factors;
mod identities;
mod learned;
mod logistic;
mod low_rank;
mod outside;
mod processes;
mod recovery;
mod straight_line;

// What a construct of the language comes to, each on small programs of its own.
mod censored;
mod certain;
mod collapsed;
mod collapsed_printed;
mod entries;
mod intervals;
mod kept_apart;
mod meeting_letters;
mod origin;
mod ragged_grids;
mod ragged_slices;
mod refused;
mod sampled;
mod shards;
mod spread;
mod starts;
mod traps;
mod warmups;
