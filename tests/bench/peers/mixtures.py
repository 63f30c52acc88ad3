"""Gaussian mixtures with full covariances, one thread: seconds a sweep with the bound and memory, against BayesPy and scikit-learn.

100,000 x 10 with 20 clusters takes BayesPy more than 3 GB, which is the largest size that a common machine bears. scikit-learn's BayesianGaussianMixture has the same
q (Normal-Wishart, Dirichlet) and the same steps; its seconds a sweep are those between two fits of different length.
"""

from bench import bayespy_sweep, median, ratio, serve, short

K = 20


def work(bench):
    samples = 5_000 if bench.quick else 100_000
    directory = bench.path("data", "clusters")
    bench.child("data.py", "clusters", directory=directory, samples=samples, features=10, k=K, seed=41)
    name = f"GMM {samples:,} x 10, K = {K}, full covariances"
    x = directory / "x.npy"
    own, scikit, bayes = [], [], []
    for turn in bench.turns(3):
        own.append(bench.cavi("gmm_full", bench.path("fit", "gmm"), ["--tol", 0, "--sweeps", 20, "--seed", turn], data=[("x", x)]))
        if bench.has("scikit-learn"):
            scikit.append(bench.child("mixtures.py", "scikit_learn", file=x, seed=turn, sweeps=10))
        if bench.has("bayespy"):
            bayes.append(bench.child("mixtures.py", "bayespy", file=x, sweeps=3))
    bench.row(name, "Cavi, with the bound", median(r.sweep for r in own), None, median(r.peak for r in own), median(r.elbo for r in own))
    if bayes:
        faster = ratio([r.sweep for r in bayes], [r.sweep for r in own])
        smaller = median(r.peak for r in bayes) / median(r.peak for r in own)
        bench.row(name, "BayesPy, with the bound", median(r.sweep for r in bayes), None, median(r.peak for r in bayes), None, None, faster)
        bench.goal(name, "50x faster a sweep than BayesPy", f"{short(faster)}x", faster >= 50)
        bench.goal(name, "1/20 of BayesPy's memory", f"1/{short(smaller)}", smaller >= 20)
    else:
        bench.absent(name, "BayesPy")
    if scikit:
        faster = ratio([r.sweep for r in scikit], [r.sweep for r in own])
        bench.row(name, "scikit-learn, BayesianGaussianMixture", median(r.sweep for r in scikit), None, median(r.peak for r in scikit), None, None, faster)
        bench.goal(name, "no slower a sweep than scikit-learn", f"{short(faster)}x", faster >= 1)
    else:
        bench.absent(name, "scikit-learn")


# What runs in processes of its own.


def scikit_learn(file, seed, sweeps):
    import numpy as np
    from sklearn.mixture import BayesianGaussianMixture

    x = np.load(file)
    seconds = []
    for n in (1, 1 + sweeps):
        model = BayesianGaussianMixture(
            n_components=K, covariance_type="full", weight_concentration_prior_type="dirichlet_distribution", max_iter=n, tol=0, init_params="random_from_data", random_state=seed
        )
        begin = clock()
        model.fit(x)
        seconds.append(clock() - begin)
    return dict(sweep=(seconds[1] - seconds[0]) / sweeps)


def bayespy(file, sweeps):
    import numpy as np
    from bayespy.inference import VB
    from bayespy.nodes import Categorical, Dirichlet, Gaussian, Mixture, Wishart

    x = np.load(file)
    samples, features = x.shape
    share = Dirichlet(np.full(K, 0.05))
    z = Categorical(share, plates=(samples,))
    mu = Gaussian(np.zeros(features), 1e-2 * np.identity(features), plates=(K,))
    precision = Wishart(features, 10 * np.identity(features), plates=(K,))
    y = Mixture(z, Gaussian, mu, precision)
    z.initialize_from_random()
    y.observe(x)
    q = VB(y, mu, precision, z, share)
    return dict(sweep=bayespy_sweep(q, sweeps, clock))


if __name__ == "__main__":
    serve(globals())
