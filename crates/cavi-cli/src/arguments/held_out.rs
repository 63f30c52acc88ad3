//! What `cavi fit --help` says of held-out data.

/// Of `--heldout`.
pub const HELD_OUT: &str = "\
Hide a part of these data from the fit and score it: a fraction, whole rows, last entries, or a file of the entries.

NAME=0.1: of counts with `absent = 0` under Poisson or Multinomial each unit is hidden with this probability, and nothing is missing;
of rows with a multiplicity each unit of weight is. Of anything else that fraction of the observed entries is hidden as
missing; where unlisted entries are observed zeros, of the listed ones and as many zeros.

NAME=rows:0.2: that fraction of the rows, each as a whole; a row is a position of the first axis of the array, of a ragged one within
its group. 'x[protein]=rows:0.2' is
of one group of a ragged array: these samples lose this view and keep the others.

NAME=last:AXIS: the entries of each row that stand last on this axis; a row is a position of the first other axis, of a ragged axis a
group. NAME=last:COLUMN: of each row (of the first axis) the entry with the greatest number or date in this further column of
the long table of the data. Rows with no other entry stay.

NAME=FILE: the entries that a file lists; a dense file without a missing entry is a mask, and names what is not 0 in it. A table of
test entries gives those that the data do not have with their values: `--data y=train.csv --heldout y=test.csv`.

The score is the sum of log E_q p(y | latents) over the hidden entries, or units of counts: exact where the probability
is a sum of products of independent latents, else over 200 draws from q, with its standard error. Hidden counts of a Poisson
have their rate scaled by f / (1 - f), at its posterior mean.";

/// Of `--heldout-totals`.
pub const HELD_OUT_TOTALS: &str = "\
Score held-out counts under a Poisson as units of their rows, given how many units each row has.

Independent Poisson counts with a known sum are a row under a Multinomial whose probabilities are proportional to their rates. A unit is
then scored by the log of its probability, as words are in a topic model, so that programs of both kinds compare, and the
score has a perplexity. A row is the array without its last axis (of a ragged one a row for each group). A file given to `--heldout` then holds
further units of the rows, as it does of rows under a Multinomial. Data of other kinds are scored as without this option.";

/// Of `--folds`.
pub const FOLDS: &str = "\
Cross-validation: hide each of K parts of all data in turn and score it, then fit to all data.

The parts are drawn by `--seed`. They are disjoint and together all entries of all data that the program predicts (units of what
`--heldout NAME=FRACTION` thins; beside unlisted zeros as many of those as entries). Printed, and kept in `summary.json`, are the score
of an entry or unit in each part, their mean, and its standard error. DIR is the fit to all data, as without this option.";

/// How many parts.
pub fn folds(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (2..=1000).contains(number));
    number.ok_or_else(|| "expected a whole number from 2 to 1000, the number of parts".to_owned())
}
