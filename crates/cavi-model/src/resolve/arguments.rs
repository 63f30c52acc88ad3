//! Arguments in their places: by position or by name, in one of the spellings of a parameter.

use cavi_algebra::{ArrayKind, Expression, LetterId, Subscript, Support, dedup};
use cavi_families::{Domain, Extent, Family, Parameter};
use cavi_syntax::{Diagnostic, Span, ast, cut_off, nearest, print_expression};

use super::places::{Bound, COVARIANCE, Scope};
use super::reads::visit_references;
use super::{Named, Resolver};
use crate::model::ArgumentSpec;

/// The parameter and the spelling of a kernel, for a family that has one.
const KERNEL: (usize, usize) = (0, 0);

/// A parameter that an argument gives: its place, and which of its spellings.
#[derive(Clone, Copy)]
struct Place {
    parameter: usize,
    spelling: usize,
}

impl Resolver<'_> {
    /// The arguments of a family whose name is unknown. Only the names in them are looked up, so that mistakes in
    /// these are reported too.
    pub fn unknown_arguments(&mut self, arguments: &[ast::Argument], bound: Vec<Bound>, left: &[LetterId]) {
        for argument in arguments {
            let mut scope = Scope::new(bound.clone(), "the argument");
            scope.lenient = true;
            scope.slices = left.to_vec();
            // A bare word may be the support that the family takes (as in a misspelt `Flatt(simplex)`), so it is not
            // looked up.
            let bare = matches!(&argument.value.kind, ast::ExpressionKind::Reference(reference)
                if reference.subscripts.is_none() && !self.names.contains_key(&reference.name.text));
            // What is made of families elsewhere, as a mixture, is no family here: those in it are no mistakes of their own.
            let of_families = matches!(&argument.value.kind, ast::ExpressionKind::Call(family, _)
                if cavi_families::family(&family.text).is_some());
            if !bare && !of_families {
                self.expression(&mut scope, &argument.value);
            }
        }
    }

    /// Resolves the arguments of a family; `None` where one has a mistake. With `lenient`, what depends on the left
    /// is not reported.
    pub fn arguments(
        &mut self,
        name: &ast::Name,
        family: &'static dyn Family,
        arguments: &[ast::Argument],
        bound: Vec<Bound>,
        left: &[LetterId],
        lenient: bool,
    ) -> Option<Vec<Option<ArgumentSpec>>> {
        let parameters = family.parameters();
        let mut given: Vec<Option<(ArgumentSpec, Span, usize)>> = vec![None; parameters.len()];
        let mut named: Vec<bool> = vec![false; parameters.len()];
        let mut failed = false;
        let mut position = 0;
        let mut kernel: Option<&ast::Expression> = None;
        if let Some(diagnostic) = total_first(name, parameters, arguments) {
            self.report(diagnostic);
            self.unknown_arguments(arguments, bound, left);
            return None;
        }
        for argument in arguments {
            let place = match &argument.name {
                Some(word) => self.named_place(name, parameters, word),
                None => {
                    position += 1;
                    self.positional_place(name, parameters, position - 1, &argument.value)
                }
            };
            let Some(place) = place else {
                failed = true;
                self.unknown_arguments(std::slice::from_ref(argument), bound.clone(), left);
                continue;
            };
            let parameter = &parameters[place.parameter];
            let span =
                argument.name.as_ref().map_or(argument.value.span, |name| name.span.to(argument.value.span));
            if named[place.parameter] {
                self.given_twice(name, parameter, &given[place.parameter], place, span);
                failed = true;
                continue;
            }
            named[place.parameter] = true;
            if family.has_kernel() && (place.parameter, place.spelling) == KERNEL {
                // Its value needs the places of the points, which may come behind it.
                kernel = Some(&argument.value);
                continue;
            }
            if family.has_kernel() && place.parameter > 0 {
                match self.positions(&argument.value, &bound, left, lenient) {
                    Some(spec) => given[place.parameter] = Some((spec, span, place.spelling)),
                    None => failed = true,
                }
                continue;
            }
            match self.argument(name, parameter, place.spelling, &argument.value, &bound, left, lenient) {
                Some(spec) => given[place.parameter] = Some((spec, span, place.spelling)),
                None => failed = true,
            }
        }
        if let Some(value) = kernel {
            let at = given.get(1).and_then(|given| given.as_ref()).map(|(spec, _, _)| spec.clone());
            match self.kernel(value, &bound, left, at.as_ref(), lenient) {
                Some(spec) => given[KERNEL.0] = Some((spec, value.span, KERNEL.1)),
                None => failed = true,
            }
        } else if family.has_kernel()
            && let [Some(_), Some((at, span, _))] = &given[..]
        {
            self.report(
                Diagnostic::error(
                    "E0522",
                    format!("`{}` has both a covariance matrix and places", name.text),
                )
                .at(*span, "the matrix says how the points vary together: nothing reads their places")
                .possible("a kernel with `at`, or `cov` alone")
                .help(format!(
                    "drop `at`, or write a kernel: `squared_exponential(length = 2), at = {}`",
                    crate::print::expression(&self.symbols, &at.value)
                )),
            );
            failed = true;
        }
        for (parameter, given) in parameters.iter().zip(&named) {
            if !given && !parameter.optional {
                // An argument that could not be assigned to a parameter has been reported, and is most likely this
                // one.
                if !failed {
                    self.missing(name, parameters, parameter, arguments);
                }
                failed = true;
            }
        }
        if failed {
            return None;
        }
        Some(given.into_iter().map(|given| given.map(|(spec, _, _)| spec)).collect())
    }

    fn named_place(
        &mut self,
        family: &ast::Name,
        parameters: &[Parameter],
        word: &ast::Name,
    ) -> Option<Place> {
        for (parameter, declared) in parameters.iter().enumerate() {
            if let Some(spelling) = declared.spellings.iter().position(|spelling| spelling.name == word.text)
            {
                return Some(Place { parameter, spelling });
            }
        }
        let names: Vec<&str> = parameters
            .iter()
            .flat_map(|parameter| parameter.spellings)
            .map(|spelling| spelling.name)
            .collect();
        let near = nearest(&word.text, names.iter().copied());
        let synonym = SYNONYMS
            .iter()
            .find(|(words, meant)| words.contains(&word.text.as_str()) && names.contains(meant))
            .map(|(_, meant)| *meant);
        let help = match near.or(synonym) {
            Some(near) => format!("did you mean `{near}`?"),
            None if cut_off(&word.text).is_some() => {
                cut_off(&word.text).map_or_else(String::new, |cut| cut.advice("x"))
            }
            None if matches!(word.text.as_str(), "observed" | "obs" | "value" | "data") => {
                "drop it: what is observed is declared, `data x[n] : real`".to_owned()
            }
            None if matches!(word.text.as_str(), "shape" | "dims" | "size" | "plates" | "sample_shape") => {
                "drop it: each letter on the left makes one copy for each of its values".to_owned()
            }
            None => format!("`{}` takes {}", family.text, signature(parameters)),
        };
        self.report(
            Diagnostic::error("E0501", format!("`{}` has no argument `{}`", family.text, word.text))
                .at(word.span, "unknown argument")
                .possible(format!("arguments: {}", names.join(", ")))
                .help(help),
        );
        None
    }

    fn positional_place(
        &mut self,
        family: &ast::Name,
        parameters: &[Parameter],
        position: usize,
        value: &ast::Expression,
    ) -> Option<Place> {
        let span = value.span;
        let Some(parameter) = parameters.get(position) else {
            let plural = if parameters.len() == 1 { "" } else { "s" };
            let message = format!("`{}` takes {} argument{plural} at most", family.text, parameters.len());
            self.report(
                Diagnostic::error("E0504", message)
                    .at(span, "one too many")
                    .possible(format!("`{}` takes {}", family.text, signature(parameters)))
                    .help("drop it"),
            );
            return None;
        };
        if parameter.positional {
            return Some(Place { parameter: position, spelling: 0 });
        }
        let names: Vec<String> =
            parameter.spellings.iter().map(|spelling| format!("`{} = ...`", spelling.name)).collect();
        let text = print_expression(value);
        let meaning = |spelling: &cavi_families::Spelling| {
            let of = match spelling.name {
                "sd" => " for a standard deviation",
                "var" => " for a variance",
                "prec" => " for a precision",
                "cov" => " for a covariance",
                "logit" => " for log odds",
                _ => "",
            };
            format!("`{} = {text}`{of}", spelling.name)
        };
        // The first spelling is the one in which the density is written, and the last the one that most people use.
        let meanings: Vec<String> = parameter.spellings.iter().rev().map(meaning).collect();
        let message = format!("argument {} of `{}` needs a name", position + 1, family.text);
        self.report(
            Diagnostic::error("E0505", message)
                .at(span, "what this number means is not said")
                .possible(format!("it is given as {}", names.join(" or ")))
                .help(format!("write {}", meanings.join(", "))),
        );
        None
    }

    fn given_twice(
        &mut self,
        family: &ast::Name,
        parameter: &Parameter,
        before: &Option<(ArgumentSpec, Span, usize)>,
        place: Place,
        span: Span,
    ) {
        let own = parameter.spellings[place.spelling].name;
        let first = before.as_ref().map(|(_, span, spelling)| (*span, parameter.spellings[*spelling].name));
        let message = match first {
            Some((_, other)) if other != own => {
                format!("`{}` is given both `{other}` and `{own}`, which say the same", family.text)
            }
            Some(_) | None => format!("`{own}` of `{}` is given twice", family.text),
        };
        let mut diagnostic =
            Diagnostic::error("E0502", message).at(span, "the second time").help("keep one of them");
        if let Some((first, _)) = first {
            diagnostic = diagnostic.also(first, "the first time");
        }
        if parameter.spellings.len() > 1 {
            let names: Vec<&str> = parameter.spellings.iter().map(|spelling| spelling.name).collect();
            diagnostic = diagnostic.possible(format!("exactly one of {}", names.join(", ")));
        }
        self.report(diagnostic);
    }

    fn missing(
        &mut self,
        family: &ast::Name,
        all: &[Parameter],
        parameter: &Parameter,
        arguments: &[ast::Argument],
    ) {
        let names: Vec<&str> = parameter.spellings.iter().map(|spelling| spelling.name).collect();
        let span = arguments.last().map_or(family.span, |last| family.span.to(last.value.span));
        let spelled =
            parameter.spellings.iter().find(|own| own.name == "sd").unwrap_or(&parameter.spellings[0]);
        let value = if matches!(spelled.domain, Domain::Unit) { "0.5" } else { "1" };
        let usual = spelled.name;
        let message = format!("`{}` is missing its {}", family.text, names.join(" or "));
        // What stands without a name in an earlier place may have been meant for this one.
        let unnamed = arguments.iter().filter(|argument| argument.name.is_none()).count();
        let place = all.iter().position(|own| own.spellings[0].name == parameter.spellings[0].name);
        let before = all.iter().take(unnamed).map(|own| own.spellings[0].name);
        let before: Vec<String> = before.map(|name| format!("`{name}`")).collect();
        let taken = match (place, before.as_slice()) {
            (Some(place), [.., last]) if place == unnamed => format!(
                "; what stands without a name is taken for its {}: if it was meant for its {}, write the {last} before it",
                before.join(" and "),
                names.join(" or ")
            ),
            _ => String::new(),
        };
        self.report(
            Diagnostic::error("E0503", message)
                .at(
                    span,
                    match names[..] {
                        [only] => format!("needs `{only}`"),
                        _ => format!("needs one of: {}", names.join(", ")),
                    },
                )
                .help(match (names.len(), parameter.extent) {
                    (1, Extent::Scalar) => format!("add `{usual} = {value}`{taken}"),
                    (_, Extent::Scalar) => format!("add one of them, such as `{usual} = {value}`{taken}"),
                    _ => format!("add `{usual} = ...`{taken}"),
                }),
        );
    }

    /// One argument, resolved for the shape and the domain of its parameter.
    #[expect(clippy::too_many_arguments, reason = "the argument, its parameter, and the left it belongs to")]
    fn argument(
        &mut self,
        family: &ast::Name,
        parameter: &Parameter,
        spelling: usize,
        value: &ast::Expression,
        bound: &[Bound],
        left: &[LetterId],
        lenient: bool,
    ) -> Option<ArgumentSpec> {
        let spelled = parameter.spellings[spelling];
        let what = format!("the {} of `{}`", spelled.name, family.text);
        let mut scope = Scope::new(bound.to_vec(), what.clone());
        scope.lenient = lenient;
        scope.simplex = spelled.domain == Domain::Simplex;
        scope.known_only = (spelled.domain == Domain::Covariance).then_some(COVARIANCE);
        match parameter.extent {
            Extent::Scalar => {}
            Extent::Vector => {
                scope.capacity = 1;
                scope.slices = left.iter().copied().take(1).collect();
            }
            Extent::Matrix | Extent::Pairs => {
                scope.capacity = 2;
                scope.slices = left.iter().copied().take(2).collect();
            }
        }
        let resolved = self.expression(&mut scope, value)?;
        if lenient {
            return None;
        }
        let letters = match parameter.extent {
            Extent::Scalar => {
                let free = free_letters(&resolved);
                if let Some(letter) = left.iter().find(|letter| free.contains(letter)) {
                    let letter = self.symbols.letter(*letter).name.clone();
                    self.report(
                        Diagnostic::error("E0408", format!("{what} is one number for the whole slice"))
                            .at(value.span, format!("depends on `{letter}`, the letter of the slice"))
                            .help(format!("sum over it, or leave `{letter}` out")),
                    );
                    return None;
                }
                Vec::new()
            }
            Extent::Vector => {
                if scope.slices.is_empty() {
                    let help = self.vector_for(family, spelled.domain);
                    self.report(
                        Diagnostic::error("E0406", format!("{what} is a vector"))
                            .at(value.span, "one number")
                            .possible("the vector is the slice of an array, or its bare name")
                            .help(help),
                    );
                    return None;
                }
                scope.slices.clone()
            }
            Extent::Matrix | Extent::Pairs => self.matrix_letters(&mut scope, &resolved, &what, value)?,
        };
        let wider = parameter.spellings.iter().find(|own| own.domain == Domain::Real).map(|own| own.name);
        self.check_domain(&what, spelled, wider, &resolved, value.span)?;
        Some(ArgumentSpec { spelling, value: resolved, letters, inverse: None, span: value.span })
    }

    /// Row and column of a matrix; one that depends on neither is no matrix.
    fn matrix_letters(
        &mut self,
        scope: &mut Scope,
        value: &Expression,
        what: &str,
        written: &ast::Expression,
    ) -> Option<Vec<LetterId>> {
        let free = free_letters(value);
        let (Some(row), true) =
            (scope.slices.first().copied(), scope.slices.iter().any(|letter| free.contains(letter)))
        else {
            let help = match scope.slices.first() {
                Some(row) => self.multiple_of_identity(scope, *row, written),
                None => "mark its rows and columns by slices on the left".to_owned(),
            };
            self.report(
                Diagnostic::error("E0407", format!("{what} is a matrix"))
                    .at(written.span, "one number")
                    .help(help),
            );
            return None;
        };
        if scope.slices.len() == 1 {
            scope.slices.push(self.column_of(scope, row));
        }
        Some(scope.slices.clone())
    }

    /// `2 * [i == j]`, and where the axis has one letter, the declaration of another.
    fn multiple_of_identity(&self, scope: &Scope, row: LetterId, written: &ast::Expression) -> String {
        let number = print_expression(written);
        let number = match written.kind {
            ast::ExpressionKind::Binary(ast::BinaryOperator::Add | ast::BinaryOperator::Subtract, ..) => {
                format!("({number})")
            }
            _ => number,
        };
        let letter = self.symbols.letter(row).name.clone();
        let axis = self.symbols.letter(row).axis;
        let mut others = self.symbols.axis(axis).letters.iter().copied();
        // The second slice of a square matrix is the letter of its columns.
        let is_free = |other: &LetterId| scope.slices.contains(other) || !scope.holds(*other);
        match others.find(|other| *other != row && is_free(other)) {
            Some(other) => {
                let other = &self.symbols.letter(other).name;
                format!("write `{number} * [{letter} == {other}]`, a multiple of the identity")
            }
            None => {
                let (fresh, names) = (self.free_letter(), self.letter_names(axis).join(", "));
                let axis = &self.symbols.axis(axis).name;
                format!(
                    "write `{number} * [{letter} == {fresh}]`, a multiple of the identity, with a second letter: `axis {axis}[{names}, {fresh}]`"
                )
            }
        }
    }

    /// A vector parameter of a family whose left has no slice runs over the axis of the positions that the family
    /// describes.
    fn vector_for(&mut self, family: &ast::Name, domain: Domain) -> String {
        let draft = self.drafts.iter().find(|draft| draft.ast.family.span == family.span);
        let axis =
            draft.map(|draft| (draft.target, &draft.ast.target.name.text)).and_then(|(id, name)| match self
                .symbols
                .array(id)
                .support
            {
                Support::Index(axis) if self.facts[id.index()].has_support => Some(axis),
                _ => self.selected_by(name),
            });
        let letter = axis.and_then(|axis| self.letter_names(axis).first().cloned());
        let simplex = cavi_families::families().iter().find(|own| own.latent() == Some(Support::Simplex));
        let name = self.free_name(&["pi", "p", "share", "weight"]);
        let unknown = if letter.is_none() { ", with the letter of the classes for `k`" } else { "" };
        let letter = letter.unwrap_or_else(|| "k".to_owned());
        match simplex.filter(|_| domain == Domain::Simplex) {
            Some(prior) => format!(
                "declare `{name}[:{letter}] ~ {}(1)`, and write `{}({name})`{unknown}",
                prior.name(),
                family.text
            ),
            None => format!("declare `const {name}[{letter}]`, and write `{}({name})`{unknown}", family.text),
        }
    }

    /// The axis of the subscript in which a variable stands in some statement.
    fn selected_by(&self, name: &str) -> Option<cavi_algebra::AxisId> {
        let mut axis = None;
        for argument in self.drafts.iter().flat_map(|draft| &draft.ast.arguments) {
            visit_references(&argument.value, &mut |reference, _| {
                let Some(Named::Array(id)) = self.names.get(&reference.name.text).copied() else { return };
                let Some(shape) = &self.shapes[id.index()] else { return };
                for (subscript, slot) in reference.subscripts.iter().flatten().zip(&shape.slots) {
                    if matches!(subscript, ast::Subscript::Reference(inner) if inner.name.text == name) {
                        axis = axis.or(Some(slot.axis));
                    }
                }
            });
        }
        axis
    }

    /// The letter of the columns of a matrix with these rows: another one of the axis.
    pub(super) fn column_of(&mut self, scope: &Scope, row: LetterId) -> LetterId {
        let axis = self.symbols.letter(row).axis;
        let other = self.symbols.axis(axis).letters.iter().copied().find(|letter| !scope.holds(*letter));
        let parent = self.symbols.letter(row).parent;
        match (other, parent) {
            (Some(letter), None) => letter,
            (Some(letter), Some(parent)) => self.inside(letter, parent),
            (None, parent) => self.symbols.fresh(row, parent),
        }
    }

    /// Whatever is known of a value before data are bound must lie in the domain of the parameter. `wider` is the
    /// name under which the parameter may be any number.
    pub(super) fn check_domain(
        &mut self,
        what: &str,
        spelled: cavi_families::Spelling,
        wider: Option<&str>,
        value: &Expression,
        span: Span,
    ) -> Option<()> {
        let domain = spelled.domain;
        let needs = match domain {
            Domain::Real => return Some(()),
            Domain::Positive => "greater than 0",
            Domain::DegreesOfFreedom => "greater than the size of the axis less 1",
            Domain::Nonnegative => "0 or greater",
            Domain::Unit => "from 0 to 1",
            Domain::Simplex => "from 0 to 1, and sum to 1",
            Domain::Count => "a whole number, 0 or greater",
            Domain::PositiveDefinite | Domain::Covariance => return Some(()),
        };
        if let Some(number) = self.known_number(value) {
            let fits = match domain {
                Domain::Real | Domain::PositiveDefinite | Domain::Covariance => true,
                Domain::Positive | Domain::DegreesOfFreedom => number > 0.0,
                Domain::Nonnegative => number >= 0.0,
                Domain::Unit | Domain::Simplex => (0.0..=1.0).contains(&number),
                Domain::Count => number >= 0.0 && number.fract() == 0.0,
            };
            if !fits {
                self.report(
                    Diagnostic::error("E0506", format!("{what} is {number}"))
                        .at(span, format!("must be {needs}"))
                        .help(match value {
                            Expression::Value(id, _) => {
                                let name = &self.symbols.array(*id).name;
                                format!(
                                    "give `{name}` a value that is {needs}, here or with `--set {name}=...`"
                                )
                            }
                            _ => format!("write a value that is {needs}"),
                        }),
                );
                return None;
            }
        }
        // A latent, alone, with a support that reaches outside.
        let Expression::Value(id, _) = value else { return Some(()) };
        if self.symbols.array(*id).kind != ArrayKind::Latent {
            return Some(());
        }
        let support = self.symbols.array(*id).support;
        let outside = match domain {
            Domain::Real
            | Domain::Simplex
            | Domain::Count
            | Domain::PositiveDefinite
            | Domain::Covariance => false,
            Domain::Positive | Domain::Nonnegative | Domain::DegreesOfFreedom => support == Support::Real,
            Domain::Unit => {
                matches!(support, Support::Real | Support::Positive | Support::Nonnegative | Support::Count)
            }
        };
        if outside {
            let name = self.symbols.array(*id).name.clone();
            let where_it_lies = match support {
                Support::Real => "may be any number",
                _ => "may be greater than 1",
            };
            let priors: Vec<&str> = cavi_families::families()
                .iter()
                .filter(|family| family.latent().is_some_and(|latent| inside(latent, domain)))
                .filter(|family| cavi_families::fits_a_log(**family))
                .map(|family| family.name())
                .collect();
            self.report(
                Diagnostic::error("E0512", format!("{what} must be {needs}, and `{name}` {where_it_lies}"))
                    .at(span, format!("`{name}` reaches outside"))
                    .also(self.array_spans[id.index()], "its prior is here")
                    .possible(format!("priors that stay inside: {}", priors.join(", ")))
                    .help(match (wider, domain) {
                        (Some(wider), _) => {
                            format!("write `{wider} = {name}`, or give `{name}` such a prior: {}", priors.join(", "))
                        }
                        (None, Domain::Unit) => "give it such a prior".to_owned(),
                        (None, _) => format!(
                            "give it such a prior, or write `{} = exp({name})` and `posterior {{ point {name} }}`",
                            spelled.name
                        ),
                    }),
            );
            return None;
        }
        Some(())
    }
}

/// Whether a support lies inside a domain.
fn inside(support: Support, domain: Domain) -> bool {
    match domain {
        Domain::Positive | Domain::Nonnegative | Domain::DegreesOfFreedom => {
            matches!(support, Support::Positive | Support::Nonnegative)
        }
        Domain::Unit => support == Support::Unit,
        Domain::Real | Domain::Simplex | Domain::Count | Domain::PositiveDefinite | Domain::Covariance => {
            true
        }
    }
}

/// Names that other systems use.
const SYNONYMS: &[(&[&str], &str)] = &[
    (&["sigma", "std", "stdev", "stddev", "scale", "standard_deviation"], "sd"),
    (&["tau", "precision"], "prec"),
    (&["variance", "sigma2"], "var"),
    (&["mu", "loc", "location", "m"], "mean"),
    (&["alpha", "a", "k", "concentration"], "shape"),
    (&["beta", "b", "lambda", "inverse_scale"], "rate"),
    (&["theta"], "scale"),
    (&["alpha", "conc", "a"], "concentration"),
    (&["alpha", "shape1"], "a"),
    (&["beta", "b"], "scale"),
    (&["beta", "shape2"], "b"),
    (&["prob", "probability", "probabilities", "theta", "probs"], "p"),
    (&["lambda", "mu"], "rate"),
    (&["n", "trials", "size", "count"], "total"),
    (&["logits"], "logit"),
    (&["precision"], "prec"),
    (&["covariance", "sigma"], "cov"),
    (&["df", "nu"], "dof"),
];

/// The parameters of a family as `grammar/README.md` lists them: `mean; prec, var, sd`.
fn signature(parameters: &[Parameter]) -> String {
    let each = parameters.iter().map(|parameter| {
        let names: Vec<&str> = parameter.spellings.iter().map(|spelling| spelling.name).collect();
        names.join(" or ")
    });
    each.collect::<Vec<_>>().join("; ")
}

/// The letters that an expression depends on.
pub(crate) fn free_letters(expression: &Expression) -> Vec<LetterId> {
    let mut letters = Vec::new();
    match expression {
        Expression::Number(_) => {}
        Expression::Position(letter) => letters.push(*letter),
        Expression::Value(_, subscripts) => {
            subscripts.iter().for_each(|subscript: &Subscript| subscript.letters(&mut letters))
        }
        Expression::Indicator(_, left, right) => letters.extend([*left, *right]),
        Expression::Sum(summed, body) => {
            letters.extend(free_letters(body).into_iter().filter(|letter| !summed.contains(letter)));
        }
        Expression::Add(parts) | Expression::Multiply(parts) => {
            letters.extend(parts.iter().flat_map(free_letters))
        }
        Expression::Power(base, exponent) => {
            letters.extend(free_letters(base));
            letters.extend(free_letters(exponent));
        }
        Expression::Apply(_, argument) | Expression::OfMatrix(_, argument, ..) => {
            letters.extend(free_letters(argument));
        }
    }
    dedup(letters)
}

/// Two arguments without names where the first stands for a vector and the second needs a name: a total and probabilities, in
/// the order of other languages.
fn total_first(
    name: &ast::Name,
    parameters: &[Parameter],
    arguments: &[ast::Argument],
) -> Option<Diagnostic> {
    let ([first, second], [vector, total]) = (arguments, parameters) else { return None };
    let number = matches!(first.value.kind, ast::ExpressionKind::Number(..));
    let unnamed = first.name.is_none() && second.name.is_none();
    let counts = total.extent == Extent::Scalar;
    if !unnamed || !number || vector.extent != Extent::Vector || total.positional || !counts {
        return None;
    }
    let (p, n) = (vector.spellings[0].name, total.spellings[0].name);
    Some(
        Diagnostic::error(
            "E0505",
            format!("argument 1 of `{}` is `{p}`, and one number is found", name.text),
        )
        .at(first.value.span, format!("no vector; a `{n}` has its name before it"))
        .possible(format!("`{}` takes {}", name.text, signature(parameters)))
        .help(format!(
            "write `{}({p} = ..., {n} = ...)`; data bring their totals, so that `{}({p} = ...)` is enough",
            name.text, name.text
        )),
    )
}
