//! The literature that a derivation rests on, found in its equations: what each step of it goes back to.

use crate::bound::Reference;
use crate::equations::{Block, Mode};

use super::derivation::Derivation;

/// Something that a derivation uses, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What is used, as a heading of a list has it: `Mean-field factors, updated one after another`.
    pub of: &'static str,
    /// Where it comes from.
    pub references: Vec<Reference>,
}

/// Bounds from Jensen's inequality under a product of factors.
const MEAN_FIELD: Reference = Reference(
    "@article{jordan1999introduction,
  author = {Jordan, Michael I. and Ghahramani, Zoubin and Jaakkola, Tommi S. and Saul, Lawrence K.},
  title = {An Introduction to Variational Methods for Graphical Models},
  journal = {Machine Learning},
  volume = {37},
  number = {2},
  pages = {183--233},
  year = {1999}
}",
);

/// Coordinate ascent in conditionally conjugate families.
const COORDINATE_ASCENT: Reference = Reference(
    "@article{blei2017variational,
  author = {Blei, David M. and Kucukelbir, Alp and McAuliffe, Jon D.},
  title = {Variational Inference: A Review for Statisticians},
  journal = {Journal of the American Statistical Association},
  volume = {112},
  number = {518},
  pages = {859--877},
  year = {2017}
}",
);

const EM: Reference = Reference(
    "@article{dempster1977maximum,
  author = {Dempster, A. P. and Laird, N. M. and Rubin, D. B.},
  title = {Maximum Likelihood from Incomplete Data via the {EM} Algorithm},
  journal = {Journal of the Royal Statistical Society, Series B},
  volume = {39},
  number = {1},
  pages = {1--38},
  year = {1977}
}",
);

/// Coordinate ascent on one bound over parameters and a distribution of the latent variables.
const VARIATIONAL_EM: Reference = Reference(
    "@incollection{neal1998view,
  author = {Neal, Radford M. and Hinton, Geoffrey E.},
  title = {A View of the {EM} Algorithm that Justifies Incremental, Sparse, and other Variants},
  booktitle = {Learning in Graphical Models},
  editor = {Jordan, Michael I.},
  publisher = {Kluwer},
  pages = {355--368},
  year = {1998}
}",
);

const COLLAPSED: Reference = Reference(
    "@inproceedings{asuncion2009smoothing,
  author = {Asuncion, Arthur and Welling, Max and Smyth, Padhraic and Teh, Yee Whye},
  title = {On Smoothing and Inference for Topic Models},
  booktitle = {Proceedings of the 25th Conference on Uncertainty in Artificial Intelligence},
  pages = {27--34},
  year = {2009}
}",
);

const LBFGS: Reference = Reference(
    "@article{liu1989limited,
  author = {Liu, Dong C. and Nocedal, Jorge},
  title = {On the Limited Memory {BFGS} Method for Large Scale Optimization},
  journal = {Mathematical Programming},
  volume = {45},
  pages = {503--528},
  year = {1989}
}",
);

const GAUSSIAN_PROCESSES: Reference = Reference(
    "@book{rasmussen2006gaussian,
  author = {Rasmussen, Carl Edward and Williams, Christopher K. I.},
  title = {Gaussian Processes for Machine Learning},
  publisher = {MIT Press},
  year = {2006}
}",
);

impl Derivation<'_> {
    /// What the derivation uses that goes back to the literature, in the order in which a page comes to it. The literature of the
    /// model itself is named by the program.
    pub fn sources(&self) -> Vec<Source> {
        let equations = self.equations;
        let moved: Vec<&Block> = equations.blocks.iter().filter(|own| own.mode != Mode::Fixed).collect();
        let points = moved.iter().filter(|own| own.is_point()).count();
        // A factor of q that keeps its start is a factor of the bound like any other.
        let mut all = Vec::new();
        let mut add = |used: bool, of: &'static str, references: &[Reference]| {
            if used {
                all.push(Source { of, references: references.to_vec() });
            }
        };
        let factors = self.has_distribution();
        add(
            factors,
            "The bound under a product of factors, and its maximum over each",
            &[MEAN_FIELD, COORDINATE_ASCENT],
        );
        add(self.is_all_points(), "The updates of points as the EM algorithm", &[EM]);
        add(factors && points > 0, "Points beside factors of q, on one bound", &[VARIATIONAL_EM]);
        let processes = equations.statements.iter().any(|own| own.whitening.is_some());
        add(processes, "Gaussian processes, in whitened variables", &[GAUSSIAN_PROCESSES]);
        for id in self.used_bounds() {
            let own = equations.bound(id);
            add(!own.references.is_empty(), own.words.of, own.references);
        }
        let ascends = moved.iter().any(|own| own.ascent.as_ref().is_some_and(|own| own.curvature.is_none()));
        add(ascends, "Points without a closed form, by L-BFGS", &[LBFGS]);
        add(self.run.left_out, "Allocations that leave each unit's own share out", &[COLLAPSED]);
        all
    }
}
