//! The names an equation may mention: axes, letters and arrays, in arenas with typed ids.

use std::collections::BTreeSet;

use crate::expression::{Expression, Function};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Its place in the arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> $name {
                $name(u32::try_from(index).expect("an arena holds fewer than 2^32 things"))
            }
        }
    };
}

id!(
    /// An axis: a set of labels that arrays are indexed by.
    AxisId
);
id!(
    /// A letter: a bound or free index that runs over an axis.
    LetterId
);
id!(
    /// An array: data, a constant or a latent variable.
    ArrayId
);
id!(
    /// A block of q: variables that share one factor.
    BlockId
);
id!(
    /// A place where the log of a sum is bounded by an allocation.
    SiteId
);
id!(
    /// A place where a function of a square is bounded by its tangent.
    AuxiliaryId
);
id!(
    /// A family of q: its place in the registry of `cavi-families`.
    FamilyId
);
id!(
    /// A bound: its place in the list of bounds of `cavi-derivation`.
    BoundId
);
id!(
    /// A statement `target ~ Family(...)`.
    StatementId
);

/// The arenas of a program.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// Axes in the order of their declaration.
    pub axes: Vec<Axis>,
    /// Letters: those declared first, then fresh ones that the algebra made.
    pub letters: Vec<Letter>,
    /// Arrays in the order of their declaration.
    pub arrays: Vec<Array>,
    /// Those that a statement reads as a matrix that has to be symmetric, over their last two letters.
    pub symmetric: BTreeSet<ArrayId>,
}

/// An axis. A ragged axis has a parent: its positions are those of all parents one after another, so that one position
/// of the ragged axis determines the position on the parent.
#[derive(Clone, Debug)]
pub struct Axis {
    /// As declared.
    pub name: String,
    /// The axis it is ragged in.
    pub parent: Option<AxisId>,
    /// The letters declared for it.
    pub letters: Vec<LetterId>,
    /// Its size, if the text gives one.
    pub size: Option<Expression>,
}

/// A letter. Two letters on one axis run independently.
#[derive(Clone, Debug)]
pub struct Letter {
    /// As declared; a fresh letter keeps the name of the one it copies, and printing tells them apart.
    pub name: String,
    /// The axis it runs over.
    pub axis: AxisId,
    /// For a letter of a ragged axis: the letter of the parent axis that this one determines.
    pub parent: Option<LetterId>,
}

/// What an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayKind {
    /// Bound to a file.
    Data,
    /// A constant of the program.
    Constant,
    /// An unknown with a statement of its own.
    Latent,
}

/// The set an element of an array (or a slice of it) lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Support {
    /// Any real number.
    Real,
    /// Greater than 0.
    Positive,
    /// 0 or greater.
    Nonnegative,
    /// From 0 to 1.
    Unit,
    /// 0, 1, 2, ...
    Count,
    /// 0 or 1.
    Binary,
    /// A slice of non-negative numbers that sum to 1.
    Simplex,
    /// A position on an axis.
    Index(AxisId),
    /// A weight of a row, 0 or greater.
    Multiplicity,
    /// A symmetric positive definite matrix over two slices.
    PositiveDefinite,
}

impl Array {
    /// A latent with these letters and nothing beside them.
    pub fn latent(name: &str, letters: Vec<LetterId>, support: Support) -> Array {
        Array {
            name: name.to_owned(),
            kind: ArrayKind::Latent,
            slice: vec![false; letters.len()],
            letters,
            written: Vec::new(),
            support,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        }
    }
}

impl Support {
    /// Whether no element can be negative.
    pub fn is_nonnegative(self) -> bool {
        match self {
            Support::Real | Support::PositiveDefinite => false,
            Support::Positive
            | Support::Nonnegative
            | Support::Unit
            | Support::Count
            | Support::Binary
            | Support::Simplex
            | Support::Index(_)
            | Support::Multiplicity => true,
        }
    }
}

/// What an entry that a file does not list means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Absent {
    /// An unlisted entry was observed to be 0.
    pub zero: bool,
    /// An unlisted entry (or, with `zero`, a listed NaN) was not observed.
    pub missing: bool,
    /// The declaration has no missing entry: those that are missing were held out.
    pub withheld: bool,
}

/// Which entries of a square array exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// `i != j`
    Different(LetterId, LetterId),
    /// `i < j`
    Less(LetterId, LetterId),
}

impl Restriction {
    /// Its letters, with the sign between them.
    pub fn parts(self) -> (LetterId, &'static str, LetterId) {
        match self {
            Restriction::Different(left, right) => (left, "!=", right),
            Restriction::Less(left, right) => (left, "<", right),
        }
    }
}

/// An array of the program. Its dimensions are letters in declared order; the ancestors of a ragged letter are folded
/// into it: `w[m, j, k]` with `j` ragged in `m` has the dimensions `j, k`.
#[derive(Clone, Debug)]
pub struct Array {
    /// As declared.
    pub name: String,
    /// Data, constant or latent.
    pub kind: ArrayKind,
    /// One letter a dimension, those of its statement or declaration.
    pub letters: Vec<LetterId>,
    /// For each dimension, whether the array's statement binds it as a slice.
    pub slice: Vec<bool>,
    /// For each subscript as it is written, ancestors of ragged letters among them: the dimension whose letter it belongs to,
    /// and how many steps above that it stands. Empty where an ancestor stands right before the first letter ragged in it.
    pub written: Vec<(usize, usize)>,
    /// Where its elements lie.
    pub support: Support,
    /// What is not listed means.
    pub absent: Absent,
    /// Which entries exist.
    pub restriction: Option<Restriction>,
    /// For a constant, its value; for derived data, the expression, over its own letters.
    pub value: Option<Expression>,
    /// The axis letter over which the entries are centred.
    pub center: Option<LetterId>,
    /// The axis letter over which the entries are scaled.
    pub scale: Option<LetterId>,
}

impl Array {
    /// Whether no element, as equations read it, can be negative. Data that are centred can; a constant with a number in the program, or set
    /// for it, is judged by this, any other is taken as it is given.
    pub fn is_nonnegative(&self) -> bool {
        match (self.kind, &self.value) {
            (ArrayKind::Constant, Some(Expression::Number(value))) => *value >= 0.0,
            (ArrayKind::Constant, _) => true,
            _ => self.center.is_none() && self.support.is_nonnegative(),
        }
    }

    /// The number that a constant is, where the program gives it or it is set.
    pub fn number(&self) -> Option<f64> {
        match (self.kind, &self.value) {
            (ArrayKind::Constant, Some(Expression::Number(value))) => Some(*value),
            _ => None,
        }
    }

    /// Whether an element, as equations read it, may be negative: as [`Array::is_nonnegative`], but a constant without a number is judged by
    /// its type, since its values come from a file or are worked out.
    pub fn may_be_negative(&self) -> bool {
        match (self.kind, self.number()) {
            (ArrayKind::Constant, None) => !self.support.is_nonnegative(),
            _ => !self.is_nonnegative(),
        }
    }

    /// Whether it is a constant that the program names; not a number that stands for a parameter, nor a function of a matrix.
    pub fn is_named_constant(&self) -> bool {
        let mut letters = self.name.chars();
        self.kind == ArrayKind::Constant
            && letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
    }

    /// Whether an entry at these positions, one a dimension, exists under the array's restriction.
    ///
    /// # Panics
    /// If there are fewer positions than dimensions.
    pub fn has_entry(&self, positions: &[usize]) -> bool {
        let at = |letter: LetterId| {
            let place = self.letters.iter().position(|own| *own == letter);
            positions[place.expect("a restriction names letters of its array")]
        };
        match self.restriction {
            None => true,
            Some(Restriction::Different(left, right)) => at(left) != at(right),
            Some(Restriction::Less(left, right)) => at(left) < at(right),
        }
    }

    /// Whether every element, as equations read it, is from 0 to 1: not once data are centred or scaled.
    pub fn is_share(&self) -> bool {
        let of_one = matches!(self.support, Support::Unit | Support::Binary | Support::Simplex);
        of_one && self.center.is_none() && self.scale.is_none()
    }
}

impl Symbols {
    /// The axis of an id.
    pub fn axis(&self, id: AxisId) -> &Axis {
        &self.axes[id.index()]
    }

    /// The letter of an id.
    pub fn letter(&self, id: LetterId) -> &Letter {
        &self.letters[id.index()]
    }

    /// The array of an id.
    pub fn array(&self, id: ArrayId) -> &Array {
        &self.arrays[id.index()]
    }

    /// The number that a constant without letters is: one that the program gives or that is set, or is worked out of such numbers.
    pub fn number(&self, id: ArrayId) -> Option<f64> {
        // Constants that are defined by each other have no number.
        self.number_in(id, self.arrays.len())
    }

    fn number_in(&self, id: ArrayId, depth: usize) -> Option<f64> {
        let own = self.array(id);
        let alone = own.kind == ArrayKind::Constant && own.letters.is_empty() && depth > 0;
        own.value.as_ref().filter(|_| alone).and_then(|value| self.value_of(value, depth - 1))
    }

    fn value_of(&self, expression: &Expression, depth: usize) -> Option<f64> {
        let own = |part: &Expression| self.value_of(part, depth);
        match expression {
            Expression::Number(value) => Some(*value),
            Expression::Value(array, _) => self.number_in(*array, depth),
            Expression::Add(parts) => parts.iter().map(own).sum(),
            Expression::Multiply(parts) => parts.iter().map(own).product(),
            Expression::Power(base, exponent) => Some(own(base)?.powf(own(exponent)?)),
            Expression::Apply(Function::Exp, inner) => Some(own(inner)?.exp()),
            Expression::Apply(Function::Log, inner) => Some(own(inner)?.ln()),
            Expression::Apply(Function::Sqrt, inner) => Some(own(inner)?.sqrt()),
            Expression::Apply(..)
            | Expression::Indicator(..)
            | Expression::Sum(..)
            | Expression::Position(_)
            | Expression::OfMatrix(..) => None,
        }
    }

    /// The latent variables, in the order of their declarations.
    pub fn latents(&self) -> impl Iterator<Item = ArrayId> + '_ {
        let latent = |(_, array): &(usize, &Array)| array.kind == ArrayKind::Latent;
        self.arrays.iter().enumerate().filter(latent).map(|(index, _)| ArrayId::from(index))
    }

    /// The letters of the plates of an array: its dimensions that are no slice.
    pub fn plates(&self, id: ArrayId) -> Vec<LetterId> {
        let array = self.array(id);
        array
            .letters
            .iter()
            .zip(&array.slice)
            .filter(|(_, slice)| !**slice)
            .map(|(letter, _)| *letter)
            .collect()
    }

    /// The letters of the slices of an array.
    pub fn slices(&self, id: ArrayId) -> Vec<LetterId> {
        let array = self.array(id);
        array
            .letters
            .iter()
            .zip(&array.slice)
            .filter(|(_, slice)| **slice)
            .map(|(letter, _)| *letter)
            .collect()
    }

    /// A new letter over the same axis, with the given parent.
    pub fn fresh(&mut self, like: LetterId, parent: Option<LetterId>) -> LetterId {
        let letter = Letter { parent, ..self.letter(like).clone() };
        self.letters.push(letter);
        LetterId::from(self.letters.len() - 1)
    }

    /// A new letter over `axis`, with new letters for its ancestors.
    pub fn fresh_on(&mut self, axis: AxisId) -> LetterId {
        let declared = self.axis(axis).letters[0];
        let parent = self.axis(axis).parent.map(|parent| self.fresh_on(parent));
        self.fresh(declared, parent)
    }

    /// The letter and its ancestors, innermost first.
    pub fn lineage(&self, letter: LetterId) -> Vec<LetterId> {
        let mut lineage = vec![letter];
        while let Some(parent) = self.letter(lineage[lineage.len() - 1]).parent {
            lineage.push(parent);
        }
        lineage
    }

    /// The letters that number the copies of a vector with these plates and slices. Where a slice runs over a ragged axis,
    /// there is a copy for each group of that axis: the letter of the group comes last, unless a plate determines it.
    pub fn copies(&self, plates: &[LetterId], slices: &[LetterId]) -> Vec<LetterId> {
        let mut copies = plates.to_vec();
        for group in slices.iter().filter_map(|slice| self.letter(*slice).parent) {
            if !copies.iter().any(|copy| self.lineage(*copy).contains(&group)) {
                copies.push(group);
            }
        }
        copies
    }

    /// The subscripts of an array as programs write them, from those of each dimension behind their ancestors.
    pub fn written<T: Clone + PartialEq>(&self, array: ArrayId, dimensions: &[Vec<T>]) -> Vec<T> {
        let place = |(dimension, depth): &(usize, usize)| {
            let lineage = dimensions.get(*dimension)?;
            lineage.get(lineage.len().checked_sub(depth + 1)?).cloned()
        };
        let written: Option<Vec<T>> = self.array(array).written.iter().map(place).collect();
        written.filter(|own| !own.is_empty()).unwrap_or_else(|| {
            let mut out: Vec<T> = Vec::new();
            for (own, ancestors) in dimensions.iter().filter_map(|lineage| lineage.split_last()) {
                ancestors.iter().for_each(|above| {
                    if !out.contains(above) {
                        out.push(above.clone());
                    }
                });
                out.push(own.clone());
            }
            out
        })
    }

    /// Finds an array by name.
    pub fn find(&self, name: &str) -> Option<ArrayId> {
        self.arrays.iter().position(|array| array.name == name).map(ArrayId::from)
    }
}
