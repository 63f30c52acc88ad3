//! The mistakes of a newcomer: each command line and each program has one, and what is printed leads to its repair. Each is
//! rated by somebody who reads the message without knowing Cavi: it leads to the repair at once, or after thought. None may be
//! silent or mislead, and at most five may need thought.

use std::fs;

use super::common::{cavi, scratch, text};
use Rating::{AfterThought, AtOnce};

/// How soon a message leads to the repair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rating {
    /// It says what to type.
    AtOnce,
    /// It says what was found, from which the repair follows.
    AfterThought,
}

/// Those that may need thought.
const THOUGHT: usize = 5;

/// The files that the command lines read.
const FILES: &[(&str, &[u8])] = &[
    ("long.csv", b"user,item,y\nann,tea,3\nann,rye,1\nbob,tea,2\nbob,jam,4\ncat,jam,1\n"),
    ("transposed.csv", b",ann,bob,cat\ntea,3,2,0\nrye,1,0,0\njam,0,4,1\n"),
    ("semi.csv", b"user;item;y\nann;tea;3\nbob;rye;2\n"),
    ("decimal.csv", b"a,b\n\"1,5\",\"2,5\"\n\"3,1\",\"4,2\"\n"),
    ("decimal_semi.csv", b"a;b\n1,5;2,5\n3,1;4,2\n"),
    ("twice.csv", b",tea,tea,jam\nann,3,1,0\nbob,2,0,4\n"),
    ("twice_rows.csv", b",tea,rye\nann,3,1\nann,2,0\n"),
    ("ragged.csv", b"a,b\n1,2\n3\n"),
    ("word.csv", b"a,b\n1,2\n3,x\n"),
    ("hole.csv", b"a,b\n1,\n3,4\n"),
    ("half.csv", b"a,b\n1.5,2\n3,4\n"),
    ("minus.csv", b"a,b\n-1,2\n3,4\n"),
    ("empty.csv", b""),
    ("header.csv", b"a,b\n"),
    ("latin.csv", b"caf\xe9,b\n1,2\n"),
    ("x.csv", b"x\n1\n2\n4\n"),
    ("y.csv", b"y\n1\n3\n5\n"),
    ("short.csv", b"y\n1\n3\n"),
    ("g.csv", b"g\nA\nB\nA\n"),
    ("dup_long.csv", b"user,item,y\nann,tea,3\nann,tea,1\n"),
    ("ml.csv", b"userId,movieId,rating,timestamp\n1,10,4,100\n1,20,3,101\n2,10,5,102\n3,30,2,103\n"),
    ("two.txt", b"tea\nrye\n"),
    ("dup.txt", b"tea\ntea\njam\n"),
    ("out.mtx", b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 1 3\n4 2 1\n"),
    ("cut.mtx", b"%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 1 3\n2 2 1\n"),
    ("ok.mtx", b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 1 3\n2 2 1\n"),
    ("book.xlsx", b"PK\x03\x04"),
    ("m.rds", b"RDX3"),
    (
        "pf.cavi",
        b"axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : count, absent = 0\n\
          a[u, k] ~ Gamma(1, rate = 1)\nb[i, k] ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(sum[k](a[u, k] * b[i, k]))\n",
    ),
    (
        "pf_noabsent.cavi",
        b"axis user[u]\naxis item[i]\naxis part[k] = 2\ndata y[u, i] : count\n\
          a[u, k] ~ Gamma(1, rate = 1)\nb[i, k] ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(sum[k](a[u, k] * b[i, k]))\n",
    ),
    (
        "lin.cavi",
        b"axis row[n]\ndata x[n] : real\ndata y[n] : real\na ~ Normal(0, sd = 10)\nb ~ Normal(0, sd = 10)\n\
          tau ~ Gamma(1, rate = 1)\ny[n] ~ Normal(a + b * x[n], prec = tau)\n",
    ),
    (
        "grp.cavi",
        b"axis row[n]\naxis group[g]\ndata of[n] : index group\ndata y[n] : real\nm[g] ~ Normal(0, sd = 10)\n\
          y[n] ~ Normal(m[of[n]], sd = 1)\n",
    ),
    (
        "mat.cavi",
        b"axis row[n]\naxis col[j]\ndata x[n, j] : real\nm[j] ~ Normal(0, sd = 10)\nx[n, j] ~ Normal(m[j], sd = 1)\n",
    ),
];

/// Command lines with a mistake: the status, what standard error holds, and the rating.
#[rustfmt::skip]
const LINES: &[(&str, i32, &[&str], Rating)] = &[
    ("fit pf.cavi --data y=lnog.csv --out o", 1, &["lnog.csv", "no such file"], AtOnce),
    ("fit pf.cavi --data long.csv --out o", 2, &["`--data long.csv` is not of the form `NAME=FILE`", "`--data NAME=long.csv`"], AtOnce),
    ("fit pf.cavi --data ratings=long.csv --out o", 1, &["no data of this name", "possible: `y`"], AtOnce),
    ("fit pf.cavi y=long.csv --out o", 2, &["`y=long.csv` stands alone", "`--data y=long.csv`"], AtOnce),
    ("fit pf.cavi long.csv --out o", 2, &["`long.csv` stands alone", "`--data NAME=long.csv`"], AtOnce),
    ("fit pf.cavi part=3 --data y=long.csv --out o", 2, &["`part=3` stands alone", "`--set part=3`"], AtOnce),
    ("fit pf.cavi --data y=long.csv", 2, &["--out <DIR>"], AtOnce),
    ("fit pf.cavi --out o", 1, &["the data `y` are bound to no file", "--data y=FILE"], AtOnce),
    ("fit lin.cavi --data x=x.csv --out o", 1, &["the data `y` are bound to no file"], AtOnce),
    ("fit lin.cavi --data x=x.csv --data y=y.csv --data z=y.csv --out o", 1, &["`--data z`: the program has no data", "`x`, `y`"], AtOnce),
    ("fit lin.cavi --data x=x.csv --data x=y.csv --data y=y.csv --out o", 1, &["`x` is bound to x.csv and to y.csv"], AtOnce),
    ("fit lda --data y=ok.mtx --out o", 1, &["`--data y`: the program has no data of this name", "possible: `n`"], AtOnce),
    ("fit pf.cavi --data y=ml.csv --out o", 1, &["of which `userId`, `movieId` are ids", "--columns y=user:userId,item:movieId,value:rating"], AtOnce),
    ("fit pf_noabsent.cavi --data y=long.csv --out o", 1, &["`absent = 0`", "`absent = NA`"], AtOnce),
    ("fit pf_noabsent.cavi --data y=transposed.csv --out o", 0, &["3 user (tea, rye, jam) x 3 item (ann, bob, cat)"], AfterThought),
    ("fit mat.cavi --data x=semi.csv --out o", 1, &["found `tea`; expected a number", "`--columns x=row:user,col:item,value:y` if each line is one entry", "the header of a long table names every axis: `row`, `col`"], AtOnce),
    ("fit mat.cavi --data x=decimal.csv --out o", 1, &["found `1,5`", "numbers have a point: write `1.5`"], AtOnce),
    ("fit mat.cavi --data x=decimal_semi.csv --out o", 1, &["found `1,5`", "numbers have a point: write `1.5`"], AtOnce),
    ("fit pf.cavi --data y=twice.csv --out o", 1, &["found the label `tea`, which column 2 has too"], AtOnce),
    ("fit pf.cavi --data y=twice_rows.csv --out o", 1, &["found the label `ann`, which also stands in line 2"], AtOnce),
    ("fit mat.cavi --data x=ragged.csv --out o", 1, &["line 3: found 1 field; expected 2"], AtOnce),
    ("fit mat.cavi --data x=word.csv --out o", 1, &["line 3, column `b`: found `x`; expected a number"], AtOnce),
    ("fit mat.cavi --data x=hole.csv --out o", 1, &["line 2, column `b`: found a missing entry", "`absent = NA`"], AtOnce),
    ("fit pf.cavi --data y=half.csv --out o", 1, &["found 1.5; expected a count"], AtOnce),
    ("fit pf.cavi --data y=minus.csv --out o", 1, &["found -1; expected a count"], AtOnce),
    ("fit mat.cavi --data x=empty.csv --out o", 1, &["empty.csv: found an empty file"], AtOnce),
    ("fit mat.cavi --data x=header.csv --out o", 0, &["W0807", "look whether the file has rows below its header"], AtOnce),
    ("fit mat.cavi --data x=latin.csv --out o", 1, &["no UTF-8", "iconv -f WINDOWS-1252 -t UTF-8"], AtOnce),
    ("fit pf.cavi --data y=out.mtx --out o", 1, &["line 4: found row `4`; expected a row from 1 to 3"], AtOnce),
    ("fit pf.cavi --data y=cut.mtx --out o", 1, &["the end of the file after 2 entries; expected 3"], AtOnce),
    ("fit pf.cavi --data y=book.xlsx --out o", 1, &["states no format", "save the sheet as CSV"], AtOnce),
    ("fit pf.cavi --data y=m.rds --out o", 1, &["states no format", "in R, `write.csv("], AtOnce),
    ("fit pf.cavi --data y=dup_long.csv --out o", 0, &["1 line stands a second time, and is added to the first"], AtOnce),
    ("fit lin.cavi --data x=x.csv --data y=short.csv --out o", 1, &["axis `row` has size 3 by x.csv, and 2 by short.csv"], AtOnce),
    ("fit lin.cavi --data x=x.csv:z --data y=y.csv --out o", 1, &["found the columns `x`; expected a column `z`"], AtOnce),
    ("fit grp.cavi --data of=y.csv --data y=g.csv --out o", 1, &["g.csv, line 2, column `g`: found `A`; expected a number"], AfterThought),
    ("fit pf.cavi --data y=ok.mtx --labels item=two.txt --out o", 1, &["axis `item` has size 2 by the labels of two.txt, and 3 by ok.mtx"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --labels item=dup.txt --out o", 1, &["line 2: found the label `tea`, which also stands in line 1"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --labels items=two.txt --out o", 1, &["no axis of this name", "did you mean `item`?"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --labels i=two.txt --out o", 1, &["`i` is an index of the axis `item`: `--labels item=FILE`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --transpose --out o", 2, &["`--transpose`: expected a value"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --transpose x --out o", 1, &["`--transpose x`: the program has no data of this name", "`y`"], AtOnce),
    ("fit pf.cavi --data y=long.csv --columns y=user:userId --out o", 1, &["found the columns `user`, `item`, `y`; expected a column `userId`"], AtOnce),
    ("fit pf.cavi --data y=ml.csv --columns y=user:userid,item:movieId,value:rating --out o", 1, &["found the columns `userId`", "expected a column `userid`"], AtOnce),
    ("fit pf.cavi --data y=ml.csv --columns y=users:userId,item:movieId,value:rating --out o", 1, &["found `users`", "expected `user`, `item` or `value`"], AtOnce),
    ("fit pf.cavi --data y=ml.csv --columns user:userId,item:movieId,value:rating --out o", 2, &["is not of the form `NAME=axis:column,...`", "`--columns n=user:userId,value:rating`"], AtOnce),
    ("fit pf.cavi --data y=ml.csv --columns y=userId,movieId,rating --out o", 2, &["is not of the form `NAME=axis:column,...`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --set k=20 --out o", 1, &["`k` is an index of the axis `part`: `--set part=...`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --set parts=20 --out o", 1, &["did you mean `part`?"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --set part=2.5 --out o", 1, &["`--set part=2.5` is no size of an axis", "a whole number"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --set part=-1 --out o", 1, &["`--set part=-1` is no size of an axis"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --out o --set part 20", 2, &["`20` stands alone", "`--set part=20`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --set user=2 --out o", 1, &["axis `user` has size 2 by `--set user=2`, and 3 by ok.mtx"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --iters 100 --out o", 2, &["`--sweeps N`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --max-iter 100 --out o", 2, &["`--sweeps N`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --num-samples 100 --out o", 2, &["there is no option `--num-samples`", "nothing is sampled"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --chains 4 --out o", 2, &["`--restarts R`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --warmup 500 --out o", 2, &["a warm-up is `means 60`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --topics 20 --out o", 2, &["`--set topic=20`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --n-components 20 --out o", 2, &["`--set topic=20`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx -k 20 --out o", 2, &["`--set AXIS=N`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --random-state 1 --out o", 2, &["`--seed S`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --seed abc --out o", 2, &["`--seed abc`: expected a whole number"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --tolerance 1e-4 --out o", 2, &["`--tol T`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --n-jobs 4 --out o", 2, &["`--threads T`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --verbose --out o", 2, &["progress is shown unless `--quiet` is given"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx -o o", 2, &["`--out DIR`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --learning-rate 0.1 --out o", 2, &["has no step size"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --device cuda --out o", 2, &["fits run on processors"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --sparsity 2 --out o", 2, &["there is no option `--sparsity`", "`cavi fit --help` lists the options"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --swep 2 --out o", 2, &["there is no option `--swep`", "did you mean `--sweeps`?"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --heldout 0.1 --out o", 2, &["`--heldout 0.1` is not of the form", "`--heldout n=0.1` hides a tenth of `n`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --heldout z=0.1 --out o", 1, &["`--heldout z`: the program has no data of this name"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --heldout y=10 --out o", 2, &["the fraction is 10", "greater than 0 and less than 1"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --heldout y=10% --out o", 2, &["`10%` is neither a number nor a file"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --test-size 0.1 --out o", 2, &["`--heldout NAME=FRACTION`"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --folds 1 --out o", 2, &["expected a whole number from 2"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --restarts 0 --out o", 2, &["expected a whole number, 1 or greater"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --precision float32 --out o", 2, &["expected `f64` or `f32`"], AtOnce),
    ("fit pff.cavi --data y=ok.mtx --out o", 1, &["there is no file `pff.cavi`"], AtOnce),
    ("fit LDA --data n=ok.mtx --out o", 2, &["did you mean `lda`?"], AtOnce),
    ("check pf", 2, &["did you mean the file `pf.cavi`?"], AtOnce),
    ("fti pf.cavi", 2, &["there is no command `fti`", "did you mean `cavi fit`?"], AtOnce),
    ("train pf.cavi --data y=ok.mtx --out o", 2, &["`cavi fit MODEL --data NAME=FILE --out DIR`"], AtOnce),
    ("predict o --data y=ok.mtx", 2, &["`cavi project DIR", "`cavi score DIR"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --schedule a,c --out o", 2, &["there is no variable `c`", "latents: a, b"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --schedule a;b --out o", 2, &["found `;`", "a schedule is `a, (b, c)"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --allocations gibbs --out o", 2, &["expected `ordinary`, `means` or `collapsed`"], AtOnce),
    ("fit lin.cavi --data x=x.csv --data y=y.csv --warmup means --out o", 2, &["--warmup:1"], AfterThought),
    ("fit pf.cavi --data y=ok.mtx --init nowhere --out o", 1, &["nowhere: no such file", "a fit's directory"], AtOnce),
    ("derive pf.cavi --explain A", 2, &["did you mean `a`?"], AtOnce),
    ("derive pf.cavi --format tex", 2, &["expected `text` or `latex`"], AtOnce),
    ("summary nowhere", 1, &["the directory of a fit, which `cavi fit ... --out DIR` writes"], AtOnce),
    ("summary ok.mtx", 1, &["found a file where a directory has to be", "the directory of a fit"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --resume ok.mtx", 2, &["`--resume ok.mtx` is a file", "that the interrupted fit was to write"], AtOnce),
    ("fit pf.cavi --data y=ok.mtx --out o --watch=99999", 2, &["`--watch=99999`: expected the number of a port"], AtOnce),
    ("demo LDA", 2, &["did you mean `lda`?"], AtOnce),
    ("plan pf.cavi", 1, &["the data `y` are bound to no file"], AtOnce),
    ("simulate pf.cavi --out o", 1, &["the size of axis `user` is not known", "`--set user=SIZE`"], AtOnce),
];

/// Programs with a mistake: what `cavi check` says.
#[rustfmt::skip]
const PROGRAMS: &[(&str, &[&str], Rating)] = &[
    ("m ~ normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)", &["did you mean `Normal`?"], AtOnce),
    ("m ~ Normal(0, 1)\ny[n] ~ Normal(m, sd = 1)", &["write `sd = 1` for a standard deviation"], AtOnce),
    ("m ~ Normal(0, sigma = 1)\ny[n] ~ Normal(m, sd = 1)", &["did you mean `sd`?"], AtOnce),
    ("m ~ Gama(1, rate = 1)\nc[n] ~ Poisson(m)", &["did you mean `Gamma`?"], AtOnce),
    ("m ~ dnorm(0, 1)\ny[n] ~ Normal(m, sd = 1)", &["`Normal(mean, prec = ...)`", "in BUGS is a precision"], AtOnce),
    ("c[n] ~ Poisson(m)", &["an unknown needs a prior, `m ~ Family(...)`"], AtOnce),
    ("w[j, k] ~ Normal(0, sd = 1)\nz[n, k] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(sum[k](w[k, j] * z[n, k]), sd = 1)", &["the order is `w[j, k]`"], AtOnce),
    ("w[j, k] ~ Normal(0, sd = 1)\nz[n, k] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(w[j, k] * z[n, k], sd = 1)", &["sum over it, `sum[k](...)`"], AtOnce),
    ("m[j] ~ Normal(0, sd = 1)\nx[j, n] ~ Normal(m[j], sd = 1)", &["the order is `x[n, j]`"], AtOnce),
    ("m ~ Normal(0, sd = 1);\ny[n] ~ Normal(m, sd = 1)", &["the newline ends a statement"], AtOnce),
    ("data g[n] : category\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)", &["`index AXIS`"], AtOnce),
    ("data g[n] : int\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)", &["whole numbers from 0 on are `count`"], AtOnce),
    ("a[n] ~ Normal(a[n - 1], sd = 1)\ny[n] ~ Normal(a[n], sd = 1)", &["there is no index arithmetic", "a smooth path is a Gaussian process of points"], AtOnce),
    ("m ~ Gamma(1, rate = 1)\ny[n] ~ Poisson(m)", &["`y` is `real`", "data of type count or nonnegative"], AtOnce),
    ("m ~ Normal(0, sd = 1)\nc[n] ~ Poisson(m)", &["must be 0 or greater", "Gamma, Exponential"], AtOnce),
    ("m ~ Normal(0, sd = 1)\nb[n] ~ Bernoulli(m)", &["write `logit = m`"], AtOnce),
    ("m ~ Uniform(0, 1)\nb[n] ~ Bernoulli(m)", &["m ~ Beta(1, 1)"], AtOnce),
    ("m ~ Normal(0, sd = 1)\ny[n] ~ StudentT(4, m, 1)", &["y[n] ~ Normal(m, prec = y_weight[n])"], AtOnce),
    ("m ~ Gamma(1, rate = 1)\nc[n] ~ NegativeBinomial(m, 2)", &["c[n] ~ Poisson(c_rate[n])"], AtOnce),
    ("m[k] ~ Normal(0, sd = 1)\nz[n] ~ Categorical(softmax(m))\ny[n] ~ Normal(m[z[n]], sd = 1)", &["a slice on the simplex, `p[:k] ~ Dirichlet(1)`"], AtOnce),
    ("s ~ Gamma(1, rate = 1)\ny[n] ~ Normal(0, sd = s)", &["write `prec = s` in place of `sd = s`"], AtOnce),
    ("z[n] ~ Bernoulli(0.3)\nmu[k] ~ Normal(0, sd = 1)\ny[n] ~ Normal(mu[z[n]], sd = 1)", &["`z[n] ~ Categorical(share)`"], AtOnce),
    ("m[j] ~ Gamma(1, rate = 1)\nc[n] ~ Poisson(prod[j](m[j]))", &["there is no `prod` over letters"], AtOnce),
    ("axis pl[i, l]\ndata w[i, l] : binary, absent = NA, i != l\ns[i] ~ Gamma(1, rate = 1)\nw[i, l] ~ Bernoulli(s[i] / (s[i] + s[l]))", &["write `logit = s[i] - s[l]`"], AtOnce),
    ("w[j, k] ~ Normal(0, sd = 1)\nz[n, k] ~ Normal(0, sd = 1)\nx[n, j] ~ Normal(sum(w[j, k] * z[n, k]), sd = 1)", &["letters stand in square brackets"], AtOnce),
    ("th[n, k] ~ Dirichlet(1)\nz[n] ~ Categorical(th[n])\nmu[k] ~ Normal(0, sd = 1)\ny[n] ~ Normal(mu[z[n]], sd = 1)", &["`th[n, :k] ~ Dirichlet(...)`"], AtOnce),
    ("m = Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)", &["write `m ~ Normal(...)`"], AtOnce),
    ("const a = \"0.1\"\nm ~ Normal(a, sd = 1)\ny[n] ~ Normal(m, sd = 1)", &["write the number without quotes: `0.1`"], AtOnce),
    ("observe y[n] ~ Normal(0, sd = 1)", &["what is observed is declared"], AtOnce),
    ("m ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)\nfit {\n  iterations = 10\n}", &["write `sweeps = 100`"], AtOnce),
    ("m ~ Normal(0, sd = 1)\ny[n] ~ Normal(m, sd = 1)\nfit {\n  tol = 1e-4\n}", &["`stop when rel_elbo < 1e-6 for 3`"], AtOnce),
    ("th[n, :k] ~ Dirichlet(1)\nbe[j, :k] ~ Dirichlet(1)\nc2[n, :j] ~ Multinomial(p = sum[k](th[n, k] * be[j, k]))", &["do not sum to 1 by their form"], AfterThought),
];

/// What stands before each program.
const HEAD: &str = "axis row[n]\naxis col[j]\naxis part[k] = 2\ndata x[n, j] : real\ndata y[n] : real\ndata c[n] : count\n\
    data b[n] : binary\ndata c2[n, j] : count, absent = 0\n";

#[test]
fn each_mistake_leads_to_its_repair() {
    let directory = scratch("mistakes");
    for (name, bytes) in FILES {
        fs::write(directory.join(name), bytes).expect("the file can be written");
    }
    let mut wrong = Vec::new();
    let mut look = |what: &str, arguments: &[&str], status: i32, words: &[&str]| {
        let output = cavi(&directory, arguments);
        let (found, said) = (output.status.code(), text(&output.stderr));
        if found != Some(status) {
            wrong.push(format!("{what}\nends with {found:?} in place of {status}\n{said}"));
        }
        for word in words.iter().filter(|word| !said.contains(**word)) {
            wrong.push(format!("{what}\nlacks {word}\n{said}"));
        }
    };
    for (line, status, words, _) in LINES {
        let arguments: Vec<&str> = line.split(' ').collect();
        let quiet = matches!(arguments[0], "fit").then_some(["--progress", "none"]).into_iter().flatten();
        look(line, &arguments.iter().copied().chain(quiet).collect::<Vec<&str>>(), *status, words);
    }
    for (program, words, _) in PROGRAMS {
        fs::write(directory.join("mistake.cavi"), format!("{HEAD}{program}\n"))
            .expect("the program can be written");
        look(program, &["check", "mistake.cavi"], 1, words);
    }
    assert!(wrong.is_empty(), "{} wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn few_mistakes_need_thought() {
    let ratings = || LINES.iter().map(|own| own.3).chain(PROGRAMS.iter().map(|own| own.2));
    assert!(ratings().count() >= 100);
    assert!(ratings().filter(|own| *own == AfterThought).count() <= THOUGHT);
}

/// What is said of a softmax, followed word by word, has the maximiser of the softmax: there the gradient of its log density is 0.
#[test]
fn a_poisson_for_each_class_is_a_softmax() {
    let directory = scratch("mistakes_softmax");
    let head = "axis item[n]\naxis class[k] = 3\ndata x[n] : real\na[k] ~ Normal(0, sd = 1)\nb[k] ~ Normal(0, sd = 2)\n";
    let softmax = "data y[n] : index class\ny[n] ~ Categorical(softmax(a[k] + b[k] * x[n]))\n";
    let poisson = "data c[n, k] : count\nu[n] ~ Flat(real)\nc[n, k] ~ Poisson(exp(u[n] + a[k] + b[k] * x[n]))\n\
                   posterior { point u }\nposterior { point a }\nposterior { point b }\n";
    let (x, class) = ([-1.0, 0.5, 1.5, 2.0, -0.5, 0.0], [0, 2, 1, 1, 0, 2]);
    let column: String = x.iter().map(|own| format!("{own}\n")).collect();
    let counts: String = class.iter().map(|own| ["1,0,0\n", "0,1,0\n", "0,0,1\n"][*own]).collect();
    for (name, content) in [
        ("softmax.cavi", format!("{head}{softmax}")),
        ("poisson.cavi", format!("{head}{poisson}")),
        ("x.csv", format!("x\n{column}")),
        ("c.csv", counts),
    ] {
        fs::write(directory.join(name), content).unwrap();
    }
    let said = text(&cavi(&directory, &["check", "softmax.cavi"]).stderr);
    for part in ["`u[n] ~ Flat(real)`", "`c[n, k] ~ Poisson(exp(u[n] + e))`", "`posterior { point u }`"] {
        assert!(said.contains(part), "{said}");
    }
    let line = "fit poisson.cavi --data x=x.csv --data c=c.csv --tol 1e-14 --sweeps 20000 --out o --quiet";
    let output = cavi(&directory, &line.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let point = |name: &str| {
        cavi_files::read_npy(&directory.join(format!("o/posterior/{name}.value.npy"))).unwrap().values
    };
    let (a, b) = (point("a"), point("b"));
    for k in 0..3 {
        let (mut of_a, mut of_b) = (-a[k], -b[k] / 4.0);
        for (x, class) in x.iter().zip(&class) {
            let weight = |k: usize| (a[k] + b[k] * x).exp();
            let residual = f64::from(u8::from(*class == k)) - weight(k) / (0..3).map(weight).sum::<f64>();
            of_a += residual;
            of_b += residual * x;
        }
        assert!(of_a.abs() < 1e-4 && of_b.abs() < 1e-4, "{k}: {of_a} {of_b}");
    }
}
