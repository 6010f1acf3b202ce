"""What the tests on examples that are drawn share: no time limit, which a busy machine would fail by chance."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
