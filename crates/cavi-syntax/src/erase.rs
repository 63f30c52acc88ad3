//! Trees without places, so that two texts of one program compare equal.

use crate::ast::*;
use crate::span::Span;

impl Program {
    /// The same tree with every place set to nothing, and without what is kept of unread lines: what tests compare.
    pub fn without_spans(mut self) -> Program {
        self.unread = Unread::default();
        for statement in &mut self.statements {
            statement.span = Span::default();
            match &mut statement.kind {
                StatementKind::Model(name) => erase_name(name),
                StatementKind::Axis(axis) => erase_axis(axis),
                StatementKind::Data(data) => erase_data(data),
                StatementKind::Const(constant) => {
                    erase_name(&mut constant.name);
                    constant.letters.iter_mut().for_each(erase_name);
                    constant.data_type.iter_mut().for_each(erase_type);
                    constant.value.iter_mut().for_each(erase_expression);
                }
                StatementKind::Distribution(distribution) => erase_distribution(distribution),
                StatementKind::Definition { target, value } => {
                    erase_reference(target);
                    erase_expression(value);
                }
                StatementKind::Posterior(block) => erase_block(block, erase_posterior),
                StatementKind::Init(block) => erase_block(block, |item| match item {
                    InitItem::Value { target, value } => {
                        erase_reference(target);
                        erase_expression(value);
                    }
                    InitItem::Draw(distribution) => erase_distribution(distribution),
                }),
                StatementKind::Fit(block) => erase_block(block, erase_fit),
                StatementKind::Report(block) => erase_block(block, |item| match item {
                    ReportItem::Top { axis, variable, .. }
                    | ReportItem::Bars { axis, variable }
                    | ReportItem::Curve { axis, variable } => {
                        erase_name(axis);
                        erase_reference(variable);
                    }
                    ReportItem::Heat(variable)
                    | ReportItem::Intervals(variable)
                    | ReportItem::Compare { variable, .. } => erase_reference(variable),
                    ReportItem::Image { axis, .. } => erase_name(axis),
                    ReportItem::Unknown(_) => {}
                }),
                StatementKind::Notation(block) => erase_block(block, |item| {
                    erase_name(&mut item.variable);
                    item.parameter.iter_mut().for_each(erase_name);
                    erase_name(&mut item.symbol);
                }),
            }
        }
        self
    }
}

fn erase_block<T>(block: &mut Block<T>, erase: impl Fn(&mut T)) {
    for item in &mut block.items {
        item.span = Span::default();
        erase(&mut item.kind);
    }
}

fn erase_name(name: &mut Name) {
    name.span = Span::default();
}

fn erase_axis(axis: &mut Axis) {
    erase_name(&mut axis.name);
    axis.letters.iter_mut().for_each(erase_name);
    if let Some((parent, letters)) = &mut axis.parent {
        erase_name(parent);
        letters.iter_mut().for_each(erase_name);
    }
    axis.size.iter_mut().for_each(erase_expression);
}

fn erase_data(data: &mut Data) {
    erase_name(&mut data.name);
    data.letters.iter_mut().for_each(erase_name);
    data.data_type.iter_mut().for_each(erase_type);
    data.value.iter_mut().for_each(erase_expression);
    for option in &mut data.options {
        match option {
            DataOption::Absent { span, .. } => *span = Span::default(),
            DataOption::Center(letter) | DataOption::Scale(letter) => erase_name(letter),
            DataOption::Different(left, right) | DataOption::Less(left, right) => {
                erase_name(left);
                erase_name(right);
            }
        }
    }
}

fn erase_type(data_type: &mut DataType) {
    erase_name(&mut data_type.word);
    data_type.axis.iter_mut().for_each(erase_name);
}

fn erase_distribution(distribution: &mut Distribution) {
    erase_reference(&mut distribution.target);
    erase_name(&mut distribution.family);
    distribution.arguments.iter_mut().for_each(erase_argument);
}

fn erase_argument(argument: &mut Argument) {
    argument.name.iter_mut().for_each(erase_name);
    erase_expression(&mut argument.value);
}

fn erase_reference(reference: &mut Reference) {
    erase_name(&mut reference.name);
    reference.span = Span::default();
    for subscript in reference.subscripts.iter_mut().flatten() {
        match subscript {
            Subscript::Slice(letter) => erase_name(letter),
            Subscript::Reference(reference) => erase_reference(reference),
        }
    }
}

fn erase_expression(expression: &mut Expression) {
    expression.span = Span::default();
    match &mut expression.kind {
        ExpressionKind::Number(..) => {}
        ExpressionKind::Reference(reference) => erase_reference(reference),
        ExpressionKind::Negate(operand) => erase_expression(operand),
        ExpressionKind::Binary(_, left, right) => {
            erase_expression(left);
            erase_expression(right);
        }
        ExpressionKind::Call(name, arguments) => {
            erase_name(name);
            arguments.iter_mut().for_each(erase_argument);
        }
        ExpressionKind::Sum(letters, body) => {
            letters.iter_mut().for_each(erase_name);
            erase_expression(body);
        }
        ExpressionKind::Indicator(_, left, right) => {
            erase_name(left);
            erase_name(right);
        }
    }
}

fn erase_posterior(item: &mut PosteriorItem) {
    match item {
        PosteriorItem::Joint(members) | PosteriorItem::Fixed(members) | PosteriorItem::Implicit(members) => {
            members.iter_mut().for_each(erase_reference);
        }
        PosteriorItem::Point { blocks, by, clamp } => {
            blocks.iter_mut().flatten().for_each(erase_reference);
            by.iter_mut().for_each(erase_name);
            clamp.iter_mut().for_each(|span| *span = Span::default());
        }
    }
}

fn erase_fit(item: &mut FitItem) {
    match item {
        FitItem::Sweep(items) => items.iter_mut().for_each(erase_schedule_item),
        FitItem::Stop { quantity, .. } => erase_name(quantity),
        FitItem::Setting { name, value } => {
            erase_name(name);
            erase_expression(value);
        }
        FitItem::Batch { axis, .. } => erase_name(axis),
        FitItem::Warmup(_) => {}
    }
}

fn erase_schedule_item(item: &mut ScheduleItem) {
    item.span = Span::default();
    match &mut item.kind {
        ScheduleKind::Variable(name) => erase_name(name),
        ScheduleKind::Group(members) | ScheduleKind::Sequence(members) => {
            members.iter_mut().for_each(erase_schedule_item);
        }
    }
}
