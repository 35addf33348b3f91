// web/src/model.js: from the JSON of docs/profile-format.md to what the views read. Pure: no view, no document.
// Optional fields may be absent; here they get an empty list, never an invented number.

export const Kind = { kernel: 0, compile: 1, run: 2, wait: 3, data: 4, region: 5, step: 6, copy: 7 };
export const kKindNames = ["kernel", "compile", "run", "wait", "data", "region", "step", "copy"];
export const kPython = 8; // no event: time of a thread outside of all events

export class ProfileError extends Error {}

// The text is that of a .json file, of a page that holds a profile, or of the page's own element.
export function parseProfile(text) {
    let json = text;
    if (/^\s*<(!doctype|html|!--)/i.test(text)) {
        const open = '<script type="application/json" id="profile">';
        const from = text.indexOf(open);
        if (from < 0) throw new ProfileError("This page holds no profile.");
        const to = text.indexOf("</script", from);
        json = text.slice(from + open.length, to < 0 ? undefined : to);
    }
    if (/^\s*(\/\*.*)?$/s.test(json.slice(0, 100))) throw new ProfileError("This page holds no profile yet.");
    let raw;
    try {
        raw = JSON.parse(json);
    } catch (error) {
        throw new ProfileError(`The profile is not valid JSON: ${error.message}`);
    }
    if (raw === null || typeof raw !== "object" || raw.format !== "weft-profile")
        throw new ProfileError('This is not a profile of Weft: "format" is not "weft-profile".');
    if (raw.version > 1)
        throw new ProfileError(
            `The profile has version ${raw.version}; this page reads version 1. A newer Weft can open it.`,
        );
    return raw;
}

export function buildModel(raw) {
    const kernels = (raw.kernels ?? []).map((kernel, index) => ({
        ...kernel,
        index,
        name: kernel.name ?? `kernel ${index}`,
        sites: kernel.sites ?? [],
        ...direction(kernel),
    }));
    const plans = (raw.plans ?? []).map((plan, index) => ({
        ...plan,
        index,
        kernels: plan.kernels ?? [],
        values: plan.values ?? [],
    }));
    const events = readEvents(raw.events ?? {});
    const tracks = (raw.tracks ?? []).map((track, index) => ({
        name: track.name ?? `track ${index}`,
        kind: track.kind ?? "thread",
        index,
    }));
    for (let i = 0; i < events.count; ++i) {
        while (events.track[i] >= tracks.length)
            tracks.push({ name: `track ${tracks.length}`, kind: "thread", index: tracks.length });
    }
    nest(events, tracks);
    const memory = readMemory(raw.memory);
    const model = {
        raw,
        kernels,
        plans,
        tracks,
        events,
        memory,
        title: raw.title ?? "a program",
        duration: raw.duration ?? lastEnd(events, memory),
        machine: raw.machine ?? {},
        files: (raw.files ?? []).map((file) => ({ ...file })), // views add to them; what is saved again stays as it was read
        sites: raw.sites ?? [],
        labels: raw.labels ?? [],
    };
    addMeasured(model);
    return model;
}

// Only what a kernel does for gradients alone is backward work. The kernel itself is, if that comes first: forward kernels often store what
// backward needs of the same line.
function direction({ sites = [], backward = [], both = [] }) {
    const gradients = backward.filter((site) => !both.includes(site));
    return { gradients, isBackward: gradients.includes(sites[0]) };
}

function readEvents(columns) {
    const count = columns.start?.length ?? 0;
    const column = (name, empty) => columns[name] ?? new Array(count).fill(empty);
    const kind = Uint8Array.from(column("kind", Kind.region));
    const start = Float64Array.from(column("start", 0));
    const duration = Float64Array.from(column("duration", 0));
    const end = new Float64Array(count);
    for (let i = 0; i < count; ++i) end[i] = start[i] + duration[i];
    return {
        count,
        kind,
        start,
        duration,
        end,
        track: Int32Array.from(column("track", 0)),
        what: Int32Array.from(column("what", -1)),
        depth: new Uint16Array(count),
        self: Float64Array.from(duration), // less that of the events directly inside
        parent: new Int32Array(count).fill(-1),
    };
}

// Gives each event its depth, and each track its rows: indices of events, by start, none of which overlap.
// A moment (no duration) is in no row; a track lists these on their own.
function nest(events, tracks) {
    const lists = tracks.map(() => []);
    for (let i = 0; i < events.count; ++i) lists[events.track[i]].push(i);
    tracks.forEach((track, t) => {
        const list = lists[t];
        // Equal starts: the longer event is outside.
        list.sort((a, b) => events.start[a] - events.start[b] || events.duration[b] - events.duration[a] || a - b);
        const rows = [];
        const moments = [];
        const stack = [];
        for (const i of list) {
            while (stack.length && events.end[stack[stack.length - 1]] <= events.start[i]) stack.pop();
            if (events.duration[i] === 0) {
                moments.push(i);
                continue;
            }
            const depth = stack.length;
            events.depth[i] = depth;
            if (depth) {
                const parent = stack[depth - 1];
                events.parent[i] = parent;
                events.self[parent] -= events.duration[i];
            }
            (rows[depth] ??= []).push(i);
            stack.push(i);
        }
        track.rows = rows.map((row) => Int32Array.from(row));
        track.moments = Int32Array.from(moments);
        track.count = list.length;
    });
    for (let i = 0; i < events.count; ++i) if (events.self[i] < 0) events.self[i] = 0;
}

function readMemory(memory) {
    if (!memory?.time?.length)
        return { time: new Float64Array(0), live: new Float64Array(0), pool: new Float64Array(0), peak: memory?.peak };
    const column = (values) => (values ? Float64Array.from(values) : new Float64Array(memory.time.length));
    const result = {
        time: Float64Array.from(memory.time),
        live: column(memory.live),
        pool: column(memory.pool),
        peak: memory.peak,
    };
    if (!result.peak && memory.live) {
        let at = 0;
        for (let i = 1; i < result.live.length; ++i) if (result.live[i] > result.live[at]) at = i;
        result.peak = { time: result.time[at], bytes: result.live[at] };
    }
    return result;
}

function lastEnd(events, memory) {
    let last = memory.time.length ? memory.time[memory.time.length - 1] : 0;
    for (let i = 0; i < events.count; ++i) if (events.end[i] > last) last = events.end[i];
    return last;
}

// Calls and times of a kernel that does not say them, counted from its events on threads and streams (a worker only helps).
function addMeasured(model) {
    const { kernels, events, tracks } = model;
    const calls = new Float64Array(kernels.length);
    const total = new Float64Array(kernels.length);
    const best = new Float64Array(kernels.length).fill(Infinity);
    for (let i = 0; i < events.count; ++i) {
        const k = events.what[i];
        if (events.kind[i] !== Kind.kernel || k < 0 || k >= kernels.length || tracks[events.track[i]].kind === "worker")
            continue;
        calls[k] += 1;
        total[k] += events.duration[i];
        best[k] = Math.min(best[k], events.duration[i]);
    }
    kernels.forEach((kernel, k) => {
        kernel.calls ??= calls[k];
        kernel.time ??= total[k];
        if (kernel.best === undefined && best[k] !== Infinity) kernel.best = best[k];
        kernel.mean = kernel.calls ? kernel.time / kernel.calls : undefined;
        Object.assign(kernel, rates(kernel, kernel.mean));
    });
}

// What a kernel reaches in `time` nanoseconds; undefined where the profile does not say enough.
export function rates(kernel, time) {
    const known = kernel.reads !== undefined || kernel.writes !== undefined;
    const moved = known ? (kernel.reads ?? 0) + (kernel.writes ?? 0) : undefined;
    const per = (x) => (x === undefined || !time ? undefined : (x / time) * 1e9);
    return {
        moved,
        bandwidth: per(moved), // bytes per second
        rate: per(kernel.flops), // operations per second
        ofLimit: kernel.limit === undefined || !time ? undefined : kernel.limit / time,
    };
}

export function eventName(model, i) {
    const kind = model.events.kind[i];
    const what = model.events.what[i];
    if (kind === Kind.kernel) return model.kernels[what]?.name ?? "kernel";
    if (kind === Kind.compile) return what >= 0 ? `compile plan ${what}` : "compile";
    if (kind === Kind.run) return what >= 0 ? `run plan ${what}` : "run";
    return model.labels[what] ?? kKindNames[kind] ?? "event";
}

export function siteText(model, index) {
    const site = model.sites[index];
    if (!site) return undefined;
    const place = site.file === undefined ? undefined : `${model.files[site.file]?.path ?? "?"}:${site.line}`;
    return [site.module, site.op, place].filter(Boolean).join(" · ");
}

export const lineText = (model, file, line) => `${model.files[file]?.path ?? "?"}:${line}`;

// First index at which `row[index]`'s value in `key` is greater than `x`. Values ascend.
export function upperBound(key, x, row, from = 0) {
    let low = from;
    let high = row ? row.length : key.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((row ? key[row[middle]] : key[middle]) > x) high = middle;
        else low = middle + 1;
    }
    return low;
}
