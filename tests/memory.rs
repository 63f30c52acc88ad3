//! What a run holds is of the order of its data and parameters (law 4 of the design).

use cavi_executor::{BoundArray, BoundAxis, Executor, start};
use cavi_tests::support::{bound_of, compile};

/// Copies of a point slice whose quadratic coefficients do not depend on the copy share one matrix.
#[test]
fn point_slices_share_their_matrix() {
    for support in ["real", "nonnegative"] {
        let text = format!(
            "axis sample[n]\naxis feature[j]\naxis component[k]\ndata x[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\n\
             w[j, k] ~ Flat({support})\nx[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), sd = 0.5)\n\
             posterior {{\n  q(z[n, :k])\n  point w[j, :k]\n}}\n"
        );
        let program = compile("shared", &text).unwrap_or_else(|problem| panic!("{problem}"));
        let (samples, features, components) = (4, 2000, 20);
        let sizes = [samples, features, components].map(BoundAxis::plain);
        let values = (0..samples * features).map(|at| ((7 * at) % 13) as f64 - 6.0).collect();
        let bound = bound_of(&program, &sizes, &[("x", BoundArray::full(values))]);
        let executor = Executor::new(&program.equations, &bound, start(&program.equations, &bound, 1), 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        // A matrix for each feature would take ten times as much.
        let one_each = features * components * components * size_of::<f64>();
        assert!(executor.peak_bytes() < one_each, "{support}: {} bytes", executor.peak_bytes());
    }
}
