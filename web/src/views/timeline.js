// web/src/views/timeline.js: events over time, one lane per track, and memory below on the same axis.
// The view is {from, to} in nanoseconds. Whatever moves it asks for one frame; only a frame draws.
import { frame, h, replace, sharp } from "../dom.js";
import * as format from "../format.js";
import { eventName, upperBound } from "../model.js";
import { eventAt } from "../spans.js";
import { mainTrack } from "../stats.js";
import { eventDetails, peakDetails, rangeDetails } from "./event_details.js";
import { memoryChart } from "./memory_chart.js";
import { drawLanes, drawStrip, kLabelWidth, kRow, layout, paletteOf } from "./timeline_draw.js";

const kShortest = 100; // nanoseconds: the closest zoom
const kStrip = 28;
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
    const { model } = app,
        { events } = model;
    const whole = Math.max(model.duration, 1);
    const view = { from: 0, to: whole };
    const { lanes, height } = layout(model);
    const busiest = mainTrack(model) ?? model.tracks[0];
    let palette,
        width = 0,
        selected = -1,
        hovered = -1,
        stripOf,
        painted = false,
        settled,
        idle = true,
        measured;

    const canvas = h("canvas", { "aria-label": "Timeline of events", role: "img", tabindex: "0" });
    const strip = h("canvas", { "aria-label": "The whole profile; drag to move the view", role: "img" });
    const stripBase = document.createElement("canvas");
    const lanesBox = h("div", { class: "lanes", style: { "flex-basis": `${height + 4}px` } }, canvas);
    const hasMemory = model.memory.time.length > 0;
    const caption = hasMemory ? h("div", { class: "caption" }, h("b", null, "Memory")) : undefined;
    const memoryBox = hasMemory ? h("div", { class: "memory" }) : undefined;
    const side = h("div", { class: "side card" });
    const tip = h("div", { class: "tip", hidden: true });
    const range = h("span", { class: "dim number" });
    const element = h(
        "div",
        { class: "view fill" },
        h(
            "div",
            { class: "row" },
            h(
                "div",
                { class: "legend", style: { margin: 0 } },
                kLegend.map(([name, label]) =>
                    h("div", null, h("i", { class: "dot", style: { background: `var(--${name})` } }), label),
                ),
            ),
            h("div", { class: "grow" }),
            range,
            h("button", { onclick: () => zoom(0.5), "aria-label": "Zoom in" }, "+"),
            h("button", { onclick: () => zoom(2), "aria-label": "Zoom out" }, "−"),
            h("button", { onclick: all }, "Everything"),
        ),
        h(
            "div",
            { class: "split grow" },
            h(
                "div",
                { class: "grow", style: { display: "flex", "flex-direction": "column", gap: "8px", "min-height": 0 } },
                h("div", { class: "strip" }, strip),
                lanesBox,
                memoryBox,
            ),
            side,
        ),
        tip,
    );

    const chart = hasMemory
        ? memoryChart({ model, parent: memoryBox, view, color: (name) => app.color(name), onpeak: showPeak })
        : undefined;
    const draw = frame(() => {
        if (element.hidden || !width) return;
        drawLanes({
            canvas,
            model,
            lanes,
            height: Math.max(height, lanesBox.clientHeight),
            view,
            width,
            palette,
            selected,
            hovered,
            measured,
        });
        drawWindow();
        chart?.draw(width, memoryBox.clientHeight);
        range.textContent = `${format.time(view.from)} to ${format.time(view.to)} · ${format.time(view.to - view.from)}`;
        if (!painted) setTimeout(() => performance.mark("timeline-drawn")); // after the frame
        painted = true;
    });

    function drawWindow() {
        if (stripOf !== width) {
            drawStrip({ canvas: stripBase, model, track: busiest, width, height: kStrip, palette });
            stripOf = width;
        }
        const context = sharp(strip, width, kStrip);
        context.drawImage(stripBase, 0, 0, width, kStrip);
        const room = width - kLabelWidth,
            x0 = kLabelWidth + (view.from / whole) * room,
            x1 = kLabelWidth + (view.to / whole) * room;
        context.globalAlpha = 0.72;
        context.fillStyle = palette.card;
        context.fillRect(kLabelWidth, 0, x0 - kLabelWidth, kStrip);
        context.fillRect(x1, 0, width - x1, kStrip);
        context.globalAlpha = 1;
        context.strokeStyle = palette.accent;
        context.lineWidth = 1.5;
        context.strokeRect(x0 + 0.75, 1, Math.max(2, x1 - x0 - 1.5), kStrip - 2);
        context.fillStyle = palette.dim;
        context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        context.textBaseline = "middle";
        context.fillText("everything", 12, kStrip / 2);
    }

    // ---- moving ----
    function set(from, to) {
        const span = Math.min(Math.max(to - from, kShortest), whole);
        view.from = Math.min(Math.max(0, from), whole - span);
        view.to = view.from + span;
        draw();
        settleSoon();
    }
    function settleSoon() {
        clearTimeout(settled);
        settled = setTimeout(settle, 250);
    }
    // What follows a view only once it stands still: the address, and the sums beside it.
    function settle() {
        if (element.hidden) return;
        if (idle) showRange();
        app.keep(
            "timeline",
            selected >= 0
                ? `${Math.round(view.from)}-${Math.round(view.to)}/e${selected}`
                : `${Math.round(view.from)}-${Math.round(view.to)}`,
        );
    }
    function zoom(factor, at = (view.from + view.to) / 2) {
        set(at - (at - view.from) * factor, at + (view.to - at) * factor);
    }
    const pan = (part) => set(view.from + part * (view.to - view.from), view.to + part * (view.to - view.from));
    function all() {
        set(0, whole);
    }
    function zoomTo(i) {
        const room = Math.max(events.duration[i] * 0.6, kShortest);
        set(events.start[i] - room, events.end[i] + room);
    }
    const timeAt = (x) => view.from + ((x - kLabelWidth) / (width - kLabelWidth)) * (view.to - view.from);

    function wheel(event) {
        const box = event.currentTarget.getBoundingClientRect();
        const x = event.clientX - box.left;
        if (x < kLabelWidth && event.currentTarget === canvas) return; // over the names the lanes scroll
        event.preventDefault();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
            return pan((event.deltaX || event.deltaY) / 1500);
        const lines = event.deltaMode === 1 ? 30 : 1;
        zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * lines * 0.002))), timeAt(Math.max(x, kLabelWidth)));
    }

    // ---- choosing ----
    function at(event) {
        const box = canvas.getBoundingClientRect();
        const x = event.clientX - box.left,
            y = event.clientY - box.top;
        if (x < kLabelWidth) return -1;
        const slack = (3 / (width - kLabelWidth)) * (view.to - view.from),
            t = timeAt(x);
        for (const { track, top, rows } of lanes) {
            if (y < top - 9 || y >= top + rows * kRow) continue;
            if (y < top) {
                for (const i of track.moments) if (Math.abs(events.start[i] - t) <= 2 * slack) return i;
                return -1;
            }
            const row = track.rows[Math.floor((y - top) / kRow)];
            return row ? eventAt(row, events, t, slack) : -1;
        }
        return -1;
    }
    function select(i) {
        selected = i;
        measured = undefined;
        idle = i < 0;
        if (i >= 0)
            replace(
                side,
                eventDetails(app, i),
                h(
                    "p",
                    { style: { "margin-top": "14px" } },
                    h("button", { onclick: () => zoomTo(i) }, "Zoom to it ", h("kbd", null, "f")),
                ),
            );
        else showRange();
        draw();
        settleSoon();
    }
    function showRange() {
        replace(
            side,
            rangeDetails(app, busiest, view.from, view.to),
            h(
                "p",
                { class: "dim", style: { "margin-top": "16px" } },
                "Click an event to see what it is. Turn the wheel to zoom at the cursor, drag to move, drag with Shift to measure.",
            ),
            h(
                "p",
                { class: "dim" },
                `${format.count(events.count)} events on ${format.plural(lanes.length, "track")}.`,
            ),
        );
    }
    // Shift and a drag: how long is this, and what is in it?
    function measure(x0, x1) {
        const left = canvas.getBoundingClientRect().left;
        const [from, to] = [x0, x1].map((x) => timeAt(Math.max(x - left, kLabelWidth))).sort((a, b) => a - b);
        measured = { from, to };
        selected = -1;
        idle = false;
        replace(
            side,
            rangeDetails(app, busiest, from, to, "Measured"),
            h("p", { style: { "margin-top": "14px" } }, h("button", { onclick: () => set(from, to) }, "Zoom to it")),
        );
        draw();
    }
    function showPeak() {
        selected = -1;
        idle = false;
        replace(side, peakDetails(app));
        draw();
    }

    let drag;
    canvas.addEventListener("pointerdown", (event) => {
        drag = { x: event.clientX, from: view.from, moved: false, measure: event.shiftKey };
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
        if (drag) {
            const dx = event.clientX - drag.x;
            if (Math.abs(dx) > 3) drag.moved = true;
            if (!drag.moved) return;
            if (drag.measure) return measure(drag.x, event.clientX);
            canvas.classList.add("dragging");
            tip.hidden = true;
            const span = view.to - view.from,
                from = drag.from - (dx / (width - kLabelWidth)) * span;
            return set(from, from + span);
        }
        const i = at(event);
        if (i !== hovered) {
            hovered = i;
            draw();
        }
        tip.hidden = i < 0;
        if (i >= 0)
            showTip(
                event,
                events.duration[i] ? `${eventName(model, i)}\n${format.time(events.duration[i])}` : eventName(model, i),
            );
    });
    function showTip(event, text) {
        tip.textContent = text;
        tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 320)}px`;
        tip.style.top = `${Math.min(event.clientY + 18, innerHeight - 70)}px`;
    }
    canvas.addEventListener("pointerup", (event) => {
        canvas.classList.remove("dragging");
        if (drag && !drag.moved) select(at(event));
        drag = undefined;
    });
    canvas.addEventListener("pointerleave", () => {
        tip.hidden = true;
        hovered = -1;
        draw();
    });
    canvas.addEventListener("dblclick", (event) => at(event) >= 0 && zoomTo(at(event)));
    canvas.addEventListener("wheel", wheel, { passive: false });
    memoryBox?.addEventListener("wheel", wheel, { passive: false });
    memoryBox?.addEventListener("pointermove", (event) => {
        const x = event.clientX - memoryBox.getBoundingClientRect().left,
            t = timeAt(x);
        const i = upperBound(model.memory.time, t) - 1;
        tip.hidden = x < kLabelWidth || i < 0;
        showTip(
            event,
            `live ${format.bytes(model.memory.live[i])}\npool ${format.bytes(model.memory.pool[i])}\nat ${format.time(t)}`,
        );
    });
    memoryBox?.addEventListener("pointerleave", () => (tip.hidden = true));

    const moveStrip = (event) => {
        if (!event.buttons) return;
        const x = event.clientX - strip.getBoundingClientRect().left,
            span = view.to - view.from;
        const middle = ((x - kLabelWidth) / (width - kLabelWidth)) * whole;
        set(middle - span / 2, middle + span / 2);
    };
    strip.addEventListener("pointerdown", (event) => (strip.setPointerCapture(event.pointerId), moveStrip(event)));
    strip.addEventListener("pointermove", moveStrip);

    if (caption) {
        const legend = (name, label) =>
            h("span", null, h("i", { class: "dot", style: { background: `var(--${name})` } }), label);
        caption.append(legend("copy", "live"), legend("dim", "pool"));
        if (model.memory.peak)
            caption.append(
                h(
                    "a",
                    {
                        onclick: showPeak,
                        tabindex: "0",
                        role: "button",
                        onkeydown: (event) => event.key === "Enter" && showPeak(),
                    },
                    "peak ",
                    format.bytes(model.memory.peak.bytes),
                ),
            );
        memoryBox.append(caption);
    }

    function themed() {
        palette = paletteOf(app.color);
        stripOf = undefined;
        if (width) chart?.create(width, memoryBox.clientHeight);
        draw();
    }
    app.themed.push(themed);
    themed();
    new ResizeObserver(() => {
        if (element.hidden || !lanesBox.clientWidth) return;
        width = lanesBox.clientWidth;
        draw();
    }).observe(lanesBox);
    showRange();

    const kMoves = {
        w: () => zoom(0.7),
        ArrowUp: () => zoom(0.7),
        s: () => zoom(1 / 0.7),
        ArrowDown: () => zoom(1 / 0.7),
        a: () => pan(-0.15),
        ArrowLeft: () => pan(-0.15),
        d: () => pan(0.15),
        ArrowRight: () => pan(0.15),
        Home: all,
        f: () => selected >= 0 && zoomTo(selected),
        Escape: () => select(-1),
    };
    return {
        element,
        view, // tests read it
        show(argument) {
            for (const part of (argument ?? "").split("/")) {
                const span = /^(\d+)-(\d+)$/.exec(part),
                    event = /^e(\d+)$/.exec(part);
                if (span && Number(span[2]) > Number(span[1])) set(Number(span[1]), Number(span[2]));
                else if (event && Number(event[1]) < events.count) {
                    const i = Number(event[1]);
                    if (
                        !argument.includes("-") &&
                        !(
                            events.start[i] >= view.from &&
                            events.end[i] <= view.to &&
                            events.duration[i] > (view.to - view.from) / 50
                        )
                    )
                        zoomTo(i);
                    select(i);
                } else if (part === "peak" && model.memory.peak) showPeak();
            }
            draw();
        },
        key(event) {
            const move = kMoves[event.key];
            move?.();
            return Boolean(move);
        },
    };
}
