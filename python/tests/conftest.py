"""What holds for all tests: every pass of every kernel was proven to be safe. With WEFT_TEST_DEVICE they run on that device; only the registry of ops
(ops/) does not ask for the CPU's memory there."""

import os

import weft

if device := os.environ.get("WEFT_TEST_DEVICE"):
    weft.set_default_device(device)


def pytest_sessionfinish(session, exitstatus):
    refused = weft.counters()["passes_refused"]
    if refused and exitstatus == 0:
        print(f"\n{refused} passes were left out of a kernel, because what they made was not proven (WEFT_DEBUG=1 names them)")
        session.exitstatus = 1
