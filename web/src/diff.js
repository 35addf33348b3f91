// web/src/diff.js: which lines of a text differ from those of another (Myers' algorithm on lines). Pure.

const kMost = 4000; // edits; beyond, the texts have little in common and everything is shown as new

// [{kind: "same" | "added" | "removed", text}] in reading order; a removed line stands before what replaced it.
export function diffLines(before, after) {
    const a = before.split("\n");
    const b = after.split("\n");
    let head = 0;
    while (head < a.length && head < b.length && a[head] === b[head]) ++head;
    let tail = 0;
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail])
        ++tail;
    const same = (lines) => lines.map((text) => ({ kind: "same", text }));
    return [
        ...same(a.slice(0, head)),
        ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
        ...same(a.slice(a.length - tail)),
    ];
}

function middle(a, b) {
    const trace = shortestEdit(a, b);
    if (!trace) return [...a.map((text) => ({ kind: "removed", text })), ...b.map((text) => ({ kind: "added", text }))];
    const result = [];
    let x = a.length;
    let y = b.length;
    for (let d = trace.length - 1; d > 0; --d) {
        const reached = trace[d - 1];
        const k = x - y;
        const down = k === -d || (k !== d && at(reached, k - 1) < at(reached, k + 1));
        const previous = down ? k + 1 : k - 1;
        const px = at(reached, previous);
        const py = px - previous;
        while (x > px && y > py && x > 0 && y > 0 && a[x - 1] === b[y - 1]) {
            result.push({ kind: "same", text: a[--x] });
            --y;
        }
        if (down) result.push({ kind: "added", text: b[--y] });
        else result.push({ kind: "removed", text: a[--x] });
    }
    while (x > 0) result.push({ kind: "same", text: a[--x] });
    return removedFirst(result.reverse());
}

const at = (reached, k) => reached.get(k) ?? -1;

// For each number of edits, how far each diagonal gets in `a`; undefined where it would take too many.
function shortestEdit(a, b) {
    const trace = [];
    let reached = new Map();
    for (let d = 0; d <= a.length + b.length; ++d) {
        if (d * d > kMost * 100) return undefined;
        const next = new Map(reached);
        for (let k = -d; k <= d; k += 2) {
            let x =
                d === 0
                    ? 0
                    : k === -d || (k !== d && at(reached, k - 1) < at(reached, k + 1))
                      ? at(reached, k + 1)
                      : at(reached, k - 1) + 1;
            let y = x - k;
            while (x < a.length && y < b.length && a[x] === b[y]) (++x, ++y);
            next.set(k, x);
            if (x >= a.length && y >= b.length) {
                trace.push(next);
                return trace;
            }
        }
        trace.push(next);
        reached = next;
    }
    return trace;
}

// Inside a run of edits, removed lines come first.
function removedFirst(lines) {
    const result = [];
    for (let i = 0; i < lines.length; ) {
        if (lines[i].kind === "same") {
            result.push(lines[i++]);
            continue;
        }
        let end = i;
        while (end < lines.length && lines[end].kind !== "same") ++end;
        const run = lines.slice(i, end);
        result.push(...run.filter((line) => line.kind === "removed"), ...run.filter((line) => line.kind === "added"));
        i = end;
    }
    return result;
}
