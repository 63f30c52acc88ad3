//! The rows of a page, read back, with where they stand and what they define.

use cavi_algebra::Symbols;
use cavi_algebra::print::Printed;

use crate::read::{Relation, Tree, read, read_conditions};
use crate::value::Defined;

/// A row, read back, with where it stands.
pub struct Row {
    /// Its heading.
    pub section: String,
    /// What its section is about.
    pub about: String,
    /// Its left side.
    pub left: Tree,
    /// What stands between.
    pub sign: &'static str,
    /// Its right side.
    pub right: Tree,
    /// As printed.
    pub shown: String,
    /// The sentence that leads to its neighbours.
    pub lead: String,
    /// The sentence that follows its neighbours.
    pub note: String,
    /// Where it holds.
    pub conditions: Vec<Relation>,
    /// The rows that stand together have one number.
    pub together: usize,
}

/// The rows of a page, but for the statements themselves, in the names of `symbols`.
///
/// # Errors
/// What could not be read.
pub fn rows(pieces: &[Printed], symbols: &Symbols) -> Result<Vec<Row>, String> {
    let (mut section, mut about, mut together) = (String::new(), String::new(), 0);
    let mut lead = String::new();
    let mut rows: Vec<Row> = Vec::new();
    for piece in pieces {
        match piece {
            Printed::Heading(heading) => {
                section.clone_from(heading);
                about.clear();
                lead.clear();
            }
            Printed::Table(_) => {}
            Printed::Subheading(line) => about.clone_from(line),
            Printed::Sentence(line) => {
                rows.iter_mut().filter(|row| row.together == together).for_each(|row| {
                    row.note.clone_from(line);
                });
                together += 1;
                lead.clone_from(line);
            }
            Printed::Relation { sign: "~", .. } => {}
            Printed::Relation { left, sign, right, note } => {
                let shown = format!("{left} {sign} {right}");
                let tree = |text: &str| read(text, symbols).map_err(|problem| format!("{shown}: {problem}"));
                let (left, right) = (tree(left)?, tree(right)?);
                let (section, about) = (section.clone(), about.clone());
                let conditions = note.as_deref().and_then(|note| note.strip_prefix("for "));
                let conditions = conditions.map(|note| read_conditions(note, symbols));
                let conditions = conditions.transpose()?.unwrap_or_default();
                let (note, lead) = (String::new(), lead.clone());
                rows.push(Row { section, about, left, sign, right, shown, lead, note, conditions, together });
            }
        }
    }
    Ok(rows)
}

/// The names of letters in subscripts, those of slices among them.
pub fn letters_in(subscripts: &[Tree]) -> Vec<String> {
    let name = |tree: &Tree| match tree {
        Tree::Name(name, inner) if inner.is_empty() => Some(name.clone()),
        Tree::Slice(name) => Some(name.clone()),
        _ => None,
    };
    subscripts.iter().filter_map(name).collect()
}

/// What a row defines, if it does.
pub fn defined(row: &Row) -> Option<Defined> {
    let right = row.right.clone();
    let plain = |name: &str, subscripts: &[Tree]| Defined {
        name: name.to_owned(),
        letters: letters_in(subscripts),
        squared: false,
        whole: false,
        share: None,
        right: right.clone(),
    };
    match &row.left {
        Tree::Name(name, subscripts) if row.sign == "∝" => {
            let over = row.note.split("normalised over ").nth(1)?;
            let end = over.find([';', '.']).unwrap_or(over.len());
            let over = over[..end].split(" with ").next()?.trim_end_matches(',');
            let over = over.split(", ").map(str::to_owned).collect();
            Some(Defined { share: Some((row.together, over)), ..plain(name, subscripts) })
        }
        Tree::Name(name, subscripts) => {
            let whole = subscripts.iter().any(|own| matches!(own, Tree::Slice(_)));
            Some(Defined { whole, ..plain(name, subscripts) })
        }
        Tree::Power(base, exponent) if **exponent == Tree::Number(2.0) => match &**base {
            Tree::Name(name, subscripts) => Some(Defined { squared: true, ..plain(name, subscripts) }),
            _ => None,
        },
        Tree::Probability(element, class) => match (&**element, &**class) {
            (Tree::Name(name, subscripts), Tree::Name(class, _)) => {
                let mut own = plain(&format!("q({name})"), subscripts);
                own.letters.push(class.clone());
                Some(own)
            }
            // Of a binary factor the other class has what is left.
            (Tree::Name(name, subscripts), Tree::Number(class)) if *class == 1.0 => {
                Some(plain(&format!("q({name})"), subscripts))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The names with values in a row of a bound: those that are no letter of it.
pub fn free_names(row: &Row) -> Vec<String> {
    fn visit(tree: &Tree, bound: &mut Vec<String>, out: &mut Vec<String>) {
        match tree {
            Tree::Name(name, subscripts) => {
                subscripts.iter().for_each(|own| {
                    if let Tree::Name(letter, _) = own {
                        bound.push(letter.clone());
                    }
                });
                if !bound.contains(name) && !out.contains(name) {
                    out.push(name.clone());
                }
            }
            Tree::Sum(_, body) => visit(body, bound, out),
            Tree::Negated(inner) => visit(inner, bound, out),
            Tree::Add(all) | Tree::Call(_, all) => all.iter().for_each(|own| visit(own, bound, out)),
            Tree::Product(all) => all.iter().for_each(|(_, own)| visit(own, bound, out)),
            Tree::Power(base, exponent) => {
                visit(base, bound, out);
                visit(exponent, bound, out);
            }
            _ => {}
        }
    }
    let (mut bound, mut out) = (Vec::new(), Vec::new());
    visit(&row.left, &mut bound, &mut out);
    visit(&row.right, &mut bound, &mut out);
    out
}

/// The letters of a formula that no sum in it binds.
pub fn free_letters(tree: &Tree, bound: &mut Vec<String>, out: &mut Vec<String>) {
    let mut all = |trees: &[&Tree], bound: &mut Vec<String>| {
        trees.iter().for_each(|own| free_letters(own, bound, out));
    };
    match tree {
        Tree::Name(_, subscripts) => {
            for own in subscripts {
                match own {
                    Tree::Name(name, inner) if inner.is_empty() => {
                        if !bound.contains(name) && !out.contains(name) {
                            out.push(name.clone());
                        }
                    }
                    other => free_letters(other, bound, out),
                }
            }
        }
        Tree::Size(_, inner) | Tree::Call(_, inner) | Tree::Add(inner) => {
            all(&inner.iter().collect::<Vec<_>>(), bound);
        }
        Tree::Sum(range, _) | Tree::Count(range) => {
            let before = bound.len();
            bound.extend(range.letters.iter().cloned());
            // Bare letters of conditions are subscripts, as those of an indicator.
            let sides = range.conditions.iter().flat_map(|own| own.sides());
            let conditions: Vec<Tree> =
                sides.map(|side| Tree::Name(String::new(), vec![side.clone()])).collect();
            let mut inside: Vec<&Tree> = conditions.iter().collect();
            if let Tree::Sum(_, body) = tree {
                inside.push(body);
            }
            all(&inside, bound);
            bound.truncate(before);
        }
        Tree::Negated(inner) => all(&[inner], bound),
        Tree::Product(factors) => all(&factors.iter().map(|(_, own)| own).collect::<Vec<_>>(), bound),
        Tree::Power(left, right) | Tree::Probability(left, right) => all(&[left, right], bound),
        Tree::Contraction(left, right, _) => all(&[left, right], bound),
        Tree::Indicator(relation) => {
            for own in relation.sides() {
                let element = Tree::Name(String::new(), vec![own.clone()]);
                all(&[&element], bound);
            }
        }
        Tree::Number(_) | Tree::Slice(_) => {}
    }
}

/// The letters on a left side that have no position: those of a vector or a matrix.
pub fn unassigned(tree: &Tree, at: &[(String, usize)]) -> Vec<String> {
    fn visit(tree: &Tree, out: &mut Vec<String>) {
        let bare = |tree: &Tree, out: &mut Vec<String>| match tree {
            Tree::Name(name, inner) if inner.is_empty() => out.push(name.clone()),
            Tree::Slice(name) => out.push(name.clone()),
            _ => {}
        };
        match tree {
            Tree::Name(_, subscripts) => subscripts.iter().for_each(|own| bare(own, out)),
            Tree::Call(name, _) if ["q", "H", "A", "B", "G", "log_normaliser"].contains(&name.as_str()) => {}
            Tree::Call(_, all) | Tree::Add(all) => all.iter().for_each(|own| visit(own, out)),
            Tree::Product(all) => all.iter().for_each(|(_, own)| visit(own, out)),
            Tree::Negated(inner) => visit(inner, out),
            Tree::Power(base, _) => visit(base, out),
            Tree::Probability(element, class) => {
                visit(element, out);
                bare(class, out);
            }
            Tree::Indicator(relation) => {
                let sides = relation.sides();
                visit(sides[0], out);
                sides[1..].iter().for_each(|own| bare(own, out));
            }
            Tree::Contraction(_, vector, Some(letter)) if **letter != **vector => bare(letter, out),
            _ => {}
        }
    }
    let mut all = Vec::new();
    visit(tree, &mut all);
    let mut out: Vec<String> = Vec::new();
    for name in all {
        if !out.contains(&name) && !at.iter().any(|(known, _)| *known == name) {
            out.push(name);
        }
    }
    out
}

/// The subscripts of a variable on the left of `log q(w[i, :k])`, `m[i] * log q(w[i, :k])` or `objective(w[i, k])`, and the weights in
/// front.
pub fn of_one_copy<'t>(left: &'t Tree, member: &str) -> Option<(Vec<&'t Tree>, &'t [Tree])> {
    let members = match left {
        Tree::Product(factors) => {
            let (last, weights) = factors.split_last()?;
            let (inside, subscripts) = of_one_copy(&last.1, member)?;
            let weights = weights.iter().map(|(_, own)| own).chain(inside);
            return factors.iter().all(|(below, _)| !below).then(|| (weights.collect(), subscripts));
        }
        Tree::Call(log, inside) if log == "log" => match inside.as_slice() {
            [Tree::Call(q, members)] if q == "q" => members,
            _ => return None,
        },
        Tree::Call(objective, members) if objective == "objective" => members,
        _ => return None,
    };
    members.iter().find_map(|own| match own {
        Tree::Name(name, subscripts) if name == member => Some((Vec::new(), subscripts.as_slice())),
        _ => None,
    })
}

/// A problem with a row, for a message.
pub fn at_row(row: &Row, problem: &str) -> String {
    let about = if row.about.is_empty() { String::new() } else { format!(" ({})", row.about) };
    format!("{}{about}\n      {}\n      {problem}", row.section, row.shown)
}
