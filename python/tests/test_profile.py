"""Profiles: lines, modules, files, and what beginners do wrong."""

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest
import weft
import weft.nn.functional as F
from weft import nn
from weft.utils.data import DataLoader, TensorDataset


def here():
    return sys._getframe(1).f_lineno


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 32)

    def forward(self, x):
        self.line = here() + 1
        return F.gelu(self.up(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block()])
        self.out = nn.Linear(32, 4)

    def forward(self, x):
        return self.out(self.blocks[0](x))


def trained(steps=3):
    global model
    model = Net()
    optimizer = weft.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    data = DataLoader(TensorDataset(weft.rand(steps * 8, 16), weft.randint(0, 4, (steps * 8,))), batch_size=8)
    with weft.profile("training") as p:
        for x, y in data:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model, p


def test_a_training_step_by_line_and_module():
    model, p = trained()
    run = json.loads(p.json())
    assert run["format"] == "weft-profile" and run["version"] == 1 and run["title"] == "training"
    sites = run["sites"]
    up = [s for s in sites if s.get("module") == "model.blocks.0.up"]
    assert up and all(__file__.endswith(run["files"][s["file"]]["path"]) and s["line"] == model.blocks[0].line for s in up)
    assert {"linear", "gelu", "cross_entropy", "SGD"} <= {s["op"] for s in sites}
    assert all(kernel["sites"] or kernel["name"].startswith("rand") for kernel in run["kernels"])  # parameters were made before
    names = [kernel["name"] for kernel in run["kernels"]]
    assert any(name.startswith("linear+gelu") for name in names) and any("SGD" in name for name in names)
    assert any(kernel.get("backward") for kernel in run["kernels"])
    assert "def forward" in run["files"][0]["source"]

    events = run["events"]
    assert len({len(column) for column in events.values()}) == 1
    assert events["start"] == sorted(events["start"]) and min(events["duration"]) >= 0
    kinds = [events["kind"].count(kind) for kind in range(8)]
    assert kinds[0] >= 3 and kinds[2] >= 3 and kinds[4] == 3 and kinds[6] == 3
    for kind, what in zip(events["kind"], events["what"]):
        assert what < len({0: run["kernels"], 2: run["plans"]}.get(kind, run["labels"]))
    for plan in run["plans"]:
        assert len(plan["kernels"]) == len(plan["steps"])
        assert all(value["first"] <= value["last"] for value in plan["values"])
    assert run["memory"]["peak"]["bytes"] >= max(run["memory"]["live"])


def test_events_of_a_thread_nest():
    _, p = trained()
    events = json.loads(p.json())["events"]
    open_until = []
    for start, duration, track in zip(events["start"], events["duration"], events["track"]):
        if track != 0:
            continue
        while open_until and open_until[-1] <= start:
            open_until.pop()
        assert not open_until or start + duration <= open_until[-1]
        open_until.append(start + duration)


def spans(run, kind, track=None):
    """(what, start, end) of events: by label where they have one."""
    events, names = run["events"], [track["name"] for track in run["tracks"]]
    for k, what, start, duration, t in zip(*(events[name] for name in ("kind", "what", "start", "duration", "track"))):
        if k == kind and track in (None, names[t]):
            yield (run["labels"][what] if k >= 3 else what), start, start + duration


def test_calls_of_modules_are_regions_that_nest():
    _, p = trained()
    run = json.loads(p.json())
    regions = list(spans(run, 5, "main"))
    assert [name for name, *_ in regions] == 3 * ["model", "model.blocks.0", "model.blocks.0.up", "model.out"]
    for inner, outer in ((1, 0), (2, 1), (3, 0)):
        assert regions[outer][1] <= regions[inner][1] <= regions[inner][2] <= regions[outer][2]
    with weft.inspection():
        model(weft.rand(8, 16))  # without a profile there is nowhere to note it


def test_loaders_with_workers():
    class Slow(weft.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            time.sleep(0.01)
            return weft.full((4,), float(i)).exp()

    loader = DataLoader(Slow(), batch_size=2, num_workers=2)
    with weft.profile() as p:
        for _ in range(2):  # epochs
            for batch in loader:
                batch.sum().item()
    run = json.loads(p.json())
    assert [track["name"] for track in run["tracks"] if track["kind"] == "thread"] == ["main", "weft-loader-0", "weft-loader-1"]
    waits = [span for span in spans(run, 4, "main")]
    assert len(waits) == 8 and all(name == "next batch" for name, *_ in waits)
    assert sum(end - start for _, start, end in waits) > 4 * 15e6  # two workers, 20 ms for a batch
    for worker in ("weft-loader-0", "weft-loader-1"):
        loads = list(spans(run, 4, worker))
        assert len(loads) == 4 and all(name == "load a batch" and end - start >= 20e6 for name, start, end in loads)
        assert all(any(start <= s and e <= end for _, start, end in loads) for _, s, e in spans(run, 2, worker))  # what it computes


def test_kernels_of_a_device_are_on_its_row():
    model = nn.Linear(64, 64).to("simulated")
    weft.realize(*model.parameters())
    with weft.profile() as p:
        model(weft.rand(32, 64, device="simulated")).sum().item()
    run = json.loads(p.json())
    assert {"name": "simulated:0", "kind": "stream"} in run["tracks"]
    kernels = list(spans(run, 0, "simulated:0"))
    assert len(kernels) == sum(kernel["calls"] for kernel in run["kernels"]) and not list(spans(run, 0, "main"))
    assert any(name == "simulated:0 → cpu" for name, *_ in spans(run, 7, "main"))
    waits = [(start, end) for name, start, end in spans(run, 3, "main") if name == "simulated:0"]  # it computes in the thread's calls
    assert all(any(start <= middle <= end for start, end in waits) for _, s, e in kernels if e - s > 1e5 and (middle := (s + e) // 2))
    assert any(e - s > 1e5 for _, s, e in kernels)
    assert sum(kernel["time"] for kernel in run["kernels"]) == sum(end - start for _, start, end in kernels)


def test_the_source_of_what_is_on_no_disk(monkeypatch):
    import linecache
    import types

    text = "def cell(x):\n    return x.exp() * 5\n"
    for file, shown in (("<python-input-3>", "<python-input-3>"), ("/tmp/ipykernel_7/1234.py", "In[3]")):
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        scope = {}
        exec(compile(text, file, "exec"), scope)
        with weft.profile() as p:
            scope["cell"](weft.rand(30).realize()).numpy()
        files = {each["path"]: each.get("source") for each in json.loads(p.json())["files"]}
        assert files[shown] == text
        names = types.SimpleNamespace(format_code_name=lambda file: ("Cell", "In[3]") if "ipykernel" in file else None)
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(compile=names)))
    assert weft.explain(scope["cell"], weft.rand(30).realize()).kernels[0].lines == ["In[3]:2"]
    monkeypatch.setattr(sys, "argv", ["/usr/lib/ipykernel_launcher.py"])
    with weft.profile() as p:
        pass
    assert json.loads(p.json())["title"] == "notebook"


@pytest.mark.parametrize("name", ["AdamW", "Adafactor", "Mine", "Descent"])
def test_every_optimiser_has_its_name_and_its_steps(name):
    class Mine(weft.optim.Adam):
        pass

    class Descent(weft.optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with weft.no_grad():
                for p in self.param_groups[0]["params"]:
                    p.sub_(p.grad, alpha=0.1)  # its ops are the user's own lines

    layer = nn.Linear(16, 4)
    optimizer = {"Mine": Mine, "Descent": Descent}.get(name) or getattr(weft.optim, name)
    optimizer = optimizer(layer.parameters(), lr=0.01)
    with weft.profile() as p:
        for _ in range(2):
            layer(weft.rand(8, 16)).square().mean().backward()
            optimizer.step()
    run = json.loads(p.json())
    assert run["labels"].count(f"{name}.step") == 1 and run["events"]["kind"].count(6) == 2
    assert any(("sub" if name == "Descent" else name) in kernel["name"].replace(" ", "+").split("+") for kernel in run["kernels"]), run["kernels"]
    if name == "Mine":
        with pytest.raises(ValueError, match="Mine: lr"):
            Mine(layer.parameters(), lr=-1)


def test_looking_changes_nothing():
    def loop():
        weft.manual_seed(0)
        model = Net()
        optimizer = weft.optim.Adam(model.parameters(), lr=0.01)
        x = weft.rand(8, 16)
        for _ in range(4):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        return model.out.weight.detach().numpy().tobytes()

    expected = loop()
    before = weft.counters()
    with weft.profile():
        assert loop() == expected
    after = weft.counters()
    assert after["plans_made"] == before["plans_made"] and after["kernels_compiled"] == before["kernels_compiled"]
    assert nn.Module.__call__.__name__ == "__call__"


def test_explain_a_function_and_a_tensor():
    model = Net()
    weft.realize(*model.parameters())
    plan = weft.explain(model, weft.rand(8, 16).realize())
    assert any(kernel.lines == [f"test_profile.py:{model.blocks[0].line}"] for kernel in plan.kernels)
    assert plan.kernels[0].name.startswith("linear+gelu") and len(repr(plan).splitlines()) == 2 + len(plan.kernels)
    assert "<table>" in plan._repr_html_() and "linear+gelu" in plan._repr_html_()
    layer, x = nn.Linear(700, 600), weft.rand(500, 700).realize()
    weft.realize(*layer.parameters())
    with weft.profile():
        layer(x).realize()
    table = weft.explain(layer, x)._repr_html_()
    assert "% of the limit" in table or "in the caches" in table  # the limit is measured: beside other work it may be too slow
    y = weft.rand(20).realize().exp()
    assert weft.explain(y, stage="loops") and "exp" in weft.explain(y, stage="graph")
    with weft.inspection():
        z = weft.rand(20).realize().sin()
    assert weft.explain(z).kernels[0].lines == []  # what was recorded is forgotten with the scope
    with weft.inspection():
        z = weft.rand(20).realize().sin()
        assert weft.explain(z).kernels[0].lines == [f"test_profile.py:{here() - 1}"]


def test_mistakes(tmp_path):
    with pytest.raises(TypeError, match="must be a Tensor, or a function that gives one, not int"):
        weft.explain(3)
    with pytest.raises(TypeError, match="the function must give a Tensor, not int"):
        weft.explain(lambda: 3)
    with pytest.raises(TypeError, match="a function is called with them"):
        weft.explain(weft.ones(2), 3)
    with pytest.raises(ValueError, match="there is no stage"):
        weft.explain(weft.rand(3), stage="asm")
    p = weft.profile()
    for use in (p.stop, p.json, lambda: p.save(tmp_path / "run.json")):
        with pytest.raises(RuntimeError, match="with `with`"):
            use()
    with p:
        with pytest.raises(ValueError, match="another profile is recording"), weft.profile():
            pass
        weft.rand(3).sum().item()
        assert "recording" in repr(p) and json.loads(p.json())["events"]["start"]  # so far
    with pytest.raises(RuntimeError, match="already"):
        p.start()
    with pytest.raises(ValueError, match=r"this is the title; write the file with p.save\('run.html'\)"):
        weft.profile("run.html")
    with pytest.raises(TypeError, match="argument 'title' must be a string"):
        weft.profile(trained)
    with pytest.raises(TypeError, match="argument 'name' must be a string"):
        p.region(3)
    with pytest.raises(TypeError, match='a stage is stage="loops"'):
        weft.explain(weft.rand(3), "loops")
    with pytest.raises(ValueError, match=r"written as \.html or \.json"):
        p.save(tmp_path / "run.txt")
    with pytest.raises(OSError):
        p.save(tmp_path / "missing" / "run.json")
    with pytest.raises(TypeError, match="must be a path"):
        p.save(None)
    p.save(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert page.count(p.json()) == 1 and page.rstrip().endswith("</html>")


def test_a_failed_program_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), weft.profile():
        1 / 0
    with weft.profile() as p:
        weft.rand(3).sum().item()
    assert "kernel" in repr(p)


def test_hostile_names_stay_text(tmp_path):
    class Hostile(nn.Module):
        def forward(self, x):
            return x.exp()

    Hostile.__name__ = "</script><img onerror=alert(1)>"
    with weft.profile("</script><script>alert(1)</script>") as p:
        with p.region("<b>"):
            Hostile()(weft.rand(4)).numpy()
    assert "<" not in p.json()
    assert json.loads(p.json())["title"].startswith("</script>")
    assert any("onerror" in site.get("module", "") for site in json.loads(p.json())["sites"])


def test_a_whole_program_by_a_variable(tmp_path):
    program = tmp_path / "train.py"
    program.write_text("import os, time, weft\nx = weft.rand(20)\nfor i in range(8):\n    (x.exp() + i).sum().item()\n    time.sleep(0.05)\n"
                       "if os.fork() == 0:\n    raise SystemExit\nos.wait()\n")  # fmt: skip
    environment = {**os.environ, "WEFT_PROFILE": "run.html", "WEFT_PROFILE_EVERY": "0.1"}
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("wrote the profile") == 1, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.html", "train.py"]
    from weft import inspect

    run = inspect.read(str(tmp_path / "run.html"))
    assert run["title"] == "train.py" and {site.get("line") for site in run["sites"]} >= {4}
    assert "exp" in inspect.summary(run)
    assert inspect.main([str(program)]) == 1
    looked = subprocess.run([sys.executable, "-m", "weft.inspect", "run.html"], cwd=tmp_path, env={**os.environ, "WEFT_PROFILE": "run.html"},
                            capture_output=True, text=True)  # fmt: skip
    assert "exp" in looked.stdout and inspect.read(str(tmp_path / "run.html")) == run  # a variable that is still set does no harm
    for name, value, words in (("WEFT_PROFILE", "run.txt", "WEFT_PROFILE=run.txt: a profile is written as .html or .json"),
                               ("WEFT_PROFILE", "/missing/run.html", "WEFT_PROFILE=/missing/run.html: there is no such folder"),
                               ("WEFT_PROFILE_EVERY", "often", "WEFT_PROFILE_EVERY=often: must be a number of seconds")):  # fmt: skip
        environment = {**os.environ, "WEFT_PROFILE": str(tmp_path / "x.html"), name: value}
        assert words in subprocess.run([sys.executable, "-c", "import weft"], env=environment, capture_output=True, text=True).stderr
    twice = subprocess.run([sys.executable, "-c", "import weft\nwith weft.profile(): pass"], cwd=tmp_path, env={**os.environ, "WEFT_PROFILE": "x.html"},
                           capture_output=True, text=True)  # fmt: skip
    assert "WEFT_PROFILE records the whole program already" in twice.stderr
    for arguments, words in ((["missing.html"], "weft.inspect: missing.html: No such file"), (["run.html", "--port", "99999"], "must be 0 to 65535")):
        assert words in subprocess.run([sys.executable, "-m", "weft.inspect", *arguments], cwd=tmp_path, capture_output=True, text=True).stderr


def test_the_live_page_is_for_this_machine_and_this_user(tmp_path):
    from weft import inspect

    path = tmp_path / "run.html"
    made, address = inspect.server(str(path))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        assert made.server_address[0] == "127.0.0.1"
        assert b"not written" in urllib.request.urlopen(address).read()
        with weft.profile() as p:
            weft.rand(3).sum().item()
        p.save(path)
        answer = urllib.request.urlopen(address)
        assert b"weft-profile" in answer.read() and address.endswith("/?every=3")
        plain = address.partition("?")[0]
        for wrong in (plain.rsplit("/", 2)[0] + "/", plain[:-2] + "/", plain + "../etc/passwd"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(wrong)
        with pytest.raises(urllib.error.HTTPError, match="404"):  # a page elsewhere that got hold of a name for this address
            urllib.request.urlopen(urllib.request.Request(address, headers={"Host": "evil.example:80"}))
    finally:
        made.shutdown()
        made.server_close()


def test_programs_that_work_alone_work_under_a_profile():
    class Unhashable(nn.Module):
        __hash__ = None

        def __eq__(self, other):
            return True

        def forward(self, x):
            return x + 1

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Unhashable()

        def forward(self, x):
            return Unhashable()(self.first(x))  # one that nobody holds

    with weft.profile() as p:
        Outer()(weft.rand(3)).numpy()
        scope = {"weft": weft}
        exec(compile("y = weft.rand(3).exp().numpy()", "a\udcffb.py", "exec"), scope)
    modules = {site.get("module") for site in json.loads(p.json())["sites"]}
    assert {"Outer.first", "Outer.Unhashable"} <= modules


def test_a_profile_keeps_no_tensor_alive_and_ends_when_it_ends():
    class Plain(nn.Module):
        def forward(self, x):
            return x * 3

    def program():
        before = weft.counters()
        x = weft.rand(4096).realize()
        h = x * 2 + 1
        y = Plain()(h)
        del h, x
        y.realize()
        return weft.counters()["bytes_allocated"] - before["bytes_allocated"]

    program()
    expected = program()
    with weft.profile() as p:
        assert program() == expected
        loader = iter(DataLoader(TensorDataset(weft.rand(8, 2)), batch_size=2))
        next(loader)
        with weft.profiler.record_function("a part"):
            pass
    list(loader)
    run = json.loads(p.json())
    assert max(s + d for s, d in zip(run["events"]["start"], run["events"]["duration"])) <= run["duration"]
    assert "a part" in run["labels"]


def test_jit_shows_its_own_lines_whatever_else_has_the_plan():
    x = weft.rand(40).realize()

    @weft.jit
    def captured(x):
        return x.exp() * 7

    assert weft.explain(captured, x).kernels[0].name.startswith("exp+mul")  # its own, not those of a call
    with weft.profile() as p:
        (x.exp() * 7).realize()
        for _ in range(3):
            captured(x).realize()
    run = json.loads(p.json())
    lines = {run["sites"][site]["line"]: kernel["calls"] for kernel in run["kernels"] for site in kernel["sites"]}
    assert sorted(lines.values()) == [1, 3]
