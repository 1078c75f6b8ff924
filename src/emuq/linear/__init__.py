"""Bayesian linear regression on Fourier features."""
