// web/src/format.js: numbers as people read them. Three significant digits, a no-break space, then the unit.

const kSpace = "\u00a0";
export const kNone = "–"; // not known

export function significant(x, digits = 3) {
    if (x === 0) return "0";
    const size = Math.abs(Number(x.toPrecision(digits))); // rounded first: 0.9996 has one digit before the point
    if (size >= 10 ** digits) return Math.round(x).toLocaleString("en-US");
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return x.toFixed(Math.min(decimals, 6));
}

function scaled(x, steps) {
    if (x === undefined || x === null || Number.isNaN(x)) return kNone;
    if (!Number.isFinite(x)) return "∞";
    if (x === 0) return "0" + kSpace + (steps === kTime ? "s" : steps[steps.length - 1][0]);
    const size = Math.abs(x);
    // 999.6 would round up to 1000 of the smaller unit.
    const [unit, factor] = steps.find(([, f]) => size >= f * 0.9995) ?? steps[steps.length - 1];
    return significant(x / factor) + kSpace + unit;
}

const kTime = [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
    ["ns", 1],
];
const kBytes = [
    ["TB", 1e12],
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
    ["B", 1],
];
const kFlops = [
    ["PFLOP", 1e15],
    ["TFLOP", 1e12],
    ["GFLOP", 1e9],
    ["MFLOP", 1e6],
    ["kFLOP", 1e3],
    ["FLOP", 1],
];

export const time = (ns) => scaled(ns, kTime);
export const bytes = (n) => scaled(n, kBytes);
export const flops = (n) => scaled(n, kFlops);
export const count = (n) => (n === undefined || n === null ? kNone : Math.round(n).toLocaleString("en-US"));

// A column of rates has one unit, so that its numbers can be compared at a glance.
export const gigaPerSecond = (x) => (x === undefined ? kNone : significant(x / 1e9));

export function percent(fraction) {
    if (fraction === undefined || Number.isNaN(fraction)) return kNone;
    const value = fraction * 100;
    if (value > 0 && value < 0.1) return `<${kSpace}0.1${kSpace}%`;
    return (value < 9.95 ? value.toFixed(1) : Math.round(value).toString()) + kSpace + "%";
}

export function ratio(after, before) {
    if (!before || after === undefined) return kNone;
    return `×${kSpace}${significant(after / before)}`;
}

export function signedTime(ns) {
    if (ns === 0) return "0";
    return (ns < 0 ? "−" : "+") + time(Math.abs(ns));
}

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

// A tick of an axis that spans `range` nanoseconds: all ticks have the same unit and as many decimals as the step needs.
export function tick(ns, step, range) {
    if (Math.abs(ns) < step / 1e6) return "0";
    const [unit, factor] = kTime.find(([, f]) => range >= f) ?? kTime[3];
    const decimals = Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9));
    return (ns / factor).toFixed(Math.min(decimals, 9)) + kSpace + unit;
}

// A tick of an axis of bytes: a round number, without zeros behind the point.
export const bytesTick = (n) => (n === 0 ? "0" : bytes(n).replace(/\.0+(?=\D)/, ""));

// 1, 2 or 5 times a power of ten: the smallest of these that is at least `wanted`.
export function niceStep(wanted) {
    const power = 10 ** Math.floor(Math.log10(wanted));
    for (const factor of [1, 2, 5]) if (factor * power >= wanted * 0.999999) return factor * power;
    return 10 * power;
}
