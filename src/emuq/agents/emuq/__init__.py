"""EMU-Q: Q and U learned apart, actions by Q + kappa U."""
