//! The curvature of the tangent bound by its name: `omega(xi) = tanh(xi / 2) / (2 xi)`.
//!
//! It is twice the lambda(xi) of Jaakkola and Jordan (2000), and the mean of a Polya-Gamma variable of Polson, Scott and Windle (2013).
//! Formulas are built with it written out; on a page each stands as the name, which is defined before the first of them.

use super::build::half;
use super::derivation::Derivation;
use super::document::{Item, Row, words};
use super::meanings::each_node;
use super::node::{Call, Node, Product};
use super::number::Number;

impl Derivation<'_> {
    /// Puts the name in the place of the function, and its definition before what leads to the first.
    pub(super) fn curvature_by_name(&self, items: &mut Vec<Item>) {
        let name = self.scope().curvature();
        let mut first = None;
        for (place, item) in items.iter_mut().enumerate() {
            let mut found = false;
            each_node(std::slice::from_mut(item), &mut |node| {
                if let Node::Product(product) = node
                    && let Some(named) = by_name(product, &name)
                {
                    (*node, found) = (named, true);
                }
            });
            if found && first.is_none() {
                first = Some(place);
            }
        }
        let Some(first) = first else { return };
        // A sentence leads to a display.
        let leads = first.checked_sub(1).filter(|place| matches!(items[*place], Item::Paragraph(_)));
        let place = leads.unwrap_or(first);
        let argument = Node::name(&self.scope().auxiliary_base());
        let above = vec![Node::call(Call::Tanh, half(argument.clone()))];
        let right = Node::product(Number::one(), above, vec![Node::number(2.0), argument.clone()]);
        let definition = Row::equal(Node::call(Call::Named(name), argument), right);
        let text = "The tangent below is written in this function, twice that of Jaakkola and Jordan (2000), and 1 / 4 at 0:";
        items.splice(place..place, [Item::Paragraph(vec![words(text)]), Item::Rows(vec![definition])]);
    }
}

/// A product with `tanh(x / 2) / (2 x)` in it as one with `omega(x)`.
fn by_name(product: &Product, name: &str) -> Option<Node> {
    let is_half = |node: &Node, of: &Node| *node == half(of.clone());
    let of = |node: &Node| match node {
        Node::Call(Call::Tanh, arguments) => {
            product.below.iter().position(|own| arguments.len() == 1 && is_half(&arguments[0], own))
        }
        _ => None,
    };
    let (above, below) =
        product.above.iter().enumerate().find_map(|(place, node)| Some((place, of(node)?)))?;
    let Product { number, above: mut upper, below: mut lower } = product.clone();
    let argument = lower.remove(below);
    upper[above] = Node::call(Call::Named(name.to_owned()), argument);
    // The 2 below the line goes with it.
    let two = Node::number(2.0);
    let number = match lower.iter().position(|own| *own == two) {
        Some(place) => {
            lower.remove(place);
            number
        }
        None if number.below % 2 == 0 => Number { below: number.below / 2, ..number },
        None => return None,
    };
    Some(Node::product(number, upper, lower))
}
