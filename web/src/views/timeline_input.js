// web/src/views/timeline_input.js: pointer and wheel on the timeline. It turns them into moves of the window and calls; it draws nothing.
import { kLabelWidth } from "./timeline_draw.js";

const kClick = 3; // pixels: a shorter drag is a click

// parts: {canvas, strip, memory (may be absent)}; frame: {window, width(), timeAt(x)};
// calls: {pick(event), hover(event), leave(), measure(from, to), zoomTo(event), memoryAt(event, time)}
export function listen({ canvas, strip, memory }, { window: shown, width, timeAt }, calls) {
    const across = (event, element) => event.clientX - element.getBoundingClientRect().left;
    const timeOf = (event, element) => timeAt(Math.max(across(event, element), kLabelWidth));

    function wheel(event) {
        const over = event.currentTarget;
        if (over === canvas && across(event, canvas) < kLabelWidth) return; // over the names the lanes scroll
        event.preventDefault();
        const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        if (sideways) return shown.pan((event.deltaX || event.deltaY) / 1500);
        const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1); // some mice count lines
        shown.zoom(Math.exp(Math.max(-1, Math.min(1, pixels * 0.002))), timeOf(event, over));
    }

    let drag; // {x, time, from, moved, measure}
    canvas.addEventListener("pointerdown", (event) => {
        drag = { x: event.clientX, time: timeOf(event, canvas), from: shown.from, measure: event.shiftKey };
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
        if (!drag) return calls.hover(event);
        const dx = event.clientX - drag.x;
        drag.moved ||= Math.abs(dx) > kClick;
        if (!drag.moved) return;
        if (drag.measure) {
            const now = timeOf(event, canvas);
            return calls.measure(Math.min(drag.time, now), Math.max(drag.time, now));
        }
        canvas.classList.add("dragging");
        calls.leave();
        const from = drag.from - (dx / (width() - kLabelWidth)) * shown.span;
        shown.set(from, from + shown.span);
    });
    canvas.addEventListener("pointerup", (event) => {
        canvas.classList.remove("dragging");
        if (drag && !drag.moved) calls.pick(event);
        drag = undefined;
    });
    canvas.addEventListener("pointerleave", calls.leave);
    canvas.addEventListener("dblclick", calls.zoomTo);
    canvas.addEventListener("wheel", wheel, { passive: false });

    memory?.addEventListener("wheel", wheel, { passive: false });
    memory?.addEventListener("pointermove", (event) => calls.memoryAt(event, timeAt(across(event, memory))));
    memory?.addEventListener("pointerleave", calls.leave);

    function moveStrip(event) {
        if (!event.buttons) return;
        const middle = ((across(event, strip) - kLabelWidth) / (width() - kLabelWidth)) * shown.whole;
        const half = shown.span / 2;
        shown.set(middle - half, middle + half);
    }
    strip.addEventListener("pointerdown", (event) => {
        strip.setPointerCapture(event.pointerId);
        moveStrip(event);
    });
    strip.addEventListener("pointermove", moveStrip);
}
