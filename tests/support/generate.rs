//! Random programs of the language, each from a number: likelihoods over random plates, their parameters sums of products of
//! latents, priors of these at random, and departures from the default factorisation and order.
//!
//! Most choices are those that have a closed form; some are not, and then the compiler is to say so.

mod matrices;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::sketch::Sketch;

/// What a latent stands for, which decides on its prior.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// In the mean of a Normal, or in log odds.
    Real,
    /// The same, not negative.
    Part,
    /// In the rate of a Poisson, an Exponential or a Gamma.
    Rate,
    Precision,
    Variance,
    /// A shape or a concentration, always a point.
    Shape,
    Unit,
    /// A vector over its last letter.
    Simplex,
    /// A position on the axis of `c`.
    Class,
    /// A switch of a weight.
    Switch,
    /// A mean that is joint with its precision, or a vector.
    Pair,
}

#[derive(Clone, Debug)]
struct Latent {
    name: String,
    letters: String,
    role: Role,
    /// Whether a line of `posterior` has it.
    departs: bool,
}

/// The plates of a likelihood, and letters that are replaced by what looks up a position: `n` by `at[n]` on `g`.
#[derive(Clone, Debug)]
struct Scope {
    plates: String,
    looked_up: Option<(char, char, String)>,
}

struct Generator {
    rng: ChaCha8Rng,
    sketch: Sketch,
    latents: Vec<Latent>,
    names: usize,
    /// That of the likelihood before.
    before: Option<Scope>,
}

/// The random program of a number.
pub fn generate(number: u64) -> Sketch {
    let mut sketch = Sketch::default();
    for letter in ["n sample", "j feature", "t time", "m view", "g group", "p predictor"] {
        let (letter, name) = letter.split_once(' ').expect("a letter and a name");
        sketch.axis(name, &[letter], &format!("axis {name}[{letter}]"));
    }
    sketch.axis("cell", &["h"], "axis cell[h] in view[m]");
    sketch.axis("node", &["i", "o"], "axis node[i, o]");
    sketch.axis("trait", &["u", "w"], "axis trait[u, w] = 2");
    for (name, letter, size) in
        [("factor", "k", 2), ("part", "l", 2), ("rank", "r", 2), ("class", "c", 2), ("answer", "a", 3)]
    {
        sketch.axis(name, &[letter], &format!("axis {name}[{letter}] = {size}"));
    }
    let rng = ChaCha8Rng::seed_from_u64(number);
    let mut own = Generator { rng, sketch, latents: Vec::new(), names: 0, before: None };
    let likelihoods = [1, 1, 2, 2, 2, 3][own.rng.random_range(0..6)];
    for _ in 0..likelihoods {
        own.likelihood();
    }
    own.sweep();
    own.sketch
}

/// `name[n, k]`, or the name alone.
fn element(name: &str, subscripts: &[String]) -> String {
    if subscripts.is_empty() { name.to_owned() } else { format!("{name}[{}]", subscripts.join(", ")) }
}

fn subscripts(letters: &str) -> Vec<String> {
    letters.chars().map(String::from).collect()
}

/// The letters with a slice over the last.
fn sliced(letters: &str) -> Vec<String> {
    let mut own = subscripts(letters);
    if let Some(last) = own.last_mut() {
        *last = format!(":{last}");
    }
    own
}

impl Generator {
    fn chance(&mut self, probability: f64) -> bool {
        self.rng.random::<f64>() < probability
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.random_range(0..choices.len())]
    }

    /// The place of one of several weights.
    fn weighted(&mut self, weights: &[f64]) -> usize {
        let mut rest = self.rng.random::<f64>() * weights.iter().sum::<f64>();
        let found = weights.iter().position(|weight| {
            rest -= weight;
            rest < 0.0
        });
        found.unwrap_or(weights.len() - 1)
    }

    fn name(&mut self, start: char) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    /// A number from 0.1 to 3.
    fn number(&mut self) -> String {
        self.pick(&["0.3", "0.5", "0.7", "1", "1.5", "2", "3"]).to_owned()
    }

    /// Some of the letters in their order, a ragged one with its ancestor.
    fn some(&mut self, letters: &str, share: f64) -> String {
        let kept: Vec<char> = letters.chars().filter(|_| self.chance(share)).collect();
        letters.chars().filter(|own| kept.contains(own) || (*own == 'm' && kept.contains(&'h'))).collect()
    }

    /// A latent of this role and these letters: one that is there, or a new one.
    fn latent(&mut self, role: Role, letters: &str, used: &mut Vec<String>, depth: usize) -> String {
        let there: Vec<String> = self
            .latents
            .iter()
            .filter(|own| own.role == role && own.letters == letters && !used.contains(&own.name))
            .map(|own| own.name.clone())
            .collect();
        let name = if !there.is_empty() && depth == 0 && self.chance(0.8) {
            there[self.rng.random_range(0..there.len())].clone()
        } else {
            self.new_latent(role, letters, depth)
        };
        used.push(name.clone());
        name
    }

    fn new_latent(&mut self, role: Role, letters: &str, depth: usize) -> String {
        let name = self.name('v');
        self.latents.push(Latent { name: name.clone(), letters: letters.to_owned(), role, departs: false });
        let own = if role == Role::Simplex { sliced(letters) } else { subscripts(letters) };
        let (prior, point) = match role {
            Role::Real => self.real(letters, depth),
            Role::Part => self.part(letters, depth),
            Role::Rate => self.rate(letters, depth),
            Role::Precision => self.precision(letters, depth),
            Role::Variance => self.variance(letters, depth),
            Role::Shape => (
                self.pick(&["Gamma(2, rate = 0.5)", "Flat(positive)", "Gamma(3, rate = 2)"]).to_owned(),
                true,
            ),
            Role::Unit => self.unit(letters),
            Role::Simplex => self.simplex(letters),
            Role::Class => (self.class(letters), false),
            Role::Switch | Role::Pair => unreachable!("stated where they are made"),
        };
        let left = element(&name, &own);
        self.sketch.declare(&name, format!("{left} ~ {prior}"));
        if point {
            let slices =
                matches!(role, Role::Real | Role::Part) && !letters.is_empty() && !letters.contains('h');
            if slices && self.chance(0.5) {
                self.depart(&name, format!("point {}", element(&name, &sliced(letters))));
            } else {
                self.depart(&name, format!("point {left}"));
            }
        } else if role == Role::Real && !letters.is_empty() && !letters.ends_with('h') && self.chance(0.4) {
            self.depart(&name, format!("q({})", element(&name, &sliced(letters))));
        } else if role == Role::Class && self.chance(0.2) {
            self.depart(&name, format!("implicit {left}"));
        } else if matches!(role, Role::Rate | Role::Real | Role::Simplex) && self.chance(0.03) {
            self.depart(&name, format!("fixed {name}"));
        }
        name
    }

    fn depart(&mut self, name: &str, text: String) {
        self.sketch.depart(text);
        self.latents.iter_mut().filter(|own| own.name == name).for_each(|own| own.departs = true);
    }

    /// A latent of a prior over some of the letters, or what stands there without it.
    fn above(&mut self, role: Role, letters: &str, depth: usize, share: f64) -> Option<String> {
        if depth >= 3 || !self.chance(share) {
            return None;
        }
        let letters = self.some(letters, 0.5);
        let name = self.latent(role, &letters, &mut Vec::new(), depth + 1);
        Some(element(&name, &subscripts(&letters)))
    }

    fn real(&mut self, letters: &str, depth: usize) -> (String, bool) {
        if depth == 0 && self.chance(0.06) {
            return ("Flat(real)".to_owned(), true);
        }
        let mean = match self.above(Role::Real, letters, depth, 0.2) {
            Some(own) => format!("{{{own}|0}}"),
            None => self.pick(&["0", "0", "0", "0.5"]).to_owned(),
        };
        let scale = if let Some(own) = self.above(Role::Precision, letters, depth, 0.35) {
            format!("{{prec = {own}|sd = 1}}")
        } else if let Some(own) = self.above(Role::Variance, letters, depth, 0.15) {
            format!("{{var = {own}|sd = 1}}")
        } else {
            self.pick(&["sd = 1", "sd = 2", "prec = 0.5", "var = 2"]).to_owned()
        };
        let point = self.chance(0.08);
        (format!("Normal({mean}, {scale})"), point)
    }

    fn part(&mut self, letters: &str, depth: usize) -> (String, bool) {
        match self.weighted(&[4.5, 5.5, 1.5, 1.2, 1.0, 1.2]) {
            0 => match self.above(Role::Precision, letters, depth, 0.4) {
                Some(own) => (format!("HalfNormal({{prec = {own}|sd = 1}})"), false),
                None => ("HalfNormal(sd = 1)".to_owned(), false),
            },
            1 => ("TruncatedNormal(1, sd = 2)".to_owned(), false),
            2 => match self.above(Role::Rate, letters, depth, 0.4) {
                Some(own) => (format!("Exponential({{{own}|2}})"), false),
                None => ("Exponential(2)".to_owned(), false),
            },
            3 => ("Gamma(1, rate = 1.5)".to_owned(), false),
            4 => ("Gamma(2, rate = 1)".to_owned(), true),
            _ => ("Flat(nonnegative)".to_owned(), true),
        }
    }

    fn gamma(&mut self, letters: &str, depth: usize) -> (String, bool) {
        let point = self.chance(0.1);
        let shape = match self.above(Role::Shape, letters, depth, 0.12) {
            Some(own) => format!("{{{own}|1.5}}"),
            None if point => self.pick(&["1", "1.5", "3"]).to_owned(),
            None => self.number(),
        };
        let rate = match self.above(Role::Rate, letters, depth, 0.25) {
            Some(own) => format!("{{rate = {own}|rate = 1}}"),
            None => format!("{} = {}", self.pick(&["rate", "rate", "rate", "mean", "scale"]), self.number()),
        };
        (format!("Gamma({shape}, {rate})"), point && !shape.contains('v'))
    }

    fn rate(&mut self, letters: &str, depth: usize) -> (String, bool) {
        match self.weighted(&[7.0, 1.5, 1.0, 0.7, 0.5]) {
            0 => self.gamma(letters, depth),
            1 => match self.above(Role::Rate, letters, depth, 0.4) {
                Some(own) => (format!("Exponential({{{own}|2}})"), false),
                None => ("Exponential(mean = 1.5)".to_owned(), false),
            },
            2 => ("Flat(nonnegative)".to_owned(), true),
            3 => ("GeneralizedInverseGaussian(0.5, 1, 2)".to_owned(), false),
            _ => ("InverseGamma(2, 1)".to_owned(), false),
        }
    }

    fn precision(&mut self, letters: &str, depth: usize) -> (String, bool) {
        match self.weighted(&[8.0, 1.0, 1.0]) {
            0 => self.gamma(letters, depth),
            1 => ("Exponential(1)".to_owned(), false),
            _ => ("GeneralizedInverseGaussian(1.5, 2, 0.5)".to_owned(), false),
        }
    }

    fn variance(&mut self, letters: &str, depth: usize) -> (String, bool) {
        match self.weighted(&[4.0, 1.0, 1.0, 1.0, 0.7]) {
            0 => match self.above(Role::Variance, letters, depth, 0.25) {
                Some(own) => (format!("InverseGamma(0.5, {{1 / {own}|1}})"), false),
                None => ("InverseGamma(2, 1)".to_owned(), false),
            },
            1 => ("Gamma(2, rate = 1)".to_owned(), false),
            2 => ("GeneralizedInverseGaussian(-0.5, 1, 1.5)".to_owned(), false),
            3 => ("Exponential(0.5)".to_owned(), false),
            _ => ("InverseGamma(2, 1)".to_owned(), true),
        }
    }

    fn unit(&mut self, letters: &str) -> (String, bool) {
        if self.chance(0.15) {
            let parts = ["2", "1.5"].map(|simpler| {
                self.above(Role::Shape, letters, 0, 1.0)
                    .map_or(simpler.to_owned(), |own| format!("{{{own}|{simpler}}}"))
            });
            return (format!("Beta({})", parts.join(", ")), false);
        }
        if self.chance(0.1) {
            ("Beta(2, 1.5)".to_owned(), true)
        } else {
            (format!("Beta({}, {})", self.number(), self.number()), false)
        }
    }

    fn simplex(&mut self, letters: &str) -> (String, bool) {
        match self.weighted(&[6.0, 1.0, 1.0, 1.0, 1.0]) {
            0 => (format!("Dirichlet({})", self.number()), false),
            1 => {
                let name = self.name('e');
                let last = &letters[letters.len() - 1..];
                self.sketch.declare(&name, format!("const {name}[{last}] : positive"));
                (format!("Dirichlet({{{name}[{last}]|0.5}})"), false)
            }
            2 => {
                let own = self.some(letters, 0.5);
                let name = self.latent(Role::Shape, &own, &mut Vec::new(), 1);
                (format!("Dirichlet({{{}|0.5}})", element(&name, &subscripts(&own))), false)
            }
            3 => ("Flat(simplex)".to_owned(), true),
            _ => ("Dirichlet(1.5)".to_owned(), true),
        }
    }

    /// A class for each of the letters; its proportions may differ along some of them.
    fn class(&mut self, letters: &str) -> String {
        let mut own = if self.chance(0.3) { self.some(letters, 0.5) } else { String::new() };
        own.push('c');
        let name = self.latent(Role::Simplex, &own, &mut Vec::new(), 0);
        format!("Categorical({})", element(&name, &sliced(&own)))
    }

    /// Plates of data, and perhaps one of them looked up.
    fn scope(&mut self) -> Scope {
        let plates = ["n", "nj", "nj", "nj", "njt", "mh", "nmh"]
            [self.weighted(&[3.0, 3.0, 2.0, 1.0, 1.5, 0.7, 0.7])]
        .to_owned();
        let open: Vec<char> = plates.chars().filter(|own| !"mh".contains(*own)).collect();
        let looked_up = if open.is_empty() {
            None
        } else {
            let own = self.pick(&open);
            let letter = own.to_string();
            match self.weighted(&[6.0, 1.5, 1.5]) {
                0 => None,
                1 => {
                    let name = self.latent(Role::Class, &letter, &mut Vec::new(), 0);
                    Some((own, 'c', name))
                }
                _ => {
                    let name = self.name('x');
                    self.sketch.declare(&name, format!("data {name}[{letter}] : index group"));
                    Some((own, 'g', name))
                }
            }
        };
        Scope { plates, looked_up }
    }

    /// A latent over letters of the scope and others, some of them looked up.
    fn read(&mut self, role: Role, letters: &str, scope: &Scope, used: &mut Vec<String>) -> String {
        if let Some((from, to, array)) = &scope.looked_up
            && letters.contains(*from)
            && self.chance(0.8)
        {
            let own: String = letters.chars().map(|own| if own == *from { *to } else { own }).collect();
            let name = self.latent(role, &own, used, 0);
            let places: Vec<String> = letters
                .chars()
                .map(|own| if own == *from { format!("{array}[{from}]") } else { own.to_string() })
                .collect();
            return element(&name, &places);
        }
        let name = self.latent(role, letters, used, 0);
        element(&name, &subscripts(letters))
    }

    fn covariate(&mut self, letters: &str, kind: &str) -> String {
        let name = self.name('x');
        self.sketch.declare(&name, format!("data {} : {kind}", element(&name, &subscripts(letters))));
        element(&name, &subscripts(letters))
    }

    /// A product of one to three latents, summed over up to three letters.
    fn product(&mut self, role: Role, scope: &Scope, used: &mut Vec<String>) -> String {
        let factors = [1, 2, 3][self.weighted(&[3.0, 3.5, 2.0])];
        let summed = match factors {
            1 => ["", "p"][self.weighted(&[3.0, 1.0])],
            2 => ["", "k", "kl"][self.weighted(&[1.0, 5.0, 0.8])],
            _ => ["", "k", "kl", "klr"][self.weighted(&[1.0, 2.5, 2.0, 4.0])],
        };
        let mut letters = vec![String::new(); factors];
        for plate in scope.plates.chars().filter(|own| *own != 'h') {
            let with =
                if plate == 'm' && scope.plates.contains('h') { self.pick(&["mh", "mh", "m"]) } else { "" };
            let place = self.rng.random_range(0..factors);
            if with.is_empty() { letters[place].push(plate) } else { letters[place].push_str(with) }
        }
        for letter in summed.chars() {
            let both = factors < 3 || self.chance(0.5);
            let first = self.rng.random_range(0..factors);
            for (place, own) in letters.iter_mut().enumerate() {
                if both || place == first || place == (first + 1) % factors {
                    own.push(letter);
                }
            }
        }
        let mut parts = Vec::new();
        for (place, own) in letters.iter().enumerate() {
            let beside = factors > 1 && place == factors - 1 && !own.is_empty() && self.chance(0.15);
            if (summed == "p" && factors == 1) || beside {
                let kind = if role == Role::Real { "real" } else { "nonnegative" };
                parts.push(self.covariate(own, kind));
                if beside {
                    continue;
                }
                let fewer: String = own
                    .chars()
                    .filter(|letter| !"njt".contains(*letter) || self.rng.random::<f64>() < 0.2)
                    .collect();
                parts.push(self.read(role, &fewer, scope, used));
            } else {
                parts.push(self.read(role, own, scope, used));
            }
        }
        let mut body = parts[0].clone();
        parts[1..].iter().for_each(|own| body = format!("{body}{{ * {own}|}}"));
        if summed.is_empty() { body } else { format!("sum[{}]({body})", subscripts(summed).join(", ")) }
    }

    /// A sum of what classes select, over letters that the left does not have.
    fn selections(&mut self, scope: &Scope, used: &mut Vec<String>) -> String {
        let few = self.some(&scope.plates, 0.3) + "p";
        let index = self.latent(Role::Class, &few, &mut Vec::new(), 0);
        let own = self.latent(Role::Real, "c", used, 0);
        let mut body = element(&own, &[element(&index, &subscripts(&few))]);
        if self.chance(0.4) {
            let covariate = self.covariate(&few, "real");
            body = format!("{body}{{ * {covariate}|}}");
        }
        format!("sum[p]({body})")
    }

    /// A sum of products.
    fn sum(&mut self, role: Role, scope: &Scope) -> String {
        let mut used = Vec::new();
        let addends = [1, 2, 3][self.weighted(&[5.0, 3.0, 1.0])];
        let mut text = if role == Role::Real && self.chance(0.2) {
            self.selections(scope, &mut used)
        } else {
            self.product(role, scope, &mut used)
        };
        for _ in 1..addends {
            let own = match self.weighted(&[3.0, 2.0, 1.5, 0.7]) {
                0 => {
                    let letters = self.some(&scope.plates, 0.5);
                    self.read(role, &letters, scope, &mut used)
                }
                1 => self.product(role, scope, &mut used),
                2 => {
                    let letters = self.some(&scope.plates, 0.7);
                    let kind = if role == Role::Real { "real" } else { "nonnegative" };
                    let covariate = self.covariate(&letters, kind);
                    let few = self.some(&scope.plates, 0.3);
                    let slope = self.read(role, &few, scope, &mut used);
                    format!("{slope} * {covariate}")
                }
                _ => "0.4".to_owned(),
            };
            let sign = if role == Role::Real && self.chance(0.15) { "-" } else { "+" };
            text = format!("{text}{{ {sign} {own}|}}");
        }
        text
    }

    /// Data over the plates of a scope; the name of the array with its letters.
    fn data(&mut self, letters: &[String], kind: &str, absent: &[&str]) -> String {
        let name = self.name('y');
        let absent = self.pick(absent);
        let left = element(&name, letters);
        let absent = if absent.is_empty() { String::new() } else { format!(", absent = {absent}") };
        let options =
            if absent.is_empty() || letters.is_empty() { String::new() } else { format!("{{{absent}|}}") };
        self.sketch.declare(&name, format!("data {left} : {kind}{options}"));
        left
    }

    fn noise(&mut self, scope: &Scope) -> String {
        let mut used = Vec::new();
        let letters = self.some(&scope.plates, 0.35);
        match self.weighted(&[5.0, 1.5, 1.5, 0.7]) {
            0 => format!("{{prec = {}|sd = 1}}", self.read(Role::Precision, &letters, scope, &mut used)),
            1 => "sd = 1".to_owned(),
            2 => format!("{{var = {}|sd = 1}}", self.read(Role::Variance, &letters, scope, &mut used)),
            _ => {
                let first = self.read(Role::Precision, &letters, scope, &mut used);
                let second = self.read(Role::Precision, &scope.plates.clone(), scope, &mut used);
                format!("prec = {first}{{ * {second}|}}")
            }
        }
    }

    fn likelihood(&mut self) {
        let again = self.chance(0.5);
        let scope = self.before.take().filter(|_| again).unwrap_or_else(|| self.scope());
        self.before = Some(scope.clone());
        let letters = subscripts(&scope.plates);
        let some = self.some(&scope.plates, 0.6);
        let mut used = Vec::new();
        match self
            .weighted(&[6.0, 5.0, 2.5, 1.5, 1.7, 3.2, 2.0, 2.2, 1.8, 2.2, 2.2, 1.6, 4.2, 1.0, 0.8, 0.8, 4.5])
        {
            0 => {
                let mean = self.sum(Role::Real, &scope);
                let noise = self.noise(&scope);
                let left = self.data(&letters, "real", &["", "NA", "NA", "0", "0, NA"]);
                self.sketch.observe(format!("{left} ~ Normal({mean}, {noise})"));
            }
            1 => {
                let mut rate = self.sum(Role::Rate, &scope);
                if self.chance(0.2) {
                    let own = self.some(&scope.plates, 0.6);
                    let exposure = self.covariate(&own, "positive");
                    rate = format!("{{{exposure} * |}}({rate})");
                }
                let kind = self.pick(&["count", "count", "nonnegative"]);
                let left = self.data(&letters, kind, &["", "NA", "0", "0", "0, NA"]);
                self.sketch.observe(format!("{left} ~ Poisson({rate})"));
            }
            2 => self.simplexes(&scope),
            3 => {
                let mut own = some;
                own.push('a');
                let left = self.data(&letters, "index answer", &["", "NA"]);
                let p = self.read(Role::Simplex, &own, &scope, &mut used);
                // The vector is over the last letter.
                let p = format!("{}:a]", p.strip_suffix("a]").expect("the last letter is `a`"));
                self.sketch.observe(format!("{left} ~ Categorical({p})"));
            }
            4 => {
                let p = self.read(Role::Unit, &some, &scope, &mut used);
                let kind = self.pick(&["binary", "unit"]);
                let left = self.data(&letters, kind, &["", "NA", "0"]);
                self.sketch.observe(format!("{left} ~ Bernoulli({p})"));
            }
            5 => {
                let odds = self.sum(Role::Real, &scope);
                let left = self.data(&letters, "binary", &["", "NA", "0"]);
                self.sketch.observe(format!("{left} ~ Bernoulli(logit = {odds})"));
            }
            6 => {
                let p = self.read(Role::Unit, &some, &scope, &mut used);
                let (left, total) =
                    (self.data(&letters, "count", &[""]), self.covariate(&scope.plates, "count"));
                self.sketch.observe(format!("{left} ~ Binomial({total}, {p})"));
            }
            7 => {
                let odds = self.sum(Role::Real, &scope);
                let (left, total) =
                    (self.data(&letters, "count", &[""]), self.covariate(&scope.plates, "count"));
                self.sketch.observe(format!("{left} ~ Binomial({total}, logit = {odds})"));
            }
            8 => {
                let left = self.data(&letters, "positive", &["", "NA"]);
                let rate = if self.chance(0.7) {
                    self.read(Role::Rate, &some, &scope, &mut used)
                } else {
                    format!("mean = {}", self.read(Role::Variance, &some, &scope, &mut used))
                };
                self.sketch.observe(format!("{left} ~ Exponential({rate})"));
            }
            9 => {
                let left = self.data(&letters, "positive", &["", "NA"]);
                let shape = match self.above(Role::Shape, &scope.plates.clone(), 0, 0.5) {
                    Some(own) => format!("{{{own}|2.5}}"),
                    None => "2.5".to_owned(),
                };
                let rate = if self.chance(0.7) {
                    format!("rate = {}", self.read(Role::Rate, &some, &scope, &mut used))
                } else {
                    format!("scale = {}", self.read(Role::Variance, &some, &scope, &mut used))
                };
                self.sketch.observe(format!("{left} ~ Gamma({shape}, {rate})"));
            }
            10 => self.switches(),
            11 => self.pairs(&scope),
            12 => {
                let mean = self.sum(Role::Part, &scope);
                let noise = self.noise(&scope);
                let left = self.data(&letters, "real", &["", "NA", "0"]);
                self.sketch.observe(format!("{left} ~ Normal({mean}, {noise})"));
            }
            13 => self.positive(&scope),
            14 => self.labels(),
            15 => self.network(),
            _ => self.vectors(&scope),
        }
    }

    /// Proportions under counts: a mixture of vectors, a class for each vector, or one vector.
    fn simplexes(&mut self, scope: &Scope) {
        let mut used = Vec::new();
        let poisson = self.chance(0.25);
        let kind = self.pick(&["count", "nonnegative"]);
        let plates = if scope.plates.contains('n') { "n" } else { "m" };
        let scope = Scope { plates: plates.to_owned(), looked_up: scope.looked_up.clone() };
        let (left, p);
        if self.chance(0.6) {
            let first = self.read(Role::Simplex, &format!("{plates}k"), &scope, &mut used);
            let second = self.latent(Role::Simplex, "kj", &mut used, 0);
            p = format!("sum[k]({first} * {second}[k, j])");
        } else {
            let own = if self.chance(0.8) { plates } else { "" };
            p = self.read(Role::Simplex, &format!("{own}j"), &scope, &mut used);
        }
        if poisson {
            left = self.data(&subscripts(&format!("{plates}j")), kind, &["", "0"]);
            let size = self.read(Role::Rate, plates, &scope, &mut used);
            self.sketch.observe(format!("{left} ~ Poisson({{{size} * |}}{p})"));
        } else {
            left = self.data(&subscripts(&format!("{plates}j")), kind, &["", "0"]);
            let left = left.replace("j]", ":j]");
            self.sketch.observe(format!("{left} ~ Multinomial(p = {p})"));
        }
    }

    /// Weights with switches, joint under q.
    fn switches(&mut self) {
        let (switch, prob) = (self.name('v'), self.latent(Role::Unit, "k", &mut Vec::new(), 0));
        let share = if self.chance(0.7) { format!("{{{prob}[k]|0.4}}") } else { "0.4".to_owned() };
        self.sketch.declare(&switch, format!("{switch}[j, k] ~ Bernoulli({share})"));
        let weight = self.name('v');
        let scale = match self.above(Role::Precision, "jk", 0, 0.4) {
            Some(own) => format!("{{prec = {own}|sd = 1}}"),
            None => "sd = 1".to_owned(),
        };
        self.sketch.declare(&weight, format!("{weight}[j, k] ~ Normal(0, {scale})"));
        let (role, letters) = ([Role::Switch, Role::Real], "jk".to_owned());
        for (name, role) in [(&switch, role[0]), (&weight, role[1])] {
            self.latents.push(Latent { name: name.clone(), letters: letters.clone(), role, departs: true });
        }
        if self.chance(0.8) {
            self.sketch.depart(format!("q({switch}[j, k], {weight}[j, k])"));
        }
        let score = if self.chance(0.7) {
            let name = self.latent(Role::Real, "nk", &mut vec![weight.clone()], 0);
            format!("{name}[n, k]")
        } else {
            self.covariate("nk", "real")
        };
        let left = self.data(&subscripts("nj"), "real", &["", "NA"]);
        let noise = self.noise(&Scope { plates: "nj".to_owned(), looked_up: None });
        self.sketch
            .observe(format!("{left} ~ Normal(sum[k]({switch}[j, k] * {weight}[j, k] * {score}), {noise})"));
    }

    /// A mean and a precision, joint under q.
    fn pairs(&mut self, scope: &Scope) {
        let own = match &scope.looked_up {
            Some((from, to, _)) => scope.plates.replace(*from, &to.to_string()),
            None => self.some(&scope.plates, 0.6),
        };
        let precision = self.new_latent(Role::Precision, &own, 3);
        let places = subscripts(&own);
        let mean = self.name('v');
        let above =
            self.above(Role::Real, &own, 0, 0.25).map_or("0.3".to_owned(), |own| format!("{{{own}|0.3}}"));
        let tau = element(&precision, &places);
        let mu = element(&mean, &places);
        self.sketch.declare(&mean, format!("{mu} ~ Normal({above}, prec = 0.4 * {tau})"));
        self.latents.push(Latent {
            name: mean.clone(),
            letters: own.clone(),
            role: Role::Pair,
            departs: true,
        });
        let departs = self.latents.iter().any(|latent| latent.name == precision && latent.departs);
        if !departs {
            self.sketch.depart(format!("q({mu}, {tau})"));
        }
        let (mut mu, mut tau) = (mu, tau);
        if let Some((from, to, array)) = &scope.looked_up {
            let places: Vec<String> = own
                .chars()
                .map(|letter| if letter == *to { format!("{array}[{from}]") } else { letter.to_string() })
                .collect();
            (mu, tau) = (element(&mean, &places), element(&precision, &places));
        }
        let left = self.data(&subscripts(&scope.plates), "real", &["", "NA"]);
        self.sketch.observe(format!("{left} ~ Normal({mu}, prec = {tau})"));
    }

    /// Data of the other families.
    fn positive(&mut self, scope: &Scope) {
        let mut used = Vec::new();
        let letters = self.some(&scope.plates, 0.4);
        let left = self.data(&subscripts(&scope.plates), "positive", &["", "NA"]);
        let text = match self.rng.random_range(0..4) {
            0 => format!("InverseGamma(1.5, scale = {})", self.read(Role::Rate, &letters, scope, &mut used)),
            1 => format!("HalfNormal(var = {})", self.read(Role::Variance, &letters, scope, &mut used)),
            2 => format!("HalfNormal(prec = {})", self.read(Role::Precision, &letters, scope, &mut used)),
            _ => "GeneralizedInverseGaussian(-0.5, 2, 1)".to_owned(),
        };
        self.sketch.observe(format!("{left} ~ {text}"));
    }

    /// Labels of which some are missing, and data that depend on them.
    fn labels(&mut self) {
        let mut used = Vec::new();
        let label = self.name('y');
        let pi = self.latent(Role::Simplex, "c", &mut used, 0);
        self.sketch.declare(&label, format!("data {label}[n] : index class{{, absent = NA|}}"));
        self.sketch.observe(format!("{label}[n] ~ Categorical({pi}[:c])"));
        let scope = Scope { plates: "nj".to_owned(), looked_up: Some(('n', 'c', label)) };
        let letters = self.pick(&["n", "nj"]);
        if self.chance(0.5) {
            let p = self.read(Role::Unit, letters, &scope, &mut used);
            let left = self.data(&subscripts("nj"), "binary", &["", "NA"]);
            self.sketch.observe(format!("{left} ~ Bernoulli({p})"));
        } else {
            let mean = self.read(Role::Real, letters, &scope, &mut used);
            let noise = self.noise(&scope);
            let left = self.data(&subscripts("nj"), "real", &["", "NA"]);
            self.sketch.observe(format!("{left} ~ Normal({mean}, {noise})"));
        }
    }

    /// Links between the nodes of one axis.
    fn network(&mut self) {
        let restriction = self.pick(&[", i != o", ", i < o", ""]);
        let normal = self.chance(0.5);
        let role = if normal { Role::Real } else { Role::Rate };
        let name = self.latent(role, "ik", &mut Vec::new(), 0);
        let data = self.name('y');
        let rate = format!("sum[k]({name}[i, k] * {name}[o, k])");
        let (kind, family) = match (normal, self.chance(0.5)) {
            (true, true) => ("real, absent = NA", format!("Normal({rate}, sd = 1)")),
            (true, false) => ("binary, absent = 0", format!("Bernoulli(logit = {rate})")),
            (false, _) => ("count, absent = 0", format!("Poisson({rate})")),
        };
        self.sketch.declare(&data, format!("data {data}[i, o] : {kind}{{{restriction}|}}"));
        self.sketch.observe(format!("{data}[i, o] ~ {family}"));
    }

    /// An order of the variables, some of them in groups.
    fn sweep(&mut self) {
        if !self.chance(0.35) {
            return;
        }
        let mut names: Vec<String> = self
            .latents
            .iter()
            .filter(|own| !matches!(own.role, Role::Pair | Role::Switch))
            .map(|own| own.name.clone())
            .collect();
        for last in (1..names.len()).rev() {
            names.swap(last, self.rng.random_range(0..=last));
        }
        while !names.is_empty() {
            let size = self.pick(&[1, 1, 2, 3]).min(names.len());
            let repeat = if self.chance(0.1) { 2 } else { 1 };
            let group = names.split_off(names.len() - size);
            self.sketch.visit(group, repeat);
        }
    }
}
