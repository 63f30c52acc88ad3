"""Programs that several files of tests fit."""

#: Counts of users by items.
RATINGS = """
axis user[u]
axis item[i]
axis part[k] = 2
data y[u, i] : count, absent = 0
w[u, k] ~ Gamma(1, rate = 1)
h[i, k] ~ Gamma(1, rate = 1)
y[u, i] ~ Poisson(sum[k](w[u, k] * h[i, k]))
"""
#: Persons, whose school may be missing.
SCHOOL = """
axis person[n]
axis school[s]
data y[n] : real
data at[n] : index school, absent = NA
m[s] ~ Normal(0, sd = 10)
pi[:s] ~ Dirichlet(1)
at[n] ~ Categorical(pi)
y[n] ~ Normal(m[at[n]], sd = 1)
"""
