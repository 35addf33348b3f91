"""NVIDIA's GPUs from Python. Most of it needs one; what a machine without one answers is at the end."""

from __future__ import annotations

import copy
import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from weft import nn

GPU = weft.cuda.is_available()
needs_gpu = pytest.mark.skipif(not GPU, reason="there is no GPU")
needs_none = pytest.mark.skipif(GPU, reason="there is a GPU")
CUDA = weft.device("cuda:0")


def python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def data(*shape):
    return weft.arange(float(np.prod(shape))).reshape(shape) / 7


# ---- tensors and modules ------------------------------------------------------------------------------------------------


@needs_gpu
def test_tensors_go_there_and_back():
    x = data(4, 5)
    for there in (x.to("cuda"), x.cuda(), x.cuda(0), x.to(0), x.to(CUDA), x.to(device="cuda", non_blocking=True), x.to("cuda", weft.float64).float()):
        assert there.device == CUDA and there.is_cuda and there.get_device() == 0
        assert there.cpu().tolist() == x.tolist() and there.tolist() == x.tolist()
    y = x.cuda()
    assert y.cuda() is not None and y.to("cuda").device == CUDA and y[1, 2].item() == x[1, 2].item()
    assert (y @ y.T).sum().item() == (x @ x.T).sum().item()  # the same bits
    assert repr(weft.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"
    assert weft.zeros(2, device=0).device == CUDA and weft.tensor([1], device="cuda").dtype is weft.int64


@needs_gpu
def test_default_devices_and_blocks():
    with weft.device("cuda"):
        assert weft.randn(2).device == CUDA and nn.Linear(1, 1).weight.device == CUDA
    weft.set_default_device("cuda")
    try:
        assert weft.ones(2).device == CUDA and weft.get_default_device() == CUDA
    finally:
        weft.set_default_device(None)
    assert weft.ones(2).is_cpu


@needs_gpu
def test_training_has_the_bits_of_the_cpu():
    losses = {}
    for device in ("cpu", "cuda"):
        weft.manual_seed(3)
        net = nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3)).to(device)
        optimizer = weft.optim.AdamW(net.parameters(), lr=0.01)
        x, y = weft.randn(32, 6, device=device), weft.randint(0, 3, (32,), device=device)
        losses[device] = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            losses[device].append(loss.item())
        assert all(p.grad.device.type == device for p in net.parameters())
    assert losses["cpu"] == losses["cuda"]


@needs_gpu
def test_random_numbers_are_those_of_the_cpu():
    for seed in (weft.manual_seed, weft.cuda.manual_seed, weft.cuda.manual_seed_all):
        weft.manual_seed(9)
        here = [weft.rand(5).tolist(), weft.randn(5).tolist(), weft.randperm(9).tolist()]
        seed(9)
        assert [weft.rand(5, device="cuda").tolist(), weft.randn(5, device="cuda").tolist(), weft.randperm(9, device="cuda").tolist()] == here
    state = weft.cuda.get_rng_state()
    first = weft.rand(3, device="cuda").tolist()
    weft.cuda.set_rng_state(state)
    assert weft.rand(3, device="cuda").tolist() == first and weft.cuda.initial_seed() == 9


@needs_gpu
def test_jit_autocast_and_scaling():
    double = weft.jit(lambda x: (x @ x).sum(0))
    x = data(8, 8)
    for _ in range(3):
        assert double(x.cuda()).device == CUDA and double(x.cuda()).tolist() == double(x).tolist()
    with weft.autocast("cuda"):
        assert (x.cuda() @ x.cuda()).dtype is weft.float16 and (x @ x).dtype is weft.float32
        assert weft.is_autocast_enabled("cuda") and not weft.is_autocast_enabled("cpu") and weft.get_autocast_dtype("cuda") is weft.float16
        assert double(x.cuda()).dtype is weft.float16
    with weft.autocast("cuda", dtype=weft.bfloat16):
        assert (x.cuda() @ x.cuda()).dtype is weft.bfloat16
    with weft.autocast("cpu"):
        assert (x.cuda() @ x.cuda()).dtype is weft.float32
    w = nn.Parameter(weft.ones(4, 4, device="cuda"))
    optimizer, scaler = weft.optim.SGD([w], lr=0.1), weft.amp.GradScaler("cuda", init_scale=8.0)
    with weft.autocast("cuda"):
        loss = (w @ w).float().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.is_enabled() and w.grad.tolist() == [[8.0] * 4] * 4 and w.tolist()[0][0] == pytest.approx(0.2)


@needs_gpu
def test_programs_of_pytorch_use_it(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(
        "import torch\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "model = torch.nn.Linear(3, 1).to(device)\n"
        "x = torch.randn(5, 3, device=device)\n"
        "model(x).sum().backward()\n"
        "torch.cuda.synchronize()\n"
        "print(device, model.weight.grad.device, torch.cuda.max_memory_allocated() > 0, torch.accelerator.current_accelerator())\n"
    )
    done = subprocess.run([sys.executable, "-m", "weft", str(file)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["cuda", "cuda:0", "True", "cuda"], done.stderr


# ---- weft.cuda ----------------------------------------------------------------------------------------------------------


@needs_gpu
def test_questions():
    cuda = weft.cuda
    assert cuda.device_count() >= 1 and cuda.current_device() == 0 and isinstance(cuda.get_device_name(), str)
    found = cuda.get_device_properties("cuda:0")
    assert (found.major, found.minor) == cuda.get_device_capability() >= (8, 0) and found.name == cuda.get_device_name(0)
    assert found.total_memory > 1 << 30 and found.multi_processor_count > 0 and found.warp_size == 32 and "total_memory" in repr(found)
    assert cuda.get_arch_list() and cuda.is_bf16_supported() and weft.backends.cuda.is_built()
    cuda.init()
    assert cuda.is_initialized()
    cuda.set_device(0)
    with cuda.device(0), cuda.device_of(weft.ones(1, device="cuda")):
        assert weft.ones(1, device="cuda").device == CUDA
    assert weft.accelerator.is_available() and weft.accelerator.current_device_index() == 0


@needs_gpu
def test_memory_is_counted():
    cuda = weft.cuda
    weft.ones(1, device="cuda").realize()
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    x = weft.rand(1 << 20, device="cuda").realize()
    assert cuda.memory_allocated() - before == 4 << 20
    (x + 1).realize()
    assert cuda.memory_allocated() - before == 4 << 20 and cuda.max_memory_allocated() - before >= 8 << 20
    assert cuda.memory_reserved() >= cuda.memory_allocated() and cuda.max_memory_reserved() >= cuda.memory_reserved()
    del x
    assert cuda.memory_allocated() == before
    reserved = cuda.memory_reserved()
    cuda.empty_cache()
    assert cuda.memory_reserved() < reserved
    free, total = cuda.mem_get_info()
    assert 0 < free <= total and cuda.memory_stats()["allocated_bytes.all.current"] == before and "allocated" in cuda.memory_summary()
    with pytest.raises(cuda.OutOfMemoryError, match="cannot allocate .* on cuda:0: .* are free"):
        weft.rand(total, device="cuda").realize()
    assert issubclass(cuda.OutOfMemoryError, MemoryError) and weft.ones(2, device="cuda").tolist() == [1.0, 1.0]


@needs_gpu
def test_events_tell_the_time_of_what_is_between():
    x = weft.rand(128, 128, device="cuda").realize()
    (x @ x).realize()
    start, end = (weft.cuda.Event(enable_timing=True) for _ in range(2))
    assert start.query()
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    y = x
    for _ in range(3):
        y = y @ x * 1e-3
    end.record()  # what was recorded counts, without realize()
    end.synchronize()
    assert end.query() and 0 < start.elapsed_time(end) < 100_000
    with pytest.raises(ValueError, match="enable_timing"):
        weft.cuda.Event().elapsed_time(end)
    weft.cuda.synchronize(), weft.cuda.synchronize("cuda:0")
    assert weft.cuda.current_stream().query()


@needs_gpu
def test_streams_are_one():
    side = weft.cuda.Stream()
    x = weft.rand(1000, device="cuda")
    with weft.cuda.stream(side):
        y = x * 2
    side.synchronize()
    weft.cuda.current_stream().wait_stream(side)
    event = side.record_event()
    event.wait(), side.wait_event(event), y.record_stream(side)
    assert (y == 2 * x).all().item() and side == weft.cuda.default_stream() == weft.cuda.current_stream(CUDA)
    assert side.cuda_stream > 2 and side.device == CUDA
    with weft.cuda.stream(None):
        pass


@needs_gpu
def test_an_index_out_of_range_is_found_when_somebody_waits():
    x, index = weft.ones(4, device="cuda"), weft.tensor([1, 9], device="cuda")
    with pytest.raises(IndexError, match="9"):
        y = x[index]
        weft.cuda.synchronize()
        y.tolist()
    assert x[weft.tensor([1], device="cuda")].tolist() == [1.0]


@needs_gpu
def test_threads_use_it_at_once():
    found = {}

    def work(k):
        x = weft.full((32, 32), float(k), device="cuda")
        for _ in range(4):
            x = (x @ x) / (x * 32)
        weft.cuda.synchronize()
        found[k] = x.mean().item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert found == {k: float(k) for k in range(1, 5)}


# ---- memory of the host and of other libraries --------------------------------------------------------------------------


@needs_gpu
def test_pinned_memory():
    x = data(300, 7)
    p = x.pin_memory()
    assert p.is_pinned() and not x.is_pinned() and p.pin_memory().is_pinned() and p.is_cpu and p.tolist() == x.tolist()
    moved = p.to("cuda", non_blocking=True)
    assert moved.tolist() == x.tolist() and not moved.is_pinned()
    p += 1  # memory of its own: what was pinned may be on its way
    assert moved.tolist() == x.tolist() and p.tolist() == (x + 1).tolist()
    with pytest.raises(ValueError, match="only the CPU's memory"):
        moved.pin_memory()
    for i in range(20):  # blocks are used again, and never before their copy is done
        there = [weft.full((10_000,), float(i * 3 + k)).pin_memory().to("cuda", non_blocking=True) for k in range(3)]
        assert [t.mean().item() for t in there] == [i * 3, i * 3 + 1, i * 3 + 2]


@needs_gpu
@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_pin(workers):
    class Squares(weft.utils.data.Dataset):
        def __len__(self):
            return 10

        def __getitem__(self, index):
            return {"x": weft.full((3,), float(index)), "y": index}

    for dataset in (Squares(), weft.utils.data.TensorDataset(data(10, 3), weft.arange(10))):
        seen = 0
        for batch in weft.utils.data.DataLoader(dataset, batch_size=5, num_workers=workers, pin_memory=True):
            parts = list(batch.values()) if isinstance(batch, dict) else batch
            assert all(part.is_pinned() for part in parts)
            seen += len(parts[0].cuda(non_blocking=True).cpu())
        assert seen == 10


@needs_gpu
def test_numpy_asks_for_a_copy():
    x = data(2, 3).cuda()
    for ask in (lambda: x.numpy(), lambda: np.asarray(x), lambda: memoryview(x)):
        with pytest.raises(TypeError, match="cuda:0.*cpu"):
            ask()
    assert np.array_equal(x.numpy(force=True), x.cpu().numpy())


@needs_gpu
def test_dlpack_of_its_own():
    x = data(4, 6).cuda()
    assert x.__dlpack_device__() == (2, 0)
    y = weft.from_dlpack(x)
    assert y.device == CUDA and y.data_ptr() == x.data_ptr() and y.tolist() == x.tolist()
    z = weft.from_dlpack(x.T)
    assert (z + 1).tolist() == (x.T + 1).tolist()
    assert np.array_equal(np.from_dlpack(x.cpu()), x.cpu().numpy())
    copied = weft.from_dlpack(x.__dlpack__(stream=1))  # before version 1: a copy
    assert copied.data_ptr() != x.data_ptr() and copied.tolist() == x.tolist()
    copied += 1  # shared memory is written
    assert copied.tolist() == (x + 1).tolist()
    copied.t().mul_(2)
    assert copied.tolist() == ((x + 1) * 2).tolist() and copied[1:, ::2].tolist() == ((x + 1) * 2)[1:, ::2].tolist()
    here = weft.from_dlpack(x.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert here.is_cpu and here.tolist() == x.tolist()
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)
    about = x.T.__cuda_array_interface__
    assert about["shape"] == (6, 4) and about["typestr"] == "<f4" and about["version"] == 3 and about["data"][1] and about["stream"] > 2
    with pytest.raises(AttributeError, match="not on a GPU"):
        x.cpu().__cuda_array_interface__


@needs_gpu
def test_dlpack_with_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no GPU")
    t = torch.arange(12.0, device="cuda").reshape(3, 4)
    w = weft.from_dlpack(t)
    assert w.device == CUDA and w.data_ptr() == t.data_ptr() and w.tolist() == t.tolist()
    y = w * 2
    t.add_(1)  # later: what was recorded before does not see it, what comes does
    assert y.tolist() == ((t - 1) * 2).tolist() and w.tolist() == t.tolist()
    w.mul_(3)
    assert t.tolist() == w.tolist()
    t.t().add_(1)
    assert weft.from_dlpack(t.t()).tolist() == t.t().tolist()
    back = torch.from_dlpack(data(5, 5).cuda())
    assert back.device.type == "cuda" and back.cpu().tolist() == data(5, 5).tolist()
    for i in range(100):  # in the order of streams, without a wait
        a = torch.full((1 << 18,), float(i), device="cuda")
        b = torch.from_dlpack(weft.from_dlpack(a) + 1)
        del a
        assert float((b * 2).mean()) == 2 * (i + 1)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        b = torch.from_dlpack(data(1000).cuda() * 2)
        assert b.sum().item() == pytest.approx((data(1000) * 2).sum().item(), rel=1e-5)
    with pytest.raises(TypeError, match="read only"):  # PyTorch takes no read-only memory by __cuda_array_interface__; from_dlpack() does
        torch.as_tensor(data(3).cuda(), device="cuda")


# ---- files and processes ------------------------------------------------------------------------------------------------


@needs_gpu
def test_files_copies_and_pickles():
    net = nn.Linear(3, 2, device="cuda")
    file = io.BytesIO()
    weft.save({"state": net.state_dict(), "step": [weft.ones(1, device="cuda"), weft.ones(1)]}, file)
    expected = [(None, "cuda", "cpu"), ("cpu", "cpu", "cpu"), ("cuda", "cuda", "cuda"), ({"cuda:0": "cpu"}, "cpu", "cpu"),
                (lambda tensor, saved: tensor, "cpu", "cpu"), (lambda tensor, saved: tensor.cuda(0), "cuda", "cuda")]  # fmt: skip
    for location, first, second in expected:
        file.seek(0)
        found = weft.load(file, map_location=location)
        assert found["state"]["weight"].tolist() == net.weight.tolist()
        assert [found["state"]["bias"].device.type, found["step"][0].device.type, found["step"][1].device.type] == [first, first, second]
    again = pickle.loads(pickle.dumps(net.weight))
    assert again.device == CUDA and again.requires_grad and isinstance(again, nn.Parameter)
    twin = copy.deepcopy(net)
    assert twin.weight.device == CUDA and twin.weight.tolist() == net.weight.tolist()
    twin.weight.data.zero_()
    assert net.weight.abs().sum().item() > 0
    other = nn.Linear(3, 2)
    other.load_state_dict(net.state_dict())
    assert other.weight.is_cpu and other.weight.tolist() == net.weight.tolist()


@needs_gpu
def test_a_fork_is_refused_and_hidden_gpus_are_not_there():
    done = python("""
import os, weft
x = weft.ones(3, device="cuda").realize()
if os.fork() == 0:
    for use in (lambda: x.tolist(), lambda: (x + 1).tolist(), lambda: weft.tensor([1.0, 2.0], device="cuda")):
        try:
            use()
        except RuntimeError as error:
            print(error, flush=True)
    print(weft.ones(2).sum().item(), flush=True)
    os._exit(0)
os.wait()
print(x.tolist())
""")
    lines = done.stdout.splitlines()
    assert len(lines) == 5 and all("fork()" in line and "spawn" in line for line in lines[:3]) and lines[3:] == ["2.0", "[1.0, 1.0, 1.0]"], done
    done = python("import weft; print(weft.cuda.is_available(), weft.cuda.device_count())\nweft.ones(1).cuda()", CUDA_VISIBLE_DEVICES="")
    assert done.stdout.split() == ["False", "0"] and "finds no GPU (CUDA_VISIBLE_DEVICES may hide it)" in done.stderr


@needs_gpu
def test_mistakes():
    x, y = weft.ones(3, device="cuda"), weft.ones(3)
    last = weft.cuda.device_count() - 1
    for error, call, words in [
        (RuntimeError, lambda: x + y, "cuda:0.*cpu.*to()"),
        (RuntimeError, lambda: nn.Linear(3, 1)(x), r"linear\(.*cuda:0.*cpu"),
        (RuntimeError, lambda: x.to("cuda:99"), rf"there is no device 'cuda:99': the driver finds {last + 1} GPU"),
        (RuntimeError, lambda: weft.cuda.set_device(99), "there is no device 'cuda:99'"),
        (RuntimeError, lambda: x.to("gpu"), "there is no device 'gpu'; Weft runs on 'cpu' and 'cuda'"),
        (ValueError, lambda: weft.cuda.get_device_name("cpu"), "must be a GPU such as 'cuda:0'"),
        (TypeError, lambda: weft.cuda.get_device_name(1.5), "must be an int, a str or a weft.device"),
        (TypeError, lambda: weft.cuda.stream(3), "must be a weft.cuda.Stream or None"),
        (RuntimeError, lambda: weft.cuda.Event(interprocess=True), "no events between processes"),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert (x + weft.tensor(1.0)).tolist() == [2.0] * 3  # a number goes along


# ---- without a GPU ------------------------------------------------------------------------------------------------------


@needs_none
def test_without_a_gpu_questions_have_answers():
    cuda = weft.cuda
    assert not cuda.is_available() and not cuda.is_initialized() and cuda.device_count() == 0 and cuda.get_arch_list() == []
    assert weft.accelerator.current_accelerator() is None and weft.accelerator.device_count() == 0
    assert cuda.memory_allocated() == cuda.max_memory_reserved() == cuda.initial_seed() == 0 and cuda.memory_stats() == {}
    before = weft.get_rng_state()
    cuda.synchronize(), cuda.manual_seed_all(1), cuda.empty_cache(), cuda.reset_peak_memory_stats(), cuda.ipc_collect(), cuda.seed_all()
    assert weft.get_rng_state() == before and cuda.get_rng_state_all() == []
    x = weft.ones(2)
    assert x.pin_memory() is x and not x.is_pinned()
    assert all(len(batch[0]) == 1 for batch in weft.utils.data.DataLoader(weft.utils.data.TensorDataset(x), pin_memory=True))
    with cuda.stream(None):
        pass


@needs_none
@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.ones(2).to("cuda"), lambda: weft.ones(2).cuda(), lambda: weft.ones(2).to(0), lambda: weft.zeros(2, device="cuda:7"),
        lambda: nn.Linear(1, 1).cuda(2), lambda: weft.set_default_device("cuda"), lambda: weft.device("cuda").__enter__(), lambda: weft.cuda.Stream(),
        lambda: weft.cuda.Event(), lambda: weft.cuda.current_device(), lambda: weft.cuda.get_device_name(0), lambda: weft.cuda.mem_get_info(),
        lambda: weft.cuda.synchronize("cuda"), lambda: weft.load(io.BytesIO(), map_location="cuda"), lambda: weft.Generator("cuda"),
    ],
)  # fmt: skip
def test_without_a_gpu_errors_say_what_is_missing(call):
    with pytest.raises(RuntimeError, match="there is no (device 'cuda|GPU).*NVIDIA's driver"):
        call()


@needs_none
def test_without_a_gpu_autocast_warns_and_files_come_to_the_cpu():
    for make in (lambda: weft.autocast("cuda"), weft.cuda.amp.autocast, lambda: weft.amp.GradScaler("cuda"), weft.cuda.amp.GradScaler):
        with pytest.warns(UserWarning, match="there is no device 'cuda' for Weft: NVIDIA's driver"):
            context = make()
    assert context.get_scale() == 1.0 and not weft.is_autocast_enabled()
    # as a machine with a GPU writes it
    moved = (weft._tensor._rebuild, (b"\0\0\x80?", weft.float32, True, nn.Parameter, (1,), "cuda:0"))
    again = moved[0](*moved[1])
    assert again.is_cpu and again.tolist() == [1.0]
