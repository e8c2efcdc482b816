"""End-to-end tests: loadaware beside a real control plane."""
