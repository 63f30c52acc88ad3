//! How many components, or which other number: scores and bounds over what fits of one program differ in, and the one that is suggested.

use cavi::Error;
use cavi::choose::{self, COLUMNS, Candidate, Choice};

use super::heldout::HeldOut;
use super::sides::{self, Side};
use crate::charts::points::digits;
use crate::charts::progression::{self, Step, Titles};
use crate::figure::{Figure, Table};
use crate::html::{capital, number};

/// What there is to choose from.
pub(crate) struct Choosing {
    /// The numbers in which the fits differ.
    over: Vec<String>,
    /// For each fit its name, the values of these numbers, and its bound where that is comparable.
    fits: Vec<(String, Vec<f64>, Option<f64>)>,
    /// What is predicted of held-out entries: a probability, a density, or of some arrays the one and of others the other.
    predictive: String,
    /// The choice, with the places of its candidates among the fits.
    choice: Option<(Choice, Vec<usize>)>,
    /// What is suggested and why, or why nothing is.
    pub reason: Option<String>,
}

impl Choosing {
    /// What the fits differ in; `None` where they are of several programs, or alike.
    ///
    /// # Errors
    /// A run of a fit that cannot be read.
    pub fn of(sides: &[Side], heldout: &HeldOut) -> Result<Option<Choosing>, Error> {
        let over = sides::varying(sides);
        if over.is_empty() {
            return Ok(None);
        }
        let same = sides::same_data(sides) && sides::same_heldout(sides);
        let values = |own: &Side| -> Vec<f64> {
            let all = own.numbers();
            over.iter().filter_map(|name| all.get(name).copied()).collect()
        };
        let fit = |own: &Side| {
            let bound = Some(own.elbo()).filter(|own| own.is_finite() && same);
            (own.name.clone(), values(own), bound)
        };
        let fits: Vec<(String, Vec<f64>, Option<f64>)> = sides.iter().map(fit).collect();
        let places = heldout.places();
        let mut candidates = Vec::new();
        for place in &places {
            let side = &sides[*place];
            let values: Vec<(String, f64)> = over.iter().cloned().zip(values(side)).collect();
            candidates.push(Candidate {
                size: choose::size(&side.compiled.model.symbols, &values),
                values,
                entries: heldout.entries[*place].clone().unwrap_or_default(),
                elbo: side.elbo(),
                converged: side.summary()["converged"] == true,
                stability: choose::stability_in(&side.directory)?,
                coherence: heldout.coherence[*place],
            });
        }
        let is_choice = candidates.iter().any(|own| own.values != candidates[0].values);
        let choice = if is_choice { choose::suggest(candidates).ok() } else { None };
        let reason = match &choice {
            Some(choice) => capital(&choice.reason()) + ".",
            None => "No value is suggested: that takes fits with other values of which the same entries were held out, as `cavi choose` makes them."
                .to_owned(),
        };
        let mut kinds: Vec<&str> = Vec::new();
        for place in &places {
            let arrays = heldout.entries[*place].iter().flatten();
            kinds.extend(arrays.map(|own| sides[*place].predictive(&own.array)));
        }
        kinds.sort_unstable();
        kinds.dedup();
        let predictive = if kinds.is_empty() { "density".to_owned() } else { kinds.join(" or ") };
        Ok(Some(Choosing {
            over,
            fits,
            predictive,
            choice: choice.map(|own| (own, places)),
            reason: Some(reason),
        }))
    }

    /// `topic`, or `topic and a`.
    pub fn names(&self) -> String {
        self.over.join(" and ")
    }

    /// The score and the bound over what was tried, and how alike restarts are; over the first number where several differ.
    pub fn figures(&self) -> Vec<Figure> {
        let over = self.names();
        let mut figures = Vec::new();
        let mut chart = |name: &str, title: String, note: &str, value: &str, steps: Vec<Step>| {
            if steps.len() > 1 {
                let titles = Titles {
                    name: &format!("choosing-{name}"),
                    title: &title,
                    note,
                    over: &self.over[0],
                    value,
                };
                figures.push(progression::figure(titles, &steps));
            }
        };
        if let Some((choice, places)) = &self.choice {
            let mark = |place: usize| match (place == choice.suggested, place == choice.best) {
                (true, true) => "suggested, the best",
                (true, false) => "suggested",
                (false, true) => "the best",
                (false, false) => "tried",
            };
            let steps = |of: &dyn Fn(usize) -> Option<(f64, Option<f64>)>| -> Vec<Step> {
                let step = |(place, fit): (usize, &usize)| {
                    let (name, values, _) = &self.fits[*fit];
                    let (value, error) = of(place)?;
                    let error = error.filter(|own| own.is_finite());
                    Some(Step { at: values[0], label: name.clone(), value, error, mark: mark(place) })
                };
                places.iter().enumerate().filter_map(step).collect()
            };
            let score = |place: usize| {
                let (score, error) = choice.candidates[place].score();
                Some((score, Some(error)))
            };
            chart(
                "score",
                format!("Held-out score over {over}"),
                &format!(
                    "The log predictive {} of a unit of what was held out of all, with one standard error over entries to either side. Suggested is the smallest value that is below the best by at most one standard error of their paired difference.",
                    self.predictive
                ),
                "score of a unit",
                steps(&score),
            );
            chart(
                "stability",
                format!("How alike restarts are, over {over}"),
                "The mean cosine of components that are matched over all pairs of the runs that were kept with a fit.",
                "stability",
                steps(&|place| Some((choice.candidates[place].stability?, None))),
            );
            chart(
                "coherence",
                format!("Coherence over {over}"),
                "How often the ten largest words of a component stand in the same documents: their normalised pointwise mutual information, the mean over pairs and components.",
                "coherence",
                steps(&|place| Some((choice.candidates[place].coherence?, None))),
            );
        }
        let bounds = self.fits.iter().filter_map(|(name, values, bound)| {
            Some(Step { at: values[0], label: name.clone(), value: (*bound)?, error: None, mark: "tried" })
        });
        let bounds = bounds.collect();
        chart(
            "bound",
            format!("The bound over {over}"),
            "The evidence lower bound (ELBO) of each fit, the larger the better. It weighs how well data are described against how much is described, and grows on where the approximation is good.",
            "ELBO",
            bounds,
        );
        if let (Some(table), Some(first)) = (self.table(), figures.first_mut()) {
            first.table = table;
        }
        figures
    }

    /// All that is known of each candidate.
    fn table(&self) -> Option<Table> {
        let (choice, places) = self.choice.as_ref()?;
        let mut head: Vec<&str> = vec!["fit"];
        head.extend(self.over.iter().map(String::as_str));
        head.extend(COLUMNS);
        let row = |(place, fit): (usize, &usize)| {
            let (name, values, _) = &self.fits[*fit];
            let mut cells = vec![name.clone()];
            cells.extend(values.iter().map(|own| number(*own)));
            cells.extend(choice.numbers(place).map(|own| own.map_or_else(String::new, digits)));
            cells
        };
        Some(Table::new(&head, 1, places.iter().enumerate().map(row)))
    }
}
