//! Covariances of Gaussian processes against scikit-learn's (`kernels.py` prints the tables).

use cavi::bind::{ArrayInput, Inputs, Source, bind};
use cavi_executor::BoundArray;

/// The kernel, and the lower triangle of the covariance, row by row.
type Table = &'static [(&'static str, &'static [f64])];

const LINE: Table = &[
    (
        "squared_exponential(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.2687325072974082,
            0.37,
            0.2375662642680525,
            0.35612823713510644,
            0.37,
            0.0547086037306287,
            0.1801991285160866,
            0.21193078611854277,
            0.37,
            5.465854827634916e-07,
            2.1370797779784827e-05,
            4.044735204521858e-05,
            0.0019204125209233702,
            0.37,
        ],
    ),
    (
        "matern32(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.22253927748782998,
            0.37,
            0.19140074046118258,
            0.3501276564670587,
            0.37,
            0.054427416449492096,
            0.14252253083695815,
            0.16844978478523828,
            0.37,
            0.0004581146696214408,
            0.0014937176633325162,
            0.001870231768247816,
            0.008758629121866191,
            0.37,
        ],
    ),
    (
        "matern52(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.23992363137205516,
            0.37,
            0.2073579619269386,
            0.35365967491457945,
            0.37,
            0.054505679757475584,
            0.1539641052427087,
            0.18258432521509696,
            0.37,
            0.00019365521028533522,
            0.0008100605338974763,
            0.0010616400358410476,
            0.006668943486996751,
            0.37,
        ],
    ),
    (
        "exponential(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.1675694930486622,
            0.37,
            0.1446532248841174,
            0.3107675508880344,
            0.37,
            0.05167259485829574,
            0.1110114604427693,
            0.12859812951898414,
            0.37,
            0.002033245821980761,
            0.004368148895100556,
            0.005060160231473988,
            0.014165506840141985,
            0.37,
        ],
    ),
    (
        "periodic(period = 3.1, length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.18820676804630918,
            0.37,
            0.1801991285160866,
            0.3446830681977876,
            0.37,
            0.3500450119318229,
            0.20608359597164247,
            0.18532384137622282,
            0.37,
            0.3058564272119116,
            0.18820676804630923,
            0.2120984896643844,
            0.2684005421558866,
            0.37,
        ],
    ),
    (
        "squared_exponential(length = 4) * periodic(period = 3.1) + matern32(length = 0.5, sd = 2) * white(sd = 0.3)",
        &[
            1.3599999999999999,
            0.1455611339304405,
            1.3599999999999999,
            0.12554661878045714,
            0.8801996617829758,
            1.3599999999999999,
            0.6561573287509247,
            0.17602909545044584,
            0.13336561509689487,
            1.3599999999999999,
            0.055518666043123235,
            0.026458994648928452,
            0.041938872591681386,
            0.1663128339140583,
            1.3599999999999999,
        ],
    ),
];

const PLANE: Table = &[
    (
        "squared_exponential(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.17257120153033348,
            0.37,
            0.165552343949706,
            0.1820794502754928,
            0.37,
            0.05140509280916667,
            0.0023840554147805193,
            0.004047966912222799,
            0.37,
        ],
    ),
    (
        "matern32(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.13662248417620287,
            0.37,
            0.13129148303775467,
            0.14399488929171236,
            0.37,
            0.0521593310642371,
            0.009671306461390708,
            0.012425454011785053,
            0.37,
        ],
    ),
    (
        "matern52(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.14737404499533222,
            0.37,
            0.14139895480378922,
            0.1556046579487968,
            0.37,
            0.051979460381490705,
            0.007492962735103582,
            0.010049082804756748,
            0.37,
        ],
    ),
    (
        "exponential(length = 1.7, sd = 0.6) + white(sd = 0.1)",
        &[
            0.37,
            0.1070639057595697,
            0.37,
            0.10350871274247918,
            0.11199904129304236,
            0.37,
            0.0500540226336723,
            0.01515544733285146,
            0.01799589470785411,
            0.37,
        ],
    ),
];

fn check(table: Table, places: &str, declared: &str, at: &str) {
    let points = places.lines().count();
    for (kernel, expected) in table {
        let program = format!(
            "axis site[i]\naxis coordinate[c]\n{declared}\nf[:i] ~ GaussianProcess({kernel}, at = {at})\n\
             y[i] ~ Normal(f[i], sd = 1)\ndata y[i] : real\nposterior {{\n  point f\n}}\n"
        );
        let compiled = cavi::compile(&program, "kernels.cavi").into_compiled();
        let model = compiled.unwrap_or_else(|error| panic!("{error}")).model;
        let source =
            |bytes: &str| Source::Bytes { name: "x.csv".into(), bytes: bytes.as_bytes().to_vec().into() };
        let of =
            |name: &str, text: &str| ArrayInput { name: name.to_owned(), group: None, source: source(text) };
        let data = vec![of("t", places), of("y", &"1\n".repeat(points))];
        let binding = bind(&model, &Inputs { data, ..Inputs::default() }).expect("it binds");
        assert!(binding.jitters.is_empty(), "{kernel}");
        let whitening = model.symbols.find("C_f'^-1").expect("the process has a whitening matrix");
        let BoundArray::Dense { values, .. } = binding.bound.array(whitening) else { panic!("dense") };
        // Column by column `W L = I`, then `K = L L'`.
        let mut factor = vec![vec![0.0; points]; points];
        for (column, own) in factor.iter_mut().enumerate() {
            own[column] = 1.0;
            cavi_numerics::linalg::solve_lower(points, values, own);
        }
        let pairs = (0..points).flat_map(|i| (0..=i).map(move |l| (i, l)));
        for ((i, l), expected) in pairs.zip(*expected) {
            let found: f64 = factor.iter().map(|column| column[i] * column[l]).sum();
            assert!((found - expected).abs() < 1e-12, "{kernel} at {i}, {l}: {found}, not {expected}");
        }
    }
}

#[test]
fn along_a_line() {
    check(LINE, "-1.3\n0\n0.25\n2\n7.5\n", "data t[i] : real", "t[i]");
}

#[test]
fn in_the_plane() {
    check(PLANE, "0,1\n0.5,-1\n2,0.3\n-1.5,4\n", "data t[i, c] : real", "t[i, :c]");
}
