//! Vectors with a precision matrix.

use super::{Generator, Latent, Role, Scope, element, subscripts};

/// `name[g, :u]`
fn with_slices(name: &str, places: &[String], slices: &[&str]) -> String {
    let all: Vec<String> = places.iter().cloned().chain(slices.iter().map(|own| (*own).to_owned())).collect();
    element(name, &all)
}

impl Generator {
    /// A vector over `u` for each plate: its mean a vector, a sum of products or nothing, its precision a Wishart matrix, one of
    /// numbers, or diagonal.
    pub(super) fn vectors(&mut self, scope: &Scope) {
        let looked_up = scope.looked_up.clone().filter(|(from, _, _)| *from == 'n');
        let (own, places) = match &looked_up {
            Some((from, to, array)) if self.chance(0.8) => (to.to_string(), vec![format!("{array}[{from}]")]),
            _ => (String::new(), Vec::new()),
        };
        let matrix = self.chance(0.6).then(|| self.wishart(&own));
        let mean = match self.weighted(&[5.0, 3.0, 1.0]) {
            0 => {
                let name = self.vector(&own, matrix.as_deref());
                format!("{{{}|0}}", element(&name, &places))
            }
            1 => self.sum(Role::Real, &Scope { plates: "nu".to_owned(), looked_up }),
            _ => "0".to_owned(),
        };
        let noise = match &matrix {
            Some(name) => {
                let factor = if self.chance(0.2) { "1.5 * " } else { "" };
                format!("{{prec = {factor}{}|prec = [u == w]}}", element(name, &places))
            }
            None => self.known_matrix("u"),
        };
        let left = self.data(&subscripts("nu"), "real", &["", "NA"]).replace("u]", ":u]");
        self.sketch.observe(format!("{left} ~ MultivariateNormal({mean}, {noise})"));
    }

    /// A Wishart matrix for each of the letters.
    fn wishart(&mut self, letters: &str) -> String {
        let name = self.name('v');
        let left = with_slices(&name, &subscripts(letters), &[":u", ":w"]);
        let scale = self.pick(&["0.4 * [u == w]", "0.2 + 0.5 * [u == w]"]);
        let dof = self.pick(&["3", "4.5", "6"]);
        self.sketch.declare(&name, format!("{left} ~ Wishart({dof}, {scale})"));
        name
    }

    /// A vector for each of the letters; under a matrix it may be joint with it.
    fn vector(&mut self, letters: &str, matrix: Option<&str>) -> String {
        let name = self.name('v');
        let places = subscripts(letters);
        let left = with_slices(&name, &places, &[":u"]);
        let joint = matrix.filter(|_| self.chance(0.5));
        let noise = match joint {
            Some(matrix) => format!("prec = 0.5 * {}", element(matrix, &places)),
            None => self.known_matrix("u"),
        };
        let mean = match self.above(Role::Real, "", 0, 0.2) {
            Some(own) if joint.is_none() => format!("{{{own}|0}}"),
            _ => "0".to_owned(),
        };
        self.sketch.declare(&name, format!("{left} ~ MultivariateNormal({mean}, {noise})"));
        self.latents.push(Latent {
            name: name.clone(),
            letters: format!("{letters}u"),
            role: Role::Pair,
            departs: true,
        });
        if let Some(matrix) = joint
            && self.chance(0.8)
        {
            self.sketch.depart(format!("q({left}, {})", with_slices(matrix, &places, &[":u", ":w"])));
        }
        name
    }

    /// A precision or a covariance without a matrix latent.
    fn known_matrix(&mut self, letter: &str) -> String {
        match self.weighted(&[2.0, 2.0, 1.0, 1.0]) {
            0 => format!("prec = 2 * [{letter} == w]"),
            1 => format!("cov = 0.3 + 0.9 * [{letter} == w]"),
            2 => {
                let name = self.latent(Role::Precision, letter, &mut Vec::new(), 1);
                format!("{{prec = {name}[{letter}] * [{letter} == w]|prec = [{letter} == w]}}")
            }
            _ => format!("prec = inverse(0.2 + 1.4 * [{letter} == w])"),
        }
    }
}
