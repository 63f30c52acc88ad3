//! Pest's pairs become the tree.
//!
//! The pairs have the shape that the grammar gives them. What a rule must contain is read without a check, and a
//! grammar that says otherwise is a bug of ours.

use cavi_grammar::Rule;
use pest::iterators::{Pair, Pairs};

use crate::ast::*;
use crate::diagnostic::Diagnostic;
use crate::span::Span;

/// Builds the tree of one line.
pub(crate) struct Builder {
    /// Where the line starts in the text.
    pub(crate) base: usize,
    /// Mistakes that the grammar does not see: numbers that must be whole, `sum_k(...)`.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The next pair of a rule that must have one.
fn take<'i>(pairs: &mut Pairs<'i, Rule>) -> Pair<'i, Rule> {
    pairs.next().expect("the grammar gives this rule one more part")
}

/// The next pair if it is of this rule.
fn take_if<'i>(pairs: &mut Pairs<'i, Rule>, rule: Rule) -> Option<Pair<'i, Rule>> {
    if pairs.peek().is_some_and(|pair| pair.as_rule() == rule) { pairs.next() } else { None }
}

/// The parts of a line behind its keyword, without the end of the line.
fn parts<'i>(pair: Pair<'i, Rule>, keyword: Option<Rule>) -> Pairs<'i, Rule> {
    let mut pairs = pair.into_inner();
    if let Some(keyword) = keyword {
        take_if(&mut pairs, keyword);
    }
    pairs
}

impl Builder {
    fn span(&self, pair: &Pair<'_, Rule>) -> Span {
        // If an optional part is missing, pest includes the blanks before it in the pair.
        let start = self.base + pair.as_span().start();
        Span::new(start, start + pair.as_str().trim_end().len())
    }

    fn name(&self, pair: &Pair<'_, Rule>) -> Name {
        Name { text: pair.as_str().to_string(), span: self.span(pair) }
    }

    /// The names among the parts: the signs between them are left out.
    fn names(&self, pair: Pair<'_, Rule>) -> Vec<Name> {
        pair.into_inner().filter(|pair| pair.as_rule() == Rule::name).map(|pair| self.name(&pair)).collect()
    }

    fn optional_letters(&self, pairs: &mut Pairs<'_, Rule>) -> Vec<Name> {
        take_if(pairs, Rule::letters).map_or_else(Vec::new, |letters| self.names(letters))
    }

    fn number(&self, pair: &Pair<'_, Rule>) -> f64 {
        pair.as_str().parse().expect("a number of the grammar is one of Rust's")
    }

    /// A number that counts something.
    fn whole(&mut self, pair: &Pair<'_, Rule>, what: &str, least: u64) -> u64 {
        let number = self.number(pair);
        // Whole numbers up to 2^53 are exact in double precision.
        if number.fract() == 0.0 && number >= least as f64 && number <= 9_007_199_254_740_992.0 {
            return number as u64;
        }
        let text = if least == 0 { "a whole number" } else { "a whole number from 1 on" };
        self.diagnostics.push(
            Diagnostic::error("E0124", format!("{what} takes {text}, found `{}`", pair.as_str()))
                .at(self.span(pair), "not a count")
                .help(format!("write {text}")),
        );
        least
    }

    // Statements --------------------------------------------------------------------------------------------------

    /// A statement that is no block.
    pub(crate) fn statement(&mut self, pair: Pair<'_, Rule>) -> StatementKind {
        match pair.as_rule() {
            Rule::model_line => {
                let mut pairs = parts(pair, Some(Rule::kw_model));
                StatementKind::Model(self.name(&take(&mut pairs)))
            }
            Rule::axis_line => StatementKind::Axis(self.axis(pair)),
            Rule::data_line => StatementKind::Data(self.data(pair)),
            Rule::const_line => {
                let mut pairs = parts(pair, Some(Rule::kw_const));
                let name = self.name(&take(&mut pairs));
                let letters = self.optional_letters(&mut pairs);
                let data_type = take_if(&mut pairs, Rule::data_type).map(|pair| self.data_type(pair));
                let value = self.optional_value(&mut pairs);
                StatementKind::Const(Const { name, letters, data_type, value })
            }
            Rule::distribution_line => StatementKind::Distribution(self.distribution(pair)),
            Rule::definition_line => {
                let (target, value) = self.definition(pair);
                StatementKind::Definition { target, value }
            }
            rule => unreachable!("{rule:?} is no statement"),
        }
    }

    fn axis(&mut self, pair: Pair<'_, Rule>) -> Axis {
        let mut pairs = parts(pair, Some(Rule::kw_axis));
        let name = self.name(&take(&mut pairs));
        let letters = self.optional_letters(&mut pairs);
        let parent = take_if(&mut pairs, Rule::parent).map(|pair| {
            let mut pairs = parts(pair, Some(Rule::kw_in));
            let parent = self.name(&take(&mut pairs));
            (parent, self.optional_letters(&mut pairs))
        });
        let size = self.optional_value(&mut pairs);
        Axis { name, letters, parent, size }
    }

    fn data(&mut self, pair: Pair<'_, Rule>) -> Data {
        let mut pairs = parts(pair, Some(Rule::kw_data));
        let name = self.name(&take(&mut pairs));
        let end = match pairs.peek() {
            Some(pair) if pair.as_rule() == Rule::letters => self.span(&pair).end,
            _ => name.span.end,
        };
        let letters = self.optional_letters(&mut pairs);
        let data_type = take_if(&mut pairs, Rule::data_type).map(|pair| self.data_type(pair));
        let value = self.optional_value(&mut pairs);
        if data_type.is_none() && value.is_none() {
            let place = Span::new(end, end);
            let words: Vec<&str> = letters.iter().map(|letter: &Name| letter.text.as_str()).collect();
            let brackets = if words.is_empty() { String::new() } else { format!("[{}]", words.join(", ")) };
            let declared = format!("{}{brackets}", name.text);
            self.diagnostics.push(
                Diagnostic::error("E0120", format!("the data `{}` have no type", name.text))
                    .at(place, "expected `:` and a type")
                    .possible(DATA_TYPES)
                    .help(format!(
                        "write `data {declared} : count` for counts, `data {declared} : real` for any numbers"
                    )),
            );
        }
        let mut options = Vec::new();
        for pair in pairs {
            let span = self.span(&pair);
            match pair.as_rule() {
                Rule::absent => {
                    let rules: Vec<Rule> = pair.into_inner().map(|pair| pair.as_rule()).collect();
                    let (zero, missing) = (rules.contains(&Rule::zero), rules.contains(&Rule::missing));
                    options.push(DataOption::Absent { zero, missing, span });
                }
                Rule::center => options.extend(self.names(pair).pop().map(DataOption::Center)),
                Rule::scale => options.extend(self.names(pair).pop().map(DataOption::Scale)),
                rule @ (Rule::different | Rule::lower) => {
                    let mut names = self.names(pair).into_iter();
                    if let (Some(left), Some(right)) = (names.next(), names.next()) {
                        options.push(if rule == Rule::lower {
                            DataOption::Less(left, right)
                        } else {
                            DataOption::Different(left, right)
                        });
                    }
                }
                _ => {}
            }
        }
        Data { name, letters, data_type, value, options }
    }

    fn data_type(&self, pair: Pair<'_, Rule>) -> DataType {
        let mut pairs = parts(pair, Some(Rule::colon));
        let first = take(&mut pairs);
        DataType { word: self.name(&first), axis: pairs.next().map(|pair| self.name(&pair)) }
    }

    fn optional_value(&mut self, pairs: &mut Pairs<'_, Rule>) -> Option<Expression> {
        let value = take_if(pairs, Rule::value)?;
        let mut pairs = parts(value, Some(Rule::assign));
        Some(self.expression(take(&mut pairs)))
    }

    pub(crate) fn distribution(&mut self, pair: Pair<'_, Rule>) -> Distribution {
        let mut pairs = parts(pair, None);
        let target = self.reference(take(&mut pairs));
        take_if(&mut pairs, Rule::tilde);
        let family = self.name(&take(&mut pairs));
        let arguments = self.arguments(take(&mut pairs));
        Distribution { target, family, arguments }
    }

    pub(crate) fn definition(&mut self, pair: Pair<'_, Rule>) -> (Reference, Expression) {
        let mut pairs = parts(pair, None);
        let target = self.reference(take(&mut pairs));
        take_if(&mut pairs, Rule::assign);
        (target, self.expression(take(&mut pairs)))
    }

    // Names with subscripts, and expressions ------------------------------------------------------------------------

    fn reference(&self, pair: Pair<'_, Rule>) -> Reference {
        let span = self.span(&pair);
        let mut pairs = pair.into_inner();
        let name = self.name(&take(&mut pairs));
        let subscripts = pairs.next().map(|subscripts| {
            let mut found = Vec::new();
            for pair in subscripts.into_inner() {
                match pair.as_rule() {
                    Rule::slice => found.extend(self.names(pair).pop().map(Subscript::Slice)),
                    Rule::reference => found.push(Subscript::Reference(self.reference(pair))),
                    _ => {}
                }
            }
            found
        });
        Reference { name, subscripts, span }
    }

    fn references(&self, pairs: Pairs<'_, Rule>) -> Vec<Reference> {
        pairs.filter(|pair| pair.as_rule() == Rule::reference).map(|pair| self.reference(pair)).collect()
    }

    fn arguments(&mut self, pair: Pair<'_, Rule>) -> Vec<Argument> {
        let mut arguments = Vec::new();
        for pair in pair.into_inner() {
            match pair.as_rule() {
                Rule::named => {
                    let mut pairs = pair.into_inner();
                    let name = self.name(&take(&mut pairs));
                    take_if(&mut pairs, Rule::assign);
                    arguments.push(Argument { name: Some(name), value: self.expression(take(&mut pairs)) });
                }
                Rule::expression => arguments.push(Argument { name: None, value: self.expression(pair) }),
                _ => {}
            }
        }
        arguments
    }

    pub(crate) fn expression(&mut self, pair: Pair<'_, Rule>) -> Expression {
        self.climb(&mut pair.into_inner(), 0)
    }

    /// Operands joined by operators that bind at least as tightly as `least`: precedence climbing.
    fn climb(&mut self, pairs: &mut Pairs<'_, Rule>, least: u8) -> Expression {
        let mut left = match take_if(pairs, Rule::negate) {
            Some(sign) => {
                let operand = self.climb(pairs, NEGATE);
                let span = self.span(&sign).to(operand.span);
                Expression { kind: ExpressionKind::Negate(Box::new(operand)), span }
            }
            None => self.operand(take(pairs)),
        };
        while let Some(operator) = pairs.peek().map(binary_operator) {
            let binds = precedence(operator);
            if binds < least {
                break;
            }
            pairs.next();
            // `^` groups to the right, the others to the left.
            let right = self.climb(pairs, if operator == BinaryOperator::Power { binds } else { binds + 1 });
            let span = left.span.to(right.span);
            left =
                Expression { kind: ExpressionKind::Binary(operator, Box::new(left), Box::new(right)), span };
        }
        left
    }

    fn operand(&mut self, pair: Pair<'_, Rule>) -> Expression {
        let span = self.span(&pair);
        let kind = match pair.as_rule() {
            Rule::number => ExpressionKind::Number(self.number(&pair), pair.as_str().to_string()),
            Rule::reference => ExpressionKind::Reference(self.reference(pair)),
            Rule::call => {
                let mut pairs = pair.into_inner();
                let name = self.name(&take(&mut pairs));
                if name.text.starts_with("sum_") {
                    self.sum_with_underscore(&name);
                }
                ExpressionKind::Call(name, self.arguments(take(&mut pairs)))
            }
            Rule::sum => {
                let mut pairs = parts(pair, Some(Rule::kw_sum));
                let letters = self.optional_letters(&mut pairs);
                take_if(&mut pairs, Rule::open);
                ExpressionKind::Sum(letters, Box::new(self.expression(take(&mut pairs))))
            }
            Rule::indicator => {
                let comparison = pair.clone().into_inner().find_map(|inner| match inner.as_rule() {
                    Rule::equals => Some(Comparison::Equal),
                    Rule::differs => Some(Comparison::Different),
                    Rule::less => Some(Comparison::Less),
                    _ => None,
                });
                let mut names = self.names(pair).into_iter();
                match (comparison, names.next(), names.next()) {
                    (Some(comparison), Some(left), Some(right)) => {
                        ExpressionKind::Indicator(comparison, left, right)
                    }
                    _ => unreachable!("`[j == l]` has two names and a sign"),
                }
            }
            Rule::group => {
                let mut pairs = parts(pair, Some(Rule::open));
                // The place of a bracketed expression includes its brackets.
                return Expression { span, ..self.expression(take(&mut pairs)) };
            }
            rule => unreachable!("{rule:?} is no operand"),
        };
        Expression { kind, span }
    }

    fn sum_with_underscore(&mut self, name: &Name) {
        let letters = name.text["sum_".len()..].replace('_', ", ");
        self.diagnostics.push(
            Diagnostic::error("E0115", format!("`{}` is no function", name.text))
                .at(name.span, "letters stand in square brackets")
                .help(format!("write `sum[{letters}](...)`")),
        );
    }

    // Items of blocks -----------------------------------------------------------------------------------------------

    /// A line of `posterior { }`.
    pub(crate) fn posterior(&mut self, pair: Pair<'_, Rule>) -> PosteriorItem {
        match pair.as_rule() {
            Rule::joint_line => PosteriorItem::Joint(self.references(pair.into_inner())),
            Rule::fixed_line => PosteriorItem::Fixed(self.references(pair.into_inner())),
            Rule::implicit_line => PosteriorItem::Implicit(self.references(pair.into_inner())),
            Rule::point_line => {
                let (mut blocks, mut by, mut clamp) = (Vec::new(), None, None);
                for pair in pair.into_inner() {
                    match pair.as_rule() {
                        Rule::point_block => blocks.push(self.references(pair.into_inner())),
                        Rule::by => by = self.names(pair).pop(),
                        Rule::clamp => clamp = Some(self.span(&pair)),
                        _ => {}
                    }
                }
                PosteriorItem::Point { blocks, by, clamp }
            }
            rule => unreachable!("{rule:?} is no line of `posterior`"),
        }
    }

    /// A line of `init { }`.
    pub(crate) fn init(&mut self, pair: Pair<'_, Rule>) -> InitItem {
        if pair.as_rule() == Rule::distribution_line {
            return InitItem::Draw(self.distribution(pair));
        }
        let (target, value) = self.definition(pair);
        InitItem::Value { target, value }
    }

    /// A line of `fit { }`.
    pub(crate) fn fit(&mut self, pair: Pair<'_, Rule>) -> FitItem {
        match pair.as_rule() {
            Rule::sweep_line => FitItem::Sweep(self.schedule(pair.into_inner())),
            Rule::warmup_line => FitItem::Warmup(self.warmups(pair.into_inner())),
            Rule::batch_line => {
                let mut pairs = parts(pair, Some(Rule::kw_batch));
                let axis = self.name(&take(&mut pairs));
                let shards =
                    take_if(&mut pairs, Rule::kw_in).map(|_| self.whole(&take(&mut pairs), "`in`", 1));
                FitItem::Batch { axis, shards }
            }
            Rule::setting_line => {
                let mut pairs = pair.into_inner();
                let name = self.name(&take(&mut pairs));
                take_if(&mut pairs, Rule::assign);
                FitItem::Setting { name, value: self.expression(take(&mut pairs)) }
            }
            Rule::stop_line => {
                let mut pairs = parts(pair, Some(Rule::kw_stop));
                take_if(&mut pairs, Rule::kw_when);
                let quantity = self.name(&take(&mut pairs));
                take_if(&mut pairs, Rule::less);
                let tolerance = self.number(&take(&mut pairs));
                let sweeps =
                    take_if(&mut pairs, Rule::kw_for).map(|_| self.whole(&take(&mut pairs), "`for`", 1));
                FitItem::Stop { quantity, tolerance, sweeps }
            }
            rule => unreachable!("{rule:?} is no line of `fit`"),
        }
    }

    /// The items of a schedule among these parts.
    pub(crate) fn schedule(&mut self, pairs: Pairs<'_, Rule>) -> Vec<ScheduleItem> {
        let items: Vec<_> = pairs.filter(|pair| pair.as_rule() == Rule::schedule_item).collect();
        items.into_iter().map(|item| self.schedule_item(item)).collect()
    }

    fn schedule_item(&mut self, pair: Pair<'_, Rule>) -> ScheduleItem {
        let span = self.span(&pair);
        let mut pairs = pair.into_inner();
        let what = take(&mut pairs);
        let kind = match what.as_rule() {
            Rule::schedule_group => ScheduleKind::Group(self.schedule(what.into_inner())),
            Rule::schedule_sequence => ScheduleKind::Sequence(self.schedule(what.into_inner())),
            _ => ScheduleKind::Variable(self.name(&what)),
        };
        let reset = take_if(&mut pairs, Rule::reset).is_some();
        let repeat = take_if(&mut pairs, Rule::repeat).map_or(1, |pair| {
            let mut pairs = parts(pair, Some(Rule::kw_repeat));
            self.whole(&take(&mut pairs), "`repeat`", 1)
        });
        ScheduleItem { kind, reset, repeat, span }
    }

    /// The warm-ups among these parts.
    pub(crate) fn warmups(&mut self, pairs: Pairs<'_, Rule>) -> Vec<Warmup> {
        let mut found = Vec::new();
        for pair in pairs {
            match pair.as_rule() {
                Rule::means => {
                    let mut pairs = parts(pair, Some(Rule::kw_means));
                    found.push(Warmup::Means(self.whole(&take(&mut pairs), "`means`", 0)));
                }
                Rule::collapsed => {
                    let mut pairs = parts(pair, Some(Rule::kw_collapsed));
                    found.push(Warmup::Collapsed(self.whole(&take(&mut pairs), "`collapsed`", 0)));
                }
                Rule::shapes => {
                    let mut pairs = parts(pair, Some(Rule::kw_shapes));
                    let shape = self.number(&take(&mut pairs));
                    take_if(&mut pairs, Rule::kw_over);
                    found.push(Warmup::Shapes(shape, self.whole(&take(&mut pairs), "`over`", 0)));
                }
                _ => {}
            }
        }
        found
    }

    /// A line of `notation { }`.
    pub(crate) fn notation(&mut self, pair: Pair<'_, Rule>) -> NotationItem {
        let mut pairs = pair.into_inner();
        let variable = self.name(&take(&mut pairs));
        let parameter = take_if(&mut pairs, Rule::dot).map(|_| self.name(&take(&mut pairs)));
        take_if(&mut pairs, Rule::assign);
        let mut symbol = take(&mut pairs).into_inner();
        let name = self.name(&take(&mut symbol));
        let squared = take_if(&mut symbol, Rule::squared).is_some();
        NotationItem { variable, parameter, symbol: name, squared }
    }

    /// A line of `report { }`.
    pub(crate) fn report(&mut self, pair: Pair<'_, Rule>) -> ReportItem {
        let rule = pair.as_rule();
        let mut pairs = pair.into_inner();
        match rule {
            Rule::top_line => {
                take_if(&mut pairs, Rule::kw_top);
                let count = self.whole(&take(&mut pairs), "`top`", 1);
                let axis = self.name(&take(&mut pairs));
                take_if(&mut pairs, Rule::kw_in);
                ReportItem::Top { count, axis, variable: self.reference(take(&mut pairs)) }
            }
            Rule::heat_line => {
                take_if(&mut pairs, Rule::kw_heat);
                ReportItem::Heat(self.reference(take(&mut pairs)))
            }
            Rule::image_line => {
                take_if(&mut pairs, Rule::kw_image);
                let axis = self.name(&take(&mut pairs));
                take_if(&mut pairs, Rule::assign);
                let height = self.whole(&take(&mut pairs), "`image`", 1);
                let width = self.whole(&take(&mut pairs), "`image`", 1);
                ReportItem::Image { axis, height, width }
            }
            Rule::bars_line | Rule::curve_line => {
                // The keyword.
                take(&mut pairs);
                let axis = self.name(&take(&mut pairs));
                take_if(&mut pairs, Rule::kw_in);
                let variable = self.reference(take(&mut pairs));
                match rule {
                    Rule::bars_line => ReportItem::Bars { axis, variable },
                    _ => ReportItem::Curve { axis, variable },
                }
            }
            Rule::intervals_line => {
                take_if(&mut pairs, Rule::kw_intervals);
                ReportItem::Intervals(self.reference(take(&mut pairs)))
            }
            Rule::compare_line => {
                take_if(&mut pairs, Rule::kw_compare);
                ReportItem::Compare { variable: self.reference(take(&mut pairs)), with: String::new() }
            }
            rule => unreachable!("{rule:?} is no line of `report`"),
        }
    }
}

/// The types of data, for messages.
pub(crate) const DATA_TYPES: &str =
    "a type is `real`, `positive`, `nonnegative`, `count`, `unit`, `binary`, `index AXIS` or `multiplicity`";

/// How tightly a minus sign in front of an operand binds: over `*`, under `^`.
pub(crate) const NEGATE: u8 = 3;

/// How tightly an operator binds.
pub(crate) fn precedence(operator: BinaryOperator) -> u8 {
    match operator {
        BinaryOperator::Add | BinaryOperator::Subtract => 1,
        BinaryOperator::Multiply | BinaryOperator::Divide => 2,
        BinaryOperator::Power => 4,
    }
}

fn binary_operator(pair: Pair<'_, Rule>) -> BinaryOperator {
    match pair.as_str() {
        "+" => BinaryOperator::Add,
        "-" => BinaryOperator::Subtract,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        _ => BinaryOperator::Power,
    }
}
