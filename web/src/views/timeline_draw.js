// web/src/views/timeline_draw.js: paints the lanes of the timeline and the strip above them. It decides nothing: a view is {from, to}.
import { kKindColors } from "../colors.js";
import { sharp } from "../dom.js";
import * as format from "../format.js";
import { Kind, eventName } from "../model.js";
import { visibleSpans } from "../spans.js";

export const kLabelWidth = 150,
    kAxis = 24,
    kRow = 21,
    kGap = 10;
const kFont = "11px system-ui, 'DejaVu Sans', sans-serif";

// Where each track begins: [{track, top, rows}] and the height of all.
export function layout(model) {
    let top = kAxis + 4;
    const lanes = model.tracks
        .filter((track) => track.count > 0)
        .map((track) => {
            const lane = { track, top, rows: Math.max(1, track.rows.length) };
            top += lane.rows * kRow + kGap;
            return lane;
        });
    return { lanes, height: top };
}

// All colours of one theme, looked up once.
export function paletteOf(color) {
    const names = [
        ...kKindColors,
        "kernel2",
        "kernel3",
        "text",
        "dim",
        "line",
        "soft",
        "card",
        "accent",
        "on-event",
        "on-region",
    ];
    return Object.fromEntries(names.map((name) => [name, color(name)]));
}

// Neighbouring kernels differ a little, so that two of them do not look like one.
function fillOf(palette, events, i) {
    const kind = events.kind[i];
    if (kind === Kind.kernel) return palette[["kernel", "kernel2", "kernel3"][Math.abs(events.what[i]) % 3]];
    return palette[kKindColors[kind] ?? "region"];
}

const widths = new Map(); // of names, in pixels: measuring is slow
function fitted(context, text, room) {
    let width = widths.get(text);
    if (width === undefined) widths.set(text, (width = context.measureText(text).width));
    if (width <= room) return text;
    const keep = Math.floor((text.length * (room - 8)) / width);
    return keep < 2 ? "" : text.slice(0, keep) + "…";
}

export function drawLanes({ canvas, model, lanes, height, view, width, palette, selected, hovered, measured }) {
    const context = sharp(canvas, width, height);
    const { events } = model;
    const room = width - kLabelWidth;
    const scale = room / (view.to - view.from);
    context.fillStyle = palette.card;
    context.fillRect(0, 0, width, height);
    context.font = kFont;
    context.textBaseline = "middle";
    drawAxis(context, view, room, height, palette);

    context.save();
    context.beginPath();
    context.rect(kLabelWidth, kAxis, room, height - kAxis);
    context.clip();
    for (const { track, top } of lanes) {
        track.rows.forEach((row, r) => {
            const y = top + r * kRow;
            const texts = [];
            let fill;
            visibleSpans(row, events, view.from, view.to, room, (x0, x1, event) => {
                const next = fillOf(palette, events, event);
                if (next !== fill) context.fillStyle = fill = next;
                const wide = x1 - x0;
                context.fillRect(kLabelWidth + x0, y, wide > 3 ? wide - 0.6 : wide, kRow - 2);
                if (wide > 26) texts.push([x0, wide, event]);
            });
            for (const [x0, wide, event] of texts) {
                context.fillStyle = palette[events.kind[event] === Kind.region ? "on-region" : "on-event"];
                context.fillText(
                    fitted(context, eventName(model, event), wide - 10),
                    kLabelWidth + x0 + 5,
                    y + kRow / 2 - 0.5,
                );
            }
        });
        drawMoments(context, track, top, view, scale, room, events, palette);
    }
    for (const [event, color] of [
        [hovered, palette.dim],
        [selected, palette.text],
    ])
        outline(context, event, color);
    if (measured) {
        const x0 = kLabelWidth + (measured.from - view.from) * scale;
        const x1 = kLabelWidth + (measured.to - view.from) * scale;
        context.fillStyle = palette.accent;
        context.globalAlpha = 0.16;
        context.fillRect(x0, kAxis, x1 - x0, height);
        context.globalAlpha = 1;
        context.fillRect(x0, kAxis, 1, height);
        context.fillRect(x1 - 1, kAxis, 1, height);
    }
    context.restore();

    function outline(context, event, color) {
        if (event === undefined || event < 0) return;
        const lane = lanes.find(({ track }) => track.index === events.track[event]);
        if (!lane) return;
        const x0 = Math.max(-4, (events.start[event] - view.from) * scale);
        const x1 = Math.min(room + 4, (events.end[event] - view.from) * scale);
        if (x1 < 0 || x0 > room) return;
        context.strokeStyle = color;
        context.lineWidth = 2.5;
        context.strokeRect(
            kLabelWidth + x0,
            lane.top + events.depth[event] * kRow - 0.5,
            Math.max(2, x1 - x0),
            kRow - 1,
        );
    }
    drawNames(context, lanes, palette, height);
}

// Ends of optimiser steps and other moments: a small triangle on the track's upper edge.
function drawMoments(context, track, top, view, scale, room, events, palette) {
    context.fillStyle = palette.step;
    let last = -10;
    for (const i of track.moments) {
        const x = (events.start[i] - view.from) * scale;
        if (x < -5 || x > room + 5 || x - last < 6) continue;
        last = x;
        context.beginPath();
        context.moveTo(kLabelWidth + x - 4, top - 8);
        context.lineTo(kLabelWidth + x + 4, top - 8);
        context.lineTo(kLabelWidth + x, top - 2);
        context.fill();
    }
}

function drawAxis(context, view, room, height, palette) {
    const range = view.to - view.from;
    const step = format.niceStep((range / room) * 110);
    context.textAlign = "left";
    for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
        const x = Math.round(kLabelWidth + ((t - view.from) / range) * room) + 0.5;
        context.strokeStyle = palette.soft;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, kAxis);
        context.lineTo(x, height);
        context.stroke();
        context.fillStyle = palette.dim;
        const text = format.tick(t, step, Math.max(range, view.to / 1000));
        if (x + 6 + context.measureText(text).width < kLabelWidth + room) context.fillText(text, x + 4, kAxis / 2);
    }
    context.strokeStyle = palette.line;
    context.strokeRect(-1, -1, room + kLabelWidth + 2, kAxis + 0.5);
}

function drawNames(context, lanes, palette, height) {
    context.fillStyle = palette.card;
    context.fillRect(0, kAxis + 1, kLabelWidth - 1, height);
    context.strokeStyle = palette.line;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(kLabelWidth - 0.5, 0);
    context.lineTo(kLabelWidth - 0.5, height);
    context.stroke();
    for (const { track, top } of lanes) {
        context.fillStyle = palette.text;
        context.fillText(fitted(context, track.name, kLabelWidth - 24), 12, top + kRow / 2);
        if (track.rows.length > 1) {
            context.fillStyle = palette.dim;
            context.fillText(track.kind, 12, top + kRow * 1.5 - 2);
        }
    }
}

// The whole profile in a few pixels: the busiest track's rows, painted over each other, the innermost last. It is painted
// once for a width and a palette; the window over it moves.
const kStrip = 28;
let painted = {};
function wholeStrip({ model, track, width, palette }) {
    if (painted.width === width && painted.palette === palette && painted.model === model) return painted.canvas;
    const canvas = document.createElement("canvas");
    painted = { canvas, width, palette, model };
    const context = sharp(canvas, width, kStrip);
    context.fillStyle = palette.card;
    context.fillRect(0, 0, width, kStrip);
    for (const row of track?.rows ?? []) {
        visibleSpans(row, model.events, 0, Math.max(model.duration, 1), width - kLabelWidth, (x0, x1, event) => {
            context.fillStyle = fillOf(palette, model.events, event);
            context.fillRect(kLabelWidth + x0, 5, Math.max(0.6, x1 - x0), kStrip - 10);
        });
    }
    return canvas;
}

export function drawStrip({ canvas, model, track, view, width, palette }) {
    const context = sharp(canvas, width, kStrip);
    context.drawImage(wholeStrip({ model, track, width, palette }), 0, 0, width, kStrip);
    const x = (time) => kLabelWidth + (time / view.whole) * (width - kLabelWidth);
    const left = x(view.from);
    const right = x(view.to);
    context.globalAlpha = 0.72;
    context.fillStyle = palette.card;
    context.fillRect(kLabelWidth, 0, left - kLabelWidth, kStrip);
    context.fillRect(right, 0, width - right, kStrip);
    context.globalAlpha = 1;
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 1, Math.max(2, right - left - 1.5), kStrip - 2);
    context.fillStyle = palette.dim;
    context.font = kFont;
    context.textBaseline = "middle";
    context.fillText("everything", 12, kStrip / 2);
}
