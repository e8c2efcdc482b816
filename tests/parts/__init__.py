"""Real programs for tests: built from pinned sources, run on loopback, stopped by their own pid."""
