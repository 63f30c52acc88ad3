//! Laws over random texts and random trees.

use cavi_syntax::ast::*;
use cavi_syntax::{Span, parse, parse_number_expression, parse_schedule, parse_warmup, print, render};
use proptest::prelude::*;

const PROGRAM: &str = include_str!("program.cavi");

/// Everything that can be done with a text is done, and no complaint is beside the text.
fn survive(text: &str) -> Result<(), TestCaseError> {
    let (program, diagnostics) = parse(text);
    for diagnostic in &diagnostics {
        let rendered = render(diagnostic, "file", text, false);
        prop_assert!(rendered.starts_with("error[E01"), "{rendered}");
        let (span, _) = diagnostic.primary.as_ref().expect("a syntax error has a place");
        prop_assert!(text.get(span.start..span.end).is_some(), "{span:?} is no place of {text:?}");
    }
    // What was read, whatever was left out, can be written and read again.
    let printed = print(&program);
    let (again, more) = parse(&printed);
    prop_assert!(more.is_empty(), "{printed}\n{more:#?}");
    prop_assert_eq!(print(&again), &*printed);
    prop_assert_eq!(again.without_spans(), program.without_spans());
    Ok(())
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("theta"),
        Just("z"),
        Just("β"),
        Just("x1"),
        Just("repeat"),
        Just("by"),
        Just("a_b"),
        Just("é")
    ]
    .prop_map(String::from)
}

fn named(text: String) -> Name {
    Name { text, span: Span::default() }
}

fn reference() -> impl Strategy<Value = Reference> {
    let leaf =
        name().prop_map(|text| Reference { name: named(text), subscripts: None, span: Span::default() });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let subscript = prop_oneof![
            inner.prop_map(Subscript::Reference),
            name().prop_map(|text| Subscript::Slice(named(text))),
        ];
        (name(), prop::collection::vec(subscript, 1..4)).prop_map(|(text, subscripts)| Reference {
            name: named(text),
            subscripts: Some(subscripts),
            span: Span::default(),
        })
    })
}

fn comparison() -> impl Strategy<Value = Comparison> {
    prop_oneof![Just(Comparison::Equal), Just(Comparison::Different), Just(Comparison::Less)]
}

fn expression() -> impl Strategy<Value = Expression> {
    let kind = |kind| Expression { kind, span: Span::default() };
    let leaf = prop_oneof![
        prop_oneof![Just("3"), Just("0.50"), Just("1e-14"), Just("2E+3")]
            .prop_map(|text: &str| ExpressionKind::Number(text.parse().unwrap_or(0.0), text.to_string())),
        reference().prop_map(ExpressionKind::Reference),
        (comparison(), name(), name()).prop_map(|(comparison, left, right)| {
            ExpressionKind::Indicator(comparison, named(left), named(right))
        }),
    ]
    .prop_map(kind);
    leaf.prop_recursive(6, 40, 3, move |inner| {
        let operator = prop_oneof![
            Just(BinaryOperator::Add),
            Just(BinaryOperator::Subtract),
            Just(BinaryOperator::Multiply),
            Just(BinaryOperator::Divide),
            Just(BinaryOperator::Power),
        ];
        let argument = (prop::option::of(name()), inner.clone())
            .prop_map(|(name, value)| Argument { name: name.map(named), value });
        prop_oneof![
            inner.clone().prop_map(|operand| ExpressionKind::Negate(Box::new(operand))),
            (operator, inner.clone(), inner.clone()).prop_map(|(operator, left, right)| {
                ExpressionKind::Binary(operator, Box::new(left), Box::new(right))
            }),
            (name(), prop::collection::vec(argument, 0..3))
                .prop_map(|(text, arguments)| ExpressionKind::Call(named(text), arguments)),
            (prop::collection::vec(name(), 1..3), inner).prop_map(|(letters, body)| ExpressionKind::Sum(
                letters.into_iter().map(named).collect(),
                Box::new(body)
            )),
        ]
        .prop_map(kind)
    })
}

/// Pieces that a mutation puts into a program.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            ",",
            "~",
            "=",
            "==",
            "!=",
            "<",
            "<-",
            ":=",
            ";",
            "//",
            "/*",
            "#",
            "\n",
            "\r\n",
            "\n\n",
            " ",
            "\t",
            "+",
            "-",
            "^",
            "**",
            ":",
            ".5",
            "1.",
            "2x",
            "1e999",
            "sum",
            "sum[k]",
            "axis",
            "data",
            "fit",
            "posterior",
            "posterior {",
            "report {",
            "notation {",
            "theta.a = b^2",
            "q(",
            "point",
            "in",
            "NA",
            "absent",
            "'",
            "\"",
            "&",
            "\0",
            "😀",
            "θ",
            "\u{FEFF}",
            "\u{2212}",
            "for",
            "repeat",
            "heat",
            "top 10",
            "model",
            "init {",
            "a ~ B(",
            "\u{2028}",
            "\u{A0}",
            "\r",
        ])
        .prop_map(String::from),
        any::<char>().prop_map(String::from),
    ]
}

/// A program with some of its text cut out and other text put in.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0usize..12, piece());
    prop::collection::vec(edit, 1..12).prop_map(|edits| {
        let mut letters: Vec<char> = PROGRAM.chars().collect();
        for (index, cut, piece) in edits {
            let start = index.index(letters.len().max(1)).min(letters.len());
            let end = (start + cut).min(letters.len());
            letters.splice(start..end, piece.chars());
        }
        letters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        survive(&text)?;
        let _ = (parse_schedule(&text), parse_warmup(&text), parse_number_expression(&text));
    }

    #[test]
    fn any_pieces_are_survived(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        survive(&text)?;
        let _ = (parse_schedule(&text), parse_warmup(&text), parse_number_expression(&text));
    }

    #[test]
    fn mutated_programs_are_survived(text in mutated()) {
        survive(&text)?;
    }

    #[test]
    fn printed_expressions_are_read_back(value in expression(), target in reference()) {
        let kind = StatementKind::Definition { target, value };
        let statement = Statement { kind, span: Span::default(), trivia: Trivia::default() };
        let program = Program { statements: vec![statement], ..Program::default() };
        let printed = print(&program);
        let (again, diagnostics) = parse(&printed);
        prop_assert!(diagnostics.is_empty(), "{}{:#?}", printed, diagnostics);
        prop_assert_eq!(again.without_spans(), program);
    }
}

#[test]
fn the_program_that_is_mutated_has_no_mistakes() {
    let (program, diagnostics) = parse(PROGRAM);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    assert_eq!(print(&program), PROGRAM, "it is canonical");
}
