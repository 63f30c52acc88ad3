//! What the benches of this folder run: programs, and data drawn from a fixed seed.

use cavi_algebra::ArrayKind;
use cavi_executor::{Bound, BoundArray, BoundAxis};
use cavi_tests::support::{Program, compile};

/// The head of the programs over documents and words.
const HEAD: &str = "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\n";

/// Gamma priors on the two factors.
const GAMMA: &str =
    "const a = 0.3\nconst b = 1\nw[d, k] ~ Gamma(a, rate = b)\nh[k, v] ~ Gamma(a, rate = b)\n";

/// A program to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Latent Dirichlet allocation, both factors from one refresh of the allocations.
    Lda,
    /// Gamma-Poisson factorisation, one factor after the other.
    Nmf,
    /// The same, both factors from one refresh.
    NmfGroup,
    /// Three modes, one after another.
    Tensor,
    /// An additive background of rank one, its strength latent.
    Background,
    /// A known exposure of every row.
    Exposure,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Lda, Kind::Nmf, Kind::NmfGroup, Kind::Tensor, Kind::Background, Kind::Exposure];

    /// What the tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Lda => "lda",
            Kind::Nmf => "nmf_gamma",
            Kind::NmfGroup => "nmf_gamma_group",
            Kind::Tensor => "tensor",
            Kind::Background => "background",
            Kind::Exposure => "exposure",
        }
    }

    /// The program, compiled.
    pub fn program(self) -> Program {
        let text = match self {
            Kind::Lda => {
                "const alpha = 0.1\nconst eta = 0.1\ntheta[d, :k] ~ Dirichlet(alpha)\nbeta[k, :v] ~ Dirichlet(eta)\n\
                 n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\nfit {\n  sweep (theta, beta)\n}\n"
                    .to_owned()
            }
            Kind::Nmf => {
                format!("{GAMMA}n[d, v] ~ Poisson(sum[k](w[d, k] * h[k, v]))\nfit {{\n  sweep w, h\n}}\n")
            }
            Kind::NmfGroup => {
                format!("{GAMMA}n[d, v] ~ Poisson(sum[k](w[d, k] * h[k, v]))\nfit {{\n  sweep (w, h)\n}}\n")
            }
            Kind::Background => format!(
                "const g[v] = 0.1\n{GAMMA}s[d] ~ Gamma(a, rate = b)\n\
                 n[d, v] ~ Poisson(s[d] * g[v] + sum[k](w[d, k] * h[k, v]))\nfit {{\n  sweep s, w, h\n}}\n"
            ),
            Kind::Exposure => format!(
                "const e[d] = 2\n{GAMMA}n[d, v] ~ Poisson(e[d] * sum[k](w[d, k] * h[k, v]))\nfit {{\n  sweep w, h\n}}\n"
            ),
            Kind::Tensor => {
                return compiled(
                    self.name(),
                    "axis doc[d]\naxis word[v]\naxis time[l]\naxis topic[k]\ndata n[d, v, l] : count, absent = 0\n\
                     const a = 0.3\nconst b = 1\nw[d, k] ~ Gamma(a, rate = b)\nh[v, k] ~ Gamma(a, rate = b)\n\
                     c[l, k] ~ Gamma(a, rate = b)\n\
                     n[d, v, l] ~ Poisson(sum[k](w[d, k] * h[v, k] * c[l, k]))\nfit {\n  sweep w, h, c\n}\n",
                );
            }
        };
        compiled(self.name(), &format!("{HEAD}{text}"))
    }
}

/// A program that must compile.
pub fn compiled(name: &str, text: &str) -> Program {
    compile(name, text).unwrap_or_else(|error| panic!("{name} does not compile:\n{error}"))
}

/// Coordinates, sorted, and values of the listed entries of an array.
pub struct Sparse {
    /// One column of positions a mode.
    pub columns: Vec<Vec<u32>>,
    /// Counts from 1 to 3.
    pub values: Vec<f64>,
}

/// Uniform numbers from 0 to 1: Marsaglia's xorshift.
pub struct Uniform(u64);

impl Uniform {
    /// The stream of the benches.
    pub fn fixed() -> Uniform {
        Uniform(88_172_645_463_325_252)
    }

    /// The next number.
    pub fn draw(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Sparse {
    /// `entries` different places of an array of these sizes; all modes but the first skewed if `skewed`.
    pub fn draw(sizes: &[usize], entries: usize, skewed: bool) -> Sparse {
        let mut uniform = Uniform::fixed();
        let mut places: Vec<u64> = Vec::with_capacity(entries * 5 / 4);
        while places.len() < entries {
            while places.len() < entries * 5 / 4 {
                let place = sizes.iter().enumerate().fold(0, |place, (mode, size)| {
                    let u = uniform.draw();
                    let u = if skewed && mode > 0 { u * u } else { u };
                    place * *size as u64 + (u * *size as f64) as u64
                });
                places.push(place);
            }
            places.sort_unstable();
            places.dedup();
        }
        let count = places.len();
        let kept: Vec<u64> = (0..entries).map(|entry| places[entry * count / entries]).collect();
        let columns = (0..sizes.len())
            .map(|mode| {
                let inner: usize = sizes[mode + 1..].iter().product();
                kept.iter().map(|place| (place / inner as u64 % sizes[mode] as u64) as u32).collect()
            })
            .collect();
        let values = (0..entries).map(|_| 1.0 + (uniform.draw() * 3.0).floor()).collect();
        Sparse { columns, values }
    }
}

/// Binds a program of [`Kind`] to its data: axes by their names, constants by their values.
pub fn bind(program: &Program, sizes: &[usize], topics: usize, data: &Sparse) -> Bound {
    bind_with(
        program,
        &|axis| match axis {
            "doc" => BoundAxis::plain(sizes[0]),
            "word" => BoundAxis::plain(sizes[1]),
            "time" => BoundAxis::plain(sizes[2]),
            _ => BoundAxis::plain(topics),
        },
        &|| BoundArray::Sparse {
            indices: data.columns.clone().into_iter().map(Into::into).collect(),
            values: data.values.clone().into(),
            observed: None,
            unlisted_zero: true,
        },
    )
}

/// Binds a program: each axis as it is asked for, each array of data the same.
pub fn bind_with(
    program: &Program,
    axis: &dyn Fn(&str) -> BoundAxis,
    data: &dyn Fn() -> BoundArray,
) -> Bound {
    let symbols = &program.model.symbols;
    let mut bound = Bound { arrays: vec![None; symbols.arrays.len()], ..Bound::default() };
    bound.axes = symbols.axes.iter().map(|own| axis(&own.name)).collect();
    for (index, array) in symbols.arrays.iter().enumerate() {
        let size: usize = bound.shape(symbols, cavi_algebra::ArrayId::from(index)).iter().product();
        bound.arrays[index] = match array.kind {
            ArrayKind::Latent => None,
            ArrayKind::Constant => match &array.value {
                Some(cavi_algebra::Expression::Number(value)) => Some(BoundArray::full(vec![*value; size])),
                _ => panic!("the constants of a bench are numbers"),
            },
            ArrayKind::Data => Some(data()),
        };
    }
    bound
}
