//! Statistics: the functions of a block's variables in which a log-density is linear.

/// An elementary function of one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elementary {
    /// `x^p`, p not 0.
    Power(i32),
    /// `log x`.
    Log,
    /// `log(1 - x)`.
    LogComplement,
    /// `[x = c]`: 1 where the index variable has the value c.
    Indicator,
    /// `log det x` of a matrix over two slices; it takes no slot.
    LogDeterminant,
    /// The variable in a product that is summed over its matrix: of a vector `m` and a matrix `L` of one block,
    /// `(L m)_i = sum_j L_ij m_j` and `m' L m`. The number is that of the slots that are left: 1 for `L` in the first,
    /// else 0.
    Contracted(u8),
    /// `x - E x`: two of them make a covariance. It occurs in expectations only, never as a statistic of a family.
    Centred,
    /// The natural parameter of `log x`, a number of q and no function of x: the shape of a Gamma, a concentration of a
    /// Dirichlet, the first parameter of a Beta. Like the next it occurs in what allocations read only.
    Mass,
    /// The natural parameter of `log(1 - x)`: the second parameter of a Beta.
    MassOfComplement,
}

impl Elementary {
    /// How many slots it takes, where its member has a slice of `letters` letters.
    pub fn slots(self, letters: usize) -> usize {
        match self {
            Elementary::Indicator => 1,
            Elementary::LogDeterminant => 0,
            Elementary::Contracted(left) => usize::from(left),
            Elementary::Power(_)
            | Elementary::Log
            | Elementary::LogComplement
            | Elementary::Centred
            | Elementary::Mass
            | Elementary::MassOfComplement => letters,
        }
    }
}

/// A product of elementary functions of the members of a block, sorted. Where the members have slices, each elementary
/// function takes an element of its own: the outer product `x_k x_l` is two factors `Power(1)` of member 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Statistic(pub Vec<(u8, Elementary)>);

impl Statistic {
    /// `f(x)` of the only member.
    pub fn of(elementary: Elementary) -> Statistic {
        Statistic(vec![(0, elementary)])
    }

    /// `x` of the only member.
    pub fn identity() -> Statistic {
        Statistic::of(Elementary::Power(1))
    }

    /// `x^2`, elementwise.
    pub fn square() -> Statistic {
        Statistic::of(Elementary::Power(2))
    }

    /// `x_k x_l` over a slice.
    pub fn outer() -> Statistic {
        Statistic(vec![(0, Elementary::Power(1)), (0, Elementary::Power(1))])
    }

    /// `(x - E x)^2`, and over a slice the covariance `(x_k - E x_k)(x_l - E x_l)`.
    pub fn covariance() -> Statistic {
        Statistic(vec![(0, Elementary::Centred), (0, Elementary::Centred)])
    }

    /// `log x`.
    pub fn log() -> Statistic {
        Statistic::of(Elementary::Log)
    }

    /// `[x = c]`.
    pub fn indicator() -> Statistic {
        Statistic::of(Elementary::Indicator)
    }

    /// `log det x` of the only member.
    pub fn log_determinant() -> Statistic {
        Statistic::of(Elementary::LogDeterminant)
    }

    /// Whether it is [`Statistic::square`].
    pub fn is_square(&self) -> bool {
        matches!(self.0.as_slice(), [(0, Elementary::Power(2))])
    }

    /// The same function of the elements of one vector, for a block whose members stand beside each other in it.
    pub fn of_one_vector(&self) -> Statistic {
        Statistic(self.0.iter().map(|(_, elementary)| (0, *elementary)).collect())
    }
}
