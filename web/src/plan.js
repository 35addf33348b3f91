// web/src/plan.js: what follows from a plan: which kernel feeds which, and where in the arena a value lies. Pure.

// Edges {from, to, values, bytes} between steps; `exact` says whether the plan lists what its steps read and write.
// Without that list a value only tells who writes it first and who reads it last.
export function stepEdges(plan) {
    const exact = Array.isArray(plan.steps);
    const edges = new Map();
    const connect = (from, to, value) => {
        if (from === undefined || from < 0 || to >= plan.kernels.length || from >= to) return;
        const key = `${from}>${to}`;
        const edge = edges.get(key) ?? { from, to, values: [], bytes: 0 };
        edge.values.push(value);
        edge.bytes += plan.values[value]?.bytes ?? 0;
        edges.set(key, edge);
    };
    if (exact) {
        const writer = new Map(); // value: the last step so far that wrote it
        plan.steps.forEach((step, s) => {
            for (const value of step.reads ?? []) connect(writer.get(value), s, value);
            for (const value of step.writes ?? []) writer.set(value, s);
        });
    } else {
        plan.values.forEach((value, v) => connect(value.first, value.last, v));
    }
    return { exact, edges: [...edges.values()] };
}

// Rectangles of the memory picture: {value, index, from, to, low, high, inside}. Offsets are absolute in the arena.
export function arenaRectangles(plan) {
    const steps = plan.kernels.length;
    const result = [];
    plan.values.forEach((value, index) => {
        const low = offsetInArena(plan, value);
        if (low === undefined || !value.bytes) return;
        const from = Math.max(0, value.first ?? 0);
        const to = Math.min(steps, (value.last ?? steps) + 1);
        result.push({
            value,
            index,
            from,
            to: Math.max(to, from + 1),
            low,
            high: low + value.bytes,
            inside: value.where === "inside",
        });
    });
    return result;
}

function offsetInArena(plan, value) {
    let offset = 0;
    let current = value;
    for (let depth = 0; depth < 64; ++depth) {
        offset += current.offset ?? 0;
        if (current.where === "arena") return offset;
        if (current.where !== "inside" || current.whole === undefined || !plan.values[current.whole]) return undefined;
        current = plan.values[current.whole];
    }
    return undefined; // a circle: not a plan
}

// How well the arena is used: bytes of all values that lie in it, and the most that are live at one step.
export function arenaUse(plan) {
    const rectangles = arenaRectangles(plan).filter((r) => !r.inside);
    const live = new Float64Array(Math.max(1, plan.kernels.length));
    let total = 0;
    for (const { value, from, to } of rectangles) {
        total += value.bytes;
        for (let s = from; s < Math.min(to, live.length); ++s) live[s] += value.bytes;
    }
    return { total, live, most: live.reduce((a, b) => Math.max(a, b), 0) };
}

// Values that share bytes with this rectangle at another time.
export const sharing = (rectangles, one) =>
    rectangles.filter(
        (r) => r !== one && r.low < one.high && one.low < r.high && (r.from >= one.to || one.from >= r.to),
    );
