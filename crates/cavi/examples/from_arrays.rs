//! A fit from arrays in memory: a matrix of counts is factorised, and the factors come back as arrays.

use cavi::bind::{ArrayInput, Inputs};
use cavi::{Control, Settings};

const PROGRAM: &str = "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : count, absent = 0\n\
                       w[i, k] ~ Gamma(1, rate = 1)\nh[j, k] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(sum[k](w[i, k] * h[j, k]))\n";

/// Factorises a matrix of 4 rows and 3 columns.
pub fn main() -> Result<(), cavi::Error> {
    let counts = vec![9.0, 8.0, 0.0, 7.0, 9.0, 1.0, 0.0, 1.0, 8.0, 1.0, 0.0, 9.0];
    let inputs = Inputs { data: vec![ArrayInput::dense("x", &[4, 3], counts)?], ..Inputs::default() };
    let (program, _warnings) = cavi::session::open(PROGRAM, "parts.cavi", &inputs)?;
    let problem = program.bind(&inputs)?;
    let fit = problem.fit(&Settings::default(), &mut |progress| {
        if progress.seconds < 60.0 { Control::Continue } else { Control::Stop }
    })?;
    println!("ELBO {:.3} after {} sweeps", fit.run().elbo, fit.run().sweeps);
    for array in problem.posterior(&fit) {
        println!("{} {:?}: {:.2?}", array.name, array.shape, array.values);
    }
    Ok(())
}
