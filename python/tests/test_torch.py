"""PyTorch scripts on Weft: the import hook, `python -m weft`, and names that must be there and truthful on a CPU."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import weft


PACKAGE = str(Path(weft.__file__).resolve().parent.parent)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])])}


def python(*arguments, cwd=None):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=ENVIRONMENT)


def run(tmp_path, source, *arguments, name="script.py"):
    """What `python -m weft script.py` prints; the last line is its exit status where that is not 0."""
    script = tmp_path / name
    script.write_text(textwrap.dedent(source))
    done = python("-m", "weft", script, *arguments, cwd=tmp_path)
    return done.stdout.splitlines() + ([done.stderr] if done.returncode else [])


def test_a_script_runs_unchanged(tmp_path):
    out = run(tmp_path, """
        import argparse, importlib.metadata, importlib.util, sys
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.backends.cudnn as cudnn
        from torch.optim.lr_scheduler import StepLR
        from torch.utils.data import DataLoader, TensorDataset
        from torch.nn.modules.batchnorm import BatchNorm2d
        from torch import Tensor, nn as layers

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 2)
            def forward(self, x: Tensor) -> Tensor:
                return F.log_softmax(self.out(F.relu(self.hidden(x))), dim=1)

        if __name__ == "__main__":
            parser = argparse.ArgumentParser()
            parser.add_argument("--lr", type=float)
            lr = parser.parse_args().lr
            cudnn.benchmark = True
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            torch.manual_seed(0)
            x = torch.randn(64, 4)
            y = (x.sum(1) > 0).long()
            model = torch.compile(Net().to(device))
            optimizer = torch.optim.Adam(model.parameters(), lr=lr)
            scheduler = StepLR(optimizer, 5, 0.9)
            for epoch in range(20):
                for data, target in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
                    data, target = data.to(device), target.to(device)
                    optimizer.zero_grad()
                    loss = F.nll_loss(model(data), target)
                    loss.backward()
                    optimizer.step()
                scheduler.step()
            print(device, loss.item() < 0.5, isinstance(x, torch.Tensor), layers is nn)
            print(importlib.util.find_spec("torch") is not None, importlib.metadata.version("torch") == torch.__version__)
            assert torch.nn.modules.activation.MultiheadAttention is nn.MultiheadAttention
            files = {"adaptive": "AdaptiveLogSoftmaxWithLoss", "channelshuffle": "ChannelShuffle", "distance": "PairwiseDistance", "fold": "Fold",
                     "lazy": "LazyModuleMixin", "pixelshuffle": "PixelShuffle", "dropout": "Dropout"}
            assert all(hasattr(getattr(nn.modules, file), name) for file, name in files.items())
            print(torch.__version__ >= (2, 0), torch.__version__ < "3.0", torch.nn.modules.batchnorm.BatchNorm2d is nn.BatchNorm2d)
    """, "--lr", "0.05")  # fmt: skip
    assert out == ["cpu True True True", "True True", "True True True"]


def test_what_is_missing_is_named_at_its_first_use(tmp_path):
    out = run(tmp_path, """
        import importlib.util
        import torch
        import torch.nosuch.module as module
        from torch.nosuch import thing, Base
        from torch.nn import NoSuchLayer
        try:
            from torch.nosuch import guarded
        except ImportError:
            guarded = None
        class Derived(Base):
            pass
        def annotated(x: thing, y: "NoSuchLayer | None" = None):
            return x
        assert {torch.complex64: 8}[torch.complex64] == 8 and torch.ones(2).dtype != torch.complex64
        print(guarded, hasattr(torch, "nosuch_function"), importlib.util.find_spec("torch.nosuch2"), isinstance(1, thing))
        for use in (lambda: thing(), lambda: NoSuchLayer(3), lambda: Derived(), lambda: torch.nosuch_function(1), lambda: module.f):
            try:
                use()
            except (NotImplementedError, AttributeError) as error:
                print(type(error).__name__, str(error).split(" is not")[0])
    """)  # fmt: skip
    assert out == [
        "None False None False", "NotImplementedError torch.nosuch.thing", "NotImplementedError torch.nn.NoSuchLayer",
        "NotImplementedError torch.nosuch.Base", "AttributeError torch.nosuch_function", "AttributeError torch.nosuch.module.f",
    ]  # fmt: skip


def test_missing_lists_the_names_of_a_script_and_of_the_files_beside_it(tmp_path):
    (tmp_path / "model.py").write_text("import torch.nn as nn\n\nlayer = nn.NoSuchLayer\nother = nn.Linear\n")
    script = tmp_path / "train.py"
    script.write_text("import torch\nfrom model import layer\nx = torch.nosuch.f(torch.ones(2).sum())\ny = torch.nosuch.g\nx.cfloat()\n")
    done = python("-m", "weft", "--missing", script)
    assert done.returncode == 1
    assert [line.rsplit("/", 1)[1] for line in done.stdout.splitlines()] == [
        "model.py:3: torch.nn.NoSuchLayer", "train.py:3: torch.nosuch", "train.py:5: Tensor.cfloat",
    ]  # fmt: skip
    script.write_text("import torch\nprint(torch.ones(2))\n")
    done = python("-m", "weft", "--missing", script)
    assert done.returncode == 0 and "every name" in done.stdout


def test_the_command_line_says_what_is_wrong(tmp_path):
    for arguments, text in ((["nofile.py"], "there is no file nofile.py"), (["-m"], "name of a module"), (["--missing", "no.py"], "cannot be read")):
        done = python("-m", "weft", *arguments)
        assert done.returncode != 0 and text in done.stderr


def test_the_hook_refuses_where_pytorch_is_loaded(tmp_path):
    (tmp_path / "torch.py").write_text("__version__ = '2.13.0'\n")
    code = "import torch, weft\ntry:\n    weft.install_as_torch()\nexcept RuntimeError as error:\n    print(error)\n"
    done = python("-c", code, cwd=tmp_path)
    assert "already imported" in done.stdout


def test_spawned_processes_have_it_too(tmp_path):
    out = run(tmp_path, """
        import torch
        import torch.multiprocessing as mp
        def work(rank, base):
            assert "weft" in torch.__version__ and float(torch.ones(3).sum() + base) == 5
        if __name__ == "__main__":
            mp.spawn(work, args=(2,), nprocs=2)
            print("done")
    """)  # fmt: skip
    assert out == ["done"]


def test_devices_have_names():
    cuda = weft.device("cuda:1")
    assert (cuda.type, cuda.index, str(cuda), repr(cuda)) == ("cuda", 1, "cuda:1", "device(type='cuda', index=1)")
    assert weft.device("cuda", 1) == cuda and weft.device("cpu") != cuda and weft.device("cuda") != cuda
    with pytest.raises(RuntimeError, match="there is no device 'gpu'"):
        weft.device("gpu")
    assert not weft.backends.cudnn.is_available() and not weft.backends.mps.is_available()


def test_fork_rng_leaves_the_random_numbers_as_they_were():
    weft.manual_seed(5)
    with weft.random.fork_rng():
        inside = weft.rand(3).tolist()
    assert weft.rand(3).tolist() == inside


def test_distributed_with_one_process():
    dist = weft.distributed
    with pytest.raises(ValueError, match="init_process_group"):
        dist.get_rank()
    with pytest.raises(RuntimeError, match="one process"):
        dist.init_process_group("gloo", rank=0, world_size=2)
    dist.init_process_group("gloo", rank=0, world_size=1)
    try:
        x = weft.arange(3.0)
        dist.all_reduce(x)
        gathered = [weft.zeros(3)]
        dist.all_gather(gathered, x)
        net = weft.nn.parallel.DistributedDataParallel(weft.nn.Linear(3, 2))
        sampler = weft.utils.data.DistributedSampler(range(7), shuffle=False)
        assert (dist.get_rank(), dist.get_world_size(), x.tolist(), gathered[0].tolist()) == (0, 1, [0, 1, 2], [0, 1, 2])
        assert list(net.state_dict()) == ["module.weight", "module.bias"] and list(sampler) == list(range(7))
    finally:
        dist.destroy_process_group()


def test_a_sampler_of_very_many_draws_them_as_they_are_needed():
    sampler = weft.utils.data.RandomSampler(range(10), replacement=True, num_samples=10**10)
    drawn = [index for index, _ in zip(sampler, range(5000))]
    assert len(sampler) == 10**10 and set(drawn) == set(range(10))


def test_foreach_and_trees(tmp_path):
    out = run(tmp_path, """
        import torch
        from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten
        a = [torch.ones(2), torch.full((2,), 2.0)]
        torch._foreach_mul_(a, 3.0)
        torch._foreach_add_(a, torch._foreach_sqrt([torch.full((2,), 4.0)] * 2), alpha=2)
        print([t.tolist() for t in a])
        leaves, spec = tree_flatten({"a": [1, (2, 3)], "b": 4})
        print(leaves, tree_unflatten(leaves, spec), tree_map(lambda x: -x, [1, {"c": 2}]))
    """)  # fmt: skip
    assert out == ["[[7.0, 7.0], [10.0, 10.0]]", "[1, 2, 3, 4] {'a': [1, (2, 3)], 'b': 4} [-1, {'c': -2}]"]


def test_a_derivative_that_would_be_lost_is_refused():
    @weft.library.custom_op("mine::twice", mutates_args=())
    def twice(x):
        return x * 2

    assert twice(weft.ones(2)).tolist() == [2, 2]
    for op in (twice, "mine::twice"):
        with pytest.raises(NotImplementedError, match="derivative of mine::twice"):
            weft.library.register_autograd(op, lambda ctx, g: g)
    weft.library.register_autograd("extension::nms", lambda ctx, g: g)  # never called


def test_the_progress_bar_of_the_hub(tmp_path):
    """Scripts take tqdm from torch.hub, where it stands whether or not the package is installed."""
    out = run(tmp_path, """
        import io, sys
        sys.modules.update({"tqdm": None} if "--without" in sys.argv else {})
        from torch.hub import tqdm
        with tqdm(total=3, file=io.StringIO()) as bar:
            bar.set_description("reading")
            bar.update(2)
            print(bar.n, bar.total)
        print([i for i in tqdm([4, 5], desc="steps")])
    """, "--without")  # fmt: skip
    assert out == ["2 3", "[4, 5]"]
