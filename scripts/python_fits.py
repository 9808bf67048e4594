"""The Action: exit with 0 where this Python can hold the gate's locked wheels. Each that is found runs it."""

import ensurepip  # noqa: F401 (a Debian without python3-venv lacks it)
import sys
import sysconfig
import venv  # noqa: F401

OLDEST, NEWEST = (3, 10), (3, 14)

fits = (
    sys.implementation.name == "cpython"
    and OLDEST <= sys.version_info[:2] <= NEWEST
    and sys.maxsize > 2**32
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)
sys.exit(not fits)
