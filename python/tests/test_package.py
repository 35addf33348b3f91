"""What an import costs. (tests/install tries the wheel.)"""

import os
import subprocess
import sys


def python(*args, **options):
    return subprocess.run([sys.executable, *map(str, args)], check=True, capture_output=True, text=True, **options).stdout


def test_an_import_is_quick_and_brings_no_numpy():
    code = """if True:
        import time
        start = time.process_time()  # not wall time: other tests run beside this one
        import weft
        took = time.process_time() - start
        import sys
        assert "numpy" not in sys.modules
        print(took)"""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}  # an installation has compiled files
    times = []
    while len(times) < 20 and min(times, default=1) >= 0.04:  # where the machine is busy, caches are cold in most of them
        times.append(float(python("-c", code, env=env)))
    assert min(times) < 0.04, times
