"""See it work without a cluster: a simulated one, the real extender, and kube-scheduler's own placement beside it."""
