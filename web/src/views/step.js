// web/src/views/step.js: the kernels of a plan as a graph: an edge where one reads what another wrote, wider for more bytes.
import { kKernelKinds, kernelColor } from "../colors.js";
import { clickable, h, replace, svg } from "../dom.js";
import * as format from "../format.js";
import { legend } from "../marks.js";
import { stepEdges } from "../plan.js";
import { placeSteps } from "../step_layout.js";
import { planChooser } from "./plans.js";
import { pairs } from "./event_details.js";

export function stepView(app) {
    const { model } = app;
    const chooser = planChooser(app, "step");
    const box = h("div", { class: "graph" });
    const side = h("div", { class: "side card" });
    const note = h("span", { class: "dim" });
    const element = h(
        "div",
        { class: "view fill" },
        h(
            "div",
            { class: "row" },
            h("h2", null, "Plan"),
            chooser.element,
            note,
            h("div", { class: "grow" }),
            legend(kKernelKinds.map((kind) => [kind, kind])),
        ),
        h("div", { class: "split grow" }, box, side),
    );
    let shown;
    let drawn;
    return {
        element,
        show(argument) {
            const plan = model.plans[Number(argument ?? shown?.index ?? chooser.first)];
            if (!plan)
                return void replace(
                    box,
                    h("p", { class: "dim", style: { padding: "16px" } }, "The profile holds no such plan."),
                );
            chooser.element.value = plan.index;
            if (plan === shown) return;
            shown = plan;
            const edges = stepEdges(plan);
            note.textContent = edges.exact
                ? ""
                : "Reads are not listed: an edge goes from a value's writer to its last reader.";
            drawn = drawGraph(app, plan, edges, box, side);
            drawn.select(-1);
        },
        key(event) {
            if (event.key === "Escape") drawn?.select(-1);
            else if (!drawn?.moves[event.key]) return false;
            else drawn.moves[event.key]();
            return true;
        },
    };
}

// Boxes grow with the square root of their time.
function nodesOf(model, plan) {
    const times = plan.kernels.map((k) => model.kernels[k]?.mean ?? 0);
    const most = Math.max(1, ...times);
    return plan.kernels.map((k, step) => {
        const part = Math.sqrt(times[step] / most);
        return { step, kernel: model.kernels[k], time: times[step], width: 165 + 105 * part, height: 38 + 34 * part };
    });
}

function drawGraph(app, plan, { edges, exact }, box, side) {
    const { model } = app;
    const { nodes, paths, width, height } = placeSteps(nodesOf(model, plan), edges, { exact });
    const heaviest = Math.max(1, ...edges.map((edge) => edge.bytes));
    const lines = edges.map((edge, i) => {
        const line = svg("path", {
            class: "edge",
            d: paths[i],
            "stroke-width": 1 + 5 * Math.sqrt(edge.bytes / heaviest),
        });
        line.append(svg("title", null, `step ${edge.from} to step ${edge.to}: ${format.bytes(edge.bytes)}`));
        return line;
    });
    const boxes = nodes.map((node) => drawNode(node, () => select(node.step)));
    const picture = svg(
        "svg",
        {
            role: "img",
            "aria-label": "Kernels of the plan and what they hand over",
            preserveAspectRatio: "xMidYMin meet",
        },
        lines,
        boxes,
    );
    replace(box, picture);
    const moves = movable(picture, width, height, box);

    function select(step) {
        const near = new Set([step]);
        lines.forEach((line, i) => {
            const touches = edges[i].from === step || edges[i].to === step;
            line.classList.toggle("near", touches);
            if (touches) near.add(edges[i].from).add(edges[i].to);
        });
        boxes.forEach((node, i) => node.classList.toggle("faded", step >= 0 && !near.has(i)));
        if (step < 0)
            return void replace(
                side,
                h("h2", null, format.plural(nodes.length, "kernel")),
                h(
                    "p",
                    { class: "dim", style: { "margin-top": "8px" } },
                    "A larger box took longer; a wider line hands over more bytes. Click a kernel; turn the wheel to zoom, drag to move.",
                ),
            );
        const { kernel, time } = nodes[step];
        const neighbours = (title, list, other) =>
            list.length > 0 && [
                h("h3", null, title),
                h(
                    "ul",
                    null,
                    list.map((edge) =>
                        h(
                            "li",
                            null,
                            h(
                                "span",
                                { class: "link", ...clickable(() => select(other(edge))) },
                                nodes[other(edge)].kernel?.name ?? `step ${other(edge)}`,
                            ),
                            h("span", { class: "dim" }, ` ${format.bytes(edge.bytes)}`),
                        ),
                    ),
                ),
            ];
        replace(
            side,
            h("h2", null, kernel?.name ?? "?"),
            pairs([
                ["step", step],
                ["mean time", format.time(time)],
                ["of the limit", kernel?.ofLimit !== undefined && format.percent(kernel.ofLimit)],
                ["direction", kernel?.isBackward ? "backward" : "forward"],
            ]),
            kernel && h("p", null, h("a", { href: `#kernels/${kernel.index}` }, "Stages of this kernel")),
            neighbours(
                "Reads what these wrote",
                edges.filter((edge) => edge.to === step),
                (edge) => edge.from,
            ),
            neighbours(
                "Is read by",
                edges.filter((edge) => edge.from === step),
                (edge) => edge.to,
            ),
        );
    }
    return { select, moves };
}

function drawNode({ step, kernel, time, x, y, width, height }, action) {
    const color = `var(--${kernelColor(kernel)})`;
    const name = kernel?.name ?? "?";
    const room = Math.floor((width - 20) / 7.5);
    const group = svg(
        "g",
        {
            class: "node",
            transform: `translate(${x - width / 2} ${y - height / 2})`,
            "aria-label": name,
            ...clickable(action),
        },
        svg("rect", { width, height, rx: 7, fill: "var(--card)" }),
        svg("rect", {
            width,
            height,
            rx: 7,
            fill: color,
            "fill-opacity": 0.13,
            stroke: color,
            "stroke-dasharray": kernel?.isBackward ? "5 3" : undefined,
        }),
        svg("text", { x: 10, y: height / 2 - 2 }, name.length > room ? name.slice(0, room - 1) + "…" : name),
        svg(
            "text",
            { class: "small", x: 10, y: height / 2 + 13 },
            `${step} · ${format.time(time || undefined)}${kernel?.isBackward ? " · backward" : ""}`,
        ),
    );
    group.append(svg("title", null, name));
    return group;
}

// Wheel zooms at the cursor, a drag moves, keys do both. Starts at the first kernel, with a scale at which names can be read. Returns what keys do.
function movable(picture, width, height, box) {
    const room = { width: box.clientWidth || 900, height: box.clientHeight || 600 };
    const scale = Math.min(1.1, Math.max(0.75, Math.min(room.width / width, room.height / height)));
    const view = {
        x: Math.min(0, width / 2 - room.width / scale / 2),
        y: 0,
        width: room.width / scale,
        height: room.height / scale,
    };
    const apply = () => picture.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    apply();
    function zoom(factor, px, py) {
        view.x += px * view.width * (1 - factor);
        view.y += py * view.height * (1 - factor);
        view.width *= factor;
        view.height *= factor;
        apply();
    }
    const pan = (x, y) => () => {
        view.x += x * view.width;
        view.y += y * view.height;
        apply();
    };
    picture.addEventListener(
        "wheel",
        (event) => {
            event.preventDefault();
            const bounds = picture.getBoundingClientRect();
            const factor = Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY * 0.0015)));
            zoom(factor, (event.clientX - bounds.left) / bounds.width, (event.clientY - bounds.top) / bounds.height);
        },
        { passive: false },
    );
    let drag;
    picture.addEventListener(
        "pointerdown",
        (event) => (drag = { x: event.clientX, y: event.clientY, vx: view.x, vy: view.y }),
    );
    picture.addEventListener("pointermove", (event) => {
        if (!drag || !event.buttons) return;
        const unit = view.width / picture.getBoundingClientRect().width;
        view.x = drag.vx - (event.clientX - drag.x) * unit;
        view.y = drag.vy - (event.clientY - drag.y) * unit;
        apply();
    });
    addEventListener("pointerup", () => (drag = undefined));
    const arrows = {
        ArrowLeft: pan(-0.15, 0),
        ArrowRight: pan(0.15, 0),
        ArrowUp: pan(0, -0.15),
        ArrowDown: pan(0, 0.15),
    };
    return { ...arrows, w: () => zoom(0.8, 0.5, 0.5), s: () => zoom(1.25, 0.5, 0.5) };
}
