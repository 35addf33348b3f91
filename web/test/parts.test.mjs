// web/test/parts.test.mjs: formats, diff, spans, roofline, plans, comparison, export.
import assert from "node:assert/strict";
import test from "node:test";
import { compare } from "../src/comparison.js";
import { diffLines } from "../src/diff.js";
import * as format from "../src/format.js";
import { buildModel } from "../src/model.js";
import { arenaRectangles, arenaUse, sharing, stepEdges } from "../src/plan.js";
import { roofAt, roofline, rooflineRange } from "../src/roofline.js";
import { eventAt, thinned, visibleSpans } from "../src/spans.js";
import { placeSteps } from "../src/step_layout.js";
import { TimeWindow } from "../src/time_window.js";
import { tokens } from "../src/python_tokens.js";
import { chromeTrace } from "../src/trace.js";
import { changed, large, small } from "./generate.mjs";

const plain = (text) => text.replaceAll("\u00a0", " ");

test("numbers have three digits and a unit", () => {
    assert.equal(plain(format.time(1234567)), "1.23 ms");
    assert.equal(plain(format.time(999.9)), "1.00 µs");
    assert.equal(plain(format.time(12)), "12.0 ns");
    assert.equal(plain(format.time(0)), "0 s");
    assert.equal(plain(format.time(1234e9)), "1,234 s");
    assert.equal(format.time(undefined), "–");
    assert.equal(plain(format.bytes(67108864)), "67.1 MB");
    assert.equal(plain(format.percent(0.4312)), "43 %");
    assert.equal(plain(format.percent(0.0312)), "3.1 %");
    assert.equal(plain(format.percent(0.0001)), "< 0.1 %");
    assert.equal(plain(format.signedTime(-2e6)), "−2.00 ms");
    assert.equal(plain(format.tick(1500000, 500000, 9e6)), "1.5 ms");
    assert.deepEqual([1, 1.1, 3, 7, 0.04].map(format.niceStep), [1, 2, 5, 10, 0.05]);
});

const apply = (lines, without) =>
    lines
        .filter((line) => line.kind !== without)
        .map((line) => line.text)
        .join("\n");
test("a diff holds both texts and is short", () => {
    const cases = [
        ["a\nb\nc", "a\nx\nc"],
        ["", "a"],
        ["a\nb", "b\na"],
        ["same", "same"],
        ["a\na\na", "a\na"],
        ["x\ny\nz\nw", "1\ny\n2\nw\n3"],
    ];
    for (const [before, after] of cases) {
        const lines = diffLines(before, after);
        assert.equal(apply(lines, "added"), before);
        assert.equal(apply(lines, "removed"), after);
    }
    assert.deepEqual(
        diffLines("a\nb\nc", "a\nx\nc").map((line) => line.kind),
        ["same", "removed", "added", "same"],
    );
    const long = Array.from({ length: 3000 }, (_, i) => `a${i}`).join("\n");
    const other = long.replaceAll("a", "b");
    assert.equal(apply(diffLines(long, other), "removed"), other, "texts without a common line");
});

test("random diffs hold both texts", () => {
    let state = 1;
    const next = () => (state = (state * 48271) % 2147483647);
    for (let round = 0; round < 300; ++round) {
        const text = () => Array.from({ length: next() % 9 }, () => "abc"[next() % 3]).join("\n");
        const before = text();
        const after = text();
        const lines = diffLines(before, after);
        assert.equal(apply(lines, "added"), before);
        assert.equal(apply(lines, "removed"), after);
    }
});

test("spans narrower than a pixel are merged; wide ones are kept and clipped", () => {
    const start = [];
    const end = [];
    for (let i = 0; i < 1000; ++i) (start.push(i), end.push(i + 0.5));
    (start.push(1000), end.push(2000));
    const events = {
            start: Float64Array.from(start),
            end: Float64Array.from(end),
            duration: Float64Array.from(start, (s, i) => end[i] - s),
        },
        row = Int32Array.from(start.keys());
    const spans = [];
    visibleSpans(row, events, 0, 2000, 200, (x0, x1, event, merged) => spans.push({ x0, x1, event, merged }));
    assert.ok(spans.length <= 102);
    assert.deepEqual(spans.at(-1), { x0: 100, x1: 200, event: 1000, merged: false });
    assert.ok(spans[0].merged);
    spans.length = 0;
    visibleSpans(row, events, 1500, 1600, 200, (x0, x1, event) => spans.push([x0, x1, event]));
    assert.deepEqual(spans, [[0, 200, 1000]]);
    assert.equal(eventAt(row, events, 1500, 0), 1000);
    assert.equal(eventAt(row, events, 3.25, 0), 3);
    assert.equal(eventAt(row, events, 3.75, 0), -1);
    assert.equal(eventAt(row, events, 3.7, 0.5), 3);
});

test("a view of many events costs no more than its pixels", () => {
    const model = buildModel(large(20_000));
    const [row] = model.tracks[0].rows.slice(-1);
    let count = 0;
    visibleSpans(row, model.events, 0, model.duration, 1000, () => ++count);
    assert.ok(count > 0 && count <= 2000, `${count} spans`);
});

test("a time window stays inside, and zooms at a point", () => {
    let moves = 0;
    const shown = new TimeWindow(1e6, () => ++moves);
    shown.zoom(0.5, 250_000);
    assert.deepEqual([shown.from, shown.to], [125_000, 625_000]);
    shown.pan(-1);
    assert.deepEqual([shown.from, shown.to], [0, 500_000]);
    shown.pan(9);
    assert.deepEqual([shown.from, shown.to, shown.span], [500_000, 1e6, 500_000]);
    shown.zoom(1e-9, 700_000);
    assert.equal(Math.round(shown.span), 100, "no closer than what can be told apart");
    shown.zoom(1e9);
    assert.equal(`${shown}`, "0-1000000");
    shown.around(400_000, 500_000);
    assert.ok(shown.from < 400_000 && shown.to > 500_000);
    assert.equal(moves, 6);
});

test("a thinned curve keeps its highest point", () => {
    const time = Float64Array.from({ length: 100_000 }, (_, i) => i);
    const live = time.map((i) => (i === 77_777 ? 1e9 : i % 10));
    const [t, v] = thinned(time, [live], 0, 100_000, 500);
    assert.ok(t.length <= 1010);
    assert.equal(Math.max(...v), 1e9);
    const [near] = thinned(time, [live], 50, 60, 500);
    assert.equal(near[0], 50);
});

test("roofline", () => {
    const machine = { bandwidth: 100, flops: 1000 };
    assert.equal(roofAt(1, 100, 1000), 100);
    assert.equal(roofAt(100, 100, 1000), 1000);
    assert.equal(roofAt(1, undefined, undefined), undefined);
    const model = buildModel({
        machine,
        kernels: [
            { name: "a", reads: 6, writes: 4, flops: 100, time: 1e9, calls: 1 },
            { name: "copy", reads: 1, writes: 1, time: 1e9, calls: 1 },
        ],
    });
    const { points, left } = roofline(model);
    assert.deepEqual(
        points.map((p) => [p.intensity, p.rate, p.roof, p.ofRoof]),
        [[10, 100, 1000, 0.1]],
    );
    assert.deepEqual(
        left.map((kernel) => kernel.name),
        ["copy"],
    );
    const range = rooflineRange(points, machine);
    assert.ok(range.x[0] < 1 && range.x[1] > 1 && range.y[1] >= 3);
});

test("edges of a plan: from its steps, else from first and last use", () => {
    const values = [
        { bytes: 8, first: 0, last: 2 },
        { bytes: 4, first: -1, last: 1 },
        { bytes: 2, first: 1, last: 3 },
    ];
    const derived = stepEdges({ kernels: [0, 1, 2], values });
    assert.equal(derived.exact, false);
    assert.deepEqual(
        derived.edges.map((e) => [e.from, e.to, e.bytes]),
        [[0, 2, 8]],
    );
    const listed = stepEdges({
        kernels: [0, 1, 2],
        values,
        steps: [{ writes: [0] }, { reads: [0, 1], writes: [2] }, { reads: [0, 2] }],
    });
    assert.deepEqual(
        listed.edges.map((e) => [e.from, e.to, e.bytes]),
        [
            [0, 1, 8],
            [0, 2, 8],
            [1, 2, 2],
        ],
    );
});

test("values lie in the arena, parts inside their wholes; no two overlap at one step", () => {
    const [plan] = buildModel(small()).plans;
    const rectangles = arenaRectangles(plan);
    const own = rectangles.filter((r) => !r.inside);
    for (const a of own) {
        assert.ok(a.high <= plan.arena);
        for (const b of own)
            if (a !== b && a.low < b.high && b.low < a.high) assert.ok(a.to <= b.from || b.to <= a.from);
    }
    assert.equal(rectangles.length, own.length + 1);
    assert.ok(
        own.some((r) => sharing(rectangles, r).length > 0),
        "bytes are used again",
    );
    assert.ok(arenaUse(plan).total > plan.arena);
    const circle = { kernels: [0], values: [{ where: "inside", whole: 0, bytes: 4, offset: 0 }] };
    assert.deepEqual(arenaRectangles(circle), []);
});

test("kernels of a step are placed without overlap, small and large, with and without backward", () => {
    const [training] = buildModel(small()).plans;
    const check = (nodes, edges) => {
        const placed = placeSteps(nodes, edges);
        assert.equal(placed.paths.length, edges.length);
        for (const a of nodes) {
            assert.ok(
                a.x - a.width / 2 >= 0 && a.x + a.width / 2 <= placed.width && a.y + a.height / 2 <= placed.height,
            );
            for (const b of nodes)
                if (a !== b)
                    assert.ok(
                        Math.abs(a.x - b.x) >= (a.width + b.width) / 2 ||
                            Math.abs(a.y - b.y) >= (a.height + b.height) / 2,
                    );
        }
        return placed;
    };
    const node = (step, backward) => ({
        step,
        kernel: { isBackward: backward },
        width: 200,
        height: 50,
    });
    const model = buildModel(small());
    check(
        training.kernels.map((k, step) => ({ ...node(step), kernel: model.kernels[k] })),
        stepEdges(training).edges,
    );
    const chain = (n) => Array.from({ length: n - 1 }, (_, i) => ({ from: i, to: i + 1 }));
    check(
        Array.from({ length: 12 }, (_, i) => node(i)),
        chain(12),
    );
    check(
        Array.from({ length: 500 }, (_, i) => node(i)),
        chain(500),
    );
    const nodes = Array.from({ length: 21 }, (_, i) => node(i, i >= 10 && i < 20));
    check(nodes, chain(21));
    assert.ok(nodes[10].x > nodes[9].x && nodes[10].y === nodes[9].y, "backward begins beside the end of forward");
    assert.ok(nodes[19].y === nodes[0].y && nodes[20].x > nodes[19].x, "and ends beside its beginning");
    check([node(0)], []);
    const loose = Array.from({ length: 300 }, (_, i) => node(i, i > 150));
    check(loose, []);
    assert.ok(loose[0].y === loose[2].y && loose[0].y < loose[3].y, "three that do not read each other share a row");
    placeSteps(loose, [], { exact: false });
    assert.ok(loose[0].y < loose[1].y, "nothing is known: one below the other");
});

test("profiles are compared by text of lines and by names of kernels", () => {
    const result = compare(buildModel(small()), buildModel(changed()));
    const gelu = result.lines.find((row) => row.label.startsWith("hidden = F.gelu"));
    assert.ok(gelu.before > gelu.after, "a line that moved is still the same line");
    assert.ok(result.lines.every((row) => row.before !== undefined && row.after !== undefined));
    assert.equal(result.kernels[0].label, "layer_norm+linear+gelu 256×256×1024");
    assert.ok(Math.abs(result.kernels[0].change) >= Math.abs(result.kernels[1].change));
    const perStep = compare(buildModel(small()), buildModel(changed()), { perStep: true });
    assert.ok(Math.abs(perStep.kernels[0].before * 40 - result.kernels[0].before) < 1);
});

test("the Chrome trace has every event, names of threads, and memory as a counter", () => {
    const model = buildModel(small());
    const { traceEvents } = JSON.parse(JSON.stringify(chromeTrace(model)));
    const of = (phase) => traceEvents.filter((event) => event.ph === phase);
    assert.equal(of("X").length + of("i").length, model.events.count);
    assert.equal(of("i").length, 40);
    assert.equal(of("C").length, model.memory.time.length);
    assert.ok(of("M").some((event) => event.args.name === "MainThread"));
    const kernel = of("X").find((event) => event.cat === "kernel");
    assert.ok(kernel.dur > 0 && kernel.args.sites[0].includes("train.py:"));
});

test("tokens of Python join to the text they came from", () => {
    const source = 'def f(x):  # why\n    s = """doc\nmore"""\n    return f"{x}" + \'a\\\'b\' if x else None\n';
    const lines = tokens(source);
    assert.equal(lines.map((line) => line.map((t) => t.text).join("")).join("\n"), source);
    const kinds = lines
        .flat()
        .filter((t) => t.kind)
        .map((t) => [t.kind, t.text]);
    assert.deepEqual(kinds.slice(0, 4), [
        ["keyword", "def"],
        ["comment", "# why"],
        ["string", '"""doc'],
        ["string", 'more"""'],
    ]);
});
