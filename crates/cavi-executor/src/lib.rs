//! In what order, with which kernels, in which memory; and what is the posterior, given these data?
