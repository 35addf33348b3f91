// web/test/model.test.mjs: reading a profile, nesting, shares of lines, notes.
import assert from "node:assert/strict";
import test from "node:test";
import { Kind, ProfileError, buildModel, eventName, kPython, parseProfile, upperBound } from "../src/model.js";
import {
    linesOf,
    mainTrack,
    modulesOf,
    notes,
    partsOf,
    planTime,
    sourceLine,
    stepCount,
    timeByPart,
    timeInRange,
} from "../src/stats.js";
import { kAttack, device, hostile, pageOf, small, training } from "./generate.mjs";

const profile = (more) => ({ format: "weft-profile", version: 1, ...more });
const columns = (rows) => ({
    kind: rows.map((r) => r[0]),
    start: rows.map((r) => r[1]),
    duration: rows.map((r) => r[2]),
    track: rows.map((r) => r[3] ?? 0),
    what: rows.map((r) => r[4] ?? -1),
});

test("a profile may be almost empty", () => {
    const model = buildModel(profile());
    assert.equal(model.duration, 0);
    assert.equal(model.events.count, 0);
    assert.equal(mainTrack(model), undefined);
    assert.deepEqual(notes(model), []);
});

test("what is not a profile is refused with a reason", () => {
    assert.throws(() => parseProfile("/*PROFILE*/"), /no profile yet/);
    assert.throws(() => parseProfile("  "), /no profile yet/);
    assert.throws(() => parseProfile("{"), /not valid JSON/);
    assert.throws(() => parseProfile("[]"), ProfileError);
    assert.throws(() => parseProfile("null"), ProfileError);
    assert.throws(() => parseProfile('{"format": "weft-profile", "version": 9}'), /version 9/);
    assert.throws(() => parseProfile("<!doctype html><p>"), /holds no profile/);
});

test("a page gives back the profile that was put into it, hostile names and all", () => {
    const template =
        '<!doctype html><script type="application/json" id="profile">/*PROFILE*/</script><script>1</script>';
    const page = pageOf(template, hostile());
    assert.equal(page.split("</script").length, 3, "names do not end the element");
    const raw = parseProfile(page);
    assert.ok(raw.title.startsWith(kAttack));
    assert.deepEqual(raw, hostile());
});

test("events nest: depth, parent, own time", () => {
    const model = buildModel(
        profile({
            duration: 100,
            events: columns([
                [2, 0, 50],
                [1, 0, 20],
                [0, 20, 10],
                [0, 30, 20],
                [6, 60, 0],
                [0, 70, 5],
            ]),
        }),
    );
    const { depth, parent, self } = model.events;
    assert.deepEqual([...depth], [0, 1, 1, 1, 0, 0]);
    assert.deepEqual([...parent], [-1, 0, 0, 0, -1, -1]);
    assert.deepEqual([...self], [0, 20, 10, 20, 0, 5]);
    assert.deepEqual(
        model.tracks[0].rows.map((row) => [...row]),
        [
            [0, 5],
            [1, 2, 3],
        ],
    );
    assert.deepEqual([...model.tracks[0].moments], [4]);
});

test("an inner event that begins with its outer one nests, whichever is listed first", () => {
    const model = buildModel(
        profile({
            events: columns([
                [0, 10, 5],
                [2, 10, 50],
            ]),
        }),
    );
    assert.deepEqual([...model.events.depth], [1, 0]);
});

test("parts of the time add up to the duration; regions count as Python", () => {
    const model = buildModel(
        profile({
            duration: 100,
            tracks: [{ name: "MainThread", kind: "thread" }],
            events: columns([
                [5, 0, 90],
                [2, 10, 40],
                [0, 20, 10],
                [4, 60, 20],
            ]),
        }),
    );
    const times = timeByPart(model, model.tracks[0]);
    assert.equal(times[Kind.kernel], 10);
    assert.equal(times[Kind.run], 30);
    assert.equal(times[Kind.data], 20);
    assert.equal(times[kPython], 40);
    assert.equal(
        times.reduce((a, b) => a + b),
        100,
    );
});

test("parts of a range: events count as far as they are inside", () => {
    const model = buildModel(
        profile({
            duration: 100,
            tracks: [{ kind: "thread" }],
            events: columns([
                [5, 0, 90],
                [2, 10, 40],
                [0, 20, 10, 0, 3],
                [4, 60, 20],
            ]),
        }),
    );
    const [track] = model.tracks;
    assert.deepEqual(timeInRange(model, track, 0, 100).times, timeByPart(model, track));
    const { times, kernels } = timeInRange(model, track, 25, 70);
    assert.deepEqual([times[Kind.kernel], times[Kind.run], times[Kind.data], times[kPython]], [5, 20, 10, 10]);
    assert.deepEqual(kernels, [[3, 5]]);
});

test("a kernel's time is shared equally among its lines, once per line", () => {
    const model = buildModel(
        profile({
            files: [{ path: "a.py", source: "x\ny\nz" }],
            sites: [{ file: 0, line: 1 }, { file: 0, line: 2 }, { file: 0, line: 2, op: "relu" }, { op: "lost" }],
            kernels: [
                { name: "k", sites: [0, 1, 2, 3], time: 90, calls: 3, reads: 10, writes: 20 },
                { name: "g", sites: [0], backward: [0], time: 10, calls: 1 },
            ],
        }),
    );
    const lines = linesOf(model);
    assert.equal(lines.get("0:1").time, 45 + 10);
    assert.equal(lines.get("0:1").backward, 10);
    assert.equal(lines.get("0:2").time, 45);
    assert.equal(lines.get("0:2").bytes, 45);
    assert.deepEqual(
        lines.get("0:1").kernels.map((k) => [k.kernel.name, k.backward]),
        [
            ["k", false],
            ["g", true],
        ],
    );
    assert.deepEqual(
        model.kernels[0].lines.map((line) => line.line),
        [1, 2],
    );
    assert.equal(sourceLine(model, 0, 2), "y");
    assert.equal(sourceLine(model, 1, 2), undefined);
});

test("a kernel's time is shared equally among its modules", () => {
    const model = buildModel(
        profile({
            sites: [{ module: "a" }, { module: "b" }, { module: "a", op: "relu" }, { op: "add" }],
            kernels: [
                { sites: [0, 1, 2, 3], time: 10 },
                { sites: [1], time: 4 },
            ],
        }),
    );
    assert.deepEqual(
        modulesOf(model).map(({ module, time }) => [module, time]),
        [
            ["b", 9],
            ["a", 5],
        ],
    );
});

test("times of a kernel are counted from events where it does not say them, without helpers", () => {
    const model = buildModel(
        profile({
            tracks: [{ kind: "thread" }, { kind: "worker" }],
            kernels: [{ name: "k", reads: 500, writes: 500, flops: 4000, limit: 5 }],
            events: columns([
                [0, 0, 10, 0, 0],
                [0, 1, 8, 1, 0],
                [0, 20, 30, 0, 0],
            ]),
        }),
    );
    const [kernel] = model.kernels;
    assert.deepEqual([kernel.calls, kernel.time, kernel.best, kernel.mean], [2, 40, 10, 20]);
    assert.equal(kernel.bandwidth, 5e10);
    assert.equal(kernel.rate, 2e11);
    assert.equal(kernel.ofLimit, 0.25);
});

test("names of events come from kernels, plans and labels", () => {
    const model = buildModel(
        profile({
            labels: ["model"],
            kernels: [{ name: "k" }],
            events: columns([
                [0, 0, 1, 0, 0],
                [1, 1, 1, 0, 3],
                [5, 2, 1, 0, 0],
                [3, 3, 1, 0, -1],
                [0, 4, 1, 0, 9],
            ]),
        }),
    );
    assert.deepEqual(
        [0, 1, 2, 3, 4].map((i) => eventName(model, i)),
        ["k", "compile plan 3", "model", "wait", "kernel"],
    );
});

test("the generated profile is consistent", () => {
    const model = buildModel(small());
    const track = mainTrack(model);
    assert.equal(track.name, "MainThread");
    assert.equal(stepCount(model), 40);
    const kernels = model.kernels.reduce((sum, k) => sum + k.time, 0);
    assert.equal(timeByPart(model, track)[Kind.kernel], kernels);
    const lines = [...linesOf(model).values()].reduce((sum, line) => sum + line.time, 0);
    assert.ok(Math.abs(lines - kernels) < 1, "all kernels have lines");
    assert.ok(planTime(model, model.plans[0]) > 0);
    for (let i = 0; i < model.events.count; ++i) {
        const parent = model.events.parent[i];
        if (parent >= 0) assert.ok(model.events.end[i] <= model.events.end[parent], "an event ends inside its parent");
    }
});

test("time between runs is Python's where lines are known, else C++'s", () => {
    const part = (sites) => partsOf(buildModel(profile({ sites }))).at(-1).name;
    assert.equal(part([{ file: 0, line: 1 }, { op: "exp" }]), "Python");
    assert.equal(part([{ op: "exp" }]), "C++");
    assert.equal(part([]), "Python");
});

test("notes say what stands out", () => {
    const python = buildModel(profile({ duration: 100, tracks: [{ kind: "thread" }], events: columns([[0, 0, 57]]) }));
    assert.match(notes(python)[0].text, /^43\u00a0% of the time is Python/);
    const compiles = Array.from({ length: 12 }, (_, i) => [1, 60 + i, 1, 0, i]);
    const shapes = buildModel(profile({ duration: 100, events: columns(compiles) }));
    assert.ok(
        notes(shapes).some(
            (note) => note.text === "12 plans were compiled in the second half: something changes shape.",
        ),
    );
    const slow = notes(buildModel(training({ steps: 3 })));
    assert.ok(slow.some((note) => /gelu.*of what this machine can do/.test(note.text) && note.kernel === 6));
    assert.ok(slow.some((note) => /2 kernels spill registers/.test(note.text)));
});

test("a kernel that computes a line forward, and its gradient on the way, is a forward kernel", () => {
    const sites = [
        { file: 0, line: 1, op: "gelu" },
        { file: 0, line: 2, op: "linear" },
    ];
    const kernels = [
        { sites: [0], backward: [0], both: [0], time: 4 },
        { sites: [1, 0], backward: [1, 0], both: [0], time: 4 },
    ];
    const model = buildModel(profile({ sites, kernels }));
    assert.deepEqual(
        model.kernels.map(({ isBackward }) => isBackward),
        [false, true],
    );
    const lines = linesOf(model);
    assert.equal(lines.get("0:1").backward, 0);
    assert.equal(lines.get("0:2").backward, 2);
});

test("helpers that do little are noticed, and are not the thread that the bar tells about", () => {
    const tracks = [
        { name: "loader", kind: "thread" },
        { name: "main", kind: "thread" },
        { name: "helper 1", kind: "worker" },
    ];
    const events = (busy) => [
        [4, 0, 99, 0, 0],
        [0, 0, 80, 1, 0],
        [0, 1, busy, 2, 0],
    ];
    const model = (busy) =>
        buildModel(profile({ duration: 100, tracks, events: columns(events(busy)), kernels: [{ name: "k" }] }));
    assert.equal(mainTrack(model(20)).name, "main");
    const said = (busy) => notes(model(busy)).some((note) => /^1 helper thread worked for 25\u00a0%/.test(note.text));
    assert.ok(said(20));
    assert.ok(!notes(model(70)).some((note) => /helper/.test(note.text)));
    assert.equal(model(20).kernels[0].calls, 1);
});

test("a device that is idle is noticed, one that only copies is not", () => {
    const said = notes(buildModel(device())).map((note) => note.text);
    assert.ok(said.some((text) => /“cuda:0 compute” is idle for \d+\u00a0% of the time/.test(text)));
    assert.ok(!said.some((text) => text.includes("copies” is idle")));
    assert.ok(said.includes("7 plans were compiled in the second half: something changes shape."));
});

test("memory that keeps growing is noticed", () => {
    const time = Array.from({ length: 100 }, (_, i) => i);
    const live = time.map((i) => 1e8 + i * 1e7);
    const model = buildModel(profile({ duration: 100, memory: { time, live, pool: live } }));
    assert.ok(notes(model).some((note) => note.text.startsWith("Memory grows")));
    assert.equal(model.memory.peak.time, 99);
});

test("upperBound finds the first that is greater", () => {
    assert.equal(upperBound([1, 2, 2, 3], 2), 3);
    assert.equal(upperBound([1, 2, 2, 3], 0), 0);
    assert.equal(upperBound([1, 2, 2, 3], 9), 4);
    assert.equal(upperBound([9, 1, 5], 4, [1, 2, 0]), 1);
});
