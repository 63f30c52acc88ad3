//! Known parts of real and man-made data that factorisations find again.

use cavi::{Control, Settings};
use cavi_examples::example;
use cavi_executor::Parameters;
use cavi_tests::support::{Ready, bundled, corpus_model};

fn fit(program: &Ready, settings: Settings) -> Parameters {
    let fit = program.problem().fit(&settings, &mut |_| Control::Continue);
    fit.unwrap_or_else(|error| panic!("{error:?}")).parameters
}

/// Mutational signatures of 21 breast cancers (Nik-Zainal et al. 2012), the number of them by a rate for each. Shares of a
/// signature's mutations found: C>T at CpG 0.41 (clock-like), C>T at TpC 0.53 and C>G at TpC 0.58 (APOBEC), and a flat one
/// as even as 82 of the 96 types. A type's share by chance is 0.01; each of these groups has four types.
#[test]
fn signatures_of_breast_cancers_are_found() {
    let program = Ready::new(&corpus_model("nmf_gamma_ard"), &[], bundled("nmf_gamma", &[]));
    let settings = Settings { seed: Some(0), restarts: Some(5), sweeps: Some(600), ..Settings::default() };
    let state = fit(&program, settings);
    let header = example("nmf_gamma").and_then(|own| own.files[0].bytes.split(|byte| *byte == b'\n').next());
    let header = String::from_utf8_lossy(header.expect("a table has a header")).into_owned();
    let types: Vec<&str> = header.trim().split(',').collect();
    let (w, h) = (program.column(&state, "w", 2), program.column(&state, "h", 2));
    let factors = h.len() / types.len();
    let shares = |k: usize| -> Vec<f64> {
        let own = &h[k * types.len()..(k + 1) * types.len()];
        own.iter().map(|value| value / own.iter().sum::<f64>()).collect()
    };
    let mass = |k: usize| {
        let exposure: f64 = w.iter().skip(k).step_by(factors).sum();
        exposure * h[k * types.len()..(k + 1) * types.len()].iter().sum::<f64>()
    };
    let total: f64 = (0..factors).map(mass).sum();
    let used: Vec<Vec<f64>> = (0..factors).filter(|k| mass(*k) > 0.01 * total).map(shares).collect();
    // Types are written `T[C>G]A`.
    let largest = |holds: &dyn Fn(&str) -> bool| {
        let of = |own: &Vec<f64>| {
            own.iter().zip(&types).filter(|(_, kind)| holds(kind)).map(|(share, _)| share).sum()
        };
        used.iter().map(of).fold(0.0, f64::max)
    };
    let clock = largest(&|kind| kind[1..6] == *"[C>T]" && kind.ends_with('G'));
    let apobec = largest(&|kind| kind.starts_with("T[C>T]"));
    let apobec_too = largest(&|kind| kind.starts_with("T[C>G]"));
    let evenness = |own: &Vec<f64>| -own.iter().map(|share| share * share.max(1e-300).ln()).sum::<f64>();
    let flat = used.iter().map(evenness).fold(0.0, f64::max).exp();
    let found = [clock, apobec, apobec_too, flat];
    assert!(clock > 0.35 && apobec > 0.45 && apobec_too > 0.5 && flat > 75.0, "{found:?}");
    // Rates switch off what is not needed.
    assert!((4..=8).contains(&used.len()), "{} signatures", used.len());
}

/// Stick figures: picture `i` has limb `l` in the position that is digit `l` of `i` in base 4. All 16 limbs are found (of
/// four seeds tried, two find 16 and two find 15, with lower objectives); torso and background are shared among the parts.
#[test]
fn limbs_of_the_swimmers_are_found() {
    let program = Ready::built_in("nmf_sparse", &[], bundled("nmf_sparse", &[]));
    let pictures = program.matrix("x");
    let settings = Settings { seed: Some(0), sweeps: Some(200), threads: 2, ..Settings::default() };
    let state = fit(&program, settings);
    let pixels = pictures[0].len();
    // The pixels that are brighter by 4 where the limb is there.
    let limb = |l: u32, position: usize| -> Vec<usize> {
        let there = |i: usize| i / 4_usize.pow(l) % 4 == position;
        let mean = |pixel: usize, wanted: bool| {
            let own: Vec<f64> =
                (0..pictures.len()).filter(|i| there(*i) == wanted).map(|i| pictures[i][pixel]).collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        (0..pixels).filter(|pixel| mean(*pixel, true) - mean(*pixel, false) > 4.0).collect()
    };
    let limbs: Vec<Vec<usize>> = (0..16).map(|which| limb(which / 4, which as usize % 4)).collect();
    assert!(limbs.iter().all(|pixels| pixels.len() == 5));
    // A part is a limb if it has half of its mass on all limbs there.
    let on = |part: &[f64], pixels: &[usize]| pixels.iter().map(|pixel| part[*pixel]).sum::<f64>();
    let parts: Vec<&[f64]> = program.column(&state, "w", 0).chunks(pixels).collect();
    let is_found = |limb: &&Vec<usize>| {
        let half =
            |part: &&[f64]| on(part, limb) > 0.5 * limbs.iter().map(|other| on(part, other)).sum::<f64>();
        parts.iter().any(half)
    };
    let found = limbs.iter().filter(is_found).count();
    assert_eq!(found, 16, "limbs found");
}
