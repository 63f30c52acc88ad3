//! What is known before a fit of whether its held-out part can be scored: what follows from the statements and from the sizes of the data, whatever q
//! comes to be.

use std::sync::OnceLock;

use cavi_algebra::{Equations, Support};
use cavi_executor::{Bound, Parameters};
use cavi_model::Statement;
use cavi_numerics::Threads;
use cavi_syntax::Diagnostic;

use super::HeldOut;
use super::predict::{Kind, LARGEST, Predictor};
use crate::bind::Hidden;
use crate::error::Error;
use crate::prepare::Problem;
use crate::prepare::written_out::written_out;

/// Why there is no score of what reads such a latent.
pub(super) const IMPLICIT: &str = "it reads a latent that is implicit, and has no factor of q of its own";
/// Why there is none of so many zeros.
pub(super) const TOO_MANY: &str = "it has too many entries";

/// Refuses a held-out part that no fit can be scored by.
///
/// # Errors
/// The statement of the first such array, as [`super::score`] refuses it after a fit.
pub(super) fn refuse_unscored(problem: &Problem, held: &HeldOut, seed: u64) -> Result<(), Error> {
    let Problem { source, model, equations, binding, .. } = problem.as_given();
    let parameters = shapes(equations, &binding.bound, seed);
    let predictor = Predictor {
        model,
        equations,
        bound: &binding.bound,
        parameters: &parameters,
        seed,
        threads: Threads::new(1),
        entries: &binding.entries,
        given_totals: held.given_totals,
        written_out: OnceLock::new(),
    };
    let each = held.parts.iter().filter(|part| !part.is_empty());
    let first = each.map(|part| predictor.refuse_unscored(part)).find(Result::is_err);
    first.unwrap_or(Ok(())).map_err(|diagnostic| Error::at(*diagnostic, source))
}

/// Factors of q that have the shapes of those of a fit; without index latents none are read.
fn shapes(equations: &Equations, bound: &Bound, seed: u64) -> Parameters {
    let symbols = &equations.symbols;
    let is_index = |own: &cavi_algebra::Array| matches!(own.support, Support::Index(_));
    match symbols.latents().any(|own| is_index(symbols.array(own))) {
        true => cavi_executor::start(equations, bound, seed),
        false => Parameters::default(),
    }
}

impl Predictor<'_> {
    /// Refuses a part of which a score is known to be none.
    fn refuse_unscored(&self, hidden: &Hidden) -> Result<(), Box<Diagnostic>> {
        let statement = self.model.statement_of(hidden.array).expect("what is held out has a statement");
        let refuse = |reason: &str| self.unscored(statement, reason);
        let mut copy = self.copy(statement).map_err(|reason| refuse(&reason))?;
        let given = Self::given_of_scored(hidden);
        if self.reads_implicit(statement, &copy, given) || self.has_implicit_factor(hidden.array) {
            let Some(equations) = written_out(self.model) else { return Err(refuse(IMPLICIT)) };
            let parameters = shapes(&equations, self.bound, self.seed);
            let (threads, written_out) = (Threads::new(1), OnceLock::new());
            let other =
                Predictor { equations: &equations, parameters: &parameters, threads, written_out, ..*self };
            // Where something is still implicit, that is for the score to say.
            let is_left =
                other.reads_implicit(statement, &copy, given) || other.has_implicit_factor(hidden.array);
            return if is_left { Ok(()) } else { other.refuse_unscored(hidden) };
        }
        let is_of_rates = matches!(self.kind(statement, hidden), Kind::Unit | Kind::Rate);
        if hidden.with_zeros && !is_of_rates {
            let shape = self.bound.shape(&self.model.symbols, hidden.array);
            let cells = shape.iter().copied().fold(1, usize::saturating_mul);
            if cells > LARGEST {
                return Err(refuse(TOO_MANY));
            }
        }
        // Entries with a factor of their own are scored by it.
        if self.equations.block_of(hidden.array).is_some() {
            return Ok(());
        }
        self.all_weights(statement, &mut copy, given).map(|_| ()).map_err(|reason| refuse(&reason))
    }

    /// That data have no score, at their statement.
    pub(super) fn unscored(&self, statement: &Statement, reason: &str) -> Box<Diagnostic> {
        let name = &self.model.symbols.array(statement.target).name;
        let message = format!("`{name}` cannot be scored: {reason}");
        let help = format!("leave `{name}` whole: the fit, its bound and its posterior need no score");
        Box::new(Diagnostic::error("E0902", message).at(statement.span, "in this statement").help(help))
    }
}
