"""Checks the differences of `compare --json` with SciPy on random data: check_statistics.py BIN.

Each case makes runs that exist only as settings.conf and log.csv. Expected are Student's t with a
standard deviation pooled over all groups, which for two groups is scipy.stats.ttest_ind, and
Holm's correction as the step-down procedure that rejects hypotheses one after the other."""

import json
import os
import subprocess
import sys

import numpy
from scipy import stats

HEADER = "step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second\n"


def write_run(name, kind, seed, loss):
    os.makedirs(name)
    with open(f"{name}/settings.conf", "w") as settings:
        settings.write(f"attn = {kind}\ncorpus = a.txt\nseed = {seed}\n")
    with open(f"{name}/log.csv", "w") as log:
        log.write(HEADER + f"10,1,1000,1,0.01,4,{loss!r},1,1000\n")


def compare(program, case, groups):
    """The differences that compare finds between groups of losses."""
    names = []
    for kind, losses in enumerate(groups):
        for seed, loss in enumerate(losses):
            names.append(f"{case}/kind{kind}-{seed}")
            write_run(names[-1], f"kind{kind}", seed, float(loss))
    printed = subprocess.run([program, "--json", *names], check=True, capture_output=True)
    return json.loads(printed.stdout)["differences"]


def pooled(groups):
    """Standard deviation, degrees of freedom, and p of each group against the first."""
    freedom = sum(len(group) - 1 for group in groups)
    deviation = (sum(numpy.var(group) * len(group) for group in groups) / freedom) ** 0.5
    p = []
    for group in groups[1:]:
        error = deviation * (1 / len(group) + 1 / len(groups[0])) ** 0.5
        p.append(2 * stats.t.sf(abs(group.mean() - groups[0].mean()) / error, freedom))
    return deviation, freedom, p


def rejected_at(p, level):
    """Which hypotheses Holm's step-down procedure rejects at a level."""
    rejected = [False] * len(p)
    for step, i in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        if p[i] * (len(p) - step) > level:
            break
        rejected[i] = True
    return rejected


def check(program, case, random):
    groups = [4 + 0.02 * random.standard_normal() + 0.01 * random.standard_normal(size)
              for size in random.integers(2, 6, random.integers(2, 9))]
    found = compare(program, case, groups)
    deviation, freedom, p = pooled(groups)
    if len(groups) == 2:
        assert numpy.isclose(stats.ttest_ind(*groups, equal_var=True).pvalue, p[0], rtol=1e-9)
    assert len(found) == len(p)
    holm = [of["p_holm"] for of in found]
    for i, of in enumerate(found):
        difference = groups[i + 1].mean() - groups[0].mean()
        error = deviation * (1 / len(groups[i + 1]) + 1 / len(groups[0])) ** 0.5
        interval = stats.t.interval(0.95, freedom, difference, error)
        expected = [difference, *interval, deviation, freedom, p[i]]
        keys = ["difference", "low", "high", "pooled_standard_deviation", "degrees_of_freedom", "p"]
        numpy.testing.assert_allclose([of[key] for key in keys], expected, rtol=1e-5, atol=1e-8)
        words = "not told apart", "better" if difference < 0 else "worse"
        assert of["verdict"] == words[of["p_holm"] < 0.05]
    for level in [*(0.999 * value for value in holm), *(1.001 * value for value in holm)]:
        if level < 1:
            assert rejected_at(p, level) == [value <= level for value in holm]


generator = numpy.random.default_rng(1)
CASES = 40
for number in range(CASES):
    check(f"{sys.argv[1]}/compare", f"statistics/{number}", generator)
print(f"Statistics of {CASES} random comparisons agree with SciPy.")
