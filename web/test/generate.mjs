// web/test/generate.mjs: synthetic profiles that are consistent with docs/profile-format.md: times nest, totals agree, values fit.
// `node generate.mjs small|changed|large|hostile|device|deep|sparse [file]` prints one; with `--page=template` it is put into the page.
import { readFileSync, writeFileSync } from "node:fs";

// A small generator of numbers, the same on every machine.
function random(seed) {
    let state = seed >>> 0;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}

const kSource = `"""Trains a small transformer on text."""

import weft
import weft.nn as nn
import weft.nn.functional as F


class Attention(nn.Module):
    def __init__(self, features, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(features, 3 * features)
        self.out = nn.Linear(features, features)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).transpose(1, 3).unbind(2)
        scores = q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5
        weights = F.softmax(scores.masked_fill(self.mask, -1e9), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        hidden = F.gelu(self.up(self.norm2(x)))  # four times as wide
        return x + self.down(hidden)


def step(model, batch, optimiser):
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()


for batch in loader:
    print(step(model, batch, optimiser))
`;

const lineOf = (text) => kSource.split("\n").findIndex((line) => line.includes(text)) + 1;

// [op, text of its line, module, function]
const kSites = [
    ["linear", "self.qkv(x)", "blocks.0.attention.qkv", "forward"],
    ["matmul", "scores = q @ k", "blocks.0.attention", "forward"],
    ["softmax", "F.softmax", "blocks.0.attention", "forward"],
    ["matmul", "weights @ v", "blocks.0.attention", "forward"],
    ["linear", "self.out((", "blocks.0.attention.out", "forward"],
    ["layer_norm", "self.norm1(x)", "blocks.0.norm1", "forward"],
    ["layer_norm", "F.gelu", "blocks.0.norm2", "forward"],
    ["gelu", "F.gelu", "blocks.0", "forward"],
    ["linear", "self.down(hidden)", "blocks.0.down", "forward"],
    ["cross_entropy", "F.cross_entropy", undefined, "step"],
    ["step", "optimiser.step()", undefined, "step"],
    ["linear", "logits = model", "head", "step"],
];

const kB = 2;
const kT = 128;
const kC = 256;
const kRows = kB * kT;
// [name, kind, sites, gradient?, reads (floats), writes (floats), operations, part of the limit that it reaches, spills]
// prettier-ignore
const kShapes = [
    ["layer_norm 256×256", "row", [5], false, kRows * kC, kRows * kC, 8 * kRows * kC, 0.82, 0],
    ["linear 256×256×768", "contraction", [0], false, kRows * kC + 3 * kC * kC, 3 * kRows * kC, 6 * kRows * kC * kC, 0.91, 0],
    ["matmul+scale 128×128×32", "contraction", [1], false, 2 * kRows * kC, kRows * 8 * kT, 2 * kRows * kT * kC, 0.55, 0],
    ["masked_fill+softmax 2048×128", "row", [2], false, kRows * 8 * kT, kRows * 8 * kT, 24 * kRows * 8 * kT, 0.71, 0],
    ["matmul 128×32×128", "contraction", [3], false, kRows * 8 * kT + kRows * kC, kRows * kC, 2 * kRows * kT * kC, 0.48, 0],
    ["linear+add 256×256×256", "contraction", [4], false, 2 * kRows * kC + kC * kC, kRows * kC, 2 * kRows * kC * kC, 0.84, 0],
    ["layer_norm+linear+gelu 256×256×1024", "contraction", [6, 7], false, kRows * kC + 4 * kC * kC, 4 * kRows * kC, 8 * kRows * kC * kC + 90 * kRows * kC, 0.31, 14],
    ["linear+add 256×1024×256", "contraction", [8], false, 5 * kRows * kC + 4 * kC * kC, kRows * kC, 8 * kRows * kC * kC, 0.88, 0],
    ["linear 256×256×512", "contraction", [11], false, kRows * kC + 2 * kC * kC, 2 * kRows * kC, 4 * kRows * kC * kC, 0.87, 0],
    ["cross_entropy 256×512", "row", [9], false, 2 * kRows * kC, 1, 40 * kRows * kC, 0.66, 0],
    ["cross_entropy' 256×512", "map", [9], true, 2 * kRows * kC, 2 * kRows * kC, 8 * kRows * kC, 0.78, 0],
    ["linear' 512×256×256", "contraction", [11], true, 3 * kRows * kC, 2 * kC * kC, 4 * kRows * kC * kC, 0.79, 0],
    ["linear'+gelu' 256×256×1024", "contraction", [8, 7], true, 5 * kRows * kC, 4 * kRows * kC, 8 * kRows * kC * kC + 120 * kRows * kC, 0.42, 6],
    ["linear' 1024×256×256", "contraction", [8], true, 5 * kRows * kC, 4 * kC * kC, 8 * kRows * kC * kC, 0.81, 0],
    ["softmax' 2048×128", "row", [2], true, 2 * kRows * 8 * kT, kRows * 8 * kT, 8 * kRows * 8 * kT, 0.74, 0],
    ["matmul' 128×128×32", "contraction", [1, 3], true, kRows * 8 * kT + 2 * kRows * kC, 2 * kRows * kC, 4 * kRows * kT * kC, 0.5, 0],
    ["linear' 768×256×256", "contraction", [0], true, 4 * kRows * kC, 3 * kC * kC, 6 * kRows * kC * kC, 0.8, 0],
    ["layer_norm' 256×256", "row", [5, 6], true, 3 * kRows * kC, kRows * kC, 20 * kRows * kC, 0.62, 0],
    ["copy 786432", "map", [0], true, 3 * kC * kC * 4, 3 * kC * kC * 4, 0, 0.9, 0],
    ["adamw ×14", "map", [10], false, 4 * 12 * kC * kC, 3 * 12 * kC * kC, 14 * 12 * kC * kC, 0.93, 0],
];

const kMachine = {
    cpu: "AMD EPYC 9R14",
    level: "avx512",
    backend: "x86: machine code, AVX-512",
    threads: 2,
    caches: [32768, 1048576, 33554432],
    bandwidth: 2.1e10,
    flops: 1.9e11,
};

function loops(name) {
    const lower = `for i in 0..2048 (m)\n  for j in 0..1024 (n)\n    s = 0\n    for k in 0..256 (k)\n      s = s + x[i, k] * w[j, k]\n    out[i, j] = gelu(s + bias[j])`;
    const tile = `for i0 in 0..256 (m) step 8\n  pack x[i0.., 0..256] into a[8, 256]\n  for j0 in 0..1024 (n) step 48\n    s[8, 48] = 0\n    for k in 0..256 (k)\n      s = s + a[.., k] * w[j0.., k]\n    out[i0.., j0..] = gelu(s + bias[j0..])`;
    const parallel = tile.replace("for i0 in 0..256 (m) step 8", "parallel c in 0..32\nfor i0 in chunk(c) step 8");
    const vector = parallel
        .replace("s[8, 48] = 0", "s[8, 3 × f32x16] = 0")
        .replace("s = s + a[.., k] * w[j0.., k]", "s = fma(broadcast a[.., k], w[j0.., k] as f32x16, s)");
    return [
        { name: "lower", loops: `// ${name}\n${lower}` },
        { name: "tile", loops: `// ${name}\n${tile}` },
        { name: "parallel", loops: `// ${name}\n${parallel}` },
        { name: "vector", loops: `// ${name}\n${vector}` },
    ];
}

function assembly() {
    const lines = ["L0:"];
    for (let i = 0; i < 8; ++i)
        lines.push(
            `    vbroadcastss zmm${24 + (i % 4)}, [rsi + ${i * 1024}]`,
            `    vfmadd231ps zmm${3 * i}, zmm${24 + (i % 4)}, [rdx]`,
            `    vfmadd231ps zmm${3 * i + 1}, zmm${24 + (i % 4)}, [rdx + 64]`,
        );
    return [...lines, "    add rdx, 192", "    sub rcx, 1", "    jnz L0", "    vmovups [rdi], zmm0", "    ret"].join(
        "\n",
    );
}

function makeKernels(slower) {
    return kShapes.map(([name, kind, sites, gradient, reads, writes, flops, part, spills], index) => {
        const moved = 4 * (reads + writes);
        const limit = Math.round(Math.max(moved / kMachine.bandwidth, flops / kMachine.flops) * 1e9);
        const kernel = {
            name,
            kind,
            sites,
            plan: 0,
            step: index,
            reason:
                kind === "contraction"
                    ? "a contraction starts a kernel"
                    : kind === "row"
                      ? "a reduction that is read along another axis"
                      : "its inputs are results of other kernels",
            compute: `%0 = param f32[256, 256]\n%1 = param f32[${writes}]\n%2 = mul %0, %1\n%3 = sum %2, axis 1\n%4 = ${name.split(/[ +]/)[0].replace("'", "_grad")} %3`,
            stored: ["result 0: other kernels read it"],
            inside: kind === "map" ? ["result 0 in f32[64, 32] at [3, 0]"] : [],
            schedule: ["columns in lanes: 3 vectors of 16", "register tile 8 × 48", "32 chunks for 2 threads"],
            passes: loops(name),
            source: assembly(),
            registers: 31,
            spills,
            reads: 4 * reads,
            writes: 4 * writes,
            scratch: 4096,
            calls: 0,
            time: 0,
            best: Infinity,
            limit,
            base: (limit / part) * (slower?.[index] ?? 1),
        };
        if (flops) kernel.flops = flops;
        if (gradient) kernel.backward = sites;
        return kernel;
    });
}

// The lowest offset at which a value overlaps none of those that are still read; returns its end.
function firstFit(placed, value) {
    let offset = 0;
    for (const other of placed.filter((p) => p.last >= value.first).sort((a, b) => a.offset - b.offset)) {
        if (other.offset >= offset + value.bytes) break;
        offset = Math.max(offset, other.offset + other.bytes);
    }
    value.offset = offset;
    placed.push(value);
    return offset + value.bytes;
}

// Values of the plan: each kernel's result lives until its last reader; first-fit gives offsets in the arena.
function makePlan(kernels, runs) {
    const count = kernels.length;
    const lastRead = (s) => Math.min(count - 1, s < 10 ? (s % 3 === 0 ? count - 2 - s : s + 1) : s + 1);
    const values = [
        { type: "f32[256, 256]", bytes: 4 * kRows * kC, where: "leaf", leaf: 0, first: -1, last: count - 3 },
        { type: "f32[786432]", bytes: 4 * 12 * kC * kC, where: "donated", leaf: 1, first: -1, last: count },
    ];
    const steps = kernels.map(() => ({ reads: [], writes: [] }));
    steps[0].reads.push(0);
    steps[count - 1].reads.push(1);
    const placed = [];
    let arena = 0;
    kernels.forEach((kernel, s) => {
        const index = values.length;
        const last = s === 9 ? count : lastRead(s);
        const value = {
            type: `f32[${kernel.writes / 4}]`,
            bytes: kernel.writes,
            where: s === 9 || s === count - 1 ? "output" : "arena",
            first: s,
            last,
            site: kernel.sites[0],
        };
        steps[s].writes.push(index);
        if (s + 1 < count) steps[s + 1].reads.push(index);
        if (last > s + 1 && last < count) steps[last].reads.push(index);
        if (value.where === "arena") {
            arena = Math.max(arena, firstFit(placed, value));
        }
        values.push(value);
    });
    const whole = values.findIndex((value) => value.where === "arena" && value.bytes > 1e5);
    values.push({
        type: "f32[256, 256]",
        bytes: Math.floor(values[whole].bytes / 4),
        where: "inside",
        whole,
        offset: 0,
        first: values[whole].first,
        last: values[whole].last,
        site: 0,
    });
    return {
        kernels: kernels.map((_, i) => i),
        runs,
        arena,
        values,
        steps,
        graph: "%0 = param f32[256, 256]\n%1 = const 1\n%2 = mul %0, %1\n%3 = reshape %2 [256, 8, 32]\n%4 = add %3, 0\n%5 = transpose %4\n%6 = transpose %5\n%7 = sum %6, axis 1",
        simplified: "%0 = param f32[256, 256]\n%3 = reshape %0 [256, 8, 32]\n%7 = sum %3, axis 1",
        rules: [
            ["mul-one", 3],
            ["add-zero", 2],
            ["transpose-transpose", 7],
        ],
    };
}

// Collects events out of order, gives columns in order.
function recorder() {
    const list = [];
    return {
        add: (kind, start, duration, track, what) =>
            list.push([kind, Math.round(start), Math.round(duration), track, what]),
        columns() {
            list.sort((a, b) => a[1] - b[1] || b[2] - a[2]);
            const column = (i) => list.map((event) => event[i]);
            return { kind: column(0), start: column(1), duration: column(2), track: column(3), what: column(4) };
        },
        get count() {
            return list.length;
        },
    };
}

const kLabels = ["step", "model", "blocks.0", "next batch", "optimiser", "backward", "join workers"];

export function training({ steps = 40, seed = 7, slower, compiles = [0, 1], title = "train.py", blocks = 2 } = {}) {
    const next = random(seed);
    const kernels = makeKernels(slower);
    const events = recorder();
    const memory = { time: [], live: [], pool: [] };
    const peak = { time: 0, bytes: 0 };
    const state = 12e6;
    const note = (time, live) => {
        memory.time.push(Math.round(time));
        memory.live.push(Math.round(live));
        memory.pool.push(Math.max(memory.pool[memory.pool.length - 1] ?? 0, Math.ceil(live / 2e6) * 2e6));
        if (live > peak.bytes) Object.assign(peak, { time: Math.round(time), bytes: Math.round(live) });
    };
    let t = 2e6;
    note(0, 0);
    note(t, state);
    for (let s = 0; s < steps; ++s) {
        events.add(4, t, 9e5 + next() * 8e5, 0, 3);
        t += 2.2e6 + next() * 16e5;
        const begin = t;
        t += 1.5e5; // Python builds the graph
        events.add(5, begin + 2e4, 1.2e5, 0, 1);
        const run = t;
        if (compiles.includes(s)) {
            const took = 3e7 + next() * 1e7;
            events.add(1, t + 1e4, took, 0, 0);
            t += took + 2e4;
        }
        t += 3e5;
        kernels.forEach((kernel, k) => {
            const repeat = k >= 18 || (k >= 8 && k <= 11) ? 1 : blocks;
            for (let r = 0; r < repeat; ++r) {
                const took = Math.round(kernel.base * (1 + 0.25 * next() ** 3));
                events.add(0, t, took, 0, k);
                if (took > 3e4) events.add(0, t + 2e3, took - 5e3 - next() * 2e3, 1, k);
                kernel.calls += 1;
                kernel.time += took;
                kernel.best = Math.min(kernel.best, took);
                t += took + 1e3 + next() * 2e3;
                note(t, state + (k < 10 ? (k + 1) * 8e5 : (20 - k) * 8e5) + next() * 1e5);
            }
        });
        events.add(2, run, t - run, 0, 0);
        t += 3e4;
        events.add(3, t, 2e4, 0, 6);
        t += 4e4;
        events.add(5, begin, t - begin, 0, 0);
        events.add(6, t, 0, 0, 4);
        t += 5e4;
    }
    for (const kernel of kernels) delete kernel.base;
    peak.holders = [
        ["f32[256, 1024]", 1048576, 7],
        ["f32[2, 8, 128, 128]", 1048576, 2],
        ["f32[786432]", 3145728, 10],
        ["f32[256, 768]", 786432, 0],
    ]
        .map(([type, bytes, site]) => ({ type, bytes, site }))
        .sort((a, b) => b.bytes - a.bytes);
    return {
        format: "weft-profile",
        version: 1,
        weft: "0.1.0",
        title,
        began: "2026-11-17T20:15:00Z",
        duration: Math.round(t + 1e6),
        overhead: Math.round(t * 0.006),
        machine: { ...kMachine },
        files: [
            { path: "train.py", source: kSource },
            { path: "lib/data.py", source: "# batches of text\n\n\ndef batches(text):\n    yield from text\n" },
        ],
        sites: kSites.map(([op, text, module, name]) => ({
            file: 0,
            line: lineOf(text),
            function: name,
            op,
            ...(module && { module }),
        })),
        kernels,
        plans: [makePlan(kernels, steps)],
        tracks: [
            { name: "MainThread", kind: "thread" },
            { name: "worker 1", kind: "worker" },
        ],
        labels: [...kLabels],
        events: events.columns(),
        memory: { ...memory, peak },
    };
}

export const small = () => training();
// The same program after an edit: one kernel is faster, another slower, and a line moved.
export function changed() {
    const slower = [];
    slower[6] = 0.4;
    slower[3] = 1.5;
    const profile = training({ slower, seed: 11 });
    profile.files[0].source = "# edited\n" + kSource;
    for (const site of profile.sites) site.line += 1;
    return profile;
}

export const large = (wanted = 200_000) =>
    training({ steps: Math.ceil(wanted / 68), blocks: 2, title: "long.py", compiles: [0, 1] });

// A device computes while the thread waits; shapes change, so that plans are compiled until the end.
export function device() {
    const next = random(5);
    const base = training({ steps: 1 });
    const events = recorder();
    const plans = Array.from({ length: 14 }, (_, p) => ({ ...base.plans[0], runs: p === 0 ? 200 : 1 }));
    for (const kernel of base.kernels) Object.assign(kernel, { calls: 0, time: 0, best: Infinity });
    let t = 1e6;
    for (let s = 0; s < 213; ++s) {
        const plan = s % 16 === 0 && s > 0 ? s / 16 : 0;
        const begin = t;
        if (plan || s === 0) {
            events.add(1, t + 1e4, 8e6, 0, plan);
            t += 8.1e6;
        }
        events.add(2, begin, t + 2e5 - begin, 0, plan);
        let d = t + 5e4; // on the device
        events.add(7, d, 1.5e5, 2, 3);
        d += 2e5;
        base.kernels.forEach((kernel, k) => {
            const took = Math.round(kernel.limit * 0.2 * (1 + next()));
            events.add(0, d, took, 1, k);
            kernel.calls += 1;
            kernel.time += took;
            kernel.best = Math.min(kernel.best, took);
            d += took + 500;
        });
        t += 3e5;
        events.add(3, t, d - t, 0, 6);
        t = d + 5e4 + next() * 2e6;
        events.add(6, t, 0, 0, 4);
    }
    return {
        ...base,
        title: "device.py",
        duration: Math.round(t + 1e6),
        plans,
        events: events.columns(),
        memory: undefined,
        tracks: [
            { name: "MainThread", kind: "thread" },
            { name: "cuda:0 compute", kind: "stream" },
            { name: "cuda:0 copies", kind: "stream" },
            { name: "idle", kind: "thread" },
        ],
    };
}

// A deep model: a plan with hundreds of kernels. It does not list what its steps read.
export function deep(blocks = 24) {
    const profile = training({ steps: 2 });
    const all = profile.kernels.map((_, k) => k);
    const part = (from, to) => Array.from({ length: blocks }).flatMap(() => all.slice(from, to));
    const kernels = [...part(0, 8), 8, 9, 10, 11, ...part(12, 18), 18, 19];
    const values = kernels.map((k, s) => ({
        type: "f32[256, 256]",
        bytes: 262144,
        where: "arena",
        first: s,
        last: s < 8 * blocks && s % 3 === 0 ? Math.floor(kernels.length - 3 - s * 0.7) : s + 1,
        site: k % 12,
    }));
    const placed = [];
    profile.plans = [{ kernels, runs: 2, arena: Math.max(...values.map((value) => firstFit(placed, value))), values }];
    return profile;
}

// Only what must be there: names, events and a few lines.
export function sparse() {
    const { format, version, events, tracks, labels, sites, files, kernels } = training({ steps: 2 });
    return {
        format,
        version,
        events,
        tracks,
        labels,
        sites: sites.map((site, i) => (i % 3 ? { file: site.file, line: site.line } : { op: site.op })),
        files: files.map(({ path }) => ({ path })),
        kernels: kernels.map(({ name, sites: own }, i) => (i % 2 ? { name, sites: own } : { name })),
        plans: [{ kernels: [0, 1, 2] }, { kernels: [] }],
    };
}

export const kAttack = `</script><img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`;
// Every string that a program can choose is markup.
export function hostile() {
    const profile = training({ steps: 4 });
    const attack = (text) => `${kAttack}${text ?? ""}`;
    const walk = (object) => {
        for (const [key, value] of Object.entries(object)) {
            if (["format", "kind", "where", "began"].includes(key)) continue;
            if (typeof value === "string") object[key] = attack(value);
            else if (value && typeof value === "object") walk(value);
        }
    };
    walk(profile);
    return profile;
}

// As the library writes it: text in the page's element, where "<" would end the element.
export const pageOf = (template, profile) =>
    template.replace("/*PROFILE*/", () => JSON.stringify(profile).replaceAll("<", "\\u003c"));

if (process.argv[1] && import.meta.url.endsWith("/generate.mjs") && process.argv[1].endsWith("generate.mjs")) {
    const [which = "small", file] = process.argv.slice(2).filter((a) => !a.startsWith("--"));
    const profile = { small, changed, large, hostile, device, deep, sparse }[which]();
    const template = process.argv.find((a) => a.startsWith("--page="))?.slice(7);
    const text = template ? pageOf(readFileSync(template, "utf8"), profile) : JSON.stringify(profile);
    if (file) writeFileSync(file, text);
    else process.stdout.write(text);
}
