"""Algorithm 1 with tables: exploration values, additive rewards, epsilon-greedy."""
