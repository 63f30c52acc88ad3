//! All checks of a page, and what was found.

use std::collections::BTreeSet;

use cavi_algebra::print::{Columns, Derivation, Format, Level, Named, Notation, Run, Standard};
use cavi_algebra::{BlockId, Subscript};
use cavi_executor::{Bound, start};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::alternatives::alternatives;
use crate::page::{ALTERNATIVES, Page};
use crate::random::{Shape, random_bound};
use crate::rows::{Row, rows};
use crate::subject::Subject;
use crate::tally::Tally;
use crate::world::World;

/// Sets of random data: dense ones, and sparse ones where the program allows such.
const DATA: u64 = 2;

/// A kind of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each is the log-density of a statement.
    LogJoint,
    /// Inequalities, and where they are equalities.
    Bounds,
    /// Expectations of log-densities.
    Expectations,
    /// Steps of updates.
    Steps,
    /// Squares whose expectation is written out.
    Squares,
    /// Parameters of q, its expectations and entropies.
    StandardForms,
    /// Remarks.
    Remarks,
    /// Rows of the overview: what each update reads.
    Overview,
}

/// All of them, in the order in which they are checked.
pub const KINDS: [Kind; 8] = [
    Kind::LogJoint,
    Kind::Bounds,
    Kind::Expectations,
    Kind::Steps,
    Kind::Squares,
    Kind::StandardForms,
    Kind::Remarks,
    Kind::Overview,
];

/// A line that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Of what kind it is.
    pub kind: Kind,
    /// The seed of the data.
    pub seed: u64,
    /// The line, and what was found.
    pub problem: String,
}

/// How often data are drawn until subscripts differ that have to.
const TRIES: usize = 10_000;

/// What was found of the lines of a page.
#[derive(Clone, Debug)]
pub struct Verified {
    /// Over how many draws from q expectations were averaged.
    pub draws: usize,
    /// At how many sets of data.
    pub data: u64,
    /// How many different lines the page has that are relations, statements themselves left out.
    pub lines: usize,
    /// What was found, by kind.
    pub found: [(Kind, Tally); KINDS.len()],
    /// Lines that no check evaluates on their own: most say what a symbol stands for that others are evaluated with.
    pub rest: Vec<String>,
    /// Lines that do not hold.
    pub failed: Vec<Failed>,
}

impl Verified {
    /// Everything that was found, together.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.found.iter().for_each(|(_, own)| total.add(own.clone()));
        total
    }
}

/// Evaluates every relation of a derivation, read back from its page, at random data: an axis has two positions, or up to
/// three where the program states its size. Expectations are averaged over `draws` draws, at least 2.
///
/// - Log joint: equal to the log-densities of the statements, written a second time, to 1e-11 of the scale.
/// - Inequalities: by their sign at 50 points, and equal to 1e-12 at the stated optimum.
/// - Expectations: `=` within 4 standard errors of the average over draws, `>=` not above it by more; one that is farther is averaged
///   again over 16 times as many draws.
/// - Steps of an update: each is worth what the one before it is as one copy moves, to 1e-9; natural parameters are the
///   coefficients of the statistics in the last of them.
/// - Standard form: parameters, expectations and entropies are those that the family computes in numbers, to 1e-7.
/// - Remarks: to 1e-12.
/// - Overview: what a row says that an update reads is what stands in its equations, no more and no less.
///
/// The same program and number of draws give the same answer.
pub fn verify(subject: Subject<'_>, standard: &dyn Standard, draws: usize) -> Verified {
    let run = Run::default();
    let named = named(subject);
    let taken = named.iter().map(|own| own.name.clone()).collect();
    let notation = Notation { taken, ..Notation::default() };
    let derivation = Derivation {
        equations: subject.equations,
        program: &[],
        stated: &[],
        defined: &[],
        named: &named,
        notation: &notation,
        standard,
        run: &run,
        schedule: None,
        level: Level::Full,
        columns: Columns::One,
        about: &[],
        diagram: None,
    };
    let draws = draws.max(2);
    let mut found = KINDS.map(|kind| (kind, Tally::default()));
    let mut failed = Vec::new();
    for seed in 0..DATA {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let shape = Shape { smallest: 2, largest: 2, ..Shape::small(seed % 2 == 1) };
        let Some(bound) = random_bound_apart(subject, shape, &mut rng) else { continue };
        let parameters = start(subject.equations, &bound, seed);
        let drawn = alternatives(subject, &bound, &parameters, ALTERNATIVES + 1, &mut rng);
        let page = match Page::new(subject, &derivation, &bound, &drawn) {
            Ok(page) => page,
            Err(problem) => {
                failed.push(Failed { kind: Kind::LogJoint, seed, problem });
                break;
            }
        };
        for (kind, tally) in &mut found {
            if let Err(problem) = page.check(*kind, draws, &mut rng, tally) {
                failed.push(Failed { kind: *kind, seed, problem });
            }
        }
    }
    let all = lines(&derivation);
    let evaluated: BTreeSet<&String> = found.iter().flat_map(|(_, own)| &own.lines).collect();
    let rest = all.iter().filter(|line| !evaluated.contains(line)).cloned().collect();
    Verified { draws, data: DATA, lines: all.len(), found, rest, failed }
}

/// Random data in which subscripts differ that the program has to keep apart; `None` where no data of a few positions have this, so
/// that there is nothing to evaluate the page at.
fn random_bound_apart(subject: Subject<'_>, shape: Shape, rng: &mut ChaCha8Rng) -> Option<Bound> {
    (0..TRIES).map(|_| random_bound(subject.model, shape, rng)).find(|bound| are_apart(subject, bound))
}

/// Whether no statement has an observed entry at which two of its subscripts are equal that data have to keep apart.
fn are_apart(subject: Subject<'_>, bound: &Bound) -> bool {
    let world = World::new(&subject.model.symbols, bound);
    subject.model.statements.iter().zip(&subject.equations.statements).all(|(statement, own)| {
        let mut apart = true;
        world.each(&statement.plates, &mut world.nowhere(), &mut |at| {
            let equal = |(left, right): &(Subscript, Subscript)| {
                world.position(left, at) == world.position(right, at)
            };
            if !own.apart.iter().any(equal) {
                return;
            }
            let entry: Vec<usize> = statement.plates.iter().filter_map(|letter| at[letter.index()]).collect();
            let is_whole = !statement.observed || !statement.slices.is_empty();
            let array = subject.model.symbols.array(statement.target);
            apart &= !(is_whole || array.has_entry(&entry) && world.observed(statement.target, &entry));
        });
        apart
    })
}

/// The deterministic names that formulas are shown in.
fn named(subject: Subject<'_>) -> Vec<Named> {
    cavi_model::named(subject.model, &subject.equations.symbols)
}

/// The different relations of a page, the steps of all blocks among them.
fn lines(derivation: &Derivation<'_>) -> Vec<String> {
    let steps = (0..derivation.equations.blocks.len()).map(BlockId::from);
    let mut pieces = derivation.printed(Format::Text);
    pieces.extend(steps.flat_map(|id| derivation.printed_steps(id, Format::Text)));
    let shown = rows(&pieces, &derivation.equations.symbols)
        .unwrap_or_default()
        .into_iter()
        .map(|row: Row| row.shown);
    let mut seen = BTreeSet::new();
    shown.filter(|line| seen.insert(line.clone())).collect()
}

impl Page<'_> {
    fn check(&self, kind: Kind, draws: usize, rng: &mut ChaCha8Rng, tally: &mut Tally) -> Result<(), String> {
        match kind {
            Kind::LogJoint => self.check_log_joint(tally),
            Kind::Bounds => self.check_bounds(rng, tally),
            Kind::Expectations => self.check_elbo(draws, rng, tally),
            Kind::Steps => self.check_steps(rng, tally),
            Kind::Squares => self.check_squares(tally),
            Kind::StandardForms => self.check_standard(rng, tally),
            Kind::Remarks => self.check_remarks(rng, tally),
            Kind::Overview => self.check_overview(tally),
        }
    }
}
