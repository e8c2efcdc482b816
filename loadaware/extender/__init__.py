"""The scheduler extender: kube-scheduler's webhook on one side, the adviser on the other."""
