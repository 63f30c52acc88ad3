"""Programs: texts, files, built-in ones; their messages and derivations."""

import json

import pytest

import cavi

MEAN = "axis item[n]\ndata x[n] : real\nm ~ Normal(0, sd = 10)\nx[n] ~ Normal(m, sd = 1)\n"


def test_a_program_says_what_it_reads_and_what_is_unknown():
    program = cavi.compile(MEAN)
    assert program.data == {"x": ["item"]}
    assert program.latents == ["m"]
    assert "m" in program.derive() and "mathrm{Normal}" in program.derive(format="latex")
    assert json.loads(program.derive(format="json"))
    assert "<svg" in program.graph() and "digraph" in program.graph("dot")
    assert "x[item]" in repr(program) and "<svg" in program._repr_html_()


def test_every_built_in_program_compiles():
    assert {"lda", "gfa", "nmf_gamma"} <= set(cavi.builtin())
    for name in cavi.builtin():
        assert cavi.compile(name).latents


def test_a_path_is_a_file(tmp_path):
    file = tmp_path / "mean.cavi"
    file.write_text(MEAN)
    assert cavi.compile(file).text == cavi.compile(str(file)).text == MEAN


def test_a_mistake_is_shown_at_its_place_with_its_repair():
    with pytest.raises(cavi.ProgramError) as raised:
        cavi.compile(MEAN.replace("m ~", "mu ~"))
    assert raised.value.code == "E0201"
    assert ":4:15" in str(raised.value) and "`m` is not declared" in str(raised.value)
    assert isinstance(raised.value, ValueError)


def test_a_warning_of_the_program_is_a_warning_here():
    with pytest.warns(cavi.CaviWarning, match="W"):
        cavi.compile(MEAN.replace("x[n] ~", "unused ~ Normal(0, sd = 1)\nx[n] ~"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cavi.compile("nothing_of_this_name"), "no built-in program"),
        (lambda: cavi.compile("lda", set={"topics": 3}), "topics"),
        (lambda: cavi.compile("lda").derive(format="word"), "expected text, latex"),
        (lambda: cavi.compile("lda").derive("gamma"), "there is no latent"),
        (lambda: cavi.compile("lda").graph("png"), "expected svg"),
        (lambda: cavi.example_data("nothing", "."), "no built-in program"),
    ],
)
def test_wrong_calls_say_what_there_is(call, message):
    with pytest.raises(cavi.CaviError, match=message):
        call()


def test_another_type_is_no_program():
    with pytest.raises(TypeError, match="not int"):
        cavi.compile(3)


def test_a_derivation_is_code_and_has_levels():
    program = cavi.compile("nmf_gamma")
    code = program.derive(format="python")
    compile(code, "nmf_gamma.py", "exec")
    assert "def fit" in code and len(program.derive(level="paper")) < len(program.derive(level="lecture"))
    with pytest.raises(cavi.UsageError, match="paper"):
        program.derive(level="short")
    with pytest.raises(cavi.UsageError, match="no variable"):
        program.derive("w", format="python")
    assert "tikz" in program.graph("tikz")


def test_the_literature_of_a_derivation():
    works = cavi.compile("lda").derive(format="bibtex")
    assert works.count("@") >= 1 and "Blei" in works and "2003" in works
    with pytest.raises(cavi.UsageError, match="whole derivation"):
        cavi.compile("lda").derive("theta", format="bibtex")
