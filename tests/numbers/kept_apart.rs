//! Two index data in one product of a latent: there is a closed form for entries at which they differ, and entries at
//! which they are equal are refused.

use cavi::bind::{ArrayInput, Inputs, Source};
use cavi::{Control, Settings, compile};

const ONE: &str = "axis game[g]\naxis player[i] = 6\naxis skill[k] = 2\ndata one[g] : index player\n\
                   data other[g] : index player\ndata score[g] : real\ns[i, k] ~ Normal(0, sd = 1)\n\
                   tau ~ Gamma(2, rate = 1)\n\
                   score[g] ~ Normal(sum[k](s[one[g], k] * s[other[g], k]), prec = tau)\n";

/// The same where the first of a pair is from one half of the players and the second from the other.
const TWO: &str = "axis game[g]\naxis host[i] = 3\naxis guest[j] = 3\naxis skill[k] = 2\ndata one[g] : index host\n\
                   data other[g] : index guest\ndata score[g] : real\nh[i, k] ~ Normal(0, sd = 1)\n\
                   v[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(2, rate = 1)\n\
                   score[g] ~ Normal(sum[k](h[one[g], k] * v[other[g], k]), prec = tau)\n";

fn inputs(columns: [(&str, &[f64]); 3]) -> Inputs {
    let data = columns.into_iter().map(|(name, values)| {
        let text: String = values.iter().map(|value| format!("{value}\n")).collect();
        let source = Source::Bytes { name: format!("{name}.csv").into(), bytes: text.into_bytes().into() };
        ArrayInput { name: name.to_owned(), group: None, source }
    });
    Inputs { data: data.collect(), ..Inputs::default() }
}

/// The best bound of several starts.
fn best(text: &str, columns: [(&str, &[f64]); 3]) -> f64 {
    let compiled = compile(text, "skills.cavi").into_compiled();
    let problem =
        compiled.and_then(|own| own.bind(&inputs(columns))).unwrap_or_else(|error| panic!("{error}"));
    let settings = Settings {
        sweeps: Some(3000),
        tolerance: Some(1e-13),
        restarts: Some(6),
        verify: true,
        ..Settings::default()
    };
    let fit = problem.fit(&settings, &mut |_| Control::Continue);
    fit.unwrap_or_else(|error| panic!("{error:?}")).run().elbo
}

const HOSTS: [f64; 9] = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
const GUESTS: [f64; 9] = [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 0.0, 1.0, 2.0];
const SCORES: [f64; 9] = [1.9, -0.4, 1.2, -2.1, 0.3, -1.0, 0.9, 0.1, 0.4];

#[test]
fn one_latent_in_two_halves_is_two_latents() {
    let others = GUESTS.map(|guest| guest + 3.0);
    let one = best(ONE, [("one", &HOSTS), ("other", &others), ("score", &SCORES)]);
    let two = best(TWO, [("one", &HOSTS), ("other", &GUESTS), ("score", &SCORES)]);
    assert!((one - two).abs() < 1e-7 * two.abs(), "{one} and {two}");
}

#[test]
fn the_first_entry_with_equal_indices_is_named() {
    let mut others = GUESTS.map(|guest| guest + 3.0);
    others[4] = HOSTS[4];
    let compiled = compile(ONE, "skills.cavi");
    assert!(compiled.is_ok(), "{:?}", compiled.diagnostics);
    assert!(
        compiled.diagnostics.iter().any(|own| own.code == "N0704"),
        "no note: {:?}",
        compiled.diagnostics
    );
    let data = inputs([("one", &HOSTS), ("other", &others), ("score", &SCORES)]);
    let refused = compiled.into_compiled().and_then(|own| own.bind(&data));
    let Err(cavi::Error::Program { diagnostics, .. }) = refused else { panic!("the data were taken") };
    assert_eq!(diagnostics[0].message, "`one[g]` and `other[g]` are equal at `score[4]`");
}

/// The page says nothing of entries at which they are equal, and is checked at data that have none.
#[test]
fn the_derivation_is_true_of_data_that_keep_them_apart() {
    let verified = compile(ONE, "skills.cavi").into_compiled().expect("it compiles").verify(200);
    assert!(verified.failed.is_empty(), "{:?}", verified.failed);
    assert!(verified.total().relations > 40, "{} relations", verified.total().relations);
}
