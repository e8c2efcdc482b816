"""Which node suits this pod? Real load for a stock kube-scheduler."""

from importlib.metadata import version

__version__ = version("loadaware")
