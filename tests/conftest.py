"""How hard Hypothesis looks: HYPOTHESIS_PROFILE=thorough looks much harder than the default."""

import os

from hypothesis import HealthCheck, settings

# No deadline and no complaint about slowness: the suite shares a small machine with itself.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("default", _PATIENT, max_examples=60, derandomize="CI" in os.environ)
settings.register_profile("thorough", _PATIENT, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
