// web/src/comparison.js: two profiles, line by line and kernel by kernel. Pure.
// A line is recognised by its file's name and its text, since lines move when a program is edited; without text by its number.
import { linesOf, sourceLine, stepCount } from "./stats.js";

const basename = (path) => path.split(/[/\\]/).pop();

function linesByText(model) {
    const seen = new Map();
    const result = new Map();
    const lines = [...linesOf(model).values()].sort((a, b) => a.file - b.file || a.line - b.line);
    for (const line of lines) {
        const name = basename(model.files[line.file]?.path ?? "?");
        const text = sourceLine(model, line.file, line.line)?.trim();
        const stem = text === undefined ? `${name}:${line.line}` : `${name}\n${text}`;
        const nth = (seen.get(stem) ?? 0) + 1; // the same text may stand on several lines
        seen.set(stem, nth);
        result.set(`${stem}\n${nth}`, {
            label: text ?? "",
            place: `${name}:${line.line}`,
            time: line.time,
            calls: line.kernels.length,
        });
    }
    return result;
}

function kernelsByName(model) {
    const result = new Map();
    for (const kernel of model.kernels) {
        const entry = result.get(kernel.name) ?? { label: kernel.name, time: 0, calls: 0 };
        entry.time += kernel.time ?? 0;
        entry.calls += kernel.calls ?? 0;
        result.set(kernel.name, entry);
    }
    return result;
}

function join(before, after, scaleBefore, scaleAfter) {
    const rows = [];
    for (const key of new Set([...before.keys(), ...after.keys()])) {
        const b = before.get(key);
        const a = after.get(key);
        const was = b && b.time * scaleBefore;
        const is = a && a.time * scaleAfter;
        rows.push({
            label: (a ?? b).label,
            place: (a ?? b).place,
            before: was,
            after: is,
            change: (is ?? 0) - (was ?? 0),
            callsBefore: b?.calls,
            callsAfter: a?.calls,
        });
    }
    return rows.sort((x, y) => Math.abs(y.change) - Math.abs(x.change));
}

// `perStep`: times of one optimiser step, so that runs of different length can be compared.
export function compare(before, after, { perStep = false } = {}) {
    const stepsBefore = stepCount(before);
    const stepsAfter = stepCount(after);
    const scale = (steps) => (perStep && steps ? 1 / steps : 1);
    const b = scale(stepsBefore);
    const a = scale(stepsAfter);
    return {
        canPerStep: stepsBefore > 0 && stepsAfter > 0,
        duration: { before: before.duration * b, after: after.duration * a },
        lines: join(linesByText(before), linesByText(after), b, a),
        kernels: join(kernelsByName(before), kernelsByName(after), b, a),
    };
}
