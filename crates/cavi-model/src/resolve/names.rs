//! Looking names up, and answering where there is none.

use cavi_algebra::{ArrayId, ArrayKind, AxisId, LetterId, Support};
use cavi_families::families;
use cavi_syntax::{Diagnostic, Span, ast, cut_off_by_name, nearest, print_reference};

use super::elsewhere::family_elsewhere;
use super::expressions::is_function;
use super::intervals::in_place_of_interval;
use super::mixtures::in_place_of;
use super::places::{How, Scope};
use super::{Named, Resolver};

/// So many unknown names get advice: a look through all names for each of thousands would take seconds.
const MOST_ADVISED: usize = 200;

impl Resolver<'_> {
    /// The letter of a name; an error where there is none.
    pub fn letter(&mut self, name: &ast::Name) -> Option<LetterId> {
        if let Some(letter) = self.letters.get(&name.text) {
            return Some(*letter);
        }
        self.unknown_letter(name, None, None);
        None
    }

    /// The letter of a subscript of `target` on a left; an error where there is none.
    pub fn letter_of(&mut self, name: &ast::Name, target: &str) -> Option<LetterId> {
        if let Some(letter) = self.letters.get(&name.text) {
            return Some(*letter);
        }
        self.unknown_letter(name, None, Some(target));
        None
    }

    /// Whether another subscript of a reference is a letter that stands for this one.
    pub fn names_elsewhere(
        &self,
        scope: &Scope,
        written: &[ast::Subscript],
        name: &ast::Name,
        actual: LetterId,
    ) -> bool {
        written.iter().any(|subscript| {
            let other = match subscript {
                ast::Subscript::Slice(other) => other,
                ast::Subscript::Reference(inner) if inner.subscripts.is_none() => &inner.name,
                ast::Subscript::Reference(_) => return false,
            };
            let bound = self.letters.get(&other.text).and_then(|letter| scope.find(*letter));
            other.text != name.text && bound.is_some_and(|bound| bound.actual == actual)
        })
    }

    /// Reports a subscript that is neither a letter nor an array.
    fn unknown_letter(&mut self, name: &ast::Name, axis: Option<AxisId>, target: Option<&str>) {
        if !self.reported.insert(format!("letter {}", name.text)) || self.letters_unknown {
            return;
        }
        let near = nearest(&name.text, self.letters.keys().map(String::as_str)).map(str::to_owned);
        let possible = match axis {
            Some(axis) => format!(
                "axis `{}` has the letters {}",
                self.symbols.axis(axis).name,
                self.letter_names(axis).join(", ")
            ),
            None => format!("letters: {}", join(self.letters.keys())),
        };
        let mut diagnostic = Diagnostic::error("E0205", format!("`{}` is no letter of any axis", name.text))
            .at(name.span, "unknown letter")
            .possible(possible);
        let declared = target.and_then(|target| match self.names.get(target) {
            Some(Named::Array(id)) => self.shapes[id.index()].as_ref().map(|shape| self.spell(target, shape)),
            _ => None,
        });
        diagnostic = match (near, declared) {
            (Some(near), _) => diagnostic.help(format!("did you mean `{near}`?")),
            (None, Some(declared)) => diagnostic.help(format!(
                "write `{declared}`, as it is declared; a new letter is declared with its axis, `axis NAME[{}]`",
                name.text
            )),
            (None, None) => diagnostic.help(format!("declare it with its axis, `axis NAME[{}]`", name.text)),
        };
        self.report(diagnostic);
    }

    /// What a name in a subscript stands for, once it is known to be no letter.
    pub fn look_up_subscript(&mut self, inner: &ast::Reference, axis: AxisId) -> Option<Named> {
        let name = &inner.name;
        if let Some(named) = self.names.get(&name.text) {
            return Some(*named);
        }
        if self.reported.contains(&name.text) {
            return None;
        }
        if inner.subscripts.is_none() {
            self.unknown_letter(name, Some(axis), None);
            return None;
        }
        self.unknown_name(name, None);
        None
    }

    /// What a reference of an expression names; an error where that is unknown, once for each name.
    pub fn look_up_in(&mut self, scope: &Scope, reference: &ast::Reference) -> Option<Named> {
        let name = &reference.name;
        if let Some(named) = self.names.get(&name.text) {
            return Some(*named);
        }
        if !self.reported.contains(&name.text) {
            let help = self.declaration_of(scope, reference);
            self.unknown_name(name, Some(help));
        }
        None
    }

    /// How a name that is read like this would be declared.
    fn declaration_of(&mut self, scope: &Scope, reference: &ast::Reference) -> String {
        let name = &reference.name.text;
        let mut letters: Vec<(String, Option<How>)> = Vec::new();
        for subscript in reference.subscripts.iter().flatten() {
            match subscript {
                ast::Subscript::Slice(letter) => letters.push((letter.text.clone(), Some(How::Own))),
                ast::Subscript::Reference(inner) => match self.names.get(&inner.name.text).copied() {
                    // An index stands where a letter of its axis would.
                    Some(Named::Array(id)) if !self.letters.contains_key(&inner.name.text) => {
                        if let Some(Support::Index(axis)) = self.support(id)
                            && let Some(letter) = self.letter_names(axis).first()
                        {
                            letters.push((letter.clone(), None));
                        }
                    }
                    _ => {
                        let letter = self.letters.get(&inner.name.text);
                        let how = letter.and_then(|letter| scope.find(*letter)).map(|bound| bound.how);
                        letters.push((inner.name.text.clone(), how));
                    }
                },
            }
        }
        let sliced = |how: &Option<How>| matches!(how, Some(How::LeftSlice | How::Own));
        let mut marked: Vec<bool> = letters.iter().map(|(_, how)| sliced(how)).collect();
        if scope.simplex && !marked.contains(&true) {
            // In a product of probabilities, the factor with the summed letter sums to 1 along it: that letter is its
            // slice.
            if let Some(last) = letters.iter().rposition(|(_, how)| *how == Some(How::Sum)) {
                marked[last] = true;
            }
        }
        let spelled = |colons: bool| {
            let one = |((letter, _), marked): (&(String, Option<How>), &bool)| {
                if colons && *marked { format!(":{letter}") } else { letter.clone() }
            };
            let all: Vec<String> = letters.iter().zip(&marked).map(one).collect();
            if all.is_empty() { name.clone() } else { format!("{name}[{}]", all.join(", ")) }
        };
        if scope.simplex {
            let simplex = families().iter().find(|family| family.latent() == Some(Support::Simplex));
            let family = simplex.map_or("Family", |family| family.name());
            let written = if marked.contains(&true) { spelled(true) } else { format!("{name}[:k]") };
            let which = if marked.contains(&true) { "" } else { ", with the letter of the classes for `k`" };
            return format!("an unknown needs a prior: `{written} ~ {family}(1)`{which}");
        }
        let (prior, given) = (spelled(true), spelled(false));
        format!(
            "an unknown needs a prior, `{prior} ~ Family(...)`; what is given needs `data {given} : real` or `const {given}`"
        )
    }

    /// A name that the program has not taken: the first of `wishes` that is free, else one with a number.
    pub fn free_name(&self, wishes: &[&str]) -> String {
        let taken = |name: &str| self.names.contains_key(name) || self.letters.contains_key(name);
        let free = wishes.iter().find(|name| !taken(name)).map(|name| (*name).to_owned());
        free.unwrap_or_else(|| {
            let numbered = (1..).map(|number| format!("{}{number}", wishes[0]));
            numbered.into_iter().find(|name| !taken(name)).expect("there are more numbers than names")
        })
    }

    /// A letter that the program has not taken.
    pub fn free_letter(&self) -> String {
        self.free_name(&["l", "m", "p", "q2", "r", "s", "t", "u"])
    }

    /// Looks a name up; an unknown one is an error, which is reported once for each name.
    pub fn look_up(&mut self, name: &ast::Name) -> Option<Named> {
        if let Some(named) = self.names.get(&name.text) {
            return Some(*named);
        }
        if !self.reported.contains(&name.text) {
            self.unknown_name(name, None);
        }
        None
    }

    /// Reports a name that is not declared; `help` says how it would be, unless a name near to it was meant.
    fn unknown_name(&mut self, name: &ast::Name, help: Option<String>) {
        self.reported.insert(name.text.clone());
        if let Some(letter) = self.letters.get(&name.text) {
            let axis = self.symbols.axis(self.symbols.letter(*letter).axis).name.clone();
            self.report(
                Diagnostic::error(
                    "E0315",
                    format!("`{}` is a letter of axis `{axis}`, not a number", name.text),
                )
                .at(name.span, "a letter used as a number")
                .possible("a letter stands in subscripts, after `sum`, and in `[i == j]`")
                .help(format!("declare `data position[{0}] : real` and write `position[{0}]`", name.text)),
            );
            return;
        }
        // Of a long list of unknown names the first get advice.
        let is_one_of_many = self.reported.len() > MOST_ADVISED;
        let near =
            (!is_one_of_many).then(|| nearest(&name.text, self.variables())).flatten().map(str::to_owned);
        let known = if is_one_of_many { String::new() } else { join(self.variables()) };
        let mut diagnostic = Diagnostic::error("E0201", format!("`{}` is not declared", name.text))
            .at(name.span, "no data, constant, `~` or `=` has this name");
        if !known.is_empty() {
            diagnostic = diagnostic.possible(format!("names: {known}"));
        }
        diagnostic = match near {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(help.unwrap_or_else(|| {
                format!(
                    "an unknown needs a prior, `{0} ~ Family(...)`; what is given needs `data {0}` or `const {0}`",
                    name.text
                )
            })),
        };
        self.report(diagnostic);
    }

    /// The names of arrays and definitions.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|(_, named)| !matches!(named, Named::Axis(_))).map(|(name, _)| name.as_str())
    }

    /// The axis of a name; an error where there is none.
    pub fn axis(&mut self, name: &ast::Name) -> Option<AxisId> {
        if let Some(Named::Axis(axis)) = self.names.get(&name.text) {
            return Some(*axis);
        }
        let other = self.names.contains_key(&name.text);
        if !other && !self.reported.insert(name.text.clone()) {
            return None;
        }
        let axes: Vec<&str> = self.symbols.axes.iter().map(|axis| axis.name.as_str()).collect();
        let near = nearest(&name.text, axes.iter().copied()).map(str::to_owned);
        let message = if other {
            format!("`{}` is a variable, not an axis", name.text)
        } else {
            format!("there is no axis `{}`", name.text)
        };
        let mut diagnostic = Diagnostic::error("E0204", message).at(name.span, "expected an axis");
        if !axes.is_empty() {
            diagnostic = diagnostic.possible(format!("axes: {}", axes.join(", ")));
        }
        let of = self.letters.get(&name.text).map(|letter| self.symbols.letter(*letter).axis);
        let of = of.map(|axis| self.symbols.axis(axis).name.clone());
        diagnostic = match near.or(of) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help(format!("declare it: `axis {}[letter]`", name.text)),
        };
        self.report(diagnostic);
        None
    }

    /// The family of a statement or draw; an error where there is none of that name.
    pub fn family(
        &mut self,
        ast: &ast::Distribution,
        observed: bool,
    ) -> Option<&'static dyn cavi_families::Family> {
        let name = &ast.family;
        if let Some(family) = cavi_families::family(&name.text) {
            return Some(family);
        }
        let names: Vec<&str> = families().iter().map(|family| family.name()).collect();
        let list = format!("families: {}", names.join(", "));
        let statements: Vec<&ast::Distribution> = self.drafts.iter().map(|draft| draft.ast).collect();
        let definitions: Vec<&ast::Expression> = self.definitions.iter().map(|own| own.value).collect();
        let of_interval = if observed { None } else { in_place_of_interval(ast, &statements, &definitions) };
        let instead = of_interval.or_else(|| in_place_of(ast, observed));
        let diagnostic = if let Some((is, lines)) = instead {
            Diagnostic::error("E0208", format!("`{}` is no family: {is}", name.text))
                .at(name.span, "no family")
                .possible(list)
                .help(lines)
        } else {
            let diagnostic = Diagnostic::error("E0208", format!("there is no family `{}`", name.text))
                .at(name.span, "unknown family")
                .possible(list);
            let near = nearest(&name.text, names.iter().copied());
            let cut = cut_off_by_name(&name.text).map(|cut| cut.advice(&ast.target.name.text));
            match family_elsewhere(&name.text)
                .map(str::to_owned)
                .or(cut)
                .or(near.map(|near| format!("did you mean `{near}`?")))
            {
                Some(help) => diagnostic.help(help),
                None if is_function(&name.text) => {
                    diagnostic.help(format!("for a deterministic name write `... = {}(...)`", name.text))
                }
                None => diagnostic.help(
                    "write it as a mixture or a transform of these: a Student t is a Normal whose precision has a Gamma prior; \
                     data whose logarithm has a family are derived data, `data y[n] = log(x[n])`",
                ),
            }
        };
        self.report(diagnostic);
        None
    }

    /// Reports a variable that is no index in a subscript of the axis `wanted`. One of two values may become a position.
    pub fn no_position(&mut self, inner: &ast::Reference, id: ArrayId, wanted: AxisId) {
        let array = self.symbols.array(id);
        let (name, kind) = (array.name.clone(), array.kind);
        if array.support != Support::Binary {
            let found = self.kind_in_words(id);
            self.no_index(inner, &format!("is {found}"));
            return;
        }
        let letter = self.letter_names(wanted).first().cloned().unwrap_or_else(|| "c".to_owned());
        let axis = self.symbols.axis(wanted).name.clone();
        let (found, help) = match kind {
            ArrayKind::Latent => {
                let share = self.free_name(&["share", "weight", "chance"]);
                let left = print_reference(inner);
                let help = format!(
                    "a position is drawn by a Categorical: `{share}[:{letter}] ~ Dirichlet(1)` and `{left} ~ \
                     Categorical({share})`, with `axis {axis}[{letter}] = 2`"
                );
                ("is a latent of the values 0 and 1, which are no positions", help)
            }
            ArrayKind::Data | ArrayKind::Constant => {
                let help =
                    format!("declare it as `data {name}[...] : index {axis}`: 0 is then the first position");
                ("has the values 0 and 1, which are no positions", help)
            }
        };
        self.report(
            Diagnostic::error("E0308", format!("`{name}` {found}, and stands in a subscript"))
                .at(inner.span, "not an index")
                .possible("a subscript is a letter, a slice `:k`, or an element of an index array")
                .help(help),
        );
    }

    pub fn no_index(&mut self, inner: &ast::Reference, found: &str) {
        let name = &inner.name.text;
        self.report(
            Diagnostic::error("E0308", format!("`{name}` {found}, and stands in a subscript"))
                .at(inner.span, "not an index")
                .possible("a subscript is a letter, a slice `:k`, or an element of an index array")
                .help("an index array is data of type `index AXIS`, or a latent with a Categorical prior"),
        );
    }

    /// What an array is, in words: `data of type real`.
    pub fn kind_in_words(&self, id: ArrayId) -> String {
        let array = self.symbols.array(id);
        match array.kind {
            ArrayKind::Data => format!("data of type `{}`", self.type_in_words(array.support)),
            ArrayKind::Constant => "a constant".to_owned(),
            ArrayKind::Latent => "a latent that is no index".to_owned(),
        }
    }

    /// A support as a data type.
    pub fn type_in_words(&self, support: Support) -> String {
        match support {
            Support::Real => "real".to_owned(),
            Support::Positive => "positive".to_owned(),
            Support::Nonnegative => "nonnegative".to_owned(),
            Support::Unit => "unit".to_owned(),
            Support::Count => "count".to_owned(),
            Support::Binary => "binary".to_owned(),
            Support::Simplex => "simplex".to_owned(),
            Support::Index(axis) => {
                // A constant or latent whose axis is not known yet has a place holder there.
                let axis = self.symbols.axes.get(axis.index()).map_or("?", |axis| axis.name.as_str());
                format!("index {axis}")
            }
            Support::Multiplicity => "multiplicity".to_owned(),
            Support::PositiveDefinite => "positive definite".to_owned(),
        }
    }

    /// Reports that a name has a meaning already. Says whether it had.
    pub fn taken(&mut self, name: &ast::Name) -> bool {
        let Some(named) = self.names.get(&name.text).copied() else { return false };
        let (what, span) = match named {
            Named::Axis(id) => ("an axis", self.axis_spans[id.index()]),
            Named::Array(id) => (
                match self.symbols.array(id).kind {
                    ArrayKind::Data => "data",
                    ArrayKind::Constant => "a constant",
                    ArrayKind::Latent => "a latent variable",
                },
                self.array_spans[id.index()],
            ),
            Named::Definition(index) => ("a deterministic name", self.definitions[index].name.span),
        };
        self.duplicate(&name.text, name.span, what, span);
        true
    }

    fn duplicate(&mut self, name: &str, span: Span, what: &str, before: Span) {
        self.report(
            Diagnostic::error("E0202", format!("`{name}` is declared twice"))
                .at(span, "the second time")
                .also(before, format!("{what} already"))
                .possible("axes, data, constants, latents and deterministic names share one namespace")
                .help("give one of them another name"),
        );
    }
}

/// Names with commas between them, cut where there are many.
pub(super) fn join<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    if names.len() > 24 { format!("{}, ...", names[..24].join(", ")) } else { names.join(", ") }
}
