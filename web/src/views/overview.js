// web/src/views/overview.js: where the time and the memory went, on one screen, and what stands out.
import { kKindColors } from "../colors.js";
import { column, h } from "../dom.js";
import * as format from "../format.js";
import { dot, meter } from "../marks.js";
import { kPython, lineText, siteText } from "../model.js";
import { mainTrack, modulesOf, notes, partsOf, sourceLine, stepCount, timeByPart } from "../stats.js";

const kTop = 8; // rows of a list
const kNotes = 7;
const kTracks = 8;
const kNamed = 0.08; // of the bar: narrower parts have no room for a name

export function overviewView(app) {
    const track = mainTrack(app.model);
    const cards = [
        factsCard(app),
        track && barCard(app, track),
        notesCard(app, track),
        h("div", { class: "columns" }, kernelsCard(app), linesCard(app)),
        h("div", { class: "columns" }, memoryCard(app), modulesCard(app)),
    ];
    return { element: column(cards) };
}

const card = (title, ...content) => h("div", { class: "card" }, h("h2", null, title), content);
const aside = (...content) => h("span", { class: "dim light" }, content);
const allTime = (model) => model.kernels.reduce((sum, kernel) => sum + (kernel.time ?? 0), 0);

function factsCard({ model }) {
    const { machine, kernels, memory, plans, raw, duration } = model;
    const launches = kernels.reduce((sum, kernel) => sum + (kernel.calls ?? 0), 0);
    const steps = stepCount(model);
    const fact = (value, label) => h("div", null, h("b", null, value), h("span", null, label));
    const facts = [
        fact(format.time(duration), "duration"),
        steps > 0 && fact(format.count(steps), steps === 1 ? "optimiser step" : "optimiser steps"),
        steps > 0 && fact(format.time(duration / steps), "per step"),
        fact(format.count(launches), `launches of ${format.plural(kernels.length, "kernel")}`),
        fact(format.count(plans.length), plans.length === 1 ? "plan" : "plans"),
        memory.peak && fact(format.bytes(memory.peak.bytes), "peak memory"),
    ];
    const described = [
        machine.cpu,
        machine.level,
        machine.threads !== undefined && format.plural(machine.threads, "thread"),
        machine.backend,
        machine.bandwidth && `${format.gigaPerSecond(machine.bandwidth)}\u00a0GB/s`,
        machine.flops && `${format.gigaPerSecond(machine.flops)}\u00a0GFLOP/s`,
    ];
    const made = [
        raw.began?.replace("T", " ").replace("Z", " UTC"),
        raw.weft && `Weft ${raw.weft}`,
        raw.overhead !== undefined && `recording cost about ${format.percent(raw.overhead / duration)}`,
    ];
    const line = (parts) => h("div", null, parts.filter(Boolean).join(" · "));
    return h(
        "div",
        { class: "card" },
        h("div", { class: "facts" }, facts),
        h("div", { class: "dim gap" }, line(described), line(made)),
    );
}

function barCard({ model }, track) {
    const times = timeByPart(model, track);
    const parts = partsOf(model)
        .filter(({ kind }) => times[kind] > 0)
        .map(({ kind, name }) => ({
            name,
            color: kKindColors[kind],
            time: times[kind],
            share: times[kind] / model.duration,
        }));
    const label = parts.map(({ name, share }) => `${name} ${format.percent(share)}`).join(", ");
    const pieces = parts.map(({ name, color, time, share }) => {
        const style = { background: `var(--${color})`, "flex-grow": share, "flex-basis": 0 };
        const named = share > kNamed;
        const title = `${name}: ${format.time(time)}, ${format.percent(share)}`;
        return h("div", { class: named && "named", style, title }, named && `${name} ${format.percent(share)}`);
    });
    const legend = parts.map(({ name, color, time, share }) =>
        h(
            "div",
            null,
            dot(color),
            name,
            h("b", null, format.percent(share)),
            h("span", { class: "dim" }, format.time(time)),
        ),
    );
    const title = ["Where the time went", aside(` · ${track.name}`)];
    const bar = h("div", { class: "bar", role: "img", "aria-label": label }, pieces);
    return card(title, bar, h("div", { class: "legend" }, legend), otherTracks(model, track));
}

// What the other threads, helpers and streams did meanwhile.
function otherTracks(model, track) {
    const others = model.tracks.filter((other) => other !== track && other.rows.length > 0).slice(0, kTracks);
    if (!others.length) return undefined;
    const rows = others.map((other) => {
        const times = timeByPart(model, other);
        const busy = partsOf(model).filter(({ kind }) => kind !== kPython && times[kind] > 0);
        const pieces = busy.map(({ kind, name }) => {
            const style = {
                background: `var(--${kKindColors[kind]})`,
                width: `${(100 * times[kind]) / model.duration}%`,
            };
            return h("div", { style, title: `${name}: ${format.time(times[kind])}` });
        });
        const share = `busy ${format.percent(1 - times[kPython] / model.duration)}`;
        return [
            h("span", null, other.name),
            h("div", { class: "bar" }, pieces),
            h("span", { class: "number dim" }, share),
        ];
    });
    return h("div", { class: "thin" }, rows);
}

function notesCard({ model }, track) {
    const list = notes(model, track).slice(0, kNotes);
    if (!list.length) return undefined;
    const address = ({ tab, kernel }) => `#${tab}${kernel === undefined ? "" : `/${kernel}`}`;
    const items = list.map((note) =>
        h("li", null, note.text, " ", note.tab && h("a", { href: address(note) }, "show")),
    );
    return card("What stands out", h("ul", { class: "notes" }, items));
}

// A list with bars: the first cells of a row, then its time as a bar, a number and a part of all.
function timeList(entries, all) {
    const shown = entries.slice(0, kTop).filter(({ time }) => time > 0);
    const rows = shown.map(({ cells, time }) =>
        h(
            "tr",
            null,
            cells,
            h("td", { class: "fit" }, meter(time / shown[0].time)),
            h("td", { class: "number" }, format.time(time)),
            h("td", { class: "number dim" }, format.percent(time / all)),
        ),
    );
    return shown.length > 0 && h("table", null, h("tbody", null, rows));
}

const nameCell = (link) => h("td", { class: "name" }, link);

function kernelsCard({ model }) {
    const entries = [...model.kernels]
        .sort((a, b) => b.time - a.time)
        .map(({ name, index, time }) => ({
            time,
            cells: nameCell(h("a", { href: `#kernels/${index}`, title: name }, name)),
        }));
    const list = timeList(entries, allTime(model));
    return card("Kernels that take the most time", list || h("p", { class: "dim" }, "No kernel ran."));
}

function linesCard({ model, lines }) {
    const entries = [...lines.values()]
        .sort((a, b) => b.time - a.time)
        .map(({ key, file, line, time }) => {
            const place = lineText(model, file, line);
            const text = sourceLine(model, file, line)?.trim() || place;
            const link = h("a", { href: `#program/${key}`, class: "mono", title: place }, text);
            return { time, cells: [nameCell(link), h("td", { class: "fit dim" }, place.split(/[/\\]/).pop())] };
        });
    const list = timeList(entries, allTime(model));
    const title = h(
        "span",
        { title: "A kernel's time is shared equally among its lines" },
        "Lines that take the most time",
    );
    return card(title, list || h("p", { class: "dim" }, "No line is known."));
}

function modulesCard({ model }) {
    const entries = modulesOf(model).map(({ module, time, site }) => {
        const { file, line } = model.sites[site];
        const link = file === undefined ? module : h("a", { href: `#program/${file}:${line}`, title: module }, module);
        return { time, cells: nameCell(link) };
    });
    const list = timeList(entries, allTime(model));
    const title = h(
        "span",
        { title: "A kernel's time is shared equally among its modules" },
        "Modules that take the most time",
    );
    return list && card(title, list);
}

function memoryCard({ model }) {
    const { peak } = model.memory;
    if (!peak) return undefined;
    const title = [
        `Peak memory ${format.bytes(peak.bytes)}`,
        aside(` · at ${format.time(peak.time)} · `, h("a", { href: "#timeline/peak" }, "show")),
    ];
    const holders = peak.holders?.slice(0, kTop) ?? [];
    if (!holders.length) return card(title, h("p", { class: "dim" }, "Who held it is not recorded."));
    const most = Math.max(...holders.map(({ bytes }) => bytes ?? 0));
    const rows = holders.map(({ bytes, type, site }) =>
        h(
            "tr",
            null,
            model.sites[site]
                ? [h("td", { class: "fit mono" }, type), h("td", { class: "name dim" }, siteLink(model, site))]
                : h("td", { class: "name", colspan: 2, title: type }, type),
            h("td", { class: "fit" }, meter(bytes / most, "copy")),
            h("td", { class: "number" }, format.bytes(bytes)),
        ),
    );
    return card(title, h("table", null, h("tbody", null, rows)));
}

// A site in words, with a link to its line where it is known.
export function siteLink(model, index) {
    const site = model.sites[index];
    if (!site) return "";
    const text = siteText(model, index);
    return site.file === undefined ? text : h("a", { href: `#program/${site.file}:${site.line}`, title: text }, text);
}
