//! Rows of weight: data with a multiplicity and the same rows written out have the same answers, for every command that counts rows or draws them.

use std::fs;
use std::path::PathBuf;

use crate::common::{cavi, json, run, scratch, text};
use serde_json::Value;

/// A mixture over rows, and schools of pupils; the first lines are left open for the declaration of a multiplicity.
const MIXTURE: &str = "axis n[i]\naxis f[j]\naxis c[k] = 2\n@data x[i, j] : real\npi[:k] ~ Dirichlet(1)\nz[i] ~ Categorical(pi)\n\
    mu[k, j] ~ Normal(0, sd = 10)\nt[j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Normal(mu[z[i], j], prec = t[j])\n";
const SCHOOLS: &str = "axis school[s]\naxis pupil[p] in school[s]\n@data y[s, p] : real\nlevel ~ Normal(0, sd = 5)\n\
    spread ~ Gamma(2, rate = 1)\nnoise ~ Gamma(2, rate = 1)\neffect[s] ~ Normal(level, prec = spread)\n\
    y[s, p] ~ Normal(effect[s], prec = noise)\n";

/// Fits of data with weights, `once`, and of the same rows written out, `often`.
fn fitted(name: &str) -> PathBuf {
    let directory = scratch(name);
    let program = |own: &str, declaration: &str| own.replace('@', declaration);
    fs::write(directory.join("mix_once.cavi"), program(MIXTURE, "data m[i] : multiplicity\n")).unwrap();
    fs::write(directory.join("mix_often.cavi"), program(MIXTURE, "")).unwrap();
    fs::write(directory.join("school_once.cavi"), program(SCHOOLS, "data m[s] : multiplicity\n")).unwrap();
    fs::write(directory.join("school_often.cavi"), program(SCHOOLS, "")).unwrap();
    let (mut x, mut m, mut xs) = (String::from("n,a,b\n"), String::from("n,m\n"), String::from("n,a,b\n"));
    let (mut y, mut ms, mut ys) =
        (String::from("school,pupil,y\n"), String::from("school,m\n"), String::from("school,pupil,y\n"));
    for row in 0..24_u32 {
        let times = [2, 0, 1, 3][row as usize % 4];
        // The rows of weight 0 are far from all others.
        let far = if times == 0 { 50.0 } else { 0.0 };
        let wave = f64::from(row * 7 % 11) / 5.0 - 1.0;
        let centre = if row % 3 == 0 { 4.0 } else { -2.0 };
        let own = format!("{},{}", centre + wave + far, centre / 2.0 - wave * wave + far);
        x += &format!("r{row},{own}\n");
        m += &format!("r{row},{times}\n");
        ms += &format!("s{row},{times}\n");
        (0..times).for_each(|copy| xs += &format!("r{row}_{copy},{own}\n"));
        for pupil in 0..1 + row % 3 {
            let own = 2.0 + wave + f64::from((row + 3 * pupil) * 5 % 7) / 3.0 + far;
            y += &format!("s{row},p{pupil},{own}\n");
            (0..times).for_each(|copy| ys += &format!("s{row}_{copy},p{pupil},{own}\n"));
        }
    }
    for (file, own) in [("x", x), ("m", m), ("xs", xs), ("y", y), ("ms", ms), ("ys", ys)] {
        fs::write(directory.join(file).with_extension("csv"), own).unwrap();
    }
    let fits = [
        ("mix_once", "--data x=x.csv --data m=m.csv"),
        ("mix_often", "--data x=xs.csv"),
        ("school_once", "--data y=y.csv --data m=ms.csv"),
        ("school_often", "--data y=ys.csv"),
    ];
    for (fit, data) in fits {
        run(&directory, &format!("fit {fit}.cavi {data} --tol 1e-12 --sweeps 5000 --quiet --out {fit}"));
    }
    directory
}

fn statistics(found: &Value) -> Vec<Value> {
    found["statistics"].as_array().unwrap().clone()
}

#[test]
fn checks_of_a_fit_count_rows_as_often_as_they_weigh() {
    let directory = fitted("multiplicity_check");
    for program in ["mix", "school"] {
        let of = |which: &str| json(&directory, &format!("check-fit {program}_{which} --draws 400"));
        let (once, often) = (of("once"), of("often"));
        let (once, mut often) = (statistics(&once), statistics(&often));
        // A school that stands for several is looked at once.
        often.retain(|own| own["group"].as_str().is_none_or(|own| own.ends_with("_0")));
        assert!(!once.is_empty() && once.len() == often.len(), "{program}");
        for (one, other) in once.iter().zip(&often) {
            let group = |own: &Value| own["group"].as_str().unwrap_or_default().replace("_0", "");
            assert_eq!(group(one), group(other));
            assert_eq!((&one["statistic"], &one["n_entries"]), (&other["statistic"], &other["n_entries"]));
            let number = |own: &Value, key: &str| own[key].as_f64().unwrap();
            // Of the data to the last digits, of replicates within a simulation.
            let [a, b] = [one, other].map(|own| number(own, "observed"));
            assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{program}: {one} {other}");
            let width = number(other, "highest") - number(other, "lowest");
            let [a, b] = [one, other].map(|own| number(own, "mean"));
            assert!((a - b).abs() <= 0.1 * width + 1e-9, "{program}: {one} {other}");
            let ratio = (number(one, "highest") - number(one, "lowest")) / width;
            assert!(width < 1e-9 || ratio > 0.5 && ratio < 2.0, "{program}: {one} {other}");
        }
    }
    // Weights that are no numbers of rows count in the statistics, and it is said that rows are drawn once.
    let weights: String = (0..24).map(|row| format!("r{row},{}\n", [1.5, 0.0, 0.5, 3.0][row % 4])).collect();
    fs::write(directory.join("half.csv"), format!("n,m\n{weights}")).unwrap();
    run(&directory, "fit mix_once.cavi --data x=x.csv --data m=half.csv --quiet --out half");
    let found = json(&directory, "check-fit half --stat mean,max");
    assert!(found["notes"][0].as_str().unwrap().contains("`m[r0]` is 1.5"), "{found}");
    // Nothing of the rows of weight 0, which lie beyond 40.
    assert!(statistics(&found).iter().all(|own| own["observed"].as_f64().unwrap() < 20.0), "{found}");
    assert!(
        run(&directory, "check-fit half").1.contains("one draw of a row counts as often as the row weighs")
    );
}

/// The standard deviations of a latent in the order of its elements, those of classes sorted: they may have changed places.
fn deviations(found: &Value, name: &str) -> Vec<f64> {
    let own = found["variables"][name]["intervals"].as_array().unwrap();
    let mut all: Vec<f64> = own.iter().map(|own| own["sd"].as_f64().unwrap()).collect();
    all.sort_by(f64::total_cmp);
    all
}

#[test]
fn intervals_of_rows_of_weight_are_those_of_the_rows_written_out() {
    let directory = fitted("multiplicity_intervals");
    let cases = [
        ("mix", "--bootstrap 200", vec!["mu", "pi", "t"]),
        ("mix", "--bootstrap 200 --rows n", vec!["mu", "pi"]),
        ("school", "--bootstrap 200", vec!["level", "noise"]),
        ("school", "--bootstrap 200 --rows school", vec!["level"]),
    ];
    for (program, options, names) in cases {
        let of = |which: &str| json(&directory, &format!("intervals {program}_{which} {options}"));
        let (once, often) = (of("once"), of("often"));
        for name in names {
            let (a, b) = (deviations(&once, name), deviations(&often, name));
            assert_eq!(a.len(), b.len());
            for (a, b) in a.iter().zip(&b) {
                // Of 200 refits each, four standard errors.
                assert!((a / b).ln().abs() < 0.3, "{program} {options} {name}: {a} and {b}");
            }
        }
    }
    // A row has the interval of its first copy, and one of weight 0 has none.
    let found = json(&directory, "intervals school_once effect --bootstrap 100");
    let own = found["variables"]["effect"]["intervals"].as_array().unwrap();
    assert_eq!(own.len(), 18, "{found}");
    assert!(found["notes"][0].as_str().unwrap().contains("rows of weight 0 has no interval"), "{found}");
}

#[test]
fn draws_of_a_prior_have_as_many_values_as_rows_weigh() {
    let directory = scratch("multiplicity_calibrate");
    let program = "axis n[i]\ndata m[i] : multiplicity\ndata y[i] : count\nla ~ Gamma(2, rate = 1)\ny[i] ~ Poisson(la)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let weights: String = (0..20).map(|row| format!("r{row},{}\n", row % 5)).collect();
    fs::write(directory.join("m.csv"), format!("n,m\n{weights}")).unwrap();
    // q is the posterior.
    let found = json(&directory, "calibrate m.cavi --data m=m.csv --fits 200");
    let own = &found["latents"]["la"];
    assert_eq!(own["finding"], Value::Null, "{found}");
    assert!((own["coverage_90"].as_f64().unwrap() - 0.9).abs() < 0.09, "{found}");
    // A draw of the data that a fit counts m times is told to be one value.
    let (_, said) = run(&directory, "simulate m.cavi --data m=m.csv --out drawn");
    assert!(
        said.contains("`m` counts rows of `y` more than once, and one value was drawn for each"),
        "{said}"
    );
    fs::write(directory.join("half.csv"), format!("n,m\n{}", weights.replace(",4", ",0.5"))).unwrap();
    let output = cavi(&directory, &["calibrate", "m.cavi", "--data", "m=half.csv"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("`m[r4]` is 0.5, which is no number of rows"), "{said}");
}

#[test]
fn what_a_fit_explains_counts_rows_within_weighed_groups() {
    let directory = fitted("multiplicity_explained");
    for program in ["mix", "school"] {
        let share = |which: &str| {
            let path = directory.join(format!("{program}_{which}/summary.json"));
            let found: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
            let own = found["explained"].as_object().unwrap().values().next().unwrap().clone();
            own["share"].as_f64().unwrap_or_else(|| panic!("{own}"))
        };
        let (once, often) = (share("once"), share("often"));
        assert!((once - often).abs() < 1e-6, "{program}: {once} and {often}");
    }
}

#[test]
fn rows_of_weight_0_are_in_no_density_of_draws() {
    let directory = scratch("multiplicity_weights_of_draws");
    let program = "axis row[n]\ndata x[n] : real\ndata m[n] : multiplicity\nmu ~ Normal(0, sd = 10)\n\
        z[n] ~ Normal(mu, sd = 1)\nx[n] ~ Normal(z[n], sd = 1)\n";
    fs::write(directory.join("h.cavi"), program).unwrap();
    fs::write(directory.join("x.csv"), "row,x\na,2\nb,-1\nc,7\n").unwrap();
    fs::write(directory.join("m.csv"), "row,m\na,1\nb,1\nc,0\n").unwrap();
    run(&directory, "fit h.cavi --data x=x.csv --data m=m.csv --tol 1e-12 --quiet --out h");
    let found = json(&directory, "check-fit h --draws 4000");
    // At rest q(mu) has the precision 2.01 and each q(z) 2; with r = E mu, E z = (r + x) / 2 and 2.01 r = sum E z. The bound is that of two rows.
    let (x, tau) = ([2.0, -1.0_f64], (2.0 * std::f64::consts::PI).ln());
    let r = 0.5 / 1.01;
    let (of_mu, of_z) = (1.0 / 2.01, 0.5);
    let mut bound =
        -0.5 * (tau + 100.0_f64.ln() + (r * r + of_mu) / 100.0) + 0.5 * (tau + 1.0 + f64::ln(of_mu));
    for x in x {
        let z = (r + x) / 2.0;
        bound += -0.5 * (tau + (z - r) * (z - r) + of_z + of_mu) - 0.5 * (tau + (x - z) * (x - z) + of_z);
        bound += 0.5 * (tau + 1.0 + f64::ln(of_z));
    }
    let (mean, sd) =
        (found["q"]["mean_log_weight"].as_f64().unwrap(), found["q"]["sd_log_weight"].as_f64().unwrap());
    assert!((mean - bound).abs() < 5.0 * sd / 4000.0_f64.sqrt(), "{mean}, by hand {bound}: {found}");
}

#[test]
fn coherence_counts_documents_as_often_as_they_weigh() {
    let directory = scratch("multiplicity_coherence");
    let program = "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count, absent = 0\ndata m[d] : multiplicity\n\
        theta[d, :k] ~ Dirichlet(0.5)\nbeta[k, :v] ~ Dirichlet(0.5)\n\
        n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\n";
    fs::write(directory.join("l.cavi"), program).unwrap();
    let counts = "doc,word,n\nd0,a,90\nd0,b,80\nd1,b,70\nd2,b,60\nd2,c,90\nd3,a,80\nd3,c,70\n";
    fs::write(directory.join("n.csv"), counts).unwrap();
    fs::write(directory.join("m.csv"), "doc,m\nd0,2\nd1,1\nd2,0\nd3,1\n").unwrap();
    let found =
        json(&directory, "choose l.cavi --data n=n.csv --data m=m.csv --set topic=2,3 --restarts 1 --quiet");
    // Of four documents a and b are in three each and c in one, a and b in two together, a and c in one, b and c in none. Three words are the
    // largest of every topic.
    let npmi = |both: f64, one: f64, other: f64| (both / (one * other)).ln() / -both.ln();
    let by_hand = (npmi(0.5, 0.75, 0.75) + npmi(0.25, 0.75, 0.25) - 1.0) / 3.0;
    for own in found["candidates"].as_array().unwrap() {
        assert!((own["coherence"].as_f64().unwrap() - by_hand).abs() < 1e-9, "{own}, by hand {by_hand}");
    }
}
