"""Statistics on cases whose answers are known."""

import numpy as np
import pytest

from emuq.experiments import statistics


def test_wilson_is_the_textbook_interval():
    # n = 10, k = 9: (p + z^2/2n +- z sqrt(p q / n + z^2 / 4 n^2)) / (1 + z^2 / n)
    value, interval, _ = statistics.wilson(9, 10)
    assert value == 0.9
    assert interval == pytest.approx((0.59585, 0.98212), abs=1e-5)
    assert statistics.wilson(20, 20).interval == pytest.approx((0.83887, 1.0), abs=1e-5)
    assert statistics.wilson(0, 0) == (None, None, 0)


def test_kaplan_meier_steps_at_the_events_and_the_area_is_the_restricted_mean():
    times = [1.0, 2.0, 2.0, None]
    curve = statistics.kaplan_meier(times, cap=10)
    at = dict(zip(curve.times, curve.probability, strict=True))
    assert (at[0.0], at[1.0], at[2.0]) == (1.0, 0.75, 0.25)
    assert statistics.restricted_mean(times, cap=10).value == pytest.approx((1 + 2 + 2 + 10) / 4)
    assert statistics.restricted_mean([None, None], cap=100) == (100.0, (100.0, 100.0), 2)
    assert statistics.restricted_mean([], cap=100) == (None, None, 0)


def test_bootstrap_of_a_mean_agrees_with_the_normal_theory():
    values = np.random.default_rng(0).normal(3.0, 2.0, 400)
    value, interval, _ = statistics.mean(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert value == pytest.approx(values.mean())
    assert interval == pytest.approx((value - half, value + half), abs=0.03)
    assert statistics.mean(values) == (value, interval, 400)


def test_pairing_removes_the_spread_that_both_methods_share():
    noise = np.random.default_rng(1).normal(0, 100, 50)
    value, interval, _ = statistics.paired_difference(noise + 1.0, noise)
    assert value == pytest.approx(1.0)
    assert interval == pytest.approx((1.0, 1.0))


def test_interquartile_mean_drops_the_outer_quarters_and_resamples_within_strata():
    assert statistics.interquartile_mean([[0, 1, 2, 1000]]).value == 1.5
    value, interval, _ = statistics.interquartile_mean([[0.0] * 6, [1.0] * 6])
    assert value == 0.5
    assert interval == (0.5, 0.5)  # strata keep their sizes, so that the draw is always the same
    assert statistics.interquartile_mean([]) == (None, None, 0)


def test_few_runs_get_the_t_interval_of_a_mean_and_no_other():
    value, interval, _ = statistics.mean([1.0, 2.0, 3.0])
    assert value == 2.0
    assert interval == pytest.approx((2 - 4.30265 / 3**0.5, 2 + 4.30265 / 3**0.5), abs=1e-5)
    assert statistics.bootstrap([1.0, 2.0, 3.0], np.median) == (2.0, None, 3)
    assert statistics.bootstrap_runs(lambda i: float(i.mean()), 3) == (1.0, None, 3)


def test_one_run_has_no_interval_and_none_has_no_value():
    assert statistics.mean([2.0]) == (2.0, None, 1)
    assert statistics.bootstrap([], np.mean) == (None, None, 0)


def test_fits_tell_a_line_from_an_exponential():
    x = np.arange(5.0, 51.0, 5)
    line, curve = 3 + 2 * x, np.exp(1 + 0.2 * x)
    assert statistics.linear_fit(x, line) == pytest.approx((3, 2, 1))
    assert statistics.exponential_fit(x, curve) == pytest.approx((1, 0.2, 1))
    assert statistics.power_fit(x, 3 * x**2) == pytest.approx((np.log(3), 2, 1))
    assert statistics.exponential_fit(x, line).r2 < 0.97
    assert statistics.linear_fit(x, curve).r2 < 0.7


def test_the_band_holds_the_mean_and_narrows_with_runs():
    curves = np.random.default_rng(2).normal(size=(200, 3))
    mean, low, high = statistics.band(curves)
    assert np.allclose(mean, curves.mean(0))
    assert np.all((low < mean) & (mean < high))
    few = statistics.band(curves[:10])
    assert np.all(few[2] - few[1] > high - low)


def test_any_statistic_of_runs_can_be_resampled():
    values = np.arange(20.0)
    value, interval, _ = statistics.bootstrap_runs(lambda i: float(values[i].mean()), 20)
    assert value == 9.5
    assert interval is not None
    assert interval[0] < 9.5 < interval[1]


def test_draws_without_a_number_are_left_out():
    values = np.arange(20.0)

    def mean_of_even_starts(i: np.ndarray) -> float:
        return float(values[i].mean()) if i[0] % 2 == 0 else float("nan")

    interval = statistics.bootstrap_runs(mean_of_even_starts, 20).interval
    assert interval is not None
    assert interval[0] < 9.5 < interval[1]
    assert statistics.bootstrap_runs(lambda i: float("nan"), 20).interval is None
