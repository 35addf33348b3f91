// web/src/stats.js: where the time went, by kind, by line and by kernel, and what is worth saying about it in words. Pure.
import { Kind, kPython, upperBound } from "./model.js";
import * as format from "./format.js";

// The parts of the bar, in its order. Regions and steps have no time of their own: outside of other events it is Python's.
const kParts = [
    { kind: Kind.kernel, name: "Kernels" },
    { kind: Kind.compile, name: "Compile" },
    { kind: Kind.run, name: "Run overhead" },
    { kind: Kind.copy, name: "Copies" },
    { kind: Kind.data, name: "Data" },
    { kind: Kind.wait, name: "Waiting" },
    { kind: kPython, name: "Python" },
];

export const partsOf = (model) =>
    kParts.map(({ kind, name }) => ({ kind, name: kind === kPython ? languageOf(model) : name }));

// C++ has no lines.
const languageOf = (model) =>
    model.sites.every((site) => site.file === undefined) && model.sites.length ? "C++" : "Python";

const isFrame = (kind) => kind === Kind.region || kind === Kind.step;

// Nanoseconds of one track by part; they add up to the duration.
export function timeByPart(model, track) {
    const { events } = model;
    const times = new Float64Array(kPython + 1);
    let busy = 0;
    for (const row of track.rows) {
        for (const i of row) {
            if (isFrame(events.kind[i])) continue;
            times[events.kind[i]] += events.self[i];
            busy += events.self[i];
        }
    }
    times[kPython] = Math.max(0, model.duration - busy);
    return times;
}

// The same for a part of the time, and the kernels in it: {times, kernels: [[index, nanoseconds], …]}, the longest first.
// An event counts as far as it is inside; its parent's own time is less by that.
export function timeInRange(model, track, from, to) {
    const { events } = model;
    const times = new Float64Array(kPython + 1);
    const kernels = new Map();
    for (const row of track.rows) {
        for (let r = upperBound(events.end, from, row); r < row.length && events.start[row[r]] < to; ++r) {
            const i = row[r];
            const inside = Math.min(events.end[i], to) - Math.max(events.start[i], from);
            const parent = events.parent[i];
            times[events.kind[i]] += inside;
            if (parent >= 0) times[events.kind[parent]] -= inside;
            if (events.kind[i] === Kind.kernel)
                kernels.set(events.what[i], (kernels.get(events.what[i]) ?? 0) + inside);
        }
    }
    times[Kind.region] = times[Kind.step] = 0;
    times[kPython] = Math.max(0, to - from - times.reduce((a, b) => a + b, 0));
    return { times, kernels: [...kernels].sort((a, b) => b[1] - a[1]) };
}

// The thread that the bar tells about: the one that runs plans and kernels for the longest, else the first. Those that only load data are not it.
export function mainTrack(model) {
    const threads = model.tracks.filter((track) => track.kind === "thread");
    const busy = (track) => {
        const times = timeByPart(model, track);
        return model.duration - times[kPython] - times[Kind.data];
    };
    return threads.reduce((best, track) => (best && busy(best) >= busy(track) ? best : track), undefined);
}

// Time by line. A kernel is one piece of work for all of its lines, so each gets an equal share.
// Map of "file:line" to {file, line, time, backward, bytes, kernels: [{kernel, backward, share}]}; `backward` is part of `time`.
export function linesOf(model) {
    const lines = new Map();
    for (const kernel of model.kernels) {
        const gradients = new Set(kernel.gradients);
        const places = new Map();
        for (const s of [...kernel.sites, ...gradients]) {
            const site = model.sites[s];
            if (!site || site.file === undefined || site.line === undefined) continue;
            const key = `${site.file}:${site.line}`;
            const place = places.get(key) ?? { file: site.file, line: site.line, backward: true };
            place.backward &&= gradients.has(s);
            places.set(key, place);
        }
        for (const [key, place] of places) {
            const line = lines.get(key) ?? {
                key,
                file: place.file,
                line: place.line,
                time: 0,
                backward: 0,
                bytes: 0,
                kernels: [],
            };
            const share = (kernel.time ?? 0) / places.size;
            line.time += share;
            if (place.backward) line.backward += share;
            line.bytes += ((kernel.moved ?? 0) * (kernel.calls ?? 0)) / places.size;
            line.kernels.push({ kernel, backward: place.backward, share });
            lines.set(key, line);
        }
        kernel.lines = [...places]
            .map(([key, place]) => ({ key, ...place }))
            .sort((a, b) => a.file - b.file || a.line - b.line);
    }
    for (const line of lines.values()) line.kernels.sort((a, b) => b.share - a.share);
    return lines;
}

// Time by module, the longest first: [{module, time, site}]; a kernel's time is shared equally among its modules.
export function modulesOf(model) {
    const modules = new Map();
    for (const kernel of model.kernels) {
        const own = new Map();
        for (const s of kernel.sites) if (model.sites[s]?.module) own.set(model.sites[s].module, s);
        for (const [module, site] of own) {
            const entry = modules.get(module) ?? { module, time: 0, site };
            entry.time += (kernel.time ?? 0) / own.size;
            modules.set(module, entry);
        }
    }
    return [...modules.values()].sort((a, b) => b.time - a.time);
}

export function sourceLine(model, file, line) {
    const entry = model.files[file];
    if (entry?.source === undefined) return undefined;
    entry.lines ??= entry.source.split("\n");
    return entry.lines[line - 1];
}

// Kernel time of a plan: of what each of its kernels takes, as often as it runs there.
export const planTime = (model, plan) =>
    plan.kernels.reduce((sum, k) => sum + (model.kernels[k]?.mean ?? 0), 0) * (plan.runs ?? 1);

const sum = (list, value) => list.reduce((total, item) => total + (value(item) ?? 0), 0);

export const stepCount = (model) => {
    let steps = 0;
    for (let i = 0; i < model.events.count; ++i) if (model.events.kind[i] === Kind.step) ++steps;
    return steps;
};

// Sentences for the overview, the most important first. Each is {text, kernel?, tab?}: where to look further.
export function notes(model, track = mainTrack(model)) {
    const found = [];
    const say = (weight, text, more) => found.push({ weight, text, ...more });
    if (track && model.duration > 0) sayParts(model, timeByPart(model, track), say);
    if (track) sayHelpers(model, track, say);
    sayStreams(model, say);
    sayCompiles(model, say);
    sayKernels(model, say);
    sayMemory(model, say);
    const cost = (model.raw.overhead ?? 0) / model.duration;
    if (cost > 0.05) say(cost, `Recording this profile took about ${format.percent(cost)} of the time.`);
    return found.sort((a, b) => b.weight - a.weight);
}

function sayParts(model, times, say) {
    const share = (kind) => times[kind] / model.duration;
    const part = (kind, least, text) => {
        if (share(kind) >= least) say(share(kind), text(format.percent(share(kind))), { tab: "timeline" });
    };
    part(kPython, 0.2, (p) => `${p} of the time is ${languageOf(model)} between runs.`);
    part(
        Kind.run,
        0.15,
        (p) =>
            `${p} of the time is overhead of runs: plans are looked up and kernels launched. Larger batches or weft.jit make it smaller.`,
    );
    part(Kind.data, 0.1, (p) => `${p} of the time the program waits for the next batch of data.`);
    part(Kind.wait, 0.1, (p) => `${p} of the time the thread waits for a device or for another thread.`);
    part(Kind.copy, 0.1, (p) => `${p} of the time goes into copies between devices.`);
    part(Kind.compile, 0.1, (p) => `${p} of the time is compilation. A longer run pays for it once.`);
    if (share(Kind.kernel) >= 0.8)
        say(
            0.1,
            `${format.percent(share(Kind.kernel))} of the time is in kernels: faster kernels make a faster program.`,
            { tab: "kernels" },
        );
}

// Helpers that do nothing for most of the time in which kernels run.
function sayHelpers(model, track, say) {
    const { events } = model;
    const inKernels = (of) =>
        sum(of.rows, (row) => sum(row, (i) => (events.kind[i] === Kind.kernel ? events.duration[i] : 0)));
    const helpers = model.tracks.filter(({ kind }) => kind === "worker");
    const kernels = inKernels(track);
    const busy = sum(helpers, inKernels) / (kernels * helpers.length);
    if (busy < 0.5 && kernels > 0.3 * model.duration)
        say(
            0.4 * (1 - busy),
            `${format.plural(helpers.length, "helper thread")} worked for ${format.percent(busy)} of the kernels' time: kernels are small, or other programs have the cores.`,
            { tab: "timeline" },
        );
}

// A device that computes nothing for most of the time waits for the program. A stream without kernels only copies.
function sayStreams(model, say) {
    for (const track of model.tracks.filter(({ kind }) => kind === "stream")) {
        const times = timeByPart(model, track);
        const idle = times[kPython] / model.duration;
        if (times[Kind.kernel] > 0 && idle > 0.3)
            say(idle * 0.9, `“${track.name}” is idle for ${format.percent(idle)} of the time.`, { tab: "timeline" });
    }
}

function sayCompiles(model, say) {
    const { events } = model;
    const late = new Set();
    let compiles = 0;
    for (let i = 0; i < events.count; ++i) {
        if (events.kind[i] !== Kind.compile) continue;
        ++compiles;
        if (events.start[i] > model.duration / 2) late.add(events.what[i] < 0 ? -1 - i : events.what[i]);
    }
    if (late.size >= 3)
        say(0.5, `${format.plural(late.size, "plan")} were compiled in the second half: something changes shape.`, {
            tab: "plans",
        });
    const once = model.plans.filter((plan) => plan.runs === 1).length;
    if (once >= 5 && once > model.plans.length / 2)
        say(0.15, `${format.count(once)} of ${format.count(model.plans.length)} plans ran only once.`, {
            tab: "plans",
        });
}

function sayKernels(model, say) {
    const total = sum(model.kernels, (kernel) => kernel.time);
    if (!total) return;
    const share = (kernel) => kernel.time / total;
    const slow = model.kernels
        .filter((kernel) => kernel.ofLimit !== undefined && kernel.ofLimit < 0.35 && share(kernel) > 0.05)
        .sort((a, b) => b.time * (1 - b.ofLimit) - a.time * (1 - a.ofLimit))[0];
    if (slow) {
        say(
            share(slow),
            `“${slow.name}” takes ${format.percent(share(slow))} of the kernels' time and reaches ${format.percent(slow.ofLimit)} of what this machine can do.`,
            { tab: "kernels", kernel: slow.index },
        );
    }
    // A few spills outside of the innermost loop cost nothing: kernels near the limit are left out.
    const spilling = model.kernels.filter((kernel) => kernel.spills > 0 && !(kernel.ofLimit > 0.6));
    const spilled = sum(spilling, share);
    if (spilled > 0.03) {
        const many = spilling.length === 1 ? "One kernel spills" : `${format.count(spilling.length)} kernels spill`;
        say(spilled / 2, `${many} registers to memory: ${format.percent(spilled)} of the kernels' time.`, {
            tab: "kernels",
            kernel: spilling.sort((a, b) => b.time - a.time)[0].index,
        });
    }
    const short = model.kernels.filter((kernel) => kernel.mean < 5000);
    const calls = sum(model.kernels, (kernel) => kernel.calls);
    const shortCalls = sum(short, (kernel) => kernel.calls);
    if (shortCalls > 1000 && shortCalls > calls / 2)
        say(
            0.12,
            `${format.percent(shortCalls / calls)} of the launches take less than 5 µs: the program works on small tensors.`,
            { tab: "kernels" },
        );
}

// Memory that is live even at the quietest moment: if it keeps growing, something is kept.
function sayMemory(model, say) {
    const { time, live } = model.memory;
    if (time.length < 40) return;
    const least = (from, to) => {
        const first = upperBound(time, from * model.duration);
        const end = upperBound(time, to * model.duration);
        let smallest = Infinity;
        for (let i = first; i < end; ++i) smallest = Math.min(smallest, live[i]);
        return smallest;
    };
    const early = least(0.25, 0.5);
    const late = least(0.75, 1);
    if (Number.isFinite(early) && Number.isFinite(late) && late > 1.2 * early && late - early > 1e6) {
        say(
            0.3,
            `Memory grows: at least ${format.bytes(early)} were live in the second quarter, ${format.bytes(late)} in the last.`,
            { tab: "timeline" },
        );
    }
}
