//! What is written is what is read: trees, comments, places, recovery after a mistake.

use cavi_syntax::ast::*;
use cavi_syntax::{
    Diagnostic, parse, parse_number_expression, parse_schedule, parse_warmup, print, print_expression,
};

/// Parses a program without mistakes.
fn read(text: &str) -> Program {
    let (program, diagnostics) = parse(text);
    assert!(diagnostics.is_empty(), "{text}\n{diagnostics:#?}");
    program
}

/// The canonical text of a program, and that it is read back as the same tree.
fn check(text: &str, expected: &str) {
    let program = read(text);
    let printed = print(&program);
    assert_eq!(printed, expected);
    let again = read(&printed);
    assert_eq!(print(&again), printed, "printing is idempotent");
    assert_eq!(again.without_spans(), program.without_spans());
}

/// A text that is canonical already.
fn canonical(text: &str) {
    check(text, text);
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn every_construct_is_printed_as_it_is_written() {
    canonical(include_str!("program.cavi"));
}

#[test]
fn blanks_and_brackets_become_canonical() {
    check(
        "model   lda\r\n\r\n\r\n\taxis doc [ d ]\nx[n,m]~Normal( 0 ,sd=1 )\n",
        "model lda\n\naxis doc[d]\nx[n, m] ~ Normal(0, sd = 1)\n",
    );
    check("y = ((a * b) + (c))\n", "y = a * b + c\n");
    check("\u{FEFF}posterior { q(z[n,:k]) }", "posterior {\n  q(z[n, :k])\n}\n");
    check("image = 2\nreport { image p = 28x28 }", "image = 2\nreport {\n  image p = 28 x 28\n}\n");
    check("", "");
    check("fit {\n\n}\n", "fit {\n}\n");
}

#[test]
fn newlines_are_free_inside_brackets_and_after_operators() {
    check(
        "axis factor[k,\n  l]\nx[n] ~\n  Normal(\n    sum[k](a[k]\n      * b[k]\n    ),\n    sd = 1\n  )\ny = a +\n\n  b ^\n  2\ndata x[n] : real,\n  absent = 0,\n  NA,\n  center over n\nfit {\n  sweep a, (b\n    repeat 2, c),\n    d\n}\n",
        "axis factor[k, l]\nx[n] ~ Normal(sum[k](a[k] * b[k]), sd = 1)\ny = a + b^2\ndata x[n] : real, absent = 0, NA, center over n\nfit {\n  sweep a, (b repeat 2, c), d\n}\n",
    );
}

#[test]
fn the_word_notation_is_a_name_where_no_block_begins() {
    canonical("notation ~ Normal(0, sd = 1)\nx ~ Normal(notation, sd = 1)\n");
    canonical("notation[i] = x[i] + 1\n");
    check("notation { x.mean=m }\n", "notation {\n  x.mean = m\n}\n");
    check("notation {\nx . mean = m ^ 2 # m\n}\n", "notation {\n  x.mean = m^2  # m\n}\n");
}

#[test]
fn comments_stay_with_their_lines() {
    canonical(
        "\
# Head.
#
## Second head.

# About the model.

model a  # beside

# Above x.
x ~ Normal(0, sd = 1)  # beside x

# Block.
posterior {  # opens
  # Above.
  q(x)  # beside

  # Second.
  fixed y

  # Last.
}  # closes

# The end.
",
    );
    check(
        "\n\n# first\n\n\n\nx ~ Normal( # mean\n  # zero\n  0,\n  sd = 1) # end\n\n\n",
        "# first\n\n# mean\n# zero\nx ~ Normal(0, sd = 1)  # end\n",
    );
}

#[test]
fn operators_bind_as_in_mathematics() {
    let value = |text: &str| {
        let program = read(&format!("y = {text}"));
        match &program.statements[0].kind {
            StatementKind::Definition { value, .. } => shape(value),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(value("-2^2"), "(-(2^2))");
    assert_eq!(value("s^-2"), "(s^(-2))");
    assert_eq!(value("a^-b * c"), "((a^(-b))*c)");
    assert_eq!(value("a^b^c"), "(a^(b^c))");
    assert_eq!(value("a^-b^c"), "(a^(-(b^c)))");
    assert_eq!(value("-a * b"), "((-a)*b)");
    assert_eq!(value("a - b - c"), "((a-b)-c)");
    assert_eq!(value("a / b * c"), "((a/b)*c)");
    assert_eq!(value("a * -b + c"), "((a*(-b))+c)");
    assert_eq!(value("a - -b"), "(a-(-b))");
    assert_eq!(value("(a + b)^2 / c"), "(((a+b)^2)/c)");
}

/// An expression with all its brackets.
fn shape(expression: &Expression) -> String {
    match &expression.kind {
        ExpressionKind::Negate(operand) => format!("(-{})", shape(operand)),
        ExpressionKind::Binary(operator, left, right) => {
            let sign = match operator {
                BinaryOperator::Add => '+',
                BinaryOperator::Subtract => '-',
                BinaryOperator::Multiply => '*',
                BinaryOperator::Divide => '/',
                BinaryOperator::Power => '^',
            };
            format!("({}{sign}{})", shape(left), shape(right))
        }
        _ => print_expression(expression),
    }
}

#[test]
fn places_are_those_of_the_text() {
    let text = "# é\ny = (a + β) *\n  c[n]  # z\n";
    let program = read(text);
    let statement = &program.statements[0];
    assert_eq!(&text[statement.span.start..statement.span.end], "y = (a + β) *\n  c[n]");
    let StatementKind::Definition { target, value } = &statement.kind else { panic!("{statement:?}") };
    let ExpressionKind::Binary(_, left, right) = &value.kind else { panic!("{value:?}") };
    let at = |span: cavi_syntax::Span| &text[span.start..span.end];
    assert_eq!((at(target.span), at(left.span), at(right.span)), ("y", "(a + β)", "c[n]"));
    assert_eq!(at(value.span), "(a + β) *\n  c[n]");

    let text = "posterior {\n  q(z)\n}  # end\n";
    let program = read(text);
    assert_eq!(program.statements[0].span.end, text.find("  # end").unwrap_or(0));
}

#[test]
fn each_mistake_is_reported_and_the_other_lines_are_read() {
    let text = "\
model wrong
axis doc(d)
x ~ Normal(0, sd = .5)
y ~ Normal(0, sd = 1
z ~ Normal(0, sd = 1)
posterior {
  q(z[n, :k)
  point w
axis word[v]
w = a b
";
    let (program, diagnostics) = parse(text);
    assert_eq!(codes(&diagnostics), ["E0116", "E0104", "E0106", "E0108", "E0106", "E0101"]);
    let kinds: Vec<String> = print(&program).lines().map(String::from).collect();
    assert_eq!(
        kinds,
        ["model wrong", "z ~ Normal(0, sd = 1)", "posterior {", "  point w", "}", "axis word[v]"]
    );
}

#[test]
fn a_line_of_report_that_begins_with_no_word_is_refused() {
    let kept = "report {\n  totals of x[k] (all\n}\n";
    assert_eq!(print(&read(kept)), kept);
    // The line between is lost, so that the last one stands behind an open bracket.
    for line in ["~ Poisson(d", "= 3", ") totals"] {
        let (program, diagnostics) =
            parse(&format!("report {{\n  y ~ Normal(a + b# c\n  coun{{ {line}\n  heat w\n}}\n"));
        assert!(!diagnostics.is_empty(), "{line}");
        let printed = print(&program);
        assert_eq!(print(&parse(&printed).0), printed, "{line}");
    }
}

#[test]
fn a_bracket_left_open_does_not_swallow_the_next_line() {
    for next in [
        "axis d[d]",
        "b ~ Gamma(1, rate = 1)",
        "b[k] = 3",
        "fit {\n sweep a\n}",
        "posterior { fixed a }",
        "# note\n\nconst c = 1",
    ] {
        for first in [
            "a ~ Normal(0, sd = 1",
            "a ~ Normal(sum[k](b[k], sd = 1)",
            "a[n ~ Normal(0, sd = 1)",
            "y = (a +",
            "y = f(a,",
        ] {
            let (program, diagnostics) = parse(&format!("{first}\n{next}\n"));
            assert_eq!(codes(&diagnostics), ["E0106"], "{first} / {next}: {diagnostics:#?}");
            assert_eq!(program.statements.len(), 1, "{first} / {next}");
        }
    }
}

#[test]
fn braces_of_other_languages_are_seen_through() {
    let (program, diagnostics) =
        parse("model {\n  for (n in 1:N) {\n    x[n] ~ Normal(0, sd = 1)\n  }\n}\naxis d[n]\n");
    assert_eq!(codes(&diagnostics), ["E0117", "E0119"]);
    assert_eq!(program.statements.len(), 2);
    let (program, diagnostics) =
        parse("data {\n  int<lower=0> N;\n}\nposterior\n  q(z)\n  point w\naxis d[n]\n");
    assert_eq!(codes(&diagnostics), ["E0118", "E0117"]);
    assert_eq!(program.statements.len(), 2);
}

#[test]
fn deep_and_long_expressions_are_errors_and_no_overflow() {
    let nested = |depth: usize| format!("y = {}a{}", "(".repeat(depth), ")".repeat(depth));
    read(&nested(200));
    assert_eq!(codes(&parse(&nested(201)).1), ["E0123"]);
    assert_eq!(codes(&parse(&nested(100_000)).1), ["E0123"]);
    read(&format!("y = {}{}", "f(".repeat(200), ")".repeat(200)));
    read(&format!("y = {}a{}", "a[".repeat(200), "]".repeat(200)));
    for pattern in ["a+", "-", "a^", "a^-"] {
        let (_, diagnostics) = parse(&format!("y = {}a", pattern.repeat(100_000)));
        assert_eq!(codes(&diagnostics), ["E0123"], "{pattern}");
        let text = format!("y = {}a\n", pattern.repeat(250));
        let program = read(&text);
        assert_eq!(read(&print(&program)).without_spans(), program.without_spans());
    }
    for text in ["(", "[", "{", "}", "y = (", "fit {", "sum[", "a[", "\"", "/*", "q("] {
        parse(&text.repeat(20_000));
    }
    assert!(parse_schedule(&"(".repeat(100_000)).is_err());
    assert!(parse_number_expression(&"-".repeat(100_000)).is_err());
}

#[test]
fn schedules_and_warm_ups_of_the_command_line() {
    let items = parse_schedule("theta reset repeat 10, (w, h), [a, b] repeat 3").expect("a schedule");
    assert_eq!(items.len(), 3);
    assert!(items[0].reset && items[0].repeat == 10 && items[2].repeat == 3);
    assert!(matches!(&items[1].kind, ScheduleKind::Group(members) if members.len() == 2));
    assert_eq!(codes(&parse_schedule("w, ").expect_err("an open end")), ["E0101"]);
    assert_eq!(codes(&parse_schedule("").expect_err("nothing")), ["E0101"]);
    assert_eq!(codes(&parse_schedule("w repeat 0").expect_err("never")), ["E0124"]);
    assert_eq!(codes(&parse_schedule("w; h").expect_err("a semicolon")), ["E0101"]);

    assert_eq!(parse_warmup("means 60"), Ok(vec![Warmup::Means(60)]));
    assert_eq!(parse_warmup("means 60, collapsed 40"), Ok(vec![Warmup::Means(60), Warmup::Collapsed(40)]));
    assert_eq!(codes(&parse_warmup("collapsed").expect_err("no count")), ["E0101"]);
    assert_eq!(parse_warmup("means 60, collapsed 40"), Ok(vec![Warmup::Means(60), Warmup::Collapsed(40)]));
    assert_eq!(codes(&parse_warmup("collapsed").expect_err("no count")), ["E0101"]);
    assert_eq!(
        parse_warmup("shapes 0.6 over 40, means 20"),
        Ok(vec![Warmup::Shapes(0.6, 40), Warmup::Means(20)])
    );
    assert_eq!(parse_warmup(" none "), Ok(Vec::new()));
    assert_eq!(codes(&parse_warmup("means").expect_err("no count")), ["E0101"]);

    let shaped = |text: &str| parse_number_expression(text).map(|expression| shape(&expression));
    assert_eq!(shaped("3*4"), Ok("(3*4)".to_string()));
    assert_eq!(shaped("-1e-3^2"), Ok("(-(1e-3^2))".to_string()));
    assert_eq!(codes(&shaped("3*k").expect_err("a name")), ["E0130"]);
    assert_eq!(codes(&shaped(".5").expect_err("no digit")), ["E0104"]);
    assert_eq!(codes(&shaped("data/file.npy").expect_err("a file")), ["E0103"]);
}
