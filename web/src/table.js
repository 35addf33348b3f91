// web/src/table.js: a table that sorts by its columns. It shows some hundred rows and offers the others.
import { h, replace } from "./dom.js";

const kShown = 300;

// columns: {name, title, number, className, value: row => sort key, text: row => string, cell: row => element or string}
// Returns {element, show(rows), select(row)}.
export function table({ columns, sort, descending = true, onpick, label }) {
    let rows = [];
    let sortedBy = sort;
    let down = descending;
    let chosen;
    let shown = kShown;
    const body = h("tbody");
    const heads = columns.map((column) => {
        const button = column.value
            ? h("button", { title: column.title, onclick: () => sortBy(column) }, column.name)
            : h("span", { title: column.title }, column.name);
        return h("th", { class: column.number ? "number" : undefined, scope: "col" }, button);
    });
    const element = h("table", { "aria-label": label }, h("thead", null, h("tr", null, heads)), body);

    function sortBy(column) {
        down = sortedBy === column.name ? !down : Boolean(column.number);
        sortedBy = column.name;
        draw();
    }

    function sorted() {
        const column = columns.find((c) => c.name === sortedBy);
        if (!column) return rows;
        const missing = (x) => x === undefined || Number.isNaN(x);
        return [...rows].sort((a, b) => {
            const x = column.value(a);
            const y = column.value(b);
            if (missing(x) || missing(y)) return missing(x) - missing(y); // what is not known comes last, either way
            const order = typeof x === "string" ? x.localeCompare(y) : x - y;
            return down ? -order : order;
        });
    }

    function draw() {
        columns.forEach((column, i) => {
            if (column.name === sortedBy) heads[i].setAttribute("aria-sort", down ? "descending" : "ascending");
            else heads[i].removeAttribute("aria-sort");
        });
        const list = sorted();
        const more = list.length - shown;
        replace(
            body,
            list.slice(0, shown).map(drawRow),
            more > 0 &&
                h(
                    "tr",
                    null,
                    h(
                        "td",
                        { colspan: columns.length },
                        h(
                            "button",
                            { onclick: () => ((shown += 1000), draw()) },
                            `Show more (${more.toLocaleString("en-US")})`,
                        ),
                    ),
                ),
        );
    }

    function drawRow(row) {
        const cells = columns.map((column) => {
            const content = column.cell ? column.cell(row) : column.text(row);
            const className = [column.number && "number", column.className].filter(Boolean).join(" ");
            return h(
                "td",
                {
                    class: className || undefined,
                    title: column.className === "name" && column.text ? column.text(row) : undefined,
                },
                content,
            );
        });
        if (!onpick) return h("tr", null, cells);
        const pick = () => onpick(row);
        const onkeydown = (event) => event.key === "Enter" && pick();
        return h(
            "tr",
            { class: "pick", tabindex: "0", "aria-selected": String(row === chosen), onclick: pick, onkeydown },
            cells,
        );
    }

    return {
        element,
        show(next) {
            rows = next;
            shown = kShown;
            draw();
        },
        select(row) {
            chosen = row;
            draw();
        },
    };
}
