"""What all tests share: how long hypothesis searches."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "everyday", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", settings.get_profile("everyday"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "everyday")
