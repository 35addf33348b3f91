// web/src/main.js: the frame of the page: reads the profile, makes the tabs, and sends hashes and keys to the views.
import { download, h, replace, svg } from "./dom.js";
import * as format from "./format.js";
import { ProfileError, buildModel, parseProfile } from "./model.js";
import { searchBox } from "./search.js";
import { linesOf } from "./stats.js";
import { chromeTrace } from "./trace.js";
import { compareView } from "./views/compare.js";
import { kernelsView } from "./views/kernels.js";
import { overviewView } from "./views/overview.js";
import { plansView } from "./views/plans.js";
import { programView } from "./views/program.js";
import { stepView } from "./views/step.js";
import { timelineView } from "./views/timeline.js";

const kTabs = [
    ["overview", "Overview", overviewView],
    ["timeline", "Timeline", timelineView],
    ["program", "Program", programView],
    ["kernels", "Kernels", kernelsView],
    ["plans", "Plans", plansView],
    ["step", "Step", stepView],
    ["compare", "Compare", compareView],
];

const kKeys = [
    ["1 … 7", "switch the view"],
    ["/", "search kernels, lines and regions"],
    ["w s, ↑ ↓", "timeline: zoom in and out (or the wheel, at the cursor)"],
    ["a d, ← →", "timeline: move (or drag)"],
    ["Shift", "timeline: drag with it to measure"],
    ["n p", "timeline: select the next or the previous event"],
    ["f", "timeline: zoom to the selected event"],
    ["Home", "timeline: show everything"],
    ["w s, ← → ↑ ↓", "step: zoom and move"],
    ["t", "dark or light"],
    ["Esc", "close or deselect"],
    ["?", "this help"],
];

const root = document.getElementById("app");
const app = { theme: undefined, themed: [] };

// ---- colours ----
function remembered(name, value) {
    try {
        // storage may be forbidden for files
        if (value === undefined) return localStorage.getItem(name);
        localStorage.setItem(name, value);
    } catch {
        /* then it is not remembered */
    }
    return undefined;
}

function setTheme(theme) {
    app.theme = theme;
    document.documentElement.dataset.theme = theme;
    const style = getComputedStyle(document.documentElement);
    app.color = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const redraw of app.themed) redraw();
}

const system = matchMedia("(prefers-color-scheme: dark)");
setTheme(remembered("weft-theme") ?? (system.matches ? "dark" : "light"));
system.addEventListener("change", () => remembered("weft-theme") ?? setTheme(system.matches ? "dark" : "light"));

function toggleTheme() {
    setTheme(app.theme === "dark" ? "light" : "dark");
    remembered("weft-theme", app.theme);
}

// ---- the frame ----
const mark = () =>
    svg(
        "svg",
        { viewBox: "0 0 20 20", "aria-hidden": "true" },
        [3, 10, 17].map((x) =>
            svg("path", { d: `M${x} 1V19`, stroke: "currentColor", "stroke-width": 2, opacity: 0.35 }),
        ),
        [4, 10, 16].map((y, i) =>
            svg("path", {
                d: i % 2 ? `M1 ${y}Q6.5 ${y + 4} 10 ${y}T19 ${y}` : `M1 ${y}Q6.5 ${y - 4} 10 ${y}T19 ${y}`,
                stroke: "var(--accent)",
                "stroke-width": 2,
                fill: "none",
            }),
        ),
    );

function showMessage(...children) {
    replace(
        root,
        h(
            "div",
            { class: "empty card" },
            h("div", { class: "brand", style: { "justify-content": "center" } }, mark(), "Weft"),
            children,
        ),
    );
}

function helpDialog() {
    const dialog = h(
        "dialog",
        { "aria-label": "Help" },
        h("h2", null, "Keys"),
        h(
            "div",
            { class: "keys" },
            kKeys.map(([keys, what]) => [
                h(
                    "div",
                    null,
                    keys.split(", ").map((key, i) => [i ? " " : "", h("kbd", null, key)]),
                ),
                h("div", null, what),
            ]),
        ),
        h("h2", null, "How to read it"),
        h(
            "p",
            null,
            "A kernel is one piece of machine code that Weft made from several ops. Its time is shared equally among the lines that these ops come from. ",
            "The limit of a kernel is the least time in which this machine could move its bytes and do its arithmetic, as measured on it. ",
            "Every view has an address of its own (after #), so it can be linked.",
        ),
        h(
            "p",
            { style: { "margin-top": "14px", "text-align": "right" } },
            h("button", { onclick: () => dialog.close() }, "Close"),
        ),
    );
    return dialog;
}

function start(model) {
    app.model = model;
    app.lines = linesOf(model);
    app.go = (tab, argument) => {
        location.hash = argument === undefined ? tab : `${tab}/${argument}`;
    };
    // Changes the address without a new entry in the history: for what moves continuously.
    app.keep = (tab, argument) => history.replaceState(null, "", `#${tab}/${argument}`);

    document.title = `${model.title} · Weft profile`;
    const name = model.title.replace(/[^\w.-]+/g, "_").slice(0, 60) || "profile";
    const help = helpDialog();
    const search = searchBox(app);
    const links = kTabs.map(([id, label], i) => h("a", { href: `#${id}` }, label, h("kbd", null, i + 1)));
    const main = h("main");
    replace(
        root,
        h(
            "header",
            null,
            h(
                "div",
                { class: "top" },
                h("div", { class: "brand" }, mark(), "Weft"),
                h("div", { class: "title", title: model.title }, model.title),
                h("div", { class: "dim" }, format.time(model.duration)),
                h("div", { class: "grow" }),
                search.element,
                h(
                    "button",
                    {
                        title: "Save as a trace that Perfetto and chrome://tracing open",
                        onclick: () => download(`${name}.trace.json`, JSON.stringify(chromeTrace(model))),
                    },
                    "Save trace",
                ),
                h(
                    "button",
                    {
                        title: "Save the profile as JSON",
                        onclick: () => download(`${name}.json`, JSON.stringify(model.raw)),
                    },
                    "Save JSON",
                ),
                h("button", { title: "Dark or light (t)", "aria-label": "Dark or light", onclick: toggleTheme }, "◐"),
                h("button", { title: "Help (?)", "aria-label": "Help", onclick: () => help.showModal() }, "?"),
            ),
            h("nav", { "aria-label": "Views" }, links),
        ),
        main,
        help,
    );

    const views = new Map();
    let current;
    function route() {
        const [wanted, ...rest] = location.hash.slice(1).split("/");
        const index = Math.max(
            0,
            kTabs.findIndex(([id]) => id === wanted),
        );
        const [id, , create] = kTabs[index];
        links.forEach((link, i) =>
            i === index ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"),
        );
        if (!views.has(id)) {
            const view = create(app);
            view.element.id = `view-${id}`;
            main.append(view.element);
            views.set(id, view);
        }
        for (const [key, view] of views) view.element.hidden = key !== id;
        current = views.get(id);
        current.show?.(rest.join("/") || undefined);
        requestAnimationFrame(() => setTimeout(() => performance.mark(`${id}-painted`))); // after the frame
    }

    addEventListener("hashchange", route);
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "Escape") {
            if (search.close()) return;
            return void current.key?.(event);
        }
        if (help.open || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
        const digit = Number(event.key);
        if (digit >= 1 && digit <= kTabs.length) app.go(kTabs[digit - 1][0]);
        else if (event.key === "/") search.focus();
        else if (event.key === "?") help.showModal();
        else if (event.key === "t") toggleTheme();
        else if (!current.key?.(event)) return;
        event.preventDefault();
    });
    route();
}

// From `python -m weft.inspect --live`: the program goes on. Whoever looks closely is left alone. (A Refresh header does nothing once the
// address has a part behind #.)
function reloadEvery(seconds) {
    if (!(seconds > 0)) return;
    let busy = false;
    for (const kind of ["pointerdown", "pointermove", "wheel", "keydown"]) addEventListener(kind, () => (busy = true));
    setInterval(() => {
        if (!busy && !document.querySelector("dialog[open]")) location.reload();
        busy = false;
    }, 1000 * seconds);
}

reloadEvery(Number(new URLSearchParams(location.search).get("every")));
try {
    start(buildModel(parseProfile(document.getElementById("profile").textContent)));
} catch (error) {
    if (!(error instanceof ProfileError)) console.error(error);
    const text =
        error instanceof ProfileError
            ? error.message
            : "This profile cannot be shown: something in it is not as expected.";
    showMessage(
        h("h2", null, text),
        h("p", { class: "dim" }, "Weft writes a profile into this page with "),
        h("pre", null, 'with weft.profile() as p:\n    train()\np.save("run.html")'),
        h(
            "label",
            null,
            h("p", { class: "dim", style: { "margin-bottom": "8px" } }, "or open one that was saved:"),
            h("input", {
                type: "file",
                accept: ".json,.html",
                onchange: async (event) => {
                    try {
                        start(buildModel(parseProfile(await event.target.files[0].text())));
                    } catch (problem) {
                        event.target.after(h("p", { class: "warn" }, problem.message));
                    }
                },
            }),
        ),
    );
}
