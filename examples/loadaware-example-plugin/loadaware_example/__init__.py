"""A scorer and a filter for loadaware, as another distribution would offer them."""

from loadaware_example.coolest_node import CoolestNode
from loadaware_example.not_under_maintenance import NotUnderMaintenance

__all__ = ["CoolestNode", "NotUnderMaintenance"]
