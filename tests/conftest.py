"""What all tests share: how hypothesis searches."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in every run, and no deadlines: a slow machine is not a failure.
settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples in every run, many more of them: pytest --hypothesis-profile=thorough
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=5000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")
