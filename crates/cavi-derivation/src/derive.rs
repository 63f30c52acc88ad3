//! The derivation on one screen: log joint, bounds, blocks, updates, bound, order.

use cavi_algebra::{
    ArrayId, ArrayKind, AxisId, Equations, Expression, MatrixFunction, StatementEquation, StatementId,
    Subscript, Sum, Support, Symbols, dedup,
};
use cavi_model::{Model, Statement};
use cavi_syntax::Diagnostic;

use crate::advice::advise;
use crate::blocks::{Draft, blocks, partly_latent};
use crate::bounds::{bound, stated};
use crate::cases::refuse_many_cases;
use crate::conjugate::conjugate;
use crate::elbo::{elbo, expect_sites};
use crate::explain::{Complaint, suggest};
use crate::implicit::implicit_to_sites;
use crate::joint::{joint, with_ancestors};
use crate::levels::shifts;
use crate::means::quadratic;
use crate::order::default_sweep;
use crate::rotations::rotations;

/// What the stages share: the symbols, to which they add letters, and the diagnostics.
pub struct Derivation<'m> {
    /// The program.
    pub model: &'m Model,
    /// Axes, letters and arrays; letters are added.
    pub symbols: Symbols,
    /// What was found wrong or worth saying.
    pub diagnostics: Vec<Diagnostic>,
    /// The subjects of errors for which repairs are tried.
    pub complaints: Vec<Complaint>,
    /// Whether what is 0 by the values of the constants is left out.
    pub by_value: bool,
    /// The targets of the statements whose index data are taken to differ wherever two of them select in one array.
    pub apart: Vec<ArrayId>,
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

/// The derivation without the search for repairs, since repairs are found by deriving changed programs. One that
/// fails for all values of the constants is tried for those that they have, and then without the entries at which two
/// index data of one array are equal.
pub(crate) fn attempt(model: &Model) -> Outcome {
    let general = attempt_by(model, false, &[]);
    if general.0.is_some() {
        return general;
    }
    let by_value = attempt_by(model, true, &[]);
    if by_value.0.is_some() {
        return by_value;
    }
    let observed = model.statements.iter().filter(|statement| statement.observed);
    let mut apart: Vec<ArrayId> =
        observed.filter(|own| !pairs(model, own).is_empty()).map(|own| own.target).collect();
    for by_value in [false, true].into_iter().filter(|_| !apart.is_empty()) {
        let mut found = attempt_by(model, by_value, &apart);
        if found.0.is_none() {
            continue;
        }
        // Of the statements, as few as need it.
        for target in apart.clone() {
            let fewer: Vec<ArrayId> = apart.iter().copied().filter(|own| *own != target).collect();
            let without = if fewer.is_empty() { continue } else { attempt_by(model, by_value, &fewer) };
            if without.0.is_some() {
                (found, apart) = (without, fewer);
            }
        }
        return found;
    }
    general
}

/// Two subscripts on one axis, at least one of them by data, in which two elements of a latent differ on the right of a
/// statement and in nothing else; both follow from the letters on the left.
fn pairs(model: &Model, statement: &Statement) -> Vec<(Subscript, Subscript)> {
    let symbols = &model.symbols;
    let plates = with_ancestors(symbols, &statement.plates);
    let is_known = |subscript: &Subscript| {
        let mut letters = Vec::new();
        subscript.letters(&mut letters);
        let by_latent = (0..symbols.arrays.len())
            .map(ArrayId::from)
            .any(|array| symbols.array(array).kind == ArrayKind::Latent && subscript.mentions(array));
        !by_latent && letters.iter().all(|letter| plates.contains(letter))
    };
    let mut elements: Vec<(ArrayId, Vec<Subscript>)> = Vec::new();
    for argument in statement.arguments.iter().flatten() {
        argument.value.visit_values(&mut |array, subscripts| {
            if symbols.array(array).kind == ArrayKind::Latent {
                elements.push((array, subscripts.to_vec()));
            }
        });
    }
    let mut found = Vec::new();
    for (number, (array, one)) in elements.iter().enumerate() {
        for (_, other) in elements[number + 1..].iter().filter(|(own, _)| own == array) {
            let differing: Vec<(&Subscript, &Subscript)> =
                one.iter().zip(other).filter(|(left, right)| left != right).collect();
            let [(left, right)] = differing[..] else { continue };
            let by_data = [left, right].iter().any(|own| matches!(own, Subscript::Index(..)));
            if by_data && is_known(left) && is_known(right) {
                found.push((left.clone(), right.clone()));
            }
        }
    }
    dedup(found)
}

fn attempt_by(model: &Model, by_value: bool, apart: &[ArrayId]) -> Outcome {
    let mut derivation = Derivation {
        model,
        symbols: model.symbols.clone(),
        diagnostics: Vec::new(),
        complaints: Vec::new(),
        by_value,
        apart: apart.to_vec(),
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
    /// The subscripts of a statement that data have to keep apart.
    pub(crate) fn kept_apart(&self, statement: &Statement) -> Vec<(Subscript, Subscript)> {
        if self.apart.contains(&statement.target) { pairs(self.model, statement) } else { Vec::new() }
    }

    fn run(&mut self) -> Option<Equations> {
        for array in partly_latent(self.model) {
            let own = &mut self.symbols.arrays[array.index()];
            own.kind = ArrayKind::Latent;
            // The q of what is missing is that of the statement, whatever type the observed numbers are declared to have.
            let statement = self.model.statement_of(array);
            if let (Some(support), false) =
                (statement.and_then(|own| own.family.latent()), matches!(own.support, Support::Index(_)))
            {
                own.support = support;
            }
        }
        let mut drafts: Vec<Draft> = blocks(self);
        let (log_densities, mut filled): (Vec<Sum>, Vec<Vec<AxisId>>) =
            joint(self, &drafts).into_iter().unzip();
        if self.failed() {
            return None;
        }
        refuse_many_cases(self, &drafts, &log_densities);
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
                apart: self.kept_apart(statement),
                filled: filled.remove(0),
            }
        });
        let mut equations = Equations {
            name: self.model.name.clone(),
            statements: statements.collect(),
            blocks,
            contributions,
            bounds: stated(),
            sites: bounded.sites,
            auxiliaries: bounded.auxiliaries,
            elbo,
            sweep,
            rotations: Vec::new(),
            shifts: Vec::new(),
            quadratic: Vec::new(),
            symbols: self.symbols.clone(),
        };
        equations.rotations = rotations(&equations);
        equations.shifts = shifts(&equations);
        equations.quadratic = quadratic(&equations);
        Some(equations)
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
