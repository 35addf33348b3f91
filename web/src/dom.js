// web/src/dom.js: makes elements. Strings become text nodes and nothing here parses HTML: names and source text of a profile stay text.

const kSvg = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
        else element.setAttribute(name, value === true ? "" : value);
    }
    add(element, children);
    return element;
}

function add(element, children) {
    for (const child of children) {
        if (child === undefined || child === null || child === false) continue;
        if (Array.isArray(child)) add(element, child);
        else element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
}

// h("td", {class: "number", onclick: f}, "text", child)
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);
// A view: what it holds stands in a column.
export const column = (...children) => h("div", { class: "view" }, h("div", { class: "stack" }, children));
export const svg = (tag, props, ...children) => fill(document.createElementNS(kSvg, tag), props, children);

export function replace(element, ...children) {
    element.replaceChildren();
    add(element, children);
    return element;
}

// Something that is not a button by nature, but acts as one, by mouse and by keyboard.
export function clickable(action) {
    return {
        tabindex: "0",
        role: "button",
        onclick: action,
        onkeydown: (event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            action(event);
        },
    };
}

export function download(name, text, type = "application/json") {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = h("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A canvas that is sharp on dense screens: sets its size in CSS pixels and returns a context that is scaled to these.
export function sharp(canvas, width, height) {
    const density = window.devicePixelRatio || 1;
    const w = Math.round(width * density);
    const hgt = Math.round(height * density);
    if (canvas.width !== w || canvas.height !== hgt) {
        canvas.width = w;
        canvas.height = hgt;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    return context;
}

// Calls `draw` once in the next frame, however often it is asked for.
export function frame(draw) {
    let asked = false;
    return () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => {
            asked = false;
            draw();
        });
    };
}
