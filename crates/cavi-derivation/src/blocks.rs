//! The factorisation of q: by default one factor for each copy and slice of a variable; `posterior` states departures.

use cavi_algebra::{
    ArrayId, ArrayKind, Atom, BlockId, BoundId, LetterId, Mode, Restriction, Subscript, Sum, Support,
    Symbols, Term,
};
use cavi_families::{joins, of_any_length, posterior, posteriors, recognise};
use cavi_model::{BlockKind, BlockSpec, Model, Statement};
use cavi_syntax::{Diagnostic, Span};

use crate::bounds::{Bound, asked_for, bounds};
use crate::derive::Derivation;
use crate::explain::families_on;
use crate::joint::{multiplicities_as_written, multiplicities_of};

/// A block before its equations are derived.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The variables.
    pub members: Vec<ArrayId>,
    /// The letters that number the copies, but for the groups of a slice over a ragged axis.
    pub plates: Vec<LetterId>,
    /// For each member, its own letters that run with `plates`, in their order.
    pub member_plates: Vec<Vec<LetterId>>,
    /// For each member, the letters of its slice.
    pub slices: Vec<Vec<LetterId>>,
    /// What kind of factor.
    pub mode: Mode,
    /// The class letter of an index variable.
    pub classes: Option<LetterId>,
    /// For each member, second letters for its slice, for outer products.
    pub second: Vec<Vec<LetterId>>,
    /// The bound asked for, where an exact update exists.
    pub by: Option<BoundId>,
    /// Whether the program says `clamp`.
    pub clamp: bool,
    /// Where the block is stated: the line in `posterior`, or the statement of its first member.
    pub span: Span,
}

impl Draft {
    /// Whether its variables are replaced by expectations.
    pub fn is_random(&self) -> bool {
        match self.mode {
            Mode::Distribution | Mode::Fixed | Mode::Implicit => true,
            Mode::Point => false,
        }
    }

    /// All letters that number the copies.
    pub fn copies(&self, symbols: &Symbols) -> Vec<LetterId> {
        match self.slices.as_slice() {
            [slices] => symbols.copies(&self.plates, slices),
            _ => self.plates.clone(),
        }
    }

    /// The multiplicities of its copies.
    pub fn multiplicities(&self, model: &Model, symbols: &Symbols) -> Vec<Atom> {
        let renamed = model.statement_of(self.members[0]).map_or(&[][..], |own| &own.renamed);
        multiplicities_as_written(symbols, &self.copies(symbols), renamed)
    }

    /// Which of its copies exist, where it is data with a restriction.
    pub fn exists(&self, symbols: &Symbols) -> Option<Atom> {
        let restriction = symbols.array(self.members[0]).restriction?;
        let written = |letter: LetterId| {
            let place = self.member_plates[0].iter().position(|own| *own == letter);
            Subscript::Letter(self.plates[place.expect("a slice along a letter of a restriction is refused")])
        };
        Some(match restriction {
            Restriction::Different(left, right) => {
                // In the order in which canonical sums have the two.
                let [left, right] = [written(left), written(right)];
                if left <= right { Atom::Different(left, right) } else { Atom::Different(right, left) }
            }
            Restriction::Less(left, right) => Atom::Less(written(left), written(right)),
        })
    }

    /// The terms of a sum that hold one of its variables.
    pub fn terms_of(&self, sum: &Sum) -> Sum {
        let holds = |term: &&Term| self.members.iter().any(|member| term.mentions(*member));
        Sum { terms: sum.terms.iter().filter(holds).cloned().collect() }
    }

    /// Whether its variables are the elements of one vector, not of one slice: several that are real.
    pub fn is_one_vector(&self, symbols: &Symbols) -> bool {
        let real = |member: &ArrayId| symbols.array(*member).support == Support::Real;
        self.members.len() > 1 && self.members.iter().all(real)
    }
}

/// The block that holds a variable.
pub fn block_of(drafts: &[Draft], array: ArrayId) -> Option<BlockId> {
    drafts.iter().position(|draft| draft.members.contains(&array)).map(BlockId::from)
}

/// Data that may have missing entries, stand on the right of a statement as well as on the left of their own, and have a
/// family with a q: their missing entries are latent, and so the whole array is treated as one, its observed entries as
/// point masses.
pub fn partly_latent(model: &Model) -> Vec<ArrayId> {
    let mut read: Vec<ArrayId> = Vec::new();
    for argument in model.statements.iter().flat_map(|statement| statement.arguments.iter().flatten()) {
        argument.value.visit_values(&mut |array, _| read.push(array));
    }
    model
        .statements
        .iter()
        .filter(|statement| statement.observed)
        .filter(|statement| statement.family.latent().is_some())
        .map(|statement| statement.target)
        .filter(|target| model.symbols.array(*target).absent.missing && read.contains(target))
        .collect()
}

/// Drafts every block, in the order of their first members' statements.
pub fn blocks(derivation: &mut Derivation) -> Vec<Draft> {
    let model = derivation.model;
    let mut drafts: Vec<Draft> = Vec::new();
    let latent = |statement: &&Statement| {
        !statement.observed || derivation.symbols.array(statement.target).kind == ArrayKind::Latent
    };
    let statements: Vec<&Statement> = model.statements.iter().filter(latent).collect();
    for statement in statements {
        let target = statement.target;
        if block_of(&drafts, target).is_some() {
            continue;
        }
        let spec = model.blocks.iter().find(|spec| spec.members.contains(&target));
        let default = BlockSpec {
            members: vec![target],
            slices: vec![statement.slices.clone()],
            kind: BlockKind::Joint,
            by: None,
            clamp: false,
            span: statement.span,
        };
        let spec = spec.unwrap_or(&default);
        drafts.push(draft(derivation, spec));
    }
    drafts
}

/// A position on an axis cannot be a point, since sweeps cannot climb towards its maximiser; nor can data with
/// missing entries.
fn refuse_point(derivation: &mut Derivation, spec: &BlockSpec) {
    for member in &spec.members {
        let own = derivation.model.symbols.array(*member);
        let (message, help) = match (own.kind, own.support) {
            (ArrayKind::Data, _) => (
                format!("`{}` is data, whose missing entries are latent: they are no point", own.name),
                format!(
                    "leave `point {}` out: the missing entries then have the q of their own statement",
                    own.name
                ),
            ),
            (_, Support::Index(_)) => (
                format!("`{}` is a position on an axis, and no point", own.name),
                format!(
                    "leave `point {}` out, or write `implicit {}`: its q is then always at its optimum",
                    own.name, own.name
                ),
            ),
            _ => continue,
        };
        derivation.diagnostics.push(
            Diagnostic::error("E0796", message)
                .at(spec.span, "stated here")
                .possible("points that are numbers: real, positive, between 0 and 1, or on a simplex")
                .help(help),
        );
    }
}

/// The observed entries of data are point masses in a factor of their own. In a joint or implicit factor they would be forgotten.
fn refuse_data(derivation: &mut Derivation, spec: &BlockSpec) {
    let symbols = &derivation.model.symbols;
    let is_data = |member: &&ArrayId| symbols.array(**member).kind == ArrayKind::Data;
    let Some(member) = spec.members.iter().find(is_data) else { return };
    let name = &symbols.array(*member).name;
    let (factor, possible) = match spec.kind {
        BlockKind::Implicit => ("an implicit factor", "implicit factors of latents"),
        _ => ("a joint factor", "joint factors of latents"),
    };
    let message = format!("`{name}` is data: {factor} would forget the values that were observed");
    let missing = match symbols.array(*member).absent.missing {
        true => ": its missing entries then have the q of its own statement",
        false => "",
    };
    derivation.diagnostics.push(
        Diagnostic::error("E0797", message)
            .at(spec.span, "stated here")
            .possible(possible)
            .help(format!("leave `{name}` out of the line{missing}")),
    );
}

/// A slice along rows that have a multiplicity: each row stands for so many equal ones, which have a factor each, and a factor of several rows
/// would have to be several at once.
fn refuse_weighed_slices(
    derivation: &mut Derivation,
    spec: &BlockSpec,
    members: &[ArrayId],
    slices: &[Vec<LetterId>],
) {
    let (model, symbols) = (derivation.model, &derivation.symbols);
    for (member, own) in members.iter().zip(slices) {
        let Some(statement) = model.statement_of(*member) else { continue };
        let weighed = multiplicities_of(symbols, statement).into_iter().find_map(|atom| {
            let Atom::Value(weight, subscripts) = atom else { return None };
            let mut letters = Vec::new();
            subscripts.iter().for_each(|subscript| subscript.letters(&mut letters));
            letters.into_iter().find(|letter| own.contains(letter)).map(|letter| (weight, letter))
        });
        let Some((weight, letter)) = weighed else { continue };
        let name = |array: ArrayId| &symbols.array(array).name;
        let (member, weight, letter) = (name(*member), name(weight), &symbols.letter(letter).name);
        let message =
            format!("`{member}` has a slice along `{letter}`, and `{weight}` is a multiplicity there");
        let diagnostic = Diagnostic::error("E0797", message)
            .at(spec.span, "one factor for rows that stand for many each")
            .possible(format!("a factor for each `{letter}`"))
            .help(format!(
                "leave the line out, or write out each row as often as `{weight}` says and leave `{weight}` out"
            ));
        derivation.diagnostics.push(diagnostic);
        return;
    }
}

/// A matrix has the slices of its own statement only. Beside real variables, a joint factor has one number or one
/// matrix.
fn refuse_slices(
    derivation: &mut Derivation,
    spec: &BlockSpec,
    members: &[ArrayId],
    slices: &[Vec<LetterId>],
) {
    if spec.kind == BlockKind::Point && members.len() > 1 {
        return;
    }
    for (place, (member, own)) in members.iter().zip(slices).enumerate() {
        let array = derivation.symbols.array(*member);
        let written = derivation.symbols.slices(*member);
        let alone = match array.support {
            Support::PositiveDefinite => true,
            // A class of all copies together has no optimum that is a sum over theirs.
            Support::Index(_) | Support::Binary if spec.kind == BlockKind::Implicit => true,
            Support::Real => false,
            _ => place > 0,
        };
        if !alone || *own == written {
            continue;
        }
        let name = array.name.clone();
        let diagnostic =
            Diagnostic::error("E0797", format!("no family has a factor of several `{name}` at once"))
                .at(spec.span, "more slices than in its statement")
                .possible("one number or one matrix for each copy")
                .help(one_for_each_copy(&derivation.symbols, members));
        derivation.diagnostics.push(diagnostic);
        return;
    }
}

/// The line with the slices of the statements alone, where some joint family has these members; and a line less.
fn one_for_each_copy(symbols: &Symbols, members: &[ArrayId]) -> String {
    let supports: Vec<Support> = members.iter().map(|member| symbols.array(*member).support).collect();
    let sliced = members.iter().any(|member| !symbols.slices(*member).is_empty());
    let written = members.iter().map(|member| {
        let (array, slices) = (symbols.array(*member), symbols.slices(*member));
        let mut letters: Vec<String> = Vec::new();
        for letter in array.letters.iter().flat_map(|own| symbols.lineage(*own).into_iter().rev()) {
            let colon = if slices.contains(&letter) { ":" } else { "" };
            let text = format!("{colon}{}", symbols.letter(letter).name);
            if !letters.contains(&text) {
                letters.push(text);
            }
        }
        if letters.is_empty() {
            array.name.clone()
        } else {
            format!("{}[{}]", array.name, letters.join(", "))
        }
    });
    let written = written.collect::<Vec<_>>().join(", ");
    let apart = "leave the line out, so that each variable has a factor of its own";
    let fits = members.len() == 1 || posteriors().iter().any(|family| joins(*family, &supports, sliced));
    // What is on other letters cannot stand in one block.
    let axes = |member: &ArrayId| -> Vec<_> {
        let slices = symbols.slices(*member);
        let own = symbols.array(*member).letters.iter().filter(|letter| !slices.contains(letter));
        own.map(|letter| symbols.letter(*letter).axis).collect()
    };
    let alike = members.iter().all(|member| axes(member) == axes(&members[0]));
    match fits && alike {
        true => format!("write `q({written})`, one factor for each copy; or {apart}"),
        false => apart.to_owned(),
    }
}

fn draft(derivation: &mut Derivation, spec: &BlockSpec) -> Draft {
    let mode = match spec.kind {
        BlockKind::Joint => Mode::Distribution,
        BlockKind::Point => Mode::Point,
        BlockKind::Fixed => Mode::Fixed,
        BlockKind::Implicit => Mode::Implicit,
    };
    // Several points in one block move together: one copy that holds every element of each.
    let together = spec.members.len() > 1 && mode == Mode::Point;
    let by = spec.by.as_ref().and_then(|(name, span)| {
        let (message, possible) = match asked_for(name) {
            Some((bound, serves)) if (serves.block)(&derivation.symbols, spec) => return Some(bound),
            Some((_, serves)) => {
                let member = &derivation.symbols.array(spec.members[0]).name;
                (format!("`by {name}` cannot serve `{member}`"), serves.blocks.to_owned())
            }
            None => {
                let serve = |bound: &&dyn Bound| {
                    Some(format!("`by {}`, for {}", bound.name(), bound.serves()?.blocks))
                };
                let all: Vec<String> = bounds().iter().filter_map(serve).collect();
                (format!("there is no bound `{name}` to ask for"), all.join("; "))
            }
        };
        derivation.diagnostics.push(
            Diagnostic::error("E0791", message)
                .at(*span, "asked for here")
                .possible(possible)
                .help("leave `by` out: the exact update is used"),
        );
        None
    });
    if mode == Mode::Point {
        refuse_point(derivation, spec);
    }
    if mode == Mode::Implicit || (mode == Mode::Distribution && spec.members.len() > 1) {
        refuse_data(derivation, spec);
    }
    if spec.clamp && mode != Mode::Point {
        derivation.diagnostics.push(
            Diagnostic::error("E0792", "`clamp` is for points")
                .at(spec.span, "asked for here")
                .help("write `point` before the variable, or leave `clamp` out"),
        );
    }
    // The members of a joint family have an order of their own: real variables before positive ones.
    let mut order: Vec<usize> = (0..spec.members.len()).collect();
    order.sort_by_key(|place| derivation.symbols.array(spec.members[*place]).support != Support::Real);
    let members: Vec<ArrayId> = order.iter().map(|place| spec.members[*place]).collect();
    let first = members[0];
    let slices: Vec<Vec<LetterId>> = order
        .iter()
        .map(|place| (&spec.members[*place], &spec.slices[*place]))
        .map(|(member, written)| {
            let own = derivation.symbols.slices(*member);
            let array = derivation.symbols.array(*member);
            // Declared order, whatever the order in the posterior block.
            array
                .letters
                .iter()
                .copied()
                .filter(|letter| together || own.contains(letter) || written.contains(letter))
                .collect()
        })
        .collect();
    if !together {
        refuse_ragged(derivation, spec, &members, &slices);
    }
    refuse_slices(derivation, spec, &members, &slices);
    if mode == Mode::Distribution {
        refuse_weighed_slices(derivation, spec, &members, &slices);
    }
    let plates = derivation.symbols.array(first).letters.iter().copied();
    let plates: Vec<LetterId> = plates.filter(|letter| !slices[0].contains(letter)).collect();
    let classes = match derivation.symbols.array(first).support {
        Support::Index(axis) => Some(derivation.symbols.fresh_on(axis)),
        Support::Real
        | Support::Positive
        | Support::Nonnegative
        | Support::Unit
        | Support::Count
        | Support::Binary
        | Support::Simplex
        | Support::Multiplicity
        | Support::PositiveDefinite => None,
    };
    let mut taken: Vec<LetterId> = plates.iter().chain(slices.iter().flatten()).copied().collect();
    let second = slices
        .iter()
        .map(|letters| {
            letters.iter().map(|letter| second_letter(&mut derivation.symbols, *letter, &mut taken)).collect()
        })
        .collect();
    let number = derivation.model.blocks.iter().position(|own| own.members == spec.members);
    let member_plates = match number {
        Some(_) if together => vec![Vec::new(); members.len()],
        Some(number) => {
            order.iter().map(|place| derivation.model.block_plates[number][*place].clone()).collect()
        }
        None => vec![plates.clone()],
    };
    Draft {
        members,
        member_plates,
        plates,
        slices,
        mode,
        classes,
        second,
        by,
        clamp: spec.clamp,
        span: spec.span,
    }
}

/// A slice over a ragged axis has another length in each group. A factor of q of one variable goes through that if vectors
/// describe it; and its copies must be all combinations of their letters, of which the group is one.
fn refuse_ragged(
    derivation: &mut Derivation,
    spec: &BlockSpec,
    members: &[ArrayId],
    slices: &[Vec<LetterId>],
) {
    let symbols = &derivation.symbols;
    let array = symbols.array(members[0]);
    if let Support::Index(axis) = array.support
        && let Some(parent) = symbols.axis(axis).parent
    {
        let (name, own, parent) = (&array.name, &symbols.axis(axis).name, &symbols.axis(parent).name);
        derivation.diagnostics.push(
            Diagnostic::error(
                "E0793",
                format!("`{name}` is a class of `{own}`, which is ragged in `{parent}`"),
            )
            .at(spec.span, "as many classes as its group has members")
            .possible("classes of an axis of one length")
            .help(format!(
                "declare `{own}` without `in`, with probabilities that are 0 where a group has no such class"
            )),
        );
        return;
    }
    let ragged = |letter: &&LetterId| symbols.letter(**letter).parent.is_some();
    let Some(slice) = slices.iter().flatten().find(ragged) else {
        derivation.diagnostics.extend(refuse_two_ragged_plates(symbols, spec, members[0]));
        return;
    };
    let lineage = symbols.lineage(*slice);
    let shared = |letter: &LetterId| {
        let above = symbols.lineage(*letter).into_iter().find(|own| lineage[1..].contains(own))?;
        (!slices[0].contains(letter)).then_some((*letter, above))
    };
    let name = |letter: LetterId| symbols.letter(letter).name.clone();
    let diagnostic = if let Some((plate, above)) = array.letters.iter().find_map(shared) {
        let message = format!(
            "`{}` has a slice over `{}` for each `{}`, and both are ragged in `{}`",
            array.name,
            name(*slice),
            name(plate),
            name(above)
        );
        Diagnostic::error("E0793", message)
            .at(spec.span, "each group has another number of slices, and each of them another length")
            .possible("a slice over a ragged axis, beside letters that are not ragged in the same one")
            .help("leave the `:` out, so that q is independent over the letter, or declare one of the axes without `in`")
    } else {
        let point = spec.kind == BlockKind::Point;
        let families = recognise(array.support, true, point, &[]);
        if members.len() == 1
            && slices[0].len() == 1
            && families.is_some_and(|family| of_any_length(posterior(family)))
        {
            return;
        }
        let message =
            format!("no family has a factor of q over `{}` of another length in each group", array.name);
        Diagnostic::error("E0793", message)
            .at(spec.span, format!("`{}` is ragged in `{}`", name(*slice), name(lineage[1])))
            .possible(format!("one slice on a simplex: {}", families_on(|support| support == Support::Simplex)))
            .help("leave the `:` out, so that q is independent over the letter, or declare the axis without `in`")
    };
    derivation.diagnostics.push(diagnostic);
}

/// Copies over two letters that are ragged in one axis are not all combinations of the two.
fn refuse_two_ragged_plates(symbols: &Symbols, spec: &BlockSpec, member: ArrayId) -> Option<Diagnostic> {
    let array = symbols.array(member);
    let pairs = array.letters.iter().enumerate();
    let mut pairs =
        pairs.flat_map(|(place, left)| array.letters[..place].iter().map(|right| (*right, *left)));
    let (left, right, above) = pairs.find_map(|(left, right)| {
        let lineage = symbols.lineage(left);
        let above = symbols.lineage(right).into_iter().find(|own| lineage.contains(own))?;
        Some((left, right, above))
    })?;
    let name = |letter: LetterId| symbols.letter(letter).name.clone();
    let (left, right, above) = (name(left), name(right), name(above));
    Some(
        Diagnostic::error(
            "E0793",
            format!(
                "`{}` has a copy for each `{left}` and `{right}`, and both are ragged in `{above}`",
                array.name
            ),
        )
        .at(spec.span, "each group has a table of copies of another shape")
        .possible("latents over one of the letters that are ragged in an axis")
        .help(format!("declare the axis of `{left}` or of `{right}` without `in`")),
    )
}

/// Another letter of the same axis: a declared one that is not taken if there is one (papers write k and l), else a fresh
/// one.
fn second_letter(symbols: &mut Symbols, letter: LetterId, taken: &mut Vec<LetterId>) -> LetterId {
    let declared = symbols.axis(symbols.letter(letter).axis).letters.clone();
    let other =
        declared.into_iter().find(|other| !taken.contains(other) && symbols.letter(*other).parent.is_none());
    let other = other.unwrap_or_else(|| {
        let parent = symbols.letter(letter).parent;
        symbols.fresh(letter, parent)
    });
    taken.push(other);
    other
}
