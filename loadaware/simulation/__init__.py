"""A cluster that does not exist: machines, workloads and what they use, under a clock that the caller holds.

The demo lives in it, and placements are judged in it. Everything is drawn from a seed; nothing here reads a clock,
sleeps or does I/O, and nothing imports the core: what is simulated is the world that the core would see.
"""
