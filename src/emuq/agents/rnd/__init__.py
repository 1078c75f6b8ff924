"""RND: exploration by the error of a random network's prediction (a baseline)."""
