"""What all tests share: no property has a deadline, since a busy machine is no fault."""

from hypothesis import settings

settings.register_profile("house", deadline=None)
settings.load_profile("house")
