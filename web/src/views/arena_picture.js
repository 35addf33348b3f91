// web/src/views/arena_picture.js: the memory picture of a plan. Steps run to the right, offsets in the arena upwards;
// a value is a rectangle from the step that writes it to the last that reads it. What stands in one row reuses bytes.
import { kernelColor } from "../colors.js";
import { frame, h, sharp } from "../dom.js";
import * as format from "../format.js";
import { siteText } from "../model.js";
import { arenaRectangles, sharing } from "../plan.js";

const kHeight = 320;
const kLeft = 76;
const kBottom = 24;
const kTop = 8;

export function arenaPicture(app, plan) {
    const { model } = app;
    const rectangles = arenaRectangles(plan);
    const steps = Math.max(1, plan.kernels.length);
    const arena = Math.max(plan.arena ?? 0, ...rectangles.map((r) => r.high), 1);
    const canvas = h("canvas", { role: "img", "aria-label": "Values in the arena over the steps of the plan" });
    const box = h("div", { style: { position: "relative" } }, canvas);
    const tip = h("div", { class: "tip", hidden: true });
    box.append(tip);
    let width = 0;
    let over;

    const x = (step) => kLeft + (step / steps) * (width - kLeft - 8);
    const y = (offset) => kHeight - kBottom - (offset / arena) * (kHeight - kBottom - kTop);

    const draw = frame(() => {
        if (!width) return;
        const context = sharp(canvas, width, kHeight);
        context.clearRect(0, 0, width, kHeight);
        context.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        drawAxes(context);
        const near = over ? new Set([over, ...sharing(rectangles, over)]) : undefined;
        for (const r of rectangles) drawValue(context, r, near);
    });

    function drawAxes(context) {
        context.fillStyle = app.color("dim");
        context.strokeStyle = app.color("soft");
        context.textBaseline = "middle";
        context.textAlign = "right";
        const bytes = format.niceStep(arena / 5);
        for (let offset = 0; offset <= arena; offset += bytes) {
            context.fillText(format.bytesTick(offset), kLeft - 8, y(offset));
            context.fillRect(kLeft - 4, y(offset), 4, 0.5);
        }
        context.textAlign = "center";
        const every = Math.max(1, format.niceStep(steps / 16));
        for (let s = 0; s < steps; s += every)
            context.fillText(String(s), (x(s) + x(s + 1)) / 2, kHeight - kBottom + 11);
        context.textAlign = "left";
        context.fillText("step", 12, kHeight - kBottom + 11);
        context.strokeStyle = app.color("line");
        context.strokeRect(kLeft, kTop, width - kLeft - 8, kHeight - kBottom - kTop);
    }

    function drawValue(context, r, near) {
        const left = x(r.from);
        const wide = x(r.to) - left;
        const top = y(r.high);
        const high = y(r.low) - top;
        const color = app.color(kernelColor(model.kernels[plan.kernels[r.value.first]]));
        context.globalAlpha = near && !near.has(r) ? 0.15 : r.inside ? 1 : [0.9, 0.72, 0.56][r.index % 3];
        context.strokeStyle = context.fillStyle = color;
        if (r.inside) {
            // a part of another value
            context.setLineDash([4, 3]);
            context.strokeStyle = app.color("text");
            context.strokeRect(left + 2, top + 2, Math.max(1, wide - 4), Math.max(1, high - 4));
            context.setLineDash([]);
        } else {
            context.fillRect(left + 0.5, top + 0.5, Math.max(1, wide - 1), Math.max(1, high - 1));
            if (r === over) {
                context.strokeStyle = app.color("text");
                context.lineWidth = 2;
                context.strokeRect(left + 1, top + 1, wide - 2, Math.max(1, high - 2));
                context.lineWidth = 1;
            }
            if (high > 14 && wide > 60) {
                context.globalAlpha = near && !near.has(r) ? 0.2 : 1;
                context.fillStyle = app.color(r.index % 3 ? "text" : "on-event"); // on the paler shades dark text reads better
                context.textAlign = "left";
                const text = r.value.type ?? "";
                const room = Math.floor((wide - 12) / 6.2);
                context.fillText(
                    text.length > room ? text.slice(0, Math.max(0, room - 1)) + "…" : text,
                    left + 6,
                    top + high / 2,
                );
            }
        }
        context.globalAlpha = 1;
    }

    canvas.addEventListener("pointermove", (event) => {
        const box = canvas.getBoundingClientRect();
        const px = event.clientX - box.left;
        const py = event.clientY - box.top;
        // Parts lie on top of their wholes, so the last that fits is meant.
        const found = rectangles
            .filter((r) => px >= x(r.from) && px < x(r.to) && py >= y(r.high) && py <= y(r.low) + 1)
            .pop();
        tip.hidden = !found;
        if (found) {
            const { value, index } = found;
            const others = sharing(rectangles, found).length;
            tip.textContent = [
                `value ${index} · ${value.type ?? ""} · ${format.bytes(value.bytes)}`,
                `steps ${value.first} to ${value.last} · at ${format.count(found.low)}${found.inside ? ` inside value ${value.whole}` : ""}`,
                siteText(model, value.site),
                others && `shares bytes with ${format.plural(others, "other value")}`,
            ]
                .filter(Boolean)
                .join("\n");
            tip.style.left = `${Math.min(event.clientX + 14, innerWidth - 360)}px`;
            tip.style.top = `${event.clientY + 16}px`;
        }
        if (found !== over) {
            over = found;
            draw();
        }
    });
    canvas.addEventListener("pointerleave", () => {
        over = undefined;
        tip.hidden = true;
        draw();
    });
    new ResizeObserver(() => {
        width = box.clientWidth;
        draw();
    }).observe(box);
    app.themed.push(draw);
    return box;
}
