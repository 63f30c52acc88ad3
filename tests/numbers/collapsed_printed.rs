//! The rule `collapsed` as a page prints it, read back and evaluated at random parameters: it is the formula that fits are held to in
//! `collapsed.rs`.

use cavi::Compiled;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

const K: usize = 3;

fn compiled(text: &str) -> Compiled {
    cavi::compile(text, "collapsed.cavi").compiled.expect("it compiles")
}

/// What a printed formula is evaluated at.
struct Reader<'a> {
    /// The size of an axis, or of the axis of a letter.
    size: &'a dyn Fn(&str) -> usize,
    /// The value of a name at these positions.
    name: &'a dyn Fn(&str, &[usize]) -> f64,
}

impl Reader<'_> {
    /// The value of a whole formula where letters have these positions.
    fn value(&self, text: &str, at: &[(String, usize)]) -> f64 {
        let mut rest = text;
        let found = self.sum(&mut rest, at);
        assert_eq!(rest, "", "left of {text}");
        found
    }

    fn sum(&self, rest: &mut &str, at: &[(String, usize)]) -> f64 {
        let mut total = self.product(rest, at);
        loop {
            if let Some(behind) = rest.strip_prefix(" + ") {
                *rest = behind;
                total += self.product(rest, at);
            } else if let Some(behind) = rest.strip_prefix(" - ") {
                *rest = behind;
                total -= self.product(rest, at);
            } else {
                return total;
            }
        }
    }

    fn product(&self, rest: &mut &str, at: &[(String, usize)]) -> f64 {
        let mut product = self.atom(rest, at);
        loop {
            if let Some(behind) = rest.strip_prefix(" * ") {
                *rest = behind;
                product *= self.atom(rest, at);
            } else if let Some(behind) = rest.strip_prefix(" / ") {
                *rest = behind;
                product /= self.atom(rest, at);
            } else {
                return product;
            }
        }
    }

    fn atom(&self, rest: &mut &str, at: &[(String, usize)]) -> f64 {
        if rest.starts_with('(') {
            return self.value(inside(rest, '(', ')'), at);
        }
        if let Some(behind) = rest.strip_prefix('|') {
            let (axis, behind) = behind.split_once('|').expect("a size ends");
            *rest = behind;
            return (self.size)(axis) as f64;
        }
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_'.".contains(c))).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        *rest = behind;
        if let Ok(number) = word.parse() {
            return number;
        }
        if word == "sum" {
            let letters: Vec<&str> = inside(rest, '[', ']').split(',').collect();
            let [letter] = letters[..] else { panic!("a sum over {letters:?}") };
            let body = inside(rest, '(', ')');
            let term = |position| {
                let mut at = at.to_vec();
                at.push((letter.to_owned(), position));
                self.value(body, &at)
            };
            return (0..(self.size)(letter.trim_end_matches('\''))).map(term).sum();
        }
        // A natural parameter, `eta(log x[i])`, and a mean, `E[x[i]]`.
        if ["eta", "lambda", "nu"].contains(&word) && rest.starts_with("(log ") {
            return self.element(&format!("mass of {}", &inside(rest, '(', ')')["log ".len()..]), at);
        }
        if word == "E" && rest.starts_with('[') {
            return self.element(&format!("mean of {}", inside(rest, '[', ']')), at);
        }
        if word == "max" || word == "min" {
            let arguments = inside(rest, '(', ')');
            let (left, right) = arguments.rsplit_once(", ").expect("two arguments");
            let (left, right) = (self.value(left, at), self.value(right, at));
            return if word == "max" { left.max(right) } else { left.min(right) };
        }
        let letters =
            if rest.starts_with('[') { format!("[{}]", inside(rest, '[', ']')) } else { String::new() };
        self.element(&format!("{word}{letters}"), at)
    }

    /// The value of a name with letters, `w[i,k]`.
    fn element(&self, text: &str, at: &[(String, usize)]) -> f64 {
        let (name, letters) = text.split_once('[').unwrap_or((text, ""));
        let letters = letters.trim_end_matches(']').split(',').filter(|letter| !letter.is_empty());
        let place = |letter: &str| {
            at.iter().rev().find(|(own, _)| own == letter).expect("a letter with a position").1
        };
        (self.name)(name, &letters.map(place).collect::<Vec<usize>>())
    }
}

/// What stands in the brackets that come next, which are taken off.
fn inside<'t>(rest: &mut &'t str, open: char, close: char) -> &'t str {
    let mut depth = 0;
    let end = rest.char_indices().find(|(_, c)| {
        depth += i32::from(*c == open) - i32::from(*c == close);
        depth == 0
    });
    let (end, _) = end.expect("brackets are closed");
    let (own, behind) = (&rest[1..end], &rest[end + 1..]);
    *rest = behind;
    own
}

/// The allocations of the first site under a key of the JSON: each with its letters, and what it is proportional to.
fn rule(compiled: &Compiled, key: &str) -> Vec<String> {
    let json: Value =
        serde_json::from_str(&compiled.derivation_json(None).expect("it has one")).expect("it is JSON");
    let rows = json["sites"][0][key].as_array().expect("a list").clone();
    rows.iter().map(|row| row["value"]["text"].as_str().expect("text").to_owned()).collect()
}

fn normalised(own: Vec<f64>) -> Vec<f64> {
    let total: f64 = own.iter().sum();
    own.into_iter().map(|own| own / total).collect()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(found.iter().zip(expected).all(near), "{found:?} and not {expected:?}");
}

fn random(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.random_range(0.05..3.0)).collect()
}

#[test]
fn topics() {
    let text = "model topics\naxis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata x[d, v] : count, absent = 0\nconst a = 0.2\nconst c = 0.15\n\
        theta[d, :k] ~ Dirichlet(a)\nbeta[k, :v] ~ Dirichlet(c)\nx[d, :v] ~ Multinomial(sum[k](theta[d, k] * beta[k, v]))\n\
        fit {\n  warmup collapsed 5\n}\n";
    let program = compiled(text);
    let (words, prior) = (5, [0.2, 0.15]);
    let without = rule(&program, "without_own_unit");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..50 {
        let (theta, beta) = (random(&mut rng, K), random(&mut rng, K * words));
        let v = rng.random_range(0..words);
        let total = |k: usize| beta[k * words..(k + 1) * words].iter().sum::<f64>();
        let share = normalised((0..K).map(|k| theta[k] * beta[k * words + v] / total(k)).collect());
        let left = |k: usize| {
            let (n, m) = (theta[k] - share[k], beta[k * words + v] - share[k]);
            n.max(prior[0]) * m.max(prior[1]) / (total(k) - share[k]).max(words as f64 * prior[1])
        };
        let size = |axis: &str| if ["word", "v"].contains(&axis) { words } else { K };
        let name = |name: &str, at: &[usize]| match name {
            "phi_bar" => share[at[2]],
            "mass of theta" => theta[at[1]],
            "mass of beta" => beta[at[0] * words + at[1]],
            "a" => prior[0],
            "c" => prior[1],
            other => panic!("what is {other}?"),
        };
        let reader = Reader { size: &size, name: &name };
        let at = |k: usize| [("d", 0), ("v", v), ("k", k)].map(|(letter, place)| (letter.to_owned(), place));
        let found = (0..K).map(|k| reader.value(&without[0], &at(k))).collect();
        close(&normalised(found), &normalised((0..K).map(left).collect()));
    }
}

#[test]
fn factors_with_a_background_and_an_exposure() {
    let text = "model factors\naxis row[i]\naxis column[j]\naxis part[k] = 3\ndata x[i, j] : nonnegative, absent = 0\ndata e[i] : positive\n\
        w[i, k] ~ Gamma(0.3, rate = 2)\nh[j, k] ~ Gamma(0.2, rate = 0.5)\n\
        x[i, j] ~ Poisson(sum[k](e[i] * w[i, k] * h[j, k]) + 0.25)\nfit {\n  allocations = collapsed\n}\n";
    let program = compiled(text);
    let without = rule(&program, "without_own_unit");
    assert_eq!(without.len(), 2, "{without:?}");
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for _ in 0..50 {
        let [w, u, h, r] = std::array::from_fn(|_| random(&mut rng, K));
        let (e, x) = (rng.random_range(0.5..2.0), rng.random_range(0.1..4.0_f64));
        let of = |mean: &dyn Fn(usize) -> f64| -> Vec<f64> {
            normalised((0..K).map(|k| e * mean(k)).chain([0.25]).collect())
        };
        let share = of(&|k| w[k] / u[k] * h[k] / r[k]);
        let left = |k: usize| {
            let unit = x.min(1.0) * share[k];
            (w[k] - unit).max(0.3) / u[k] * (h[k] - unit).max(0.2) / r[k]
        };
        let name = |name: &str, at: &[usize]| match name {
            "phi_bar1" => share[at[2]],
            "mass of w" => w[at[1]],
            "mass of h" => h[at[1]],
            "mean of w" => w[at[1]] / u[at[1]],
            "mean of h" => h[at[1]] / r[at[1]],
            "e" => e,
            "x" => x,
            other => panic!("what is {other}?"),
        };
        let reader = Reader { size: &|_| K, name: &name };
        let at = |k: usize| [("i", 0), ("j", 0), ("k", k)].map(|(letter, place)| (letter.to_owned(), place));
        let mut found: Vec<f64> = (0..K).map(|k| reader.value(&without[0], &at(k))).collect();
        found.push(reader.value(&without[1], &at(0)));
        close(&normalised(found), &of(&left));
    }
}
