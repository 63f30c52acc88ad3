//! The JSON of a derivation holds the equations: the trees that are read back are the sums that were printed, and the
//! texts are those of the text format.

use cavi::Format;
use cavi_algebra::{
    Atom, AuxiliaryId, BlockId, Coefficient, Elementary, Equations, ExpectedSquare, Factor, Function,
    LetterId, Moment, SiteId, Statistic, Subscript, Sum, Term,
};
use cavi_tests::corpus::{Text, check_each, examples, models};
use serde_json::Value;

const FUNCTIONS: [Function; 23] = [
    Function::LogOneLessExp,
    Function::Exp,
    Function::SinePi,
    Function::Log,
    Function::Sqrt,
    Function::Logistic,
    Function::Softplus,
    Function::EvenSoftplus,
    Function::LogisticCurvature,
    Function::LogGamma,
    Function::Digamma,
    Function::Trigamma,
    Function::LogBesselK,
    Function::LogDeterminant,
    Function::LogMultivariateGamma,
    Function::Power,
    Function::Phi,
    Function::InversePhi,
    Function::StandardNormalLogCdf,
    Function::StandardNormalLogCcdf,
    Function::StandardNormalLogQf,
    Function::AtMostOne,
    Function::LogLeft,
];

/// Reads trees, by the names of letters and arrays.
struct Reader<'a> {
    letters: Vec<&'a str>,
    equations: &'a Equations,
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is text"))
}

fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().expect("a number in words"),
        other => other.as_f64().unwrap_or_else(|| panic!("{other} is a number")),
    }
}

fn items(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is a list"))
}

impl Reader<'_> {
    fn letter(&self, value: &Value) -> LetterId {
        let place = self.letters.iter().position(|name| *name == text(value));
        LetterId::from(place.unwrap_or_else(|| panic!("{value} is a letter")))
    }

    fn subscript(&self, value: &Value) -> Subscript {
        match value {
            Value::String(_) => Subscript::Letter(self.letter(value)),
            other => {
                let array = self.equations.symbols.find(text(&other["index"])).expect("an array");
                Subscript::Index(array, self.subscripts(&other["subscripts"]))
            }
        }
    }

    fn subscripts(&self, value: &Value) -> Vec<Subscript> {
        items(value).iter().map(|own| self.subscript(own)).collect()
    }

    fn sum(&self, tree: &Value) -> Sum {
        let terms = items(tree).iter().map(|term| Term {
            coefficient: Coefficient(number(&term["coefficient"])),
            sums: items(&term["sum_over"]).iter().map(|letter| self.letter(letter)).collect(),
            factors: items(&term["factors"])
                .iter()
                .map(|factor| Factor {
                    atom: self.atom(&factor["atom"]),
                    power: number(&factor["power"]) as i32,
                })
                .collect(),
        });
        Sum { terms: terms.collect() }
    }

    fn elementary(&self, value: &Value) -> (u8, Elementary) {
        let own = match text(&value["function"]) {
            "power" => Elementary::Power(number(&value["power"]) as i32),
            "log" => Elementary::Log,
            "log_complement" => Elementary::LogComplement,
            "log_determinant" => Elementary::LogDeterminant,
            "indicator" => Elementary::Indicator,
            "centred" => Elementary::Centred,
            "mass" => Elementary::Mass,
            "mass_of_complement" => Elementary::MassOfComplement,
            "contracted" => Elementary::Contracted(number(&value["power"]) as u8),
            other => panic!("a function of a statistic is called {other}"),
        };
        (number(&value["member"]) as u8, own)
    }

    fn atom(&self, value: &Value) -> Atom {
        let array = || self.equations.symbols.find(text(&value["array"])).expect("an array");
        let at = |key: &str| self.subscripts(&value[key]);
        let place = |key: &str| number(&value[key]) as usize;
        match text(&value["kind"]) {
            "value" => Atom::Value(array(), at("subscripts")),
            "observed" => Atom::Observed(array(), at("subscripts")),
            "expectation" => Atom::Moment(Moment {
                block: BlockId::from(place("block")),
                statistic: Statistic(
                    items(&value["statistic"]).iter().map(|own| self.elementary(own)).collect(),
                ),
                plates: at("plates"),
                slots: at("slots"),
            }),
            "allocation" => Atom::Allocation {
                site: SiteId::from(place("site")),
                addend: place("addend"),
                plates: at("plates"),
                categories: at("categories"),
            },
            "log_partition" => Atom::LogPartition { site: SiteId::from(place("site")), plates: at("plates") },
            "auxiliary" => {
                Atom::Auxiliary { id: AuxiliaryId::from(place("auxiliary")), plates: at("plates") }
            }
            "group" => Atom::Group(Box::new(self.sum(&value["sum"]))),
            "function" => {
                let function = FUNCTIONS.into_iter().find(|own| own.name() == text(&value["function"]));
                let arguments = items(&value["arguments"]).iter().map(|own| self.sum(own)).collect();
                Atom::Apply(function.expect("a function of the language"), arguments)
            }
            "expected_square" => Atom::ExpectedSquare(Box::new(ExpectedSquare {
                of: self.sum(&value["of"]),
                mean: self.sum(&value["mean"]),
                spread: self.sum(&value["spread"]),
            })),
            "equal" => Atom::Equal(self.subscript(&value["left"]), self.subscript(&value["right"])),
            "different" => Atom::Different(self.subscript(&value["left"]), self.subscript(&value["right"])),
            "less" => Atom::Less(self.subscript(&value["left"]), self.subscript(&value["right"])),
            other => panic!("an atom is called {other}"),
        }
    }
}

/// Numbers to 12 digits: a reader may miss the last one.
fn rounded(mut sum: Sum) -> Sum {
    for term in &mut sum.terms {
        term.coefficient = Coefficient(format!("{:.12e}", term.coefficient.0).parse().expect("a number"));
        for inner in term.factors.iter_mut().flat_map(|factor| factor.atom.nested_mut()) {
            *inner = rounded(std::mem::take(inner));
        }
    }
    sum
}

/// The names of the variables of blocks in a schedule, as the text of a sweep writes it.
fn schedule(document: &Value, items_of: &Value) -> String {
    let one = |item: &Value| {
        let mut out = if let Some(block) = item.get("block") {
            let own = items(&document["blocks"]).iter().find(|own| own["number"] == *block).expect("a block");
            items(&own["variables"]).iter().map(text).collect::<Vec<_>>().join(" and ")
        } else if let Some(inner) = item.get("group") {
            format!("({})", schedule(document, inner))
        } else {
            format!("[{}]", schedule(document, &item["sequence"]))
        };
        if item["reset"] == Value::Bool(true) {
            out.push_str(" reset");
        }
        if number(&item["repeat"]) != 1.0 {
            out.push_str(&format!(" repeat {}", number(&item["repeat"])));
        }
        out
    };
    items(items_of).iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Without white space: lines are broken differently.
fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}

fn check(own: &Text) {
    let Some(compiled) = cavi::compile(&own.text, &own.name).compiled else { return };
    // A schedule that names a block twice is refused, whatever its equations are.
    let equations = &compiled.equations;
    let json = compiled.derivation_json(None).expect("no variable is asked for");
    let document: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(document["version"], cavi_algebra::print::VERSION);
    let derivation = compiled.derivation(Format::Text);
    assert_eq!(text(&document["text"]), derivation);
    let derivation = dense(&derivation);

    let letters: Vec<&str> = items(&document["letters"]).iter().map(|letter| text(&letter["name"])).collect();
    let mut distinct = letters.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), letters.len(), "letters have names of their own");
    let reader = Reader { letters, equations };
    let same = |tree: &Value, sum: &Sum| {
        assert_eq!(rounded(reader.sum(&tree["tree"])), rounded(sum.clone()));
    };

    for (value, statement) in items(&document["statements"]).iter().zip(&equations.statements) {
        same(&value["log_density"], &statement.log_density);
        let line = number(&value["line"]) as usize;
        let name = &equations.symbols.array(statement.target).name;
        let stated = own.text.lines().nth(line - 1).expect("a line of the program");
        assert!(stated.trim_start().starts_with(name.as_str()), "line {line} states {name}: {stated}");
        assert!(derivation.contains(&dense(text(&value["log_density"]["text"]))));
    }
    assert_eq!(items(&document["blocks"]).len(), equations.blocks.len());
    for ((value, block), contributions) in
        items(&document["blocks"]).iter().zip(&equations.blocks).zip(&equations.contributions)
    {
        assert_eq!(text(&value["family"]), cavi_families::posterior(block.family).name());
        for (value, natural) in items(&value["natural"]).iter().zip(&block.natural) {
            same(&value["coefficient"], &natural.coefficient);
            let slots: Vec<LetterId> = items(&value["slots"]).iter().map(|own| reader.letter(own)).collect();
            assert_eq!(slots, natural.slots);
        }
        if let Some(ascent) = &block.ascent {
            let value = &value["ascent"];
            same(&value["objective"], &ascent.objective);
            for (value, own) in items(&value["gradient"]).iter().zip(&ascent.gradient) {
                same(value, own);
            }
            assert_eq!(value["curvature"].is_null(), ascent.curvature.is_none());
        }
        for (value, contribution) in items(&value["contributions"]).iter().zip(contributions) {
            same(&value["selected"], &contribution.selected);
            same(&value["bounded"], &contribution.bounded);
            same(&value["monomials"], &contribution.monomials);
            for (value, part) in items(&value["parts"]).iter().zip(&contribution.parts) {
                same(&value["coefficient"], &part.coefficient);
            }
            match &contribution.objective {
                Some(objective) => same(&value["objective"], objective),
                None => assert!(value["objective"].is_null()),
            }
        }
        // What keeps its start has no update in the text.
        let updated = value["mode"] != "fixed";
        for parameter in items(&value["standard"]).iter().filter(|_| updated) {
            let row = dense(text(&parameter["printed"]["text"]));
            assert!(derivation.contains(&row), "{row} stands in the text");
        }
        assert!(derivation.contains(&dense(text(&value["factor"]["text"]))));
    }
    for count in items(&document["counts"]) {
        let row = [&count["symbol"], &count["value"]].map(|own| dense(text(&own["text"]))).join("=");
        assert!(derivation.contains(&row), "{row} stands in the text");
    }
    for (value, site) in items(&document["sites"]).iter().zip(&equations.sites) {
        same(&value["weight"], &site.weight);
        for (value, addend) in items(&value["addends"]).iter().zip(&site.addends) {
            same(&value["log_weight"], &addend.log_weight);
        }
    }
    for (value, own) in items(&document["auxiliaries"]).iter().zip(&equations.auxiliaries) {
        same(&value["weight"], &own.weight);
        same(&value["square"], &own.square);
        same(&value["slope"], &own.slope);
    }
    assert_eq!(items(&document["elbo"]["terms"]).len(), equations.elbo.terms.len());
    for (value, (_, sum)) in items(&document["elbo"]["terms"]).iter().zip(&equations.elbo.terms) {
        same(&value["expression"], sum);
    }
    // The order is the program's own.
    let order = schedule(&document, &document["schedule"]);
    if !order.is_empty() {
        assert!(derivation.contains(&dense(&format!("{order}, in this order"))), "{order}");
    }
}

#[test]
fn every_derivation_reads_back_from_json() {
    check_each(&models(), check);
    check_each(&examples(), check);
}

#[test]
fn json_of_one_variable_holds_its_block() {
    let text = "axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\nx[n] ~ Normal(m, prec = tau)\n";
    let compiled = cavi::compile(text, "mean.cavi").into_compiled().expect("it compiles");
    let json = compiled.derivation_json(Some("tau")).expect("a latent");
    let document: Value = serde_json::from_str(&json).expect("JSON");
    let blocks = items(&document["blocks"]);
    assert_eq!(blocks.len(), 1);
    assert_eq!(blocks[0]["variables"][0], "tau");
    assert_eq!(blocks[0]["number"], 1);
    assert!(compiled.derivation_json(Some("sigma")).is_none());
}
