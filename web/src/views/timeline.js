// web/src/views/timeline.js: events over time, one lane per track, and memory below on the same axis.
// Whatever moves the window or selects asks for one frame; only a frame draws.
import { clickable, frame, h, replace } from "../dom.js";
import * as format from "../format.js";
import { legend } from "../marks.js";
import { eventName, upperBound } from "../model.js";
import { eventAt } from "../spans.js";
import { mainTrack } from "../stats.js";
import { TimeWindow } from "../time_window.js";
import { eventDetails, peakDetails, rangeDetails } from "./event_details.js";
import { memoryChart } from "./memory_chart.js";
import { drawLanes, drawStrip, kLabelWidth, kRow, layout, paletteOf } from "./timeline_draw.js";
import { listen } from "./timeline_input.js";

const kSettled = 250; // milliseconds without a move
const kLegend = [
    ["kernel", "kernel"],
    ["compile", "compile"],
    ["run", "run overhead"],
    ["wait", "wait"],
    ["data", "data"],
    ["copy", "copy"],
    ["region", "region"],
    ["step", "optimiser step"],
];

export function timelineView(app) {
    const { model } = app;
    const { events } = model;
    const { lanes, height } = layout(model);
    const busiest = mainTrack(model) ?? model.tracks[0];
    const shown = new TimeWindow(model.duration, () => {
        draw();
        settleSoon();
    });
    // `chosen` is what the side tells about: {event}, {range} (measured), {peak}, or nothing: then the window.
    const state = { width: 0, palette: undefined, chosen: {}, hovered: -1, drawn: false };
    const parts = elements(model, shown, height);
    const { element, side, tip } = parts;
    const chart =
        parts.memory &&
        memoryChart({ model, parent: parts.memory, view: shown, color: (name) => app.color(name), onpeak: showPeak });

    const draw = frame(() => {
        if (element.hidden || !state.width) return;
        const { width, palette, hovered, chosen } = state;
        const tall = Math.max(height, parts.lanes.clientHeight);
        drawLanes({
            canvas: parts.canvas,
            model,
            lanes,
            height: tall,
            view: shown,
            width,
            palette,
            hovered,
            selected: chosen.event,
            measured: chosen.range,
        });
        drawStrip({ canvas: parts.strip, model, track: busiest, view: shown, width, palette });
        chart?.draw(width, parts.memory.clientHeight);
        parts.range.textContent = `${format.time(shown.from)} to ${format.time(shown.to)} · ${format.time(shown.span)}`;
        if (!state.drawn) setTimeout(() => performance.mark("timeline-drawn")); // after the frame
        state.drawn = true;
    });

    // What follows the window only once it stands still: the address, and the sums beside it.
    let settled;
    function settleSoon() {
        clearTimeout(settled);
        settled = setTimeout(() => {
            if (element.hidden) return;
            const { event, range, peak } = state.chosen;
            if (event === undefined && !range && !peak) showWindow();
            app.keep("timeline", event === undefined ? `${shown}` : `${shown}/e${event}`);
        }, kSettled);
    }

    // ---- what the side tells ----
    function showWindow() {
        const hint =
            "Click an event to see what it is. Turn the wheel to zoom at the cursor, drag to move, drag with Shift to measure.";
        const counted = `${format.count(events.count)} events on ${format.plural(lanes.length, "track")}.`;
        replace(
            side,
            rangeDetails(app, busiest, shown.from, shown.to),
            h("p", { class: "dim gap" }, hint),
            h("p", { class: "dim" }, counted),
        );
    }
    function choose(chosen, ...content) {
        state.chosen = chosen;
        if (content.length) replace(side, content);
        else showWindow();
        draw();
        settleSoon();
    }
    const zoomButton = (action, key) =>
        h("p", { class: "gap" }, h("button", { onclick: action }, "Zoom to it ", key && h("kbd", null, key)));
    const zoomTo = (i) => shown.around(events.start[i], events.end[i]);
    function select(i) {
        if (i < 0) return choose({});
        choose(
            { event: i },
            eventDetails(app, i),
            zoomButton(() => zoomTo(i), "f"),
        );
    }
    function measure(from, to) {
        choose(
            { range: { from, to } },
            rangeDetails(app, busiest, from, to, "Measured"),
            zoomButton(() => shown.set(from, to)),
        );
    }
    function showPeak() {
        choose({ peak: true }, peakDetails(app));
    }

    // ---- pointer ----
    const timeAt = (x) => shown.from + ((x - kLabelWidth) / (state.width - kLabelWidth)) * shown.span;
    function under(pointer) {
        const box = parts.canvas.getBoundingClientRect();
        const x = pointer.clientX - box.left;
        const slack = (3 / (state.width - kLabelWidth)) * shown.span; // three pixels
        return x < kLabelWidth ? -1 : eventIn(model, lanes, timeAt(x), pointer.clientY - box.top, slack);
    }
    function hover(i, pointer) {
        tip.hidden = i < 0;
        if (i >= 0) showTip(pointer, [eventName(model, i), events.duration[i] > 0 && format.time(events.duration[i])]);
        if (i === state.hovered) return;
        state.hovered = i;
        draw();
    }
    function showTip(pointer, lines) {
        tip.textContent = lines.filter(Boolean).join("\n");
        tip.style.left = `${Math.min(pointer.clientX + 14, innerWidth - 320)}px`;
        tip.style.top = `${Math.min(pointer.clientY + 18, innerHeight - 70)}px`;
    }
    listen(
        parts,
        { window: shown, width: () => state.width, timeAt },
        {
            pick: (pointer) => select(under(pointer)),
            hover: (pointer) => hover(under(pointer), pointer),
            leave: () => hover(-1),
            zoomTo: (pointer) => under(pointer) >= 0 && zoomTo(under(pointer)),
            measure,
            memoryAt(pointer, t) {
                const { time, live, pool } = model.memory;
                const i = t < shown.from ? -1 : upperBound(time, t) - 1;
                tip.hidden = i < 0;
                if (i >= 0)
                    showTip(pointer, [
                        `live ${format.bytes(live[i])}`,
                        `pool ${format.bytes(pool[i])}`,
                        `at ${format.time(t)}`,
                    ]);
            },
        },
    );

    // ---- size and colours ----
    function themed() {
        state.palette = paletteOf(app.color);
        if (state.width) chart?.create(state.width, parts.memory.clientHeight);
        draw();
    }
    app.themed.push(themed);
    themed();
    new ResizeObserver(() => {
        if (element.hidden || !parts.lanes.clientWidth) return;
        state.width = parts.lanes.clientWidth;
        draw();
    }).observe(parts.lanes);
    if (parts.memory) parts.memory.append(memoryCaption(model, showPeak));
    showWindow();

    // The event before or after the selected one, in its row; the first in view, if none is.
    function selectNext(by) {
        const { event } = state.chosen;
        const row = event === undefined ? busiest?.rows[0] : rowOf(model, event);
        if (!row) return;
        const at = event === undefined ? upperBound(events.end, shown.from, row) : row.indexOf(event) + by;
        if (row[at] === undefined) return;
        const middle = (events.start[row[at]] + events.end[row[at]]) / 2;
        if (middle < shown.from || middle > shown.to) shown.set(middle - shown.span / 2, middle + shown.span / 2);
        select(row[at]);
    }

    const moves = keyMoves(shown, {
        n: () => selectNext(1),
        p: () => selectNext(-1),
        f: () => state.chosen.event !== undefined && zoomTo(state.chosen.event),
        Escape: () => select(-1),
    });
    return {
        element,
        // "1000-2000", "e17", "1000-2000/e17" or "peak"
        show(argument = "") {
            const span = /^(\d+)-(\d+)/.exec(argument);
            const event = /e(\d+)$/.exec(argument);
            if (span) shown.set(Number(span[1]), Number(span[2]));
            if (event && Number(event[1]) < events.count) {
                const i = Number(event[1]);
                if (!span && !inSight(events, i, shown)) zoomTo(i);
                select(i);
            } else if (argument === "peak" && model.memory.peak) showPeak();
            draw();
        },
        key(event) {
            const move = moves[event.key];
            move?.();
            return Boolean(move);
        },
    };
}

function elements(model, shown, height) {
    const canvas = h("canvas", { "aria-label": "Timeline of events", role: "img", tabindex: "0" });
    const strip = h("canvas", { "aria-label": "The whole profile; drag to move the view", role: "img" });
    const lanes = h("div", { class: "lanes", style: { "flex-basis": `${height + 4}px` } }, canvas);
    const memory = model.memory.time.length > 0 ? h("div", { class: "memory" }) : undefined;
    const side = h("div", { class: "side card" });
    const tip = h("div", { class: "tip", hidden: true });
    const range = h("span", { class: "dim number" });
    const buttons = [
        h("button", { onclick: () => shown.zoom(0.5), "aria-label": "Zoom in" }, "+"),
        h("button", { onclick: () => shown.zoom(2), "aria-label": "Zoom out" }, "−"),
        h("button", { onclick: () => shown.all() }, "Everything"),
    ];
    const head = h("div", { class: "row" }, legend(kLegend), h("div", { class: "grow" }), range, buttons);
    const left = h("div", { class: "grow tracks" }, h("div", { class: "strip" }, strip), lanes, memory);
    const element = h("div", { class: "view fill" }, head, h("div", { class: "split grow" }, left, side), tip);
    return { element, canvas, strip, lanes, memory, side, tip, range };
}

function memoryCaption(model, showPeak) {
    const { peak } = model.memory;
    const link = peak && h("a", clickable(showPeak), `peak ${format.bytes(peak.bytes)}`);
    const curves = legend([
        ["copy", "live"],
        ["dim", "pool"],
    ]);
    return h("div", { class: "caption" }, h("b", null, "Memory"), curves, link);
}

// The event at a place of the lanes: in a row of a track, or one of the moments above its rows; -1: none.
function eventIn({ events }, lanes, time, y, slack) {
    const lane = lanes.find(({ top, rows }) => y >= top - 9 && y < top + rows * kRow);
    if (!lane) return -1;
    const { track, top } = lane;
    if (y < top) return track.moments.find((i) => Math.abs(events.start[i] - time) <= 2 * slack) ?? -1;
    const row = track.rows[Math.floor((y - top) / kRow)];
    return row ? eventAt(row, events, time, slack) : -1;
}

const rowOf = ({ events, tracks }, i) => tracks[events.track[i]].rows[events.depth[i]];

const inSight = (events, i, shown) =>
    events.start[i] >= shown.from && events.end[i] <= shown.to && events.duration[i] > shown.span / 50;

function keyMoves(shown, others) {
    const nearer = () => shown.zoom(0.7);
    const farther = () => shown.zoom(1 / 0.7);
    const left = () => shown.pan(-0.15);
    const right = () => shown.pan(0.15);
    const arrows = { ArrowUp: nearer, ArrowDown: farther, ArrowLeft: left, ArrowRight: right };
    return { w: nearer, s: farther, a: left, d: right, ...arrows, Home: () => shown.all(), ...others };
}
