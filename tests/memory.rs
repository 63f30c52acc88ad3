//! What a run holds is of the order of its data and parameters (law 4 of the design).

use cavi_executor::{BoundArray, BoundAxis, Executor, start};
use cavi_tests::support::{Ready, bound_of, compile, file_of};

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

/// Latents at the entries of sparse data are as many as the entries, not as the cells.
#[test]
fn latents_of_entries_are_as_many_as_the_entries() {
    let text = "axis row[i]\naxis column[j]\naxis factor[k] = 2\ndata x[i, j] : real, absent = NA\n\
                a[i, k] ~ Normal(0, sd = 1)\nb[j, k] ~ Normal(0, sd = 1)\nu[i, j] ~ Gamma(2, rate = 2)\n\
                x[i, j] ~ Normal(sum[k](a[i, k] * b[j, k]), prec = u[i, j])\n\
                posterior {\n  q(a[i, :k])\n  q(b[j, :k])\n}\n";
    let (rows, columns, entries) = (20_000, 10_000, 300_000_usize);
    // A step without a factor in common with the number of cells visits each cell once.
    let cells = (0..entries).map(|at| at * 666_013 % (rows * columns));
    let lines: Vec<String> = cells
        .map(|cell| format!("{} {} {}\n", cell / columns + 1, cell % columns + 1, (cell % 17) as f64 - 8.0))
        .collect();
    let header = format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} {entries}\n");
    let file = file_of("x", "x.mtx", (header + &lines.concat()).into_bytes());
    let program = Ready::new(text, &[], vec![file]);
    let mut run = program.run(program.start(1));
    program.sweep(&mut run);
    assert!(run.elbo().is_finite());
    assert_eq!(program.column(run.parameters(), "u", 0).len(), entries);
    // One number for each cell would take 1.6 GB.
    let allowed = 60 * (entries + 3 * (rows + columns)) * size_of::<f64>();
    assert!(run.peak_bytes() < allowed, "{} bytes", run.peak_bytes());
}
