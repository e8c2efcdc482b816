"""What does each node use now? Readers of metric sources and of the API server: I/O only, no scheduling."""
