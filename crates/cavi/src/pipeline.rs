//! From text to equations: the whole meaning side on one screen.

use cavi_algebra::Equations;
use cavi_model::{Model, Set};
use cavi_syntax::Diagnostic;
use cavi_syntax::ast::Program;

/// A program and everything that was made of it, as far as its mistakes allow.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What the user typed for the file, for messages.
    pub file_name: String,
    /// The text.
    pub text: String,
    /// The tree.
    pub program: Program,
    /// The program with its names resolved; `None` after an error.
    pub model: Option<Model>,
    /// Its derived updates and bound; `None` after an error.
    pub equations: Option<Equations>,
    /// What was found in the text, in its order; then what the derivation had to say.
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles a program. Every mistake in its syntax, its names and its arguments is reported at once; the derivation is
/// tried when there is none.
///
/// # Example
/// ```
/// let compiled = cavi::compile("axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\nx[n] ~ Normal(m, sd = 2)\n", "mean.cavi");
/// assert!(compiled.is_ok());
/// assert_eq!(compiled.equations.unwrap().blocks.len(), 1);
/// ```
pub fn compile(text: &str, file_name: &str) -> Compiled {
    compile_with(text, file_name, &[])
}

/// As [`compile`], for a program some of whose constants get their values from outside (`--set`).
pub fn compile_with(text: &str, file_name: &str, set: &[Set]) -> Compiled {
    let (program, diagnostics) = cavi_syntax::parse(text);
    let mut compiled = Compiled {
        file_name: file_name.to_owned(),
        text: text.to_owned(),
        program,
        model: None,
        equations: None,
        diagnostics,
    };
    let read = compiled.is_ok();
    let (model, diagnostics) = cavi_model::resolve_with(&compiled.program, set);
    // A warning may be about what an unread line changes; the errors come first.
    compiled.diagnostics.extend(diagnostics.into_iter().filter(|own| read || own.is_error()));
    compiled
        .diagnostics
        .sort_by_key(|diagnostic| diagnostic.primary.as_ref().map_or(0, |(span, _)| span.start));
    let Some(model) = model.filter(|_| compiled.is_ok()) else { return compiled };

    let (equations, diagnostics) = cavi_derivation::derive(&model);
    compiled.diagnostics.extend(diagnostics);
    if let Some(equations) = &equations {
        compiled.diagnostics.extend(crate::schedule::check(&model, equations));
        let warmups = model.fit.warmup.iter();
        let wrong = warmups.filter_map(|(line, span)| {
            crate::warmup::check(equations, line).map(|diagnostic| diagnostic.at(*span, "this warm-up"))
        });
        compiled.diagnostics.extend(wrong);
    }
    compiled.model = Some(model);
    compiled.equations = equations;
    compiled
}

impl Compiled {
    /// Whether no diagnostic is an error.
    pub fn is_ok(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// The program in canonical form, comments kept.
    pub fn canonical(&self) -> String {
        cavi_syntax::print(&self.program)
    }

    /// A hash of the canonical text, 16 hexadecimal digits: the same for programs that differ in layout only.
    pub fn hash(&self) -> String {
        format!("{:016x}", fnv1a(self.canonical().as_bytes()))
    }
}

/// The 64-bit FNV-1a hash.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_fowler_noll_and_vo() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn layout_does_not_change_the_hash() {
        let hash = |text: &str| compile(text, "").hash();
        assert_eq!(hash("axis  doc[ d ]\n"), hash("axis doc[d]"));
        assert_ne!(hash("axis doc[d]\n"), hash("axis doc[e]"));
    }
}
