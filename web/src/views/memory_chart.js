// web/src/views/memory_chart.js: live and pooled bytes over time, on the axis of the timeline. uPlot draws; the view decides what.
import uPlot from "uplot";
import * as format from "../format.js";
import { upperBound } from "../model.js";
import { thinned } from "../spans.js";
import { kLabelWidth } from "./timeline_draw.js";

export function memoryChart({ model, parent, view, color, onpeak }) {
    const { memory } = model;
    let chart;
    let dense = false;

    // Bytes at multiples of 1, 2 or 5, not of odd numbers.
    function splits(_, __, ___, max) {
        const step = format.niceStep(Math.max(max, 1) / 4);
        const out = [];
        for (let y = 0; y <= max; y += step) out.push(y);
        return out;
    }

    function drawPeak(u) {
        if (!memory.peak) return;
        const x = u.valToPos(memory.peak.time, "x", true);
        const y = u.valToPos(memory.peak.bytes, "y", true);
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
        const { ctx } = u;
        const density = devicePixelRatio || 1;
        ctx.save();
        ctx.strokeStyle = ctx.fillStyle = color("step");
        ctx.setLineDash([4 * density, 3 * density]);
        ctx.lineWidth = density;
        ctx.beginPath();
        ctx.moveTo(x, u.bbox.top);
        ctx.lineTo(x, u.bbox.top + u.bbox.height);
        ctx.stroke();
        ctx.beginPath();
        ctx.arc(x, y, 4.5 * density, 0, 7);
        ctx.fill();
        ctx.restore();
    }

    function create(width, height) {
        chart?.destroy();
        const stepped = uPlot.paths.stepped({ align: 1 });
        chart = new uPlot(
            {
                width,
                height,
                pxAlign: false,
                padding: [12, 0, 8, 0],
                cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
                legend: { show: false },
                scales: {
                    x: { time: false, auto: false, range: () => [view.from, view.to] },
                    y: { range: (_, __, max) => [0, Math.max(1, highest() * 1.08 || max)] },
                },
                axes: [
                    { show: false },
                    {
                        size: kLabelWidth,
                        splits,
                        values: (_, values) => values.map((v) => format.bytesTick(v)),
                        stroke: color("dim"),
                        grid: { stroke: color("soft"), width: 1 },
                        ticks: { show: false },
                        font: "11px system-ui, sans-serif",
                    },
                ],
                series: [
                    {},
                    { stroke: color("dim"), width: 1.2, dash: [5, 4], paths: stepped, points: { show: false } }, // pool
                    {
                        stroke: () => color("copy") + (dense ? "70" : ""),
                        fill: color("copy") + "33",
                        width: 1.2,
                        paths: stepped,
                        points: { show: false },
                    }, // live
                ],
                hooks: { draw: [drawPeak] },
            },
            data(width),
            parent,
        );
        chart.over.addEventListener("click", (event) => {
            if (memory.peak && Math.abs(event.offsetX - chart.valToPos(memory.peak.time, "x")) < 12) onpeak();
        });
    }

    let top;
    function highest() {
        if (top === undefined) {
            top = memory.peak?.bytes ?? 0;
            for (const list of [memory.live, memory.pool])
                for (let i = 0; i < list.length; ++i) if (list[i] > top) top = list[i];
        }
        return top;
    }

    function data(width) {
        const shown = upperBound(memory.time, view.to) - upperBound(memory.time, view.from);
        dense = shown > width; // then lines touch, and a full colour would be a wall
        const [time, live, pool] = thinned(
            memory.time,
            [memory.live, memory.pool],
            view.from,
            view.to,
            Math.max(50, width - kLabelWidth),
        );
        // The last value holds until the end of the view.
        if (time.length && time[time.length - 1] < model.duration && time[time.length - 1] < view.to) {
            time.push(Math.min(model.duration, view.to));
            live.push(live[live.length - 1]);
            pool.push(pool[pool.length - 1]);
        }
        return [time, pool, live];
    }

    return {
        create,
        draw(width, height) {
            if (!chart || chart.width !== width || chart.height !== height) return create(width, height);
            chart.setData(data(width), false);
            chart.setScale("x", { min: view.from, max: view.to });
        },
        get over() {
            return chart.over;
        },
    };
}
