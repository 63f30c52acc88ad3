//! Implicit factors: a factor of q that is always at its optimum, where its bound is exact, so that no bound is stated.

use crate::equations::Site;
use crate::expression::Subscript;
use crate::symbols::{ArrayId, LetterId, SiteId};

use super::Format;
use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Row, Span, render, words};
use super::node::{Call, Node};

impl Derivation<'_> {
    fn latent_of(&self, id: SiteId) -> ArrayId {
        self.equations.implicit(id).expect("the site of an implicit factor")
    }

    /// Its element at the plates of its site.
    fn implicit_element(&self, id: SiteId, builder: &mut Builder<'_>) -> Node {
        let array = self.latent_of(id);
        let letters: Vec<Subscript> =
            self.symbols().array(array).letters.iter().map(|own| Subscript::Letter(*own)).collect();
        builder.element(array, &letters)
    }

    /// `q(z[n])`
    pub(super) fn implicit_q(&self, id: SiteId) -> Node {
        let mut builder = Builder::new(self.scope(), &self.equations.site(id).plates);
        Node::Call(Call::Q, vec![self.implicit_element(id, &mut builder)])
    }

    /// `q(z[n]): Categorical, at its optimum whenever it is read and never stored, for each n`
    pub(super) fn implicit_factor(&self, id: SiteId) -> Vec<Span> {
        let site = self.equations.site(id);
        let q = self.implicit_q(id);
        let family = self.equations.statements[site.statement.index()].family;
        let text = format!(": {family}, at its optimum whenever it is read and never stored");
        let mut line = vec![Span::Math(q), words(text)];
        line.extend(self.for_each(&site.plates));
        line
    }

    /// Its probabilities, and those by which the sweeps of the fit go where they take others.
    pub(super) fn implicit_update(&self, id: SiteId, format: Format) -> Vec<Item> {
        let site: &Site = self.equations.site(id);
        let family = self.equations.statements[site.statement.index()].family;
        let q = self.implicit_q(id);
        let heading = vec![Span::Math(q), words(format!(" = {family}"))];
        let mut shares = Vec::new();
        let mut probabilities = Vec::new();
        let mut over: Vec<Span> = Vec::new();
        let several = site.addends.len() > 1;
        for (number, addend) in site.addends.iter().enumerate() {
            let letters: Vec<LetterId> = site.plates.iter().chain(&addend.letters).copied().collect();
            let mut builder = Builder::new(self.scope(), &letters);
            let subscripts = builder.subscripts_of(&letters);
            let share = builder.allocation(id, number, subscripts);
            let element = self.implicit_element(id, &mut builder);
            let classes = builder.letters_of(&addend.letters);
            over.extend(classes.iter().cloned().map(Span::Math));
            // Of a binary factor the first addend is 1, the second 0.
            let class = classes.into_iter().next().unwrap_or_else(|| Node::number(1.0 - number as f64));
            shares.push(Row::proportional(share.clone(), builder.exponential(&addend.log_weight)));
            probabilities.push(Row::equal(Node::Probability(Box::new(element), Box::new(class)), share));
        }
        if let Some(first) = shares.first_mut() {
            first.label = Some(self.label_of_site(id));
        }
        if several {
            over.push(words("all of these together"));
        }
        let mut note = vec![words("normalised over ")];
        note.extend(separated(over));
        note.push(words("."));
        let text = "It is at its optimum whenever it is read, and never stored.";
        let rows = shares.into_iter().chain(probabilities).collect();
        let mut items = vec![
            Item::Subheading(heading),
            Item::Paragraph(vec![words(text)]),
            Item::Rows(rows),
            Item::Paragraph(note),
        ];
        items.extend(self.other_rules(id, format));
        items
    }

    /// How an implicit factor comes by its probabilities; `None` where the variable has none.
    pub fn explain_implicit(&self, array: ArrayId, format: Format) -> Option<String> {
        let id = self.equations.site_of(array)?;
        let mut items = vec![Item::Paragraph(self.implicit_factor(id))];
        items.push(Item::Heading("Terms of the log joint"));
        let statements = self.equations.statements.iter();
        let holding = statements.filter(|own| own.target == array || own.log_density.mentions(array));
        items.push(Item::Rows(holding.map(|own| self.log_density(own)).collect()));
        let text = "The probability of a class is proportional to the exponential of the expectation, under all other \
                    factors, of what these are where it is chosen. There the bound is largest.";
        items.extend([Item::Heading("Expectation"), Item::Paragraph(vec![words(text)])]);
        items.push(Item::Heading("Update"));
        items.extend(self.implicit_update(id, format));
        Some(render(&items, format, self.columns))
    }
}
