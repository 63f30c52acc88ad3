//! From text to equations: the whole meaning side on one screen.
//!
//! [`compile`] reports everything that is wrong with a text. What it leaves is a [`Checked`] text, and inside it, where
//! nothing is wrong, a [`Compiled`] program. Everything further on takes the second, so that nothing has to ask whether there
//! is a model or an equation.

use std::sync::Arc;

use cavi_algebra::Equations;
use cavi_model::{Model, Set};
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::Program;

use crate::error::Error;

/// A text, where it came from, and its tree.
#[derive(Clone, Debug)]
pub struct Source {
    /// What the user typed for the file, for messages.
    pub file_name: String,
    /// The text.
    pub text: String,
    /// The tree, as far as the text could be read.
    pub program: Program,
}

impl Source {
    /// The program in canonical form, comments kept.
    pub fn canonical(&self) -> String {
        cavi_syntax::print(&self.program)
    }

    /// A hash of the canonical text, 16 hexadecimal digits: the same for programs that differ in layout only.
    pub fn hash(&self) -> String {
        format!("{:016x}", fnv1a(FNV_START, self.canonical().as_bytes()))
    }
}

/// A text with everything that there is to say about it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The text.
    pub source: Arc<Source>,
    /// What was found in the text, in its order; then what the derivation had to say.
    pub diagnostics: Vec<Diagnostic>,
    /// The program; `None` if a diagnostic is an error.
    pub compiled: Option<Compiled>,
}

impl Checked {
    /// Whether no diagnostic is an error.
    pub fn is_ok(&self) -> bool {
        self.compiled.is_some()
    }

    /// The program.
    ///
    /// # Errors
    /// If a diagnostic is an error: with all that are.
    pub fn into_compiled(self) -> Result<Compiled, Error> {
        let Checked { source, diagnostics, compiled } = self;
        compiled.ok_or_else(|| {
            let errors = diagnostics.into_iter().filter(Diagnostic::is_error).collect();
            Error::Program { diagnostics: errors, source }
        })
    }
}

/// A program that compiles.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Its text.
    pub source: Arc<Source>,
    /// The program with its names resolved.
    pub model: Model,
    /// Its derived updates and bound.
    pub equations: Equations,
}

/// Compiles a program. Every mistake in its syntax, its names and its arguments is reported at once; the derivation is
/// tried when there is none.
///
/// # Example
/// ```
/// let text = "axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\nx[n] ~ Normal(m, sd = 2)\n";
/// let compiled = cavi::compile(text, "mean.cavi").into_compiled()?;
/// assert_eq!(compiled.equations.blocks.len(), 1);
/// # Ok::<(), cavi::Error>(())
/// ```
pub fn compile(text: &str, file_name: &str) -> Checked {
    compile_with(text, file_name, &[])
}

/// As [`compile`], for a program some of whose constants get their values from outside (`--set`).
pub fn compile_with(text: &str, file_name: &str, set: &[Set]) -> Checked {
    crate::stack::with_room(|| on_a_deep_stack(text, file_name, set))
}

fn on_a_deep_stack(text: &str, file_name: &str, set: &[Set]) -> Checked {
    let (program, mut diagnostics) = cavi_syntax::parse(text);
    let source = Arc::new(Source { file_name: file_name.to_owned(), text: text.to_owned(), program });
    let failed = |diagnostics: &[Diagnostic]| diagnostics.iter().any(Diagnostic::is_error);

    let read = !failed(&diagnostics);
    let (model, about_names) = cavi_model::resolve_with(&source.program, set);
    // A warning may be about what an unread line changes; the errors come first.
    diagnostics.extend(about_names.into_iter().filter(|own| read || own.is_error()));
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map_or(0, |(span, _)| span.start));
    let model = model.filter(|_| !failed(&diagnostics));
    let Some(model) = model else { return Checked { source, diagnostics, compiled: None } };

    let (equations, about_updates) = cavi_derivation::derive(&model);
    diagnostics.extend(about_updates);
    if let Some(equations) = &equations {
        diagnostics.extend(crate::schedule::check(&model, equations));
        let warmups = model.fit.warmup.iter();
        let wrong = warmups.filter_map(|(line, span)| {
            crate::warmup::check(equations, line).map(|diagnostic| diagnostic.at(*span, "this warm-up"))
        });
        diagnostics.extend(wrong);
        let rule = model.fit.allocations.and_then(|(rule, span)| {
            let written = format!("allocations = {}", rule.word());
            crate::allocations::check(equations, rule, &written).map(|own| own.at(span, "this setting"))
        });
        diagnostics.extend(rule);
        diagnostics.extend(crate::notation::check(&model, equations));
        if !failed(&diagnostics) {
            diagnostics.extend(crate::allocations::notes(&model, equations));
        }
    }
    let equations = equations.filter(|_| !failed(&diagnostics));
    let compiled = equations.map(|equations| Compiled { source: Arc::clone(&source), model, equations });
    Checked { source, diagnostics, compiled }
}

/// Where an FNV-1a hash starts.
pub(crate) const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The 64-bit FNV-1a hash of what a hash is already that of, followed by these bytes.
pub(crate) fn fnv1a(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_fowler_noll_and_vo() {
        assert_eq!(fnv1a(FNV_START, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(FNV_START, b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn layout_does_not_change_the_hash() {
        let hash = |text: &str| compile(text, "").source.hash();
        assert_eq!(hash("axis  doc[ d ]\n"), hash("axis doc[d]"));
        assert_ne!(hash("axis doc[d]\n"), hash("axis doc[e]"));
    }
}
