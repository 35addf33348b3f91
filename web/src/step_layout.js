// web/src/step_layout.js: places the kernels of a plan. Pure. Nodes are {step, kernel, width, height}; they get x and y, the centre.
// A training step is folded: forward runs down on the left, backward up on the right, so that what backward reads again
// lies beside it, and updates stand in a third column. Other plans are laid out by dagre if they are small: its time
// grows with the square of the nodes (200 take two seconds).
import * as dagre from "@dagrejs/dagre";

const kCareful = 60; // nodes
const kBeside = 3; // nodes in a row
const kAcross = 26;
const kDown = 30;
const kBetween = 150;
const kMargin = 24;
const kArcs = 60; // room beside the columns for edges that pass others

// {nodes, paths: one SVG path per edge, width, height}. `exact`: the edges are all that there are; else neighbours may depend on each other.
export function placeSteps(nodes, edges, { exact = true } = {}) {
    const column = columnsOf(nodes);
    const folded = column.includes(1);
    return !folded && nodes.length <= kCareful
        ? placeCarefully(nodes, edges)
        : placeFolded(nodes, edges, column, exact ? kBeside : 1);
}

// 0 forward, 1 backward, 2 what runs after all of backward: updates.
function columnsOf(nodes) {
    const isBackward = (node) => Boolean(node.kernel?.isBackward);
    const first = nodes.findIndex(isBackward);
    const last = nodes.length - 1 - [...nodes].reverse().findIndex(isBackward);
    return nodes.map((node, i) => (first < 0 || i < first ? 0 : i > last ? 2 : 1));
}

function placeCarefully(nodes, edges) {
    const graph = new dagre.graphlib.Graph();
    graph.setGraph({ rankdir: "TB", nodesep: kAcross, ranksep: kDown, marginx: kMargin, marginy: kMargin });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const node of nodes) graph.setNode(String(node.step), { width: node.width, height: node.height });
    for (const edge of edges) graph.setEdge(String(edge.from), String(edge.to));
    dagre.layout(graph);
    for (const node of nodes) {
        const { x, y } = graph.node(String(node.step));
        Object.assign(node, { x, y });
    }
    const paths = edges.map((edge) => vertical(graph.edge(String(edge.from), String(edge.to)).points));
    const { width, height } = graph.graph();
    return { nodes, paths, width, height };
}

function placeFolded(nodes, edges, column, most) {
    const rows = rowsOf(nodes, edges, column, most);
    const cells = new Map(); // "column:row" to the nodes in it
    nodes.forEach((node, i) => {
        const key = `${column[i]}:${rows.row[i]}`;
        cells.set(key, [...(cells.get(key) ?? []), node]);
    });
    const wide = (cell) => cell.reduce((sum, node) => sum + node.width + kAcross, -kAcross);
    const widths = [0, 0, 0];
    const heights = new Array(rows.count).fill(0);
    for (const [key, cell] of cells) {
        const [c, r] = key.split(":").map(Number);
        widths[c] = Math.max(widths[c], wide(cell));
        heights[r] = Math.max(heights[r], ...cell.map((node) => node.height));
    }
    const left = [];
    const top = [];
    let width = kMargin + kArcs;
    let height = kMargin;
    widths.forEach((w, c) => {
        left[c] = width;
        if (w) width += w + kBetween;
    });
    heights.forEach((h, r) => {
        top[r] = height;
        height += h + kDown;
    });
    for (const [key, cell] of cells) {
        const [c, r] = key.split(":").map(Number);
        let x = left[c] + (widths[c] - wide(cell)) / 2;
        for (const node of cell) {
            Object.assign(node, { x: x + node.width / 2, y: top[r] + heights[r] / 2 });
            x += node.width + kAcross;
        }
    }
    const paths = edges.map(({ from, to }) =>
        connect(nodes[from], nodes[to], column[from], column[to], rows.row[from], rows.row[to]),
    );
    return { nodes, paths, width: width - kBetween + kArcs + kMargin, height: height + kMargin };
}

// Rows in run order, so that the picture is read as the plan runs: forward from the top, backward from the bottom,
// updates from the top. Kernels that follow each other and do not read each other share a row. Where forward and
// backward differ in their number of rows, the shorter is spread over the same height.
function rowsOf(nodes, edges, column, most) {
    const sources = nodes.map(() => []);
    for (const edge of edges) sources[edge.to].push(edge.from);
    const rank = new Int32Array(nodes.length);
    const current = [0, 0, 0];
    const inRow = [0, 0, 0];
    nodes.forEach((_, i) => {
        const c = column[i];
        const reads = sources[i].some((from) => column[from] === c && rank[from] === current[c]);
        if (inRow[c] > 0 && (reads || inRow[c] >= most)) {
            ++current[c];
            inRow[c] = 0;
        }
        rank[i] = current[c];
        ++inRow[c];
    });
    const count = Math.max(...current) + 1;
    const spread = (r, last) => (last > 0 ? Math.round((r * (count - 1)) / last) : 0);
    const row = nodes.map((_, i) => {
        const c = column[i];
        if (c === 2) return rank[i];
        const at = spread(rank[i], current[c]);
        return c === 1 ? count - 1 - at : at;
    });
    return { row, count };
}

const vertical = (points) =>
    points.slice(1).reduce((path, b, i) => {
        const a = points[i];
        const middle = (a.y + b.y) / 2;
        return `${path}C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${b.y}`;
    }, `M${points[0].x} ${points[0].y}`);

function connect(a, b, columnA, columnB, rowA, rowB) {
    if (columnA !== columnB) {
        // from side to side
        const sign = columnA < columnB ? 1 : -1;
        const x0 = a.x + (sign * a.width) / 2;
        const x1 = b.x - (sign * b.width) / 2;
        const bend = Math.max(40, Math.abs(x1 - x0) / 2) * sign;
        return `M${x0} ${a.y}C${x0 + bend} ${a.y} ${x1 - bend} ${b.y} ${x1} ${b.y}`;
    }
    const sign = rowB >= rowA ? 1 : -1;
    if (Math.abs(rowB - rowA) <= 1)
        return vertical([
            { x: a.x, y: a.y + (sign * a.height) / 2 },
            { x: b.x, y: b.y - (sign * b.height) / 2 },
        ]);
    const side = columnA === 0 ? -1 : 1; // past others: an arc on the outer side
    const x0 = a.x + (side * a.width) / 2;
    const x1 = b.x + (side * b.width) / 2;
    const out = side * (24 + 8 * Math.min(8, Math.abs(rowB - rowA)));
    return `M${x0} ${a.y}C${x0 + out} ${a.y} ${x1 + out} ${b.y} ${x1} ${b.y}`;
}
