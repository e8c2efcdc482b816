"""A cluster that does not exist: machines, workloads and what they use, under a clock that the caller holds.

The demo lives in it, and placements are judged in it. Everything is drawn from a seed, and time is the simulated one.
What is simulated is the world that the core would see; only policies import the core, and only traces, comparison and
run_store reach outside: files and processes.
"""
