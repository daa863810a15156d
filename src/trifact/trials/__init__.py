"""Many experiments: a search over a space of settings, on one machine or many."""
