"""Tests against PyTorch as the oracle, in an environment of their own: `make parity`."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import weft

sys.path.insert(0, str(Path(__file__).parent))  # `from helpers import …`, from wherever pytest is called
pytest.register_assert_rewrite("helpers")

WANTED = "2.13"


def pytest_report_header():
    return f"weft {weft.__version__} against PyTorch {torch.__version__}"


def pytest_sessionstart():
    if not torch.__version__.startswith(WANTED):
        raise pytest.UsageError(f"the oracle is PyTorch {WANTED}, not {torch.__version__}: use make parity")


@pytest.fixture(autouse=True)
def seeds():
    """Every test starts from the same random state."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    weft.manual_seed(0)
