"""How all tests are run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A deadline for an example is a timed assertion, which a busy machine breaks.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
