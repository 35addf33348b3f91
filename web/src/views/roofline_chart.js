// web/src/views/roofline_chart.js: kernels between the machine's limits, on logarithmic axes. A dot's area is its time.
import { kernelColor } from "../colors.js";
import { h, svg } from "../dom.js";
import * as format from "../format.js";
import { roofAt, roofline, rooflineRange } from "../roofline.js";

const kWidth = 400;
const kHeight = 318;
const kLeft = 44;
const kBottom = 34;
const kTop = 20;
const kRight = 16;

export function rooflineChart({ model }, { selected, onpick }) {
    const { points, left } = roofline(model);
    const { machine } = model;
    if (!points.length)
        return [
            h("h2", null, "Roofline"),
            h("p", { class: "dim" }, "The profile does not say how many operations its kernels do."),
        ];
    const range = rooflineRange(points, machine);
    const x = (v) => kLeft + ((Math.log10(v) - range.x[0]) / (range.x[1] - range.x[0])) * (kWidth - kLeft - kRight);
    const y = (v) =>
        kHeight - kBottom - ((Math.log10(v) - range.y[0]) / (range.y[1] - range.y[0])) * (kHeight - kBottom - kTop);
    const longest = Math.max(...points.map((p) => p.kernel.time));
    const radius = (kernel) => 3 + 12 * Math.sqrt(kernel.time / longest);
    const dots = [...points]
        .sort((a, b) => (a.kernel === selected) - (b.kernel === selected) || b.kernel.time - a.kernel.time)
        .map(({ kernel, intensity, rate, ofRoof }) => {
            const color = `var(--${kernelColor(kernel)})`;
            const dot = svg("circle", {
                cx: x(intensity),
                cy: y(rate),
                r: radius(kernel),
                fill: color,
                stroke: color,
                class: kernel === selected ? "point selected" : "point",
                onclick: () => onpick(kernel),
            });
            dot.append(
                svg(
                    "title",
                    null,
                    `${kernel.name}\n${format.significant(intensity)} FLOP/B · ${format.gigaPerSecond(rate)} GFLOP/s${ofRoof ? ` · ${format.percent(ofRoof)} of the roof` : ""}\n${format.time(kernel.time)}`,
                ),
            );
            return dot;
        });
    return [
        h("h2", null, "Roofline of this machine"),
        svg(
            "svg",
            {
                class: "chart",
                viewBox: `0 0 ${kWidth} ${kHeight}`,
                role: "img",
                "aria-label": "Roofline: operations per second over operations per byte",
                width: "100%",
            },
            grid(range, x, y),
            roof(machine, range, x, y),
            svg("text", { x: kWidth - kRight, y: kHeight - 4, "text-anchor": "end" }, "operations per byte"),
            svg("text", { x: kLeft, y: 11 }, "GFLOP/s"),
            dots,
        ),
        h(
            "p",
            { class: "dim", style: { "font-size": "12px" } },
            `A dot's area is its time.${left.length ? ` ${format.plural(left.length, "kernel")} without floating-point operations ${left.length === 1 ? "is" : "are"} not shown.` : ""}`,
        ),
    ];
}

function grid(range, x, y) {
    const parts = [];
    for (let e = range.x[0]; e <= range.x[1]; ++e)
        parts.push(
            svg("line", { class: "grid", x1: x(10 ** e), x2: x(10 ** e), y1: kTop, y2: kHeight - kBottom }),
            svg("text", { x: x(10 ** e), y: kHeight - kBottom + 15, "text-anchor": "middle" }, power(e)),
        );
    for (let e = range.y[0]; e <= range.y[1]; ++e)
        parts.push(
            svg("line", { class: "grid", x1: kLeft, x2: kWidth - kRight, y1: y(10 ** e), y2: y(10 ** e) }),
            svg("text", { x: kLeft - 6, y: y(10 ** e) + 4, "text-anchor": "end" }, power(e - 9)),
        );
    return parts;
}

const power = (e) => (e >= -2 && e <= 4 ? Number((10 ** e).toPrecision(1)).toLocaleString("en-US") : `1e${e}`);

function roof({ bandwidth, flops }, range, x, y) {
    if (!bandwidth && !flops) return [];
    const floor = 10 ** range.y[0];
    let low = 10 ** range.x[0];
    const high = 10 ** range.x[1];
    if (bandwidth && low * bandwidth < floor) low = floor / bandwidth; // where the slope enters the picture
    const ridge = bandwidth && flops ? flops / bandwidth : undefined;
    const path = [low, ridge, high]
        .filter((v) => v !== undefined && v >= low && v <= high)
        .map((v, i) => `${i ? "L" : "M"}${x(v)} ${y(roofAt(v, bandwidth, flops))}`)
        .join("");
    return [
        svg("path", { class: "roof", d: path }),
        flops &&
            svg(
                "text",
                { x: kWidth - kRight, y: y(flops) - 6, "text-anchor": "end" },
                `${format.gigaPerSecond(flops)} GFLOP/s`,
            ),
        bandwidth && slopeLabel(bandwidth, low, x, y),
    ];
}

// The bandwidth, written along the slope, a little above it.
function slopeLabel(bandwidth, low, x, y) {
    const at = low * 1.6;
    const next = low * 16;
    const angle = (Math.atan2(y(next * bandwidth) - y(at * bandwidth), x(next) - x(at)) * 180) / Math.PI;
    return svg(
        "text",
        { transform: `translate(${x(at)} ${y(at * bandwidth)}) rotate(${angle})`, dy: -6 },
        `${format.gigaPerSecond(bandwidth)} GB/s`,
    );
}
