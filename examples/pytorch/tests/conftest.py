"""What every test here has: smx_torch, from where it is installed or from this checkout, and a device to run on."""
import pathlib
import sys

import pytest
import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))  # behind what is installed
import smx_torch  # noqa: E402, F401


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU here")
    return request.param


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    torch.manual_seed(1)
