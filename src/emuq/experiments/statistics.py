"""Numbers with their 95% intervals, from SciPy where it has them.

Runs that never reach the goal are censored at the cap, not absent: times to goal are summarised by
Kaplan-Meier and the restricted mean. Every bootstrap takes its generator's seed from the caller's data
size alone, so that a report made twice is the same report.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

RESAMPLES = 4000
LEVEL = 0.95
FEW = 10  # runs below which a bootstrapped mean is too sure of itself: Student's t instead
# Runs below which nothing is decided, and no bootstrap but a mean's is made. Of n runs of a method that is no
# better than another all n favour it with probability 2^-n: 3.1% for 5, 1.6% for 6, and a 95% interval leaves
# 2.5% on either side.
FEWEST = 6


class Estimate(NamedTuple):
    """A number, its interval, and the runs (seeds) they rest on; None where the data do not allow one."""

    value: float | None
    interval: tuple[float, float] | None
    runs: int = 0


def wilson(successes: int, runs: int) -> Estimate:
    """k/n with the Wilson score interval."""
    from scipy.stats import binomtest

    if runs == 0:
        return Estimate(None, None)
    low, high = binomtest(successes, runs).proportion_ci(LEVEL, method="wilson")
    return Estimate(successes / runs, (float(low), float(high)), runs)


def mean(values: ArrayLike) -> Estimate:
    """The mean with a bootstrap interval, or Student's t interval where runs are few."""
    values = np.asarray(values, float)
    if not 2 <= len(values) < FEW:
        return bootstrap(values, np.mean)
    from scipy.stats import t

    centre = float(values.mean())
    half = float(t.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(centre, (centre - half, centre + half), len(values))


def paired_difference(first: ArrayLike, second: ArrayLike) -> Estimate:
    """mean(first - second) over the same seeds, seeds resampled together."""
    return mean(np.asarray(first, float) - np.asarray(second, float))


def bootstrap(values: ArrayLike, statistic: Callable) -> Estimate:
    """The percentile bootstrap of `statistic(values, axis=-1)` over runs."""
    values = np.asarray(values, float)
    if len(values) < FEWEST:
        return Estimate(float(statistic(values)) if len(values) else None, None, len(values))
    return Estimate(float(statistic(values)), _percentiles(_draws([values], statistic)), len(values))


def bootstrap_runs(statistic: Callable[[np.ndarray], float], runs: int, resamples: int = 1000) -> Estimate:
    """Any statistic of the indices of runs, for fits and ratios; draws where it is NaN are left out."""
    indices = np.arange(runs)
    if runs < FEWEST:
        return Estimate(float(statistic(indices)) if runs else None, None, runs)
    draws = _draws([indices], statistic, resamples, vectorized=False)
    draws = draws[np.isfinite(draws)]
    return Estimate(float(statistic(indices)), _percentiles(draws) if len(draws) else None, runs)


def band(curves: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean of runs x points with a pointwise bootstrap interval: (mean, low, high)."""
    curves = np.asarray(curves, float)
    runs = len(curves)
    if runs < 2:
        only = curves.mean(0)
        return only, only, only
    # Counts of how often each run is drawn make the resampled means one matrix product: SciPy's bootstrap
    # would copy every curve for each draw.
    counts = np.random.default_rng(runs).multinomial(runs, np.full(runs, 1 / runs), size=1000) / runs
    low, high = np.quantile(counts @ curves, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return curves.mean(0), low, high


class Survival(NamedTuple):
    """P(no goal by `times`): a step function that starts at 1."""

    times: np.ndarray
    probability: np.ndarray


def kaplan_meier(times: Sequence[float | None], cap: float) -> Survival:
    """Time to goal where None means no goal by the cap (censored there)."""
    from scipy.stats import CensoredData, ecdf

    reached = [time for time in times if time is not None]
    censored = [cap] * (len(times) - len(reached))
    if not times:
        return Survival(np.array([0.0]), np.array([1.0]))
    function = ecdf(CensoredData(uncensored=reached, right=censored)).sf
    return Survival(np.r_[0.0, function.quantiles], np.r_[1.0, function.probabilities])


def restricted_mean(times: Sequence[float | None], cap: float) -> Estimate:
    """E[min(T, cap)], the area under the Kaplan-Meier curve up to the cap, with a bootstrap interval.

    Censoring happens at the cap only, where the area equals the mean of min(T, cap).
    """
    if not times:
        return Estimate(None, None)
    curve = kaplan_meier(times, cap)
    edges = np.r_[np.minimum(curve.times, cap), cap]
    area = float(np.sum(np.diff(edges) * curve.probability))
    clipped = [cap if time is None else min(time, cap) for time in times]
    return Estimate(area, mean(clipped).interval, len(times))


def interquartile_mean(scores: Sequence[ArrayLike]) -> Estimate:
    """The mean of the middle half of all runs, resampled within each stratum (domain)."""
    from scipy.stats import trim_mean

    strata = [np.asarray(stratum, float) for stratum in scores if len(np.asarray(stratum))]
    if not strata:
        return Estimate(None, None)
    value, runs = float(trim_mean(np.concatenate(strata), 0.25)), min(len(stratum) for stratum in strata)
    if runs < FEWEST:
        return Estimate(value, None, runs)

    def middle(*drawn: np.ndarray, axis: int) -> np.ndarray:
        return trim_mean(np.concatenate(drawn, axis=axis), 0.25, axis=axis)

    return Estimate(value, _percentiles(_draws(strata, middle)), runs)


class Fit(NamedTuple):
    """y = a + b x, exp(a + b x) or exp(a) x^b, fitted to means; r2 is the share of variance explained."""

    intercept: float
    slope: float
    r2: float


def linear_fit(x: ArrayLike, y: ArrayLike) -> Fit:
    """Least squares y = a + b x."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    slope, intercept = np.polyfit(x, y, 1)
    return Fit(float(intercept), float(slope), _r2(y, intercept + slope * x))


def exponential_fit(x: ArrayLike, y: ArrayLike) -> Fit:
    """Least squares y = exp(a + b x), in y itself, so that its r2 compares with the linear fit's."""
    from scipy.optimize import least_squares

    x, y = np.asarray(x, float), np.asarray(y, float)
    start = np.polyfit(x, np.log(np.maximum(y, 1e-9)), 1)[::-1]
    a, b = least_squares(lambda w: (np.exp(w[0] + w[1] * x) - y) / y.max(), start, max_nfev=200).x
    return Fit(float(a), float(b), _r2(y, np.exp(a + b * x)))


def power_fit(x: ArrayLike, y: ArrayLike) -> Fit:
    """Least squares y = exp(a) x^b, in y itself."""
    return exponential_fit(np.log(np.asarray(x, float)), y)


def _r2(y: np.ndarray, fitted: np.ndarray) -> float:
    spread = np.sum((y - y.mean()) ** 2)
    return float(1 - np.sum((y - fitted) ** 2) / spread) if spread else 1.0


def _draws(
    samples: Sequence[np.ndarray], statistic: Callable, resamples: int = RESAMPLES, *, vectorized: bool = True
) -> np.ndarray:
    """The statistic of samples drawn anew, each from itself, as many times as `resamples` says."""
    from scipy.stats import DegenerateDataWarning
    from scipy.stats import bootstrap as resample

    options = {"n_resamples": resamples, "vectorized": vectorized, "method": "percentile"}
    generator = np.random.default_rng(sum(len(sample) for sample in samples))
    # The interval is taken by the caller: SciPy has none, but a warning, where a single draw is NaN.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return resample(samples, statistic, rng=generator, **options).bootstrap_distribution


def _percentiles(draws: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
