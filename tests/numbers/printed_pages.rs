//! What pages say of programs at the edges: numbers with exponents and below 0, points that are clamped, factors that keep their start,
//! constants that go to 0, names that look alike, and comments with marks of Markdown in them.

use cavi::{Compiled, Format, Level};
use cavi_report::derivation_html;

#[track_caller]
pub fn compiled(text: &str) -> Compiled {
    match cavi::compile(text, "page").into_compiled() {
        Ok(compiled) => compiled,
        Err(_) => panic!("this program compiles:\n{text}"),
    }
}

/// Every line of the page that can be evaluated holds, the modes of points among them.
#[track_caller]
pub fn holds(program: &Compiled) {
    let found = program.verify(400);
    let failed: Vec<&String> = found.failed.iter().map(|own| &own.problem).collect();
    assert!(
        failed.is_empty() && found.total().relations > 0,
        "{failed:?}\n{}",
        program.derivation(Format::Text)
    );
}

/// Two numerals with nothing between them but space, as in `2 \, 0.001`.
fn side_by_side(latex: &str) -> Option<&str> {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    latex.lines().find(|line| {
        line.match_indices(" \\, ").any(|(place, mark)| {
            digit(line[..place].chars().last()) && digit(line[place + mark.len()..].chars().next())
        })
    })
}

#[test]
fn numbers_of_the_text_stand_in_brackets_and_behind_dots() {
    let templates = [
        "m ~ Normal(-0.1, sd = LITERAL)\ny[n] ~ Normal(m, sd = LITERAL)\n",
        "m ~ Normal(0.3, var = LITERAL)\nt ~ Gamma(2, rate = LITERAL)\ny[n] ~ Normal(m, prec = t)\n",
        "m ~ Normal(LITERAL, prec = LITERAL)\nt ~ Gamma(LITERAL, rate = LITERAL)\ny[n] ~ Normal(m, prec = t)\n",
        "m ~ Normal(-LITERAL, prec = LITERAL)\ny[n] ~ Normal(m, prec = 2)\n",
        "w[k] ~ Normal(0, sd = LITERAL)\ny[n] ~ Normal(sum[k](x[n, k] * w[k]), sd = LITERAL)\n",
    ];
    for literal in ["2.5e-7", "1e-5", "0.001", "3e17", "0.7"] {
        for template in templates {
            let model = template.replace("LITERAL", literal);
            let text = format!("axis n[n]\naxis k[k] = 2\ndata y[n] : real\ndata x[n, k] : real\n{model}");
            let program = compiled(&text);
            for level in [Level::Paper, Level::Lecture] {
                let latex = program.derivation_at(level, Format::Latex);
                assert_eq!(side_by_side(&latex), None, "{text}");
                assert!(!latex.contains("\\ln 2.5 \\times"), "{text}{latex}");
                for wrong in ["- -", "+ -", "\\, -"] {
                    assert!(!latex.contains(wrong), "{wrong} in {text}{latex}");
                }
            }
            // A second superscript on one base is shown as a mistake.
            assert!(!derivation_html(&program).contains("<mtext>^</mtext>"), "{text}");
            if !literal.starts_with('3') {
                holds(&program);
            }
        }
    }
    assert!(side_by_side("2 \\, 0.1").is_some() && side_by_side("2 \\, x \\cdot 0.1").is_none());
}

#[test]
fn a_number_that_is_nearly_nothing_is_no_logarithm_of_one() {
    for statement in [
        "v ~ Normal(0, var = 7.3e15)\ny[n] ~ Normal(v, sd = 1)",
        "v ~ Gamma(2, rate = 1 / 3e16)\ny[n] ~ Normal(0, prec = v)",
        "v ~ Gamma(1e-3 * 1.23456789e-12, rate = 1)\ny[n] ~ Normal(0, prec = v)",
    ] {
        let program = compiled(&format!("axis n[n]\ndata y[n] : real\n{statement}\n"));
        let page = program.derivation(Format::Text);
        assert!(!page.contains("log(1)"), "{page}");
    }
}

#[test]
fn the_update_of_a_point_that_is_clamped_is_the_one_that_is_made() {
    let heads = "axis n[n]\naxis k[k] = 2\nconst h[n] = 1\n";
    for (model, shown) in [
        (
            "data x[n] : real\nw ~ Gamma(0.5, rate = 1)\nx[n] ~ Normal(w * h[n], sd = 1)\nposterior {\n  point w clamp\n}",
            "sqrt((-1 + sum[n](h[n] * x[n]))^2)",
        ),
        (
            "data x[n] : count\nw[k] ~ Gamma(0.5, rate = 1)\npi[:k] ~ Dirichlet(0.5)\nz[n] ~ Categorical(pi)\n\
             x[n] ~ Poisson(w[z[n]])\nposterior {\n  point w clamp\n  point pi clamp\n}",
            "pi[k] ∝ max(0, -1 / 2 + N[k])",
        ),
        (
            "data x[n] : binary\nw ~ Beta(0.5, 0.25)\nx[n] ~ Bernoulli(w)\nposterior {\n  point w clamp\n}",
            "max(0, ",
        ),
        (
            "data x[n] : count\nw ~ Gamma(2, rate = 1)\nx[n] ~ Poisson(w * h[n])\nposterior {\n  point w clamp\n}",
            "counts as 0 (clamp)",
        ),
    ] {
        let program = compiled(&format!("{heads}{model}\n"));
        let page = program.derivation(Format::Text);
        assert!(page.contains(shown), "{shown} is not in\n{page}");
        holds(&program);
    }
}

#[test]
fn with_points_the_bound_is_one_of_data_and_points() {
    let own = |model: &str| compiled(&format!("axis n[n]\naxis k[k] = 2\ndata y[n] : real\n{model}\n"));
    let beside = "w ~ Normal(0, sd = 0.001)\nv ~ Normal(0, sd = 1)\ny[n] ~ Normal(w + v, sd = 1)\n";
    let (random, point) = (own(beside), own(&format!("{beside}posterior {{\n  point w\n}}")));
    let lecture = |program: &Compiled| {
        let page = program.derivation_at(Level::Lecture, Format::Text);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (random, point) = (lecture(&random), lecture(&point));
    assert!(random.contains("log p(data) >= E[log p(data, latents)] + H[q]"), "{random}");
    assert!(
        random.contains("nowhere above the log-probability of the data, so that its values converge"),
        "{random}"
    );
    assert!(point.contains("log p(data, w) >= E[log p(data, latents)] + H[q]"), "{point}");
    assert!(!point.contains("log p(data) >=") && !point.contains("so that its values converge"), "{point}");
    for page in [random, point] {
        assert!(page.contains("Each update is a maximum over one factor"), "{page}");
    }
    // Where an update is no maximum, or may lower the bound, the page does not say otherwise.
    for (run, shown) in [
        ("posterior {\n  point w\n}\nfit {\n  sweep w reset, v\n}", "the section Ascent names what may"),
        ("posterior {\n  point s clamp\n}", "the section Ascent names what may"),
        ("posterior {\n  point u\n}", "the section Ascent says why no other does either"),
    ] {
        let model = "w ~ Normal(0, sd = 1)\nv ~ Normal(0, sd = 1)\ns ~ Gamma(0.5, rate = 1)\nu ~ Normal(0, sd = 1)\n\
                     y[n] ~ Normal(w + v + exp(u), prec = s)\n";
        let fixed = if run.contains("point u") { String::new() } else { model.replace(" + exp(u)", "") };
        let model = if fixed.is_empty() { model.to_owned() } else { fixed };
        let page = lecture(&own(&format!("{model}{run}")));
        assert!(page.contains(shown) && !page.contains("Each update is a maximum"), "{run}: {page}");
    }
}

#[test]
fn a_factor_that_keeps_its_start_is_averaged_over() {
    let text = "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata x[d, v] : count, absent = 0\n\
                t[d, k] ~ Gamma(2, rate = 1)\nb[k, v] ~ Gamma(2, rate = 1)\nx[d, v] ~ Poisson(sum[k](t[d, k] * b[k, v]))\n\
                posterior {\n  point t\n  fixed b\n}\n";
    let program = compiled(text);
    let page = program.derivation(Format::Text);
    assert!(page.contains("variational EM") && !page.contains("All variables are points"), "{page}");
    let cited = program.sources();
    assert!(cited.iter().all(|own| own.of != "The updates of points as the EM algorithm"), "{cited:?}");
    assert!(cited.iter().any(|own| own.of == "Points beside factors of q, on one bound"), "{cited:?}");
    // What is kept may differ from element to element.
    let latex = program.derivation(Format::Latex);
    let factor =
        latex.lines().find(|line| line.contains("fixed at its start")).expect("a line about the factor");
    assert_eq!(factor.matches("_{kv}").count(), 3, "{factor}");
    let all = compiled(&text.replace("fixed b", "point b"));
    assert!(all.derivation(Format::Text).contains("All variables are points"));
    holds(&program);
}

#[test]
fn no_remark_takes_a_constant_for_0_that_it_holds() {
    let remark = "at 0, the mean of";
    let rates = "axis n[n]\naxis k[k] = 3\ndata y[n, k] : count\nconst a = 0.3\nconst b = 1\nconst c = CONSTANT\n\
                 nu ~ Gamma(a, rate = b)\nlam[k] ~ Gamma(c, rate = nu)\ny[n, k] ~ Poisson(lam[k])\n";
    for (constant, wanted) in [("2", true), ("a", false), ("2 * a", false)] {
        let program = compiled(&rates.replace("CONSTANT", constant));
        let page = program.derivation(Format::Text);
        assert_eq!(page.contains(remark), wanted, "c = {constant}: {page}");
        holds(&program);
    }
    let held =
        "axis n[n]\ndata y[n] : positive\nconst a = 2\nnu ~ Gamma(a, rate = a)\ny[n] ~ Gamma(a, rate = nu)\n";
    assert!(!compiled(held).derivation(Format::Text).contains(remark));
}

#[test]
fn a_name_for_a_number_stands_in_its_own_statement_alone() {
    for value in ["1", "2 - 1", "exp(0)"] {
        let program = compiled(&format!(
            "axis n[n]\ndata x[n] : real\ndata y[n] : real\none = {value}\nb ~ Normal(0, sd = 1)\ns ~ Gamma(1, rate = 1)\n\
             y[n] ~ Normal(b * x[n] + one, prec = s)\n"
        ));
        let page = program.derivation(Format::Text);
        let derived = page.split("Log joint").nth(1).expect("the page has formulas");
        for own in ["+ one", "- one", "= one", "one /"] {
            assert!(!derived.contains(own), "{own} in {derived}");
        }
        assert!(derived.contains("Var(b) = 1 / prec"), "{derived}");
        holds(&program);
    }
}

#[test]
fn two_things_do_not_look_the_same() {
    let alike = compiled(
        "axis n[n]\ndata y[n] : real\ndata x1[n] : real\ndata x_1[n] : real\nbeta ~ Normal(0, sd = 1)\nβ ~ Normal(0, sd = 1)\n\
         y[n] ~ Normal(beta * x1[n] + β * x_1[n], sd = 1)\n",
    );
    let latex = alike.derivation(Format::Latex);
    let stated = latex.lines().find(|line| line.contains("y_{n} &\\sim")).expect("the statement of the data");
    for shown in ["x_{1,n}", "\\mathrm{x\\_1}_{n}", "\\beta", "\\mathrm{beta}"] {
        assert_eq!(stated.matches(shown).count(), 1, "{shown} in {stated}");
    }
    // The diagram and the JSON write them as the page does.
    let (diagram, json) = (alike.tikz(), alike.derivation_json(None).expect("it has one"));
    for (shown, in_json) in [
        ("{$x_{1,n}$}", "x_{1,n}"),
        ("{$\\mathrm{x\\_1}_{n}$}", "\\\\mathrm{x\\\\_1}_{n}"),
        ("{$\\beta$}", "\\\\beta"),
        ("{$\\mathrm{beta}$}", "\\\\mathrm{beta}"),
    ] {
        assert_eq!(diagram.matches(shown).count(), 1, "{shown} in {diagram}");
        assert!(json.contains(in_json), "{in_json} in {json}");
    }
    // A process beside variables that are called as its matrices are.
    let process = compiled(
        "axis i[i, l]\naxis k[k] = 2\naxis j[j]\ndata t[i] : real\ndata x[i, j] : count\n\
         const K_d[i, l] = exp(-(t[i] - t[l])^2) + [i == l]\nd[:i, k] ~ GaussianProcess(cov = K_d)\nC_d ~ Gamma(1, rate = 1)\n\
         h[k, j] ~ Gamma(1, rate = 1)\nx[i, j] ~ Poisson(C_d * sum[k](exp(d[i, k]) * h[k, j]))\nposterior {\n  point d\n}\n",
    );
    let page = process.derivation(Format::Text);
    for shown in ["Sigma_d[i,l] = K_d[i,l]", "R_d' * R_d = Sigma_d", "R_d'^-1[i,l] * d[l,k]", "q(C_d)"] {
        assert!(page.contains(shown), "{shown} is not in\n{page}");
    }
    assert!(!page.contains("C_d'"), "{page}");
    holds(&process);
    // The size of an axis and the objective of a point.
    let capital = compiled(
        "axis level[l]\naxis row[n]\ndata y[n, l] : count\ndata x[n] : real\nw[l] ~ Normal(0, sd = 1)\n\
         y[n, l] ~ Poisson(exp(w[l] * x[n]))\nposterior {\n  point w\n}\n",
    );
    let page = capital.derivation(Format::Latex);
    assert!(page.contains("  F &= ") && page.contains("of size $L$") && !page.contains("  L &= "), "{page}");
    holds(&capital);
    // Singular vectors beside variables called N and V.
    let components = compiled(
        "axis s[s]\naxis f[k] = 2\naxis gene[n]\ndata x[s, n] : real\nN[s, k] ~ Normal(0, sd = 1)\nV[n, k] ~ Normal(0, sd = 1)\n\
         x[s, n] ~ Normal(sum[k](N[s, k] * V[n, k]), sd = 1)\nposterior {\n  q(N[s, :k])\n}\ninit {\n  N = pca(x)\n}\n",
    );
    let page = components.derivation(Format::Text).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("singular vectors U and Q"), "{page}");
    assert!(page.contains("of size |s|: a variable over that axis starts at sqrt(|s|) * U"), "{page}");
}

#[test]
fn the_comment_of_a_program_is_plain_words() {
    let said = "Prices from $5 to $6 `per` unit | a - b * c_d & <b> &lt; [x](y)";
    let program = compiled(&format!(
        "# {said}\naxis n[n]\ndata y[n] : real\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)\n"
    ));
    let markdown = program.derivation(Format::Markdown);
    let escaped = "Prices from \\$5 to \\$6 \\`per\\` unit | a - b \\* c\\_d & \\<b> \\&lt; [x\\](y)";
    assert!(markdown.contains(escaped), "{}", &markdown[..400]);
    let html = derivation_html(&program);
    let shown = "<p>Prices from $5 to $6 `per` unit | a - b * c_d &amp; &lt;b&gt; &amp;lt; [x](y)</p>";
    assert!(html.contains(shown), "{}", &html[..400]);
    // Nor are they a list, a heading or a quotation.
    for mark in ["- a", "# a", "> a", "12. a", "| a"] {
        let program = compiled(&format!(
            "# {mark}\naxis n[n]\ndata y[n] : real\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)\n"
        ));
        let html = derivation_html(&program);
        let shown = format!("<p>{}</p>", mark.replace('>', "&gt;"));
        assert!(html.contains(&shown), "{shown} is not in {}", &html[..400]);
    }
}

#[test]
fn code_for_a_bound_without_letters_takes_numbers_for_arrays() {
    let text = "data y : count\na ~ Gamma(2, rate = 1)\ny ~ Poisson(a + 2)\n";
    let code = compiled(text).python().expect("the program has code");
    let parts = code.split("def allocations(").nth(1).expect("the code has allocations");
    // The second addend is a number, without a shape of its own.
    assert!(parts.lines().any(|line| line.contains("parts = [") || line.contains("0.693")), "{parts}");
    for function in ["log_sum_exp", "shares"] {
        let body = code.split(&format!("def {function}(")).nth(1).expect("the function is there");
        let body = body.split("\ndef ").next().expect("it has a body");
        assert!(body.contains("np.asarray(part)"), "{body}");
    }
}

/// Data that may be missing, and stand on a right-hand side: the factor is that of an entry that is not observed.
#[test]
fn pages_of_partly_observed_data_say_which_entries_have_factors() {
    let program = "axis n[n]\ndata x[n] : real, absent = NA\ndata y[n] : real\nm ~ Normal(0, sd = 1)\nx[n] ~ Normal(m, sd = 1)\n\
        y[n] ~ Normal(2 * x[n], sd = 1)\n";
    let own = compiled(program);
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for level in [Level::Paper, Level::Full, Level::Lecture] {
        let page = words(own.derivation_at(level, Format::Text));
        for shown in [
            "x[n]: data, a real number, latent where not observed",
            "q(x[n]): Normal, for each n, where x[n] is not observed",
            "Where x[n] is observed it stays at the value",
            "Of the entries of x that are observed the bound has the log-density at the value, and no entropy.",
        ] {
            assert!(page.contains(shown), "{shown} is not in\n{page}");
        }
        assert!(!page.contains("x[n]: latent"), "{page}");
    }
    let latex = words(own.derivation(Format::Latex));
    assert!(latex.contains("where $x_{n}$ is not observed"), "{latex}");
    holds(&own);
    // Without `absent = NA` there is no such entry, and of a vector the whole is missing.
    let whole = compiled(&program.replace(", absent = NA", ""));
    assert!(!whole.derivation(Format::Text).contains("not observed"));
    let vector = compiled(
        "axis n[n]\naxis k[k, l] = 2\ndata x[n, k] : real, absent = NA\ndata y[n] : real\nx[n, :k] ~ MultivariateNormal(0, prec = 2 * [k == l])\n\
         y[n] ~ Normal(sum[k](x[n, k]), sd = 1)\nposterior {\n  q(x[n, :k])\n}\n",
    );
    let page = words(vector.derivation(Format::Text));
    assert!(page.contains("where x[n,:k] is not observed"), "{page}");
    // Where the entropy stands with the prior, it is that of the others too.
    let classes = compiled(
        "axis n[n]\naxis c[c] = 2\ndata z[n] : index c, absent = NA\ndata y[n] : real\np[:c] ~ Dirichlet(1)\nm[c] ~ Normal(0, sd = 1)\n\
         z[n] ~ Categorical(p)\ny[n] ~ Normal(m[z[n]], sd = 1)\n",
    );
    let page = words(classes.derivation(Format::Text));
    assert!(page.contains("z[n]: data, a position on c, latent where not observed"), "{page}");
    assert!(page.contains("Where z[n] is observed it stays at the value"), "{page}");
    holds(&classes);
}

/// The page of a mixture of Betas under `collapsed` states the means of CVB0: `(a - u) / (a + b - u)` at 1 and `(b - u) / (a + b - u)` at 0.
#[test]
fn a_mixture_of_zeros_and_ones_without_the_own_unit() {
    let own = compiled(
        "axis u[u]\naxis k[k] = 2\ndata x[u] : binary\na[k] ~ Beta(1, 2)\npi[:k] ~ Dirichlet(1)\nz[u] ~ Categorical(pi)\n\
         x[u] ~ Bernoulli(a[z[u]])\nposterior {\n  implicit z\n}\nfit {\n  allocations = collapsed\n}\n",
    );
    let page = own.derivation(Format::Text).split_whitespace().collect::<Vec<_>>().join(" ");
    for shown in ["eta(log a[k]) - x[u] * phi_bar[u,k]", "eta(log(1 - a[k])) - (1 - x[u]) * phi_bar[u,k]"] {
        assert!(page.contains(shown), "{shown} is not in\n{page}");
    }
    holds(&own);
}
