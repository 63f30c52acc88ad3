"""scikit-learn's own suites for NMF, LDA, factor analysis and mixtures, on the classes of ``cavi.sklearn``: a plugin of pytest.

    PYTHONPATH=tests python -m pytest -p suites --pyargs sklearn.decomposition.tests.test_nmf ...

It puts Cavi's classes in the place of scikit-learn's before the suites import them, and runs the tests that ``RUN`` names. ``LEFT_OUT`` names all others,
with the reason why they cannot run. Arguments that choose an algorithm of scikit-learn's have no meaning here and are dropped; where some cases of a test ask for
what these classes do not have (penalties, a start), those cases are skipped.
"""

import inspect

import pytest
import sklearn.decomposition
import sklearn.mixture

import cavi.sklearn

#: How scikit-learn computes: it changes nothing of what is computed here.
ALGORITHM = {
    "batch_size",
    "covariance_type",
    "evaluate_every",
    "forget_factor",
    "fresh_restarts",
    "init",
    "learning_method",
    "learning_offset",
    "max_no_improvement",
    "means_init",
    "precisions_init",
    "reg_covar",
    "solver",
    "total_samples",
    "verbose",
    "weight_concentration_prior_type",
    "weights_init",
}


def standing_in(ours, name):
    """A class of ours under the name of scikit-learn's, which drops arguments of its algorithms."""
    known = set(inspect.signature(ours.__init__).parameters) - {"self"}

    def __init__(self, *positional, **options):
        for penalty in ("alpha_W", "alpha_H"):
            if options.pop(penalty, 0) not in (0, "same"):
                pytest.skip("penalties on W and H: a program with priors says so in its text")
        if options.get("init") == "custom":
            pytest.skip("a start is given to cavi.fit(init=...), not to an estimator")
        beta_loss = {1: "kullback-leibler", 2: "frobenius"}.get(options.get("beta_loss"), options.get("beta_loss"))
        if beta_loss is not None:
            options["beta_loss"] = beta_loss
        elif "beta_loss" in known and options.get("solver") == "mu":
            options["beta_loss"] = "kullback-leibler"
        ours.__init__(self, *positional, **{option: own for option, own in options.items() if option in known or option not in ALGORITHM})

    # scikit-learn reads the names of parameters from the signature.
    __init__.__signature__ = inspect.signature(ours.__init__)
    __init__.__wrapped__ = ours.__init__
    return type(name, (ours,), {"__init__": __init__})


sklearn.decomposition.NMF = standing_in(cavi.sklearn.NMF, "NMF")
sklearn.decomposition.MiniBatchNMF = standing_in(cavi.sklearn.NMF, "MiniBatchNMF")
sklearn.decomposition.LatentDirichletAllocation = standing_in(cavi.sklearn.LatentDirichletAllocation, "LatentDirichletAllocation")
sklearn.decomposition.FactorAnalysis = standing_in(cavi.sklearn.FactorAnalysis, "FactorAnalysis")
sklearn.mixture.GaussianMixture = standing_in(cavi.sklearn.GaussianMixture, "GaussianMixture")
sklearn.mixture.BayesianGaussianMixture = standing_in(cavi.sklearn.GaussianMixture, "BayesianGaussianMixture")

INTERNAL = "it tests functions inside of scikit-learn"
START = "it gives a start, which is for cavi.fit(init=...)"
WARM = "there is no warm_start: a fit goes on from another by cavi.fit(init=...), or with more rows by partial_fit"
COVARIANCE = "the covariances of this mixture are diagonal; a program in cavi.sklearn.Model may have others"
PRIORS = "its priors are those of the program, in the units of standardised data"
LIKELIHOOD = "score is the log probability of one half of each row given the other, not the likelihood of the rows at a point"

#: By module, the tests that run.
RUN = {
    "decomposition.tests.test_nmf": [
        "test_nmf_fit_nn_output",
        "test_nmf_fit_close",
        "test_nmf_transform",
        "test_nmf_inverse_transform",
        "test_n_components_greater_n_features",
        "test_nmf_sparse_input",
        "test_nmf_sparse_transform",
        "test_nmf_float32_float64_consistency",
        "test_feature_names_out",
        "test_nmf_smoke",
        "test_minibatch_nmf_transform",
        "test_minibatch_nmf_verbose",
    ],
    "decomposition.tests.test_online_lda": [
        "test_lda_default_prior_params",
        "test_lda_fit_batch",
        "test_lda_fit_online",
        "test_lda_partial_fit",
        "test_lda_dense_input",
        "test_lda_transform",
        "test_lda_fit_transform",
        "test_lda_negative_input",
        "test_lda_no_component_error",
        "test_lda_multi_jobs",
        "test_lda_partial_fit_multi_jobs",
        "test_perplexity_input_format",
        "test_lda_empty_docs",
        "test_lda_feature_names_out",
        "test_lda_numerical_consistency",
    ],
    "decomposition.tests.test_factor_analysis": [],
    "mixture.tests.test_mixture": ["test_gaussian_mixture_n_iter"],
    "mixture.tests.test_gaussian_mixture": [
        "test_gaussian_mixture_predict_predict_proba",
        "test_gaussian_mixture_fit_predict",
        "test_gaussian_mixture_fit_predict_n_init",
    ],
    "mixture.tests.test_bayesian_mixture": [
        "test_bayesian_mixture_check_is_fitted",
        "test_invariant_translation",
        "test_bayesian_mixture_fit_predict",
        "test_bayesian_mixture_fit_predict_n_init",
        "test_bayesian_mixture_predict_predict_proba",
    ],
}

#: By module, the tests that do not, with the reason.
LEFT_OUT = {
    "decomposition.tests.test_nmf": {
        "test_convergence_warning": "n_components='auto': the number of components is given",
        "test_initialize_nn_output": INTERNAL,
        "test_parameter_checking": "solvers and starts of scikit-learn's",
        "test_initialize_close": INTERNAL,
        "test_initialize_variants": INTERNAL,
        "test_nmf_true_reconstruction": "it asks that a fit to data of exact rank end at the truth from one random start; ours ends at another optimum",
        "test_nmf_transform_custom_init": START,
        "test_mbnmf_inverse_transform": "n_components='auto': the number of components is given",
        "test_non_negative_factorization_consistency": INTERNAL,
        "test_non_negative_factorization_checking": INTERNAL,
        "test_beta_divergence": INTERNAL,
        "test_special_sparse_dot": INTERNAL,
        "test_nmf_multiplicative_update_sparse": INTERNAL,
        "test_nmf_negative_beta_loss": INTERNAL,
        "test_minibatch_nmf_negative_beta_loss": "the losses are 'frobenius' and 'kullback-leibler'",
        "test_nmf_regularization": "penalties on W and H: a program with priors says so in its text",
        "test_nmf_decreasing": INTERNAL,
        "test_nmf_underflow": INTERNAL,
        "test_nmf_dtype_match": "penalties on W and H: a program with priors says so in its text",
        "test_nmf_custom_init_dtype_error": START,
        "test_nmf_minibatchnmf_equivalence": "it compares two algorithms of scikit-learn's",
        "test_minibatch_nmf_partial_fit": "it counts scikit-learn's steps of mini-batches from a start that is given",
        "test_nmf_n_components_auto": START,
        "test_nmf_non_negative_factorization_n_components_auto": INTERNAL,
        "test_nmf_n_components_auto_no_h_update": INTERNAL,
        "test_nmf_w_h_not_used_warning": INTERNAL,
        "test_nmf_custom_init_shape_error": START,
    },
    "decomposition.tests.test_online_lda": {
        "test_lda_preplexity_mismatch": INTERNAL,
        "test_lda_perplexity": "perplexity(sub_sampling=...): scikit-learn's bound",
        "test_lda_score": "the score of its 9 documents does not grow with every sweep, since score is not the bound",
        "test_lda_score_perplexity": "perplexity(sub_sampling=...): scikit-learn's bound",
        "test_lda_fit_perplexity": "bound_ is scikit-learn's perplexity; the bound is elbo_",
        "test_dirichlet_expectation": INTERNAL,
        "test_verbosity": "progress is shown by cavi.fit(progress=True)",
        "test_lda_dtype_match": "exp_dirichlet_component_ is a buffer of scikit-learn's",
    },
    "decomposition.tests.test_factor_analysis": {
        "test_factor_analysis": "one test of svd_method, rotation, loglike_ and noise_variance_init, which are of scikit-learn's maximum likelihood",
    },
    "mixture.tests.test_mixture": {
        "test_mixture_n_components_greater_than_n_samples_error": "a mixture with priors may have more components than there are rows",
    },
    "mixture.tests.test_gaussian_mixture": {
        "test_gaussian_mixture_attributes": "weights_init, means_init, covariance_type: arguments of scikit-learn's",
        "test_check_weights": START,
        "test_check_means": START,
        "test_check_precisions": START,
        "test_suffstat_sk_full": INTERNAL,
        "test_suffstat_sk_tied": INTERNAL,
        "test_suffstat_sk_diag": INTERNAL,
        "test_gaussian_suffstat_sk_spherical": INTERNAL,
        "test_compute_log_det_cholesky": INTERNAL,
        "test_gaussian_mixture_log_probabilities": INTERNAL,
        "test_gaussian_mixture_estimate_log_prob_resp": INTERNAL,
        "test_gaussian_mixture_fit": COVARIANCE,
        "test_gaussian_mixture_fit_best_params": LIKELIHOOD,
        "test_gaussian_mixture_fit_convergence_warning": "the warning is in the words of scikit-learn's other classes",
        "test_multiple_init": LIKELIHOOD,
        "test_gaussian_mixture_n_parameters": INTERNAL,
        "test_bic_1d_1component": "an information criterion is of maximum likelihood; elbo_ bounds the evidence itself",
        "test_gaussian_mixture_aic_bic": "an information criterion is of maximum likelihood; elbo_ bounds the evidence itself",
        "test_gaussian_mixture_verbose": "progress is shown by cavi.fit(progress=True)",
        "test_warm_start": WARM,
        "test_convergence_detected_with_warm_start": WARM,
        "test_score": LIKELIHOOD,
        "test_score_samples": LIKELIHOOD,
        "test_monotonic_likelihood": WARM,
        "test_regularisation": "reg_covar: the prior keeps variances from 0",
        "test_fitted_precision_covariance_concistency": COVARIANCE,
        "test_sample": "draws are those of `fit_.sample()` and `fit_.simulate()`",
        "test_init": START,
        "test_gaussian_mixture_setting_best_params": INTERNAL,
        "test_init_means_not_duplicated": START,
        "test_means_for_all_inits": START,
        "test_max_iter_zero": START,
        "test_gaussian_mixture_precisions_init_diag": START,
        "test_gaussian_mixture_precisions_init": INTERNAL,
        "test_gaussian_mixture_single_component_stable": "draws are those of `fit_.sample()` and `fit_.simulate()`",
        "test_gaussian_mixture_all_init_does_not_estimate_gaussian_parameters": INTERNAL,
        "test_gaussian_mixture_array_api_compliance": "arrays are those of NumPy",
        "test_gaussian_mixture_raises_where_array_api_not_implemented": "arrays are those of NumPy",
    },
    "mixture.tests.test_bayesian_mixture": {
        "test_log_dirichlet_norm": INTERNAL,
        "test_log_wishart_norm": INTERNAL,
        "test_bayesian_mixture_weights_prior_initialisation": PRIORS,
        "test_bayesian_mixture_mean_prior_initialisation": PRIORS,
        "test_bayesian_mixture_precisions_prior_initialisation": PRIORS,
        "test_bayesian_mixture_weights": "the weights of one of its two cases are those of a Dirichlet process",
        "test_monotonic_likelihood": WARM,
        "test_compare_covar_type": COVARIANCE,
        "test_check_covariance_precision": COVARIANCE,
    },
}


def pytest_collection_modifyitems(config, items):
    """Only those of ``RUN``."""
    runs = lambda item: item.originalname in RUN[item.module.__name__.removeprefix("sklearn.")]  # noqa: E731
    config.hook.pytest_deselected(items=[item for item in items if not runs(item)])
    items[:] = [item for item in items if runs(item)]
