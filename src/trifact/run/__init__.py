"""One experiment, durable: training, its folder on disk, and what it reports."""
