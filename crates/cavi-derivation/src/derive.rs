//! The derivation on one screen: log joint, bounds, blocks, updates, bound, order.

use cavi_algebra::{
    ArrayId, ArrayKind, Equations, Expression, MatrixFunction, StatementEquation, StatementId, Symbols,
};
use cavi_model::{Model, Statement};
use cavi_syntax::Diagnostic;

use crate::advice::advise;
use crate::blocks::{Draft, blocks, partly_latent};
use crate::bounds::bound;
use crate::conjugate::conjugate;
use crate::elbo::{elbo, expect_sites};
use crate::explain::{Complaint, suggest};
use crate::implicit::implicit_to_sites;
use crate::joint::joint;
use crate::order::default_sweep;

/// What the stages share: the symbols they add fresh letters to, and what they have to say.
pub struct Derivation<'m> {
    /// The program.
    pub model: &'m Model,
    /// Axes, letters and arrays; letters are added.
    pub symbols: Symbols,
    /// What was found wrong or worth saying.
    pub diagnostics: Vec<Diagnostic>,
    /// What the errors are about whose repairs are looked for.
    pub complaints: Vec<Complaint>,
    /// Whether what is 0 by the values of the constants is left out.
    pub by_value: bool,
}

/// Derives the updates and the bound of a model. The equations are there only if no diagnostic is an error.
pub fn derive(model: &Model) -> (Option<Equations>, Vec<Diagnostic>) {
    let (equations, mut diagnostics, complaints) = attempt(model);
    suggest(model, &mut diagnostics, &complaints);
    if let Some(equations) = &equations {
        diagnostics.extend(advise(model, equations));
    }
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    (if failed { None } else { equations }, diagnostics)
}

/// What a derivation comes to.
type Outcome = (Option<Equations>, Vec<Diagnostic>, Vec<Complaint>);

/// The derivation alone: repairs are found by attempts. One that fails for all values of the constants is tried for those
/// that they have.
pub(crate) fn attempt(model: &Model) -> Outcome {
    let general = attempt_by(model, false);
    if general.0.is_some() {
        return general;
    }
    let by_value = attempt_by(model, true);
    if by_value.0.is_some() { by_value } else { general }
}

fn attempt_by(model: &Model, by_value: bool) -> Outcome {
    let mut derivation = Derivation {
        model,
        symbols: model.symbols.clone(),
        diagnostics: Vec::new(),
        complaints: Vec::new(),
        by_value,
    };
    let equations = derivation.run();
    let failed = derivation.failed();
    (if failed { None } else { equations }, derivation.diagnostics, derivation.complaints)
}

/// The matrix that whitens the target of a statement.
pub(crate) fn whitening(statement: &Statement) -> Option<ArrayId> {
    let parameters = statement.family.parameters().iter().zip(&statement.arguments);
    parameters.into_iter().find_map(|(parameter, argument)| {
        let argument = argument.as_ref()?;
        let read_as = parameter.spellings[argument.spelling].read_as;
        match &argument.inverse {
            Some(Expression::Value(array, _)) if read_as == Some(MatrixFunction::Whitening) => Some(*array),
            _ => None,
        }
    })
}

impl Derivation<'_> {
    fn run(&mut self) -> Option<Equations> {
        for array in partly_latent(self.model) {
            self.symbols.arrays[array.index()].kind = ArrayKind::Latent;
        }
        let mut drafts: Vec<Draft> = blocks(self);
        let log_densities = joint(self, &drafts);
        if self.failed() {
            return None;
        }
        let mut bounded = bound(self, &drafts, &log_densities);
        implicit_to_sites(self, &mut drafts, &mut bounded);
        if self.failed() {
            return None;
        }
        let (blocks, contributions) = conjugate(self, &drafts, &bounded);
        if self.failed() {
            return None;
        }
        expect_sites(self, &drafts, &mut bounded);
        let elbo = elbo(self, &drafts, &blocks, &bounded);
        if self.failed() {
            return None;
        }
        let sweep = default_sweep(self.model, &blocks);
        let statements = self.model.statements.iter().zip(log_densities).map(|(statement, log_density)| {
            StatementEquation {
                target: statement.target,
                family: statement.family.name(),
                observed: statement.observed,
                log_density,
                whitening: whitening(statement),
            }
        });
        Some(Equations {
            name: self.model.name.clone(),
            statements: statements.collect(),
            blocks,
            contributions,
            sites: bounded.sites,
            auxiliaries: bounded.auxiliaries,
            elbo,
            sweep,
            symbols: self.symbols.clone(),
        })
    }

    /// Reports an error that a change of the program may repair; the same one once.
    pub fn complain(
        &mut self,
        diagnostic: Diagnostic,
        draft: Option<&Draft>,
        statement: Option<StatementId>,
    ) {
        if self.diagnostics.contains(&diagnostic) {
            return;
        }
        let complaint = Complaint { diagnostic: self.diagnostics.len(), draft: draft.cloned(), statement };
        self.complaints.push(complaint);
        self.diagnostics.push(diagnostic);
    }

    fn failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}
