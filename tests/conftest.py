"""What all tests share: how long hypothesis searches, and that Ctrl-C is heard."""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "everyday", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("ci", settings.get_profile("everyday"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "everyday")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what it puts into the background deaf to Ctrl-C, and programs under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
