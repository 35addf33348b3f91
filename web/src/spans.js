// web/src/spans.js: what of a row of events, or of a memory curve, a view of so many pixels can show. Pure.
// The work grows with the pixels, not with the events: what is narrower than a pixel is skipped by binary search.
import { upperBound } from "./model.js";

const kThinnest = 0.4; // pixels: an event on its own stays visible, but does not hide its neighbours
const kLooked = 8;

function longestOf(row, events, from, to) {
    let best = row[from];
    for (let i = from + 1; i < Math.min(to, from + kLooked); ++i)
        if (events.duration[row[i]] > events.duration[best]) best = row[i];
    return best;
}

// Calls emit(x0, x1, event, merged) from left to right, x in pixels from `from`. A merged span stands for all
// events of the row that end inside of it; `event` is then the longest of the first few.
export function visibleSpans(row, events, from, to, width, emit) {
    const scale = width / (to - from);
    let i = upperBound(events.end, from, row);
    while (i < row.length) {
        const event = row[i];
        const x0 = (events.start[event] - from) * scale;
        if (x0 >= width) return;
        const x1 = (events.end[event] - from) * scale;
        if (x1 - x0 >= 1) {
            emit(Math.max(x0, 0), Math.min(x1, width), event, false);
            ++i;
            continue;
        }
        // All that ends within this pixel.
        const pixel = Math.floor(Math.max(x0, 0));
        const next = upperBound(events.end, from + (pixel + 1) / scale, row, i + 1);
        if (next > i + 1) emit(pixel, pixel + 1, longestOf(row, events, i, next), true);
        else emit(Math.max(x0, 0), Math.min(width, Math.max(x1, x0 + kThinnest)), event, false);
        i = next;
    }
}

// The event of a row at time t, or the nearest one within `slack` nanoseconds; -1: none.
export function eventAt(row, events, t, slack) {
    const i = upperBound(events.end, t, row);
    let best = -1;
    let distance = slack;
    for (const j of [i - 1, i]) {
        if (j < 0 || j >= row.length) continue;
        const event = row[j];
        const d = Math.max(events.start[event] - t, t - events.end[event], 0);
        if (d <= distance && (best < 0 || d < distance)) {
            best = event;
            distance = d;
        }
    }
    return best;
}

// A step curve with at most two points per pixel: the lowest and the highest value in it, so that no peak is lost.
// Returns [times, values of the first curve, …]; begins with the value that holds at `from`.
export function thinned(time, curves, from, to, width) {
    const first = Math.max(0, upperBound(time, from) - 1);
    const end = Math.min(time.length, upperBound(time, to) + 1);
    const out = [[], ...curves.map(() => [])];
    const push = (t, i) => {
        out[0].push(t);
        curves.forEach((curve, c) => out[c + 1].push(curve[i]));
    };
    if (end - first <= 2 * width) {
        for (let i = first; i < end; ++i) push(time[i], i);
        return out;
    }
    const per = (to - from) / width;
    for (let i = first; i < end; ) {
        const stop = Math.max(i + 1, upperBound(time, Math.max(from, time[i]) + per, undefined, i));
        const last = Math.min(stop, end);
        let low = i;
        let high = i;
        for (let j = i; j < last; ++j) {
            if (curves[0][j] < curves[0][low]) low = j;
            if (curves[0][j] > curves[0][high]) high = j;
        }
        for (const j of low === high ? [low] : low < high ? [low, high] : [high, low]) push(time[j], j);
        i = last;
    }
    return out;
}
